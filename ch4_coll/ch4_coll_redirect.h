/* Sends the 22 persistent collectives of the device interface to the backend.
 *
 * It is included after mpidch4.h: the stock MPID_X_init functions are defined by then and, since
 * the macros are function-like, remain accessible as (MPID_X_init)(...). */

#ifndef CH4_COLL_REDIRECT_H_INCLUDED
#define CH4_COLL_REDIRECT_H_INCLUDED

#ifdef MPIDI_CH4_COLL_OFFLOAD

/* Each function creates a persistent request, inactive and owned by the caller: a plan if the
 * backend supports the call on all ranks, the stock schedule otherwise. Arguments and errors are
 * those of MPID_X_init. */

int MPIDI_PCOLL_Barrier_init(MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);
int MPIDI_PCOLL_Bcast_init(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                           MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);
int MPIDI_PCOLL_Gather_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                            MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);
int MPIDI_PCOLL_Gatherv_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                             MPI_Datatype recvtype, int root, MPIR_Comm *comm, MPIR_Info *info,
                             MPIR_Request **request);
int MPIDI_PCOLL_Scatter_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                             MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);
int MPIDI_PCOLL_Scatterv_init(const void *sendbuf, const MPI_Aint sendcounts[],
                              const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf,
                              MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm *comm,
                              MPIR_Info *info, MPIR_Request **request);
int MPIDI_PCOLL_Allgather_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                               void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                               MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);
int MPIDI_PCOLL_Allgatherv_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                                MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                MPIR_Request **request);
int MPIDI_PCOLL_Alltoall_init(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                              void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                              MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);
int MPIDI_PCOLL_Alltoallv_init(const void *sendbuf, const MPI_Aint sendcounts[],
                               const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                               const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                               MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                               MPIR_Request **request);
int MPIDI_PCOLL_Alltoallw_init(const void *sendbuf, const MPI_Aint sendcounts[],
                               const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                               void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                               const MPI_Datatype recvtypes[], MPIR_Comm *comm, MPIR_Info *info,
                               MPIR_Request **request);
int MPIDI_PCOLL_Reduce_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm *comm,
                            MPIR_Info *info, MPIR_Request **request);
int MPIDI_PCOLL_Allreduce_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                               MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                               MPIR_Request **request);
int MPIDI_PCOLL_Reduce_scatter_init(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                                    MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                    MPIR_Info *info, MPIR_Request **request);
int MPIDI_PCOLL_Reduce_scatter_block_init(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                          MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                          MPIR_Info *info, MPIR_Request **request);
int MPIDI_PCOLL_Scan_init(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                          MPI_Op op, MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);
int MPIDI_PCOLL_Exscan_init(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm, MPIR_Info *info,
                            MPIR_Request **request);
int MPIDI_PCOLL_Neighbor_allgather_init(const void *sendbuf, MPI_Aint sendcount,
                                        MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                                        MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                        MPIR_Request **request);
int MPIDI_PCOLL_Neighbor_allgatherv_init(const void *sendbuf, MPI_Aint sendcount,
                                         MPI_Datatype sendtype, void *recvbuf,
                                         const MPI_Aint recvcounts[], const MPI_Aint displs[],
                                         MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                         MPIR_Request **request);
int MPIDI_PCOLL_Neighbor_alltoall_init(const void *sendbuf, MPI_Aint sendcount,
                                       MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                                       MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Info *info,
                                       MPIR_Request **request);
int MPIDI_PCOLL_Neighbor_alltoallv_init(const void *sendbuf, const MPI_Aint sendcounts[],
                                        const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                        void *recvbuf, const MPI_Aint recvcounts[],
                                        const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                        MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);
int MPIDI_PCOLL_Neighbor_alltoallw_init(const void *sendbuf, const MPI_Aint sendcounts[],
                                        const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                        void *recvbuf, const MPI_Aint recvcounts[],
                                        const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                        MPIR_Comm *comm, MPIR_Info *info, MPIR_Request **request);

#define MPID_Barrier_init(...) MPIDI_PCOLL_Barrier_init(__VA_ARGS__)
#define MPID_Bcast_init(...) MPIDI_PCOLL_Bcast_init(__VA_ARGS__)
#define MPID_Gather_init(...) MPIDI_PCOLL_Gather_init(__VA_ARGS__)
#define MPID_Gatherv_init(...) MPIDI_PCOLL_Gatherv_init(__VA_ARGS__)
#define MPID_Scatter_init(...) MPIDI_PCOLL_Scatter_init(__VA_ARGS__)
#define MPID_Scatterv_init(...) MPIDI_PCOLL_Scatterv_init(__VA_ARGS__)
#define MPID_Allgather_init(...) MPIDI_PCOLL_Allgather_init(__VA_ARGS__)
#define MPID_Allgatherv_init(...) MPIDI_PCOLL_Allgatherv_init(__VA_ARGS__)
#define MPID_Alltoall_init(...) MPIDI_PCOLL_Alltoall_init(__VA_ARGS__)
#define MPID_Alltoallv_init(...) MPIDI_PCOLL_Alltoallv_init(__VA_ARGS__)
#define MPID_Alltoallw_init(...) MPIDI_PCOLL_Alltoallw_init(__VA_ARGS__)
#define MPID_Reduce_init(...) MPIDI_PCOLL_Reduce_init(__VA_ARGS__)
#define MPID_Allreduce_init(...) MPIDI_PCOLL_Allreduce_init(__VA_ARGS__)
#define MPID_Reduce_scatter_init(...) MPIDI_PCOLL_Reduce_scatter_init(__VA_ARGS__)
#define MPID_Reduce_scatter_block_init(...) MPIDI_PCOLL_Reduce_scatter_block_init(__VA_ARGS__)
#define MPID_Scan_init(...) MPIDI_PCOLL_Scan_init(__VA_ARGS__)
#define MPID_Exscan_init(...) MPIDI_PCOLL_Exscan_init(__VA_ARGS__)
#define MPID_Neighbor_allgather_init(...) MPIDI_PCOLL_Neighbor_allgather_init(__VA_ARGS__)
#define MPID_Neighbor_allgatherv_init(...) MPIDI_PCOLL_Neighbor_allgatherv_init(__VA_ARGS__)
#define MPID_Neighbor_alltoall_init(...) MPIDI_PCOLL_Neighbor_alltoall_init(__VA_ARGS__)
#define MPID_Neighbor_alltoallv_init(...) MPIDI_PCOLL_Neighbor_alltoallv_init(__VA_ARGS__)
#define MPID_Neighbor_alltoallw_init(...) MPIDI_PCOLL_Neighbor_alltoallw_init(__VA_ARGS__)

#endif /* MPIDI_CH4_COLL_OFFLOAD */

#endif /* CH4_COLL_REDIRECT_H_INCLUDED */
