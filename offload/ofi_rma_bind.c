/*
 * Binding: links to the neighbors on other nodes, channels to them, and from entries to steps.
 *
 * Init messages: two allgathers of a few bytes (is everybody able, did anybody fail), what the
 * ranks of a node exchange in their shared memory, and one swap with the neighbors on other nodes:
 * address, keys, where the neighbor's slots are here, and which channels I shall use there.
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

struct card {
    struct pcoll_ofi_name name;
    struct where send, recv, area, inbox; /* inbox: the slots for the neighbor */
    uint64_t ncounters;
    uint64_t nchannels;
    struct channel_card channels[]; /* most of any rank, on all ranks */
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
    char *mine, *theirs;
    size_t card_bytes;
};

static struct card *card(const struct binding *b, char *cards, int link)
{
    return (struct card *)(void *)(cards + (size_t)link * b->card_bytes);
}

/* What all must agree on before they bind. */
struct offer {
    int32_t result;
    uint32_t needs;
    int32_t most;
};

static int is_cell_put(const struct pcoll_entry *entry)
{
    return entry->op == PCOLL_OP_PUT && entry->remote.buffer == PCOLL_CELL && entry->bytes > 0;
}

/* ---- channels ------------------------------------------------------------------------ */

static int is_channel(const struct pcoll_ofi_channel *a, const struct pcoll_ofi_channel *b)
{
    return a->link == b->link && a->counter == b->counter && a->cell == b->cell &&
           a->offset == b->offset && a->bytes == b->bytes;
}

static struct pcoll_ofi_channel describe(const struct pcoll_entry *entry, int link)
{
    struct pcoll_ofi_channel channel = {
        .link = link, .counter = entry->peer_counter, .cell = PCOLL_NONE};

    if (is_cell_put(entry)) {
        channel.cell = (int)(entry->remote.offset / PCOLL_CELL_BYTES);
        channel.offset = (int)(entry->remote.offset % PCOLL_CELL_BYTES);
        channel.bytes = (int)entry->bytes;
    }
    return channel;
}

/* The number of an entry's channel; room must suffice. */
static int channel_of(struct pcoll_ofi_bound *bound, const struct pcoll_entry *entry, int link)
{
    struct pcoll_ofi_channel wanted = describe(entry, link);

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
    size_t n;

    if (plan == NULL)
        return PCOLL_ERR_NOMEM;
    n = (size_t)plan->nneighbors + 1;
    bound = b->bound = calloc(1, sizeof(*bound));
    if (bound == NULL || pcoll_shm_bound_init(&bound->shm, plan) != PCOLL_OK)
        return PCOLL_ERR_NOMEM;
    b->shm.bound = &bound->shm;
    bound->endpoint = b->group->endpoint;
    bound->ordered = plan->ordered;
    bound->ready_end = &bound->ready;
    bound->links = calloc(n, sizeof(*bound->links));
    bound->byes = calloc(n, sizeof(*bound->byes));
    bound->channels = calloc((size_t)plan->nentries + 1, sizeof(*bound->channels));
    bound->steps = calloc((size_t)plan->nentries + 1, sizeof(*bound->steps));
    b->ranks = calloc(n, sizeof(*b->ranks));
    if (!bound->links || !bound->byes || !bound->channels || !bound->steps || !b->ranks)
        return PCOLL_ERR_NOMEM;
    return pcoll_shm_binding_init(&b->shm);
}

/* Links and channels to the neighbors that `local` says are away. */
static void find_links(struct binding *b, const int *local)
{
    struct pcoll_ofi_bound *bound = b->bound;
    const struct pcoll_plan *plan = b->plan;

    bound->nlinks = 0;
    bound->nchannels = 0;
    bound->nsteps = 0;
    for (int i = 0; i < plan->nneighbors; i++)
        if (local[plan->neighbors[i]] == PCOLL_NONE) {
            b->ranks[bound->nlinks] = plan->neighbors[i];
            bound->links[bound->nlinks++].rank = plan->neighbors[i];
        }
    for (int i = 0; i < plan->nentries; i++) {
        int link = link_of(bound, plan->entries[i].peer);

        bound->nsteps += link != PCOLL_NONE;
        if (link != PCOLL_NONE && has_channel(&plan->entries[i]))
            channel_of(bound, &plan->entries[i], link);
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
    }
    all = malloc((size_t)bootstrap->nranks * sizeof(*all));
    if (all == NULL)
        return PCOLL_ERR_NOMEM;
    mine = bootstrap->allgather(bootstrap->context, &own, all, sizeof(own));
    for (int r = 0; mine == PCOLL_OK && r < bootstrap->nranks; r++) {
        own.result = all[r].result > own.result ? all[r].result : own.result;
        needs |= all[r].needs;
        b->most = all[r].most > b->most ? all[r].most : b->most;
    }
    free(all);
    if (mine != PCOLL_OK || own.result != PCOLL_OK)
        return mine != PCOLL_OK ? mine : (enum pcoll_result)own.result;
    b->shm.local =
        needs & PCOLL_NEED_USER_RMA && !b->group->can_cma ? b->group->alone : b->group->local;
    find_links(b, b->shm.local);
    return PCOLL_OK;
}

/* ---- memory -------------------------------------------------------------------------- */

static size_t inbox_slots(const struct binding *b)
{
    return (size_t)b->bound->nlinks * ((size_t)b->most + 1);
}

static enum pcoll_result make_mailbox(struct binding *b)
{
    struct pcoll_ofi_bound *bound = b->bound;
    size_t slots = inbox_slots(b) + (size_t)bound->nsteps + (size_t)bound->nlinks;
    size_t bytes = slots * sizeof(*bound->mailbox);
    void *memory = NULL;

    if (posix_memalign(&memory, 4096, bytes) != 0)
        return PCOLL_ERR_NOMEM;
    memset(memory, 0, bytes);
    bound->mailbox = memory;
    bound->bye_slots = bound->mailbox + slots - bound->nlinks;
    bound->sources = calloc(inbox_slots(b), sizeof(*bound->sources));
    if (bound->sources == NULL)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < bound->nlinks; i++) {
        bound->links[i].slots = bound->mailbox + (size_t)i * ((size_t)b->most + 1);
        bound->byes[i].bound = bound;
    }
    return pcoll_ofi_register(bound->endpoint, &b->group->bootstrap, "a plan's inbox", memory,
                              bytes, NULL, &bound->mail_region);
}

static enum pcoll_result register_user(struct binding *b, const char *what, void *address,
                                       uint64_t bytes, struct pcoll_ofi_region *region)
{
    if (bytes == 0)
        return PCOLL_OK;
    return pcoll_ofi_register(b->bound->endpoint, &b->group->bootstrap, what, address,
                              (size_t)bytes, NULL, region);
}

/* What entries may name, here or at neighbors. */
static enum pcoll_result register_memory(struct binding *b)
{
    const struct pcoll_signature *sig = &b->plan->signature;
    struct pcoll_ofi_bound *bound = b->bound;
    uint64_t send = 0, recv = 0;
    enum pcoll_result result;
    size_t bytes;
    char *area = pcoll_shm_own_area(&b->shm, &bytes);

    if (bound->nlinks == 0)
        return PCOLL_OK;
    if (sig->coll == PCOLL_ALLGATHER || (sig->coll == PCOLL_BCAST && b->plan->rank == sig->root))
        send = sig->bytes;
    if (sig->coll == PCOLL_ALLGATHER)
        recv = sig->bytes * (uint64_t)sig->nranks;
    else if (sig->coll == PCOLL_BCAST && b->plan->rank != sig->root)
        recv = sig->bytes;
    result = make_mailbox(b);
    if (result == PCOLL_OK)
        result = register_user(b, "communication buffers", area, bytes, &bound->area_region);
    if (result == PCOLL_OK)
        result = register_user(b, "the send buffer", b->memory->send, send, &bound->send_region);
    if (result == PCOLL_OK)
        result = register_user(b, "the receive buffer", b->memory->recv, recv, &bound->recv_region);
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

    c->name = bound->endpoint->name;
    c->send = where_is(&bound->send_region);
    c->recv = where_is(&bound->recv_region);
    c->area = where_is(&bound->area_region);
    c->inbox = where_is(&bound->mail_region);
    c->inbox.base += offset;
    c->ncounters = (uint64_t)b->plan->ncounters;
    for (int i = 0; i < bound->nchannels; i++) {
        const struct pcoll_ofi_channel *channel = &bound->channels[i];

        if (channel->link == link)
            c->channels[c->nchannels++] = (struct channel_card){channel->counter, channel->cell,
                                                                channel->offset, channel->bytes};
    }
}

/* A neighbor's channels become sources here. */
static void read_card(const struct binding *b, int link)
{
    struct pcoll_ofi_bound *bound = b->bound;
    const struct card *c = card(b, b->theirs, link);

    bound->links[link].inbox = c->inbox.base;
    bound->links[link].inbox_key = c->inbox.key;
    for (uint64_t i = 0; i < c->nchannels; i++) {
        const struct channel_card *channel = &c->channels[i];
        struct pcoll_ofi_source *source = &bound->sources[bound->nsources++];

        source->slot = bound->links[link].slots + 1 + i;
        source->bytes = (size_t)channel->bytes;
        if (channel->counter != PCOLL_NONE)
            source->target = pcoll_shm_target(&b->shm, b->plan->rank, channel->counter);
        if (channel->bytes > 0)
            source->cell = (unsigned char *)pcoll_shm_own_place(
                &b->shm, pcoll_at(PCOLL_CELL, (uint64_t)channel->cell * PCOLL_CELL_BYTES +
                                                  (uint64_t)channel->offset));
    }
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
    for (int i = 0; i < bound->nlinks && result == PCOLL_OK; i++) {
        read_card(b, i);
        if (card(b, b->theirs, i)->name.bytes > 0)
            result = pcoll_ofi_peer(bound->endpoint, bootstrap, &card(b, b->theirs, i)->name,
                                    &bound->links[i].address);
    }
    return result;
}

/* ---- steps --------------------------------------------------------------------------- */

static uint64_t remote_address(const struct binding *b, int link, struct pcoll_place place,
                               uint64_t *key_p)
{
    const struct card *c = card(b, b->theirs, link);
    struct where where = c->area;
    uint64_t offset = place.offset;

    if (place.buffer == PCOLL_SEND)
        where = c->send;
    else if (place.buffer == PCOLL_RECV)
        where = c->recv;
    else if (place.buffer == PCOLL_TEMP)
        offset += c->ncounters * PCOLL_SHM_LINE;
    else
        offset = place.offset / PCOLL_CELL_BYTES * PCOLL_SHM_LINE +
                 offsetof(struct pcoll_shm_line, cell) + place.offset % PCOLL_CELL_BYTES;
    *key_p = where.key;
    return where.base + offset;
}

static void *desc_of(const struct pcoll_ofi_bound *bound, enum pcoll_buffer buffer)
{
    if (buffer == PCOLL_SEND)
        return bound->send_region.desc;
    return buffer == PCOLL_RECV ? bound->recv_region.desc : bound->area_region.desc;
}

static void resolve_move(const struct binding *b, const struct pcoll_entry *entry,
                         struct pcoll_ofi_step *step, int link)
{
    step->get = entry->op == PCOLL_OP_GET;
    step->bytes = (size_t)entry->bytes;
    step->local = pcoll_shm_own_place(&b->shm, entry->local);
    step->desc = desc_of(b->bound, entry->local.buffer);
    step->remote = remote_address(b, link, entry->remote, &step->key);
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
    size_t first = PCOLL_CELL_BYTES - (size_t)entry->bytes;

    step->copy_from = pcoll_shm_own_place(&b->shm, entry->local);
    step->copy_to = step->outgoing->cell + first;
    step->copy_bytes = (size_t)entry->bytes;
    if (b->bound->endpoint->stream)
        return;
    step->bytes = (size_t)entry->bytes;
    step->local = step->copy_to;
    step->desc = b->bound->mail_region.desc;
    step->remote = step->slot + first;
    step->key = step->link->inbox_key;
}

/* The number of a channel among those to the same neighbor: its slot there, behind the farewell. */
static uint64_t slot_of(const struct pcoll_ofi_bound *bound, int channel)
{
    const struct pcoll_ofi_link *link = &bound->links[bound->channels[channel].link];
    uint64_t number = 1;

    for (int i = 0; i < channel; i++)
        number += bound->channels[i].link == bound->channels[channel].link;
    return link->inbox + number * sizeof(struct pcoll_ofi_slot);
}

static void resolve_step(const struct binding *b, int index, struct pcoll_ofi_step *step)
{
    const struct pcoll_entry *entry = &b->plan->entries[index];
    struct pcoll_ofi_bound *bound = b->bound;
    int link = link_of(bound, entry->peer);

    step->shm = &bound->shm.steps[index];
    step->shm->to = step;
    step->link = &bound->links[link];
    step->move = (struct pcoll_ofi_request){.bound = bound, .step = step, .is_move = 1};
    step->pour = (struct pcoll_ofi_request){.bound = bound, .step = step};
    if (has_channel(entry)) {
        int channel = channel_of(bound, entry, link);

        step->channel = &bound->channels[channel];
        step->slot = slot_of(bound, channel);
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

    b->card_bytes = sizeof(struct card) + (size_t)b->most * sizeof(struct channel_card);
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
    pcoll_ofi_unregister(&bound->mail_region);
    pcoll_ofi_unregister(&bound->area_region);
    pcoll_ofi_unregister(&bound->send_region);
    pcoll_ofi_unregister(&bound->recv_region);
    pcoll_shm_bound_fini(&bound->shm);
    free(bound->mailbox);
    free(bound->sources);
    free(bound->steps);
    free(bound->channels);
    free(bound->links);
    free(bound->byes);
    free(bound);
    if (group != NULL)
        pcoll_ofi_group_release(group);
}
