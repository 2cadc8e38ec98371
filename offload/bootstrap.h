/*
 * How the ranks of a group reach each other before a medium works.
 *
 * Whatever ranks must agree on (agree.h) travels as the element-wise maximum of a few words, so
 * neither messages nor memory grow with the number of ranks. Combining allocates nothing: a rank
 * that has run out of memory can still report it.
 */
#ifndef PCOLL_BOOTSTRAP_H
#define PCOLL_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "algorithms/plan/machine.h"
#include "algorithms/plan/plan.h"

#define PCOLL_COMBINE_WORDS 16 /* the most words that ranks combine at once */

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
    bool crowded; /* ranks outnumber cores: a waiting rank must yield its core */
    const struct pcoll_locality *locality; /* where this rank is bound in its node; NULL: where the
                                            * kernel says (sysfs.h) */
    bool maps;          /* memory of other processes may be mapped by XPMEM, if all ranks of the
                         * node can */
    uint64_t coop_from; /* copies of user memory of so many bytes or more may be shared by two ranks
                         * of a node; 0: none; the same on all ranks */
    struct pcoll_bell *bell; /* that of this process' agent, in its heap, if the agent serves all
                              * ranks of the node; at most one rank's; NULL: not */
    int64_t board_from;      /* such an agent may perform entries of this rank in plans with so many
                              * bytes of user data; PCOLL_NONE: in none */
    void *context;

    /* Collective. Every rank contributes n words, n <= PCOLL_COMBINE_WORDS, and each word becomes
     * the maximum over all ranks. */
    enum pcoll_result (*combine)(void *context, uint64_t *words, int n);

    /* Send the `bytes` bytes at `mine` + i * bytes to each ranks[i], which are n other ranks in
     * ascending order, and receive theirs at `theirs` + i * bytes. If a names b, then b names a and
     * sends the same number of bytes; the k-th time that it names a matches the k-th time that a
     * names it. NULL: ranks share memory instead. */
    enum pcoll_result (*swap)(void *context, const int *ranks, int n, const void *mine,
                              void *theirs, size_t bytes);

    /* If all ranks are on one node and the medium shares memory among them; otherwise NULL, and
     * they swap. `share` is collective: so many bytes, the same on all ranks, that all of them can
     * access; NULL, on all ranks: there is no memory. `unshare` is local: this rank will not access
     * them any more. There is one such memory at a time, with a round before the next. */
    char *(*share)(void *context, size_t bytes);
    void (*unshare)(void *context);
    void (*idle)(void *context); /* called repeatedly while waiting for other ranks */
    void (*report)(void *context, const char *message); /* shows the user one line */
};

/* Ranks of a bootstrap that agree among themselves. Number i of nranks is the (first + i)-th of
 * `list`; this rank is number `mine`. */
struct pcoll_circle {
    const struct pcoll_bootstrap *outer;
    int mine, nranks;
    int first;
    const void *list;                        /* NULL: 0, 1, 2 ... */
    int (*rank_of)(const void *list, int i); /* NULL: the list is an array of int */
};

int pcoll_circle_rank(const struct pcoll_circle *circle, int i);

/* There are log9(nranks) swaps with up to 8 other ranks. */
enum pcoll_result pcoll_combine_by_swap(const struct pcoll_circle *circle, uint64_t *words, int n);

/* Collective: give all ranks the blocks of `bytes` bytes that each of them has in its own place, at
 * all + rank * bytes. There are log9(nranks) swaps; `room` is pcoll_gather_room() bytes. */
enum pcoll_result pcoll_gather_by_swap(const struct pcoll_bootstrap *bootstrap, void *all,
                                       size_t bytes, void *room);
size_t pcoll_gather_room(int nranks, size_t bytes);

/* The ranks of this one's node, by the topology of *outer, in the order of their places. */
struct pcoll_circle pcoll_circle_of_node(const struct pcoll_bootstrap *outer);

/* A bootstrap by which the ranks of a circle, which must outlive it, agree; they can neither swap
 * nor share. */
struct pcoll_bootstrap pcoll_bootstrap_of_circle(struct pcoll_circle *circle);

#endif /* PCOLL_BOOTSTRAP_H */
