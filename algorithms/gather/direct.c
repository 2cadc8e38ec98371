/*
 * Gather in which every rank writes its block directly into the root's receive buffer.
 *
 * Idea: the root tells every rank that its receive buffer may be written; each rank then puts its
 * block to its place and thereby signals the root, which waits for all.
 *
 * Source: the linear gather of every MPI, by put instead of send and receive.
 *
 *      N = 5, root 0:   0 -> 1, 2, 3, 4: ready    1, 2, 3, 4 -> 0: block
 *
 * Cost: 2 L + N o + rma + M G in a node, where all write at the same time; between nodes the blocks
 * share the root's port, N M G. One counter, one bank. When: long blocks. Condition (lemma C, ready
 * before each write): no rank writes k before the root has started k, and the root tells of k + 1
 * only after all blocks of k have arrived; so neither "ready" nor the arrivals of k + 1 can
 * substitute for those of k.
 */
#include "algorithms/cost.h"
#include "algorithms/number.h"

enum { COUNTER }; /* of the root: blocks that have arrived; of other ranks: "ready" */

static void build_root(struct pcoll_plan *plan)
{
    const struct pcoll_signature *sig = &plan->signature;
    const uint64_t others = (uint64_t)sig->nranks - 1;

    for (int i = 1; i < sig->nranks; i++)
        pcoll_plan_add(plan,
                       pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0),
                                          pcoll_absolute(i, sig->root, sig->nranks), COUNTER, 1));
    if (!sig->in_place)
        pcoll_plan_add(plan,
                       pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0),
                                        pcoll_at(PCOLL_RECV, (uint64_t)plan->rank * sig->bytes),
                                        sig->bytes));
    pcoll_plan_add(plan, pcoll_entry_wait(COUNTER, others));
    plan->gain[COUNTER] = others;
}

static void build_other(struct pcoll_plan *plan)
{
    const struct pcoll_signature *sig = &plan->signature;
    const struct pcoll_entry put =
        pcoll_entry_put(COUNTER, 1, pcoll_at(PCOLL_SEND, 0), sig->root,
                        pcoll_at(PCOLL_RECV, (uint64_t)plan->rank * sig->bytes), sig->bytes);

    pcoll_plan_add(plan, pcoll_entry_signal(put, sig->root, COUNTER, 1));
    plan->gain[COUNTER] = 1;
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    enum pcoll_result result = pcoll_plan_create(signature, rank, "direct", 1, 1, plan_p);

    (void)local, (void)params;
    if (result != PCOLL_OK)
        return result;
    pcoll_plan_open(*plan_p, 0);
    if (rank == signature->root)
        build_root(*plan_p);
    else
        build_other(*plan_p);
    return pcoll_plan_seal(plan_p);
}

/* Ranks that share cores write one after the other. */
static double cost_of_crowd(const struct pcoll_signature *signature,
                            const struct pcoll_machine *machine)
{
    double peers = signature->nranks - 1;
    double one = machine->rma + (double)signature->bytes * pcoll_cost_put_rate(signature, machine);

    return pcoll_cost_waves(signature, machine, 2, 1) +
           peers * (2 * machine->o + one) / machine->cores +
           (double)signature->bytes * machine->copy;
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_machine own = pcoll_cost_leaders(signature, machine);
    struct pcoll_hop hop = pcoll_cost_hop(signature, &own, (double)signature->bytes);
    double peers = signature->nranks - 1, length = (double)signature->bytes * own.G;
    double tell = pcoll_larger(own.g, own.o), arrive = own.g;

    (void)params;
    if (pcoll_is_over_wire(signature))
        arrive += length;
    if (!pcoll_is_over_wire(signature) && pcoll_cost_crowd(signature, machine) > 1)
        return cost_of_crowd(signature, machine);
    return machine->call + own.o + own.L + hop.first +
           (peers - 1) * pcoll_larger(tell, pcoll_is_over_wire(signature) ? arrive : 0);
}

const struct pcoll_algorithm pcoll_gather_direct = {
    .name = "direct",
    .alias = "linear",
    .coll = PCOLL_GATHER,
    .description = "everybody writes to the root's user buffer",
    .generate = generate,
    .cost = cost,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
};
