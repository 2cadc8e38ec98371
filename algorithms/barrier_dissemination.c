/*
 * Weighted dissemination barrier of any base.
 *
 * Idea: in round r = 0 .. R-1 rank p tells ranks p + i k^r (i = 1 .. k-1, i k^r < N) that it and
 * all it has heard of have arrived; R = ceil(log_k N).  The pours of round r weigh k^(R-1-r): the
 * k-1 pours of each later round together stay below one of an earlier round, so the sum of all
 * earlier weights is reached only when each of them is in (the scheme of document 001 section 4.2.1
 * in base k).  k >= N is a single round in which everybody tells everybody.
 *
 * Source: Hensgen, Finkel, Manber (1988), base k as in Hoefler et al., "Fast barrier
 * synchronization for InfiniBand" (2006).
 *
 *      N = 5, k = 2:  +1 | +2 | +4          N = 5, k = 5:  +1 +2 +3 +4
 *
 * Cost: R times (L + (k-1) max(o, g)), one counter, two banks.  When: any count of ranks; with more
 * ranks than cores the single round wins, as every round costs each rank a turn on its core.
 * Condition: as for the butterfly, nobody is two instances ahead.
 */
#include "algorithms/private.h"

#include "algorithms/algorithm_files.h"

static int radix_of(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    int radix = params->radix ? params->radix : 2;

    return radix < signature->nranks ? radix : signature->nranks;
}

/* Pours of one round; as many come in as go out.  Returns their number. */
static int add_round(struct pcoll_plan *plan, int bank, int radix, int64_t distance, uint64_t level,
                     uint64_t weight)
{
    int nranks = plan->signature.nranks, sent = 0;

    for (int i = 1; i < radix && i * distance < nranks; i++, sent++) {
        struct pcoll_entry entry = pcoll_entry_add(level ? bank : PCOLL_NONE, level);
        int peer = (int)((plan->rank + i * distance) % nranks);

        pcoll_plan_add(plan, pcoll_entry_pour(entry, peer, bank, weight));
        pcoll_plan_neighbor(plan, (int)((plan->rank + nranks - i * distance) % nranks));
    }
    return sent;
}

static void build_phase(struct pcoll_plan *plan, int bank, int radix)
{
    int nranks = plan->signature.nranks;
    uint64_t level = 0, weight = 1;

    for (int64_t reach = radix; reach < nranks; reach *= radix)
        weight *= (uint64_t)radix;
    pcoll_plan_open(plan, bank);
    for (int64_t distance = 1; distance < nranks; distance *= radix) {
        level += weight * (uint64_t)add_round(plan, bank, radix, distance, level, weight);
        weight /= (uint64_t)radix;
    }
    pcoll_plan_add(plan, pcoll_entry_wait(bank, level));
    plan->lift[bank] = level;
}

enum pcoll_result pcoll_barrier_dissemination(const struct pcoll_signature *signature, int rank,
                                              const struct pcoll_params *params,
                                              struct pcoll_plan **plan_p)
{
    int banks = pcoll_banks(params);
    enum pcoll_result result =
        pcoll_plan_create(signature, rank, "dissemination", banks, banks, plan_p);

    if (result != PCOLL_OK)
        return result;
    for (int bank = 0; bank < banks; bank++)
        build_phase(*plan_p, bank, radix_of(signature, params));
    return pcoll_plan_seal(plan_p);
}

double pcoll_barrier_dissemination_cost(const struct pcoll_signature *signature,
                                        const struct pcoll_params *params,
                                        const struct pcoll_machine *machine)
{
    int radix = radix_of(signature, params);

    return pcoll_cost_waves(signature, machine, pcoll_log_ceil(signature->nranks, radix),
                            radix - 1);
}
