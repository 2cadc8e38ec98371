/*
 * The medium for ranks on several nodes: between nodes RMA of any libfabric provider, driven by
 * software; within a node shared memory, as in shm.h.  One plan may use both.
 *
 *      source rank                                   target rank (owner)
 *   sum += add                                 inbox slot: [ cell | sum | check ]
 *   put [cell|sum|check] ------------------->        | progress: check == ~sum, sum has risen:
 *   (a long payload is put before it)                v cell to the counter's line, then add
 *                                              counter line <--- atomic adds of ranks of its node
 *
 * A counter is a word of shared memory of its node.  A signal from another node is a put of 16
 * bytes, the cumulative sum of one channel and its complement, into a slot of the owner's inbox
 * which that channel alone writes; so no atomic operations of the network are needed, and a sum
 * that was overtaken by its successor is no loss.  A channel is what one rank signals one counter
 * with one range of its cell; the data of the cell travel in front of the sum, in the same put,
 * where the provider is a byte stream, else in a put of their own.  The owner polls its slots
 * whenever it waits.
 *
 * Correct, because
 *   - the check lands last (byte stream), or the 16 bytes may land in any order: as long as not all
 *     of them have, sum and check do not match, except for a sum that is still the old one;
 *   - data are in place before the sum: they precede it in the stream; or in an earlier put whose
 *     order the provider promises (FI_ORDER_WAW); or the sum is sent only when the put of the data
 *     is known to have been delivered (FI_DELIVERY_COMPLETE);
 *   - what one rank does to one peer takes effect in the order fired (PCOLL_NEED_ORDER, offered
 *     with FI_ORDER_WAW only): the slots of an inbox are read as a snapshot, twice the same, so
 *     that no later signal is seen without an earlier one; in an ordered plan nothing overtakes an
 *     operation that must be waited for;
 *   - rails (an endpoint for each interface of a list) share nothing but counters: a channel is of
 *     one rail, so that its sums arrive in order, and data precede their sum on the same one;
 *   - a slot's cell is not written again before the owner has consumed it: that is a hazard of the
 *     plan, which proof/check.h excludes.
 *
 * Progress: with manual progress of the provider, a rank that makes no call here takes part in
 * nothing: neither does it see what arrives, nor can others read its buffers, even if its own
 * instance is complete.  So what waits for anything in the process must call
 * the poll of the medium now and then as long as there is a group, and a rank that computes for
 * long can hold up others, as with any rendezvous.
 */
#ifndef PCOLL_OFI_RMA_H
#define PCOLL_OFI_RMA_H

#include "offload/medium.h"

/* Uses bootstrap->provider and ->interface, the same on all ranks of a group.  The bootstrap must
 * stay valid as long as the group.  A plan that was unbound here lingers until its neighbors on
 * other nodes have unbound it too, as they may still read and write there. */
extern const struct pcoll_medium pcoll_medium_ofi_rma;

#endif /* PCOLL_OFI_RMA_H */
