/* The backend as seen from MPICH's own code: what the grafted lines expand to. Without
 * --with-coll=offload (and with ch3, which compiles those files too) they are what stood there
 * before. */

#ifndef MPIR_COLL_OFFLOAD_HOOKS_H_INCLUDED
#define MPIR_COLL_OFFLOAD_HOOKS_H_INCLUDED

#ifdef MPIDI_CH4_COLL_OFFLOAD

#include <stdbool.h>

struct MPIR_Request;

/* u.persist_coll.sched_type of our requests; no value of enum MPIR_sched_type. */
#define MPIDI_PCOLL_SCHED 77

#define MPIDI_PCOLL_IS_OURS(preq) ((int)(preq)->u.persist_coll.sched_type == MPIDI_PCOLL_SCHED)

/* Starts an inactive request of ours: sets u.persist_coll.real_request, which may
 * be complete already. Returns an MPI error code. */
int MPIDI_PCOLL_start(struct MPIR_Request *preq);

/* Releases the plan of a request of ours; the request itself is freed by the caller. */
void MPIDI_PCOLL_free(struct MPIR_Request *preq);

/* Called by MPI_Wait on an active, incomplete request of ours ahead of the general
 * progress loop: may complete it, need not. */
void MPIDI_PCOLL_wait_hint(struct MPIR_Request *preq);

/* Makes the MPI_T performance variables known; at every MPI initialisation. */
void MPIDI_PCOLL_pvars_init(void);

#define MPIR_COLL_OFFLOAD_INIT() MPIDI_PCOLL_pvars_init()

/* At the end of MPI_Init: where ranks outnumber cores, a rank that waits gives its core away from
 * now on, in the progress hook. Returns an MPI error code. */
int MPIDI_PCOLL_init_completed(void);

/* This rank shares its core, and gives it away when it waits. */
extern bool MPIDI_PCOLL_crowded;

/* Called at each pass of a loop that waits for other ranks, if crowded: may yield. */
void MPIDI_PCOLL_yield(void);

/* In MPID_InitCompleted: needs its label fn_fail. */
#define MPIR_COLL_OFFLOAD_INIT_COMPLETED(mpi_errno)                                                \
    do {                                                                                           \
        mpi_errno = MPIDI_PCOLL_init_completed();                                                  \
        MPIR_ERR_CHECK(mpi_errno);                                                                 \
    } while (0)

/* Where MPICH waits without its progress hooks. */
#define MPIR_COLL_OFFLOAD_YIELD()                                                                  \
    do {                                                                                           \
        if (MPIDI_PCOLL_crowded)                                                                   \
            MPIDI_PCOLL_yield();                                                                   \
    } while (0)

/* How often to look at a flag in shared memory before calling the progress engine. */
#define MPIR_COLL_OFFLOAD_SPINS(with_core) (MPIDI_PCOLL_crowded ? 8 : (with_core))

/* In MPIR_Persist_coll_start: needs its label fn_fail. */
#define MPIR_COLL_OFFLOAD_START(preq, mpi_errno)                                                   \
    do {                                                                                           \
        if (MPIDI_PCOLL_IS_OURS(preq)) {                                                           \
            mpi_errno = MPIDI_PCOLL_start(preq);                                                   \
            MPIR_ERR_CHECK(mpi_errno);                                                             \
        } else {                                                                                   \
            MPIR_Assert(0);                                                                        \
        }                                                                                          \
    } while (0)

#define MPIR_COLL_OFFLOAD_FREE(preq)                                                               \
    do {                                                                                           \
        if (MPIDI_PCOLL_IS_OURS(preq))                                                             \
            MPIDI_PCOLL_free(preq);                                                                \
        else                                                                                       \
            MPIR_Assert(0);                                                                        \
    } while (0)

#define MPIR_COLL_OFFLOAD_WAIT(preq)                                                               \
    do {                                                                                           \
        if ((preq)->kind == MPIR_REQUEST_KIND__PREQUEST_COLL && MPIDI_PCOLL_IS_OURS(preq) &&       \
            !MPIR_Request_is_complete(preq))                                                       \
            MPIDI_PCOLL_wait_hint(preq);                                                           \
    } while (0)

#else

#define MPIR_COLL_OFFLOAD_START(preq, mpi_errno) MPIR_Assert(0)
#define MPIR_COLL_OFFLOAD_INIT()                                                                   \
    do {                                                                                           \
    } while (0)
#define MPIR_COLL_OFFLOAD_INIT_COMPLETED(mpi_errno)                                                \
    do {                                                                                           \
    } while (0)
#define MPIR_COLL_OFFLOAD_YIELD()                                                                  \
    do {                                                                                           \
    } while (0)
#define MPIR_COLL_OFFLOAD_SPINS(with_core) (with_core)
#define MPIR_COLL_OFFLOAD_FREE(preq) MPIR_Assert(0)
#define MPIR_COLL_OFFLOAD_WAIT(preq)                                                               \
    do {                                                                                           \
    } while (0)

#endif /* MPIDI_CH4_COLL_OFFLOAD */

#endif /* MPIR_COLL_OFFLOAD_HOOKS_H_INCLUDED */
