/*
 * Allreduce by recursive doubling on a weighted butterfly, in rank order.
 *
 * Idea: all ranks exchange and reduce their whole vectors, in groups of `radix` ranks
 * (shape/doubling.h). What arrives goes into TEMP; the last REDUCE of a rank writes RECV.
 *
 * Source: recursive doubling (Thakur et al. 2005, section 4.5).
 *
 *      N = 5, radix 2:   1 -> 0 | {01}<->2 3<->4 | {01}<->3 2<->4 | 0 -> 1
 *
 * Cost: log_k N rounds of L + k o + (k - 1) M (copy + reduce), and between nodes of s ranks a round
 * takes their port s (k - 1) (g + M G) at least; one counter, two banks. Condition: completing k
 * needs every rank's start of k, so two banks keep instances apart. In place, the result overwrites
 * what the first puts read, so everything waits for them.
 */
#include "algorithms/shape/doubling.h"

static uint64_t slot_bytes(const struct pcoll_signature *signature)
{
    return pcoll_whole_lines(signature->bytes);
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_doubling_rounds rounds =
        pcoll_doubling_rounds(signature->nranks, params->radix);

    return 2 * pcoll_doubling_slots(&rounds) * slot_bytes(signature);
}

static void build_phase(struct pcoll_plan *plan, int bank, int radix)
{
    const struct pcoll_signature *signature = &plan->signature;
    const struct pcoll_place recv = pcoll_at(PCOLL_RECV, 0);
    struct pcoll_doubling d = {
        .plan = plan,
        .teams = pcoll_teams_of_one(signature->nranks),
        .rounds = pcoll_doubling_rounds(signature->nranks, radix),
        .bank = bank,
        .weight = 1,
        .slots = (uint64_t)bank * plan->temp_bytes / 2,
        .slot_bytes = slot_bytes(signature),
        .bytes = signature->bytes,
        .result = recv,
        .sum = pcoll_at(PCOLL_SEND, 0),
    };

    pcoll_plan_open(plan, bank);
    pcoll_doubling_add(&d);
    if (d.sum.buffer == PCOLL_TEMP)
        pcoll_plan_add(plan, pcoll_entry_copy(bank, d.level, d.sum, recv, signature->bytes));
    plan->gain[bank] = d.level;
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    if (!pcoll_plan_begin(plan, 2, 2))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = temp_bytes(&plan->signature, params);
    for (int bank = 0; bank < 2; bank++)
        build_phase(plan, bank, params->radix);
    return PCOLL_OK;
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const int members = pcoll_ranks_per_node(signature);
    const double crowd = pcoll_cost_crowd(signature, machine), bytes = (double)signature->bytes;
    const struct pcoll_doubling_rounds rounds =
        pcoll_doubling_rounds(signature->nranks, params->radix);
    const struct pcoll_doubling_cost doubling = {
        .rounds = rounds,
        .links = {signature, rounds.fold, members, {node, 0, crowd}, {*machine, members, crowd}},
        .bytes = bytes,
        .copy = crowd * (node.o + bytes * node.copy),
    };

    return machine->call + pcoll_doubling_time(&doubling);
}

const struct pcoll_algorithm pcoll_allreduce_butterfly = {
    .name = "butterfly",
    .alias = "recursive_doubling",
    .coll = PCOLL_ALLREDUCE,
    .description = "recursive doubling on a weighted butterfly, in rank order",
    .when = "short vectors on many ranks; the radix grows with the latency",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
};
