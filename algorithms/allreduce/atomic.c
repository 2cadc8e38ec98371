/*
 * Allreduce in which the network reduces.
 *
 * Idea: every rank has an accumulator, into which all others reduce their vectors (libfabric:
 * FI_ATOMIC), in the order of arrival. When all N - 1 are there, a REDUCE of the accumulator and
 * the rank's own vector gives the result. Then a COPY of the identity resets the accumulator.
 *
 * Source: the scheme of direct.c, with one atomic operation of the network in place of each put.
 *
 *      N = 5:   rank 0 accumulates at 1, 2, 3, 4; rank 1 at 2, 3, 4, 0; ...; rank 0 then reduces
 *               (1 * 2 * 3 * 4) * 0, with the first four in any order
 *
 * Cost: L + N o, one REDUCE and one COPY; one counter and one accumulator in each of two banks.
 * When: an operator that is exact, on a network that has it, and vectors of one or two elements.
 *
 * Condition: completing k needs every rank's start of k. A rank that accumulates for k + 2 has
 * completed k + 1, which needs what this rank accumulated for k + 1, after it had completed k: its
 * accumulator of k, in the same bank, had been reset by then. A rank that accumulates for k + 1
 * uses the other bank. In place, the result overwrites what the others are given, so it also waits
 * for that to be done.
 */
#include "algorithms/algorithm.h"
#include "algorithms/cost.h"

enum { BANKS = 2 };

/* The accumulator of a bank; behind the last one lies the identity. Each begins with a unit. */
static struct pcoll_place accumulator(const struct pcoll_signature *signature, int bank)
{
    const uint64_t unit = signature->unit ? signature->unit : 1;
    const uint64_t units = (pcoll_whole_lines(signature->bytes) + unit - 1) / unit;

    return pcoll_at(PCOLL_TEMP, (uint64_t)bank * units * unit);
}

static void build_phase(struct pcoll_plan *plan, int bank)
{
    const struct pcoll_signature *signature = &plan->signature;
    const struct pcoll_place here = accumulator(signature, bank), send = pcoll_at(PCOLL_SEND, 0);
    const int nranks = signature->nranks;
    const uint64_t others = (uint64_t)nranks - 1, all = others * (signature->in_place ? 2 : 1);
    struct pcoll_entry reduce;

    pcoll_plan_open(plan, bank);
    for (int i = 1; i < nranks; i++) {
        const int peer = (plan->rank + i) % nranks;
        struct pcoll_entry entry =
            pcoll_entry_accumulate(PCOLL_NONE, 0, send, peer, here, signature->bytes);

        entry = pcoll_entry_signal(entry, peer, bank, 1);
        pcoll_plan_add(plan, signature->in_place ? pcoll_entry_done(entry, bank, 1) : entry);
    }
    pcoll_plan_operand(plan, here);
    pcoll_plan_operand(plan, send);
    reduce = pcoll_entry_reduce(plan, bank, all, 2, pcoll_at(PCOLL_RECV, 0), signature->bytes);
    pcoll_plan_add(plan, pcoll_entry_done(reduce, bank, 1));
    pcoll_plan_add(plan, pcoll_entry_copy(bank, all + 1, accumulator(signature, BANKS), here,
                                          signature->bytes));
    plan->gain[bank] = all + 1;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    (void)params;
    return accumulator(signature, BANKS + 1).offset;
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    struct pcoll_plan *plan;
    enum pcoll_result result = pcoll_plan_create(signature, rank, "atomic", BANKS, BANKS, &plan);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    plan->temp_bytes = temp_bytes(signature, params);
    for (int bank = 0; bank < BANKS; bank++)
        build_phase(plan, bank);
    *plan_p = plan;
    return pcoll_plan_seal(plan_p);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const double peers = signature->nranks - 1, bytes = (double)signature->bytes;

    (void)params;
    return pcoll_cost_waves(signature, machine, 1, peers) +
           peers * bytes * pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP) +
           pcoll_cost_crowd(signature, machine) * (2 * node.o + bytes * (node.reduce + node.copy));
}

const struct pcoll_algorithm pcoll_allreduce_atomic = {
    .name = "atomic",
    .coll = PCOLL_ALLREDUCE,
    .description = "the network reduces what arrives, for operators that are exact",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .must_commute = PCOLL_EXACT,
    .accumulates = 1,
};
