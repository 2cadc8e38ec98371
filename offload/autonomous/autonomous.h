/*
 * The base of the media that run whole plans by themselves, with no executor: `ofi_trigger` and
 * `tcp_kernel`. It has their groups, and the memory of a bound plan.
 */
#ifndef PCOLL_AUTONOMOUS_H
#define PCOLL_AUTONOMOUS_H

#include "offload/medium.h"
#include "offload/reduce/reduce.h"

struct pcoll_autonomous_group {
    struct pcoll_group base;
    struct pcoll_bootstrap bootstrap;
    const struct pcoll_autonomous *kind;
    int refs; /* the user's, and one for each bound plan */
};

/* What a medium adds to that. */
struct pcoll_autonomous {
    const struct pcoll_medium *medium;
    size_t group_bytes; /* of a structure of the medium that begins with the group */
    /* Open the network by `interface`, the first of the bootstrap's list, or NULL; local. */
    enum pcoll_result (*open)(struct pcoll_autonomous_group *group, const char *interface);
    void (*close)(struct pcoll_autonomous_group *group); /* also what a failed open left */
};

/* Collective: a group_create (medium.h). */
enum pcoll_result pcoll_autonomous_group_create(const struct pcoll_autonomous *kind,
                                                const struct pcoll_bootstrap *bootstrap,
                                                struct pcoll_group **group_p) PCOLL_MUST_CHECK;

/* Drop a reference. */
void pcoll_autonomous_group_release(struct pcoll_autonomous_group *group);

/* A group_destroy. */
void pcoll_autonomous_group_destroy(struct pcoll_group *group);

/* The buffers of a bound plan, and its reductions in them. */
struct pcoll_autonomous_memory {
    char *buffers[PCOLL_NUM_BUFFERS];
    uint64_t sizes[PCOLL_NUM_BUFFERS];
    struct pcoll_reductions reductions;
    const struct pcoll_reduction **reduction_of; /* [nentries] */
};

/* Writes into zeros. SEND and RECV are the user's, TEMP and CELL are allocated. */
enum pcoll_result pcoll_autonomous_memory_init(struct pcoll_autonomous_memory *memory,
                                               const struct pcoll_plan *plan,
                                               const struct pcoll_memory *user) PCOLL_MUST_CHECK;

/* Accepts what a failed init left, and zeros. */
void pcoll_autonomous_memory_fini(struct pcoll_autonomous_memory *memory);

static inline char *pcoll_autonomous_at(const struct pcoll_autonomous_memory *memory,
                                        struct pcoll_place place)
{
    return memory->buffers[place.buffer] + place.offset;
}

/* The index of a rank in plan->neighbors, or PCOLL_NONE. */
int pcoll_autonomous_neighbor(const struct pcoll_plan *plan, int rank);

/* A spin: the medium's progress again and again. */
enum pcoll_result pcoll_autonomous_spin(struct pcoll_bound *bound, unsigned spins);

#endif /* PCOLL_AUTONOMOUS_H */
