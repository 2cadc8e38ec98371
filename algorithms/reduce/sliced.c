/*
 * Reduce in slices: every rank reduces one slice of all vectors, and gives the result to the root
 * (shape/sliced.h, which has the argument why it is safe).
 *
 * Source: reduce-scatter and gather (Rabenseifner 2004), both by direct exchange.
 *
 *      N = 3, root 0:   0:abc 1:def 2:ghi | 0 reduces adg, 1 beh, 2 cfi | 0 gathers
 *
 * Cost: 2 L + 2 N o + M (copy + reduce), and M copy of the root; form user: M / N G. Two counters
 * (the root of form temp in segments: one more). TEMP holds one segment.
 */
#include "algorithms/cost.h"
#include "algorithms/shape/sliced.h"

/* How many of the puts of results into the root's user buffer follow each other. Ranks that share
 * cores put while others compute. */
static double turns_of(const struct pcoll_signature *signature, const struct pcoll_params *params,
                       const struct pcoll_machine *machine)
{
    const double peers = signature->nranks - 1;
    const double slice = (double)signature->bytes / signature->nranks /
                         (double)pcoll_slices_nsegments(signature, signature->bytes, params);

    if (pcoll_is_over_wire(signature) || pcoll_cost_crowd(signature, machine) > 1)
        return 1;
    return peers / pcoll_lesser(pcoll_cost_accessors(machine, peers, slice), peers);
}

/* All ranks put (N - 1) / N of the vector, and reduce as much; the root receives as much. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const double nranks = signature->nranks, peers = nranks - 1, bytes = (double)signature->bytes;
    const double crowd = pcoll_cost_crowd(signature, machine), slice = bytes * peers / nranks;
    const double segments = (double)pcoll_slices_nsegments(signature, signature->bytes, params);
    const bool user = pcoll_sliced_is_user(params);
    const bool wire = pcoll_is_over_wire(signature);
    const double out = pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP);
    const double port = slice * pcoll_cost_leaders(signature, machine).G;
    const double turns = turns_of(signature, params, machine);
    const double in = wire   ? port
                      : user ? crowd * turns * bytes / nranks * machine->G
                             : bytes * machine->copy;
    const double waves = pcoll_cost_wave(signature, machine, peers, false) +
                         pcoll_cost_wave(signature, machine, peers, true);
    const double local = pcoll_cost_node(machine).o;
    const double work = user ? turns * machine->rma + local : peers * machine->o + 2 * local;
    const double answers = wire && !user ? 2 * machine->L : 0;

    return machine->call + segments * (waves + answers + crowd * work) +
           crowd * slice * (out + machine->reduce) + in;
}

const struct pcoll_algorithm pcoll_reduce_sliced = {
    .name = "sliced",
    .alias = "reduce_scatter_gather",
    .coll = PCOLL_REDUCE,
    .description = "each rank reduces a slice and gives it to the root",
    .when = "long vectors in a node",
    .generate = pcoll_sliced_generate,
    .cost = cost,
    .temp_bytes = pcoll_sliced_temp_bytes,
    .paths = PCOLL_PATH_BIT_USER | PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
};
