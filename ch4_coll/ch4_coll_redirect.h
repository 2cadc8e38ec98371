/* The 22 persistent collectives, and how MPICH's calls of them get to the backend. In the file that
 * defines MPID_X_init (ch4_coll.h until MPICH 4.1, then ch4_persist.c) the graft includes this
 * header and replaces each call of MPIR_X_init_impl, which is MPICH's own implementation, by
 * MPIR_COLL_OFFLOAD_CALL(X): calls.c defines the backend's MPIDI_PCOLL_X_init. */

#ifndef CH4_COLL_REDIRECT_H_INCLUDED
#define CH4_COLL_REDIRECT_H_INCLUDED

#ifdef MPIDI_CH4_COLL_OFFLOAD

/* Also read by maint/graft. */
#define MPIDI_PCOLL_CALLS(CALL)                                                                    \
    CALL(Barrier)                                                                                  \
    CALL(Bcast)                                                                                    \
    CALL(Gather)                                                                                   \
    CALL(Gatherv)                                                                                  \
    CALL(Scatter)                                                                                  \
    CALL(Scatterv)                                                                                 \
    CALL(Allgather)                                                                                \
    CALL(Allgatherv)                                                                               \
    CALL(Alltoall)                                                                                 \
    CALL(Alltoallv)                                                                                \
    CALL(Alltoallw)                                                                                \
    CALL(Reduce)                                                                                   \
    CALL(Allreduce)                                                                                \
    CALL(Reduce_scatter_block)                                                                     \
    CALL(Reduce_scatter)                                                                           \
    CALL(Scan)                                                                                     \
    CALL(Exscan)                                                                                   \
    CALL(Neighbor_allgather)                                                                       \
    CALL(Neighbor_allgatherv)                                                                      \
    CALL(Neighbor_alltoall)                                                                        \
    CALL(Neighbor_alltoallv)                                                                       \
    CALL(Neighbor_alltoallw)

/* Each has the arguments, and the result, of what it replaces. */
#define MPIDI_PCOLL_DECLARE(Name) __typeof__(MPIR_##Name##_init_impl) MPIDI_PCOLL_##Name##_init;
MPIDI_PCOLL_CALLS(MPIDI_PCOLL_DECLARE)
#undef MPIDI_PCOLL_DECLARE

#define MPIR_COLL_OFFLOAD_CALL(Name) MPIDI_PCOLL_##Name##_init

#else

#define MPIR_COLL_OFFLOAD_CALL(Name) MPIR_##Name##_init_impl

#endif /* MPIDI_CH4_COLL_OFFLOAD */

#endif /* CH4_COLL_REDIRECT_H_INCLUDED */
