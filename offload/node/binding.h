/*
 * Binding a plan within a node: cards, the plan's extent, and steps with addresses. Private to
 * offload/node and the media on it.
 */
#ifndef PCOLL_NODE_BINDING_H
#define PCOLL_NODE_BINDING_H

#include "offload/node/bound.h"

/* Where a target's signalers are counted. */
struct pcoll_node_signaling {
    _Atomic uint64_t *word;
    unsigned shift;
    unsigned count; /* 1, or 2 if another rank may signal in place of this one */
};

/* To whom a rank offers its entries: board.h. */
enum pcoll_node_offer { PCOLL_NODE_TO_NOBODY, PCOLL_NODE_TO_PEERS, PCOLL_NODE_TO_ALL };

/* How other ranks map SEND or RECV of a rank. */
enum pcoll_node_mapping { PCOLL_NODE_UNMAPPED, PCOLL_NODE_IN_HEAP, PCOLL_NODE_BY_XPMEM };

/* Where it is, by that way. */
union pcoll_node_there {
    struct pcoll_heap_place heap;
    struct {
        pcoll_xpmem_id segment;
        uint64_t bytes; /* > 0 */
    } xpmem;
};

/* What each rank tells all others. */
struct pcoll_node_card {
    int64_t pid;
    uint64_t send, recv; /* addresses in the owner's process */
    uint32_t ncounters;
    uint16_t mapping[PCOLL_RECV + 1]; /* of SEND and RECV: enum pcoll_node_mapping */
    uint64_t temp_bytes;
    uint64_t longest;  /* the longest move of this rank to or from user memory of another rank */
    uint16_t result;   /* this rank's result so far */
    uint16_t offer;    /* enum pcoll_node_offer */
    uint16_t is_short; /* its entries write only to short cells, its own and those of others */
    uint16_t stride;   /* of its counters, if that is so on all ranks; otherwise it is a line */
    uint32_t nnotices, noperands; /* that this rank puts on the board */
    union pcoll_node_there there[PCOLL_RECV + 1];
};

_Static_assert(sizeof(struct pcoll_node_card) <= PCOLL_NODE_FIELD_BYTES, "it is told at once");

static inline size_t pcoll_node_counters_bytes(const struct pcoll_node_card *card)
{
    return (size_t)card->ncounters * card->stride;
}

/* Rounded up to whole lines. */
static inline size_t pcoll_node_lines(uint64_t bytes)
{
    return (size_t)(bytes + PCOLL_LINE_BYTES - 1) / PCOLL_LINE_BYTES * PCOLL_LINE_BYTES;
}

/* The rank's counters and TEMP, as the plan sees them. */
static inline size_t pcoll_node_plan_bytes(const struct pcoll_node_card *card)
{
    return pcoll_node_lines(pcoll_node_counters_bytes(card)) + pcoll_node_lines(card->temp_bytes);
}

/* State that exists only while binding. */
struct pcoll_node_binding {
    const struct pcoll_plan *plan;
    const struct pcoll_memory *memory;
    struct pcoll_node_bound *bound;
    struct pcoll_node_card *cards; /* [nlocal] */
    size_t area_bytes;             /* of all ranks */
    size_t *areas;                 /* [nlocal]: offset of a rank's counters, which its TEMP
                                    * follows; once the extent is there */
    size_t board_bytes;            /* 0: there is no board */
    struct pcoll_target **index;   /* [index_mask + 1]: by counter; NULL: none */
    size_t index_mask;
    struct pcoll_node_signaling *signalings; /* [max_targets] */
    int nlocal;                              /* number of ranks of the group */
    const int *ranks;  /* [nlocal], ascending: number i of the group is ranks[i] of the plan; NULL:
                        * both numberings are the same */
    bool is_alone;     /* treat all other ranks as if they were not in the group */
    bool halves_lines; /* counters with short cells may share lines */
};

/* Allocates what binding needs, for a bound plan whose run has been initialized. */
enum pcoll_result pcoll_node_binding_init(struct pcoll_node_binding *b);

/* Accepts what a failed init left. */
void pcoll_node_binding_fini(struct pcoll_node_binding *b);

/* Collective over the group: make the plan's extent, or return the worst result that any rank has
 * so far; `mine` is this rank's. Then each rank resolves its entries and publishes what it signals,
 * all ranks agree, and each calls pcoll_node_find_alone. */
enum pcoll_result pcoll_node_carve_extent(struct pcoll_node_binding *b,
                                          struct pcoll_node_group *group, enum pcoll_result mine);

/* The number of a rank of the plan in the group, or PCOLL_NONE. Each entry asks several times. */
int pcoll_node_find_number(const struct pcoll_node_binding *binding, int rank);
static inline int pcoll_node_number(const struct pcoll_node_binding *binding, int rank)
{
    return binding->ranks == NULL ? rank : pcoll_node_find_number(binding, rank);
}

/* ---- resolve.c ---- */

/* Returns whether all operands in memory of other ranks are mapped here. If not, the plan cannot be
 * resolved. */
bool pcoll_node_maps_operands(const struct pcoll_node_binding *b);

/* Turn all entries into steps. */
void pcoll_node_resolve(const struct pcoll_node_binding *b);

/* The longest move to or from user memory of another rank of the node. Valid before resolving. */
uint64_t pcoll_node_longest_reach(const struct pcoll_node_binding *b);

/* The address of a place in SEND or RECV of a rank of the node, in its process. */
uint64_t pcoll_node_user_address(const struct pcoll_node_binding *b, int rank,
                                 struct pcoll_place place);

/* An address in this rank's memory, or, with a layout, the offset. */
char *pcoll_node_own_place(const struct pcoll_node_binding *b, struct pcoll_place place);

/* This rank's counters, which its TEMP follows, and the size of both. */
char *pcoll_node_own_area(const struct pcoll_node_binding *b, size_t *bytes_p);

/* The offset of that counter of this rank in the extent. */
uint64_t pcoll_node_counter_at(const struct pcoll_node_binding *b, int index);

/* The target with which this rank signals a counter of `rank`, which is on this node. */
struct pcoll_target *pcoll_node_target(const struct pcoll_node_binding *b, int rank, int index);

/* ---- signalers.c ---- */

/* The size of a rank's counts of signalers. */
size_t pcoll_node_signalers_bytes(uint64_t ncounters);

/* Note that this rank may signal a new target, counter `index` of the rank whose counts are at
 * `signalers`. */
void pcoll_node_signalers_add(const struct pcoll_node_binding *b, const struct pcoll_target *target,
                              char *signalers, int index);

/* Note that another rank may signal the target in place of this one; NULL: nothing. */
void pcoll_node_signalers_add_other(const struct pcoll_node_binding *b,
                                    const struct pcoll_target *target);

/* Count this rank among the signalers of its targets, for all ranks to see. */
void pcoll_node_signalers_publish(const struct pcoll_node_binding *b);

/* Find the targets that no other rank signals, once all have published. */
void pcoll_node_find_alone(const struct pcoll_node_binding *b);

/* ---- views.c ---- */

/* Write on this rank's card how others map its user memory. */
void pcoll_node_tell_views(const struct pcoll_node_binding *b, const struct pcoll_node_group *group,
                           struct pcoll_node_card *card);

/* Map user memory of all neighbors, as far as that is possible, once the cards are known. */
void pcoll_node_open_views(const struct pcoll_node_binding *b);

/* Make a READ or WRITE an ordinary copy, if the other memory is mapped. */
void pcoll_node_map_step(const struct pcoll_node_binding *b, const struct pcoll_entry *entry,
                         struct pcoll_step *step);

#endif /* PCOLL_NODE_BINDING_H */
