/*
 * The ranks of a node, and where they meet. Private to offload/node and the media on it.
 */
#ifndef PCOLL_NODE_GROUP_H
#define PCOLL_NODE_GROUP_H

#include "offload/bell.h"
#include "offload/medium.h"
#include "offload/memory/arena.h"
#include "offload/memory/heap.h"
#include "offload/memory/xpmem.h"
#include "offload/node/distance.h"
#include "offload/node/sharing.h"

#define PCOLL_NODE_FIELD_BYTES (PCOLL_COMBINE_WORDS * sizeof(uint64_t))

/* Where the ranks of a group meet: two sets of fields, used alternately. A rank can be one meeting
 * ahead of another, but not two. */
struct pcoll_node_meeting {
    struct pcoll_line arrived; /* its value counts the ranks that have arrived, over all meetings so
                                * far */
    _Atomic uint32_t refused;  /* the kernel has refused what it permitted when the group was
                                * created */
    char pad[PCOLL_LINE_BYTES - sizeof(uint32_t)];
    _Atomic uint32_t sleepers; /* ranks that sleep on a counter */
    char more_pad[PCOLL_LINE_BYTES - sizeof(uint32_t)];
    char fields[]; /* [2][nranks][PCOLL_NODE_FIELD_BYTES], then lines for the distance, [2][nranks]
                    */
};

struct pcoll_node_group {
    struct pcoll_group base;
    struct pcoll_shm_arena arena;
    struct pcoll_bootstrap bootstrap; /* its combine is that of this group */
    struct pcoll_bootstrap outer;     /* for idle and report */
    struct pcoll_shm_extent *extent;  /* for the meeting */
    struct pcoll_node_meeting *meeting;
    uint64_t meetings;                /* number of meetings so far */
    struct pcoll_shm_extent *shared;  /* what bootstrap.share returns */
    size_t shared_bytes;              /* 0: there is none */
    uint64_t coop_from;               /* bootstrap->coop_from */
    int64_t board_from;               /* bootstrap->board_from */
    struct pcoll_bell *bell;          /* of the agent that serves the group; NULL: there is none */
    struct pcoll_attachment *bell_at; /* where it is mapped */
    bool has_agent;                   /* it is this process's */
    unsigned provides;
    bool maps;             /* bootstrap->maps */
    bool can_cma, can_map; /* every rank can access memory of the others by CMA; map it by XPMEM */
    struct pcoll_distance farthest;
    struct pcoll_sharing sharing;
    struct pcoll_machine machine; /* what group_machine returns */
};

static inline struct pcoll_node_group *pcoll_node_group_of(const struct pcoll_group *group)
{
    return pcoll_container_of(group, struct pcoll_node_group, base);
}

/* Functions of a medium (offload/medium.h); but the caller of create names the medium in `base`. */
enum pcoll_result pcoll_node_group_create(const struct pcoll_bootstrap *bootstrap,
                                          struct pcoll_group **group_p);
void pcoll_node_group_destroy(struct pcoll_group *base);
unsigned pcoll_node_group_provides(const struct pcoll_group *group);
enum pcoll_level pcoll_node_group_level(const struct pcoll_group *group);
const struct pcoll_sharing *pcoll_node_group_sharing(const struct pcoll_group *group);
const struct pcoll_topology *pcoll_node_group_levels(const struct pcoll_group *group);
enum pcoll_result pcoll_node_group_measure(struct pcoll_group *base);
const struct pcoll_machine *pcoll_node_group_machine(const struct pcoll_group *group);
void pcoll_node_group_reach(const struct pcoll_group *group, char *text, size_t size);

/* Collective: contribute `bytes` bytes, at most PCOLL_NODE_FIELD_BYTES. The contribution of rank r
 * is r * PCOLL_NODE_FIELD_BYTES bytes from the result, until this rank combines or meets again. */
const char *pcoll_node_meet(struct pcoll_node_group *group, const void *mine, size_t bytes);

#endif /* PCOLL_NODE_GROUP_H */
