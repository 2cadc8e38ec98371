/* What the backend does not run: persistent collectives on MPICH's own schedules.
 *
 * fallback.c and fallback_neighbor.c also define the MPIDI_PCOLL_X_init (ch4_coll_redirect.h) of
 * the 19 collectives that the backend never runs. */

#ifndef FALLBACK_H_INCLUDED
#define FALLBACK_H_INCLUDED

#include "mpidimpl.h"

/* Each sets *request to a new inactive request, which Wait, Test and
 * Request_get_status see as complete, and returns an MPI error code. Collective over
 * comm: all ranks fall back or none does. Nothing of the caller is needed after the
 * return but the data buffers: datatypes, operations and comm are held by the request.
 * Allgather ignores MPIR_CVAR_IALLGATHER_*_ALGORITHM (see fallback.c). */

int MPIDI_PCOLL_fallback_barrier(MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);

int MPIDI_PCOLL_fallback_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                               MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);

int MPIDI_PCOLL_fallback_allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                   void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                   MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);

/* A schedule for starts without end: open it, fill it by MPIR_Sched_send and its kin or by one of
 * MPICH's MPIR_IX functions, close it.  `mpi_errno` is that of filling; the schedule then belongs
 * to *request, or is gone. */
int MPIDI_PCOLL_schedule_open(MPIR_Comm *comm, MPIR_Sched_t *sched_p);
int MPIDI_PCOLL_schedule_close(int mpi_errno, MPIR_Sched_t sched, MPIR_Comm *comm,
                               MPIR_Request **request);

/* Requests made here so far, by all threads. For the MPI_T pvar coll_offload_fallbacks. */
extern unsigned long MPIDI_PCOLL_fallback_count;

#endif /* FALLBACK_H_INCLUDED */
