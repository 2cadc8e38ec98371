/*
 * Allgather round a ring, by put straight into the user buffers.
 *
 * Idea: in step s rank p passes block p - s on to p + 1, which it got from p - 1 in the step
 * before. All links carry one block in every step and nobody moves a byte twice.  The successor's
 * "ready" weighs N, more than the N - 1 blocks that come in, so step s waits for N + s.  In step 0
 * the own block goes to the successor and to the own receive buffer segment by segment, so that
 * the second move finds it in the cache.
 *
 * Source: Chan et al., "Collective communication: theory, practice, and experience" (2007),
 * bucket algorithm; the tank of document 001 section 4.1.2.
 *
 *      N = 5:   0 -> 1 -> 2 -> 3 -> 4 -> 0
 *
 * Cost: (N - 1) (L + rma + M G) + M copy, one counter, two banks.  When: long blocks, links between
 * neighbours.  Condition: blocks of the predecessor arrive in order (PCOLL_NEED_ORDER);
 * completing k needs everybody's start of k, so two banks keep instances apart.
 */
#include "algorithms/private.h"

#include "algorithms/algorithm_files.h"

#define DEFAULT_SEGMENT (512 * 1024) /* fits a cache of the second level */

/* Step 0, and the copy of the own block. */
static void add_own_block(struct pcoll_plan *plan, int bank, uint64_t segment)
{
    const struct pcoll_signature *sig = &plan->signature;
    int next = (plan->rank + 1) % sig->nranks;
    uint64_t first = (uint64_t)plan->rank * sig->bytes, threshold = (uint64_t)sig->nranks;
    uint64_t n = sig->in_place ? 1 : pcoll_segment_count(sig->bytes, segment, DEFAULT_SEGMENT);

    for (uint64_t i = 0; i < n; i++) {
        struct pcoll_segment part = pcoll_segment_of(sig->bytes, n, i);
        struct pcoll_place from = pcoll_at(PCOLL_SEND, part.first);
        struct pcoll_place to = pcoll_at(PCOLL_RECV, first + part.first);
        struct pcoll_entry put = pcoll_entry_put(bank, threshold, from, next, to, part.count);

        if (!sig->in_place)
            pcoll_plan_add(plan, pcoll_entry_copy(bank, threshold, from, to, part.count));
        pcoll_plan_add(plan, i == n - 1 ? pcoll_entry_pour(put, next, bank, 1) : put);
    }
}

/* Pass on the block that came in with step - 1. */
static void add_step(struct pcoll_plan *plan, int bank, int step)
{
    const struct pcoll_signature *sig = &plan->signature;
    int nranks = sig->nranks, next = (plan->rank + 1) % nranks;
    int index = (plan->rank - step + nranks) % nranks;
    struct pcoll_place block = pcoll_at(PCOLL_RECV, (uint64_t)index * sig->bytes);
    struct pcoll_entry put =
        pcoll_entry_put(bank, (uint64_t)(nranks + step), block, next, block, sig->bytes);

    pcoll_plan_add(plan, pcoll_entry_pour(put, next, bank, 1));
}

static void build_phase(struct pcoll_plan *plan, int bank, uint64_t segment)
{
    int nranks = plan->signature.nranks, previous = (plan->rank + nranks - 1) % nranks;
    struct pcoll_entry ready = pcoll_entry_add(PCOLL_NONE, 0);

    pcoll_plan_open(plan, bank);
    pcoll_plan_add(plan, pcoll_entry_pour(ready, previous, bank, (uint64_t)nranks));
    add_own_block(plan, bank, segment);
    for (int step = 1; step < nranks - 1; step++)
        add_step(plan, bank, step);
    plan->lift[bank] = (uint64_t)(2 * nranks - 1);
    pcoll_plan_add(plan, pcoll_entry_wait(bank, plan->lift[bank]));
}

enum pcoll_result pcoll_allgather_ring(const struct pcoll_signature *signature, int rank,
                                       const struct pcoll_params *params,
                                       struct pcoll_plan **plan_p)
{
    int banks = pcoll_banks(params);
    enum pcoll_result result = pcoll_plan_create(signature, rank, "ring", banks, banks, plan_p);

    if (result != PCOLL_OK)
        return result;
    (*plan_p)->ordered = 1;
    for (int bank = 0; bank < banks; bank++)
        build_phase(*plan_p, bank, params->segment);
    return pcoll_plan_seal(plan_p);
}

double pcoll_allgather_ring_cost(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params,
                                 const struct pcoll_machine *machine)
{
    int steps = signature->nranks - 1;
    double bytes = (double)signature->bytes, rma = machine->rma;
    double nsegments =
        (double)pcoll_segment_count(signature->bytes, params->segment, DEFAULT_SEGMENT);
    double cached = bytes / nsegments <= DEFAULT_SEGMENT ? 0.5 : 1;
    double moved = steps * bytes * pcoll_cost_forward(signature, machine);
    double work = (steps - 1 + nsegments) * rma + moved + cached * bytes * machine->copy;

    return pcoll_cost_waves(signature, machine, steps + 1, 1) +
           pcoll_cost_crowd(signature, machine) * work;
}
