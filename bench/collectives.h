/*
 * The list of the collectives, in the order of the tables; maint/compare and maint/instructions
 * read it here. Each is COLLECTIVE(NAME, name, Name): MPI_Name_init, MPI_Iname, MPI_Name.
 */
#ifndef PCOLL_BENCH_COLLECTIVES_H
#define PCOLL_BENCH_COLLECTIVES_H

#define BENCH_COLLECTIVES(COLLECTIVE)                                                              \
    COLLECTIVE(BARRIER, barrier, Barrier)                                                          \
    COLLECTIVE(BCAST, bcast, Bcast)                                                                \
    COLLECTIVE(ALLGATHER, allgather, Allgather)                                                    \
    COLLECTIVE(ALLGATHERV, allgatherv, Allgatherv)                                                 \
    COLLECTIVE(GATHER, gather, Gather)                                                             \
    COLLECTIVE(GATHERV, gatherv, Gatherv)                                                          \
    COLLECTIVE(SCATTER, scatter, Scatter)                                                          \
    COLLECTIVE(SCATTERV, scatterv, Scatterv)                                                       \
    COLLECTIVE(ALLTOALL, alltoall, Alltoall)                                                       \
    COLLECTIVE(ALLTOALLV, alltoallv, Alltoallv)                                                    \
    COLLECTIVE(ALLTOALLW, alltoallw, Alltoallw)                                                    \
    COLLECTIVE(REDUCE, reduce, Reduce)                                                             \
    COLLECTIVE(ALLREDUCE, allreduce, Allreduce)                                                    \
    COLLECTIVE(REDUCE_SCATTER_BLOCK, reduce_scatter_block, Reduce_scatter_block)                   \
    COLLECTIVE(REDUCE_SCATTER, reduce_scatter, Reduce_scatter)                                     \
    COLLECTIVE(SCAN, scan, Scan)                                                                   \
    COLLECTIVE(EXSCAN, exscan, Exscan)                                                             \
    COLLECTIVE(NEIGHBOR_ALLGATHER, neighbor_allgather, Neighbor_allgather)                         \
    COLLECTIVE(NEIGHBOR_ALLGATHERV, neighbor_allgatherv, Neighbor_allgatherv)                      \
    COLLECTIVE(NEIGHBOR_ALLTOALL, neighbor_alltoall, Neighbor_alltoall)                            \
    COLLECTIVE(NEIGHBOR_ALLTOALLV, neighbor_alltoallv, Neighbor_alltoallv)                         \
    COLLECTIVE(NEIGHBOR_ALLTOALLW, neighbor_alltoallw, Neighbor_alltoallw)

#define BENCH_VALUE(NAME, name, Name) NAME,
enum collective { BENCH_COLLECTIVES(BENCH_VALUE) NUM_COLLECTIVES };
#undef BENCH_VALUE

#endif
