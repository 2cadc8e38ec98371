/*
 * How the ranks of a node tell each other about their traffic with other nodes
 * (algorithms/plan/node_pairs.h).
 */
#ifndef PCOLL_OFFLOAD_PAIRS_H
#define PCOLL_OFFLOAD_PAIRS_H

#include "algorithms/plan/pairs.h"
#include "offload/bootstrap.h"

/* The most other nodes that a rank can have edges with, as far as it can see. */
int pcoll_pairs_max_traffic(const struct pcoll_signature *signature,
                            const struct pcoll_local *local, int rank);

/* The memory of that swap. */
struct pcoll_pairs_swap {
    int count;                 /* other ranks of the node */
    int *ranks;                /* [count]: ascending */
    struct pcoll_traffic *own; /* of this rank */
    int nown;
    char *mine;   /* a letter for each of them */
    char *theirs; /* [count]: letters */
    size_t letter_bytes;
};

/* With letters of up to `max` other nodes. PCOLL_ERR_NOMEM: there is nothing to end. */
enum pcoll_result pcoll_pairs_swap_init(struct pcoll_pairs_swap *s,
                                        const struct pcoll_signature *signature,
                                        const struct pcoll_local *local, int rank,
                                        int max) PCOLL_MUST_CHECK;
void pcoll_pairs_swap_fini(struct pcoll_pairs_swap *s);

/* Collective over each node: one message of some 32 `max` bytes goes to every other rank of the
 * node. Fills in local->pairs and what else pcoll_pairs_prepare does. */
enum pcoll_result pcoll_pairs_swap_run(struct pcoll_pairs_swap *s,
                                       const struct pcoll_bootstrap *bootstrap,
                                       const struct pcoll_signature *signature,
                                       struct pcoll_local *local) PCOLL_MUST_CHECK;

#endif /* PCOLL_OFFLOAD_PAIRS_H */
