/*
 * A medium runs plans: it moves bytes and adds to counters.
 *
 * It is one table of traits and functions, every slot filled, and a row of media.c; nobody else
 * asks which medium it is.  Binding is collective over the ranks of the
 * group and exchanges all addresses; from then on only plan entries communicate.  Unbinding is
 * local.
 */
#ifndef PCOLL_MEDIUM_H
#define PCOLL_MEDIUM_H

#include "offload/bootstrap.h"

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

enum pcoll_medium_trait {
    PCOLL_SPANS_NODES = 1 << 0,   /* reaches other nodes: uses bootstrap->provider and ->interface,
                                   * and polls while the process waits for anything */
    PCOLL_RUNS_BY_ITSELF = 1 << 1 /* the network runs plans while no rank looks; few can */
};

struct pcoll_medium {
    const char *name;
    unsigned traits;         /* enum pcoll_medium_trait */
    const char *node_medium; /* what it works like within a node; NULL: like itself */
    int max_slots; /* of a ring of communication buffers, as counters are scarce; 0: any */

    /* Shall it carry plans where nobody asks for another?  Provider: as in the bootstrap. */
    int (*suits)(int one_node, const char *provider);

    /* What remains to be done for the process as a whole.  Poll: what peers need of us, now and
     * then as long as there is a group, by every rank that waits for anything.  Lingering: unbound
     * plans that peers have yet to unbind; ends those that none needs any more, and answers how
     * many are left.  Finalize: end them all, when no rank will start, or wait for, any plan
     * (behind a barrier of another kind, as in MPI_Finalize). */
    void (*poll)(void);
    int (*lingering)(void);
    void (*finalize)(void);

    /* Collective.  PCOLL_UNSUPPORTED or an error is the same on all ranks.  The group keeps a copy
     * of *bootstrap; whether it is used later than here, in bind and combine, the medium says. */
    enum pcoll_result (*group_create)(const struct pcoll_bootstrap *bootstrap,
                                      struct pcoll_group **group_p);
    void (*group_destroy)(struct pcoll_group *group); /* local; no plan is bound any more */
    unsigned (*group_provides)(const struct pcoll_group *group); /* enum pcoll_need */
    /* Endpoints to spread the rails of a plan over (plan.h); the same on all ranks. */
    int (*group_rails)(const struct pcoll_group *group);

    /* Collective: as the bootstrap's, by the medium's own ways where it has some. */
    enum pcoll_result (*combine)(struct pcoll_group *group, uint64_t *words, int n);

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

/* Of media that have nothing to do for the process. */
static inline void pcoll_nothing(void)
{
}

static inline int pcoll_none_lingers(void)
{
    return 0;
}

/* Of media with one endpoint. */
static inline int pcoll_one_rail(const struct pcoll_group *group)
{
    (void)group;
    return 1;
}

#endif /* PCOLL_MEDIUM_H */
