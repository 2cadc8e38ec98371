/* Binding: from entries to steps with addresses.  Everything a start needs is made here. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/shm_state.h"

/* What each rank tells all others. */
struct card {
    int64_t pid;
    uint64_t send, recv; /* addresses at the owner */
    uint64_t ncounters, temp_bytes;
};

/* While binding. */
struct binding {
    const struct pcoll_plan *plan;
    const struct pcoll_memory *memory;
    struct pcoll_bound *bound;
    struct card *cards; /* [nranks] */
    size_t *areas;      /* [nranks]: offset of a rank's counters, then its TEMP */
    int nranks;
};

static size_t area_bytes(const struct card *card)
{
    size_t temp = (size_t)(card->temp_bytes + PCOLL_SHM_LINE - 1) / PCOLL_SHM_LINE;

    return ((size_t)card->ncounters + temp) * PCOLL_SHM_LINE;
}

static char *area(const struct binding *b, int rank)
{
    return (char *)b->bound->block + PCOLL_SHM_LINE + b->areas[rank];
}

static struct pcoll_shm_line *counter(const struct binding *b, int rank, int index)
{
    return (struct pcoll_shm_line *)(void *)area(b, rank) + index;
}

/* TEMP and CELL of any rank, which are mapped here. */
static char *shared_place(const struct binding *b, int rank, struct pcoll_place place)
{
    if (place.buffer == PCOLL_TEMP)
        return area(b, rank) + b->cards[rank].ncounters * PCOLL_SHM_LINE + place.offset;
    return (char *)counter(b, rank, (int)(place.offset / PCOLL_CELL_BYTES))->cell +
           place.offset % PCOLL_CELL_BYTES;
}

static int is_shared(struct pcoll_place place)
{
    return place.buffer == PCOLL_TEMP || place.buffer == PCOLL_CELL;
}

static char *own_place(const struct binding *b, struct pcoll_place place)
{
    if (is_shared(place))
        return shared_place(b, b->plan->rank, place);
    return (char *)(place.buffer == PCOLL_SEND ? b->memory->send : b->memory->recv) + place.offset;
}

/* An address in the peer's memory, or here when it is shared. */
static char *peer_place(const struct binding *b, int peer, struct pcoll_place place)
{
    const struct card *card = &b->cards[peer];

    if (is_shared(place))
        return shared_place(b, peer, place);
    return (char *)(uintptr_t)(place.buffer == PCOLL_SEND ? card->send : card->recv) + place.offset;
}

static void resolve_move(const struct binding *b, const struct pcoll_entry *entry,
                         struct pcoll_shm_step *step)
{
    int get = entry->op == PCOLL_OP_GET;
    char *local = own_place(b, entry->local), *remote;

    if (entry->op == PCOLL_OP_COPY)
        remote = own_place(b, entry->remote);
    else
        remote = peer_place(b, entry->peer, entry->remote);
    step->bytes = (size_t)entry->bytes;
    step->from = get ? remote : local;
    step->to = get ? local : remote;
    step->kind = PCOLL_SHM_COPY;
    if (entry->op != PCOLL_OP_COPY && !is_shared(entry->remote)) {
        step->kind = get ? PCOLL_SHM_READ : PCOLL_SHM_WRITE;
        step->pid = (pid_t)b->cards[entry->peer].pid;
    }
    /* Equal addresses mean the same memory within this process only. */
    if (entry->bytes == 0 || (step->kind == PCOLL_SHM_COPY && step->from == step->to))
        step->kind = PCOLL_SHM_NOTHING;
}

/* The target for a counter; the first mention counts this rank among its pourers. */
static struct pcoll_shm_target *target(const struct binding *b, int rank, int index)
{
    struct pcoll_shm_line *line = counter(b, rank, index);
    struct pcoll_bound *bound = b->bound;

    for (int i = 0; i < bound->ntargets; i++)
        if (bound->targets[i].line == line)
            return &bound->targets[i];
    bound->targets[bound->ntargets].line = line;
    atomic_fetch_add_explicit(&line->pourers, 1, memory_order_relaxed);
    return &bound->targets[bound->ntargets++];
}

static void resolve_entry(const struct binding *b, const struct pcoll_entry *entry,
                          struct pcoll_shm_step *step)
{
    memset(step, 0, sizeof(*step));
    step->threshold = entry->threshold;
    if (entry->trigger != PCOLL_NONE)
        step->lift = b->plan->lift[entry->trigger];
    if (entry->op != PCOLL_OP_ADD && entry->op != PCOLL_OP_WAIT)
        resolve_move(b, entry, step);
    step->done_add = entry->done_add;
    step->peer_add = entry->peer_add;
    if (entry->done != PCOLL_NONE)
        step->done = target(b, b->plan->rank, entry->done);
    if (entry->peer_counter != PCOLL_NONE)
        step->peer = target(b, entry->peer, entry->peer_counter);
}

/* Cut the steps of a phase into queues of one trigger each; the plan is sorted by trigger. */
static int cut_queues(const struct binding *b, int phase, struct pcoll_shm_queue *queues)
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

static void resolve_plan(const struct binding *b)
{
    struct pcoll_bound *bound = b->bound;
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

/* Each entry names two targets at most; each phase has as many queues as entries at most, and no
 * more are pending than one phase has. */
static struct pcoll_bound *allocate(const struct pcoll_plan *plan)
{
    struct pcoll_bound *bound = calloc(1, sizeof(*bound));
    size_t n = (size_t)plan->nentries + 1;

    if (bound == NULL)
        return NULL;
    bound->steps = calloc(n, sizeof(*bound->steps));
    bound->queues = calloc(2 * n, sizeof(*bound->queues));
    bound->targets = calloc(2 * n, sizeof(*bound->targets));
    bound->phases = calloc((size_t)plan->nphases, sizeof(*bound->phases));
    bound->nphases = plan->nphases;
    bound->rank = plan->rank;
    if (bound->steps && bound->queues && bound->targets && bound->phases)
        return bound;
    pcoll_shm_unbind(bound);
    return NULL;
}

static enum pcoll_result exchange_cards(struct binding *b, const struct pcoll_bootstrap *bootstrap,
                                        size_t *bytes_p)
{
    struct card own = {
        .pid = getpid(),
        .send = (uint64_t)(uintptr_t)b->memory->send,
        .recv = (uint64_t)(uintptr_t)b->memory->recv,
        .ncounters = (uint64_t)b->plan->ncounters,
        .temp_bytes = b->plan->temp_bytes,
    };
    enum pcoll_result result;

    result = bootstrap->allgather(bootstrap->context, &own, b->cards, sizeof(own));
    if (result != PCOLL_OK)
        return result;
    *bytes_p = 0;
    for (int i = 0; i < b->nranks; i++) {
        b->areas[i] = *bytes_p;
        *bytes_p += area_bytes(&b->cards[i]);
    }
    return PCOLL_OK;
}

/* Between the two agreements all ranks count themselves as pourers; behind the second, the counts
 * are final. */
static enum pcoll_result connect_ranks(struct binding *b, struct pcoll_group *group,
                                       const struct pcoll_bootstrap *bootstrap)
{
    struct pcoll_bound *bound = b->bound;
    size_t bytes;
    enum pcoll_result result = exchange_cards(b, bootstrap, &bytes);

    if (result == PCOLL_OK)
        result = pcoll_shm_carve(&group->arena, bootstrap, bytes, &bound->block);
    if (result != PCOLL_OK)
        return result;
    resolve_plan(b);
    result = pcoll_shm_agree(bootstrap, PCOLL_OK);
    for (int i = 0; i < bound->ntargets; i++)
        bound->targets[i].alone =
            atomic_load_explicit(&bound->targets[i].line->pourers, memory_order_relaxed) == 1;
    return result;
}

enum pcoll_result pcoll_shm_bind(struct pcoll_group *group, const struct pcoll_plan *plan,
                                 const struct pcoll_memory *memory, struct pcoll_bound **bound_p)
{
    const struct pcoll_bootstrap *bootstrap = &group->bootstrap;
    struct binding b = {.plan = plan, .memory = memory, .nranks = bootstrap->nranks};
    enum pcoll_result result;
    int have;

    b.bound = plan ? allocate(plan) : NULL;
    b.cards = malloc((size_t)b.nranks * sizeof(*b.cards));
    b.areas = malloc((size_t)b.nranks * sizeof(*b.areas));
    have = b.bound && b.cards && b.areas;
    result = pcoll_shm_agree(bootstrap, have ? PCOLL_OK : PCOLL_ERR_NOMEM);
    if (result == PCOLL_OK)
        result = connect_ranks(&b, group, bootstrap);
    free(b.cards);
    free(b.areas);
    if (result != PCOLL_OK) {
        pcoll_shm_unbind(b.bound);
        return result;
    }
    b.bound->group = group;
    *bound_p = b.bound;
    return PCOLL_OK;
}

void pcoll_shm_unbind(struct pcoll_bound *bound)
{
    if (bound == NULL)
        return;
    if (bound->block != NULL)
        pcoll_shm_release(bound->block);
    free(bound->steps);
    free(bound->queues);
    free(bound->targets);
    free(bound->phases);
    free(bound);
}
