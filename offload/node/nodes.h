/*
 * How the ranks of a communicator settle where they are.
 *
 * All ranks see which ranks share a node, so a formula (plan/topology.h) takes no message. Where
 * ranks are not equally far from the network, they agree on the distances of the i-th ranks of all
 * nodes, 15 at a time: if these are the same on every node, one order serves them all.
 * Otherwise, and where there is no formula, the lowest rank of each node makes a table in memory
 * that the ranks of the node share.
 */
#ifndef PCOLL_NODES_H
#define PCOLL_NODES_H

#include "algorithms/plan/topology.h"
#include "offload/bootstrap.h"

struct pcoll_nodes {
    struct pcoll_node_map map; /* the same on all ranks */
    int distance;              /* of this rank to the network, at least 0 */
    bool distances_differ;     /* between ranks; the same on all of them */

    /* Collective: all[rank] becomes the distance that the rank gave. */
    enum pcoll_result (*gather)(void *context, int own, int *all);
};

/* Collective over the ranks of `bootstrap`, whose topology is not read. All get the same result.
 * The caller ends *topology (pcoll_topology_fini) if that is PCOLL_OK. */
enum pcoll_result pcoll_nodes_settle(const struct pcoll_bootstrap *bootstrap,
                                     const struct pcoll_nodes *nodes,
                                     struct pcoll_topology *topology) PCOLL_MUST_CHECK;

#endif /* PCOLL_NODES_H */
