/* Persistent collectives on MPICH's own schedules, for calls that the backend does not run. */

#ifndef FALLBACK_H_INCLUDED
#define FALLBACK_H_INCLUDED

#include "mpidimpl.h"

#include "mpich_version.h"

/* Each function sets *request to a new inactive request, which Wait, Test and Request_get_status
 * treat as complete, and returns an MPI error code. The call is collective over comm: all ranks
 * fall back or none does. After the return, only the caller's data buffers are still needed: the
 * request holds references to datatypes, operations and comm. Where fallback.c
 * avoids a schedule, the call ignores MPIR_CVAR_I*_ALGORITHM. */

int MPIDI_PCOLL_fallback_barrier(MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);

int MPIDI_PCOLL_fallback_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                               MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);

int MPIDI_PCOLL_fallback_allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                   void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                   MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);

int MPIDI_PCOLL_fallback_gather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                                MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);

int MPIDI_PCOLL_fallback_scatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                 void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                                 MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);

int MPIDI_PCOLL_fallback_alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                  void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                  MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);

int MPIDI_PCOLL_fallback_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                   MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                   MPIR_Info *info, MPIR_Request **request);

int MPIDI_PCOLL_fallback_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm *comm,
                                MPIR_Info *info, MPIR_Request **request);

int MPIDI_PCOLL_fallback_reduce_scatter_block(const void *sendbuf, void *recvbuf,
                                              MPI_Aint recvcount, MPI_Datatype datatype, MPI_Op op,
                                              MPIR_Comm *comm, MPIR_Info *info,
                                              MPIR_Request **request);

int MPIDI_PCOLL_fallback_reduce_scatter(const void *sendbuf, void *recvbuf,
                                        const MPI_Aint recvcounts[], MPI_Datatype datatype,
                                        MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                                        MPIR_Request **request);

int MPIDI_PCOLL_fallback_scan(const void *sendbuf, void *recvbuf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                              MPIR_Request **request);

int MPIDI_PCOLL_fallback_exscan(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                                MPIR_Request **request);
/* The collectives whose blocks differ, and those among neighbors. */
#define PCOLL_SEND_EQUAL const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype
#define PCOLL_RECEIVE_EQUAL void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype
#define PCOLL_SEND_UNEQUAL                                                                         \
    const void *sendbuf, const MPI_Aint sendcounts[], const MPI_Aint sdispls[],                    \
        MPI_Datatype sendtype
#define PCOLL_RECEIVE_UNEQUAL                                                                      \
    void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype
#define PCOLL_SEND_TYPED                                                                           \
    const void *sendbuf, const MPI_Aint sendcounts[], const MPI_Aint sdispls[],                    \
        const MPI_Datatype sendtypes[]
#define PCOLL_RECEIVE_TYPED                                                                        \
    void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint rdispls[],                          \
        const MPI_Datatype recvtypes[]
#define PCOLL_ON_COMM MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request

int MPIDI_PCOLL_fallback_allgatherv(PCOLL_SEND_EQUAL, PCOLL_RECEIVE_UNEQUAL, PCOLL_ON_COMM);
int MPIDI_PCOLL_fallback_gatherv(PCOLL_SEND_EQUAL, PCOLL_RECEIVE_UNEQUAL, int root, PCOLL_ON_COMM);
int MPIDI_PCOLL_fallback_scatterv(PCOLL_SEND_UNEQUAL, PCOLL_RECEIVE_EQUAL, int root, PCOLL_ON_COMM);
int MPIDI_PCOLL_fallback_alltoallv(PCOLL_SEND_UNEQUAL, PCOLL_RECEIVE_UNEQUAL, PCOLL_ON_COMM);
int MPIDI_PCOLL_fallback_alltoallw(PCOLL_SEND_TYPED, PCOLL_RECEIVE_TYPED, PCOLL_ON_COMM);
int MPIDI_PCOLL_fallback_neighbor_allgather(PCOLL_SEND_EQUAL, PCOLL_RECEIVE_EQUAL, PCOLL_ON_COMM);
int MPIDI_PCOLL_fallback_neighbor_allgatherv(PCOLL_SEND_EQUAL, PCOLL_RECEIVE_UNEQUAL,
                                             PCOLL_ON_COMM);
int MPIDI_PCOLL_fallback_neighbor_alltoall(PCOLL_SEND_EQUAL, PCOLL_RECEIVE_EQUAL, PCOLL_ON_COMM);
int MPIDI_PCOLL_fallback_neighbor_alltoallv(PCOLL_SEND_UNEQUAL, PCOLL_RECEIVE_UNEQUAL,
                                            PCOLL_ON_COMM);
int MPIDI_PCOLL_fallback_neighbor_alltoallw(PCOLL_SEND_TYPED, PCOLL_RECEIVE_TYPED, PCOLL_ON_COMM);

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
