/*
 * Pairs of nodes: what edges (edges.h) between nodes become if all those from one node to another
 * share one message.
 *
 * The ranks of a node tell each other how much each of them sends to, and receives from, each other
 * node. From that, all of them deduce the same:
 *
 *   Edges from one node to another share a message if there are at least two of them with data. It
 *   has the blocks in the order of their receivers, and those of one receiver in the order of its
 *   in edges; so a receiver knows where its blocks are, and tells their senders at init.
 *
 *   Two nodes with such a message, in either direction, are a pair. One rank of each node, which
 *   has edges among these, leads it there: so it learns from the peers of its own edges which rank
 *   leads the pair at the other end. Pairs are given to ranks by bytes, largest first, each to the
 *   rank with the least bytes so far.
 *
 *   The leader keeps the messages of its pairs in TEMP: those that leave and those that arrive, in
 *   two banks each. Slots for edges that share no message follow.
 *
 * Nothing about ranks that have no edge in common with this rank or its node is told to anyone.
 *
 * Source: Bienz, Gropp and Olson, "Node aware sparse matrix-vector multiplication" (2019); Bienz et
 * al., "MPI Advance: open-source message passing optimizations" (2023). That leaders have edges of
 * their own, so that nothing else is told between nodes, is ours.
 */
#ifndef PCOLL_NODE_PAIRS_H
#define PCOLL_NODE_PAIRS_H

#include <stdbool.h>

#include "algorithms/plan/edges.h"
#include "algorithms/plan/topology.h"

/* Blocks of the collective may go between nodes in messages that edges share: it has edges, no
 * root, and blocks that only their ends know, and one of several nodes has several ranks. */
bool pcoll_can_have_pairs(const struct pcoll_signature *signature);

/* The edge has data and leads to or from another node than that of the rank. */
bool pcoll_edge_is_far(const struct pcoll_signature *signature, const struct pcoll_edge *edge,
                       int rank);

/* The edges with data between one rank and the ranks of another node. */
struct pcoll_traffic {
    int32_t node, nout, nin, unused;
    uint64_t out_bytes, in_bytes;
};

/* The traffic of a rank, ascending by node; `list` has room for nin + nout of them. Returns their
 * number. */
int pcoll_traffic_of(const struct pcoll_signature *signature, const struct pcoll_local *local,
                     int rank, struct pcoll_traffic *list);

/* The traffic of all ranks of a node, in the order of their places. */
struct pcoll_node_traffic {
    int node, nmembers;
    const int *counts;                        /* [nmembers] */
    const struct pcoll_traffic *const *lists; /* [nmembers] */
};

/* A node, and another one. */
struct pcoll_pair {
    int node;                   /* the other one */
    int leader;                 /* the rank of this node that leads the pair */
    int peer;                   /* the one of the other node */
    uint64_t sent, received;    /* bytes of the message in each direction; 0: there is none */
    uint64_t leaving, arriving; /* where they are in TEMP of the leader, in bank 0 */
    uint64_t peer_arriving;     /* the same of the peer */
};

/* Where a message, or the block of a slot, is in another bank. */
uint64_t pcoll_in_bank(uint64_t first, uint64_t bytes, int bank);

/* The traffic of a member of the node with another node. */
struct pcoll_share {
    struct pcoll_traffic traffic;
    int member;
};

/* How many blocks it has in the messages of the pair of these nodes. */
int pcoll_share_packs(const struct pcoll_share *share, const struct pcoll_pair *pair);
int pcoll_share_unpacks(const struct pcoll_share *share, const struct pcoll_pair *pair);
bool pcoll_share_takes_part(const struct pcoll_share *share, const struct pcoll_pair *pair);

/* All pairs of a node, without `peer` and `peer_arriving`. */
struct pcoll_node_pairs {
    int nmembers, count;
    struct pcoll_share *shares; /* by node, then by member */
    struct pcoll_pair *pairs;   /* [count], by node */
    int *first, *nshares;       /* [count]: pair i has shares[first[i] .. first[i] + nshares[i]) */
    uint64_t *used;             /* [nmembers]: bytes of messages in TEMP */
    int edges, messages;        /* from this node to others, and their messages, shared or not */
    uint64_t bytes, shared;     /* bytes of all of them, and of those that edges share */
};

/* The caller owns *pairs_p and gives it to pcoll_node_pairs_destroy. */
enum pcoll_result pcoll_node_pairs_create(const struct pcoll_signature *signature,
                                          const struct pcoll_node_traffic *traffic,
                                          struct pcoll_node_pairs **pairs_p) PCOLL_MUST_CHECK;
void pcoll_node_pairs_destroy(struct pcoll_node_pairs *all);

/* The pair with that node, of `count` pairs by node; NULL: there is none. */
struct pcoll_pair *pcoll_pair_find(struct pcoll_pair *pairs, int count, int node);

#endif /* PCOLL_NODE_PAIRS_H */
