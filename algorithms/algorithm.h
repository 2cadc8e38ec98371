/*
 * The table of algorithms. To add one, write its file, which ends with its row, and add a line to
 * PCOLL_ALGORITHMS and to sources.mk.
 */
#ifndef PCOLL_ALGORITHM_H
#define PCOLL_ALGORITHM_H

#include <stdbool.h>

#include "algorithms/plan/machine.h"
#include "algorithms/plan/plan.h"

/* How a path moves data between user buffers. */
enum pcoll_path {
    PCOLL_PATH_AUTO, /* the algorithm's default */
    PCOLL_PATH_USER, /* directly between user buffers: rendezvous, no copy */
    PCOLL_PATH_TEMP  /* through communication buffers: no rendezvous, one copy */
};

/* Free parameters. 0 means the algorithm's default; an algorithm ignores parameters that it does
 * not use. */
struct pcoll_params {
    int radix; /* fan-out of a tree, base of a dissemination or of a doubling; >= 2 */
    int teams; /* of which level (signature.levels) the teams are that take the place of nodes: 1
                * for the first one; 0: none. With several nodes 1: these, with the levels below */
    uint64_t segment; /* bytes of a pipeline segment */
    int slots;        /* communication buffers of a ring, a power of two >= 2 */
    enum pcoll_path path;
    int rails; /* number of rails that pipelined broadcasts and rings stripe over, see plan.h */
    int paper; /* the single-instance form printed in document 001: one phase, no protection against
                * run-ahead; for printing only */
};

static inline int pcoll_radix(const struct pcoll_params *params)
{
    return params->radix ? params->radix : 2;
}

/* Two banks of counters, used alternately, or the single one of document 001. */
static inline int pcoll_banks(const struct pcoll_params *params)
{
    return params->paper ? 1 : 2;
}

/* What the parameter `slots` counts. */
enum pcoll_slot_use {
    PCOLL_NO_SLOTS,
    PCOLL_RING, /* slots of a ring through which segments flow: the rank that fills it waits for
                 * credit */
    PCOLL_BANKS /* places of whole messages, one for each instance in turn; most need no credit, as
                 * an instance is complete when all ranks have started it */
};

/* What an algorithm makes of the parameter `teams`. */
enum pcoll_team_use {
    PCOLL_NO_LEVELS,
    PCOLL_ONE_LEVEL,    /* its teams take the place of nodes; what lies below has no meaning */
    PCOLL_NESTED_LEVELS /* those below, too: a team in its parts */
};

struct pcoll_algorithm {
    const char *name;  /* as in CVARs, info keys and the tuning table */
    const char *alias; /* another name: MPICH's, or that of radix 2; NULL: there is none */
    enum pcoll_coll coll;
    const char *description; /* how it works: one line */
    const char *when;        /* the calls that it suits best: one line, without a verb */

    /* Begin and fill the plan that pcoll_plan_create made. PCOLL_UNSUPPORTED if the signature or
     * parameters do not suit. That answer depends on signature and params only, so it is the same
     * on all ranks. */
    enum pcoll_result (*generate)(struct pcoll_plan *plan, const struct pcoll_params *params);

    /* Estimated time in microseconds of one Start+Wait; takes at most O(log nranks) work. NULL: the
     * time of a simulated run, for few ranks only (tuning/sim/walk.h). */
    double (*cost)(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine);

    /* Upper bound of TEMP of any rank, in bytes. */
    uint64_t (*temp_bytes)(const struct pcoll_signature *signature,
                           const struct pcoll_params *params);

    unsigned paths;               /* PCOLL_PATH_BIT_* that generate accepts */
    int uses_radix, uses_segment; /* which parameters have a meaning */
    enum pcoll_team_use uses_teams;
    unsigned whole_paths; /* those of `paths` that ignore the segment, although others use it */
    enum pcoll_slot_use uses_slots;
    bool must_commute; /* it permutes operands: without signature.commutes the call does not suit */
    bool must_map;     /* its plans have PCOLL_NEED_MAPPED, unless the call is trivial */
};

static inline bool pcoll_has_segments(const struct pcoll_algorithm *algorithm, enum pcoll_path path)
{
    return algorithm->uses_segment && !(algorithm->whole_paths >> path & 1);
}

const struct pcoll_signature *pcoll_signature_of_teams(const struct pcoll_signature *signature,
                                                       int teams, struct pcoll_signature *room);

/* The signature as `generate`, `cost` and `temp_bytes` see it with that parameter `teams`: itself
 * for 0, otherwise *room, in which the topology is the level; NULL if there is no such level. */
static inline const struct pcoll_signature *
pcoll_signature_view(const struct pcoll_signature *signature, int teams,
                     struct pcoll_signature *room)
{
    return teams == 0 ? signature : pcoll_signature_of_teams(signature, teams, room);
}

/* The `temp_bytes` of an algorithm without communication buffers. */
uint64_t pcoll_no_temp(const struct pcoll_signature *signature, const struct pcoll_params *params);

#define PCOLL_PATH_BIT_AUTO (1u << PCOLL_PATH_AUTO)
#define PCOLL_PATH_BIT_USER (1u << PCOLL_PATH_USER)
#define PCOLL_PATH_BIT_TEMP (1u << PCOLL_PATH_TEMP)

/* All rows, as ALGORITHM(collective_name), defined in the algorithms' own files. Of two rows with
 * equal cost the choice takes the earlier one. */
#define PCOLL_ALGORITHMS(ALGORITHM)                                                                \
    ALGORITHM(barrier_butterfly)                                                                   \
    ALGORITHM(barrier_dissemination)                                                               \
    ALGORITHM(barrier_knomial)                                                                     \
    ALGORITHM(bcast_eager)                                                                         \
    ALGORITHM(bcast_shared)                                                                        \
    ALGORITHM(bcast_knomial_get)                                                                   \
    ALGORITHM(bcast_knomial_put)                                                                   \
    ALGORITHM(bcast_chain)                                                                         \
    ALGORITHM(bcast_kary)                                                                          \
    ALGORITHM(bcast_two_tree)                                                                      \
    ALGORITHM(bcast_trinaryx3)                                                                     \
    ALGORITHM(allgather_direct)                                                                    \
    ALGORITHM(allgather_butterfly)                                                                 \
    ALGORITHM(allgather_bruck)                                                                     \
    ALGORITHM(allgather_ring)                                                                      \
    ALGORITHM(allgatherv_direct)                                                                   \
    ALGORITHM(allgatherv_direct_get)                                                               \
    ALGORITHM(allgatherv_direct_shared)                                                            \
    ALGORITHM(allgatherv_bruck)                                                                    \
    ALGORITHM(allgatherv_ring)                                                                     \
    ALGORITHM(gather_knomial)                                                                      \
    ALGORITHM(gather_direct)                                                                       \
    ALGORITHM(gather_direct_get)                                                                   \
    ALGORITHM(gatherv_direct)                                                                      \
    ALGORITHM(gatherv_direct_get)                                                                  \
    ALGORITHM(scatter_knomial)                                                                     \
    ALGORITHM(scatter_direct_get)                                                                  \
    ALGORITHM(scatter_direct_put)                                                                  \
    ALGORITHM(scatterv_direct)                                                                     \
    ALGORITHM(scatterv_direct_get)                                                                 \
    ALGORITHM(alltoall_direct)                                                                     \
    ALGORITHM(alltoall_bruck)                                                                      \
    ALGORITHM(alltoall_node_aware)                                                                 \
    ALGORITHM(alltoallv_direct)                                                                    \
    ALGORITHM(alltoallv_direct_get)                                                                \
    ALGORITHM(alltoallv_aggregate)                                                                 \
    ALGORITHM(alltoallw_direct)                                                                    \
    ALGORITHM(alltoallw_direct_get)                                                                \
    ALGORITHM(alltoallw_aggregate)                                                                 \
    ALGORITHM(neighbor_allgather_direct)                                                           \
    ALGORITHM(neighbor_allgather_direct_get)                                                       \
    ALGORITHM(neighbor_allgather_direct_shared)                                                    \
    ALGORITHM(neighbor_allgather_aggregate)                                                        \
    ALGORITHM(neighbor_allgatherv_direct)                                                          \
    ALGORITHM(neighbor_allgatherv_direct_get)                                                      \
    ALGORITHM(neighbor_allgatherv_direct_shared)                                                   \
    ALGORITHM(neighbor_allgatherv_aggregate)                                                       \
    ALGORITHM(neighbor_alltoall_direct)                                                            \
    ALGORITHM(neighbor_alltoall_direct_get)                                                        \
    ALGORITHM(neighbor_alltoall_aggregate)                                                         \
    ALGORITHM(neighbor_alltoallv_direct)                                                           \
    ALGORITHM(neighbor_alltoallv_direct_get)                                                       \
    ALGORITHM(neighbor_alltoallv_aggregate)                                                        \
    ALGORITHM(neighbor_alltoallw_direct)                                                           \
    ALGORITHM(neighbor_alltoallw_direct_get)                                                       \
    ALGORITHM(neighbor_alltoallw_aggregate)                                                        \
    ALGORITHM(allreduce_direct)                                                                    \
    ALGORITHM(allreduce_butterfly)                                                                 \
    ALGORITHM(allreduce_sliced)                                                                    \
    ALGORITHM(allreduce_sliced_get)                                                                \
    ALGORITHM(allreduce_halving)                                                                   \
    ALGORITHM(allreduce_ring)                                                                      \
    ALGORITHM(allreduce_two_tree)                                                                  \
    ALGORITHM(allreduce_multi_leader)                                                              \
    ALGORITHM(allreduce_multi_leader_sliced)                                                       \
    ALGORITHM(allreduce_multi_leader_halving)                                                      \
    ALGORITHM(reduce_knomial)                                                                      \
    ALGORITHM(reduce_chain)                                                                        \
    ALGORITHM(reduce_two_tree)                                                                     \
    ALGORITHM(reduce_sliced)                                                                       \
    ALGORITHM(reduce_sliced_get)                                                                   \
    ALGORITHM(reduce_multi_leader_sliced)                                                          \
    ALGORITHM(reduce_scatter_block_direct)                                                         \
    ALGORITHM(reduce_scatter_block_direct_get)                                                     \
    ALGORITHM(reduce_scatter_block_node_aware)                                                     \
    ALGORITHM(reduce_scatter_direct)                                                               \
    ALGORITHM(reduce_scatter_direct_get)                                                           \
    ALGORITHM(reduce_scatter_node_aware)                                                           \
    ALGORITHM(scan_direct)                                                                         \
    ALGORITHM(scan_chain)                                                                          \
    ALGORITHM(scan_doubling)                                                                       \
    ALGORITHM(scan_columns)                                                                        \
    ALGORITHM(exscan_direct)                                                                       \
    ALGORITHM(exscan_chain)                                                                        \
    ALGORITHM(exscan_doubling)                                                                     \
    ALGORITHM(exscan_columns)
#define PCOLL_DECLARE(name) extern const struct pcoll_algorithm pcoll_##name;
PCOLL_ALGORITHMS(PCOLL_DECLARE)
#undef PCOLL_DECLARE

/* All rows in this order, followed by NULL. */
extern const struct pcoll_algorithm *const pcoll_algorithms[];

/* A loop over all of them: `row` is a const struct pcoll_algorithm *. */
#define PCOLL_EACH_ALGORITHM(row)                                                                  \
    for (const struct pcoll_algorithm *const *row##_at = pcoll_algorithms, *row;                   \
         (row = *row##_at) != NULL; row##_at++)

/* The row with that name or alias for that collective, or NULL. */
const struct pcoll_algorithm *pcoll_algorithm_find(enum pcoll_coll coll, const char *name);

/* The index of the row in pcoll_algorithms, which must contain it. */
int pcoll_algorithm_number(const struct pcoll_algorithm *algorithm);

/* Generate the plan of one rank with `algorithm`, after checking the signature and parameters
 * (PCOLL_ERR_INVALID: an impossible call, or a rank out of range). Trivial calls are handled here
 * for all algorithms: the plan copies SEND to RECV or has no entries. `local` may be NULL if the
 * signature says everything; otherwise it must outlive the plan. */
enum pcoll_result pcoll_generate(const struct pcoll_algorithm *algorithm,
                                 const struct pcoll_signature *signature,
                                 const struct pcoll_local *local, int rank,
                                 const struct pcoll_params *params,
                                 struct pcoll_plan **plan_p) PCOLL_MUST_CHECK;

#endif /* PCOLL_ALGORITHM_H */
