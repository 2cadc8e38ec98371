/* Binding: from entries to steps with addresses.  Everything a start needs is made here. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/shm/relay.h"
#include "offload/shm/state.h"

/* What each rank tells all others. */
struct pcoll_shm_card {
    int64_t pid;
    uint64_t send, recv; /* addresses at the owner */
    uint64_t ncounters, temp_bytes;
    uint64_t longest; /* that this rank moves to or from user memory of another */
};

static size_t area_bytes(const struct pcoll_shm_card *card)
{
    size_t temp = (size_t)(card->temp_bytes + PCOLL_SHM_LINE - 1) / PCOLL_SHM_LINE;

    return ((size_t)card->ncounters + temp) * PCOLL_SHM_LINE;
}

static int number(const struct pcoll_shm_binding *b, int rank)
{
    return b->local ? b->local[rank] : rank;
}

static const struct pcoll_shm_card *card_of(const struct pcoll_shm_binding *b, int rank)
{
    return &b->cards[number(b, rank)];
}

static char *area(const struct pcoll_shm_binding *b, int rank)
{
    return (char *)b->bound->block + PCOLL_SHM_LINE + b->areas[number(b, rank)];
}

char *pcoll_shm_own_area(const struct pcoll_shm_binding *b, size_t *bytes_p)
{
    *bytes_p = area_bytes(card_of(b, b->plan->rank));
    return area(b, b->plan->rank);
}

static struct pcoll_shm_line *counter(const struct pcoll_shm_binding *b, int rank, int index)
{
    return (struct pcoll_shm_line *)(void *)area(b, rank) + index;
}

/* TEMP and CELL of any rank, which are mapped here. */
static char *shared_place(const struct pcoll_shm_binding *b, int rank, struct pcoll_place place)
{
    if (place.buffer == PCOLL_TEMP)
        return area(b, rank) + card_of(b, rank)->ncounters * PCOLL_SHM_LINE + place.offset;
    return (char *)counter(b, rank, (int)(place.offset / PCOLL_CELL_BYTES))->cell +
           place.offset % PCOLL_CELL_BYTES;
}

static int is_shared(struct pcoll_place place)
{
    return place.buffer == PCOLL_TEMP || place.buffer == PCOLL_CELL;
}

char *pcoll_shm_own_place(const struct pcoll_shm_binding *b, struct pcoll_place place)
{
    if (is_shared(place))
        return shared_place(b, b->plan->rank, place);
    return (char *)(place.buffer == PCOLL_SEND ? b->memory->send : b->memory->recv) + place.offset;
}

/* An address in the peer's memory, or here when it is shared. */
static char *peer_place(const struct pcoll_shm_binding *b, int peer, struct pcoll_place place)
{
    const struct pcoll_shm_card *card = card_of(b, peer);

    if (is_shared(place))
        return shared_place(b, peer, place);
    return (char *)(uintptr_t)(place.buffer == PCOLL_SEND ? card->send : card->recv) + place.offset;
}

static void resolve_move(const struct pcoll_shm_binding *b, const struct pcoll_entry *entry,
                         struct pcoll_shm_step *step)
{
    int get = entry->op == PCOLL_OP_GET;
    char *local = pcoll_shm_own_place(b, entry->local), *remote;

    if (entry->op == PCOLL_OP_COPY)
        remote = pcoll_shm_own_place(b, entry->remote);
    else
        remote = peer_place(b, entry->peer, entry->remote);
    step->bytes = (size_t)entry->bytes;
    step->from = get ? remote : local;
    step->to = get ? local : remote;
    step->kind = PCOLL_SHM_COPY;
    if (entry->op != PCOLL_OP_COPY && !is_shared(entry->remote)) {
        step->kind = get ? PCOLL_SHM_READ : PCOLL_SHM_WRITE;
        step->pid = (pid_t)card_of(b, entry->peer)->pid;
    }
    /* Equal addresses mean the same memory within this process only. */
    if (entry->bytes == 0 || (step->kind == PCOLL_SHM_COPY && step->from == step->to))
        step->kind = PCOLL_SHM_NOTHING;
}

/* Where in the index the target for `line` is, or is to be: lines are found by their number in the
 * block, scattered by a multiplication (Knuth, TAOCP 3, 6.4), then one place after the other. */
static struct pcoll_shm_target **find_target(const struct pcoll_shm_binding *b,
                                             const struct pcoll_shm_line *line)
{
    size_t i = (size_t)(line - (struct pcoll_shm_line *)b->bound->block) * 2654435761u;

    while (b->index[i & b->index_mask] != NULL && b->index[i & b->index_mask]->line != line)
        i++;
    return &b->index[i & b->index_mask];
}

/* The target for a counter; the first mention counts this rank among its signalers. */
struct pcoll_shm_target *pcoll_shm_target(const struct pcoll_shm_binding *b, int rank, int index)
{
    struct pcoll_shm_line *line = counter(b, rank, index);
    struct pcoll_shm_target **found = find_target(b, line);

    if (*found == NULL) {
        *found = &b->bound->targets[b->bound->ntargets++];
        (*found)->line = line;
        atomic_fetch_add_explicit(&line->signalers, 1, memory_order_relaxed);
    }
    return *found;
}

static int is_away(const struct pcoll_shm_binding *b, const struct pcoll_entry *entry)
{
    return entry->peer != PCOLL_NONE && number(b, entry->peer) == PCOLL_NONE;
}

static void resolve_entry(const struct pcoll_shm_binding *b, const struct pcoll_entry *entry,
                          struct pcoll_shm_step *step)
{
    memset(step, 0, sizeof(*step));
    if (entry->trigger != PCOLL_NONE) {
        step->threshold = entry->threshold;
        step->gain = b->plan->gain[entry->trigger];
    }
    if (is_away(b, entry))
        step->kind = PCOLL_SHM_AWAY;
    else if (entry->op != PCOLL_OP_ADD && entry->op != PCOLL_OP_WAIT)
        resolve_move(b, entry, step);
    step->done_add = entry->done_add;
    step->peer_add = entry->peer_add;
    if (entry->done != PCOLL_NONE)
        step->done = pcoll_shm_target(b, b->plan->rank, entry->done);
    if (entry->peer_counter != PCOLL_NONE && step->kind != PCOLL_SHM_AWAY)
        step->peer = pcoll_shm_target(b, entry->peer, entry->peer_counter);
}

/* Cut the steps of a phase into queues of one trigger each; the plan is sorted by trigger. */
static int cut_queues(const struct pcoll_shm_binding *b, int phase, struct pcoll_shm_queue *queues)
{
    const struct pcoll_phase *p = &b->plan->phases[phase];
    int n = 0;

    for (int i = p->first; i < p->first + p->count; i++) {
        int trigger = b->plan->entries[i].trigger;

        if (i == p->first || trigger != b->plan->entries[i - 1].trigger) {
            queues[n].line = NULL;
            if (trigger != PCOLL_NONE)
                queues[n].line = counter(b, b->plan->rank, trigger);
            queues[n++].first = &b->bound->steps[i];
        }
        queues[n - 1].end = &b->bound->steps[i] + 1;
    }
    return n;
}

void pcoll_shm_resolve(const struct pcoll_shm_binding *b)
{
    struct pcoll_shm_bound *bound = b->bound;
    struct pcoll_shm_queue *queues = bound->queues;

    for (int i = 0; i < b->plan->nentries; i++)
        resolve_entry(b, &b->plan->entries[i], &bound->steps[i]);
    for (int p = 0; p < bound->nphases; p++) {
        bound->phases[p].queues = queues;
        bound->phases[p].nqueues = cut_queues(b, p, queues);
        queues += bound->phases[p].nqueues;
    }
    bound->pending = queues;
}

/* Each entry names two targets at most, and who carries signals to its own counters for others
 * names these. */
static size_t most_targets(const struct pcoll_plan *plan)
{
    return 2 * (size_t)plan->nentries + (size_t)plan->ncounters;
}

/* Each phase has as many queues as entries at most, and no more are pending than one phase has. */
enum pcoll_result pcoll_shm_bound_init(struct pcoll_shm_bound *bound, const struct pcoll_plan *plan)
{
    size_t n = (size_t)plan->nentries + 1;

    bound->steps = calloc(n, sizeof(*bound->steps));
    bound->queues = calloc(2 * n, sizeof(*bound->queues));
    bound->targets = calloc(most_targets(plan) + 1, sizeof(*bound->targets));
    bound->phases = calloc((size_t)plan->nphases, sizeof(*bound->phases));
    bound->nphases = plan->nphases;
    bound->rank = plan->rank;
    if (bound->steps && bound->queues && bound->targets && bound->phases)
        return PCOLL_OK;
    return PCOLL_ERR_NOMEM;
}

void pcoll_shm_bound_fini(struct pcoll_shm_bound *bound)
{
    if (bound->block != NULL)
        pcoll_shm_release(bound->block);
    free(bound->steps);
    free(bound->queues);
    free(bound->targets);
    free(bound->phases);
}

enum pcoll_result pcoll_shm_binding_init(struct pcoll_shm_binding *b)
{
    size_t places = 2;

    while (places < 2 * most_targets(b->plan))
        places *= 2;
    b->cards = malloc((size_t)b->nlocal * sizeof(*b->cards));
    b->areas = malloc((size_t)b->nlocal * sizeof(*b->areas));
    b->index = calloc(places, sizeof(struct pcoll_shm_target *));
    b->index_mask = places - 1;
    return b->cards && b->areas && b->index ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

void pcoll_shm_binding_fini(struct pcoll_shm_binding *b)
{
    free(b->cards);
    free(b->areas);
    free(b->index);
}

static uint64_t longest_reach(const struct pcoll_shm_binding *b)
{
    uint64_t longest = 0;

    for (int i = 0; i < b->plan->nentries; i++) {
        const struct pcoll_entry *entry = &b->plan->entries[i];

        if ((entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET) && !is_shared(entry->remote) &&
            !is_away(b, entry) && entry->bytes > longest)
            longest = entry->bytes;
    }
    return longest;
}

/* Gives the bytes of the areas of all ranks. */
static size_t exchange_cards(struct pcoll_shm_binding *b, struct pcoll_shm_group *group)
{
    struct pcoll_shm_card own = {
        .pid = getpid(),
        .send = (uint64_t)(uintptr_t)b->memory->send,
        .recv = (uint64_t)(uintptr_t)b->memory->recv,
        .ncounters = (uint64_t)b->plan->ncounters,
        .temp_bytes = b->plan->temp_bytes,
        .longest = longest_reach(b),
    };
    const char *all = pcoll_shm_meet(group, &own, sizeof(own));
    size_t bytes = 0;

    for (int i = 0; i < b->nlocal; i++) {
        memcpy(&b->cards[i], all + (size_t)i * PCOLL_SHM_SLOT, sizeof(own));
        b->areas[i] = bytes;
        bytes += area_bytes(&b->cards[i]);
    }
    return bytes;
}

/* As much for each rank as any of them wants. */
static size_t relay_bytes(const struct pcoll_shm_binding *b)
{
    uint64_t longest = 0;

    for (int i = 0; i < b->nlocal; i++)
        longest = b->cards[i].longest > longest ? b->cards[i].longest : longest;
    return pcoll_shm_relay_bytes((size_t)longest);
}

enum pcoll_result pcoll_shm_carve_block(struct pcoll_shm_binding *b, struct pcoll_shm_group *group)
{
    struct pcoll_shm_bound *bound = b->bound;
    size_t bytes = exchange_cards(b, group), relay = relay_bytes(b);
    enum pcoll_result result = pcoll_shm_carve(&group->arena, &group->bootstrap,
                                               bytes + (size_t)b->nlocal * relay, &bound->block);

    if (result != PCOLL_OK)
        return result;
    bound->group = group;
    bound->relays = (char *)bound->block + PCOLL_SHM_LINE + bytes;
    bound->relay_bytes = relay;
    bound->nrelays = relay > 0 ? b->nlocal : 0;
    bound->number = number(b, b->plan->rank);
    return PCOLL_OK;
}

void pcoll_shm_find_alone(struct pcoll_shm_bound *bound)
{
    for (int i = 0; i < bound->ntargets; i++)
        bound->targets[i].alone =
            atomic_load_explicit(&bound->targets[i].line->signalers, memory_order_relaxed) == 1;
}

/* Between the two agreements all ranks count themselves as signalers; behind the second, the counts
 * are final. */
static enum pcoll_result connect_ranks(struct pcoll_shm_binding *b, struct pcoll_shm_group *group)
{
    enum pcoll_result result = pcoll_shm_carve_block(b, group);

    if (result != PCOLL_OK)
        return result;
    pcoll_shm_resolve(b);
    result = pcoll_agree(&group->bootstrap, PCOLL_OK, NULL, 0);
    pcoll_shm_find_alone(b->bound);
    return result;
}

static void destroy(struct pcoll_shm_bound *bound)
{
    if (bound == NULL)
        return;
    pcoll_shm_bound_fini(bound);
    free(bound);
}

static enum pcoll_result allocate(struct pcoll_shm_binding *b)
{
    if (b->plan == NULL)
        return PCOLL_ERR_NOMEM;
    b->bound = calloc(1, sizeof(*b->bound));
    if (b->bound == NULL || pcoll_shm_bound_init(b->bound, b->plan) != PCOLL_OK)
        return PCOLL_ERR_NOMEM;
    return pcoll_shm_binding_init(b);
}

enum pcoll_result pcoll_shm_bind(struct pcoll_group *base, const struct pcoll_plan *plan,
                                 const struct pcoll_memory *memory, struct pcoll_bound **bound_p)
{
    struct pcoll_shm_group *group = pcoll_shm_group_of(base);
    struct pcoll_shm_binding b = {
        .plan = plan, .memory = memory, .nlocal = group->bootstrap.nranks};
    enum pcoll_result result = pcoll_agree(&group->bootstrap, allocate(&b), NULL, 0);

    if (result == PCOLL_OK)
        result = connect_ranks(&b, group);
    pcoll_shm_binding_fini(&b);
    if (result != PCOLL_OK) {
        destroy(b.bound);
        return result;
    }
    b.bound->base.medium = base->medium;
    b.bound->group = group;
    *bound_p = &b.bound->base;
    return PCOLL_OK;
}

void pcoll_shm_unbind(struct pcoll_bound *bound)
{
    if (bound != NULL)
        destroy(pcoll_shm_bound_of(bound));
}
