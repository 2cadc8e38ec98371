/*
 * A medium runs plans: it moves bytes and gains counters.
 *
 * It is one table of functions, every slot filled.  Binding is collective over the ranks of the
 * group and exchanges all addresses; from then on only plan entries communicate.  Unbinding is
 * local.
 */
#ifndef PCOLL_MEDIUM_H
#define PCOLL_MEDIUM_H

#include <stddef.h>

#include "algorithms/plan/plan.h"

/* How the ranks of a group reach each other before the medium works. */
struct pcoll_bootstrap {
    int rank, nranks;
    const struct pcoll_topology *topology; /* NULL: all on one node */
    const char *provider;                  /* of libfabric; NULL: its choice */
    const char *interface; /* the provider's domain, or a network interface, or an address of it,
                            * or a list `a,b,c` of such; NULL: the provider's choice */
    void *context;

    /* Collective; every rank gives `bytes` bytes at `mine`, and gets those of rank r at
     * `all` + r * bytes. */
    enum pcoll_result (*allgather)(void *context, const void *mine, void *all, size_t bytes);

    /* Give the `bytes` bytes at `mine` + i * bytes to each ranks[i], which are n others, and get
     * theirs at `theirs` + i * bytes.  If a names b, b names a, and gives as many bytes; the k-th
     * time that it names a meets the k-th time that a names it. */
    enum pcoll_result (*swap)(void *context, const int *ranks, int n, const void *mine,
                              void *theirs, size_t bytes);
    void (*idle)(void *context); /* called again and again while waiting for others */
    void (*report)(void *context, const char *message); /* to the user, one line */
};

#define PCOLL_EXCHANGE_BYTES 128 /* most that a rank can give to `exchange` */

/* User memory of this rank.  Must stay valid while the plan is bound. */
struct pcoll_memory {
    void *send, *recv;
};

struct pcoll_medium;

/* What a medium keeps per communicator, and a plan bound to memory and peers.  Each medium embeds
 * these as `base` in structures of its own. */
struct pcoll_group {
    const struct pcoll_medium *medium;
};

struct pcoll_bound {
    const struct pcoll_medium *medium;
};

/* The structure of type `type` whose member `member` is at `pointer`. */
#define pcoll_container_of(pointer, type, member)                                                  \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

struct pcoll_medium {
    const char *name;

    /* Collective.  PCOLL_UNSUPPORTED or an error is the same on all ranks.  The group keeps a copy
     * of *bootstrap; whether it is used later than here, in bind and exchange, the medium says. */
    enum pcoll_result (*group_create)(const struct pcoll_bootstrap *bootstrap,
                                      struct pcoll_group **group_p);
    void (*group_destroy)(struct pcoll_group *group); /* local; no plan is bound any more */
    unsigned (*group_provides)(const struct pcoll_group *group); /* enum pcoll_need */
    /* Endpoints to spread the rails of a plan over (plan.h); the same on all ranks. */
    int (*group_rails)(const struct pcoll_group *group);

    /* Collective: as the bootstrap's allgather, through the medium itself; bytes at most
     * PCOLL_EXCHANGE_BYTES. */
    enum pcoll_result (*exchange)(struct pcoll_group *group, const void *mine, void *all,
                                  size_t bytes);

    /* Collective.  `plan` must outlive *bound_p; a rank that could not make its plan passes NULL,
     * and all ranks get an error.  Answers agree. */
    enum pcoll_result (*bind)(struct pcoll_group *group, const struct pcoll_plan *plan,
                              const struct pcoll_memory *memory, struct pcoll_bound **bound_p);
    void (*unbind)(struct pcoll_bound *bound); /* local; the plan is not active */

    /* Start the next instance and do what can be done at once.  Allocates nothing; O(entries of
     * the phase).  Result as that of progress. */
    enum pcoll_result (*start)(struct pcoll_bound *bound);

    /* Do what can be done now.  PCOLL_OK: the instance is complete.  PCOLL_PENDING: not yet.
     * Anything else: it failed, and the plan cannot be used any more. */
    enum pcoll_result (*progress)(struct pcoll_bound *bound);

    /* As progress, but stays up to `spins` polls. */
    enum pcoll_result (*spin)(struct pcoll_bound *bound, unsigned spins);

    /* Nothing has moved for a while: give the core away, sleeping at most `usec` if a counter of
     * this plan does not move before. */
    void (*rest)(struct pcoll_bound *bound, unsigned usec);
};

/* Of media with one endpoint. */
static inline int pcoll_one_rail(const struct pcoll_group *group)
{
    (void)group;
    return 1;
}

#endif /* PCOLL_MEDIUM_H */
