/*
 * A medium runs plans: it moves bytes and adds to counters.
 *
 * It is one table of traits and functions, with every member set, and a row of media.c; no other
 * code asks which medium it is. Binding is collective over the ranks of the group and exchanges all
 * addresses; from then on only plan entries communicate. Unbinding is local.
 */
#ifndef PCOLL_MEDIUM_H
#define PCOLL_MEDIUM_H

#include "algorithms/plan/machine.h"
#include "algorithms/plan/topology.h"
#include "offload/bootstrap.h"

struct pcoll_operator; /* reduce/operator.h */
struct pcoll_wire;     /* rma/wire.h */
struct pcoll_sharing;  /* node/sharing.h */

/* How the bytes of SEND or RECV lie in user memory that is not contiguous. `pack` reads bytes
 * [first, first + bytes) of SEND, `unpack` writes those of RECV; entries name no other ranges. */
struct pcoll_user_layout {
    enum pcoll_result (*pack)(const struct pcoll_user_layout *layout, uint64_t first, void *to,
                              size_t bytes);
    enum pcoll_result (*unpack)(const struct pcoll_user_layout *layout, uint64_t first,
                                const void *from, size_t bytes);
    /* From bytes of this layout, of SEND, to those of another with the same function, of RECV.
     * PCOLL_UNSUPPORTED: they have to be packed and unpacked. NULL: always. */
    enum pcoll_result (*copy)(const struct pcoll_user_layout *layout, uint64_t first,
                              const struct pcoll_user_layout *to, uint64_t to_first, size_t bytes);
};

/* User memory of this rank, and the operator of a collective that reduces (otherwise NULL). They
 * must stay valid while the plan is bound. An operator or layout is used only inside start,
 * progress and spin of this plan. With a layout, which only media with PCOLL_PACKS accept, the
 * address has no meaning; the plan reads only SEND and writes only RECV, and no peer accesses
 * either, nor a REDUCE. */
struct pcoll_memory {
    void *send, *recv;
    const struct pcoll_operator *op;
    const struct pcoll_user_layout *send_layout, *recv_layout; /* NULL: contiguous */
};

struct pcoll_medium;

/* A medium's state for a communicator, and a plan bound to memory and peers. Each medium embeds
 * these as `base` in structures of its own. */
struct pcoll_group {
    const struct pcoll_medium *medium;
    const struct pcoll_bootstrap *bootstrap; /* how its ranks agree, from now on, by the medium's
                                              * own means if it has any */
};

struct pcoll_bound {
    const struct pcoll_medium *medium; /* runs this plan: not always the group's, of which it has
                                        * the name and the traits */
    bool can_move; /* to other user memory, with the medium's `tell` and `move`; this may differ
                    * between ranks, of which all must be able to */
};

/* The structure of type `type` that contains `pointer` as its member `member`. */
#define pcoll_container_of(pointer, type, member)                                                  \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#define PCOLL_OVER_UCX "ucx"

#define PCOLL_LIBFABRIC "libfabric"

enum pcoll_medium_trait {
    PCOLL_SPANS_NODES = 1 << 0,    /* reaches other nodes: uses bootstrap->provider and ->interface,
                                    * and must be polled while the process waits for anything */
    PCOLL_RUNS_BY_ITSELF = 1 << 1, /* the network runs plans without calls by any rank; few
                                    * networks can */
    PCOLL_PACKS = 1 << 2,          /* moves data from and to user memory with a layout */
    PCOLL_LENDS = 1 << 3,          /* another thread of the process may call start, progress,
                                    * spin and position of a plan, one at a time; if the medium
                                    * spans nodes, one at a time of all functions (agent/) */
    PCOLL_LOADS = 1 << 4 /* provides PCOLL_NEED_MAPPED also where its groups do not say so,
                          * if the memory is in the heaps of all ranks (memory/heap.h) */
};

struct pcoll_medium {
    const char *name;
    unsigned traits;               /* enum pcoll_medium_trait */
    const char *library;           /* of the network: PCOLL_LIBFABRIC, "UCX"; NULL: none */
    const struct pcoll_wire *wire; /* what it does for the medium; NULL: none, or in another way */
    const char *node_medium;       /* the medium that it resembles within a node; NULL: itself */
    int max_slots; /* the most slots of a ring of communication buffers, where counters are scarce;
                    * 0: unlimited */

    /* Returns whether it should carry plans when the user names no medium. `provider` is as in the
     * bootstrap, or PCOLL_OVER_UCX where MPI itself uses UCX instead of libfabric. */
    bool (*suits)(bool one_node, const char *provider);

    /* For the whole process: do what peers need of it. Every rank that waits for anything calls
     * this now and then as long as a group exists. */
    void (*poll)(void);
    /* For the whole process: destroy the unbound plans that no peer needs any more. Returns how
     * many are left for peers to unbind. */
    int (*lingering)(void);
    /* For the whole process: destroy all unbound plans, when no rank will start or wait for any
     * plan any more (after a barrier of another kind, as in MPI_Finalize). */
    void (*finalize)(void);

    /* Collective. PCOLL_UNSUPPORTED or an error is the same on all ranks. The group keeps a copy of
     * *bootstrap; the medium says whether bind and the group's bootstrap use it later. */
    enum pcoll_result (*group_create)(const struct pcoll_bootstrap *bootstrap,
                                      struct pcoll_group **group_p);
    void (*group_destroy)(struct pcoll_group *group);            /* local; no plan may be bound */
    unsigned (*group_provides)(const struct pcoll_group *group); /* enum pcoll_need */
    /* The number of endpoints to spread the rails of a plan over (plan.h); the same on all
     * ranks. */
    int (*group_rails)(const struct pcoll_group *group);
    /* How far apart the ranks of a node are, those two of all nodes that are farthest apart. The
     * same on all ranks. */
    enum pcoll_level (*group_level)(const struct pcoll_group *group);
    /* Which ranks of this rank's node share what; NULL: unknown. */
    const struct pcoll_sharing *(*group_sharing)(const struct pcoll_group *group);
    /* The levels below the nodes, as a signature has them, if all nodes have the same; valid as
     * long as the group, and the same on all ranks. NULL: there are none. */
    const struct pcoll_topology *(*group_levels)(const struct pcoll_group *group);
    /* Writes into `size` bytes how ranks reach user memory of others of their node, for people. */
    void (*group_reach)(const struct pcoll_group *group, char *text, size_t size);
    /* Collective: the ranks of a node measure their machine, unless its first rank knows it
     * already. It takes milliseconds, so a group is made without it. */
    enum pcoll_result (*group_measure)(struct pcoll_group *group);
    /* What is known of the machine by measurement, valid as long as the group; members that are 0
     * are unknown. */
    const struct pcoll_machine *(*group_machine)(const struct pcoll_group *group);

    /* Collective. `plan` must outlive *bound_p. A rank that could not generate its plan passes
     * NULL, and all ranks get an error. The results agree. PCOLL_UNSUPPORTED: a rank has not mapped
     * all operands of a plan that needs that. */
    enum pcoll_result (*bind)(struct pcoll_group *group, const struct pcoll_plan *plan,
                              const struct pcoll_memory *memory, struct pcoll_bound **bound_p);
    void (*unbind)(struct pcoll_bound *bound); /* local; the plan must not be active */

    /* An inactive plan that can move works on other user memory from now on, where that had a
     * layout with another one. Each rank tells the others where its memory will be, with `tell`,
     * which may be the last that happens to the plan before it is unbound; and moves once all have
     * told, which the caller knows by a round of agreement. If no rank accesses user memory of
     * others (plan->user_rma), a rank may move alone. Both are local. NULL: no plan can. */
    void (*tell)(struct pcoll_bound *bound, const struct pcoll_memory *memory);
    void (*move)(struct pcoll_bound *bound, const struct pcoll_plan *plan,
                 const struct pcoll_memory *memory);

    /* Start the next instance and do what can be done at once. Allocates nothing; takes O(entries
     * of the phase). Returns what progress returns. */
    enum pcoll_result (*start)(struct pcoll_bound *bound);

    /* Do what can be done now. PCOLL_OK: the instance is complete. PCOLL_PENDING: not yet. Anything
     * else: the instance has failed, and the plan cannot be used any more. */
    enum pcoll_result (*progress)(struct pcoll_bound *bound);

    /* As progress, but polls up to `spins` times. */
    enum pcoll_result (*spin)(struct pcoll_bound *bound, unsigned spins);

    /* Called when nothing has moved for a while: yield the core, sleeping at most `usec` unless a
     * counter of this plan moves earlier. */
    void (*rest)(struct pcoll_bound *bound, unsigned usec);

    /* A number that changes when something moves. */
    uint64_t (*position)(const struct pcoll_bound *bound);
};

/* Returns whether the medium reaches other nodes. */
static inline bool pcoll_is_network(const struct pcoll_medium *medium)
{
    return (medium->traits & PCOLL_SPANS_NODES) != 0;
}

/* For media that have nothing to do for the process. */
static inline void pcoll_nothing(void)
{
}

static inline int pcoll_none_lingers(void)
{
    return 0;
}

/* For media that do not lend their plans. */
static inline uint64_t pcoll_no_position(const struct pcoll_bound *bound)
{
    (void)bound;
    return 0;
}

/* For media with one endpoint. */
static inline int pcoll_one_rail(const struct pcoll_group *group)
{
    (void)group;
    return 1;
}

/* For media that know nothing of their nodes. */
static inline enum pcoll_level pcoll_no_level(const struct pcoll_group *group)
{
    (void)group;
    return PCOLL_LEVEL_ANY;
}

static inline const struct pcoll_sharing *pcoll_no_sharing(const struct pcoll_group *group)
{
    (void)group;
    return NULL;
}

static inline const struct pcoll_topology *pcoll_no_levels(const struct pcoll_group *group)
{
    (void)group;
    return NULL;
}

static inline void pcoll_no_reach(const struct pcoll_group *group, char *text, size_t size)
{
    (void)group;
    if (size > 0)
        *text = '\0';
}

static inline enum pcoll_result pcoll_no_measurement(struct pcoll_group *group)
{
    (void)group;
    return PCOLL_OK;
}

static inline const struct pcoll_machine *pcoll_no_machine(const struct pcoll_group *group)
{
    static const struct pcoll_machine unknown;

    (void)group;
    return &unknown;
}

#endif /* PCOLL_MEDIUM_H */
