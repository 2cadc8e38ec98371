/* Promotion: ordinary blocking calls that are repeated get a plan.
 *
 * A promoted plan is an ordinary plan on buffers of its own. A call copies its bytes in, starts,
 * waits, and copies the result out; types, MPI_IN_PLACE and device memory are facts of these
 * copies. Short vectors are padded to the length of their class, so that one plan serves all
 * lengths of a class: the padding moves and is reduced, and nobody reads it.
 *
 * All ranks must take the plan for the same calls. What a rank decides by depends only on the calls
 * that it has made on the communicator, in MPI's order: each has a number, and a key that MPI makes
 * equal on all ranks. Plans are built in reviews: after an agreed number of calls, whatever their
 * keys, the ranks compare a hash of all their keys. If it is the same everywhere, so are their
 * counts, and they build the same plans; otherwise the program has broken a rule of MPI, and its
 * communicator is left to MPICH. Before its first review a rank looks whether all ranks of the node
 * have the same setting; if not, none of them promotes anything. Nothing is promoted between
 * nodes. */

#ifndef PROMOTE_H_INCLUDED
#define PROMOTE_H_INCLUDED

#include "plan.h"

#include "algorithms/plan/collective.h"

struct MPIDI_PCOLL_promoted {
    struct MPIDI_PCOLL_plan plan; /* first, as its end is told to it */
    int mpi_errno;                /* of the last instance */
    void *in, *out;               /* its buffers, of the bytes of its class; the same for a bcast */
};

/* For MPI_T: how many plans serve ordinary calls, and how many calls they have served. */
extern unsigned long MPIDI_PCOLL_promoted_plans, MPIDI_PCOLL_promoted_calls;

/* At the end of MPI_Init: read the user's setting, and publish it with the cores that this rank may
 * use. Returns whether plans serve ordinary calls. */
bool MPIDI_PCOLL_promotion_open(void);

/* At the beginning of MPI_Finalize, or in a child of a fork: no more calls are served. */
void MPIDI_PCOLL_promotion_end(void);
void MPIDI_PCOLL_promotion_free_keyval(void);

/* What a call shares with the calls that its plan also serves; 0: no plan serves it. The class
 * follows from `bytes`, those of all data or of a block, which are the same on all ranks. */
uint64_t MPIDI_PCOLL_key(enum pcoll_coll coll, int root, MPI_Aint bytes);

/* The same of a reduction, whose class holds whole elements. */
uint64_t MPIDI_PCOLL_reduction_key(enum pcoll_coll coll, int root, MPI_Aint bytes, MPI_Op op,
                                   MPI_Datatype type);

/* Count a call, which every rank of the communicator makes, and perhaps build plans. *plan_p is the
 * plan that serves it, or NULL, on all ranks. `op` and `type` are those of a reduction. Returns an
 * MPI error code. */
int MPIDI_PCOLL_promote(MPIR_Comm *comm, uint64_t key, MPI_Op op, MPI_Datatype type,
                        struct MPIDI_PCOLL_promoted **plan_p);

/* Run an instance to its end. Returns an MPI error code. */
int MPIDI_PCOLL_promoted_run(struct MPIDI_PCOLL_promoted *promoted);

#endif /* PROMOTE_H_INCLUDED */
