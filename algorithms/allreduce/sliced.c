/*
 * Allreduce in slices: every rank reduces one slice of all vectors, and gives the result to all
 * (shape/sliced.h, which has the argument why it is safe).
 *
 * Source: reduce-scatter and allgather (Rabenseifner 2004), both by direct exchange.
 *
 *      N = 3:   0:abc 1:def 2:ghi | 0 reduces adg, 1 beh, 2 cfi | all gather
 *
 * Cost: 2 L + 2 N o + M (2 copy + reduce), whatever N; two counters (temp in segments: one more).
 * TEMP holds one segment.
 */
#include "algorithms/cost.h"
#include "algorithms/shape/sliced.h"

/* All ranks put and get (N - 1) / N of the vector, and reduce as much. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const double nranks = signature->nranks, peers = nranks - 1;
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double segments = (double)pcoll_slices_nsegments(signature, signature->bytes, params);
    const double slice = (double)signature->bytes * peers / nranks;
    const bool user = pcoll_sliced_is_user(params);
    const bool wire = pcoll_is_over_wire(signature);
    const double out = pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP);
    const double in = user ? pcoll_cost_rate(signature, machine, PCOLL_PATH_USER) : out;
    const double own = user ? 0 : (double)signature->bytes / nranks * machine->copy;
    const double waves = pcoll_cost_wave(signature, machine, peers, false) +
                         pcoll_cost_wave(signature, machine, peers, true);
    const double local = pcoll_cost_node(machine).o;
    const double work = user ? peers * machine->rma + local : peers * machine->o + 2 * local;
    const double answers = wire && !user ? 2 * machine->L : 0;

    return machine->call + segments * (waves + answers + crowd * work) +
           crowd * (slice * (out + in + machine->reduce) + own);
}

const struct pcoll_algorithm pcoll_allreduce_sliced = {
    .name = "sliced",
    .coll = PCOLL_ALLREDUCE,
    .description = "each rank reduces a slice and gives it to all",
    .when = "long vectors in a node",
    .generate = pcoll_sliced_generate,
    .cost = cost,
    .temp_bytes = pcoll_sliced_temp_bytes,
    .paths = PCOLL_PATH_BIT_USER | PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
};
