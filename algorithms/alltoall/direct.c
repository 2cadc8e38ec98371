/*
 * Alltoall in which every rank writes to every other one directly.
 *
 * Idea: nothing is forwarded. Rank p writes to p + 1, p + 2, ... in this order, so that no rank is
 * written to by all at the same time. There are three forms:
 *
 *   cells  (path temp, N * M <= PCOLL_CELL_BYTES) put each block beside its receiver's counter;
 *          when all N - 1 have arrived, copy them out.
 *   temp   (path temp) the same through communication buffers.
 *   user   (path user) tell every rank that my receive buffer may be written; when all have told
 *          me, put each block to its place in the receiver's user buffer.
 *
 * Source: the spread-out algorithm of Bruck et al. (1997); counters as in document 001.
 *
 *      N = 5:   rank 0 writes to 1, 2, 3, 4; rank 1 to 2, 3, 4, 0; ...
 *
 * Cost: L + N (o + M G) + N M copy (cells, temp), 2 L + N (2 o + rma + M G) (user); one counter,
 * two banks. When: temp for short blocks, user for long ones. Condition (lemma A): completing k
 * needs every rank's start of k, as a block comes from each, so two banks of counters and buffers
 * keep instances apart. user: a signal of "ready" weighs N, so that the N - 1 blocks, which weigh 1
 * each, cannot substitute for it.
 */
#include "algorithms/algorithm.h"
#include "algorithms/cost.h"

enum form { CELLS, TEMP, USER };

static enum form form_of(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    uint64_t all = signature->bytes * (uint64_t)signature->nranks;

    if (params->path == PCOLL_PATH_USER)
        return USER;
    return all <= PCOLL_CELL_BYTES ? CELLS : TEMP;
}

static int peer_of(const struct pcoll_plan *plan, int i)
{
    return (plan->rank + 1 + i) % plan->signature.nranks;
}

static uint64_t blocks(const struct pcoll_plan *plan, int count)
{
    return (uint64_t)count * plan->signature.bytes;
}

/* Where block `rank` arrives. */
static struct pcoll_place arrival(const struct pcoll_plan *plan, enum form form, int bank, int rank)
{
    switch (form) {
        case CELLS:
            return pcoll_at(PCOLL_CELL, (uint64_t)bank * PCOLL_CELL_BYTES + blocks(plan, rank));
        case TEMP:
            return pcoll_at(PCOLL_TEMP, (uint64_t)bank * blocks(plan, plan->signature.nranks) +
                                            blocks(plan, rank));
        default:
            return pcoll_at(PCOLL_RECV, blocks(plan, rank));
    }
}

static void add_puts(struct pcoll_plan *plan, enum form form, int bank, int trigger,
                     uint64_t threshold)
{
    for (int i = 0; i < plan->signature.nranks - 1; i++) {
        const int peer = peer_of(plan, i);
        const struct pcoll_entry put =
            pcoll_entry_put(trigger, threshold, pcoll_at(PCOLL_SEND, blocks(plan, peer)), peer,
                            arrival(plan, form, bank, plan->rank), plan->signature.bytes);

        pcoll_plan_add(plan, pcoll_entry_signal(put, peer, bank, 1));
    }
}

static void add_own_copy(struct pcoll_plan *plan)
{
    pcoll_plan_add(plan,
                   pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, blocks(plan, plan->rank)),
                                    pcoll_at(PCOLL_RECV, blocks(plan, plan->rank)),
                                    plan->signature.bytes));
}

/* Blocks [first, end). */
static void add_copy_out(struct pcoll_plan *plan, enum form form, int bank, int first, int end)
{
    const uint64_t arrived = (uint64_t)plan->signature.nranks - 1;

    if (first < end)
        pcoll_plan_add(plan, pcoll_entry_copy(bank, arrived, arrival(plan, form, bank, first),
                                              pcoll_at(PCOLL_RECV, blocks(plan, first)),
                                              blocks(plan, end - first)));
}

static void build_temp(struct pcoll_plan *plan, enum form form, int bank)
{
    add_puts(plan, form, bank, PCOLL_NONE, 0);
    add_own_copy(plan);
    add_copy_out(plan, form, bank, 0, plan->rank);
    add_copy_out(plan, form, bank, plan->rank + 1, plan->signature.nranks);
    plan->gain[bank] = (uint64_t)plan->signature.nranks - 1;
}

static void build_user(struct pcoll_plan *plan, int bank)
{
    const uint64_t nranks = (uint64_t)plan->signature.nranks, ready = nranks * (nranks - 1);

    for (int i = 0; i < plan->signature.nranks - 1; i++)
        pcoll_plan_add(plan, pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), peer_of(plan, i),
                                                bank, nranks));
    add_own_copy(plan);
    add_puts(plan, USER, bank, bank, ready);
    pcoll_plan_add(plan, pcoll_entry_wait(bank, ready + nranks - 1));
    plan->gain[bank] = ready + nranks - 1;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    if (form_of(signature, params) != TEMP)
        return 0;
    return 2 * (uint64_t)signature->nranks * signature->bytes;
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    const enum form form = form_of(signature, params);
    enum pcoll_result result = pcoll_plan_create(signature, rank, "direct", 2, 2, plan_p);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    (*plan_p)->temp_bytes = temp_bytes(signature, params);
    for (int phase = 0; phase < 2; phase++) {
        pcoll_plan_open(*plan_p, phase);
        if (form == USER)
            build_user(*plan_p, phase);
        else
            build_temp(*plan_p, form, phase);
    }
    return pcoll_plan_seal(plan_p);
}

/* Over a network a rank's blocks leave its node's port one after the other; in a node each rank
 * writes with its own core. */
static double cost_of_puts(const struct pcoll_signature *signature,
                           const struct pcoll_machine *machine, enum form form)
{
    const double peers = signature->nranks - 1, crowd = pcoll_cost_crowd(signature, machine);
    const double bytes = (double)signature->bytes, o = crowd * machine->o;
    const double rma = form == USER ? crowd * machine->rma : 0;
    const double share = pcoll_is_over_wire(signature) ? pcoll_cost_share(signature) / peers : 1;
    const double port = pcoll_larger(machine->g * share, o + rma) + bytes * machine->G * share;

    if (pcoll_is_over_wire(signature))
        return pcoll_cost_wave(signature, machine, 0, 1) + o + rma + peers * port;
    return pcoll_cost_wave(signature, machine, peers, 1) +
           peers * (rma + crowd * bytes * (form == USER ? machine->G : machine->copy));
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const enum form form = form_of(signature, params);
    const double peers = signature->nranks - 1, crowd = pcoll_cost_crowd(signature, machine);
    const double own = (double)signature->bytes * machine->copy;
    const double out = form == USER ? 0 : peers * own + 2 * machine->o;

    return machine->call + cost_of_puts(signature, machine, form) + crowd * (own + out) +
           (form == USER ? pcoll_cost_wave(signature, machine, peers, 1) : 0);
}

const struct pcoll_algorithm pcoll_alltoall_direct = {
    .name = "direct",
    .alias = "scattered",
    .coll = PCOLL_ALLTOALL,
    .description = "everybody writes to everybody",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_USER | PCOLL_PATH_BIT_TEMP,
};
