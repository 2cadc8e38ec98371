/*
 * Declarations shared by the files that bind a plan to an RMA medium. Private to bind.c, swap.c and
 * resolve.c.
 */
#ifndef PCOLL_RMA_BINDING_H
#define PCOLL_RMA_BINDING_H

#include "offload/rma/state.h"

/* A channel, as a rank describes it to a neighbor. */
struct pcoll_rma_channel_card {
    int32_t counter, cell, offset, bytes; /* counter of the neighbor, or PCOLL_NONE */
};

/* What a neighbor needs of a rail. It is followed by the endpoint's name and by the keys of the
 * memories and of the inbox, in the room that the group has agreed on. */
struct pcoll_rma_rail_card {
    uint64_t bases[PCOLL_RMA_NMEMORIES];
    uint64_t inbox; /* the lines for the neighbor */
    uint64_t port;  /* where the wire delivers what the neighbor writes */
};

/* What a rank shows a neighbor. It is followed by the rails, then by the channels, with room for
 * the most of any rank. */
struct pcoll_rma_card {
    uint64_t ncounters;
    uint64_t nchannels;
};

/* State that exists only while binding. */
struct pcoll_rma_binding {
    struct pcoll_node_binding node;
    struct pcoll_rma_group *group;
    struct pcoll_rma_bound *bound;
    const struct pcoll_plan *plan;
    const struct pcoll_memory *memory;
    int *ranks;                      /* [nlinks] */
    int max_channels;                /* from one rank to one neighbor, of all ranks */
    bool keyed[PCOLL_RMA_NMEMORIES]; /* some rank's transfers need the key of that memory */
    size_t mail_bytes;
    char *mine, *theirs;
    size_t card_bytes;
    int *index; /* [index_mask + 1]: channels by hash; 1 + number, or 0 if empty */
    size_t index_mask;
};

static inline struct pcoll_rma_card *pcoll_rma_card(const struct pcoll_rma_binding *b, char *cards,
                                                    int link)
{
    return (struct pcoll_rma_card *)(void *)(cards + (size_t)link * b->card_bytes);
}

static inline size_t pcoll_rma_rounded(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static inline size_t pcoll_rma_rail_bytes(const struct pcoll_rma_binding *b)
{
    return sizeof(struct pcoll_rma_rail_card) + pcoll_rma_rounded(b->group->name_bytes) +
           (PCOLL_RMA_NMEMORIES + 1) * pcoll_rma_rounded(b->group->key_bytes);
}

static inline size_t pcoll_rma_card_bytes(const struct pcoll_rma_binding *b)
{
    return sizeof(struct pcoll_rma_card) + (size_t)b->bound->nrails * pcoll_rma_rail_bytes(b) +
           (size_t)b->max_channels * sizeof(struct pcoll_rma_channel_card);
}

static inline struct pcoll_rma_rail_card *pcoll_rma_rail_of(const struct pcoll_rma_binding *b,
                                                            struct pcoll_rma_card *c, int rail)
{
    return (struct pcoll_rma_rail_card *)(void *)((char *)(c + 1) +
                                                  (size_t)rail * pcoll_rma_rail_bytes(b));
}

static inline void *pcoll_rma_name_of(struct pcoll_rma_rail_card *rail)
{
    return rail + 1;
}

/* `number`: of a memory, or PCOLL_RMA_NMEMORIES for the inbox. */
static inline void *pcoll_rma_key_of(const struct pcoll_rma_binding *b,
                                     struct pcoll_rma_rail_card *rail, int number)
{
    return (char *)(rail + 1) + pcoll_rma_rounded(b->group->name_bytes) +
           (size_t)number * pcoll_rma_rounded(b->group->key_bytes);
}

static inline struct pcoll_rma_channel_card *
pcoll_rma_channels_of(const struct pcoll_rma_binding *b, struct pcoll_rma_card *c)
{
    return (struct pcoll_rma_channel_card *)(void *)pcoll_rma_rail_of(b, c, b->bound->nrails);
}

static inline size_t pcoll_rma_inbox_lines(const struct pcoll_rma_binding *b)
{
    return (size_t)b->bound->nlinks * (size_t)(b->max_channels + b->bound->nrails);
}

/* ---- swap.c ---- */

/* Exchange cards with the neighbors on other nodes. Collective among neighbors. */
enum pcoll_result pcoll_rma_swap_cards(struct pcoll_rma_binding *b);

/* ---- resolve.c ---- */

/* Find the links to the neighbors that are not in the group in shared memory, their channels and
 * rails. */
void pcoll_rma_find_links(struct pcoll_rma_binding *b);

/* The largest number of channels to one of these neighbors. */
int pcoll_rma_max_channels(const struct pcoll_rma_binding *b);

/* Set to 1 which memories transfers of this rank name with keys. */
void pcoll_rma_find_keyed(const struct pcoll_rma_binding *b, uint64_t keyed[PCOLL_RMA_NMEMORIES]);

/* Turn the entries to other nodes into steps. */
enum pcoll_result pcoll_rma_resolve_steps(const struct pcoll_rma_binding *b);

#endif /* PCOLL_RMA_BINDING_H */
