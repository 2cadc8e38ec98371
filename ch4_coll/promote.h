/* Promotion: ordinary blocking calls that are repeated get a plan.
 *
 * A promoted plan is an ordinary plan. That of short calls has buffers of its own: a call copies
 * its bytes in, starts, waits, and copies the result out; types, MPI_IN_PLACE and device memory are
 * facts of these copies. Short vectors are padded to the length of their class, so that one plan
 * serves all lengths of a class: the padding moves and is reduced, and nobody reads it. Blocks are
 * padded one by one, so an allgatherv is an allgather whose class is that of its longest block. A
 * long call has a plan for its own length. Each call moves it to the user's memory, which no other
 * rank accesses, so that nothing is copied first; what is not contiguous, and input in place, is.
 *
 * All ranks must take the plan for the same calls. What a rank decides by depends only on the calls
 * that it has made on the communicator, in MPI's order: each has a number, and a key that MPI makes
 * equal on all ranks. Plans are built in reviews, which come after agreed numbers of calls,
 * whatever their keys, and there at the next barrier, or in its absence after as many calls again:
 * a program that takes times has barriers between what it times. A rank notes the keys of the last
 * calls before a review, and in it the ranks compare a hash of them. If it is the same everywhere,
 * so are their counts, and they build the same plans; otherwise the program has broken a rule of
 * MPI, and its communicator is left to MPICH. So is one whose ranks are on several nodes, or have
 * different settings: each rank publishes its own before it meets the others, so that all of them
 * see the same. By default, so is one of which a rank may have to share its
 * core, as the ranks tell each other in each review; if the user asks for plans there, the longest
 * classes get none.
 *
 * A communicator's first plan takes milliseconds, and nobody knows how many calls will follow. As
 * in renting or buying skis, it is built once the calls so far have lost as much by going to MPICH:
 * whatever follows, no more than twice the loss of a rank that knew the future. 2048 calls have
 * lost that. But they may be all that the program does, so no process spends more than a fiftieth
 * of the time since MPI_Init on plans: a review in which one of them would, builds none. All ranks
 * do the same, as each tells in the review whether its own time suffices. Until then a call costs
 * little more than its count (ch4_coll_promote.h); doc/notes/when-to-promote.md has the figures. */

#ifndef PROMOTE_H_INCLUDED
#define PROMOTE_H_INCLUDED

#include "plan.h"

struct MPIDI_PCOLL_promoted {
    struct MPIDI_PCOLL_plan plan; /* first, as its end is told to it */
    int mpi_errno;                /* of the last instance */
    MPI_Aint block;               /* bytes of its class: a vector, or one of several blocks */
    void *in, *out;               /* its buffers; the same one for a bcast */
    bool can_move;                /* it is for a long call, and may work on other memory */
    const void *at_in, *at_out;   /* what it works on; in and out unless it has moved */
    size_t in_bytes, out_bytes;   /* of these; 0: this rank sends, or receives, nothing (a bcast: of
                                   * the only one, and 0) */
};

/* For MPI_T: how many plans serve ordinary calls, and how many calls they have served. */
extern unsigned long MPIDI_PCOLL_promoted_plans, MPIDI_PCOLL_promoted_calls;

/* ---- promote_setting.c ---- */

/* Read the user's setting, and publish it with the cores that this rank may use. */
void MPIDI_PCOLL_promotion_open(void);

/* When it was called, in nanoseconds. */
uint64_t MPIDI_PCOLL_promotion_opened(void);

/* In a child of a fork: no more calls are served. */
void MPIDI_PCOLL_promotion_end(void);

/* Whether all ranks of the communicator, which is on this node, promote the same. All of them get
 * the same answer. */
bool MPIDI_PCOLL_all_promote(MPIR_Comm *comm);

/* Whether ordinary calls of ranks that share cores are promoted. */
bool MPIDI_PCOLL_promotes_crowded(void);

/* Whether calls are promoted whose last bits may change. */
bool MPIDI_PCOLL_promotes_inexact(void);

/* ---- promote.c ---- */

void MPIDI_PCOLL_promotion_free_keyval(void);

/* Count a call, which every rank of the communicator makes, and perhaps build plans. *plan_p is the
 * plan that serves it, or NULL, on all ranks. `op` and `type` are those of a reduction. Returns an
 * MPI error code. */
int MPIDI_PCOLL_promote(MPIR_Comm *comm, uint64_t key, MPI_Op op, MPI_Datatype type,
                        struct MPIDI_PCOLL_promoted **plan_p);

/* ---- promote_plan.c ---- */

/* The bytes of the buffers of a plan for such calls, on the rank that has most. */
uint64_t MPIDI_PCOLL_promoted_buffer_bytes(const MPIR_Comm *comm, uint64_t key);

/* Collective, as an init: *promoted_p is a plan for such calls, or NULL, on all ranks. A rank that
 * has no memory takes part. Returns an MPI error code. */
int MPIDI_PCOLL_promoted_create(MPIR_Comm *comm, uint64_t key, MPI_Op op, MPI_Datatype type,
                                struct MPIDI_PCOLL_promoted **promoted_p);

/* Local. Accepts NULL. */
void MPIDI_PCOLL_promoted_free(struct MPIDI_PCOLL_promoted *promoted);

/* What the plan takes on this rank, with its buffers, unless it works on user memory. */
uint64_t MPIDI_PCOLL_promoted_bytes(const struct MPIDI_PCOLL_promoted *promoted);

/* The next instances work on this memory, of in_bytes and out_bytes: its buffers, or, if it can
 * move, any other. */
void MPIDI_PCOLL_promoted_place(struct MPIDI_PCOLL_promoted *promoted, const void *in, void *out);

/* Run an instance to its end. Returns an MPI error code. */
int MPIDI_PCOLL_promoted_run(struct MPIDI_PCOLL_promoted *promoted);

#endif /* PROMOTE_H_INCLUDED */
