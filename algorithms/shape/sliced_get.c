/* Reductions in slices that are read where they lie; the contract is in sliced_get.h. */
#include "algorithms/shape/sliced_get.h"

#include "algorithms/cost.h"
#include "algorithms/util.h"

/* ---- stages ---- */

static int next_factor(int n, int radix)
{
    int factor = radix < n ? radix : n;

    while (factor > 1 && n % factor != 0)
        factor--;
    if (factor > 1)
        return factor;
    for (factor = 2; factor * factor <= n; factor++)
        if (n % factor == 0)
            return factor;
    return n;
}

static void factorize(struct pcoll_stages *stages, int n, int radix)
{
    while (n > 1) {
        const int factor = next_factor(n, radix);

        stages->factors[stages->count++] = factor;
        n /= factor;
    }
}

static int team_size(const struct pcoll_signature *signature)
{
    const struct pcoll_topology *topology = signature->topology;

    return topology && pcoll_topology_is_even(topology) && pcoll_topology_is_consecutive(topology)
               ? signature->nranks / topology->nnodes
               : 1;
}

struct pcoll_stages pcoll_stages_of(const struct pcoll_signature *signature, int radix)
{
    const int size = team_size(signature);
    struct pcoll_stages stages = {.count = 0};

    factorize(&stages, size, radix);
    stages.nwithin = stages.count;
    factorize(&stages, signature->nranks / size, radix);
    return stages;
}

/* The distance of mates. */
static int stride_of(const struct pcoll_sliced_get *s, int stage)
{
    int stride = 1;

    for (int i = 0; i < stage; i++)
        stride *= s->stages.factors[i];
    return stride;
}

int pcoll_sliced_get_digit(const struct pcoll_sliced_get *s, int rank, int stage)
{
    return rank / stride_of(s, stage) % s->stages.factors[stage];
}

int pcoll_sliced_get_mate(const struct pcoll_sliced_get *s, int stage, int digit)
{
    const int rank = s->plan->rank;

    return rank + (digit - pcoll_sliced_get_digit(s, rank, stage)) * stride_of(s, stage);
}

/* ---- slices ---- */

struct pcoll_segment pcoll_sliced_get_slice(const struct pcoll_sliced_get *s, int rank, int nstages)
{
    const uint64_t unit = pcoll_unit_of(&s->plan->signature);
    struct pcoll_segment slice = {0, s->plan->signature.bytes / unit};

    for (int i = 0; i < nstages; i++) {
        const struct pcoll_segment cut =
            pcoll_segment_of(slice.count, (uint64_t)s->stages.factors[i],
                             (uint64_t)pcoll_sliced_get_digit(s, rank, i));

        slice = (struct pcoll_segment){slice.first + cut.first, cut.count};
    }
    return (struct pcoll_segment){slice.first * unit, slice.count * unit};
}

uint64_t pcoll_sliced_get_temp_bytes(const struct pcoll_signature *signature,
                                     const struct pcoll_params *params)
{
    const struct pcoll_stages stages = pcoll_stages_of(signature, pcoll_radix(params));
    const uint64_t unit = pcoll_unit_of(signature), units = signature->bytes / unit;

    if (stages.count == 0) /* a single rank */
        return 0;
    return (uint64_t)pcoll_sliced_get_banks(&stages) *
           pcoll_whole_lines(pcoll_quotient_up(units, (uint64_t)stages.factors[0]) * unit);
}

struct pcoll_place pcoll_sliced_get_at(const struct pcoll_sliced_get *s, int rank, int nstages)
{
    const uint64_t bank_bytes = s->plan->temp_bytes / (uint64_t)s->plan->nphases;
    const uint64_t first = pcoll_sliced_get_slice(s, rank, 1).first;

    return pcoll_at(PCOLL_TEMP, (uint64_t)s->bank * bank_bytes +
                                    pcoll_sliced_get_slice(s, rank, nstages).first - first);
}

/* ---- entries ---- */

void pcoll_sliced_get_tell(const struct pcoll_sliced_get *s, int stage, int trigger, uint64_t level,
                           int counter, int but)
{
    const int factor = s->stages.factors[stage];
    const int own = pcoll_sliced_get_digit(s, s->plan->rank, stage);

    for (int i = 1; i < factor; i++) {
        const int mate = pcoll_sliced_get_mate(s, stage, (own + i) % factor);

        if (mate != but)
            pcoll_plan_add(s->plan,
                           pcoll_entry_signal(pcoll_entry_add(trigger, level), mate, counter, 1));
    }
}

/* Where the rank finds that slice of a mate, or of its own, in a stage. */
static struct pcoll_place operand_of(const struct pcoll_sliced_get *s, int stage)
{
    const int rank = s->plan->rank;

    if (stage == 0)
        return pcoll_at(PCOLL_SEND, pcoll_sliced_get_slice(s, rank, 1).first);
    return pcoll_sliced_get_at(s, rank, stage + 1);
}

static struct pcoll_entry reduce(const struct pcoll_sliced_get *s, int stage, uint64_t level)
{
    const int rank = s->plan->rank, factor = s->stages.factors[stage];

    for (int i = 0; i < factor; i++)
        pcoll_plan_operand_of(s->plan, pcoll_sliced_get_mate(s, stage, i), operand_of(s, stage));
    return pcoll_entry_reduce(s->plan, pcoll_sliced_get_counter(s, stage), level, factor,
                              pcoll_sliced_get_at(s, rank, stage + 1),
                              pcoll_sliced_get_slice(s, rank, stage + 1).count);
}

void pcoll_sliced_get_reduce(const struct pcoll_sliced_get *s, int done, uint64_t weight)
{
    for (int stage = 0; stage < s->stages.count; stage++) {
        const bool is_last = stage == s->stages.count - 1;
        const int counter = pcoll_sliced_get_counter(s, stage);
        const uint64_t factor = (uint64_t)s->stages.factors[stage];
        const uint64_t own = stage > 0 ? factor : 0, all = own + factor - 1;

        pcoll_sliced_get_tell(s, stage, stage > 0 ? counter : PCOLL_NONE, own, counter, PCOLL_NONE);
        pcoll_plan_add(s->plan,
                       pcoll_entry_done(reduce(s, stage, all), is_last ? done : counter + 1,
                                        is_last ? weight : (uint64_t)s->stages.factors[stage + 1]));
        s->plan->gain[counter] = all;
    }
}

/* ---- cost ---- */

double pcoll_sliced_get_time(const struct pcoll_signature *signature,
                             const struct pcoll_machine *machine, const struct pcoll_stages *stages,
                             bool is_back)
{
    const double crowd = pcoll_cost_crowd(signature, machine);
    const struct pcoll_machine within = pcoll_cost_node(machine);
    double bytes = (double)signature->bytes, time = 0;

    for (int i = 0; i < stages->count; i++) {
        const struct pcoll_machine *m = i < stages->nwithin ? &within : machine;
        const double peers = stages->factors[i] - 1;

        bytes /= stages->factors[i];
        time += pcoll_cost_wave(signature, m, peers, is_back && i == 0) +
                crowd * (peers * (m->o + bytes * (is_back ? m->copy : m->reduce)) + m->o);
    }
    return time;
}
