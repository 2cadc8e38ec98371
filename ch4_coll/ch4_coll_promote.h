/* The ordinary blocking collectives that plans may serve (promote.h), and how MPICH's calls of them
 * get to the backend. mpidch4.h includes this header behind the definitions of MPID_X; who calls
 * MPID_X from there on calls MPIDI_PCOLL_X of promoted_calls.c instead, if plans serve ordinary
 * calls in this process. A call that is only counted is counted here. */

#ifndef CH4_COLL_PROMOTE_H_INCLUDED
#define CH4_COLL_PROMOTE_H_INCLUDED

#ifdef MPIDI_CH4_COLL_OFFLOAD

#include "mpir_coll_offload_hooks.h" /* MPIDI_PCOLL_crowded */

#include <stdbool.h>
#include <stdint.h>

/* Plans serve ordinary calls: from MPI_Init to MPI_Finalize, if the user wants that. */
extern bool MPIDI_PCOLL_promotes;

/* Of the calls of a communicator. */
struct MPIDI_PCOLL_tally {
    MPIR_Comm *comm;
    uint64_t plain;      /* the next calls, of which nothing but their number matters */
    bool awaits_barrier; /* a barrier is none of them */
};

/* By the handle of the communicator: that of the one that was last used; none is NULL. */
enum { MPIDI_PCOLL_TALLIES = 16 };
extern struct MPIDI_PCOLL_tally *MPIDI_PCOLL_tallies[MPIDI_PCOLL_TALLIES];

static inline struct MPIDI_PCOLL_tally **MPIDI_PCOLL_tally_slot(const MPIR_Comm *comm)
{
    enum { KIND_SHIFT = 28 }; /* handles of different kinds count from 0 */
    const unsigned handle = (unsigned)comm->handle;

    return &MPIDI_PCOLL_tallies[(handle ^ handle >> KIND_SHIFT) % MPIDI_PCOLL_TALLIES];
}

/* Of hook.c, on a rank that shares its core: an ordinary call begins, so that passes from here on
 * belong to another wait. Collectives in shared memory complete no request, which would tell. */
void MPIDI_PCOLL_hook_new_wait(void);

/* Returns whether a call goes to MPICH at once. */
static inline bool MPIDI_PCOLL_is_plain(const MPIR_Comm *comm, bool is_barrier)
{
    struct MPIDI_PCOLL_tally *tally;

    if (MPIDI_PCOLL_crowded)
        MPIDI_PCOLL_hook_new_wait();
    if (likely(!MPIDI_PCOLL_promotes))
        return true;
    tally = *MPIDI_PCOLL_tally_slot(comm);
    if (tally->comm != comm || tally->plain == 0 || (is_barrier && tally->awaits_barrier))
        return false;
    tally->plain--;
    return true;
}

/* Each has the arguments, and the result, of what it replaces. */
__typeof__(MPID_Barrier) MPIDI_PCOLL_Barrier;
__typeof__(MPID_Bcast) MPIDI_PCOLL_Bcast;
__typeof__(MPID_Gather) MPIDI_PCOLL_Gather;
__typeof__(MPID_Scatter) MPIDI_PCOLL_Scatter;
__typeof__(MPID_Allgather) MPIDI_PCOLL_Allgather;
__typeof__(MPID_Allgatherv) MPIDI_PCOLL_Allgatherv;
__typeof__(MPID_Alltoall) MPIDI_PCOLL_Alltoall;
__typeof__(MPID_Reduce) MPIDI_PCOLL_Reduce;
__typeof__(MPID_Allreduce) MPIDI_PCOLL_Allreduce;
__typeof__(MPID_Reduce_scatter_block) MPIDI_PCOLL_Reduce_scatter_block;
__typeof__(MPID_Scan) MPIDI_PCOLL_Scan;
__typeof__(MPID_Exscan) MPIDI_PCOLL_Exscan;

/* The communicator is evaluated twice. A name in parentheses is MPICH's function, not the macro. */
#define MPIDI_PCOLL_CALL(Name, comm, is_barrier, ...)                                              \
    (MPIDI_PCOLL_is_plain(comm, is_barrier) ? (MPID_##Name)(__VA_ARGS__)                           \
                                            : MPIDI_PCOLL_##Name(__VA_ARGS__))

#define MPID_Barrier(comm, ...) MPIDI_PCOLL_CALL(Barrier, comm, true, comm, __VA_ARGS__)
#define MPID_Bcast(buffer, n, type, root, comm, ...)                                               \
    MPIDI_PCOLL_CALL(Bcast, comm, false, buffer, n, type, root, comm, __VA_ARGS__)
#define MPID_Gather(in, nin, intype, out, nout, outtype, root, comm, ...)                          \
    MPIDI_PCOLL_CALL(Gather, comm, false, in, nin, intype, out, nout, outtype, root, comm,         \
                     __VA_ARGS__)
#define MPID_Scatter(in, nin, intype, out, nout, outtype, root, comm, ...)                         \
    MPIDI_PCOLL_CALL(Scatter, comm, false, in, nin, intype, out, nout, outtype, root, comm,        \
                     __VA_ARGS__)
#define MPID_Allgather(in, nin, intype, out, nout, outtype, comm, ...)                             \
    MPIDI_PCOLL_CALL(Allgather, comm, false, in, nin, intype, out, nout, outtype, comm, __VA_ARGS__)
#define MPID_Allgatherv(in, nin, intype, out, counts, displs, outtype, comm, ...)                  \
    MPIDI_PCOLL_CALL(Allgatherv, comm, false, in, nin, intype, out, counts, displs, outtype, comm, \
                     __VA_ARGS__)
#define MPID_Alltoall(in, nin, intype, out, nout, outtype, comm, ...)                              \
    MPIDI_PCOLL_CALL(Alltoall, comm, false, in, nin, intype, out, nout, outtype, comm, __VA_ARGS__)
#define MPID_Reduce(in, out, n, type, op, root, comm, ...)                                         \
    MPIDI_PCOLL_CALL(Reduce, comm, false, in, out, n, type, op, root, comm, __VA_ARGS__)
#define MPID_Allreduce(in, out, n, type, op, comm, ...)                                            \
    MPIDI_PCOLL_CALL(Allreduce, comm, false, in, out, n, type, op, comm, __VA_ARGS__)
#define MPID_Reduce_scatter_block(in, out, n, type, op, comm, ...)                                 \
    MPIDI_PCOLL_CALL(Reduce_scatter_block, comm, false, in, out, n, type, op, comm, __VA_ARGS__)
#define MPID_Scan(in, out, n, type, op, comm, ...)                                                 \
    MPIDI_PCOLL_CALL(Scan, comm, false, in, out, n, type, op, comm, __VA_ARGS__)
#define MPID_Exscan(in, out, n, type, op, comm, ...)                                               \
    MPIDI_PCOLL_CALL(Exscan, comm, false, in, out, n, type, op, comm, __VA_ARGS__)

#endif /* MPIDI_CH4_COLL_OFFLOAD */

#endif /* CH4_COLL_PROMOTE_H_INCLUDED */
