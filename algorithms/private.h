/*
 * Shared by the algorithm files: banks, trees, cost terms.  Not for use outside algorithms/.
 */
#ifndef PCOLL_ALGORITHMS_PRIVATE_H
#define PCOLL_ALGORITHMS_PRIVATE_H

#include "algorithms/algorithm.h"
#include "algorithms/topology.h"

/* Ranks renumbered so that the root is 0. */
static inline int pcoll_relative(int rank, int root, int nranks)
{
    return (rank - root + nranks) % nranks;
}

static inline int pcoll_absolute(int relative, int root, int nranks)
{
    return (relative + root) % nranks;
}

/* Two banks of counters, used in turn, or the single one of document 001. */
static inline int pcoll_banks(const struct pcoll_params *params)
{
    return params->paper ? 1 : 2;
}

static inline double pcoll_larger(double a, double b)
{
    return a > b ? a : b;
}

/* How many ranks a node has, on average and rounded up. */
int pcoll_ranks_per_node(const struct pcoll_signature *signature);

/* Do its ranks sit on several nodes? */
int pcoll_is_over_wire(const struct pcoll_signature *signature);

/* Largest n with 2^n <= value, value >= 1. */
int pcoll_log2_floor(int value);

/* Smallest n with radix^n >= value. */
int pcoll_log_ceil(int value, int radix);

/*
 * The k-nomial tree over ranks 0 .. nranks - 1, rooted at 0: written in base `radix`, the parent
 * of v is v with its lowest digit that is not zero set to zero.  radix >= nranks gives a star.
 * Children come in the order of falling subtree size.
 */
struct pcoll_tree {
    int nranks, radix;
};

int pcoll_tree_parent(struct pcoll_tree tree, int v); /* PCOLL_NONE for 0 */
int pcoll_tree_nchildren(struct pcoll_tree tree, int v);
int pcoll_tree_child(struct pcoll_tree tree, int v, int i); /* 0 <= i < nchildren */
int pcoll_tree_depth(struct pcoll_tree tree);

/* Bytes [first, first + count) of a message cut in `nsegments` nearly equal parts. */
struct pcoll_segment {
    uint64_t first, count;
};

/* How many segments of at most `segment` bytes (0: `fallback`) make up a message of bytes > 0; not
 * more than PCOLL_MAX_SEGMENTS, however small the segments were requested. */
#define PCOLL_MAX_SEGMENTS 4096
uint64_t pcoll_segment_count(uint64_t bytes, uint64_t segment, uint64_t fallback);

struct pcoll_segment pcoll_segment_of(uint64_t bytes, uint64_t nsegments, uint64_t i);

/* Time of one step in which a rank fires `messages` entries and waits for as many: with more ranks
 * than cores, it is over when every rank has had its turn.  If another step follows, it cannot
 * begin before the port is free for it. */
double pcoll_cost_wave(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       double messages, int is_last);

/* Time of start, wait, and `waves` such steps one after the other. */
double pcoll_cost_waves(const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine, int waves, double messages);

/* What it takes to send `bytes` bytes between user buffers: `first` from firing the entry until the
 * signal is seen, `gap` until the next can follow, and `in`, how far apart signals that several
 * ranks send to one are seen. */
struct pcoll_hop {
    double first, gap, in;
};
struct pcoll_hop pcoll_cost_hop(const struct pcoll_signature *signature,
                                const struct pcoll_machine *machine, double bytes);

/* Time until the last rank of the tree has a message that each sends to its children by such hops,
 * in their order. */
double pcoll_cost_knomial(struct pcoll_tree tree, struct pcoll_hop hop);

/* How many ranks share one core, at least 1. */
double pcoll_cost_crowd(const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine);

/* With several nodes: of what every rank sends to others anywhere, how much goes through the port
 * of its node, which all its ranks share.  1 where each rank has a node. */
double pcoll_cost_share(const struct pcoll_signature *signature);

/* Time per byte that every rank sends to others anywhere. */
double pcoll_cost_rate(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       enum pcoll_path path);

/* The same between user buffers when most of it is passed on by ranks that got it before: in turn
 * on one core, they find it gone from the cache. */
double pcoll_cost_forward(const struct pcoll_signature *signature,
                          const struct pcoll_machine *machine);

/* The machine for terms of those who have a port and a core for themselves, though others sit on
 * their node: the leaders, where only they send to other nodes. */
struct pcoll_machine pcoll_cost_leaders(const struct pcoll_signature *signature,
                                        const struct pcoll_machine *machine);

/* The level inside a node, as a machine whose plans start in no time. */
struct pcoll_machine pcoll_cost_node(const struct pcoll_machine *machine);

/*
 * The ends of a hierarchical barrier: members other than the leader signal `weight` on its counter
 * `bank` and wait to be released (pcoll_barrier_follow).  The leader of `team` has
 * pcoll_barrier_gathered there when all have come; when its counter has reached `level`, the sum of
 * all that it gets in an instance, all ranks have started, and it releases its members.
 */
uint64_t pcoll_barrier_gathered(const struct pcoll_teams *teams, int team, uint64_t weight);
void pcoll_barrier_follow(struct pcoll_plan *plan, const struct pcoll_teams *teams, int bank,
                          uint64_t weight);
void pcoll_barrier_release(struct pcoll_plan *plan, const struct pcoll_teams *teams, int bank,
                           uint64_t level);
double pcoll_cost_barrier_team(const struct pcoll_signature *signature,
                               const struct pcoll_machine *machine);

/* How many lanes stripe blocks of `bytes` bytes over the rails of `params`. */
int pcoll_lanes(const struct pcoll_params *params, uint64_t bytes);

/* Put the entries from `first` on, which are those of one lane, on its rail. */
void pcoll_lane_rail(struct pcoll_plan *plan, int first, int rail);

uint64_t pcoll_no_temp(const struct pcoll_signature *signature, const struct pcoll_params *params);

#endif /* PCOLL_ALGORITHMS_PRIVATE_H */
