/*
 * Broadcast down a k-nomial tree by put, directly into the user buffers.
 *
 * Idea: a child tells its parent "ready"; a parent that has the message and all its children's
 * "ready" puts it to each of them. The branch is the tank of document 001 section 4.1.1: the
 * arrival raises the tank by 1, and an add of the fan-out f raises it to f + 1, where the puts
 * fire. In the paper the arrival triggers the add; here the children's "ready" messages do, counted
 * on a second counter, so that nothing is written to a child that has not started the instance.
 *
 * Source: document 003 (Sugiyama, Nanri), section 4.3 and equation (1), put; document 001 table 2.
 * Radix 2 is the binomial tree of both.
 *
 *      N = 5, radix 2:   0 -> 4, 2, 1    2 -> 3
 *
 * Cost: log_k N times ((k-1) (rma + M G) + L) + L, 2 counters, one bank. Condition: a child
 * completes k only after its parent has received all "ready" of k, so no "ready" of k + 1 can
 * substitute for a missing one of k.
 */
#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/shape/tree.h"

enum { TANK, READY };

/* The messages to all children, fired when `trigger` reaches `threshold`. */
static void add_puts(struct pcoll_plan *plan, struct pcoll_tree tree, int v, int trigger,
                     uint64_t threshold)
{
    const struct pcoll_signature *sig = &plan->signature;
    struct pcoll_place from = pcoll_at(v == 0 ? PCOLL_SEND : PCOLL_RECV, 0);

    for (int i = 0; i < pcoll_tree_nchildren(tree, v); i++) {
        int child = pcoll_absolute(pcoll_tree_child(tree, v, i), sig->root, sig->nranks);
        struct pcoll_entry put =
            pcoll_entry_put(trigger, threshold, from, child, pcoll_at(PCOLL_RECV, 0), sig->bytes);

        pcoll_plan_add(plan, pcoll_entry_signal(put, child, TANK, 1));
    }
}

static void build(struct pcoll_plan *plan, struct pcoll_tree tree, int paper)
{
    const struct pcoll_signature *sig = &plan->signature;
    int v = pcoll_relative(plan->rank, sig->root, sig->nranks);
    uint64_t fanout = (uint64_t)pcoll_tree_nchildren(tree, v);

    pcoll_plan_open(plan, 0);
    plan->gain[READY] = fanout;
    if (v == 0) {
        add_puts(plan, tree, v, READY, fanout);
        return;
    }
    int parent = pcoll_absolute(pcoll_tree_parent(tree, v), sig->root, sig->nranks);

    pcoll_plan_add(plan, pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), parent, READY, 1));
    if (fanout > 0) {
        struct pcoll_entry gate = paper ? pcoll_entry_add(TANK, 1) : pcoll_entry_add(READY, fanout);

        pcoll_plan_add(plan, pcoll_entry_done(gate, TANK, fanout));
    }
    add_puts(plan, tree, v, TANK, fanout + 1);
    if (fanout == 0)
        pcoll_plan_add(plan, pcoll_entry_wait(TANK, 1));
    plan->gain[TANK] = fanout + 1;
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    if (!pcoll_plan_begin(plan, 2, 1))
        return PCOLL_ERR_NOMEM;
    build(plan, (struct pcoll_tree){plan->signature.nranks, pcoll_radix(params)}, params->paper);
    return PCOLL_OK;
}

/* With shared cores, the receivers of a star only wait, so the root has its core to itself. */
static double cost_of_crowd(const struct pcoll_signature *signature, struct pcoll_tree tree,
                            const struct pcoll_machine *machine, double crowd)
{
    int depth = pcoll_tree_depth(tree);
    double one = machine->rma + (double)signature->bytes * pcoll_cost_put_rate(signature, machine);
    double level = (tree.radix - 1) * one * (depth > 1 ? crowd : 1);

    return pcoll_cost_waves(signature, machine, depth + 1, 1) + depth * level;
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    int radix = pcoll_radix(params) < signature->nranks ? pcoll_radix(params) : signature->nranks;
    struct pcoll_tree tree = {signature->nranks, radix};
    struct pcoll_hop hop = pcoll_cost_hop(signature, machine, (double)signature->bytes);
    double ready = (pcoll_tree_nchildren(tree, 0) - 1) * hop.in;
    double crowd = pcoll_cost_crowd(signature, machine);

    if (crowd > 1)
        return cost_of_crowd(signature, tree, machine, crowd);
    return pcoll_cost_waves(signature, machine, 1, 1) + ready + pcoll_cost_knomial(tree, hop);
}

const struct pcoll_algorithm pcoll_bcast_knomial_put = {
    .name = "knomial_put",
    .alias = "binomial_put",
    .coll = PCOLL_BCAST,
    .description = "k-nomial tree, parents write to the user buffer",
    .when = "medium and long messages where the sender drives the transfer",
    .generate = generate,
    .cost = cost,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
    .uses_radix = 1,
};
