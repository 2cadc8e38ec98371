/*
 * Broadcast down a k-nomial tree by get, directly between the user buffers.
 *
 * Idea: a parent that has the message tells all its children at once; each child gets it and tells
 * the parent "done". The reads of siblings overlap, except in the kernel.
 *
 * Source: document 003 (Sugiyama, Nanri), section 4.3 and equation (2), get. Radix 2 is its
 * binomial tree.
 *
 *      N = 5, radix 2:   0 -> 4, 2, 1    2 -> 3
 *
 * Cost: log_k N times (L + rma + M G), between nodes 2 L more for request and answer, + L; in a
 * node siblings read one after the other, unless memory is mapped, and two ranks share a long copy
 * (pcoll_cost_coop); 2 counters, one bank. Condition:
 * a rank completes k only after the "done" of all its children, so k + 1 can disturb neither its
 * buffer nor the counts of k.
 */
#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/shape/tree.h"

enum { TANK, ACKS };

/* Read from the parent as soon as it has announced the message. */
static void add_get(struct pcoll_plan *plan, struct pcoll_tree tree, int v, int fanout)
{
    const struct pcoll_signature *sig = &plan->signature;
    int up = pcoll_tree_parent(tree, v);
    int parent = pcoll_absolute(up, sig->root, sig->nranks);
    struct pcoll_place from = pcoll_at(up == 0 ? PCOLL_SEND : PCOLL_RECV, 0);
    struct pcoll_entry get =
        pcoll_entry_get(TANK, 1, parent, from, pcoll_at(PCOLL_RECV, 0), sig->bytes);

    get = pcoll_entry_signal(get, parent, ACKS, 1);
    if (fanout > 0)
        get = pcoll_entry_done(get, TANK, 1);
    pcoll_plan_add(plan, get);
}

static void build(struct pcoll_plan *plan, struct pcoll_tree tree)
{
    const struct pcoll_signature *sig = &plan->signature;
    int v = pcoll_relative(plan->rank, sig->root, sig->nranks);
    int fanout = pcoll_tree_nchildren(tree, v);
    struct pcoll_entry tell = v == 0 ? pcoll_entry_add(PCOLL_NONE, 0) : pcoll_entry_add(TANK, 2);

    pcoll_plan_open(plan, 0);
    if (v != 0)
        add_get(plan, tree, v, fanout);
    for (int i = 0; i < fanout; i++) {
        int child = pcoll_absolute(pcoll_tree_child(tree, v, i), sig->root, sig->nranks);

        pcoll_plan_add(plan, pcoll_entry_signal(tell, child, TANK, 1));
    }
    if (fanout > 0)
        pcoll_plan_add(plan, pcoll_entry_wait(ACKS, (uint64_t)fanout));
    plan->gain[TANK] = v == 0 ? 0 : fanout > 0 ? 2 : 1;
    plan->gain[ACKS] = (uint64_t)fanout;
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    if (!pcoll_plan_begin(plan, 2, 1))
        return PCOLL_ERR_NOMEM;
    build(plan, (struct pcoll_tree){plan->signature.nranks, pcoll_radix(params)});
    return PCOLL_OK;
}

/* The time from a rank's announcement to its children until theirs. Over a network a get is a
 * request and an answer, and the gets of several children share the port. In a node they read the
 * same memory, and wait for each other as far as machine->exclusive says. */
static struct pcoll_hop hop_of(const struct pcoll_signature *signature,
                               const struct pcoll_machine *machine)
{
    bool is_wire = pcoll_is_over_wire(signature);
    double length = (double)signature->bytes *
                    pcoll_cost_rate(signature, machine, PCOLL_PATH_USER) *
                    pcoll_cost_coop(signature);
    double tell = machine->g > machine->o ? machine->g : machine->o;
    double answer = is_wire               ? machine->g + length
                    : machine->locked > 0 ? machine->exclusive * (machine->rma + length)
                                          : 0;

    return (struct pcoll_hop){
        .first = machine->o + machine->L + machine->o + machine->rma + length +
                 (is_wire ? 2 * machine->L : 0),
        .gap = answer > tell ? answer : tell,
    };
}

/* A rank's announcements to all its children leave its port before the first answer. */
static double cost_of_telling(struct pcoll_tree tree, const struct pcoll_machine *machine)
{
    double request = 2 * (machine->L + machine->o) + machine->rma, cost = 0;
    int max = pcoll_tree_nchildren(tree, 0);

    for (int depth = 1; depth <= pcoll_tree_depth(tree); depth++) {
        int children = depth * (tree.radix - 1) < max ? depth * (tree.radix - 1) : max;
        double telling = children * machine->g;

        cost += telling > request ? telling - request : 0;
    }
    return cost;
}

/* With shared cores, all reads together take crowd * one, however the tree distributes them, but in
 * a node those of the root's children follow each other. */
static double cost_of_crowd(const struct pcoll_signature *signature, struct pcoll_tree tree,
                            const struct pcoll_machine *machine, double crowd)
{
    int depth = pcoll_tree_depth(tree);
    bool is_one_node = !pcoll_is_over_wire(signature);
    int readers = is_one_node ? 1 : tree.radix - 1; /* number of readers that share the parent's
                                                     * link */
    double one = machine->rma + readers * (double)signature->bytes * machine->G;
    bool is_locked = is_one_node && machine->locked > 0;
    double waits = (pcoll_tree_nchildren(tree, 0) - 1) * machine->exclusive;
    double reads = pcoll_larger(crowd, is_locked ? 1 + waits : depth);

    return pcoll_cost_fans(signature, machine, depth + 1, tree.radix - 1) + reads * one;
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    int radix = pcoll_radix(params) < signature->nranks ? pcoll_radix(params) : signature->nranks;
    struct pcoll_tree tree = {signature->nranks, radix};
    double crowd = pcoll_cost_crowd(signature, machine);
    bool is_wire = pcoll_is_over_wire(signature);

    if (crowd > 1)
        return cost_of_crowd(signature, tree, machine, crowd);
    return pcoll_cost_waves(signature, machine, 1, 1) +
           (is_wire ? cost_of_telling(tree, machine) : 0) +
           pcoll_cost_knomial(tree, hop_of(signature, machine));
}

const struct pcoll_algorithm pcoll_bcast_knomial_get = {
    .name = "knomial_get",
    .alias = "binomial_get",
    .coll = PCOLL_BCAST,
    .description = "k-nomial tree, children read from the user buffer",
    .when = "long messages on few ranks of a node, or in mapped memory, as the readers' cores copy",
    .generate = generate,
    .cost = cost,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
    .uses_radix = 1,
};
