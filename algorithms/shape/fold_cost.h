/*
 * What exchanges in a core (fold.h) take: terms of costs.
 */
#ifndef PCOLL_FOLD_COST_H
#define PCOLL_FOLD_COST_H

#include "algorithms/cost.h"
#include "algorithms/shape/fold.h"

/* How the ranks that take part reach each other. */
struct pcoll_fold_links {
    const struct pcoll_signature *signature;
    struct pcoll_fold fold;
    int members;                 /* of them are on one node, consecutively */
    struct pcoll_link near, far; /* between those of a node, and others */
};

/* A wave, and the link that decides how long it takes. */
struct pcoll_move {
    struct pcoll_link link;
    struct pcoll_wave wave;
};

/* Groups of `radix` numbers of the core, `distance` apart, exchange `bytes` bytes and reduce all
 * that they get, if they reduce. */
struct pcoll_move pcoll_fold_exchange(const struct pcoll_fold_links *links, int distance, int radix,
                                      double bytes, int reduces);

/* Who is folded gives `bytes` bytes, which are reduced, or gets them. */
struct pcoll_move pcoll_fold_give(const struct pcoll_fold_links *links, double bytes);
struct pcoll_move pcoll_fold_get(const struct pcoll_fold_links *links, double bytes);

/* The move alone. */
struct pcoll_waves pcoll_move_alone(const struct pcoll_signature *signature,
                                    const struct pcoll_move *move);

/* Moves one after the other, in nodes before those between nodes, or after them. */
struct pcoll_moves {
    struct pcoll_waves near, far;
};
void pcoll_moves_add(struct pcoll_moves *moves, const struct pcoll_signature *signature,
                     const struct pcoll_move *move);

/* The time until the last rank has completed them. */
double pcoll_moves_time(const struct pcoll_moves *moves);

#endif /* PCOLL_FOLD_COST_H */
