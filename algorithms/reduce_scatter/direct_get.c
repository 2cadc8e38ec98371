/*
 * Reduce_scatter in which every rank reduces its block where the operands lie.
 *
 * Idea: a rank tells all others that it has started; when all have, one REDUCE of N operands, in
 * rank order, reads block r of SEND of every rank. Then the rank tells all others that they may go.
 * In place, the result takes the place of block 0, or of a part of it, so it waits in TEMP until
 * all others have read this rank's blocks.
 *
 * Source: shape/sliced_get.h, with one stage of N ranks.
 *
 *      N = 3:   0:abc 1:def 2:ghi | 0 reads dg and reduces adg, 1 beh, 2 cfi
 *
 * Cost: 2 L + 2 N o + (N - 1) B reduce for each rank; two counters. In place, TEMP holds a block.
 * Condition: a rank is done when all others have told it that they have read its SEND, so they have
 * all started: what they tell in the next instance does not come before its own start is told.
 */
#include "algorithms/cost.h"
#include "algorithms/shape/segment.h"

/* Counters. READ: the own block is reduced, which weighs N, and others have read this rank's. */
enum { STARTED, READ, NCOUNTERS };

static uint64_t offset_of(const struct pcoll_signature *signature, int block)
{
    uint64_t first = 0;

    for (int r = 0; r < block; r++)
        first += pcoll_block_bytes(signature, r);
    return first;
}

static void tell_all(struct pcoll_plan *plan, int trigger, uint64_t level, int counter)
{
    const int nranks = plan->signature.nranks;

    for (int i = 1; i < nranks; i++)
        pcoll_plan_add(plan, pcoll_entry_signal(pcoll_entry_add(trigger, level),
                                                (plan->rank + i) % nranks, counter, 1));
}

static struct pcoll_entry reduce(struct pcoll_plan *plan, struct pcoll_place to)
{
    const struct pcoll_signature *signature = &plan->signature;
    const struct pcoll_place block = pcoll_at(PCOLL_SEND, offset_of(signature, plan->rank));
    const int nranks = signature->nranks;

    for (int r = 0; r < nranks; r++)
        pcoll_plan_operand_of(plan, r, block);
    return pcoll_entry_reduce(plan, STARTED, (uint64_t)nranks - 1, nranks, to,
                              pcoll_block_bytes(signature, plan->rank));
}

static void build(struct pcoll_plan *plan)
{
    const struct pcoll_place recv = pcoll_at(PCOLL_RECV, 0), temp = pcoll_at(PCOLL_TEMP, 0);
    const bool in_place = plan->signature.in_place;
    const uint64_t nranks = (uint64_t)plan->signature.nranks, all = 2 * nranks - 1;
    const uint64_t bytes = pcoll_block_bytes(&plan->signature, plan->rank);

    pcoll_plan_open(plan, 0);
    tell_all(plan, PCOLL_NONE, 0, STARTED);
    pcoll_plan_add(plan, pcoll_entry_done(reduce(plan, in_place ? temp : recv), READ, nranks));
    tell_all(plan, READ, nranks, READ);
    pcoll_plan_add(plan, in_place ? pcoll_entry_copy(READ, all, temp, recv, bytes)
                                  : pcoll_entry_wait(READ, all));
    plan->gain[STARTED] = nranks - 1;
    plan->gain[READ] = all;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    (void)params;
    return signature->in_place ? pcoll_whole_lines(signature->bytes) : 0;
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    if (!pcoll_plan_begin(plan, NCOUNTERS, 1))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = temp_bytes(&plan->signature, params);
    build(plan);
    return PCOLL_OK;
}

/* Each rank reads N - 1 blocks. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const double peers = signature->nranks - 1, crowd = pcoll_cost_crowd(signature, machine);
    const double bytes = (double)signature->bytes;
    const double copy = signature->in_place ? bytes * machine->copy : 0;

    (void)params;
    return machine->call + pcoll_cost_wave(signature, machine, peers, false) +
           pcoll_cost_wave(signature, machine, peers, true) +
           crowd * (peers * (machine->o + bytes * machine->reduce) + machine->o + copy);
}

#define ROW(NAME, name_of_collective)                                                              \
    const struct pcoll_algorithm pcoll_##name_of_collective##_direct_get = {                       \
        .name = "direct_get",                                                                      \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "everybody reduces its own block of all vectors where they lie",            \
        .when = "long blocks in memory that all ranks of a node map",                              \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = temp_bytes,                                                                  \
        .paths = PCOLL_PATH_BIT_USER,                                                              \
        .must_map = true,                                                                          \
    };

ROW(REDUCE_SCATTER_BLOCK, reduce_scatter_block)
ROW(REDUCE_SCATTER, reduce_scatter)
