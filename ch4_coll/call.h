/* A call of an init that is not a plan yet. */

#ifndef CALL_H_INCLUDED
#define CALL_H_INCLUDED

#include "blocks.h"
#include "data.h"
#include "operator.h"
#include "plan.h"
#include "state.h"

#include "tuning/choose.h"

/* MPI_IN_PLACE of a collective with edges. */
enum MPIDI_PCOLL_in_place {
    MPIDI_PCOLL_MOVES_ALL,
    MPIDI_PCOLL_KEEPS_OWN, /* the rank's own block stays where it is */
    MPIDI_PCOLL_SENDS_COPY /* a copy of the receive buffer is sent, as blocks may arrive before
                            * theirs has left */
};

struct MPIDI_PCOLL_call {
    struct MPIDI_PCOLL_arguments arguments; /* with edges, also in place, `send` is what the rank
                                             * sends once `describe` (below) has returned */
    enum MPIDI_PCOLL_in_place in_place;     /* with edges */
    struct pcoll_signature signature;
    MPIR_Comm *comm;
    MPIR_Info *info;
    struct MPIDI_PCOLL_comm *state; /* of the communicator; NULL: the backend does not serve it */
    struct MPIDI_PCOLL_data in, out;
    struct MPIDI_PCOLL_operator *op; /* of a reduction */
    uint64_t *blocks; /* those of the signature; freed with the plan, or if the call is declined */
    struct pcoll_local *local; /* the edges, or NULL */
    bool is_scattered; /* blocks that may differ do not lie side by side on this rank, or once the
                        * ranks have agreed, on some rank, or not the same ones */
    bool is_promoted;  /* the plan is to serve ordinary calls: it takes no path between user
                        * buffers */
    bool is_long;      /* these calls are long: the plan may have more memory, and is worth a
                        * measurement of the machine */
    bool is_wanted;    /* once the ranks have agreed: a rank wants a plan (once.h) */
    bool is_once;      /* MPICH serves the call, since no rank does */
    bool may_reuse;    /* the call may take the plan of a freed request (reuse.h) */
    struct MPIDI_PCOLL_shape shape;
    struct MPIDI_PCOLL_idle *idle; /* that plan; NULL: none */
    bool is_unmapped; /* a rank could not map operands of others: no plan may need that */
    bool eligible;   /* as far as this rank can tell, or once the ranks have agreed, on all ranks */
    const char *why; /* why not; NULL: nobody needs to be told */
};

/* Fills in, out, op, blocks, local, eligible, why, and the signature, from the arguments. */
typedef void MPIDI_PCOLL_describe(struct MPIDI_PCOLL_call *call);

/* ---- init.c ---- */

/* Inits that chose a second time, since a rank had not mapped operands of others. */
extern unsigned long MPIDI_PCOLL_vain_binds;

/* Returns whether the user wants to know of each call that is declined. */
bool MPIDI_PCOLL_tells_of_declined(void);

/* Collective over call->comm, unless call->is_once: then no rank is asked. If the backend serves
 * it, calls `describe` (NULL: there is no data). *request is the new inactive request, or NULL, on
 * all ranks, if the call is declined. Returns an MPI error code. */
int MPIDI_PCOLL_call_init(struct MPIDI_PCOLL_call *call, MPIDI_PCOLL_describe *describe,
                          MPIR_Request **request);

/* The same for a plan without a request, with the lock: *plan, which is empty, becomes one; NULL:
 * out of memory. *made_p tells, on all ranks, whether it has. Returns an MPI error code. */
int MPIDI_PCOLL_call_plan(struct MPIDI_PCOLL_call *call, MPIDI_PCOLL_describe *describe,
                          struct MPIDI_PCOLL_plan *plan, bool *made_p);

/* Generate this rank's plan, and lower it if the medium cannot run it otherwise; the caller
 * destroys it. */
enum pcoll_result MPIDI_PCOLL_generate(const struct MPIDI_PCOLL_call *call,
                                       const struct pcoll_choice *choice,
                                       struct pcoll_plan **plan_p);

static inline bool MPIDI_PCOLL_is_root(const struct MPIDI_PCOLL_call *call)
{
    return call->comm->rank == call->signature.root;
}

static inline void MPIDI_PCOLL_drop_data(struct MPIDI_PCOLL_call *call)
{
    MPIDI_PCOLL_data_fini(&call->in);
    MPIDI_PCOLL_data_fini(&call->out);
    MPL_free(call->blocks);
    call->blocks = NULL;
}

/* ---- block_calls.c ---- */

MPIDI_PCOLL_describe MPIDI_PCOLL_describe_bcast, MPIDI_PCOLL_describe_allgather,
    MPIDI_PCOLL_describe_gather, MPIDI_PCOLL_describe_scatter, MPIDI_PCOLL_describe_alltoall;

/* Set data, which is in or out of the call, as MPIDI_PCOLL_data_init does. Data that cannot be
 * handled makes the call ineligible. */
void MPIDI_PCOLL_add_data(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_data *data,
                          const void *user, MPI_Aint count, MPI_Datatype type, void *outer);

/* The blocks of all ranks, of so many elements of `size` bytes, become those of the call and its
 * signature. Returns false if memory ran out. */
bool MPIDI_PCOLL_add_blocks(struct MPIDI_PCOLL_call *call, const MPI_Aint counts[], MPI_Aint size);

/* ---- reduction_calls.c ---- */

/* Of an allreduce, or a scan. */
MPIDI_PCOLL_describe MPIDI_PCOLL_describe_allreduce;
MPIDI_PCOLL_describe MPIDI_PCOLL_describe_reduce, MPIDI_PCOLL_describe_exscan,
    MPIDI_PCOLL_describe_reduce_scatter_block, MPIDI_PCOLL_describe_reduce_scatter;

/* ---- edge_calls.c ---- */

MPIDI_PCOLL_describe MPIDI_PCOLL_describe_allgatherv, MPIDI_PCOLL_describe_gatherv,
    MPIDI_PCOLL_describe_scatterv;
/* Of an alltoallv, or an alltoallw. */
MPIDI_PCOLL_describe MPIDI_PCOLL_describe_alltoallv;

/* ---- edges.c ---- */

/* Fills in, out and local, and of the signature typed, bytes, degree and volumes, as far as
 * this rank knows. */
MPIDI_PCOLL_describe MPIDI_PCOLL_describe_edges;

#endif /* CALL_H_INCLUDED */
