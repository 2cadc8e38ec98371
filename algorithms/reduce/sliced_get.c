/*
 * Reduce in slices that are read where they lie: the ranks reduce them in stages
 * (shape/sliced_get.h), and each puts its slice of the result into RECV of the root.
 *
 *      N = 4 = 2 * 2, abcd:   0 has a, 1 c, 2 b, 3 d | all put them into RECV of the root
 *
 * Cost: for s stages of f ranks (s + 1) (L + f o) + N o + M reduce + M / N copy; s + 1 counters in
 * each of two banks (s = 1: one bank) of TEMP, of M / f_1. Condition: as in shape/sliced_get.h; a
 * slice of the result depends on that slice of all ranks, so the root has started, and in place,
 * its mate of the first stage has read it. A rank is done when all its mates of the first stage
 * have told it that they have read its SEND, and the root when it also has all slices.
 */
#include "algorithms/cost.h"
#include "algorithms/shape/sliced_get.h"

/* The last counter of a bank: the own slice is reduced, which outweighs all that others tell. */
static int last_counter(const struct pcoll_sliced_get *s)
{
    return pcoll_sliced_get_counter(s, s->stages.count);
}

/* The root is given slices of the result; the mates of the first stage tell any other rank that
 * they have read its SEND. */
static uint64_t told_by_others(const struct pcoll_sliced_get *s)
{
    const struct pcoll_signature *signature = &s->plan->signature;

    return (uint64_t)(s->plan->rank == signature->root ? signature->nranks : s->stages.factors[0]) -
           1;
}

static uint64_t own_level(const struct pcoll_sliced_get *s)
{
    return told_by_others(s) + 1;
}

/* Mates of the first stage are told as soon as its REDUCE is done; the root learns it with the
 * result. */
static void add_farewells(const struct pcoll_sliced_get *s)
{
    const bool is_last = s->stages.count == 1;

    pcoll_sliced_get_tell(s, 0, is_last ? last_counter(s) : pcoll_sliced_get_counter(s, 1),
                          is_last ? own_level(s) : (uint64_t)s->stages.factors[1], last_counter(s),
                          s->plan->signature.root);
}

static void add_result(const struct pcoll_sliced_get *s)
{
    const int rank = s->plan->rank, root = s->plan->signature.root, counter = last_counter(s);
    const struct pcoll_segment slice = pcoll_sliced_get_slice(s, rank, s->stages.count);
    const struct pcoll_place from = pcoll_sliced_get_at(s, rank, s->stages.count);
    const struct pcoll_place to = pcoll_at(PCOLL_RECV, slice.first);

    if (rank == root)
        pcoll_plan_add(s->plan, pcoll_entry_copy(counter, own_level(s), from, to, slice.count));
    else
        pcoll_plan_add(s->plan, pcoll_entry_signal(pcoll_entry_put(counter, own_level(s), from,
                                                                   root, to, slice.count),
                                                   root, counter, 1));
}

static void build_phase(struct pcoll_sliced_get *s)
{
    const uint64_t all = own_level(s) + told_by_others(s);

    pcoll_plan_open(s->plan, s->bank);
    pcoll_sliced_get_reduce(s, last_counter(s), own_level(s));
    add_farewells(s);
    add_result(s);
    pcoll_plan_add(s->plan, pcoll_entry_wait(last_counter(s), all));
    s->plan->gain[last_counter(s)] = all;
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_stages stages = pcoll_stages_of(&plan->signature, pcoll_radix(params));
    struct pcoll_sliced_get s = {.plan = plan, .stages = stages, .ncounters = stages.count + 1};
    const int nbanks = pcoll_sliced_get_banks(&stages);

    if (!pcoll_plan_begin(plan, nbanks * s.ncounters, nbanks))
        return PCOLL_ERR_NOMEM;
    for (int r = 0; plan->rank == plan->signature.root && r < plan->signature.nranks; r++)
        if (r != plan->rank)
            pcoll_plan_neighbor(plan, r);
    plan->temp_bytes = pcoll_sliced_get_temp_bytes(&plan->signature, params);
    for (s.bank = 0; s.bank < nbanks; s.bank++)
        build_phase(&s);
    return PCOLL_OK;
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_stages stages = pcoll_stages_of(signature, pcoll_radix(params));
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double slice = (double)signature->bytes / signature->nranks;

    return machine->call + pcoll_sliced_get_time(signature, machine, &stages, false) +
           pcoll_cost_wave(signature, machine, stages.factors[0] - 1, false) +
           pcoll_cost_wave(signature, machine, signature->nranks - 1, true) +
           crowd * (machine->o + slice * machine->copy);
}

const struct pcoll_algorithm pcoll_reduce_sliced_get = {
    .name = "sliced_get",
    .coll = PCOLL_REDUCE,
    .description = "ranks reduce slices of all vectors where they lie, and put them to the root",
    .when = "long vectors in memory that all ranks of a node map",
    .generate = generate,
    .cost = cost,
    .temp_bytes = pcoll_sliced_get_temp_bytes,
    .paths = PCOLL_PATH_BIT_USER,
    .uses_radix = 1,
    .uses_teams = PCOLL_ONE_LEVEL,
    .must_map = true,
};
