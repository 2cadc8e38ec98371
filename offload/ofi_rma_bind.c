/*
 * Binding: links to the neighbors on other nodes, channels to them, and from entries to steps.
 *
 * Init messages: two allgathers of a few bytes (is everybody able, did anybody fail), what the
 * ranks of a node exchange in their shared memory, and one swap with the neighbors on other nodes:
 * addresses and keys of each rail, where the neighbor's slots are here, and which channels I shall
 * use there.
 *
 * An entry of rail r goes by rail r mod n of the group's n.  The plan uses as many of these as its
 * entries name, on any rank, and its memory is registered with no more.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/ofi_rma_state.h"

struct where {
    uint64_t base, key;
};

/* What a rank tells a neighbor. */
struct channel_card {
    int32_t counter, cell, offset, bytes; /* counter of the neighbor, or PCOLL_NONE */
};

struct rail_card {
    struct pcoll_ofi_name name;
    struct where send, recv, area, inbox; /* inbox: the slots for the neighbor */
};

struct card {
    uint64_t ncounters;
    uint64_t nchannels;
    struct rail_card rails[]; /* then the channels: room for the most of any rank, on all ranks */
};

/* While binding. */
struct binding {
    struct pcoll_shm_binding shm;
    struct pcoll_ofi_group *group;
    struct pcoll_ofi_bound *bound;
    const struct pcoll_plan *plan;
    const struct pcoll_memory *memory;
    int *ranks; /* [nlinks] */
    int most;   /* channels from one rank to one neighbor */
    size_t mail_bytes;
    char *mine, *theirs;
    size_t card_bytes;
};

static struct card *card(const struct binding *b, char *cards, int link)
{
    return (struct card *)(void *)(cards + (size_t)link * b->card_bytes);
}

static struct channel_card *channels_of(const struct binding *b, struct card *c)
{
    return (struct channel_card *)(void *)(c->rails + b->bound->nrails);
}

/* What all must agree on before they bind. */
struct offer {
    int32_t result;
    uint32_t needs;
    int32_t most;
    int32_t nrails;
};

static int is_cell_put(const struct pcoll_entry *entry)
{
    return entry->op == PCOLL_OP_PUT && entry->remote.buffer == PCOLL_CELL && entry->bytes > 0;
}

/* ---- channels ------------------------------------------------------------------------ */

static int is_channel(const struct pcoll_ofi_channel *a, const struct pcoll_ofi_channel *b)
{
    return a->link == b->link && a->rail == b->rail && a->counter == b->counter &&
           a->cell == b->cell && a->offset == b->offset && a->bytes == b->bytes;
}

static int rail_of(const struct binding *b, const struct pcoll_entry *entry)
{
    return entry->rail % b->group->nrails;
}

static struct pcoll_ofi_channel describe(const struct binding *b, const struct pcoll_entry *entry,
                                         int link)
{
    struct pcoll_ofi_channel channel = {.link = link,
                                        .rail = rail_of(b, entry),
                                        .counter = entry->peer_counter,
                                        .cell = PCOLL_NONE};

    if (is_cell_put(entry)) {
        channel.cell = (int)(entry->remote.offset / PCOLL_CELL_BYTES);
        channel.offset = (int)(entry->remote.offset % PCOLL_CELL_BYTES);
        channel.bytes = (int)entry->bytes;
    }
    return channel;
}

/* The number of an entry's channel; room must suffice. */
static int channel_of(const struct binding *b, const struct pcoll_entry *entry, int link)
{
    struct pcoll_ofi_bound *bound = b->bound;
    struct pcoll_ofi_channel wanted = describe(b, entry, link);

    for (int i = 0; i < bound->nchannels; i++)
        if (is_channel(&bound->channels[i], &wanted))
            return i;
    bound->channels[bound->nchannels] = wanted;
    return bound->nchannels++;
}

static int has_channel(const struct pcoll_entry *entry)
{
    return entry->peer_counter != PCOLL_NONE || is_cell_put(entry);
}

static int link_of(const struct pcoll_ofi_bound *bound, int rank)
{
    int i = 0;

    while (i < bound->nlinks && bound->links[i].rank != rank)
        i++;
    return i < bound->nlinks ? i : PCOLL_NONE;
}

static int count_most(const struct pcoll_ofi_bound *bound)
{
    int most = 0;

    for (int l = 0; l < bound->nlinks; l++) {
        int n = 0;

        for (int i = 0; i < bound->nchannels; i++)
            n += bound->channels[i].link == l;
        most = n > most ? n : most;
    }
    return most;
}

/* ---- what can be made alone ---------------------------------------------------------- */

/* As if all other ranks were far away; ranks of the node are taken out once it is known whether
 * this plan may treat them as such. */
static enum pcoll_result allocate(struct binding *b)
{
    const struct pcoll_plan *plan = b->plan;
    struct pcoll_ofi_bound *bound;
    size_t n, nrails = (size_t)b->group->nrails;

    if (plan == NULL)
        return PCOLL_ERR_NOMEM;
    n = (size_t)plan->nneighbors + 1;
    bound = b->bound = calloc(1, sizeof(*bound));
    if (bound == NULL || pcoll_shm_bound_init(&bound->shm, plan) != PCOLL_OK)
        return PCOLL_ERR_NOMEM;
    b->shm.bound = &bound->shm;
    bound->ordered = plan->ordered;
    bound->ready_end = &bound->ready;
    bound->links = calloc(n, sizeof(*bound->links));
    bound->ways = calloc(n * nrails, sizeof(*bound->ways));
    bound->rails = calloc(nrails, sizeof(*bound->rails));
    bound->channels = calloc((size_t)plan->nentries + 1, sizeof(*bound->channels));
    bound->steps = calloc((size_t)plan->nentries + 1, sizeof(*bound->steps));
    b->ranks = calloc(n, sizeof(*b->ranks));
    if (!bound->links || !bound->ways || !bound->rails || !bound->channels || !bound->steps ||
        !b->ranks)
        return PCOLL_ERR_NOMEM;
    return pcoll_shm_binding_init(&b->shm);
}

/* Links and channels to the neighbors that `local` says are away, and the rails to them. */
static void find_links(struct binding *b, const int *local)
{
    struct pcoll_ofi_bound *bound = b->bound;
    const struct pcoll_plan *plan = b->plan;

    bound->nlinks = 0;
    bound->nchannels = 0;
    bound->nsteps = 0;
    bound->nrails = 1;
    for (int i = 0; i < plan->nneighbors; i++)
        if (local[plan->neighbors[i]] == PCOLL_NONE) {
            b->ranks[bound->nlinks] = plan->neighbors[i];
            bound->links[bound->nlinks++].rank = plan->neighbors[i];
        }
    for (int i = 0; i < plan->nentries; i++) {
        int link = link_of(bound, plan->entries[i].peer);

        if (link == PCOLL_NONE)
            continue;
        bound->nsteps++;
        if (rail_of(b, &plan->entries[i]) >= bound->nrails)
            bound->nrails = rail_of(b, &plan->entries[i]) + 1;
        if (has_channel(&plan->entries[i]))
            channel_of(b, &plan->entries[i], link);
    }
}

/* Collective: is everybody ready, and do the ranks of a node reach each other's user memory as far
 * as any of them wants to?  If not, all go by the network. */
static enum pcoll_result agree_on_offer(struct binding *b, enum pcoll_result mine)
{
    const struct pcoll_bootstrap *bootstrap = &b->group->bootstrap;
    struct offer own = {.result = (int32_t)mine}, *all;
    unsigned needs = 0;

    if (mine == PCOLL_OK) {
        find_links(b, b->group->alone);
        own.needs = b->plan->needs;
        own.most = count_most(b->bound);
        own.nrails = b->bound->nrails;
    }
    all = malloc((size_t)bootstrap->nranks * sizeof(*all));
    if (all == NULL)
        return PCOLL_ERR_NOMEM;
    mine = bootstrap->allgather(bootstrap->context, &own, all, sizeof(own));
    for (int r = 0; mine == PCOLL_OK && r < bootstrap->nranks; r++) {
        own.result = all[r].result > own.result ? all[r].result : own.result;
        needs |= all[r].needs;
        b->most = all[r].most > b->most ? all[r].most : b->most;
        own.nrails = all[r].nrails > own.nrails ? all[r].nrails : own.nrails;
    }
    free(all);
    if (mine != PCOLL_OK || own.result != PCOLL_OK)
        return mine != PCOLL_OK ? mine : (enum pcoll_result)own.result;
    b->shm.local =
        needs & PCOLL_NEED_USER_RMA && !b->group->can_cma ? b->group->alone : b->group->local;
    find_links(b, b->shm.local);
    b->bound->nrails = own.nrails;
    return PCOLL_OK;
}

/* ---- memory -------------------------------------------------------------------------- */

static size_t inbox_slots(const struct binding *b)
{
    return (size_t)b->bound->nlinks * (size_t)(b->most + b->bound->nrails);
}

/* By way of each rail to each neighbor. */
static void make_ways(struct binding *b, struct pcoll_ofi_slot *outgoing)
{
    struct pcoll_ofi_bound *bound = b->bound;

    bound->nways = bound->nlinks * bound->nrails;
    for (int i = 0; i < bound->nways; i++) {
        struct pcoll_ofi_link *link = &bound->links[i / bound->nrails];
        int rail = i % bound->nrails;

        bound->ways[i] = (struct pcoll_ofi_way){
            .rank = link->rank,
            .rail = &bound->rails[rail],
            .arrived = &link->slots[rail],
            .outgoing = outgoing + i,
            .bye = {.bound = bound},
        };
        link->ways = &bound->ways[i - rail];
    }
}

static enum pcoll_result make_mailbox(struct binding *b)
{
    struct pcoll_ofi_bound *bound = b->bound;
    size_t steps_end = inbox_slots(b) + (size_t)bound->nsteps;
    void *memory = NULL;

    b->mail_bytes = (steps_end + (size_t)(bound->nlinks * bound->nrails)) * sizeof(*bound->mailbox);
    if (posix_memalign(&memory, 4096, b->mail_bytes) != 0)
        return PCOLL_ERR_NOMEM;
    memset(memory, 0, b->mail_bytes);
    bound->mailbox = memory;
    bound->sources = calloc(inbox_slots(b), sizeof(*bound->sources));
    if (bound->sources == NULL)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < bound->nlinks; i++)
        bound->links[i].slots = bound->mailbox + i * (b->most + bound->nrails);
    make_ways(b, bound->mailbox + steps_end);
    return PCOLL_OK;
}

static enum pcoll_result register_some(const struct binding *b, struct pcoll_ofi_rail *rail,
                                       const char *what, void *address, uint64_t bytes,
                                       struct pcoll_ofi_region *region)
{
    if (bytes == 0)
        return PCOLL_OK;
    return pcoll_ofi_register(rail->endpoint, &b->group->bootstrap, what, address, (size_t)bytes,
                              NULL, region);
}

/* What entries may name, here or at neighbors. */
static enum pcoll_result register_with(const struct binding *b, struct pcoll_ofi_rail *rail)
{
    const struct pcoll_signature *sig = &b->plan->signature;
    uint64_t send = 0, recv = 0;
    enum pcoll_result result;
    size_t bytes;
    char *area = pcoll_shm_own_area(&b->shm, &bytes);

    if (sig->coll == PCOLL_ALLGATHER || (sig->coll == PCOLL_BCAST && b->plan->rank == sig->root))
        send = sig->bytes;
    if (sig->coll == PCOLL_ALLGATHER)
        recv = sig->bytes * (uint64_t)sig->nranks;
    else if (sig->coll == PCOLL_BCAST && b->plan->rank != sig->root)
        recv = sig->bytes;
    result =
        register_some(b, rail, "a plan's inbox", b->bound->mailbox, b->mail_bytes, &rail->mail);
    if (result == PCOLL_OK)
        result = register_some(b, rail, "communication buffers", area, bytes, &rail->area);
    if (result == PCOLL_OK)
        result = register_some(b, rail, "the send buffer", b->memory->send, send, &rail->send);
    if (result == PCOLL_OK)
        result = register_some(b, rail, "the receive buffer", b->memory->recv, recv, &rail->recv);
    return result;
}

static enum pcoll_result register_memory(struct binding *b)
{
    struct pcoll_ofi_bound *bound = b->bound;
    enum pcoll_result result;

    for (int i = 0; i < bound->nrails; i++)
        bound->rails[i].endpoint = b->group->endpoints[i];
    if (bound->nlinks == 0)
        return PCOLL_OK;
    result = make_mailbox(b);
    for (int i = 0; i < bound->nrails && result == PCOLL_OK; i++)
        result = register_with(b, &bound->rails[i]);
    return result;
}

/* ---- the swap ------------------------------------------------------------------------ */

static struct where where_is(const struct pcoll_ofi_region *region)
{
    return (struct where){region->base, region->key};
}

static void write_card(const struct binding *b, int link)
{
    const struct pcoll_ofi_bound *bound = b->bound;
    struct card *c = card(b, b->mine, link);
    size_t offset = (size_t)((char *)bound->links[link].slots - (char *)bound->mailbox);

    for (int i = 0; i < bound->nrails; i++) {
        const struct pcoll_ofi_rail *rail = &bound->rails[i];

        c->rails[i] = (struct rail_card){
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
            channels_of(b, c)[c->nchannels++] = (struct channel_card){
                channel->counter, channel->cell, channel->offset, channel->bytes};
    }
}

/* A neighbor's channels become sources here. */
static void read_channels(const struct binding *b, int link)
{
    struct pcoll_ofi_bound *bound = b->bound;
    struct card *c = card(b, b->theirs, link);

    for (uint64_t i = 0; i < c->nchannels; i++) {
        const struct channel_card *channel = &channels_of(b, c)[i];
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

/* A rank that has failed has sent nothing. */
static enum pcoll_result read_card(const struct binding *b, int link)
{
    struct pcoll_ofi_bound *bound = b->bound;
    const struct card *c = card(b, b->theirs, link);
    enum pcoll_result result = PCOLL_OK;

    for (int i = 0; i < bound->nrails && result == PCOLL_OK; i++) {
        const struct rail_card *rail = &c->rails[i];
        struct pcoll_ofi_way *way = &bound->links[link].ways[i];

        way->inbox = rail->inbox.base;
        way->inbox_key = rail->inbox.key;
        way->farewell = way->inbox + (uint64_t)i * sizeof(struct pcoll_ofi_slot) +
                        offsetof(struct pcoll_ofi_slot, sum);
        if (rail->name.bytes > 0)
            result = pcoll_ofi_peer(bound->rails[i].endpoint, &b->group->bootstrap, &rail->name,
                                    &way->address);
    }
    read_channels(b, link);
    return result;
}

/* Collective among neighbors.  A rank that has failed takes part all the same. */
static enum pcoll_result swap_cards(struct binding *b, enum pcoll_result mine)
{
    const struct pcoll_bootstrap *bootstrap = &b->group->bootstrap;
    struct pcoll_ofi_bound *bound = b->bound;
    enum pcoll_result result;

    for (int i = 0; mine == PCOLL_OK && i < bound->nlinks; i++)
        write_card(b, i);
    result = bootstrap->swap(bootstrap->context, b->ranks, bound->nlinks, b->mine, b->theirs,
                             b->card_bytes);
    if (mine != PCOLL_OK || result != PCOLL_OK)
        return mine != PCOLL_OK ? mine : result;
    for (int i = 0; i < bound->nlinks && result == PCOLL_OK; i++)
        result = read_card(b, i);
    return result;
}

/* ---- steps --------------------------------------------------------------------------- */

static uint64_t remote_address(const struct binding *b, int link, int rail,
                               struct pcoll_place place, uint64_t *key_p)
{
    const struct card *c = card(b, b->theirs, link);
    struct where where = c->rails[rail].area;
    uint64_t offset = place.offset;

    if (place.buffer == PCOLL_SEND)
        where = c->rails[rail].send;
    else if (place.buffer == PCOLL_RECV)
        where = c->rails[rail].recv;
    else if (place.buffer == PCOLL_TEMP)
        offset += c->ncounters * PCOLL_SHM_LINE;
    else
        offset = place.offset / PCOLL_CELL_BYTES * PCOLL_SHM_LINE +
                 offsetof(struct pcoll_shm_line, cell) + place.offset % PCOLL_CELL_BYTES;
    *key_p = where.key;
    return where.base + offset;
}

static void *desc_of(const struct pcoll_ofi_rail *rail, enum pcoll_buffer buffer)
{
    if (buffer == PCOLL_SEND)
        return rail->send.desc;
    return buffer == PCOLL_RECV ? rail->recv.desc : rail->area.desc;
}

static void resolve_move(const struct binding *b, const struct pcoll_entry *entry,
                         struct pcoll_ofi_step *step, int link)
{
    step->get = entry->op == PCOLL_OP_GET;
    step->bytes = (size_t)entry->bytes;
    step->local = pcoll_shm_own_place(&b->shm, entry->local);
    step->desc = desc_of(step->way->rail, entry->local.buffer);
    step->remote = remote_address(b, link, rail_of(b, entry), entry->remote, &step->key);
}

/* A copy here, and a pour there when it is done. */
static void resolve_copy(const struct binding *b, const struct pcoll_entry *entry,
                         struct pcoll_ofi_step *step)
{
    step->copy_from = pcoll_shm_own_place(&b->shm, entry->local);
    step->copy_to = pcoll_shm_own_place(&b->shm, entry->remote);
    if (step->copy_from != step->copy_to)
        step->copy_bytes = (size_t)entry->bytes;
}

/* Data for a cell go with the sum, or in front of it. */
static void resolve_cell(const struct binding *b, const struct pcoll_entry *entry,
                         struct pcoll_ofi_step *step)
{
    const struct pcoll_ofi_rail *rail = step->way->rail;
    size_t first = PCOLL_CELL_BYTES - (size_t)entry->bytes;

    step->copy_from = pcoll_shm_own_place(&b->shm, entry->local);
    step->copy_to = step->outgoing->cell + first;
    step->copy_bytes = (size_t)entry->bytes;
    if (rail->endpoint->stream)
        return;
    step->bytes = (size_t)entry->bytes;
    step->local = step->copy_to;
    step->desc = rail->mail.desc;
    step->remote = step->slot + first;
    step->key = step->way->inbox_key;
}

/* The number of a channel among those to the same neighbor: its slot there, behind the farewells.
 */
static uint64_t slot_of(const struct pcoll_ofi_bound *bound, int channel,
                        const struct pcoll_ofi_way *way)
{
    uint64_t number = (uint64_t)bound->nrails;

    for (int i = 0; i < channel; i++)
        number += bound->channels[i].link == bound->channels[channel].link;
    return way->inbox + number * sizeof(struct pcoll_ofi_slot);
}

static void resolve_step(const struct binding *b, int index, struct pcoll_ofi_step *step)
{
    const struct pcoll_entry *entry = &b->plan->entries[index];
    struct pcoll_ofi_bound *bound = b->bound;
    int link = link_of(bound, entry->peer);

    step->shm = &bound->shm.steps[index];
    step->shm->to = step;
    step->way = &bound->links[link].ways[rail_of(b, entry)];
    step->move = (struct pcoll_ofi_request){.bound = bound, .step = step, .is_move = 1};
    step->pour = (struct pcoll_ofi_request){.bound = bound, .step = step};
    if (has_channel(entry)) {
        int channel = channel_of(b, entry, link);

        step->channel = &bound->channels[channel];
        step->slot = slot_of(bound, channel, step->way);
    }
    if (is_cell_put(entry))
        resolve_cell(b, entry, step);
    else if (entry->op == PCOLL_OP_COPY)
        resolve_copy(b, entry, step);
    else if (entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET)
        resolve_move(b, entry, step, link);
}

static void resolve_steps(const struct binding *b)
{
    struct pcoll_ofi_bound *bound = b->bound;
    int n = 0;

    for (int i = 0; i < b->plan->nentries; i++)
        if (bound->shm.steps[i].kind == PCOLL_SHM_AWAY) {
            bound->steps[n].outgoing = bound->mailbox + inbox_slots(b) + n;
            resolve_step(b, i, &bound->steps[n]);
            n++;
        }
}

/* ---- all together -------------------------------------------------------------------- */

/* Between the block and the last agreement all ranks of a node count themselves as pourers. */
static enum pcoll_result connect_ranks(struct binding *b)
{
    struct pcoll_group *node = b->group->node;
    enum pcoll_result result = pcoll_shm_carve_block(&b->shm, node), agreed;
    size_t nlinks = (size_t)b->bound->nlinks + 1;

    b->card_bytes = sizeof(struct card) + (size_t)b->bound->nrails * sizeof(struct rail_card) +
                    (size_t)b->most * sizeof(struct channel_card);
    b->mine = calloc(nlinks, b->card_bytes);
    b->theirs = calloc(nlinks, b->card_bytes);
    if (result == PCOLL_OK) {
        pcoll_shm_resolve(&b->shm);
        result = register_memory(b);
    }
    if (b->mine != NULL && b->theirs != NULL)
        result = swap_cards(b, result);
    else
        result = PCOLL_ERR_NOMEM;
    if (result == PCOLL_OK)
        resolve_steps(b);
    agreed = pcoll_shm_agree(&b->group->bootstrap, result);
    pcoll_shm_find_alone(&b->bound->shm);
    return agreed;
}

enum pcoll_result pcoll_ofi_rma_bind(struct pcoll_group *group, const struct pcoll_plan *plan,
                                     const struct pcoll_memory *memory,
                                     struct pcoll_bound **bound_p)
{
    struct pcoll_ofi_group *g = pcoll_ofi_group_of(group);
    struct binding b = {
        .shm = {.plan = plan, .memory = memory, .nlocal = g->nnode},
        .group = g,
        .plan = plan,
        .memory = memory,
    };
    enum pcoll_result result;

    pcoll_ofi_leave_some();
    result = agree_on_offer(&b, allocate(&b));
    if (result == PCOLL_OK)
        result = connect_ranks(&b);
    pcoll_shm_binding_fini(&b.shm);
    free(b.ranks);
    free(b.mine);
    free(b.theirs);
    if (result != PCOLL_OK) {
        pcoll_ofi_bound_destroy(b.bound);
        return result;
    }
    b.bound->group = g;
    b.bound->shm.group = g->node;
    g->refs++;
    *bound_p = &b.bound->shm;
    return PCOLL_OK;
}

void pcoll_ofi_bound_destroy(struct pcoll_ofi_bound *bound)
{
    struct pcoll_ofi_group *group = bound ? bound->group : NULL;

    if (bound == NULL)
        return;
    for (int i = 0; bound->rails != NULL && i < bound->nrails; i++) {
        pcoll_ofi_unregister(&bound->rails[i].mail);
        pcoll_ofi_unregister(&bound->rails[i].area);
        pcoll_ofi_unregister(&bound->rails[i].send);
        pcoll_ofi_unregister(&bound->rails[i].recv);
    }
    pcoll_shm_bound_fini(&bound->shm);
    free(bound->mailbox);
    free(bound->sources);
    free(bound->steps);
    free(bound->channels);
    free(bound->links);
    free(bound->ways);
    free(bound->rails);
    free(bound);
    if (group != NULL)
        pcoll_ofi_group_release(group);
}
