/*
 * Scatter directly between the user buffers, in two forms.
 *
 * Idea: direct_put: every rank tells the root that its receive buffer may be written; when all have
 * done so, the root puts each block to its rank. direct_get: the root tells every rank that its
 * send buffer may be read; each rank gets its block and tells the root "done". Readers of one
 * process wait for each other, so with a radix below N the root meanwhile writes to each
 * radix-th rank: when these are ready, it puts their blocks into communication buffers, and they
 * copy them out.
 *
 * Source: the linear scatter of every MPI; put and get as in document 003 (Sugiyama, Nanri),
 * section 4.3.
 *
 *      N = 5, root 0, put:   1, 2, 3, 4 -> 0: ready    0 -> 1, 2, 3, 4: block
 *      get, radix 2:         0 -> 1, 3: ready    2, 4 -> 0: ready    0 -> 2, 4: block
 *
 * Cost: put L + N (o + rma + M G) + L; get L + N o + rma + M G + L, between nodes 2 L more for
 * request and answer; with radix r the longer of N / r (o + M copy) and this for the others.
 * One counter, or two with a radix; one bank. Condition (lemma C): put: nothing is written before
 * all ranks are ready, and a rank is ready for k + 1 only after it has the block of k, so no
 * "ready" of k + 1 can substitute for a missing one of k. get: the root completes k, and may change
 * its buffer and tell of k + 1, only after "done" from all. With a radix, the first argument holds
 * for the ranks that the root writes to and the second for the readers, as each have a counter of
 * the root.
 */
#include "algorithms/cost.h"
#include "algorithms/number.h"
#include "algorithms/shape/star.h"

/* COUNTER of the root: "ready" or "done" of the others; of a rank: block or "ready". READY of the
 * root: "ready" of the ranks that it writes to while others read. */
enum { COUNTER, READY };

/* The distance between ranks that the root writes to; 0: it writes to none. */
static int stride_of(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    return params->radix < signature->nranks ? params->radix : 0;
}

static int count_written(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    const int each = stride_of(signature, params);

    return each > 0 ? (signature->nranks - 1) / each : 0;
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

/* To `count` ranks, `each` apart, when all of them are ready. */
static void add_puts(struct pcoll_plan *plan, int counter, int each, int count,
                     struct pcoll_place to)
{
    const struct pcoll_signature *sig = &plan->signature;

    for (int i = 1; i <= count; i++) {
        const int rank = pcoll_absolute(i * each, sig->root, sig->nranks);
        const struct pcoll_entry put =
            pcoll_entry_put(counter, (uint64_t)count, block(plan, rank), rank, to, sig->bytes);

        pcoll_plan_add(plan, pcoll_entry_signal(put, rank, COUNTER, 1));
    }
    add_own_copy(plan, counter, (uint64_t)count);
    plan->gain[counter] = (uint64_t)count;
}

static void tell(struct pcoll_plan *plan, int rank, int counter)
{
    pcoll_plan_add(plan, pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), rank, counter, 1));
}

static void put_root(struct pcoll_plan *plan)
{
    add_puts(plan, COUNTER, 1, plan->signature.nranks - 1, pcoll_at(PCOLL_RECV, 0));
}

static void put_other(struct pcoll_plan *plan)
{
    tell(plan, plan->signature.root, COUNTER);
    pcoll_plan_add(plan, pcoll_entry_wait(COUNTER, 1));
    plan->gain[COUNTER] = 1;
}

static void get_root(struct pcoll_plan *plan, int each, int written)
{
    const struct pcoll_signature *sig = &plan->signature;
    const uint64_t readers = (uint64_t)(sig->nranks - 1 - written);

    for (int i = 1; i < sig->nranks; i++)
        if (each == 0 || i % each != 0)
            tell(plan, pcoll_absolute(i, sig->root, sig->nranks), COUNTER);
    if (written > 0)
        add_puts(plan, READY, each, written, pcoll_at(PCOLL_TEMP, 0));
    else
        add_own_copy(plan, PCOLL_NONE, 0);
    pcoll_plan_add(plan, pcoll_entry_wait(COUNTER, readers));
    plan->gain[COUNTER] = readers;
}

static void get_other(struct pcoll_plan *plan)
{
    const struct pcoll_entry get =
        pcoll_entry_get(COUNTER, 1, plan->signature.root, block(plan, plan->rank),
                        pcoll_at(PCOLL_RECV, 0), plan->signature.bytes);

    pcoll_plan_add(plan, pcoll_entry_signal(get, plan->signature.root, COUNTER, 1));
    plan->gain[COUNTER] = 1;
}

static void get_written(struct pcoll_plan *plan)
{
    const uint64_t bytes = plan->signature.bytes;

    tell(plan, plan->signature.root, READY);
    pcoll_plan_add(plan, pcoll_entry_copy(COUNTER, 1, pcoll_at(PCOLL_TEMP, 0),
                                          pcoll_at(PCOLL_RECV, 0), bytes));
    plan->gain[COUNTER] = 1;
    plan->temp_bytes = bytes;
}

static enum pcoll_result generate_put(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    (void)params;
    return pcoll_star_generate(plan, put_root, put_other);
}

static enum pcoll_result generate_get(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *sig = &plan->signature;
    const int each = stride_of(sig, params), written = count_written(sig, params);
    const int relative = pcoll_relative(plan->rank, sig->root, sig->nranks);

    if (!pcoll_plan_begin(plan, relative == 0 && written > 0 ? 2 : 1, 1))
        return PCOLL_ERR_NOMEM;
    pcoll_plan_open(plan, 0);
    if (relative == 0)
        get_root(plan, each, written);
    else if (each > 0 && relative % each == 0)
        get_written(plan);
    else
        get_other(plan);
    return PCOLL_OK;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return count_written(signature, params) > 0 ? signature->bytes : 0;
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
    const double peers = signature->nranks - 1, copy = (double)signature->bytes * machine->kept;
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
static double cost_of_readers(const struct pcoll_signature *signature,
                              const struct pcoll_machine *machine, double peers)
{
    const struct pcoll_machine own = port_of_root(signature, machine);
    const double bytes = (double)signature->bytes, length = bytes * own.G;
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double tell = pcoll_larger(own.g, own.o), one = own.rma + own.o + length;
    const bool is_wire = pcoll_is_over_wire(signature);
    const double telling = own.o + own.L + (peers - 1) * tell;
    const double readers =
        pcoll_lesser(pcoll_cost_accessors(machine, signature->nranks - 1, bytes), peers);

    if (crowd > 1 && !is_wire)
        return machine->call + 2 * crowd * machine->turn + telling + own.L +
               peers * (one + own.o) / (readers < machine->cores ? readers : machine->cores);
    if (!is_wire)
        return machine->call + telling + peers * one / readers + own.L;
    return machine->call + pcoll_larger(4 * own.L + 2 * own.o + one +
                                            (peers - 1) * pcoll_larger(tell, own.g + length),
                                        2 * own.L + peers * (2 * own.g + length));
}

/* The last rank copies its block out when the root copies its own. */
static double cost_of_written(const struct pcoll_signature *signature,
                              const struct pcoll_machine *machine, double written)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const double one = machine->o + (double)signature->bytes * node.copy;

    return machine->call + 2 * machine->L + machine->o + (written - 1) * machine->arrival +
           (written + 1) * one;
}

/* Nothing is gained between nodes, where both share the root's port, nor where ranks share cores.
 */
static double cost_get(const struct pcoll_signature *signature, const struct pcoll_params *params,
                       const struct pcoll_machine *machine)
{
    const double others = signature->nranks - 1, written = count_written(signature, params);
    const double writing = written > 0 ? cost_of_written(signature, machine, written) : 0;

    if (pcoll_is_over_wire(signature) || pcoll_cost_crowd(signature, machine) > 1)
        return cost_of_readers(signature, machine, others) + writing;
    return pcoll_larger(cost_of_readers(signature, machine, others - written), writing);
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
    .description =
        "everybody reads from the root's user buffer; with a radix, the root writes to each "
        "radix-th rank meanwhile",
    .when = "long blocks in a node, as the readers' cores copy",
    .generate = generate_get,
    .cost = cost_get,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_USER,
    .uses_radix = 1,
};
