/*
 * Gather directly between the user buffers, in two forms.
 *
 * Idea: direct: the root tells every rank that its receive buffer may be written; each rank then
 * puts its block to its place and thereby signals the root, which waits for all. direct_get: every
 * rank tells the root that its send buffer may be read; when all have done so, the root gets each
 * block and tells its rank "done".
 *
 * Source: the linear gather of every MPI; put and get as in document 003 (Sugiyama, Nanri),
 * section 4.3.
 *
 *      N = 5, root 0, put:   0 -> 1, 2, 3, 4: ready    1, 2, 3, 4 -> 0: block
 *
 * Cost: put 2 L + N (o + rma + M (G + put)) in a node, where the kernel lets one write at a time
 * (several if blocks are long: pcoll_cost_accessors); between nodes the blocks share the root's
 * port, N M G. get 2 L + N (2 o + rma + M G), between nodes 2 L more for request and answer. One
 * counter, one bank. Condition (lemma C): put: no rank writes k before the root has started k, and
 * the root tells of k + 1 only after all blocks of k have arrived; so neither "ready" nor the
 * arrivals of k + 1 can substitute for those of k. get: nothing is read before all ranks have
 * started k, and a rank tells of k + 1 only after the root is done with its block of k.
 */
#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/shape/star.h"

/* Of the root: blocks that have arrived, or buffers that may be read; of other ranks: "ready", or
 * "done". */
enum { COUNTER };

static struct pcoll_place block(const struct pcoll_plan *plan, int rank)
{
    return pcoll_at(PCOLL_RECV, (uint64_t)rank * plan->signature.bytes);
}

static void add_own_copy(struct pcoll_plan *plan)
{
    if (!plan->signature.in_place)
        pcoll_plan_add(plan, pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0),
                                              block(plan, plan->rank), plan->signature.bytes));
}

static void put_root(struct pcoll_plan *plan)
{
    const struct pcoll_signature *sig = &plan->signature;
    const uint64_t others = (uint64_t)sig->nranks - 1;

    for (int i = 1; i < sig->nranks; i++)
        pcoll_plan_add(plan,
                       pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0),
                                          pcoll_absolute(i, sig->root, sig->nranks), COUNTER, 1));
    add_own_copy(plan);
    pcoll_plan_add(plan, pcoll_entry_wait(COUNTER, others));
    plan->gain[COUNTER] = others;
}

static void put_other(struct pcoll_plan *plan)
{
    const struct pcoll_signature *sig = &plan->signature;
    const struct pcoll_entry put = pcoll_entry_put(COUNTER, 1, pcoll_at(PCOLL_SEND, 0), sig->root,
                                                   block(plan, plan->rank), sig->bytes);

    pcoll_plan_add(plan, pcoll_entry_signal(put, sig->root, COUNTER, 1));
    plan->gain[COUNTER] = 1;
}

static void get_root(struct pcoll_plan *plan)
{
    const struct pcoll_signature *sig = &plan->signature;
    const uint64_t others = (uint64_t)sig->nranks - 1;

    add_own_copy(plan);
    for (int i = 1; i < sig->nranks; i++) {
        const int rank = pcoll_absolute(i, sig->root, sig->nranks);
        const struct pcoll_entry get = pcoll_entry_get(
            COUNTER, others, rank, pcoll_at(PCOLL_SEND, 0), block(plan, rank), sig->bytes);

        pcoll_plan_add(plan, pcoll_entry_signal(get, rank, COUNTER, 1));
    }
    plan->gain[COUNTER] = others;
}

static void get_other(struct pcoll_plan *plan)
{
    pcoll_plan_add(
        plan, pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), plan->signature.root, COUNTER, 1));
    pcoll_plan_add(plan, pcoll_entry_wait(COUNTER, 1));
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

/* Ranks that share cores write one after the other, and those on different cores at the same time:
 * on two cores writers do not wait for each other as readers do (doc/notes/many-cores.md). */
static double cost_of_crowd(const struct pcoll_signature *signature,
                            const struct pcoll_machine *machine)
{
    double peers = signature->nranks - 1;
    double one = machine->rma + (double)signature->bytes * pcoll_cost_put_rate(signature, machine);

    return pcoll_cost_waves(signature, machine, 2, 1) +
           peers * (2 * machine->o + one) / machine->cores +
           (double)signature->bytes * machine->kept;
}

static double cost_put(const struct pcoll_signature *signature, const struct pcoll_params *params,
                       const struct pcoll_machine *machine)
{
    const struct pcoll_machine own = pcoll_cost_leaders(signature, machine);
    struct pcoll_hop hop = pcoll_cost_hop(signature, &own, (double)signature->bytes);
    double peers = signature->nranks - 1, length = (double)signature->bytes * own.G;
    double telling = (peers - 1) * pcoll_larger(own.g, own.o);
    double turns = peers / pcoll_cost_accessors(machine, peers, (double)signature->bytes);
    bool is_wire = pcoll_is_over_wire(signature);
    double arriving = is_wire ? (peers - 1) * (own.g + length) : (turns - 1) * (own.rma + length);

    (void)params;
    if (!is_wire && pcoll_cost_crowd(signature, machine) > 1)
        return cost_of_crowd(signature, machine);
    return machine->call + own.o + own.L + hop.first + pcoll_larger(telling, arriving);
}

const struct pcoll_algorithm pcoll_gather_direct = {
    .name = "direct",
    .alias = "linear",
    .coll = PCOLL_GATHER,
    .description = "everybody writes to the root's user buffer",
    .when = "long blocks over a network",
    .generate = generate_put,
    .cost = cost_put,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
};

/* Over a network a get takes a request more than a put: roughly, which suffices, as put is no
 * slower. In a node the others only yield the core while the root reads. */
static double cost_get(const struct pcoll_signature *signature, const struct pcoll_params *params,
                       const struct pcoll_machine *machine)
{
    const double peers = signature->nranks - 1, bytes = (double)signature->bytes;
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double turns = crowd > 1 ? crowd * 2 * machine->turn : 0;

    if (pcoll_is_over_wire(signature))
        return cost_put(signature, params, machine) + 2 * machine->L;
    return machine->call + turns + 2 * machine->L + machine->o +
           peers * (machine->o + machine->rma + bytes * machine->G) + bytes * machine->kept;
}

const struct pcoll_algorithm pcoll_gather_direct_get = {
    .name = "direct_get",
    .coll = PCOLL_GATHER,
    .description = "the root reads everybody's user buffer",
    .when =
        "long blocks of few ranks of a node, as the root copies them into buffers in its caches",
    .generate = generate_get,
    .cost = cost_get,
    .temp_bytes = pcoll_no_temp,
    .paths = PCOLL_PATH_BIT_USER,
};
