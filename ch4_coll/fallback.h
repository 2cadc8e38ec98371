/* Persistent collectives on MPICH's own schedules, for calls that the backend does not run. */

#ifndef FALLBACK_H_INCLUDED
#define FALLBACK_H_INCLUDED

#include "blocks.h"
#include "mpich_version.h"

/* Sets *request to a new inactive request, which Wait, Test and Request_get_status treat as
 * complete, and returns an MPI error code. The call is collective over a->comm: all ranks fall back
 * or none does. After the return, only the caller's data buffers are still needed: the request
 * holds references to datatypes, operations and the communicator. Where fallback.c avoids a
 * schedule, the call ignores MPIR_CVAR_I*_ALGORITHM. */
typedef int MPIDI_PCOLL_fallback(const struct MPIDI_PCOLL_arguments *a, MPIR_Request **request);

MPIDI_PCOLL_fallback MPIDI_PCOLL_fallback_barrier, MPIDI_PCOLL_fallback_bcast,
    MPIDI_PCOLL_fallback_allgather, MPIDI_PCOLL_fallback_allgatherv, MPIDI_PCOLL_fallback_gather,
    MPIDI_PCOLL_fallback_gatherv, MPIDI_PCOLL_fallback_scatter, MPIDI_PCOLL_fallback_scatterv,
    MPIDI_PCOLL_fallback_alltoall, MPIDI_PCOLL_fallback_alltoallv, MPIDI_PCOLL_fallback_alltoallw,
    MPIDI_PCOLL_fallback_allreduce, MPIDI_PCOLL_fallback_reduce,
    MPIDI_PCOLL_fallback_reduce_scatter_block, MPIDI_PCOLL_fallback_reduce_scatter,
    MPIDI_PCOLL_fallback_scan, MPIDI_PCOLL_fallback_exscan, MPIDI_PCOLL_fallback_neighbor_allgather,
    MPIDI_PCOLL_fallback_neighbor_allgatherv;

/* ---- fallback_neighbor.c ---- */

/* Of a neighbor_alltoall, a neighbor_alltoallv, or a neighbor_alltoallw. */
MPIDI_PCOLL_fallback MPIDI_PCOLL_fallback_neighbor_alltoalls;

/* ---- for fallback_neighbor.c ---- */

/* A schedule that can be started any number of times: open it, fill it with MPIR_Sched_send and
 * similar calls or with one of MPICH's MPIR_IX functions, and close it. `mpi_errno` is the result
 * of filling it. The schedule then belongs to *request, or has been freed. */
int MPIDI_PCOLL_schedule_open(MPIR_Comm *comm, MPIR_Sched_t *sched_p);
int MPIDI_PCOLL_schedule_close(int mpi_errno, MPIR_Sched_t sched, MPIR_Comm *comm,
                               MPIR_Request **request);

/* Number of requests created here so far, by all threads; for the MPI_T pvar
 * coll_offload_fallbacks. */
extern unsigned long MPIDI_PCOLL_fallback_count;

#endif /* FALLBACK_H_INCLUDED */
