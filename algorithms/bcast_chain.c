/*
 * Broadcast along a chain, pipelined in segments, by put straight into the user buffers.
 *
 * Idea: rank v gets the message from v - 1 and passes each segment on to v + 1 as it arrives: one
 * tank whatever the number of segments S, segment i being forwarded at threshold i + 1 (document
 * 001 section 4.1.2).  The successor's "ready" weighs S, more than what the other S - 1 segments
 * still to come could pour, so forwarding starts at S + i + 1: "ready" and i + 1 segments.
 *
 *      N = 5:   0 -> 1 -> 2 -> 3 -> 4
 *
 * Cost: (N - 2 + S) (rma + M/S G + L) + 2 L, one counter, one bank.  When: very long messages on
 * links that carry both directions at once.  Condition: segments of one sender arrive in order
 * (PCOLL_NEED_ORDER).  "ready" of k + 1 comes only after this rank has put all segments of k.
 */
#include "algorithms/private.h"

#include "algorithms/algorithm_files.h"

#define DEFAULT_SEGMENT (128 * 1024)

static uint64_t nsegments_of(const struct pcoll_signature *signature,
                             const struct pcoll_params *params)
{
    return pcoll_segment_count(signature->bytes, params->segment, DEFAULT_SEGMENT);
}

static void add_puts(struct pcoll_plan *plan, int v, uint64_t nsegments)
{
    const struct pcoll_signature *sig = &plan->signature;
    int next = pcoll_absolute(v + 1, sig->root, sig->nranks);
    enum pcoll_buffer from = v == 0 ? PCOLL_SEND : PCOLL_RECV;

    for (uint64_t i = 0; i < nsegments; i++) {
        struct pcoll_segment part = pcoll_segment_of(sig->bytes, nsegments, i);
        uint64_t threshold = v == 0 ? nsegments : nsegments + i + 1;
        struct pcoll_entry put = pcoll_entry_put(0, threshold, pcoll_at(from, part.first), next,
                                                 pcoll_at(PCOLL_RECV, part.first), part.count);

        pcoll_plan_add(plan, pcoll_entry_pour(put, next, 0, 1));
    }
}

static void build(struct pcoll_plan *plan, uint64_t nsegments)
{
    const struct pcoll_signature *sig = &plan->signature;
    int v = pcoll_relative(plan->rank, sig->root, sig->nranks), last = v == sig->nranks - 1;

    plan->ordered = 1;
    pcoll_plan_open(plan, 0);
    if (v > 0) {
        int previous = pcoll_absolute(v - 1, sig->root, sig->nranks);
        struct pcoll_entry ready = pcoll_entry_add(PCOLL_NONE, 0);

        pcoll_plan_add(plan, pcoll_entry_pour(ready, previous, 0, nsegments));
    }
    if (last)
        pcoll_plan_add(plan, pcoll_entry_wait(0, nsegments));
    else
        add_puts(plan, v, nsegments);
    plan->lift[0] = v == 0 || last ? nsegments : 2 * nsegments;
}

enum pcoll_result pcoll_bcast_chain(const struct pcoll_signature *signature, int rank,
                                    const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    enum pcoll_result result = pcoll_plan_create(signature, rank, "chain", 1, 1, plan_p);

    if (result != PCOLL_OK)
        return result;
    build(*plan_p, nsegments_of(signature, params));
    return pcoll_plan_seal(plan_p);
}

double pcoll_bcast_chain_cost(const struct pcoll_signature *signature,
                              const struct pcoll_params *params,
                              const struct pcoll_machine *machine)
{
    double nsegments = (double)nsegments_of(signature, params);
    double one = machine->rma + machine->o + (double)signature->bytes / nsegments * machine->G;
    double steps = nsegments + signature->nranks - 2;
    double work = pcoll_cost_crowd(signature, machine) * nsegments;

    return pcoll_cost_waves(signature, machine, signature->nranks, 1) +
           (work > steps ? work : steps) * one;
}
