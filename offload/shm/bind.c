/* Binding: the ranks tell each other what their plans need, and make the block of all of them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/plan/pool.h"
#include "offload/shm/board.h"
#include "offload/shm/relay.h"
#include "offload/shm/coop.h"
#include "offload/shm/state.h"

static size_t area_bytes(const struct pcoll_shm_card *card)
{
    return pcoll_shm_plan_bytes(card) + pcoll_shm_signalers_bytes(card->ncounters);
}

static int by_value(const void *left, const void *right)
{
    const int a = *(const int *)left, b = *(const int *)right;

    return (a > b) - (a < b);
}

int pcoll_shm_find_number(const struct pcoll_shm_binding *b, int rank)
{
    const int *found;

    if (b->is_alone && rank != b->plan->rank)
        return PCOLL_NONE;
    found = bsearch(&rank, b->ranks, (size_t)b->nlocal, sizeof(rank), by_value);
    return found ? (int)(found - b->ranks) : PCOLL_NONE;
}

void pcoll_shm_bound_fini(struct pcoll_shm_bound *bound)
{
    pcoll_shm_board_fini(bound); /* before the block: the agent may be there */
    if (bound->block != NULL)
        pcoll_shm_release(bound->block);
    pcoll_run_fini(&bound->run);
    pcoll_shm_coop_fini(bound);
    pcoll_shm_close_views(bound);
    pcoll_pool_put(bound->scratch);
}

enum pcoll_result pcoll_shm_binding_init(struct pcoll_shm_binding *b)
{
    size_t places = 2;

    while (places < 2 * b->bound->run.most_targets)
        places *= 2;
    b->cards = malloc((size_t)b->nlocal * sizeof(*b->cards));
    b->areas = malloc((size_t)b->nlocal * sizeof(*b->areas));
    b->index = pcoll_pool_get(places * sizeof(struct pcoll_target *));
    if (b->index != NULL)
        memset(b->index, 0, places * sizeof(struct pcoll_target *));
    b->index_mask = places - 1;
    b->signalings = malloc((b->bound->run.most_targets + 1) * sizeof(*b->signalings));
    return b->cards && b->areas && b->index && b->signalings ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

void pcoll_shm_binding_fini(struct pcoll_shm_binding *b)
{
    free(b->cards);
    free(b->areas);
    pcoll_pool_put(b->index);
    free(b->signalings);
}

static struct pcoll_shm_card own_card(const struct pcoll_shm_binding *b)
{
    uint32_t noperands;
    const uint32_t nnotices = pcoll_shm_board_count(b, &noperands);

    return (struct pcoll_shm_card){
        .pid = getpid(),
        .send = (uint64_t)(uintptr_t)b->memory->send,
        .recv = (uint64_t)(uintptr_t)b->memory->recv,
        .ncounters = (uint64_t)b->plan->ncounters,
        .temp_bytes = b->plan->temp_bytes,
        .longest = pcoll_shm_longest_reach(b),
        .nnotices = nnotices,
        .noperands = noperands,
        .in_heap = {pcoll_heap_find(b->memory->send, pcoll_plan_bytes(b->plan, PCOLL_SEND)),
                    pcoll_heap_find(b->memory->recv, pcoll_plan_bytes(b->plan, PCOLL_RECV))},
    };
}

/* The worst of all ranks' results; a rank with a bad result may have neither plan nor memory. */
static enum pcoll_result exchange_cards(struct pcoll_shm_binding *b, struct pcoll_shm_group *group,
                                        enum pcoll_result mine)
{
    struct pcoll_shm_card own = {.pid = 0};
    const char *all;
    uint64_t worst = 0;

    if (mine == PCOLL_OK)
        own = own_card(b);
    own.result = (uint64_t)mine;
    all = pcoll_shm_meet(group, &own, sizeof(own));
    for (int i = 0; i < b->nlocal; i++) {
        const struct pcoll_shm_card *card = (const void *)(all + (size_t)i * PCOLL_SHM_SLOT);

        worst = card->result > worst ? card->result : worst;
        if (mine != PCOLL_OK)
            continue;
        b->cards[i] = *card;
        b->areas[i] = b->area_bytes;
        b->area_bytes += area_bytes(card);
    }
    return (enum pcoll_result)worst;
}

static uint64_t longest_of_all(const struct pcoll_shm_binding *b)
{
    uint64_t longest = 0;

    for (int i = 0; i < b->nlocal; i++)
        longest = b->cards[i].longest > longest ? b->cards[i].longest : longest;
    return longest;
}

/* Clears the counters and the numbers of their signalers, the words that say whether a rank
 * requests a relay, and the tickets. */
static void clear_block(const void *context, char *payload)
{
    const struct pcoll_shm_binding *b = context;
    size_t relay = b->bound->relay_bytes;

    for (int i = 0; i < b->nlocal; i++) {
        memset(payload + b->areas[i], 0, (size_t)b->cards[i].ncounters * PCOLL_LINE_BYTES);
        memset(payload + b->areas[i] + pcoll_shm_plan_bytes(&b->cards[i]), 0,
               pcoll_shm_signalers_bytes(b->cards[i].ncounters));
        if (relay > 0)
            memset(payload + b->area_bytes + (size_t)i * relay, 0, PCOLL_LINE_BYTES);
    }
    memset(payload + b->area_bytes + (size_t)b->nlocal * relay, 0,
           b->tickets_bytes + b->board_bytes);
}

enum pcoll_result pcoll_shm_carve_block(struct pcoll_shm_binding *b, struct pcoll_shm_group *group,
                                        enum pcoll_result mine)
{
    struct pcoll_shm_bound *bound = b->bound;
    enum pcoll_result result = exchange_cards(b, group, mine);
    struct pcoll_shm_wish wish = {.clear = clear_block, .context = b};
    size_t relays;

    if (result != PCOLL_OK)
        return result;
    bound->relay_bytes = pcoll_shm_relay_bytes((size_t)longest_of_all(b));
    b->tickets_bytes = pcoll_shm_tickets_bytes(group, b->nlocal, longest_of_all(b));
    relays = (size_t)b->nlocal * bound->relay_bytes;
    b->board_bytes = pcoll_shm_board_bytes(b);
    wish.bytes = b->area_bytes + relays + b->tickets_bytes + b->board_bytes;
    result = pcoll_shm_carve(&group->arena, &group->bootstrap, &wish, &bound->block);
    if (result != PCOLL_OK)
        return result;
    bound->group = group;
    bound->relays = (char *)bound->block + PCOLL_LINE_BYTES + b->area_bytes;
    bound->tickets = bound->relays + relays;
    bound->nrelays = bound->relay_bytes > 0 ? b->nlocal : 0;
    bound->number = pcoll_shm_number(b, b->plan->rank);
    pcoll_shm_board_place(b, bound->tickets + b->tickets_bytes, PCOLL_LINE_BYTES + wish.bytes);
    pcoll_shm_open_views(b);
    return PCOLL_OK;
}

static enum pcoll_result connect_ranks(struct pcoll_shm_binding *b, struct pcoll_shm_group *group,
                                       enum pcoll_result mine)
{
    enum pcoll_result result = pcoll_shm_carve_block(b, group, mine);

    if (result != PCOLL_OK)
        return result;
    if (group->bootstrap.crowded)
        b->bound->run.sleepers = &group->meeting->sleepers;
    pcoll_shm_resolve(b);
    pcoll_shm_signalers_publish(b);
    result = pcoll_agree(&group->bootstrap, PCOLL_OK, NULL, 0);
    pcoll_shm_find_alone(b);
    if (b->bound->board != NULL && result == PCOLL_OK)
        pcoll_shm_board_open(b->bound);
    return result;
}

static void destroy(struct pcoll_shm_bound *bound)
{
    if (bound == NULL)
        return;
    pcoll_shm_bound_fini(bound);
    free(bound);
}

static enum pcoll_result allocate(struct pcoll_shm_binding *b, const struct pcoll_shm_group *group)
{
    enum pcoll_result result;

    if (b->plan == NULL)
        return PCOLL_ERR_NOMEM;
    b->bound = calloc(1, sizeof(*b->bound));
    if (b->bound == NULL)
        return PCOLL_ERR_NOMEM;
    b->bound->send_layout = b->memory->send_layout;
    b->bound->recv_layout = b->memory->recv_layout;
    result = pcoll_shm_layout_init(b->bound, b->plan);
    if (result == PCOLL_OK)
        result = pcoll_shm_coop_init(b->bound, b->plan, group->coop_from);
    if (result == PCOLL_OK)
        result = pcoll_shm_board_init(b, group);
    if (result == PCOLL_OK)
        result = pcoll_run_init(&b->bound->run, b->plan, b->memory->op);
    return result == PCOLL_OK ? pcoll_shm_binding_init(b) : result;
}

enum pcoll_result pcoll_shm_bind(struct pcoll_group *base, const struct pcoll_plan *plan,
                                 const struct pcoll_memory *memory, struct pcoll_bound **bound_p)
{
    struct pcoll_shm_group *group = pcoll_shm_group_of(base);
    struct pcoll_shm_binding b = {
        .plan = plan, .memory = memory, .nlocal = group->bootstrap.nranks};
    enum pcoll_result result = connect_ranks(&b, group, allocate(&b, group));

    pcoll_shm_binding_fini(&b);
    if (result != PCOLL_OK) {
        destroy(b.bound);
        return result;
    }
    b.bound->base.medium = b.bound->board ? &pcoll_medium_shm_board : base->medium;
    b.bound->group = group;
    *bound_p = &b.bound->base;
    return PCOLL_OK;
}

void pcoll_shm_unbind(struct pcoll_bound *bound)
{
    if (bound != NULL)
        destroy(pcoll_shm_bound_of(bound));
}
