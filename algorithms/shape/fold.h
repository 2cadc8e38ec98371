/*
 * Folding: exchanges in rounds suit certain numbers of ranks only, the core. So that this is at
 * least half of all, the others are folded in adjacent pairs: of P ranks (or teams), rank 2i + 1
 * gives what it has to 2i, for i < P - core, and gets the result from it at the end. The core is
 * numbered in the order of ranks, and what each of it has are adjacent ranks.
 *
 *      P = 5, core 4:   0 <- 1   2   3   4
 *      numbers          0        1   2   3
 */
#ifndef PCOLL_FOLD_H
#define PCOLL_FOLD_H

#include <stdbool.h>

#include "algorithms/cost.h"

struct pcoll_fold {
    int count, core; /* P, and of the core: core <= P <= 2 core */
};

/* The number of ranks that are folded, and whether `rank` is, or has one to fold. */
int pcoll_fold_folded(const struct pcoll_fold *fold);
bool pcoll_fold_is_folded(const struct pcoll_fold *fold, int rank);
bool pcoll_fold_has_extra(const struct pcoll_fold *fold, int rank);

/* The rank of a number of the core, and the number of a rank that is not folded. */
int pcoll_fold_rank(const struct pcoll_fold *fold, int number);
int pcoll_fold_number(const struct pcoll_fold *fold, int rank);

/* ---- what exchanges in a core take: terms of costs ---- */

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
                                      double bytes, bool reduces);

/* A folded rank sends `bytes` bytes, which are reduced; or it receives them, at the end. */
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

#endif /* PCOLL_FOLD_H */
