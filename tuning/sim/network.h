/*
 * The network between the nodes.
 *
 *   flat      messages do not affect each other; only the ports of the nodes are shared (LogGP)
 *   torus     a x b x c nodes, numbered as in shape/pipeline.h, x fastest; a link from each to its
 *             six neighbors; messages take the shorter direction on x, then y, then z
 *   fat tree  `down` nodes on a leaf switch, `up` links from each leaf, one to each spine switch;
 *             a message to node d goes through spine d mod up
 *
 * A link carries one message at a time, at `G` per byte, in the order in which their heads arrive.
 * A head moves on as soon as it may (virtual cut-through), `hop` later. Routes do not depend on
 * load.
 */
#ifndef PCOLL_SIM_NETWORK_H
#define PCOLL_SIM_NETWORK_H

#include <stdio.h>

#include "algorithms/plan/plan.h"

enum pcoll_network_kind { PCOLL_FLAT, PCOLL_TORUS, PCOLL_FAT_TREE };

struct pcoll_network {
    enum pcoll_network_kind kind;
    int side[3];  /* of the torus */
    int down, up; /* of the fat tree */
    double hop;   /* us from one switch to the next */
    double G;     /* us per byte of a link */
};

/* Read "flat", "torus:4x4x4" or "fat_tree:32:16" (down, up) into kind and sizes. */
enum pcoll_result pcoll_network_parse(const char *text,
                                      struct pcoll_network *network) PCOLL_MUST_CHECK;

/* PCOLL_OK if it is a network for that many nodes; otherwise says why not in one line. */
enum pcoll_result pcoll_network_check(const struct pcoll_network *network, int nnodes,
                                      FILE *why) PCOLL_MUST_CHECK;

/* Links are numbered from 0. */
int64_t pcoll_network_nlinks(const struct pcoll_network *network, int nnodes);

/* Link number `hop` on the route between two nodes; PCOLL_NONE: the route has fewer links. */
int64_t pcoll_network_link(const struct pcoll_network *network, int nnodes, int from, int to,
                           int hop);

#endif /* PCOLL_SIM_NETWORK_H */
