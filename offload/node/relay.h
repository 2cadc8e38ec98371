/*
 * What ranks tell each other about their user memory while a plan is bound, in its extent, if one
 * accesses that of another: where it is from now on, and what its owner must copy, as the kernel
 * does not let this rank access it any more.
 *
 * When a group is created, it probes whether ranks can access each other's memory. The kernel may
 * refuse it later: after setuid(), prctl(PR_SET_DUMPABLE, 0), or with a new seccomp filter. A rank
 * then asks the owner to copy a piece from or to its memory, through a relay, a small area that
 * each rank of a plan has in the plan's extent. The owner serves the request when it progresses
 * this plan. It will, since its instance cannot complete before all accesses of other ranks to its
 * user memory are done.
 *
 * The step that asks is pending, and nothing behind it in its queue fires, so order is kept. A
 * waiting rank serves others, so two ranks that ask each other both continue.
 */
#ifndef PCOLL_NODE_RELAY_H
#define PCOLL_NODE_RELAY_H

#include "offload/node/bound.h"

/* The size of a rank's relay for a plan in which no move to or from user memory is longer than
 * `longest`; a multiple of a line, 0 if `longest` is 0. */
size_t pcoll_node_relay_bytes(size_t longest);

/* Tell the others where this rank's user memory is from the next move on (move.c). They read that
 * behind a round. This rank may tell the next place before they have, but not if an instance in
 * between has accessed its memory: its completion is behind that. Otherwise they use only what they
 * read behind the next round. */
void pcoll_node_tell_bases(const struct pcoll_node_bound *bound, const struct pcoll_memory *memory);

/* Where SEND or RECV of rank `number` of the group is since the last move. */
uint64_t pcoll_node_told_base(const struct pcoll_node_bound *bound, int number,
                              enum pcoll_buffer buffer);

/* Ask the owner to move data of its user memory. PCOLL_PENDING: it has been asked; call again. */
enum pcoll_result pcoll_node_ask(struct pcoll_node_bound *bound, struct pcoll_step *step);

/* The kernel has returned `error` for a read or write. If it has refused access, the step asks the
 * owner from now on, and this call is pcoll_node_ask; otherwise the plan fails. */
enum pcoll_result pcoll_node_refused(struct pcoll_node_bound *bound, struct pcoll_step *step,
                                     int error);

/* Serve the requests for copies from or to this process' memory. */
void pcoll_node_serve(const struct pcoll_node_bound *bound);

#endif /* PCOLL_NODE_RELAY_H */
