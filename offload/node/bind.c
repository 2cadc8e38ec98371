/* Binding: the ranks tell each other what their plans need, and make the plan's extent. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/plan/pool.h"
#include "algorithms/util.h"
#include "offload/copy.h"
#include "offload/node/board.h"
#include "offload/node/relay.h"
#include "offload/node/binding.h"

/* Long communication buffers begin where copies to and from them are fast (offload/copy.h). */
static bool has_long_temp(const struct pcoll_node_card *card)
{
    return card->temp_bytes > PCOLL_COPY_PERIOD;
}

static size_t area_bytes(const struct pcoll_node_card *card)
{
    return pcoll_node_plan_bytes(card) + pcoll_node_signalers_bytes(card->ncounters);
}

int pcoll_node_find_number(const struct pcoll_node_binding *b, int rank)
{
    const int *found;

    if (b->is_alone && rank != b->plan->rank)
        return PCOLL_NONE;
    found = bsearch(&rank, b->ranks, (size_t)b->nlocal, sizeof(rank), pcoll_compare_ints);
    return found ? (int)(found - b->ranks) : PCOLL_NONE;
}

void pcoll_node_bound_fini(struct pcoll_node_bound *bound)
{
    pcoll_node_board_fini(bound); /* before the extent: the agent may be there */
    if (bound->extent != NULL)
        pcoll_shm_release(bound->extent);
    pcoll_run_fini(&bound->run);
    pcoll_node_close_views(bound);
    pcoll_pool_put(bound->scratch);
}

enum pcoll_result pcoll_node_binding_init(struct pcoll_node_binding *b)
{
    size_t places = 2;

    while (places < 2 * b->bound->run.max_targets)
        places *= 2;
    b->cards = malloc((size_t)b->nlocal * sizeof(*b->cards));
    b->areas = malloc((size_t)b->nlocal * sizeof(*b->areas));
    b->index = pcoll_pool_get(places * sizeof(struct pcoll_target *));
    if (b->index != NULL)
        memset(b->index, 0, places * sizeof(struct pcoll_target *));
    b->index_mask = places - 1;
    b->signalings = malloc((b->bound->run.max_targets + 1) * sizeof(*b->signalings));
    return b->cards && b->areas && b->index && b->signalings ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

void pcoll_node_binding_fini(struct pcoll_node_binding *b)
{
    free(b->cards);
    free(b->areas);
    pcoll_pool_put(b->index);
    free(b->signalings);
}

/* Returns whether no entry writes beyond a short cell, of this rank or another; no rank reads what
 * no rank has written. */
static bool has_short_cells(const struct pcoll_plan *plan)
{
    if (plan->signature.bytes > PCOLL_SHORT_CELL_BYTES)
        return false; /* hardly; this saves the search */
    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];
        const bool is_to_local = entry->op == PCOLL_OP_GET || entry->op == PCOLL_OP_REDUCE;
        const struct pcoll_place *to = is_to_local ? &entry->local : &entry->remote;

        if (to->buffer == PCOLL_CELL &&
            to->offset % PCOLL_CELL_BYTES + entry->bytes > PCOLL_SHORT_CELL_BYTES)
            return false;
    }
    return true;
}

/* A one-way call takes as long as the lines that it moves between cores, so two of its messages
 * should share one (doc/notes/one-way.md). Several senders would contend for it: only a rank with
 * one neighbor asks for half lines. */
static unsigned stride_of(const struct pcoll_plan *plan)
{
    return plan->nneighbors <= 1 ? PCOLL_HALF_LINE_BYTES : PCOLL_LINE_BYTES;
}

static struct pcoll_node_card own_card(const struct pcoll_node_binding *b,
                                       const struct pcoll_node_group *group)
{
    struct pcoll_node_card card = {
        .pid = getpid(),
        .send = (uint64_t)(uintptr_t)b->memory->send,
        .recv = (uint64_t)(uintptr_t)b->memory->recv,
        .ncounters = (uint32_t)b->plan->ncounters,
        .temp_bytes = b->plan->temp_bytes,
        .longest = pcoll_node_longest_reach(b),
        .is_short = b->halves_lines && has_short_cells(b->plan),
        .stride = (uint16_t)stride_of(b->plan),
    };

    pcoll_node_tell_views(b, group, &card);
    pcoll_node_board_tell(b, &card);
    return card;
}

/* Once all cards are known: the size of all areas, wherever the extent will be. */
static void count_area_bytes(struct pcoll_node_binding *b)
{
    bool all_short = true;

    for (int i = 0; i < b->nlocal; i++)
        all_short &= b->cards[i].is_short;
    for (int i = 0; i < b->nlocal; i++) {
        if (!all_short)
            b->cards[i].stride = PCOLL_LINE_BYTES;
        b->area_bytes += area_bytes(&b->cards[i]);
        if (has_long_temp(&b->cards[i]))
            b->area_bytes += PCOLL_COPY_PERIOD - PCOLL_LINE_BYTES;
    }
}

/* The payload is at the same place of a page in each process, so all ranks agree. */
static void place_areas(const struct pcoll_node_binding *b, const char *payload)
{
    size_t at = 0;

    for (int i = 0; i < b->nlocal; i++) {
        const struct pcoll_node_card *card = &b->cards[i];
        const size_t counters = pcoll_node_lines(pcoll_node_counters_bytes(card));

        if (has_long_temp(card))
            at += pcoll_copy_padding((uintptr_t)payload + at + counters);
        b->areas[i] = at;
        at += area_bytes(card);
    }
}

/* The worst of all ranks' results; a rank with a bad result may have neither plan nor memory. */
static enum pcoll_result exchange_cards(struct pcoll_node_binding *b,
                                        struct pcoll_node_group *group, enum pcoll_result mine)
{
    struct pcoll_node_card own = {.pid = 0};
    const char *all;
    uint64_t worst = 0;

    if (mine == PCOLL_OK)
        own = own_card(b, group);
    own.result = (uint16_t)mine;
    all = pcoll_node_meet(group, &own, sizeof(own));
    for (int i = 0; i < b->nlocal; i++) {
        const struct pcoll_node_card *card =
            (const void *)(all + (size_t)i * PCOLL_NODE_FIELD_BYTES);

        worst = card->result > worst ? card->result : worst;
        if (mine == PCOLL_OK)
            b->cards[i] = *card;
    }
    if (mine == PCOLL_OK)
        count_area_bytes(b);
    return (enum pcoll_result)worst;
}

static uint64_t longest_of_all(const struct pcoll_node_binding *b)
{
    uint64_t longest = 0;

    for (int i = 0; i < b->nlocal; i++)
        longest = b->cards[i].longest > longest ? b->cards[i].longest : longest;
    return longest;
}

/* Clears the counters and the numbers of their signalers, the words that say whether a rank
 * requests a relay, and the board. */
static void clear_extent(const void *context, char *payload)
{
    const struct pcoll_node_binding *b = context;
    size_t relay = b->bound->relay_bytes;

    place_areas(b, payload);
    for (int i = 0; i < b->nlocal; i++) {
        memset(payload + b->areas[i], 0, pcoll_node_counters_bytes(&b->cards[i]));
        memset(payload + b->areas[i] + pcoll_node_plan_bytes(&b->cards[i]), 0,
               pcoll_node_signalers_bytes(b->cards[i].ncounters));
        if (relay > 0)
            memset(payload + b->area_bytes + (size_t)i * relay, 0, PCOLL_LINE_BYTES);
    }
    memset(payload + b->area_bytes + (size_t)b->nlocal * relay, 0, b->board_bytes);
}

/* A page lies in the NUMA domain of the rank that writes to it first. Between domains each rank
 * does so with its own TEMP, which its peers would otherwise fill first. Counters share the first
 * page of an area, which rank 0 has cleared. */
static void touch_own_temp(const struct pcoll_node_binding *b, const struct pcoll_node_group *group)
{
    uintptr_t page, at;
    size_t bytes;
    char *own;

    if (!pcoll_sharing_is_divided(&group->sharing, PCOLL_SHARED_NUMA))
        return;
    page = (uintptr_t)sysconf(_SC_PAGESIZE);
    own = pcoll_node_own_area(b, &bytes);
    at = ((uintptr_t)own + bytes - b->plan->temp_bytes + page - 1) / page * page;
    for (; at < (uintptr_t)own + bytes; at += page)
        *(volatile char *)at = 0;
}

enum pcoll_result pcoll_node_carve_extent(struct pcoll_node_binding *b,
                                          struct pcoll_node_group *group, enum pcoll_result mine)
{
    struct pcoll_node_bound *bound = b->bound;
    enum pcoll_result result = exchange_cards(b, group, mine);
    struct pcoll_shm_wish wish = {.clear = clear_extent, .context = b};
    size_t relays;
    char *payload;

    if (result != PCOLL_OK)
        return result;
    bound->relay_bytes = pcoll_node_relay_bytes((size_t)longest_of_all(b));
    relays = (size_t)b->nlocal * bound->relay_bytes;
    b->board_bytes = pcoll_node_board_bytes(b);
    wish.bytes = b->area_bytes + relays + b->board_bytes;
    result = pcoll_shm_carve(&group->arena, &group->bootstrap, &wish, &bound->extent);
    if (result != PCOLL_OK)
        return result;
    bound->group = group;
    payload = (char *)bound->extent + PCOLL_LINE_BYTES;
    place_areas(b, payload);
    bound->relays = payload + b->area_bytes;
    bound->nrelays = bound->relay_bytes > 0 ? b->nlocal : 0;
    bound->number = pcoll_node_number(b, b->plan->rank);
    pcoll_node_board_place(b, bound->relays + relays, PCOLL_LINE_BYTES + wish.bytes);
    pcoll_node_open_views(b);
    touch_own_temp(b, group);
    return PCOLL_OK;
}
