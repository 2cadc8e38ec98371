/*
 * How the ranks of a group reach each other before a medium works, and how they agree.
 *
 * Whatever ranks must settle together travels as the element-wise maximum of a few words, so
 * neither messages nor memory grow with the number of ranks. Combining allocates nothing: a rank
 * that has run out of memory can still report it.
 */
#ifndef PCOLL_BOOTSTRAP_H
#define PCOLL_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "algorithms/plan/plan.h"

#define PCOLL_COMBINE_WORDS 16 /* the most words that ranks combine at once */

/* The usual coop_from. */
#define PCOLL_COOP_FROM (UINT64_C(512) << 10)

struct pcoll_bell; /* bell.h */

/* What MPI has opened for itself with a library of networks, and lends to the medium over the same
 * library: a member of a structure that only this medium and the lender know. */
struct pcoll_foreign {
    const char *library; /* as in struct pcoll_wire */
};

struct pcoll_bootstrap {
    int rank, nranks;
    const struct pcoll_topology *topology; /* NULL: all ranks are on one node */
    const char *provider;                  /* a libfabric provider; NULL: libfabric's choice */
    const char *interface; /* the provider's domain, a network interface, an address, or a list
                            * `a,b,c` of these; NULL: the provider's choice */
    const struct pcoll_foreign *foreign; /* for the medium to use if no interface is named; NULL:
                                          * MPI lends nothing */
    bool crowded;       /* ranks outnumber cores: a waiting rank must yield its core */
    uint64_t coop_from; /* copies of user memory of so many bytes or more may be shared by two ranks
                         * of a node; 0: none; the same on all ranks */
    struct pcoll_bell *bell; /* that of this process' agent, in its heap, if the agent serves all
                              * ranks of the node; at most one rank's; NULL: not */
    int64_t board_from;      /* such an agent may perform entries of this rank in plans with so many
                              * bytes of user data; PCOLL_NONE: in none */
    void *context;

    /* Collective. Every rank contributes n words, n <= PCOLL_COMBINE_WORDS, and each word becomes
     * the maximum over all ranks. A minimum is the maximum of complements; x is the same everywhere
     * if the maxima of x and ~x are complements; for words that rank 0 alone decides, the other
     * ranks contribute zeros. */
    enum pcoll_result (*combine)(void *context, uint64_t *words, int n);

    /* Send the `bytes` bytes at `mine` + i * bytes to each ranks[i], which are n other ranks in
     * ascending order, and receive theirs at `theirs` + i * bytes. If a names b, then b names a and
     * sends the same number of bytes; the k-th time that it names a matches the k-th time that a
     * names it. */
    enum pcoll_result (*swap)(void *context, const int *ranks, int n, const void *mine,
                              void *theirs, size_t bytes);
    void (*idle)(void *context); /* called repeatedly while waiting for other ranks */
    void (*report)(void *context, const char *message); /* shows the user one line */
};

/* What must be the same on all ranks takes two words: itself and its complement. */
static inline void pcoll_say_same(uint64_t *words, uint64_t value)
{
    words[0] = value;
    words[1] = ~value;
}

/* True, once they are combined, if all ranks have said the same. */
static inline bool pcoll_heard_same(const uint64_t *words)
{
    return words[0] == ~words[1];
}

/* Collective. Returns the worst of all ranks' results. Each of the n values, n <
 * PCOLL_COMBINE_WORDS, becomes the maximum over all ranks. */
enum pcoll_result pcoll_agree(const struct pcoll_bootstrap *bootstrap, enum pcoll_result mine,
                              uint64_t *values, int n) PCOLL_MUST_CHECK;

/* Collective. `data` becomes that of rank 0; `bytes` is at most 8 * PCOLL_COMBINE_WORDS. */
enum pcoll_result pcoll_tell(const struct pcoll_bootstrap *bootstrap, void *data,
                             size_t bytes) PCOLL_MUST_CHECK;

/* Combine among the `nranks` ranks that rank_of(list, i) names in ascending order; this rank is
 * number `mine`. There are log9(nranks) swaps with up to 8 other ranks. */
struct pcoll_circle {
    int mine, nranks;
    const void *list;
    int (*rank_of)(const void *list, int i); /* NULL: i itself */
};
enum pcoll_result pcoll_combine_by_swap(const struct pcoll_bootstrap *bootstrap,
                                        const struct pcoll_circle *circle, uint64_t *words, int n);

#endif /* PCOLL_BOOTSTRAP_H */
