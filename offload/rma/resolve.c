/* Binding: links to the neighbors on other nodes, channels to them, and steps from entries. */
#include <stdlib.h>
#include <string.h>

#include "algorithms/util.h"
#include "offload/rma/binding.h"

static bool is_cell_put(const struct pcoll_entry *entry)
{
    return entry->op == PCOLL_OP_PUT && entry->remote.buffer == PCOLL_CELL && entry->bytes > 0;
}

static enum pcoll_rma_memory memory_of(enum pcoll_buffer buffer)
{
    if (buffer == PCOLL_SEND)
        return PCOLL_RMA_SEND;
    return buffer == PCOLL_RECV ? PCOLL_RMA_RECV : PCOLL_RMA_AREA;
}

/* ---- links and channels -------------------------------------------------------------- */

/* Returns whether the two are one channel. */
static bool is_channel(const struct pcoll_rma_channel *a, const struct pcoll_rma_channel *b)
{
    return a->link == b->link && a->rail == b->rail && a->counter == b->counter &&
           a->cell == b->cell && a->offset == b->offset && a->bytes == b->bytes;
}

static int rail_of(const struct pcoll_rma_binding *b, const struct pcoll_entry *entry)
{
    return entry->rail % b->group->nrails;
}

static struct pcoll_rma_channel describe(const struct pcoll_rma_binding *b,
                                         const struct pcoll_entry *entry, int link)
{
    struct pcoll_rma_channel channel = {.link = link,
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

/* The position in the index where the channel is or belongs (Knuth, TAOCP 3, 6.4). */
static int *find_channel(const struct pcoll_rma_binding *b, const struct pcoll_rma_channel *wanted)
{
    const size_t members[] = {(size_t)wanted->link, (size_t)wanted->rail, (size_t)wanted->counter,
                              (size_t)wanted->cell, (size_t)wanted->offset};
    size_t i = (size_t)wanted->bytes;

    for (int m = 0; m < 5; m++)
        i = (i + members[m]) * 2654435761u;
    i ^= i >> 15;
    while (b->index[i & b->index_mask] != 0 &&
           !is_channel(&b->bound->channels[b->index[i & b->index_mask] - 1], wanted))
        i++;
    return &b->index[i & b->index_mask];
}

/* The channel of an entry; there must be room for it. */
static struct pcoll_rma_channel *channel_of(const struct pcoll_rma_binding *b,
                                            const struct pcoll_entry *entry, int link)
{
    struct pcoll_rma_bound *bound = b->bound;
    struct pcoll_rma_channel wanted = describe(b, entry, link);
    int *found = find_channel(b, &wanted);

    if (*found == 0) {
        wanted.number = bound->links[link].nchannels++;
        bound->channels[bound->nchannels] = wanted;
        *found = ++bound->nchannels;
    }
    return &bound->channels[*found - 1];
}

static bool has_channel(const struct pcoll_entry *entry)
{
    return entry->peer_counter != PCOLL_NONE || is_cell_put(entry);
}

static int by_rank(const void *rank, const void *link)
{
    return pcoll_compare_ints(rank, &((const struct pcoll_rma_link *)link)->rank);
}

/* Links are sorted by rank, as the neighbors are. */
static int link_of(const struct pcoll_rma_bound *bound, int rank)
{
    const struct pcoll_rma_link *found =
        bsearch(&rank, bound->links, (size_t)bound->nlinks, sizeof(*found), by_rank);

    return found ? (int)(found - bound->links) : PCOLL_NONE;
}

void pcoll_rma_find_links(struct pcoll_rma_binding *b)
{
    struct pcoll_rma_bound *bound = b->bound;
    const struct pcoll_plan *plan = b->plan;

    bound->nlinks = 0;
    bound->nchannels = 0;
    bound->nsteps = 0;
    bound->nrails = 1;
    memset(b->index, 0, (b->index_mask + 1) * sizeof(*b->index));
    for (int i = 0; i < plan->nneighbors; i++)
        if (pcoll_node_number(&b->node, plan->neighbors[i]) == PCOLL_NONE) {
            b->ranks[bound->nlinks] = plan->neighbors[i];
            bound->links[bound->nlinks].nchannels = 0;
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

int pcoll_rma_max_channels(const struct pcoll_rma_binding *b)
{
    int max = 0;

    for (int l = 0; l < b->bound->nlinks; l++)
        if (b->bound->links[l].nchannels > max)
            max = b->bound->links[l].nchannels;
    return max;
}

/* Transfers of this rank that need keys name these memories, here and at the peer. */
void pcoll_rma_find_keyed(const struct pcoll_rma_binding *b, uint64_t keyed[PCOLL_RMA_NMEMORIES])
{
    const struct pcoll_plan *plan = b->plan;

    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];
        const struct pcoll_wire_endpoint *endpoint = b->group->endpoints[rail_of(b, entry)];
        const bool is_get = entry->op == PCOLL_OP_GET;

        if ((is_get || entry->op == PCOLL_OP_PUT) && !is_cell_put(entry) && entry->bytes > 0 &&
            link_of(b->bound, entry->peer) != PCOLL_NONE &&
            pcoll_wire_needs_key(endpoint, is_get, (size_t)entry->bytes)) {
            keyed[memory_of(entry->local.buffer)] = 1;
            keyed[memory_of(entry->remote.buffer)] = 1;
        }
    }
}

/* ---- steps --------------------------------------------------------------------------- */

static uint64_t remote_address(const struct pcoll_rma_binding *b, int link, int rail,
                               struct pcoll_place place)
{
    struct pcoll_rma_card *c = pcoll_rma_card(b, b->theirs, link);
    uint64_t offset = place.offset;

    if (place.buffer == PCOLL_TEMP)
        offset += c->ncounters * PCOLL_LINE_BYTES;
    else if (place.buffer == PCOLL_CELL)
        offset = place.offset / PCOLL_CELL_BYTES * PCOLL_LINE_BYTES +
                 offsetof(struct pcoll_line, cell) + place.offset % PCOLL_CELL_BYTES;
    return pcoll_rma_rail_of(b, c, rail)->bases[memory_of(place.buffer)] + offset;
}

/* The key of a neighbor's memory, taken when the first step needs it. */
static enum pcoll_result find_key(const struct pcoll_rma_binding *b, int link, int rail,
                                  enum pcoll_rma_memory memory, uint64_t *key_p)
{
    struct pcoll_rma_way *way = &b->bound->links[link].ways[rail];
    struct pcoll_rma_key *key = &way->keys[memory];
    struct pcoll_rma_card *c = pcoll_rma_card(b, b->theirs, link);
    enum pcoll_result result = PCOLL_OK;

    if (!key->is_taken)
        result = b->group->wire->take_key(
            &way->wire, &b->group->bootstrap,
            pcoll_rma_key_of(b, pcoll_rma_rail_of(b, c, rail), (int)memory), &key->key);
    key->is_taken = result == PCOLL_OK;
    *key_p = key->key;
    return result;
}

static enum pcoll_result resolve_move(const struct pcoll_rma_binding *b,
                                      const struct pcoll_entry *entry, struct pcoll_rma_step *step,
                                      int link)
{
    const int rail = rail_of(b, entry);

    step->is_get = entry->op == PCOLL_OP_GET;
    step->bytes = (size_t)entry->bytes;
    step->local = pcoll_node_own_place(&b->node, entry->local);
    step->desc = step->way->rail->memories[memory_of(entry->local.buffer)].desc;
    step->remote = remote_address(b, link, rail, entry->remote);
    if (!step->is_get && step->channel != NULL)
        step->joined = step->way->wire.endpoint->joined;
    if (step->bytes == 0 ||
        !pcoll_wire_needs_key(step->way->wire.endpoint, step->is_get, step->bytes))
        return PCOLL_OK;
    return find_key(b, link, rail, memory_of(entry->remote.buffer), &step->key);
}

/* A copy on this rank, and a signal to the peer when it is done. */
static void resolve_copy(const struct pcoll_rma_binding *b, const struct pcoll_entry *entry,
                         struct pcoll_rma_step *step)
{
    step->copy_from = pcoll_node_own_place(&b->node, entry->local);
    step->copy_to = pcoll_node_own_place(&b->node, entry->remote);
    if (step->copy_from != step->copy_to)
        step->copy_bytes = (size_t)entry->bytes;
}

/* The data of a cell travels with the sum, or before it. */
static void resolve_cell(const struct pcoll_rma_binding *b, const struct pcoll_entry *entry,
                         struct pcoll_rma_step *step)
{
    const struct pcoll_rma_rail *rail = step->way->rail;
    size_t first = PCOLL_CELL_BYTES - (size_t)entry->bytes;

    step->copy_from = pcoll_node_own_place(&b->node, entry->local);
    step->copy_to = step->outgoing->cell + first;
    step->copy_bytes = (size_t)entry->bytes;
    if (rail->endpoint->stream)
        return;
    step->bytes = (size_t)entry->bytes;
    step->local = step->copy_to;
    step->desc = rail->mail.desc;
    step->remote = step->line + first;
    step->key = step->way->inbox_key.key;
}

static enum pcoll_result resolve_step(const struct pcoll_rma_binding *b, int index,
                                      struct pcoll_rma_step *step)
{
    const struct pcoll_entry *entry = &b->plan->entries[index];
    struct pcoll_rma_bound *bound = b->bound;
    int link = link_of(bound, entry->peer);

    step->step = &bound->node.run.steps[index];
    step->step->own = step;
    step->way = &bound->links[link].ways[rail_of(b, entry)];
    step->move = (struct pcoll_rma_request){.bound = bound, .step = step, .is_move = true};
    step->signal = (struct pcoll_rma_request){.bound = bound, .step = step};
    if (has_channel(entry)) {
        step->channel = channel_of(b, entry, link);
        step->line = step->way->inbox + (uint64_t)(bound->nrails + step->channel->number) *
                                            sizeof(struct pcoll_rma_line);
    }
    if (is_cell_put(entry))
        resolve_cell(b, entry, step);
    else if (entry->op == PCOLL_OP_COPY)
        resolve_copy(b, entry, step);
    else if (entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET)
        return resolve_move(b, entry, step, link);
    return PCOLL_OK;
}

enum pcoll_result pcoll_rma_resolve_steps(const struct pcoll_rma_binding *b)
{
    struct pcoll_rma_bound *bound = b->bound;
    enum pcoll_result result = PCOLL_OK;
    int n = 0;

    for (int i = 0; i < b->plan->nentries && result == PCOLL_OK; i++)
        if (bound->node.run.steps[i].kind == PCOLL_STEP_REMOTE) {
            bound->steps[n].outgoing = bound->mailbox + pcoll_rma_inbox_lines(b) + n;
            result = resolve_step(b, i, &bound->steps[n]);
            n++;
        }
    return result;
}
