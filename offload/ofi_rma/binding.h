/*
 * Declarations shared by the files that bind a plan to the RMA medium. Private to ofi_rma/bind.c,
 * ofi_rma/swap.c and ofi_rma/resolve.c.
 */
#ifndef PCOLL_OFI_RMA_BINDING_H
#define PCOLL_OFI_RMA_BINDING_H

#include "offload/ofi_rma/state.h"

struct pcoll_ofi_where {
    uint64_t base, key;
};

/* A channel, as a rank describes it to a neighbor. */
struct pcoll_ofi_channel_card {
    int32_t counter, cell, offset, bytes; /* counter of the neighbor, or PCOLL_NONE */
};

struct pcoll_ofi_rail_card {
    struct pcoll_ofi_name name;
    struct pcoll_ofi_where send, recv, area, inbox; /* inbox: the slots for the neighbor */
};

struct pcoll_ofi_card {
    uint64_t ncounters;
    uint64_t nchannels;
    struct pcoll_ofi_rail_card
        rails[]; /* followed by the channels: on all ranks there is room for the most of any rank */
};

/* State that exists only while binding. */
struct pcoll_ofi_binding {
    struct pcoll_shm_binding shm;
    struct pcoll_ofi_group *group;
    struct pcoll_ofi_bound *bound;
    const struct pcoll_plan *plan;
    const struct pcoll_memory *memory;
    int *ranks; /* [nlinks] */
    int most;   /* the most channels from one rank to one neighbor */
    size_t mail_bytes;
    char *mine, *theirs;
    size_t card_bytes;
    int *index; /* [index_mask + 1]: channels by hash; 1 + number, or 0 if empty */
    size_t index_mask;
};

static inline struct pcoll_ofi_card *pcoll_ofi_card(const struct pcoll_ofi_binding *b, char *cards,
                                                    int link)
{
    return (struct pcoll_ofi_card *)(void *)(cards + (size_t)link * b->card_bytes);
}

static inline struct pcoll_ofi_channel_card *
pcoll_ofi_channels_of(const struct pcoll_ofi_binding *b, struct pcoll_ofi_card *c)
{
    return (struct pcoll_ofi_channel_card *)(void *)(c->rails + b->bound->nrails);
}

static inline size_t pcoll_ofi_inbox_slots(const struct pcoll_ofi_binding *b)
{
    return (size_t)b->bound->nlinks * (size_t)(b->most + b->bound->nrails);
}

/* ofi_rma/swap.c: exchange cards with the neighbors on other nodes. Collective among neighbors. */
enum pcoll_result pcoll_ofi_swap_cards(struct pcoll_ofi_binding *b);

/* ofi_rma/resolve.c: find the links to the neighbors that are not in the group in shared memory,
 * their channels and rails; the largest number of channels to one of them; turn entries into steps.
 */
void pcoll_ofi_find_links(struct pcoll_ofi_binding *b);
int pcoll_ofi_most_channels(const struct pcoll_ofi_binding *b);
void pcoll_ofi_resolve_steps(const struct pcoll_ofi_binding *b);

#endif /* PCOLL_OFI_RMA_BINDING_H */
