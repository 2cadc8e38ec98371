/*
 * The medium for ranks on several nodes: between nodes it uses RMA of any libfabric provider,
 * driven by software; within a node it uses shared memory, as in shm.h. One plan may use both.
 *
 *      source rank                                   target rank (owner)
 *   sum += add                                 inbox slot: [ cell | sum | check ]
 *   put [cell|sum|check] ------------------->        | progress: check == ~sum, sum has risen:
 *   (a long payload is put before it)                v cell to the counter's line, then add
 *                                              counter line <--- atomic adds of ranks of its node
 *
 * A counter is a word of shared memory of its node. A signal from another node is a put of 16
 * bytes, the cumulative sum of one channel and its complement, into a slot of the owner's inbox
 * that only that channel writes. Therefore no atomic operations of the network are needed, and a
 * sum that is overtaken by its successor is no loss. A channel carries the signals of one rank to
 * one counter with one range of its cell. The data of the cell precedes the sum: in the same put if
 * the provider is a byte stream, otherwise in a put of its own. The owner polls its slots whenever
 * it waits.
 *
 * This is correct because
 *
 *   - the check lands last (byte stream), or the 16 bytes may land in any order: until all of them
 *     have landed, sum and check do not match, except for a sum that is still the old one;
 *   - data is in place before the sum: it precedes the sum in the stream; or in an earlier put
 * whose order the provider guarantees (FI_ORDER_WAW); or the sum is sent only when the put of the
 * data is known to have been delivered (FI_DELIVERY_COMPLETE);
 *   - the effects of one rank on one peer occur in the order fired (PCOLL_NEED_ORDER, offered with
 *     FI_ORDER_WAW only): the slots of an inbox are read as a snapshot, twice with the same result,
 *     so that no later signal is seen without an earlier one; in an ordered plan nothing overtakes
 *     an operation that must be waited for;
 *   - rails (an endpoint for each interface of a list) share nothing except counters: a channel
 *     belongs to one rail, so its sums arrive in order, and data precedes its sum on the same rail;
 *   - a slot's cell is not written again before the owner has consumed it: that would be a hazard
 * of the plan, which proof/check.h excludes.
 *
 * Progress: if the provider's progress is manual, a rank that makes no call here takes part in
 * nothing: it does not see what arrives, and others cannot read its buffers, even if its own
 * instance is complete. Therefore everything in the process that waits must poll the medium now and
 * then as long as a group exists, and a rank that computes for long can delay others, as with any
 * rendezvous.
 */
#ifndef PCOLL_OFI_RMA_H
#define PCOLL_OFI_RMA_H

#include "offload/medium.h"

/* Uses bootstrap->provider and ->interface, which are the same on all ranks of a group. The
 * bootstrap must stay valid as long as the group. An unbound plan lingers on this rank until its
 * neighbors on other nodes have unbound it too, as they may still read and write here. */
extern const struct pcoll_medium pcoll_medium_ofi_rma;

#endif /* PCOLL_OFI_RMA_H */
