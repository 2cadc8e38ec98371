/* A call of an init that is not a plan yet. */

#ifndef CALL_H_INCLUDED
#define CALL_H_INCLUDED

#include "blocks.h"
#include "pcoll.h"

/* MPI_IN_PLACE of a collective with edges. */
enum MPIDI_PCOLL_in_place {
    MPIDI_PCOLL_MOVES_ALL,
    MPIDI_PCOLL_KEEPS_OWN, /* the rank's own block stays where it is */
    MPIDI_PCOLL_SENDS_COPY /* a copy of the receive buffer is sent, as blocks may arrive before
                            * theirs has left */
};

/* The arguments of the MPI call that `describe` (below) needs; what the collective lacks is 0. */
struct MPIDI_PCOLL_arguments {
    const void *sendbuf;
    MPI_Aint sendcount;
    MPI_Datatype sendtype;
    void *recvbuf; /* of a broadcast, the message */
    MPI_Aint recvcount;
    MPI_Datatype recvtype;
    MPI_Op op;                  /* of a reduction, whose vectors recvcount and recvtype describe */
    const MPI_Aint *recvcounts; /* of a reduce_scatter, instead of recvcount */
    struct MPIDI_PCOLL_blocks send, receive; /* where data moves along edges, instead of the above;
                                              * also in place, `send` is what the rank sends */
    enum MPIDI_PCOLL_in_place in_place;
};

struct MPIDI_PCOLL_call {
    struct MPIDI_PCOLL_arguments arguments;
    struct pcoll_signature signature;
    MPIR_Comm *comm;
    MPIR_Info *info;
    struct MPIDI_PCOLL_data in, out;
    struct MPIDI_PCOLL_operator *op; /* of a reduction */
    uint64_t *blocks; /* those of the signature; freed with the plan, or if the call is declined */
    struct pcoll_local *local; /* the edges, or NULL */
    bool is_apart; /* blocks that may differ do not lie side by side on this rank, or once the ranks
                    * have agreed, on some rank, or not the same ones */
    bool eligible; /* as far as this rank can tell */
    const char *why; /* why not; NULL: nobody needs to be told */
};

/* Collective over call->comm. If the backend serves it, `describe` (NULL: there is no data) fills
 * in, out, op, blocks, local, eligible, why, and the signature, from the arguments. *request is the
 * new inactive request, or NULL, on all ranks, if the call is declined. Returns an MPI error code.
 */
int MPIDI_PCOLL_call_init(struct MPIDI_PCOLL_call *call,
                          void (*describe)(struct MPIDI_PCOLL_call *call), MPIR_Request **request);

static inline bool MPIDI_PCOLL_is_root(const struct MPIDI_PCOLL_call *call)
{
    return call->comm->rank == call->signature.root;
}

/* ---- calls.c ---- */

/* Set data, which is in or out of the call, as MPIDI_PCOLL_data_init does. Data that cannot be
 * handled makes the call ineligible. */
void MPIDI_PCOLL_add_data(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_data *data,
                          const void *user, MPI_Aint count, MPI_Datatype type, void *outer);

/* The blocks of all ranks, of so many elements of `size` bytes, become those of the call and its
 * signature. False: out of memory. */
bool MPIDI_PCOLL_add_blocks(struct MPIDI_PCOLL_call *call, const MPI_Aint counts[], MPI_Aint size);

/* ---- edges.c ---- */

/* Fills in, out and local, and of the signature typed, bytes, degree and volumes, as far as
 * this rank knows. */
void MPIDI_PCOLL_describe_edges(struct MPIDI_PCOLL_call *call);

/* Collective: typed, bytes, degree and volumes of the signature become those of all ranks, and the
 * edges learn about their peers. What goes wrong makes the call ineligible. */
int MPIDI_PCOLL_settle_edges(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_comm *state);

#endif /* CALL_H_INCLUDED */
