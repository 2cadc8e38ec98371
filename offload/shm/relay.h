/*
 * User memory that the kernel does not let this rank reach any more is copied by its owner.
 *
 * Whether ranks reach each other's memory is probed when a group is made.  The kernel may change
 * its mind: after setuid(), prctl(PR_SET_DUMPABLE, 0), a new seccomp filter.  Then a rank asks the
 * owner through a relay, a little memory that each rank of a plan has in the plan's block, to copy
 * a piece from there or to there.  The owner does so when it makes progress on this plan; that it
 * does, as an instance cannot be complete before all that others do to its user memory is done.
 *
 * The step that asks is pending, and nothing behind it is fired, so order is kept.  A rank that
 * waits serves others: two that ask each other go on.
 */
#ifndef PCOLL_SHM_RELAY_H
#define PCOLL_SHM_RELAY_H

#include "offload/shm/state.h"

/* Bytes of a rank's relay for a plan in which no move to or from user memory is longer than
 * `longest`; a multiple of a line, 0 if `longest` is 0. */
size_t pcoll_shm_relay_bytes(size_t longest);

/* Move what is in user memory of another process, by the kernel or by its owner.  PCOLL_PENDING:
 * its owner has been asked; call again. */
enum pcoll_result pcoll_shm_reach(struct pcoll_shm_bound *bound, struct pcoll_shm_step *step);

/* An instance is not complete yet: has a peer given up, or does it want something?  PCOLL_PENDING,
 * or an error. */
enum pcoll_result pcoll_shm_attend(struct pcoll_shm_bound *bound);

#endif /* PCOLL_SHM_RELAY_H */
