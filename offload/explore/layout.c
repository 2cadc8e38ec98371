/*
 * `sim`: create and destroy a job; where everything lies in its block.
 */
#include "offload/explore/state.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static uint64_t buffer_bytes(const struct pcoll_plan *plan, enum pcoll_buffer buffer)
{
    const struct pcoll_signature *s = &plan->signature;
    const int is_root = plan->rank == s->root;

    switch (buffer) {
        case PCOLL_SEND:
            if (s->coll == PCOLL_BCAST)
                return is_root ? s->bytes : 0;
            return s->coll == PCOLL_ALLGATHER ? s->bytes : 0;
        case PCOLL_RECV:
            if (s->coll == PCOLL_BCAST)
                return is_root ? 0 : s->bytes;
            return s->coll == PCOLL_ALLGATHER ? s->bytes * (uint64_t)s->nranks : 0;
        case PCOLL_TEMP:
            return plan->temp_bytes;
        default:
            return (uint64_t)plan->ncounters * PCOLL_CELL_BYTES;
    }
}

static bool inside(const struct pcoll_plan *plan, struct pcoll_place place, uint64_t bytes)
{
    uint64_t room = buffer_bytes(plan, place.buffer);

    return place.buffer < PCOLL_NUM_BUFFERS && bytes <= room && place.offset <= room - bytes;
}

static bool is_counter(const struct pcoll_plan *plan, int counter)
{
    return counter == PCOLL_NONE || (counter >= 0 && counter < plan->ncounters);
}

static bool entry_is_valid(struct pcoll_plan *const *plans, int nranks, int rank,
                           const struct pcoll_entry *entry)
{
    const struct pcoll_plan *mine = plans[rank];
    const bool remote = entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET;

    if (entry->op >= PCOLL_NUM_OPS || entry->peer < PCOLL_NONE || entry->peer >= nranks ||
        entry->rail < 0)
        return false;
    if (entry->peer == PCOLL_NONE && (remote || entry->peer_counter != PCOLL_NONE))
        return false;
    if (!is_counter(mine, entry->trigger) || !is_counter(mine, entry->done))
        return false;
    if (entry->peer != PCOLL_NONE && !is_counter(plans[entry->peer], entry->peer_counter))
        return false;
    if (!pcoll_sim_moves(entry))
        return true;
    return inside(mine, entry->local, entry->bytes) &&
           inside(remote ? plans[entry->peer] : mine, entry->remote, entry->bytes);
}

static bool plans_are_valid(struct pcoll_plan *const *plans, int nranks)
{
    for (int r = 0; r < nranks; r++)
        for (int i = 0; i < plans[r]->nentries; i++)
            if (!entry_is_valid(plans, nranks, r, &plans[r]->entries[i])) {
                fprintf(stderr,
                        "sim: %s, rank %d, entry %d: a rank, counter or memory that is "
                        "not there\n",
                        plans[r]->algorithm, r, i);
                return false;
            }
    return true;
}

static int cycles(const struct pcoll_sim *sim, int rank)
{
    int nphases = sim->rank[rank].plan->nphases;

    return (sim->options.instances + nphases - 1) / nphases;
}

/* Take `bytes` bytes of the block, in whole words. */
static size_t take(struct pcoll_sim *sim, size_t bytes)
{
    size_t at = sim->block_bytes;

    sim->block_bytes += (bytes + 7) & ~(size_t)7;
    return at;
}

static int *head_of(const struct pcoll_sim *sim, int rank, int instance, int trigger)
{
    const struct pcoll_plan *plan = sim->rank[rank].plan;

    return &sim->rank[rank].head[instance % plan->nphases * (plan->ncounters + 1) + trigger + 1];
}

/* Chain the slot to those on the same trigger, of which `last` is the last so far; returns the new
 * last one.  A plan is sorted already, unless a test changed it. */
static int chain(struct pcoll_sim *sim, int index, int number, int last)
{
    struct sim_slot *slot = &sim->slot[index];
    int before = last;

    while (!sim->ordered && before >= 0 &&
           sim->slot[before].entry->threshold > slot->entry->threshold)
        before = sim->slot[before].previous;
    slot->previous = before;
    if (before >= 0) {
        slot->next = sim->slot[before].next;
        sim->slot[before].next = index;
    } else {
        int *head = head_of(sim, slot->rank, slot->instance, slot->entry->trigger);

        slot->next = last < 0 ? -1 : pcoll_sim_slot(sim, slot->rank, slot->instance, *head);
        *head = number;
    }
    if (slot->next >= 0)
        sim->slot[slot->next].previous = index;
    return slot->next >= 0 ? last : index;
}

static uint8_t all_events(const struct pcoll_entry *entry)
{
    unsigned all = 1 << SIM_FIRE | 1 << SIM_DONE;

    if (pcoll_sim_moves(entry))
        all |= 1 << SIM_READ | 1 << SIM_WRITE;
    if (pcoll_sim_pours(entry))
        all |= 1 << SIM_POUR;
    return (uint8_t)all;
}

static int pair_of(const struct pcoll_sim *sim, int rank, const struct pcoll_entry *entry)
{
    if (entry->peer == PCOLL_NONE)
        return -1;
    return (rank * sim->nranks + entry->peer) * sim->nrails + entry->rail;
}

static void lay_slot(struct pcoll_sim *sim, int rank, int instance, int number)
{
    const struct pcoll_entry *entry = &sim->rank[rank].plan->entries[number];

    sim->slot[pcoll_sim_slot(sim, rank, instance, number)] = (struct sim_slot){
        .rank = rank,
        .instance = instance,
        .entry = entry,
        .data = pcoll_sim_moves(entry) ? take(sim, entry->bytes) : 0,
        .pair = pair_of(sim, rank, entry),
        .all = all_events(entry),
    };
}

static enum pcoll_result lay_rank_slots(struct pcoll_sim *sim, int rank)
{
    struct sim_rank *mine = &sim->rank[rank];
    const size_t ntriggers = (size_t)mine->plan->ncounters + 1;
    int *last = malloc(ntriggers * sizeof(int));

    mine->head = malloc((size_t)mine->plan->nphases * ntriggers * sizeof(int));
    if (!last || !mine->head) {
        free(last);
        return PCOLL_ERR_NOMEM;
    }
    memset(mine->head, -1, (size_t)mine->plan->nphases * ntriggers * sizeof(int));
    for (int k = 0; k < sim->options.instances; k++) {
        const struct pcoll_phase *phase = pcoll_sim_phase(sim, rank, k);

        memset(last, -1, ntriggers * sizeof(int));
        for (int i = phase->first; i < phase->first + phase->count; i++) {
            int *last_on = &last[mine->plan->entries[i].trigger + 1];

            lay_slot(sim, rank, k, i);
            *last_on = chain(sim, pcoll_sim_slot(sim, rank, k, i), i, *last_on);
        }
    }
    free(last);
    return PCOLL_OK;
}

static void lay_buffers(struct pcoll_sim *sim, int rank)
{
    struct sim_rank *mine = &sim->rank[rank];
    const struct pcoll_signature *s = &mine->plan->signature;

    for (int b = 0; b < PCOLL_NUM_BUFFERS; b++) {
        size_t bytes = (size_t)buffer_bytes(mine->plan, (enum pcoll_buffer)b);
        const bool is_alias = b == PCOLL_SEND && s->in_place;

        mine->buffer[b] = (struct sim_region){is_alias ? 0 : take(sim, bytes), bytes};
    }
    if (s->in_place)
        mine->buffer[PCOLL_SEND].at = mine->buffer[PCOLL_RECV].at + (size_t)rank * s->bytes;
}

/* What steers comes first: see control_bytes. */
static enum pcoll_result lay_control(struct pcoll_sim *sim)
{
    const size_t n = (size_t)sim->nranks;
    const size_t pairs = sim->ordered ? n * n * (size_t)sim->nrails : 0;
    size_t nslots = 0;
    size_t counter, progress, ticket, issued, delivered, happened;

    for (int r = 0; r < sim->nranks; r++) {
        sim->rank[r].first_counter = sim->ncounters;
        sim->rank[r].first_slot = (int)nslots;
        sim->ncounters += (size_t)sim->rank[r].plan->ncounters;
        nslots += (size_t)cycles(sim, r) * (size_t)sim->rank[r].plan->nentries;
    }
    sim->nslots = (int)nslots;
    sim->slot = calloc(nslots + 1, sizeof(*sim->slot));
    if (!sim->slot)
        return PCOLL_ERR_NOMEM;
    counter = take(sim, sim->ncounters * sizeof(uint64_t));
    progress = take(sim, n * sizeof(struct sim_progress));
    ticket = take(sim, sim->ordered ? nslots * sizeof(uint32_t) : 0);
    issued = take(sim, pairs * sizeof(uint32_t));
    delivered = take(sim, pairs * sizeof(uint32_t));
    happened = take(sim, nslots);
    sim->control_bytes = sim->block_bytes;

    for (int r = 0; r < sim->nranks; r++)
        lay_buffers(sim, r);
    for (int r = 0; r < sim->nranks; r++)
        if (lay_rank_slots(sim, r) != PCOLL_OK)
            return PCOLL_ERR_NOMEM;

    sim->block = malloc(sim->block_bytes);
    if (!sim->block)
        return PCOLL_ERR_NOMEM;
    sim->counter = (uint64_t *)(void *)(sim->block + counter);
    sim->progress = (struct sim_progress *)(void *)(sim->block + progress);
    sim->ticket = (uint32_t *)(void *)(sim->block + ticket);
    sim->issued = (uint32_t *)(void *)(sim->block + issued);
    sim->delivered = (uint32_t *)(void *)(sim->block + delivered);
    sim->happened = sim->block + happened;
    return PCOLL_OK;
}

static int count_rails(struct pcoll_plan *const *plans, int nranks)
{
    int highest = 0;

    for (int r = 0; r < nranks; r++)
        for (int i = 0; i < plans[r]->nentries; i++)
            if (plans[r]->entries[i].rail > highest)
                highest = plans[r]->entries[i].rail;
    return highest + 1;
}

static bool is_ordered(struct pcoll_plan *const *plans, int nranks, enum pcoll_sim_order order)
{
    if (order != PCOLL_SIM_AS_NEEDED)
        return order == PCOLL_SIM_ORDERED;
    for (int r = 0; r < nranks; r++)
        if (plans[r]->needs & PCOLL_NEED_ORDER)
            return true;
    return false;
}

enum pcoll_result pcoll_sim_create(struct pcoll_plan *const *plans, int nranks,
                                   const struct pcoll_sim_options *options,
                                   struct pcoll_sim **sim_p)
{
    struct pcoll_sim *sim;

    if (nranks < 1 || options->instances < 1 || !plans_are_valid(plans, nranks))
        return PCOLL_ERR_INVALID;
    sim = calloc(1, sizeof(*sim));
    if (!sim)
        return PCOLL_ERR_NOMEM;
    sim->options = *options;
    sim->nranks = nranks;
    sim->nrails = count_rails(plans, nranks);
    sim->ordered = is_ordered(plans, nranks, options->order);
    sim->rank = calloc((size_t)nranks, sizeof(*sim->rank));
    if (!sim->rank)
        goto destroy;
    for (int r = 0; r < nranks; r++)
        sim->rank[r].plan = plans[r];
    if (lay_control(sim) != PCOLL_OK)
        goto destroy;
    pcoll_sim_reset(sim);
    *sim_p = sim;
    return PCOLL_OK;

destroy:
    pcoll_sim_destroy(sim);
    return PCOLL_ERR_NOMEM;
}

void pcoll_sim_destroy(struct pcoll_sim *sim)
{
    if (!sim)
        return;
    for (int r = 0; sim->rank && r < sim->nranks; r++)
        free(sim->rank[r].head);
    free(sim->rank);
    free(sim->slot);
    free(sim->block);
    free(sim);
}

const struct pcoll_phase *pcoll_sim_phase(const struct pcoll_sim *sim, int rank, int instance)
{
    const struct pcoll_plan *plan = sim->rank[rank].plan;

    return &plan->phases[instance % plan->nphases];
}

int pcoll_sim_slot(const struct pcoll_sim *sim, int rank, int instance, int entry)
{
    const struct sim_rank *mine = &sim->rank[rank];

    return mine->first_slot + instance / mine->plan->nphases * mine->plan->nentries + entry;
}

int pcoll_sim_first_on(const struct pcoll_sim *sim, int rank, int trigger)
{
    const int instance = sim->progress[rank].completed;
    const int number = *head_of(sim, rank, instance, trigger);

    return number < 0 ? -1 : pcoll_sim_slot(sim, rank, instance, number);
}

bool pcoll_sim_fail(struct pcoll_sim *sim, enum pcoll_sim_fault fault, const char *format, ...)
{
    va_list arguments;

    sim->fault = fault;
    va_start(arguments, format);
    vsnprintf(sim->why, sizeof(sim->why), format, arguments);
    va_end(arguments);
    return false;
}

const char *pcoll_sim_why(const struct pcoll_sim *sim)
{
    return sim->why;
}

enum pcoll_sim_fault pcoll_sim_fault(const struct pcoll_sim *sim)
{
    return sim->fault;
}
