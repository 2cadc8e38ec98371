/* Binding: the swap with the neighbors on other nodes: addresses and keys of each rail, where the
 * neighbor's lines are in this rank's inbox, and which channels this rank will use there. */
#include "offload/rma/binding.h"

static void write_region(const struct pcoll_rma_binding *b, struct pcoll_rma_rail_card *card,
                         const struct pcoll_wire_region *region, int number)
{
    if (number < PCOLL_RMA_NMEMORIES)
        card->bases[number] = region->base;
    if (region->handle != NULL)
        b->group->wire->write_key(region, pcoll_rma_key_of(b, card, number));
}

static void write_rail(const struct pcoll_rma_binding *b, int link, int i,
                       struct pcoll_rma_rail_card *card)
{
    const struct pcoll_rma_bound *bound = b->bound;
    const struct pcoll_rma_rail *rail = &bound->rails[i];
    const struct pcoll_rma_line *lines = bound->links[link].lines;

    /* without registration, peers name memory by its address */
    card->inbox = rail->mail.handle == NULL
                      ? (uint64_t)(uintptr_t)lines
                      : rail->mail.base + (uint64_t)((const char *)lines - (char *)bound->mailbox);
    card->port = (uint64_t)(uintptr_t)&bound->links[link].ways[i].wire;
    b->group->wire->write_name(rail->endpoint, pcoll_rma_name_of(card));
    for (int memory = 0; memory < PCOLL_RMA_NMEMORIES; memory++)
        write_region(b, card, &rail->memories[memory], memory);
    write_region(b, card, &rail->mail, PCOLL_RMA_NMEMORIES);
}

static void write_card(const struct pcoll_rma_binding *b, int link)
{
    const struct pcoll_rma_bound *bound = b->bound;
    struct pcoll_rma_card *c = pcoll_rma_card(b, b->mine, link);

    for (int i = 0; i < bound->nrails; i++)
        write_rail(b, link, i, pcoll_rma_rail_of(b, c, i));
    c->ncounters = (uint64_t)b->plan->ncounters;
    for (int i = 0; i < bound->nchannels; i++) {
        const struct pcoll_rma_channel *channel = &bound->channels[i];

        if (channel->link == link)
            pcoll_rma_channels_of(b, c)[c->nchannels++] = (struct pcoll_rma_channel_card){
                channel->counter, channel->cell, channel->offset, channel->bytes};
    }
}

/* A neighbor's channels become sources on this rank. */
static void read_channels(const struct pcoll_rma_binding *b, int link)
{
    struct pcoll_rma_bound *bound = b->bound;
    struct pcoll_rma_card *c = pcoll_rma_card(b, b->theirs, link);

    for (uint64_t i = 0; i < c->nchannels; i++) {
        const struct pcoll_rma_channel_card *channel = &pcoll_rma_channels_of(b, c)[i];
        struct pcoll_rma_source *source = &bound->sources[bound->nsources++];

        source->line = bound->links[link].lines + bound->nrails + i;
        source->bytes = (size_t)channel->bytes;
        if (channel->counter != PCOLL_NONE)
            source->target = pcoll_node_target(&b->node, b->plan->rank, channel->counter);
        if (channel->bytes > 0)
            source->cell = (unsigned char *)pcoll_node_own_place(
                &b->node, pcoll_at(PCOLL_CELL, (uint64_t)channel->cell * PCOLL_CELL_BYTES +
                                                   (uint64_t)channel->offset));
    }
}

static enum pcoll_result read_rail(const struct pcoll_rma_binding *b, struct pcoll_rma_way *way,
                                   int i, struct pcoll_rma_rail_card *card)
{
    const struct pcoll_bootstrap *bootstrap = &b->group->bootstrap;
    const struct pcoll_wire *wire = b->group->wire;
    struct pcoll_wire_endpoint *endpoint = b->bound->rails[i].endpoint;
    enum pcoll_result result;

    way->inbox = card->inbox;
    way->farewell = way->inbox + (uint64_t)i * sizeof(struct pcoll_rma_line) +
                    offsetof(struct pcoll_rma_line, sum);
    way->wire.port = card->port;
    result = wire->connect(endpoint, bootstrap, pcoll_rma_name_of(card), &way->wire);
    if (result != PCOLL_OK || !pcoll_wire_needs_key(endpoint, false, sizeof(struct pcoll_rma_line)))
        return result;
    result = wire->take_key(&way->wire, bootstrap, pcoll_rma_key_of(b, card, PCOLL_RMA_NMEMORIES),
                            &way->inbox_key.key);
    way->inbox_key.is_taken = result == PCOLL_OK;
    return result;
}

static enum pcoll_result read_card(const struct pcoll_rma_binding *b, int link)
{
    struct pcoll_rma_bound *bound = b->bound;
    struct pcoll_rma_card *c = pcoll_rma_card(b, b->theirs, link);
    enum pcoll_result result = PCOLL_OK;

    for (int i = 0; i < bound->nrails && result == PCOLL_OK; i++)
        result = read_rail(b, &bound->links[link].ways[i], i, pcoll_rma_rail_of(b, c, i));
    read_channels(b, link);
    return result;
}

enum pcoll_result pcoll_rma_swap_cards(struct pcoll_rma_binding *b)
{
    const struct pcoll_bootstrap *bootstrap = &b->group->bootstrap;
    struct pcoll_rma_bound *bound = b->bound;
    enum pcoll_result result;

    for (int i = 0; i < bound->nlinks; i++)
        write_card(b, i);
    result = bootstrap->swap(bootstrap->context, b->ranks, bound->nlinks, b->mine, b->theirs,
                             b->card_bytes);
    for (int i = 0; i < bound->nlinks && result == PCOLL_OK; i++)
        result = read_card(b, i);
    return result;
}
