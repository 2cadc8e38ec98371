/*
 * Allreduce in slices that are read where they lie: the ranks reduce them in stages
 * (shape/sliced_get.h), and then get what they have given away, stage by stage backwards.
 *
 * On the way back a rank gets the slices of its mates from their TEMP into its own, and in the
 * first stage, which comes last, into RECV. So nobody reads RECV of others.
 *
 *      N = 4 = 2 * 2, abcd:   0 has a, 1 c, 2 b, 3 d | 0 and 2 get ab, 1 and 3 cd |
 *      0 and 1, 2 and 3 get abcd
 *
 * Cost: for s stages of f ranks 2 s (L + f o) + M (reduce + copy); 2 s counters in each of two
 * banks (s = 1: one bank) of TEMP, of M / f_1. Condition: as in shape/sliced_get.h; a rank that
 * gets the slice of a mate knows that this mate has read its SEND, or its TEMP, there. In place,
 * the slice goes there. A mate's slice is told on a counter on which all gets of the stage before
 * outweigh what mates tell.
 */
#include "algorithms/cost.h"
#include "algorithms/shape/sliced_get.h"

/* Counters of a bank: of the stages forth, then of the same stages back. */
static int back_counter(const struct pcoll_sliced_get *s, int stage)
{
    return pcoll_sliced_get_counter(s, s->stages.count + stage);
}

/* What the rank does itself before it tells its mates of the stage: it reduces its slice, or gets
 * those of the mates of the next stage. */
static uint64_t own_level(const struct pcoll_sliced_get *s, int stage)
{
    const uint64_t factor = (uint64_t)s->stages.factors[stage];

    return stage == s->stages.count - 1 ? factor
                                        : factor * ((uint64_t)s->stages.factors[stage + 1] - 1);
}

static struct pcoll_entry get(const struct pcoll_sliced_get *s, int stage, uint64_t level, int mate)
{
    const struct pcoll_segment slice = pcoll_sliced_get_slice(s, mate, stage + 1);
    const struct pcoll_place to =
        stage == 0 ? pcoll_at(PCOLL_RECV, slice.first) : pcoll_sliced_get_at(s, mate, stage + 1);
    const struct pcoll_entry entry =
        pcoll_entry_get(back_counter(s, stage), level, mate,
                        pcoll_sliced_get_at(s, mate, stage + 1), to, slice.count);

    if (stage == 0)
        return entry;
    return pcoll_entry_done(entry, back_counter(s, stage - 1),
                            (uint64_t)s->stages.factors[stage - 1]);
}

static void add_stage_back(const struct pcoll_sliced_get *s, int stage)
{
    const int counter = back_counter(s, stage), factor = s->stages.factors[stage];
    const int own = pcoll_sliced_get_digit(s, s->plan->rank, stage);
    const uint64_t mine = own_level(s, stage), all = mine + (uint64_t)factor - 1;

    pcoll_sliced_get_tell(s, stage, counter, mine, counter, PCOLL_NONE);
    for (int i = 1; i < factor; i++)
        pcoll_plan_add(s->plan,
                       get(s, stage, all, pcoll_sliced_get_mate(s, stage, (own + i) % factor)));
    s->plan->gain[counter] = all;
}

static void add_own_copy(const struct pcoll_sliced_get *s)
{
    const struct pcoll_segment own = pcoll_sliced_get_slice(s, s->plan->rank, 1);

    pcoll_plan_add(s->plan, pcoll_entry_copy(back_counter(s, 0), own_level(s, 0),
                                             pcoll_sliced_get_at(s, s->plan->rank, 1),
                                             pcoll_at(PCOLL_RECV, own.first), own.count));
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_stages stages = pcoll_stages_of(&plan->signature, pcoll_radix(params));
    struct pcoll_sliced_get s = {.plan = plan, .stages = stages, .ncounters = 2 * stages.count};
    const int last = stages.count - 1;
    const int nbanks = pcoll_sliced_get_banks(&stages);

    if (!pcoll_plan_begin(plan, nbanks * s.ncounters, nbanks))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = pcoll_sliced_get_temp_bytes(&plan->signature, params);
    for (s.bank = 0; s.bank < nbanks; s.bank++) {
        pcoll_plan_open(plan, s.bank);
        pcoll_sliced_get_reduce(&s, back_counter(&s, last), own_level(&s, last));
        for (int stage = last; stage >= 0; stage--)
            add_stage_back(&s, stage);
        add_own_copy(&s);
    }
    return PCOLL_OK;
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_stages stages = pcoll_stages_of(signature, pcoll_radix(params));
    const double own = (double)signature->bytes / stages.factors[0] * machine->copy;

    return machine->call + pcoll_sliced_get_time(signature, machine, &stages, false) +
           pcoll_sliced_get_time(signature, machine, &stages, true) +
           pcoll_cost_crowd(signature, machine) * own;
}

const struct pcoll_algorithm pcoll_allreduce_sliced_get = {
    .name = "sliced_get",
    .coll = PCOLL_ALLREDUCE,
    .description = "ranks reduce slices of all vectors, in stages, where they lie",
    .when = "long vectors in memory that all ranks of a node map",
    .generate = generate,
    .cost = cost,
    .temp_bytes = pcoll_sliced_get_temp_bytes,
    .paths = PCOLL_PATH_BIT_USER,
    .uses_radix = 1,
    .uses_teams = PCOLL_ONE_LEVEL,
    .must_map = true,
};
