/*
 * What a rank knows about the pairs of its node (node_pairs.h).
 */
#ifndef PCOLL_PAIRS_H
#define PCOLL_PAIRS_H

#include "algorithms/plan/node_pairs.h"

/* Of another rank of the node: how many blocks one of the two puts into messages of pairs that the
 * other one leads, and gets out of them. */
struct pcoll_member {
    int rank, packs, unpacks;
};

/* What a rank knows. */
struct pcoll_pairs {
    int count; /* of the pairs that this rank's edges share in, ascending by node */
    struct pcoll_pair *pairs;
    int nmembers, nleaders;
    struct pcoll_member *members;   /* whose blocks are in messages of pairs that this rank leads */
    struct pcoll_member *leaders;   /* of pairs with blocks of this rank */
    uint64_t temp_bytes;            /* all of TEMP */
    struct pcoll_crossing crossing; /* as far as this rank can see */
};

/* Fill in local->pairs, which the caller then owns, the `pair` of all edges, and the `landing` of
 * in edges. Of out edges and pairs the peers tell the rest. */
enum pcoll_result pcoll_pairs_prepare(const struct pcoll_signature *signature,
                                      struct pcoll_local *local, int rank,
                                      const struct pcoll_node_pairs *all) PCOLL_MUST_CHECK;
void pcoll_pairs_destroy(struct pcoll_pairs *pairs);

#endif /* PCOLL_PAIRS_H */
