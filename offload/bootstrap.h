/*
 * How the ranks of a group reach each other before a medium works, and how they agree.
 *
 * All that ranks must settle together travels as the element-wise maximum of a few words, so that
 * neither messages nor memory grow with the number of ranks.  Combining needs no memory of its own:
 * a rank that has run out of it can still say so.
 */
#ifndef PCOLL_BOOTSTRAP_H
#define PCOLL_BOOTSTRAP_H

#include <stddef.h>

#include "algorithms/plan/plan.h"

#define PCOLL_COMBINE_WORDS 16 /* most that ranks combine at once */

struct pcoll_bootstrap {
    int rank, nranks;
    const struct pcoll_topology *topology; /* NULL: all on one node */
    const char *provider;                  /* of libfabric; NULL: its choice */
    const char *interface; /* the provider's domain, or a network interface, or an address of it,
                            * or a list `a,b,c` of such; NULL: the provider's choice */
    int crowded;           /* ranks outnumber cores: one that waits must give its core away */
    void *context;

    /* Collective; every rank gives n words, n <= PCOLL_COMBINE_WORDS, and each becomes the greatest
     * that any rank gave.  A minimum is the maximum of complements; x is the same everywhere if the
     * maxima of x and ~x are complements; what rank 0 alone has to say meets zeros. */
    enum pcoll_result (*combine)(void *context, uint64_t *words, int n);

    /* Give the `bytes` bytes at `mine` + i * bytes to each ranks[i], which are n others, by rising
     * rank, and get theirs at `theirs` + i * bytes.  If a names b, b names a, and gives as many
     * bytes; the k-th time that it names a meets the k-th time that a names it. */
    enum pcoll_result (*swap)(void *context, const int *ranks, int n, const void *mine,
                              void *theirs, size_t bytes);
    void (*idle)(void *context); /* called again and again while waiting for others */
    void (*report)(void *context, const char *message); /* to the user, one line */
};

/* Collective: the worst of all ranks' results.  Each of the n values, n < PCOLL_COMBINE_WORDS,
 * becomes the greatest of all ranks'. */
enum pcoll_result pcoll_agree(const struct pcoll_bootstrap *bootstrap, enum pcoll_result mine,
                              uint64_t *values, int n) PCOLL_MUST_CHECK;

/* Collective: `data` becomes that of rank 0; `bytes` is at most 8 * PCOLL_COMBINE_WORDS. */
enum pcoll_result pcoll_tell(const struct pcoll_bootstrap *bootstrap, void *data,
                             size_t bytes) PCOLL_MUST_CHECK;

/* Combine among the `nranks` ranks that rank_of(list, i) names by rising rank, of which this is
 * number `mine`, in 2 log3(nranks) swaps with one other each. */
struct pcoll_circle {
    int mine, nranks;
    const void *list;
    int (*rank_of)(const void *list, int i); /* NULL: i itself */
};
enum pcoll_result pcoll_combine_by_swap(const struct pcoll_bootstrap *bootstrap,
                                        const struct pcoll_circle *circle, uint64_t *words, int n);

#endif /* PCOLL_BOOTSTRAP_H */
