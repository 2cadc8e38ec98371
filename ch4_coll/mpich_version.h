/* What differs between the versions of MPICH: each difference stands here once, with the version
 * that brought it. No other file of this folder asks for the version.
 *
 * maint/graft --check compares a tree with the interfaces that are used here and elsewhere
 * (maint/interfaces.tsv); doc/porting.md describes how to add a version. */

#ifndef MPICH_VERSION_H_INCLUDED
#define MPICH_VERSION_H_INCLUDED

#include "mpidimpl.h"

#define MPIDI_PCOLL_SINCE(major, minor, patch)                                                     \
    (MPICH_NUMVERSION >= (major)*10000000 + (minor)*100000 + (patch)*1000)

/* ---- faults of MPICH's persistent collectives, which fallback.c avoids ---- */

enum {
    /* Iallgather by recursive doubling keeps its counts from start to start. */
    MPIDI_PCOLL_ALLGATHER_REPAIRED = MPIDI_PCOLL_SINCE(4, 1, 1),
    /* Igather by a binomial tree copies the user's data at start, not at init. */
    MPIDI_PCOLL_GATHER_REPAIRED = MPIDI_PCOLL_SINCE(4, 2, 3),
    /* Iscatter by a binomial tree sets the root's count at start. */
    MPIDI_PCOLL_SCATTER_REPAIRED = MPIDI_PCOLL_SINCE(4, 3, 2),
};

/* 5.1: a CVAR can choose an Ibcast that takes its first step inside MPI_Bcast_init and leaves a
 * request in place of a schedule, which MPI_Start does not know. */
static inline bool MPIDI_PCOLL_bcast_runs_at_init(void)
{
#if MPIDI_PCOLL_SINCE(5, 1, 0)
    return MPIR_CVAR_IBCAST_INTRA_ALGORITHM == MPIR_CVAR_IBCAST_INTRA_ALGORITHM_circ_graph;
#else
    return false;
#endif
}

/* ---- processes ---- */

/* Returns whether the process has met others than those of its MPI_COMM_WORLD. From 4.2 on nobody
 * asks. */
static inline bool MPIDI_PCOLL_has_met_others(void)
{
#if !MPIDI_PCOLL_SINCE(4, 2, 0)
    return MPIDIU_get_n_avts() > 1;
#else
    return true;
#endif
}

/* ---- threads ---- */

/* MPICH is built for user-level threads: Argobots or, in newer versions, Qthreads. These are the
 * last of its packages. */
#define MPIDI_PCOLL_HAS_ULTS (MPL_THREAD_PACKAGE_NAME >= MPL_THREAD_PACKAGE_ARGOBOTS)

/* ---- messages on a communicator's collective context ---- */

/* 4.0 .. 4.1: collectives set a flag to report failures of peers.
 * 4.2: they get it by value, and report failures by their return values alone.
 * 5.0: it is one of several attributes of a collective, as bits of an int. */
#if !MPIDI_PCOLL_SINCE(4, 2, 0)
#define MPIDI_PCOLL_ATTEMPT(call)                                                                  \
    do {                                                                                           \
        MPIR_Errflag_t errflag = MPIR_ERR_NONE;                                                    \
        int mpi_errno = (call);                                                                    \
        if (mpi_errno == MPI_SUCCESS && errflag != MPIR_ERR_NONE)                                  \
            MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");                                 \
        return mpi_errno;                                                                          \
    } while (0)
#define MPIDI_PCOLL_ERRFLAG &errflag
typedef MPIR_Errflag_t *MPIDI_PCOLL_errflag_t;
#define MPIDI_PCOLL_WAIT_ERRFLAG , &errflag
#else
#define MPIDI_PCOLL_ATTEMPT(call) return (call)
#define MPIDI_PCOLL_WAIT_ERRFLAG
#if !MPIDI_PCOLL_SINCE(5, 0, 0)
#define MPIDI_PCOLL_ERRFLAG MPIR_ERR_NONE
typedef MPIR_Errflag_t MPIDI_PCOLL_errflag_t;
#else
#define MPIDI_PCOLL_ERRFLAG 0
typedef int MPIDI_PCOLL_errflag_t;
#endif
#endif

/* 5.0: inside MPICH, predefined types have other handles than in programs. */
#if !MPIDI_PCOLL_SINCE(5, 0, 0)
#define MPIDI_PCOLL_BYTE MPI_BYTE
#define MPIDI_PCOLL_INT MPI_INT
#define MPIDI_PCOLL_UINT64 MPI_UINT64_T
#else
#define MPIDI_PCOLL_BYTE MPIR_BYTE_INTERNAL
#define MPIDI_PCOLL_INT MPIR_INT_INTERNAL
#define MPIDI_PCOLL_UINT64 MPIR_UINT64_T_INTERNAL
#endif

/* All of these return an MPI error code. */

static inline int MPIDI_PCOLL_isend(const void *buffer, MPI_Aint bytes, int rank, int tag,
                                    MPIR_Comm *comm, MPIR_Request **request)
{
    MPIDI_PCOLL_ATTEMPT(
        MPIC_Isend(buffer, bytes, MPIDI_PCOLL_BYTE, rank, tag, comm, request, MPIDI_PCOLL_ERRFLAG));
}

static inline int MPIDI_PCOLL_irecv(void *buffer, MPI_Aint bytes, int rank, int tag,
                                    MPIR_Comm *comm, MPIR_Request **request)
{
    return MPIC_Irecv(buffer, bytes, MPIDI_PCOLL_BYTE, rank, tag, comm, request);
}

static inline int MPIDI_PCOLL_waitall(int n, MPIR_Request **requests)
{
    MPIDI_PCOLL_ATTEMPT(MPIC_Waitall(n, requests, MPI_STATUSES_IGNORE MPIDI_PCOLL_WAIT_ERRFLAG));
}

static inline int MPIDI_PCOLL_sendrecv(const void *mine, void *theirs, MPI_Aint bytes, int rank,
                                       int tag, MPIR_Comm *comm)
{
    MPIDI_PCOLL_ATTEMPT(MPIC_Sendrecv(mine, bytes, MPIDI_PCOLL_BYTE, rank, tag, theirs, bytes,
                                      MPIDI_PCOLL_BYTE, rank, tag, comm, MPI_STATUS_IGNORE,
                                      MPIDI_PCOLL_ERRFLAG));
}

/* One int of each rank; never a persistent collective. */
static inline int MPIDI_PCOLL_allgather_int(int own, int *all, MPIR_Comm *comm)
{
    MPIDI_PCOLL_ATTEMPT(MPIR_Allgather_fallback(&own, 1, MPIDI_PCOLL_INT, all, 1, MPIDI_PCOLL_INT,
                                                comm, MPIDI_PCOLL_ERRFLAG));
}

/* Each word becomes the maximum over all ranks, by the collective that ordinary calls use. */
static inline int MPIDI_PCOLL_allreduce_max(uint64_t *words, int n, MPIR_Comm *comm)
{
    MPIDI_PCOLL_ATTEMPT((MPID_Allreduce)(MPI_IN_PLACE, words, n, MPIDI_PCOLL_UINT64, MPI_MAX, comm,
                                         MPIDI_PCOLL_ERRFLAG));
}

/* Whether MPICH has made the communicator for its own algorithms, of the ranks of a node or of one
 * of each node, or (4.2) its ranks are threads. 5.0: a communicator has attributes in place of a
 * kind. */
static inline bool MPIDI_PCOLL_is_internal(const MPIR_Comm *comm)
{
#if MPIDI_PCOLL_SINCE(5, 0, 0)
    return comm->attr & MPIR_COMM_ATTR__SUBCOMM || comm->threadcomm;
#elif MPIDI_PCOLL_SINCE(4, 2, 0)
    return comm->hierarchy_kind > MPIR_COMM_HIERARCHY_KIND__PARENT || comm->threadcomm;
#else
    return comm->hierarchy_kind > MPIR_COMM_HIERARCHY_KIND__PARENT;
#endif
}

/* ---- datatypes ---- */

/* 4.1: packing takes flags; the number of segments comes with the number of their bytes. */
#if MPIDI_PCOLL_SINCE(4, 1, 0)
#define MPIDI_PCOLL_TYPEREP_FLAGS , MPIR_TYPEREP_FLAG_NONE
#define MPIDI_PCOLL_IOV_BYTES , NULL
#else
#define MPIDI_PCOLL_TYPEREP_FLAGS
#define MPIDI_PCOLL_IOV_BYTES
#endif

/* Half precision, as far as it is known how MPICH computes it: an IEEE half in the compiler's type
 * for it (4.x lacks the type, 5.0 computes without it, if the compiler has none), and a bfloat16 as
 * 5.0 rounds it. */
#if defined(HAVE_FLOAT16) || defined(MPIR_FLOAT16_CTYPE)
#define MPIDI_PCOLL_FLOAT16 MPIX_C_FLOAT16
#else
#define MPIDI_PCOLL_FLOAT16 MPI_DATATYPE_NULL
#endif
#if MPIDI_PCOLL_SINCE(5, 0, 0) && !MPIDI_PCOLL_SINCE(5, 1, 0)
#define MPIDI_PCOLL_BFLOAT16 MPIX_BFLOAT16
#else
#define MPIDI_PCOLL_BFLOAT16 MPI_DATATYPE_NULL
#endif

/* The handle by which programs name a predefined type. */
static inline MPI_Datatype MPIDI_PCOLL_named_type(MPI_Datatype type)
{
#if MPIDI_PCOLL_SINCE(5, 0, 0)
    if (HANDLE_IS_BUILTIN(type))
        return MPIR_DATATYPE_GET_ORIG_BUILTIN(type);
#endif
    return type;
}

static inline int MPIDI_PCOLL_typerep_pack(const void *user, MPI_Aint count, MPI_Datatype type,
                                           MPI_Aint first, void *packed, MPI_Aint bytes,
                                           MPI_Aint *done_p)
{
    return MPIR_Typerep_pack(user, count, type, first, packed, bytes,
                             done_p MPIDI_PCOLL_TYPEREP_FLAGS);
}

static inline int MPIDI_PCOLL_typerep_unpack(const void *packed, MPI_Aint bytes, void *user,
                                             MPI_Aint count, MPI_Datatype type, MPI_Aint first,
                                             MPI_Aint *done_p)
{
    return MPIR_Typerep_unpack(packed, bytes, user, count, type, first,
                               done_p MPIDI_PCOLL_TYPEREP_FLAGS);
}

/* The number of segments of one element, of `size` bytes. */
static inline int MPIDI_PCOLL_typerep_segments(MPI_Datatype type, MPI_Aint size, MPI_Aint *n_p)
{
    return MPIR_Typerep_iov_len(1, type, size, n_p MPIDI_PCOLL_IOV_BYTES);
}

/* ---- UCX ---- */

/* MPICH's context has RMA and active messages, it has one worker for each VCI, and its endpoints do
 * not handle errors.
 * 4.1: nobody has looked at it; plans have a context of their own. */
#ifdef HAVE_CH4_NETMOD_UCX
#include "../netmod/ucx/ucx_impl.h"

#if !MPIDI_PCOLL_SINCE(4, 1, 0)
#define MPIDI_PCOLL_UCX_AM MPIDI_UCX_AM_HANDLER_ID
#define MPIDI_PCOLL_UCX_CONTEXT MPIDI_UCX_global.context
#define MPIDI_PCOLL_UCX_WORKER MPIDI_UCX_global.ctx[0].worker
/* To a process of MPI_COMM_WORLD. */
#define MPIDI_PCOLL_UCX_ENDPOINT(rank) MPIDI_UCX_AV_TO_EP(&MPIDIU_get_av(0, rank), 0, 0)
#else
#define MPIDI_PCOLL_UCX_AM -1
#define MPIDI_PCOLL_UCX_CONTEXT NULL
#define MPIDI_PCOLL_UCX_WORKER NULL
#define MPIDI_PCOLL_UCX_ENDPOINT(rank) NULL
#endif

/* Until 4.1, processes meet in MPI_Finalize once their endpoints are closed; since 4.2, before
 * that. */
#if !MPIDI_PCOLL_SINCE(4, 2, 0)
#define MPIDI_PCOLL_UCX_CLOSES_FIRST
#define MPIDI_PCOLL_UCX_NWORKERS MPIDI_UCX_global.num_vnis
#define MPIDI_PCOLL_UCX_WORKER_OF(vni) MPIDI_UCX_global.ctx[vni].worker
#endif
#endif

/* ---- processes ---- */

/* The rank in MPI_COMM_WORLD of a process on this node. */
static inline int MPIDI_PCOLL_world_rank(MPIR_Comm *comm, int rank)
{
#if MPIDI_PCOLL_SINCE(5, 0, 0)
    return MPIDIU_get_grank(rank, comm);
#else
    return MPIDIU_rank_to_lpid(rank, comm);
#endif
}

/* ---- attributes ---- */

/* 5.1: C and Fortran attributes are set by functions of their own. */
#if !MPIDI_PCOLL_SINCE(5, 1, 0)
#define MPIDI_PCOLL_ATTR_TYPE , MPIR_ATTR_PTR
#else
#define MPIDI_PCOLL_ATTR_TYPE
#endif

static inline int MPIDI_PCOLL_set_attr(MPIR_Comm *comm, MPII_Keyval *keyval, void *value)
{
    return MPIR_Comm_set_attr_impl(comm, keyval, value MPIDI_PCOLL_ATTR_TYPE);
}

static inline int MPIDI_PCOLL_get_attr(MPIR_Comm *comm, int keyval, void *value_p, int *found)
{
    return MPIR_Comm_get_attr_impl(comm, keyval, value_p, found MPIDI_PCOLL_ATTR_TYPE);
}

/* ---- progress ---- */

/* Changes if a request has completed since the last call.
 * 4.0 .. 4.1: MPICH counts them. 4.2: it does not; a rank then yields although messages arrive. */
static inline int MPIDI_PCOLL_completions(void)
{
#if !MPIDI_PCOLL_SINCE(4, 2, 0)
    return MPL_atomic_relaxed_load_int(&MPIDI_VCI(0).progress_count);
#else
    return 0;
#endif
}

/* 4.3: progress hooks belong to a VCI; -1: to all of them. */
#if MPIDI_PCOLL_SINCE(4, 3, 0)
#define MPIDI_PCOLL_HOOK(name, made_p) int name(int vci, int *made_p)
#define MPIDI_PCOLL_HOOK_REGISTER(hook, id_p) MPIR_Progress_hook_register(-1, hook, id_p)
#else
#define MPIDI_PCOLL_HOOK(name, made_p) int name(int *made_p)
#define MPIDI_PCOLL_HOOK_REGISTER(hook, id_p) MPIR_Progress_hook_register(hook, id_p)
#endif

/* ---- requests ---- */

/* 4.2: a communicator knows those of its persistent requests that hold a reference to it. */
static inline void MPIDI_PCOLL_request_list(MPIR_Comm *comm, MPIR_Request *preq)
{
#if MPIDI_PCOLL_SINCE(4, 2, 0)
    MPIR_Comm_save_inactive_request(comm, preq);
#endif
}

/* Ends the creation of a persistent request: nothing waits for it before its first start.
 * 4.0: MPID_Startall looks for MPI_PROC_NULL in the device part of every request, where a previous
 * owner may have left it (repaired in 4.1). 4.0 .. 4.1: a request waits until its counter is 0
 * (4.2: only if it is active). */
static inline void MPIDI_PCOLL_request_settle(MPIR_Request *preq)
{
    MPIR_cc_set(&preq->cc, 0);
    preq->cc_ptr = &preq->cc;
#if !MPIDI_PCOLL_SINCE(4, 1, 0)
    MPIDI_PREQUEST(preq, rank) = 0;
#endif
}

#endif /* MPICH_VERSION_H_INCLUDED */
