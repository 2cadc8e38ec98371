/* The same as ch4_coll_redirect.h from MPICH 4.2 on, where MPID_X_init are ordinary functions of
 * one file, ch4_persist.c, that call MPIR_X_init_impl. It is included in that file only. */

#ifndef CH4_COLL_REDIRECT_IMPL_H_INCLUDED
#define CH4_COLL_REDIRECT_IMPL_H_INCLUDED

#ifdef MPIDI_CH4_COLL_OFFLOAD

#include "ch4_coll_redirect.h"

/* Only its declarations: the functions themselves are defined below. */
#undef MPID_Barrier_init
#undef MPID_Bcast_init
#undef MPID_Gather_init
#undef MPID_Gatherv_init
#undef MPID_Scatter_init
#undef MPID_Scatterv_init
#undef MPID_Allgather_init
#undef MPID_Allgatherv_init
#undef MPID_Alltoall_init
#undef MPID_Alltoallv_init
#undef MPID_Alltoallw_init
#undef MPID_Reduce_init
#undef MPID_Allreduce_init
#undef MPID_Reduce_scatter_init
#undef MPID_Reduce_scatter_block_init
#undef MPID_Scan_init
#undef MPID_Exscan_init
#undef MPID_Neighbor_allgather_init
#undef MPID_Neighbor_allgatherv_init
#undef MPID_Neighbor_alltoall_init
#undef MPID_Neighbor_alltoallv_init
#undef MPID_Neighbor_alltoallw_init

#define MPIR_Barrier_init_impl(...) MPIDI_PCOLL_Barrier_init(__VA_ARGS__)
#define MPIR_Bcast_init_impl(...) MPIDI_PCOLL_Bcast_init(__VA_ARGS__)
#define MPIR_Gather_init_impl(...) MPIDI_PCOLL_Gather_init(__VA_ARGS__)
#define MPIR_Gatherv_init_impl(...) MPIDI_PCOLL_Gatherv_init(__VA_ARGS__)
#define MPIR_Scatter_init_impl(...) MPIDI_PCOLL_Scatter_init(__VA_ARGS__)
#define MPIR_Scatterv_init_impl(...) MPIDI_PCOLL_Scatterv_init(__VA_ARGS__)
#define MPIR_Allgather_init_impl(...) MPIDI_PCOLL_Allgather_init(__VA_ARGS__)
#define MPIR_Allgatherv_init_impl(...) MPIDI_PCOLL_Allgatherv_init(__VA_ARGS__)
#define MPIR_Alltoall_init_impl(...) MPIDI_PCOLL_Alltoall_init(__VA_ARGS__)
#define MPIR_Alltoallv_init_impl(...) MPIDI_PCOLL_Alltoallv_init(__VA_ARGS__)
#define MPIR_Alltoallw_init_impl(...) MPIDI_PCOLL_Alltoallw_init(__VA_ARGS__)
#define MPIR_Reduce_init_impl(...) MPIDI_PCOLL_Reduce_init(__VA_ARGS__)
#define MPIR_Allreduce_init_impl(...) MPIDI_PCOLL_Allreduce_init(__VA_ARGS__)
#define MPIR_Reduce_scatter_init_impl(...) MPIDI_PCOLL_Reduce_scatter_init(__VA_ARGS__)
#define MPIR_Reduce_scatter_block_init_impl(...) MPIDI_PCOLL_Reduce_scatter_block_init(__VA_ARGS__)
#define MPIR_Scan_init_impl(...) MPIDI_PCOLL_Scan_init(__VA_ARGS__)
#define MPIR_Exscan_init_impl(...) MPIDI_PCOLL_Exscan_init(__VA_ARGS__)
#define MPIR_Neighbor_allgather_init_impl(...) MPIDI_PCOLL_Neighbor_allgather_init(__VA_ARGS__)
#define MPIR_Neighbor_allgatherv_init_impl(...) MPIDI_PCOLL_Neighbor_allgatherv_init(__VA_ARGS__)
#define MPIR_Neighbor_alltoall_init_impl(...) MPIDI_PCOLL_Neighbor_alltoall_init(__VA_ARGS__)
#define MPIR_Neighbor_alltoallv_init_impl(...) MPIDI_PCOLL_Neighbor_alltoallv_init(__VA_ARGS__)
#define MPIR_Neighbor_alltoallw_init_impl(...) MPIDI_PCOLL_Neighbor_alltoallw_init(__VA_ARGS__)

#endif /* MPIDI_CH4_COLL_OFFLOAD */

#endif /* CH4_COLL_REDIRECT_IMPL_H_INCLUDED */
