/*
 * Where the ranks of a communicator are: which of them share a node, and who leads it.
 *
 * Nodes are numbered by their lowest rank. All ranks stand in a row, node by node: the *places*.
 * The first of a node is its leader, the rank nearest to the network, of equals the lowest; the
 * others follow in the same order.
 *
 *      nodes {0 2} {1 3 4}:   place 0 1 2 3 4  is of rank  0 2 1 3 4
 *
 * It has one of two forms, and the functions below answer for either:
 *
 *   formula  Ranks are dealt out to the nodes in runs: rank r is on node r / run mod nnodes. A
 *            long run makes blocks of consecutive ranks, of which the last may be shorter; run 1 is
 *            round robin; between them lies what SLURM calls plane. Nothing grows with the ranks.
 *            If leaders are not the lowest ranks, all nodes must be equal, and one permutation of a
 *            node's ranks serves them all.
 *   table    Anything else: two numbers for each rank and one for each node. They may belong to
 *            another: ranks of one node can share them.
 *
 * Ranks of a node may be nearer to some of their node than to others: those that share a cache, a
 * NUMA domain, a socket. Such teams are *levels* below the node, each of which is a topology too,
 * whose nodes are its teams. A team of one level is a part of a team of the level above. All levels
 * have the same row: the parts of a team follow each other, the one of the team's leader comes
 * first, and the first of a part leads it.
 *
 *      caches {0 2} {1 3} {4 5}, sockets {0 1 2 3} {4 5}:   places of ranks  0 2 1 3 4 5
 *
 * If all nodes have the same levels, the formula describes these, too: it repeats the teams of the
 * first node. levels.h makes levels.
 */
#ifndef PCOLL_TOPOLOGY_H
#define PCOLL_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "algorithms/plan/plan.h"

/* The distance between two ranks: how near are the cores that they are bound to? */
enum pcoll_level {
    PCOLL_LEVEL_ANY, /* unknown */
    PCOLL_LEVEL_SAME_CACHE,
    PCOLL_LEVEL_OTHER_CACHE,
    PCOLL_LEVEL_OTHER_SOCKET,
    PCOLL_LEVEL_OTHER_HOST,
    PCOLL_NUM_LEVELS
};
extern const char *const pcoll_level_names[PCOLL_NUM_LEVELS]; /* "any", "same_cache" .. */

/* Ranks that take no longer to exchange flags are near each other, as if they shared a cache. Such
 * ranks took 50 to 60 ns; ranks with caches of their own in one socket 240, on another machine 138
 * to 299 (doc/notes/near-and-far-cores.md). */
#define PCOLL_NEAR_NSEC 110

/* Where a rank is bound in its node. Two ranks of a node with equal numbers share the object.
 * PCOLL_NONE: unknown, or its cores have none in common. */
struct pcoll_locality {
    int32_t package; /* socket */
    int32_t cache;   /* the largest data cache that all its cores share */
    int32_t numa;
};

/* Read nnodes; for the rest use the functions. Belongs to the communicator and outlives all its
 * plans. */
struct pcoll_topology {
    int nranks, nnodes;

    int run;          /* formula; 0: a table */
    const int *order; /* [ranks of a node]: member i is the order[i]-th by rank; NULL: the i-th */
    const int *order_of; /* the inverse */
    int parts;           /* of a level below: the teams of each node; 0: the nodes themselves */
    const int *starts;   /* [parts + 1]: where these begin among the places of a node */

    const int *first;   /* [nnodes + 1]: places [first[i], first[i + 1]) are those of node i */
    const int *members; /* [nranks]: the rank at each place */
    const int *places;  /* [nranks]: the place of each rank */
    bool consecutive;   /* the ranks of each node */

    const struct pcoll_topology *below; /* the next level; NULL: there is none */
    int most_parts;                     /* of any node, on that level */
    bool in_node;                       /* all ranks are on one node, and its nodes are teams */
    enum pcoll_level level;             /* if it is a level: the distance of ranks of one team */

    void *owned; /* what `disown` ends; NULL: nothing */
    void (*disown)(void *owned);
};

/* The node of a rank, 0 .. nnodes - 1.  topology NULL: all are on node 0. */
int pcoll_topology_node(const struct pcoll_topology *topology, int rank);

/* The place of the leader of a node, 0 <= node <= nnodes; the last one is nranks. */
int pcoll_topology_first(const struct pcoll_topology *topology, int node);
int pcoll_topology_size(const struct pcoll_topology *topology, int node);

int pcoll_topology_rank(const struct pcoll_topology *topology, int place);
int pcoll_topology_place(const struct pcoll_topology *topology, int rank);

/* What tells the node of each rank: any numbers, equal for ranks of one node. */
struct pcoll_node_map {
    int (*node_of)(const void *context, int rank);
    const void *context;
};

/* Is there a formula for `nranks` ranks, nranks >= 1?  Asks for each rank four times at most, and
 * needs no memory. *topology_p owns nothing. PCOLL_UNSUPPORTED: a table is needed (also where the
 * numbers of the nodes neither rise nor fall: it takes memory to see that they differ). */
enum pcoll_result pcoll_topology_find(const struct pcoll_node_map *map, int nranks,
                                      struct pcoll_topology *topology_p) PCOLL_MUST_CHECK;

/* Do all nodes have as many ranks? */
bool pcoll_topology_is_even(const struct pcoll_topology *topology);

/* Are the ranks of each node consecutive?  The answer takes no walk over them. */
bool pcoll_topology_is_consecutive(const struct pcoll_topology *topology);

/* What `consecutive` of a table is to be, by a walk. */
bool pcoll_topology_find_consecutive(const struct pcoll_topology *table);

/* Give the members of all nodes of an even formula the order of their distances to the network:
 * distance[i] is that of the i-th rank, by number, of every node. */
enum pcoll_result pcoll_topology_arrange(struct pcoll_topology *topology,
                                         const int *distance) PCOLL_MUST_CHECK;

/* The table in memory of the caller's: of so many ints.  distance[rank] may be NULL: all the same.
 * While it is made it takes 16 bytes a rank more. pcoll_topology_of_table borrows it, and walks
 * over it once. */
size_t pcoll_topology_table_ints(int nranks);
enum pcoll_result pcoll_topology_write(const struct pcoll_node_map *map, const int *distance,
                                       int nranks, int *table) PCOLL_MUST_CHECK;
struct pcoll_topology pcoll_topology_of_table(const int *table, int nranks);

/* From the node of each rank, node_ids[0 .. nranks), nranks >= 1: by a formula if there is one.
 * distance[rank], which may be NULL for all the same, says how far it is to the network. The
 * caller owns *topology_p. */
enum pcoll_result pcoll_topology_create(const int *node_ids, const int *distance, int nranks,
                                        struct pcoll_topology **topology_p) PCOLL_MUST_CHECK;
void pcoll_topology_destroy(struct pcoll_topology *topology);

/* End what *topology owns. */
void pcoll_topology_fini(struct pcoll_topology *topology);

#endif /* PCOLL_TOPOLOGY_H */
