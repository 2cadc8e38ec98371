/* A call of an init that is not a plan yet. */

#ifndef CALL_H_INCLUDED
#define CALL_H_INCLUDED

#include "pcoll.h"

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
};

struct MPIDI_PCOLL_call {
    struct MPIDI_PCOLL_arguments arguments;
    struct pcoll_signature signature;
    MPIR_Comm *comm;
    MPIR_Info *info;
    struct MPIDI_PCOLL_data in, out;
    struct MPIDI_PCOLL_operator *op; /* of a reduction */
    uint64_t *blocks; /* those of the signature; freed with the plan, or if the call is declined */
    bool eligible;    /* as far as this rank can tell */
    const char *why;  /* why not; NULL: nobody needs to be told */
};

/* Collective over call->comm. If the backend serves it, `describe` (NULL: there is no data) fills
 * in, out, op, blocks, eligible, why, and of the signature bytes, in_place, blocks, unit and
 * commutes, from the arguments. *request is the new inactive request, or NULL, on all ranks, if the
 * call is declined. Returns an MPI error code. */
int MPIDI_PCOLL_call_init(struct MPIDI_PCOLL_call *call,
                          void (*describe)(struct MPIDI_PCOLL_call *call), MPIR_Request **request);

#endif /* CALL_H_INCLUDED */
