/* The backend as MPICH's own code sees it: the expansions of the grafted lines. Without
 * --with-coll=offload (and with ch3, which compiles those files too) they expand to what MPICH has
 * there. */

#ifndef MPIR_COLL_OFFLOAD_HOOKS_H_INCLUDED
#define MPIR_COLL_OFFLOAD_HOOKS_H_INCLUDED

#ifdef MPIDI_CH4_COLL_OFFLOAD

#include <stdbool.h>
#include <stddef.h>

struct MPIR_Request;
struct MPIR_Info;

/* The u.persist_coll.sched_type of our requests; not a value of enum MPIR_sched_type. */
#define MPIDI_PCOLL_SCHED 77

#define MPIDI_PCOLL_IS_OURS(preq) ((int)(preq)->u.persist_coll.sched_type == MPIDI_PCOLL_SCHED)

/* Starts an inactive request of ours: sets u.persist_coll.real_request, which may already be
 * complete. Returns an MPI error code. */
int MPIDI_PCOLL_start(struct MPIR_Request *preq);

/* Releases the plan of a request of ours; the caller frees the request itself. */
void MPIDI_PCOLL_free(struct MPIR_Request *preq);

/* The same for a request of MPICH's that is watched (once.h), whose schedule the caller frees: is
 * it of MPIR_SCHED_NORMAL, or of MPIR_SCHED_GENTRAN? */
int MPIDI_PCOLL_start_watched(struct MPIR_Request *preq);
bool MPIDI_PCOLL_is_normal(const struct MPIR_Request *preq);

/* MPI_Wait calls this for an active, incomplete request of ours before it enters the general
 * progress loop; it may complete the request, but need not. */
void MPIDI_PCOLL_wait_hint(struct MPIR_Request *preq);

/* Registers the MPI_T performance variables; called at every MPI initialization. */
void MPIDI_PCOLL_pvars_init(void);

#define MPIR_COLL_OFFLOAD_INIT() MPIDI_PCOLL_pvars_init()

/* Called at every MPI initialization, once the process knows its node and before it has met any
 * other: publishes to the ranks of its node what they have to know of this one. Whoever has met it
 * sees that. */
void MPIDI_PCOLL_publish(void);

#define MPIR_COLL_OFFLOAD_PUBLISH() MPIDI_PCOLL_publish()

/* Called at the end of MPI_Init: where ranks outnumber cores, a waiting rank from now on yields its
 * core in the progress hook. Returns an MPI error code. */
int MPIDI_PCOLL_init_completed(void);

/* This rank shares its core, and yields it when it waits. */
extern bool MPIDI_PCOLL_crowded;

/* Called at each pass of a loop that waits for other ranks, if crowded: may yield. */
void MPIDI_PCOLL_yield(void);

/* Memory that the other processes of the node can map, or NULL: MPICH's will do. */
void *MPIDI_PCOLL_alloc_mem(size_t size, struct MPIR_Info *info);
/* Returns whether the memory came from there and is free now, or *mpi_errno_p is set, as it is not
 * the beginning of an allocation. */
bool MPIDI_PCOLL_free_mem(void *memory, int *mpi_errno_p);

/* Used in MPID_Alloc_mem and MPID_Free_mem, which return what it returns. */
#define MPIR_COLL_OFFLOAD_ALLOC_MEM(size, info)                                                    \
    do {                                                                                           \
        void *ours = MPIDI_PCOLL_alloc_mem(size, info);                                            \
        if (ours)                                                                                  \
            return ours;                                                                           \
    } while (0)

#define MPIR_COLL_OFFLOAD_FREE_MEM(memory)                                                         \
    do {                                                                                           \
        int error = MPI_SUCCESS;                                                                   \
        if (MPIDI_PCOLL_free_mem(memory, &error))                                                  \
            return error;                                                                          \
    } while (0)

/* Used in MPID_InitCompleted: requires its label fn_fail. */
#define MPIR_COLL_OFFLOAD_INIT_COMPLETED(mpi_errno)                                                \
    do {                                                                                           \
        mpi_errno = MPIDI_PCOLL_init_completed();                                                  \
        MPIR_ERR_CHECK(mpi_errno);                                                                 \
    } while (0)

/* Used where MPICH waits without calling its progress hooks. */
#define MPIR_COLL_OFFLOAD_YIELD()                                                                  \
    do {                                                                                           \
        if (MPIDI_PCOLL_crowded)                                                                   \
            MPIDI_PCOLL_yield();                                                                   \
    } while (0)

/* This process and all that it shared MPI_COMM_WORLD with are on one node. MPICH 4.0 and 4.1 poll
 * the network first in each pass of their progress engine, which makes an exchange in shared memory
 * take up to 1.7 times as long where ranks share cores. Such a process polls it in one pass of 16,
 * until it has met others, by MPI_Comm_spawn, connect or accept. */
extern bool MPIDI_PCOLL_on_one_node;
bool MPIDI_PCOLL_network_turn(void);

#define MPIR_COLL_OFFLOAD_NETWORK_TURN() (!MPIDI_PCOLL_on_one_node || MPIDI_PCOLL_network_turn())

/* MPICH on UCX: plans may use its UCX, whose configuration it is about to read. */
void MPIDI_PCOLL_before_ucx(void);

#define MPIR_COLL_OFFLOAD_BEFORE_UCX() MPIDI_PCOLL_before_ucx()

/* MPICH on UCX: waits in MPI_Finalize until all processes have closed their endpoints, which takes
 * answers of this process. Returns an MPI error code. */
int MPIDI_PCOLL_last_barrier(void);

#define MPIR_COLL_OFFLOAD_LAST_BARRIER() MPIDI_PCOLL_last_barrier()

/* How often to poll a flag in shared memory before calling the progress engine. */
#define MPIR_COLL_OFFLOAD_SPINS(with_core) (MPIDI_PCOLL_crowded ? 8 : (with_core))

/* A child's rank in a tree in shared memory, of which MPICH 4.0 reads one byte, with its sign. */
#define MPIR_COLL_OFFLOAD_CHILD(children, i) (*(int *)utarray_eltptr(children, i))

/* Used in MPIR_Persist_coll_start: requires its label fn_fail. */
#define MPIR_COLL_OFFLOAD_START(preq, mpi_errno)                                                   \
    do {                                                                                           \
        if (MPIDI_PCOLL_IS_OURS(preq)) {                                                           \
            mpi_errno = MPIDI_PCOLL_start(preq);                                                   \
            MPIR_ERR_CHECK(mpi_errno);                                                             \
        } else {                                                                                   \
            mpi_errno = MPIDI_PCOLL_start_watched(preq);                                           \
            MPIR_ERR_CHECK(mpi_errno);                                                             \
        }                                                                                          \
    } while (0)

#define MPIR_COLL_OFFLOAD_FREE(preq)                                                               \
    do {                                                                                           \
        if (MPIDI_PCOLL_IS_OURS(preq))                                                             \
            MPIDI_PCOLL_free(preq);                                                                \
        else if (MPIDI_PCOLL_is_normal(preq))                                                      \
            MPIR_Sched_free((preq)->u.persist_coll.sched);                                         \
        else                                                                                       \
            MPIR_TSP_sched_free((preq)->u.persist_coll.sched);                                     \
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
#define MPIR_COLL_OFFLOAD_PUBLISH()                                                                \
    do {                                                                                           \
    } while (0)
#define MPIR_COLL_OFFLOAD_INIT_COMPLETED(mpi_errno)                                                \
    do {                                                                                           \
    } while (0)
#define MPIR_COLL_OFFLOAD_YIELD()                                                                  \
    do {                                                                                           \
    } while (0)
#define MPIR_COLL_OFFLOAD_NETWORK_TURN() 1
#define MPIR_COLL_OFFLOAD_BEFORE_UCX()                                                             \
    do {                                                                                           \
    } while (0)
#define MPIR_COLL_OFFLOAD_LAST_BARRIER() MPIR_pmi_barrier()
#define MPIR_COLL_OFFLOAD_SPINS(with_core) (with_core)
#define MPIR_COLL_OFFLOAD_CHILD(children, i) (*utarray_eltptr(children, i))
#define MPIR_COLL_OFFLOAD_ALLOC_MEM(size, info)                                                    \
    do {                                                                                           \
    } while (0)
#define MPIR_COLL_OFFLOAD_FREE_MEM(memory)                                                         \
    do {                                                                                           \
    } while (0)
#define MPIR_COLL_OFFLOAD_FREE(preq) MPIR_Assert(0)
#define MPIR_COLL_OFFLOAD_WAIT(preq)                                                               \
    do {                                                                                           \
    } while (0)

#endif /* MPIDI_CH4_COLL_OFFLOAD */

#endif /* MPIR_COLL_OFFLOAD_HOOKS_H_INCLUDED */
