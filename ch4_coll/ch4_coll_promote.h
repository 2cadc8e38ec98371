/* The ordinary blocking collectives that plans may serve (promote.h), and how MPICH's calls of them
 * get to the backend. mpidch4.h includes this header behind the definitions of MPID_X; who calls
 * MPID_X from there on calls MPIDI_PCOLL_X of promoted_calls.c instead, if plans serve ordinary
 * calls in this process. */

#ifndef CH4_COLL_PROMOTE_H_INCLUDED
#define CH4_COLL_PROMOTE_H_INCLUDED

#ifdef MPIDI_CH4_COLL_OFFLOAD

#include <stdbool.h>

/* Plans serve ordinary calls: from the end of MPI_Init to MPI_Finalize, if the user wants that. */
extern bool MPIDI_PCOLL_promotes;

/* Each has the arguments, and the result, of what it replaces. */
__typeof__(MPID_Barrier) MPIDI_PCOLL_Barrier;
__typeof__(MPID_Bcast) MPIDI_PCOLL_Bcast;
__typeof__(MPID_Reduce) MPIDI_PCOLL_Reduce;
__typeof__(MPID_Allreduce) MPIDI_PCOLL_Allreduce;

/* A macro is not expanded within itself: the second name is MPICH's own. */
#define MPID_Barrier(...)                                                                          \
    (unlikely(MPIDI_PCOLL_promotes) ? MPIDI_PCOLL_Barrier(__VA_ARGS__) : MPID_Barrier(__VA_ARGS__))
#define MPID_Bcast(...)                                                                            \
    (unlikely(MPIDI_PCOLL_promotes) ? MPIDI_PCOLL_Bcast(__VA_ARGS__) : MPID_Bcast(__VA_ARGS__))
#define MPID_Reduce(...)                                                                           \
    (unlikely(MPIDI_PCOLL_promotes) ? MPIDI_PCOLL_Reduce(__VA_ARGS__) : MPID_Reduce(__VA_ARGS__))
#define MPID_Allreduce(...)                                                                        \
    (unlikely(MPIDI_PCOLL_promotes) ? MPIDI_PCOLL_Allreduce(__VA_ARGS__)                           \
                                    : MPID_Allreduce(__VA_ARGS__))

#endif /* MPIDI_CH4_COLL_OFFLOAD */

#endif /* CH4_COLL_PROMOTE_H_INCLUDED */
