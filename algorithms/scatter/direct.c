/*
 * Scatter directly between the user buffers, in two forms.
 *
 * Idea: direct_put: every rank tells the root that its receive buffer may be written; when all have
 * done so, the root puts each block to its rank. direct_get: the root tells every rank that its
 * send buffer may be read; each rank gets its block and tells the root "done".
 *
 * Source: the linear scatter of every MPI; put and get as in document 003 (Sugiyama, Nanri),
 * section 4.3.
 *
 *      N = 5, root 0, put:   1, 2, 3, 4 -> 0: ready    0 -> 1, 2, 3, 4: block
 *
 * Cost: put L + N (o + rma + M G) + L; get L + N o + rma + M G + L, between nodes 2 L more for
 * request and answer. One counter, one bank. Condition (lemma C): put: nothing is written before
 * all ranks are ready, and a rank is ready for k + 1 only after it has the block of k, so no
 * "ready" of k + 1 can substitute for a missing one of k. get: the root completes k, and may change
 * its buffer and tell of k + 1, only after "done" from all.
 */
#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/shape/star.h"

enum { COUNTER }; /* of the root: "ready" or "done" of the others; of a rank: block or "ready" */

static int other(const struct pcoll_plan *plan, int i)
{
    return pcoll_absolute(i + 1, plan->signature.root, plan->signature.nranks);
}

static struct pcoll_place block(const struct pcoll_plan *plan, int rank)
{
    return pcoll_at(PCOLL_SEND, (uint64_t)rank * plan->signature.bytes);
}

/* It waits only to let the messages go first. */
static void add_own_copy(struct pcoll_plan *plan, int trigger, uint64_t threshold)
{
    if (!plan->signature.in_place)
        pcoll_plan_add(plan, pcoll_entry_copy(trigger, threshold, block(plan, plan->rank),
                                              pcoll_at(PCOLL_RECV, 0), plan->signature.bytes));
}

static void put_root(struct pcoll_plan *plan)
{
    const int others = plan->signature.nranks - 1;

    for (int i = 0; i < others; i++) {
        const int rank = other(plan, i);
        const struct pcoll_entry put =
            pcoll_entry_put(COUNTER, (uint64_t)others, block(plan, rank), rank,
                            pcoll_at(PCOLL_RECV, 0), plan->signature.bytes);

        pcoll_plan_add(plan, pcoll_entry_signal(put, rank, COUNTER, 1));
    }
    add_own_copy(plan, COUNTER, (uint64_t)others);
    plan->gain[COUNTER] = (uint64_t)others;
}

static void put_other(struct pcoll_plan *plan)
{
    pcoll_plan_add(
        plan, pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), plan->signature.root, COUNTER, 1));
    pcoll_plan_add(plan, pcoll_entry_wait(COUNTER, 1));
    plan->gain[COUNTER] = 1;
}

static void get_root(struct pcoll_plan *plan)
{
    const int others = plan->signature.nranks - 1;

    for (int i = 0; i < others; i++)
        pcoll_plan_add(
            plan, pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), other(plan, i), COUNTER, 1));
    add_own_copy(plan, PCOLL_NONE, 0);
    pcoll_plan_add(plan, pcoll_entry_wait(COUNTER, (uint64_t)others));
    plan->gain[COUNTER] = (uint64_t)others;
}

static void get_other(struct pcoll_plan *plan)
{
    const struct pcoll_entry get =
        pcoll_entry_get(COUNTER, 1, plan->signature.root, block(plan, plan->rank),
                        pcoll_at(PCOLL_RECV, 0), plan->signature.bytes);

    pcoll_plan_add(plan, pcoll_entry_signal(get, plan->signature.root, COUNTER, 1));
    plan->gain[COUNTER] = 1;
}

static enum pcoll_result generate_put(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    (void)params;
    return pcoll_star_generate(plan, put_root, put_other);
}

static enum pcoll_result generate_get(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    (void)params;
    return pcoll_star_generate(plan, get_root, get_other);
}

/* The root's node sends to all others through one port, which serves no other node at the time. */
static struct pcoll_machine port_of_root(const struct pcoll_signature *signature,
                                         const struct pcoll_machine *machine)
{
    return pcoll_cost_leaders(signature, machine);
}

/* In a node the others only yield the core while the root writes. */
static double cost_put(const struct pcoll_signature *signature, const struct pcoll_params *params,
                       const struct pcoll_machine *machine)
{
    const struct pcoll_machine own = port_of_root(signature, machine);
    const struct pcoll_hop hop = pcoll_cost_hop(signature, &own, (double)signature->bytes);
    const double peers = signature->nranks - 1, copy = (double)signature->bytes * machine->copy;
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double turns = crowd > 1 ? crowd * 2 * machine->turn : 0;
    const double ready = own.o + own.L + (peers - 1) * hop.in;
    const double sent = hop.first + (peers - 1) * hop.gap;

    (void)params;
    if (!pcoll_is_over_wire(signature))
        return machine->call + turns + ready + sent + copy;
    return machine->call + turns + ready + pcoll_larger(sent, peers * (own.o + own.rma) + copy);
}

/* In a node ranks that have a core read at the same time if their blocks are long enough. */
static double cost_get(const struct pcoll_signature *signature, const struct pcoll_params *params,
                       const struct pcoll_machine *machine)
{
    const struct pcoll_machine own = port_of_root(signature, machine);
    const double peers = signature->nranks - 1, length = (double)signature->bytes * own.G;
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double tell = pcoll_larger(own.g, own.o), one = own.rma + own.o + length;
    const bool is_wire = pcoll_is_over_wire(signature);
    const double telling = own.o + own.L + (peers - 1) * tell;
    const double readers = pcoll_cost_accessors(machine, peers, (double)signature->bytes);

    (void)params;
    if (crowd > 1 && !is_wire)
        return machine->call + 2 * crowd * machine->turn + telling + own.L +
               peers * (one + own.o) / (readers < machine->cores ? readers : machine->cores);
    if (!is_wire)
        return machine->call + telling + peers * one / readers + own.L;
    return machine->call + pcoll_larger(4 * own.L + 2 * own.o + one +
                                            (peers - 1) * pcoll_larger(tell, own.g + length),
                                        2 * own.L + peers * (2 * own.g + length));
}

const struct pcoll_algorithm pcoll_scatter_direct_put = {
    .name = "direct_put",
    .coll = PCOLL_SCATTER,
    .description = "the root writes to everybody's user buffer",
    .when = "long blocks between few nodes, as a put needs no request",
    .generate = generate_put,
    .cost = cost_put,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
};

const struct pcoll_algorithm pcoll_scatter_direct_get = {
    .name = "direct_get",
    .coll = PCOLL_SCATTER,
    .description = "everybody reads from the root's user buffer",
    .when = "long blocks in a node, as the readers' cores copy",
    .generate = generate_get,
    .cost = cost_get,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
};
