/* Binding: the swap with the neighbors on other nodes: addresses and keys of each rail, where the
 * neighbor's slots are in this rank's inbox, and which channels this rank will use there. */
#include "offload/ofi_rma/binding.h"

static struct pcoll_ofi_where where_is(const struct pcoll_ofi_region *region)
{
    return (struct pcoll_ofi_where){region->base, region->key};
}

static void write_card(const struct pcoll_ofi_binding *b, int link)
{
    const struct pcoll_ofi_bound *bound = b->bound;
    struct pcoll_ofi_card *c = pcoll_ofi_card(b, b->mine, link);
    size_t offset = (size_t)((char *)bound->links[link].slots - (char *)bound->mailbox);

    for (int i = 0; i < bound->nrails; i++) {
        const struct pcoll_ofi_rail *rail = &bound->rails[i];

        c->rails[i] = (struct pcoll_ofi_rail_card){
            .name = rail->endpoint->name,
            .send = where_is(&rail->send),
            .recv = where_is(&rail->recv),
            .area = where_is(&rail->area),
            .inbox = {rail->mail.base + offset, rail->mail.key},
        };
    }
    c->ncounters = (uint64_t)b->plan->ncounters;
    for (int i = 0; i < bound->nchannels; i++) {
        const struct pcoll_ofi_channel *channel = &bound->channels[i];

        if (channel->link == link)
            pcoll_ofi_channels_of(b, c)[c->nchannels++] = (struct pcoll_ofi_channel_card){
                channel->counter, channel->cell, channel->offset, channel->bytes};
    }
}

/* A neighbor's channels become sources on this rank. */
static void read_channels(const struct pcoll_ofi_binding *b, int link)
{
    struct pcoll_ofi_bound *bound = b->bound;
    struct pcoll_ofi_card *c = pcoll_ofi_card(b, b->theirs, link);

    for (uint64_t i = 0; i < c->nchannels; i++) {
        const struct pcoll_ofi_channel_card *channel = &pcoll_ofi_channels_of(b, c)[i];
        struct pcoll_ofi_source *source = &bound->sources[bound->nsources++];

        source->slot = bound->links[link].slots + bound->nrails + i;
        source->bytes = (size_t)channel->bytes;
        if (channel->counter != PCOLL_NONE)
            source->target = pcoll_shm_target(&b->shm, b->plan->rank, channel->counter);
        if (channel->bytes > 0)
            source->cell = (unsigned char *)pcoll_shm_own_place(
                &b->shm, pcoll_at(PCOLL_CELL, (uint64_t)channel->cell * PCOLL_CELL_BYTES +
                                                  (uint64_t)channel->offset));
    }
}

static enum pcoll_result read_card(const struct pcoll_ofi_binding *b, int link)
{
    struct pcoll_ofi_bound *bound = b->bound;
    const struct pcoll_ofi_card *c = pcoll_ofi_card(b, b->theirs, link);
    enum pcoll_result result = PCOLL_OK;

    for (int i = 0; i < bound->nrails && result == PCOLL_OK; i++) {
        const struct pcoll_ofi_rail_card *rail = &c->rails[i];
        struct pcoll_ofi_way *way = &bound->links[link].ways[i];

        way->inbox = rail->inbox.base;
        way->inbox_key = rail->inbox.key;
        way->farewell = way->inbox + (uint64_t)i * sizeof(struct pcoll_ofi_slot) +
                        offsetof(struct pcoll_ofi_slot, sum);
        result = pcoll_ofi_peer(bound->rails[i].endpoint, &b->group->bootstrap, &rail->name,
                                &way->address);
    }
    read_channels(b, link);
    return result;
}

enum pcoll_result pcoll_ofi_swap_cards(struct pcoll_ofi_binding *b)
{
    const struct pcoll_bootstrap *bootstrap = &b->group->bootstrap;
    struct pcoll_ofi_bound *bound = b->bound;
    enum pcoll_result result;

    for (int i = 0; i < bound->nlinks; i++)
        write_card(b, i);
    result = bootstrap->swap(bootstrap->context, b->ranks, bound->nlinks, b->mine, b->theirs,
                             b->card_bytes);
    for (int i = 0; i < bound->nlinks && result == PCOLL_OK; i++)
        result = read_card(b, i);
    return result;
}
