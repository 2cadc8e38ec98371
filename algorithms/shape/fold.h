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

struct pcoll_fold {
    int count, core; /* P, and of the core: core <= P <= 2 core */
};

/* The number of ranks that are folded, and whether `rank` is, or has one to fold. */
int pcoll_fold_folded(const struct pcoll_fold *fold);
int pcoll_fold_is_folded(const struct pcoll_fold *fold, int rank);
int pcoll_fold_has_extra(const struct pcoll_fold *fold, int rank);

/* The rank of a number of the core, and the number of a rank that is not folded. */
int pcoll_fold_rank(const struct pcoll_fold *fold, int number);
int pcoll_fold_number(const struct pcoll_fold *fold, int rank);

#endif /* PCOLL_FOLD_H */
