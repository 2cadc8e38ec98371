/*
 * Random graphs of edges between ranks, about which the ranks tell each other as in MPI: several
 * edges between two ranks, edges of a rank to itself, one-way edges, blocks of any size and place,
 * and empty blocks.
 */
#ifndef PCOLL_TEST_GRAPH_H
#define PCOLL_TEST_GRAPH_H

#include "algorithms/algorithm.h"
#include "algorithms/plan/topology.h"

enum { GRAPH_MAX_RANKS = 9, GRAPH_MAX_EDGES = 4 * GRAPH_MAX_RANKS };

/* An edge of the whole graph. */
struct link {
    int from, to;
    uint64_t bytes;
};

/* Where the blocks of a rank lie in SEND, unless all of them are one block. */
enum graph_places {
    GRAPH_ANYWHERE, /* so they may overlap */
    GRAPH_APART     /* one after another, as packed */
};

struct graph {
    struct pcoll_signature signature;
    struct pcoll_topology *topology;
    int nranks, nlinks;
    uint64_t seed;
    enum graph_places places; /* may be set before graph_prepare */
    struct link links[GRAPH_MAX_EDGES];
    struct pcoll_edge in[GRAPH_MAX_RANKS][GRAPH_MAX_EDGES], out[GRAPH_MAX_RANKS][GRAPH_MAX_EDGES];
    struct pcoll_local locals[GRAPH_MAX_RANKS];
    struct pcoll_crossing crossings[GRAPH_MAX_RANKS]; /* as each rank has heard */
    int shares;     /* true: the ranks share memory, in place of sending messages */
    int wrong_rank; /* this rank is wrong about the bytes of an in edge, or lacks one if ranks share
                     * memory; PCOLL_NONE: no rank is */
};

/* The next random number, and a random size of a block, often one at which something changes. */
uint64_t graph_next(uint64_t *seed);
uint64_t graph_bytes(uint64_t *seed);

/* Make the graph of that seed in place of the previous one; a graph of zeros is empty. An even seed
 * gives a neighbor collective, an odd one a star: one link between each rank and the root. */
void graph_make(struct graph *g, uint64_t seed);
void graph_end(struct graph *g);

/* The ranks, as threads, tell each other about their edges. True if that ends on all ranks as it
 * should: well, or with PCOLL_ERR_INVALID if a rank is wrong. The signature then has its bytes,
 * volumes and degree. */
int graph_prepare(struct graph *g);

/* True if what the rank's in edges say about its peers is what the graph says. */
int graph_knows_peers(const struct graph *g, int rank);

/* How many pairs of nodes there are, each counted by its two leaders, and of these such with
 * messages in one direction only. */
int graph_count_pairs(const struct graph *g, int one_way);

#endif /* PCOLL_TEST_GRAPH_H */
