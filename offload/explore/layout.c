/*
 * The explorer: create and destroy a job, and the layout of its memory.
 */
#include "offload/explore/help.h"

#include <stdlib.h>
#include <string.h>

static bool inside(const struct pcoll_plan *plan, struct pcoll_place place, uint64_t bytes)
{
    uint64_t room = place.buffer < PCOLL_NUM_BUFFERS ? pcoll_plan_bytes(plan, place.buffer) : 0;

    return place.buffer < PCOLL_NUM_BUFFERS && bytes <= room && place.offset <= room - bytes;
}

static bool is_counter(const struct pcoll_plan *plan, int counter)
{
    return counter == PCOLL_NONE || (counter >= 0 && counter < plan->ncounters);
}

static bool operands_are_valid(struct pcoll_plan *const *plans, int nranks,
                               const struct pcoll_plan *plan, const struct pcoll_entry *entry)
{
    if (entry->noperands < 1 || entry->first_operand < 0 ||
        entry->noperands > plan->noperands - entry->first_operand)
        return false;
    for (int i = 0; i < entry->noperands; i++) {
        const struct pcoll_operand *operand = &plan->operands[entry->first_operand + i];

        if (operand->rank < 0 || operand->rank >= nranks ||
            !inside(plans[operand->rank], pcoll_operand_place(operand), entry->bytes))
            return false;
    }
    return inside(plan, entry->local, entry->bytes);
}

static bool entry_is_valid(struct pcoll_plan *const *plans, int nranks, int rank,
                           const struct pcoll_entry *entry)
{
    const struct pcoll_plan *mine = plans[rank];
    const bool remote = pcoll_entry_is_remote(entry);

    if (entry->op >= PCOLL_NUM_OPS || entry->peer < PCOLL_NONE || entry->peer >= nranks ||
        entry->rail < 0)
        return false;
    if (entry->peer == PCOLL_NONE && (remote || entry->peer_counter != PCOLL_NONE))
        return false;
    if (!is_counter(mine, entry->trigger) || !is_counter(mine, entry->done))
        return false;
    if (entry->peer != PCOLL_NONE && !is_counter(plans[entry->peer], entry->peer_counter))
        return false;
    if (!pcoll_explore_moves(entry))
        return true;
    if (entry->op == PCOLL_OP_REDUCE)
        return operands_are_valid(plans, nranks, mine, entry);
    return inside(mine, entry->local, entry->bytes) &&
           inside(remote ? plans[entry->peer] : mine, entry->remote, entry->bytes);
}

static bool plans_are_valid(struct pcoll_plan *const *plans, int nranks)
{
    for (int r = 0; r < nranks; r++)
        for (int i = 0; i < plans[r]->nentries; i++)
            if (!entry_is_valid(plans, nranks, r, &plans[r]->entries[i])) {
                fprintf(stderr,
                        "explore: %s, rank %d, entry %d: a rank, counter or memory that is "
                        "not there\n",
                        plans[r]->algorithm, r, i);
                return false;
            }
    return true;
}

static int cycles(const struct pcoll_explore *explore, int rank)
{
    int nphases = explore->rank[rank].plan->nphases;

    return (explore->options.instances + nphases - 1) / nphases;
}

/* Take `bytes` bytes of the memory, in whole words. */
static size_t take(struct pcoll_explore *explore, size_t bytes)
{
    size_t at = explore->memory_bytes;

    explore->memory_bytes += (bytes + 7) & ~(size_t)7;
    return at;
}

static int *head_of(const struct pcoll_explore *explore, int rank, int instance, int trigger)
{
    const struct pcoll_plan *plan = explore->rank[rank].plan;

    return &explore->rank[rank]
                .head[instance % plan->nphases * (plan->ncounters + 1) + trigger + 1];
}

/* Append the task to those on the same trigger, of which `last` is the last so far; returns the new
 * last one. A plan is already sorted, unless a test has changed it. */
static int chain(struct pcoll_explore *explore, int index, int number, int last)
{
    struct explore_task *task = &explore->task[index];
    int before = last;

    while (!explore->ordered && before >= 0 &&
           explore->task[before].entry->threshold > task->entry->threshold)
        before = explore->task[before].previous;
    task->previous = before;
    if (before >= 0) {
        task->next = explore->task[before].next;
        explore->task[before].next = index;
    } else {
        int *head = head_of(explore, task->rank, task->instance, task->entry->trigger);

        task->next = last < 0 ? -1 : pcoll_explore_task(explore, task->rank, task->instance, *head);
        *head = number;
    }
    if (task->next >= 0)
        explore->task[task->next].previous = index;
    return task->next >= 0 ? last : index;
}

static uint8_t all_events(const struct pcoll_explore *explore, const struct pcoll_entry *entry)
{
    unsigned all = 1 << EXPLORE_FIRE | 1 << EXPLORE_DONE;

    if (pcoll_explore_moves(entry))
        all |= 1 << EXPLORE_WRITE;
    if (pcoll_explore_moves(entry) && !pcoll_explore_is_bulk(explore, entry))
        all |= 1 << EXPLORE_READ;
    if (pcoll_explore_signals(entry))
        all |= 1 << EXPLORE_SIGNAL;
    return (uint8_t)all;
}

static int connection_of(const struct pcoll_explore *explore, int rank,
                         const struct pcoll_entry *entry)
{
    if (entry->peer == PCOLL_NONE)
        return -1;
    return (rank * explore->nranks + entry->peer) * explore->nrails + entry->rail;
}

static void lay_task(struct pcoll_explore *explore, int rank, int instance, int number)
{
    const struct pcoll_entry *entry = &explore->rank[rank].plan->entries[number];

    const int index = pcoll_explore_task(explore, rank, instance, number);

    explore->all[index] = all_events(explore, entry);
    explore->task[index] = (struct explore_task){
        .rank = rank,
        .instance = instance,
        .entry = entry,
        .data = pcoll_explore_moves(entry) ? take(explore, entry->bytes) : 0,
        .connection = connection_of(explore, rank, entry),
    };
}

static enum pcoll_result lay_rank_tasks(struct pcoll_explore *explore, int rank)
{
    struct explore_rank *mine = &explore->rank[rank];
    const size_t ntriggers = (size_t)mine->plan->ncounters + 1;
    int *last = malloc(ntriggers * sizeof(int));

    mine->head = malloc((size_t)mine->plan->nphases * ntriggers * sizeof(int));
    if (!last || !mine->head) {
        free(last);
        return PCOLL_ERR_NOMEM;
    }
    memset(mine->head, -1, (size_t)mine->plan->nphases * ntriggers * sizeof(int));
    for (int k = 0; k < explore->options.instances; k++) {
        const struct pcoll_phase *phase = pcoll_explore_phase(explore, rank, k);

        memset(last, -1, ntriggers * sizeof(int));
        for (int i = phase->first; i < phase->first + phase->count; i++) {
            int *last_on = &last[mine->plan->entries[i].trigger + 1];

            lay_task(explore, rank, k, i);
            *last_on = chain(explore, pcoll_explore_task(explore, rank, k, i), i, *last_on);
        }
    }
    free(last);
    return PCOLL_OK;
}

static void lay_buffers(struct pcoll_explore *explore, int rank)
{
    struct explore_rank *mine = &explore->rank[rank];
    const struct pcoll_plan *plan = mine->plan;
    const struct pcoll_span input = pcoll_input_in_recv(&plan->signature, plan->local, rank);
    const bool in_place = input.count > 0;

    for (int b = 0; b < PCOLL_NUM_BUFFERS; b++) {
        size_t bytes = (size_t)pcoll_plan_bytes(plan, (enum pcoll_buffer)b);
        const bool is_alias = b == PCOLL_SEND && in_place;

        mine->buffer[b] = (struct explore_region){is_alias ? 0 : take(explore, bytes), bytes};
    }
    if (in_place)
        mine->buffer[PCOLL_SEND].at = mine->buffer[PCOLL_RECV].at + (size_t)input.first;
}

/* Room for the tasks of each connection in the order in which they will be issued. */
static enum pcoll_result lay_turns(struct pcoll_explore *explore)
{
    const int connections = explore->nranks * explore->nranks * explore->nrails;

    if (!explore->ordered)
        return PCOLL_OK;
    explore->turn = malloc(((size_t)explore->ntasks + 1) * sizeof(int));
    explore->first_turn = calloc((size_t)connections + 2, sizeof(int));
    if (!explore->turn || !explore->first_turn)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < explore->ntasks; i++)
        if (explore->task[i].entry && explore->task[i].connection >= 0)
            explore->first_turn[explore->task[i].connection + 1]++;
    for (int connection = 0; connection < connections; connection++)
        explore->first_turn[connection + 1] += explore->first_turn[connection];
    return PCOLL_OK;
}

/* The control part comes first: see control_bytes. */
static enum pcoll_result lay_control(struct pcoll_explore *explore)
{
    const size_t n = (size_t)explore->nranks;
    const size_t connections = explore->ordered ? n * n * (size_t)explore->nrails : 0;
    size_t ntasks = 0;
    size_t counter, progress, position, issued, delivered, happened, notice, helper, refused;

    for (int r = 0; r < explore->nranks; r++) {
        explore->rank[r].first_notice = pcoll_explore_count_notices(explore, r);
        explore->rank[r].first_counter = explore->ncounters;
        explore->rank[r].first_task = (int)ntasks;
        explore->ncounters += (size_t)explore->rank[r].plan->ncounters;
        ntasks += (size_t)cycles(explore, r) * (size_t)explore->rank[r].plan->nentries;
    }
    explore->ntasks = (int)ntasks;
    explore->nnotices = pcoll_explore_count_notices(explore, explore->nranks);
    explore->nhelpers = pcoll_explore_count_helpers(explore);
    explore->task = calloc(ntasks + 1, sizeof(*explore->task));
    explore->all = calloc(ntasks + 1, sizeof(*explore->all));
    if (!explore->task || !explore->all)
        return PCOLL_ERR_NOMEM;
    counter = take(explore, explore->ncounters * sizeof(uint64_t));
    progress = take(explore, n * sizeof(struct explore_progress));
    position = take(explore, explore->ordered ? ntasks * sizeof(uint32_t) : 0);
    issued = take(explore, connections * sizeof(uint32_t));
    delivered = take(explore, connections * sizeof(uint32_t));
    happened = take(explore, ntasks);
    notice = take(explore, (size_t)explore->nnotices * sizeof(*explore->notice));
    helper = take(explore, (size_t)explore->nhelpers * sizeof(*explore->helper));
    refused = take(explore, explore->options.helpers ? sizeof(*explore->refused) : 0);
    explore->control_bytes = explore->memory_bytes;

    for (int r = 0; r < explore->nranks; r++)
        lay_buffers(explore, r);
    for (int r = 0; r < explore->nranks; r++)
        if (lay_rank_tasks(explore, r) != PCOLL_OK)
            return PCOLL_ERR_NOMEM;
    if (lay_turns(explore) != PCOLL_OK)
        return PCOLL_ERR_NOMEM;

    explore->memory = malloc(explore->memory_bytes);
    if (!explore->memory)
        return PCOLL_ERR_NOMEM;
    explore->counter = (uint64_t *)(void *)(explore->memory + counter);
    explore->progress = (struct explore_progress *)(void *)(explore->memory + progress);
    explore->position = (uint32_t *)(void *)(explore->memory + position);
    explore->issued = (uint32_t *)(void *)(explore->memory + issued);
    explore->delivered = (uint32_t *)(void *)(explore->memory + delivered);
    explore->happened = explore->memory + happened;
    explore->notice = (struct explore_notice *)(void *)(explore->memory + notice);
    explore->helper = (struct explore_helper *)(void *)(explore->memory + helper);
    explore->refused = (int32_t *)(void *)(explore->memory + refused);
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

static bool is_ordered(struct pcoll_plan *const *plans, int nranks, enum pcoll_explore_order order)
{
    if (order != PCOLL_EXPLORE_AS_NEEDED)
        return order == PCOLL_EXPLORE_ORDERED;
    for (int r = 0; r < nranks; r++)
        if (plans[r]->needs & PCOLL_NEED_ORDER)
            return true;
    return false;
}

enum pcoll_result pcoll_explore_create(struct pcoll_plan *const *plans, int nranks,
                                       const struct pcoll_explore_options *options,
                                       struct pcoll_explore **explore_p)
{
    struct pcoll_explore *explore;

    if (nranks < 1 || options->instances < 1 || (options->helpers > 0 && options->chunk < 1) ||
        !plans_are_valid(plans, nranks))
        return PCOLL_ERR_INVALID;
    explore = calloc(1, sizeof(*explore));
    if (!explore)
        return PCOLL_ERR_NOMEM;
    explore->options = *options;
    explore->nranks = nranks;
    explore->nrails = count_rails(plans, nranks);
    explore->ordered = is_ordered(plans, nranks, options->order);
    explore->synchronizes = pcoll_coll_has(plans[0]->signature.coll, PCOLL_SYNCHRONIZES);
    explore->rank = calloc((size_t)nranks, sizeof(*explore->rank));
    explore->locals = calloc((size_t)nranks, sizeof(*explore->locals));
    explore->results =
        calloc((size_t)options->instances * (size_t)nranks, sizeof(*explore->results));
    if (!explore->rank || !explore->locals || !explore->results)
        goto destroy;
    for (int r = 0; r < nranks; r++) {
        explore->rank[r].plan = plans[r];
        explore->locals[r] = plans[r]->local;
    }
    if (lay_control(explore) != PCOLL_OK)
        goto destroy;
    *explore_p = explore;
    return PCOLL_OK;

destroy:
    pcoll_explore_destroy(explore);
    return PCOLL_ERR_NOMEM;
}

void pcoll_explore_destroy(struct pcoll_explore *explore)
{
    if (!explore)
        return;
    for (int r = 0; explore->rank && r < explore->nranks; r++)
        free(explore->rank[r].head);
    for (int k = 0; explore->results && k < explore->options.instances * explore->nranks; k++)
        free(explore->results[k]);
    free(explore->results);
    free(explore->rank);
    free(explore->locals);
    free(explore->task);
    free(explore->all);
    free(explore->turn);
    free(explore->first_turn);
    free(explore->memory);
    free(explore);
}

int pcoll_explore_first_on(const struct pcoll_explore *explore, int rank, int trigger)
{
    const int instance = explore->progress[rank].completed;
    const int number = *head_of(explore, rank, instance, trigger);

    return number < 0 ? -1 : pcoll_explore_task(explore, rank, instance, number);
}
