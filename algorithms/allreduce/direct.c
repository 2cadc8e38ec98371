/*
 * Allreduce in which every rank gets all vectors and reduces them itself.
 *
 * Idea: short vectors cost next to nothing to reduce, so nothing is gained by sharing the work. Put
 * my vector beside the counter of every peer (cells, if all N - 1 of them fit there) or into its
 * communication buffer; when all have arrived, one REDUCE of N operands, in rank order, gives the
 * result.
 *
 * Source: the all-to-all broadcast of Bruck et al. (1997), followed by a reduction.
 *
 *      N = 5:   rank 0 puts to 1, 2, 3, 4; rank 1 to 2, 3, 4, 0; ...; each reduces 0 * 1 * 2 * 3 *
 * 4
 *
 * Cost: L + N o + N M (copy + reduce); one counter, two banks or more. Condition: completing k
 * needs every rank's start of k, so two banks keep instances apart. In place, the result overwrites
 * what the puts read, so it also waits for these.
 */
#include "algorithms/algorithm.h"
#include "algorithms/cost.h"
#include "algorithms/shape/segment.h"

struct state {
    struct pcoll_plan *plan;
    bool uses_cells;
    uint64_t slot_bytes; /* of one vector in TEMP */
};

static uint64_t others(const struct pcoll_signature *signature)
{
    return (uint64_t)signature->nranks - 1;
}

static bool fits_cells(const struct pcoll_signature *signature)
{
    return signature->bytes <= PCOLL_CELL_BYTES / others(signature);
}

static uint64_t slot_bytes(const struct pcoll_signature *signature)
{
    return pcoll_whole_lines(signature->bytes);
}

static int nbanks_of(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    return pcoll_message_banks(params, !fits_cells(signature));
}

/* Where `receiver` keeps the vector of `sender`. */
static struct pcoll_place slot(const struct state *s, int bank, int receiver, int sender)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const uint64_t number = (uint64_t)(sender - (sender > receiver));

    if (s->uses_cells)
        return pcoll_at(PCOLL_CELL, (uint64_t)bank * PCOLL_CELL_BYTES + number * signature->bytes);
    return pcoll_at(PCOLL_TEMP, ((uint64_t)bank * others(signature) + number) * s->slot_bytes);
}

static void add_puts(const struct state *s, int bank)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const int rank = s->plan->rank, nranks = signature->nranks;

    for (int i = 1; i < nranks; i++) {
        const int peer = (rank + i) % nranks;
        struct pcoll_entry put = pcoll_entry_put(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, 0), peer,
                                                 slot(s, bank, peer, rank), signature->bytes);

        put = pcoll_entry_signal(put, peer, bank, 1);
        pcoll_plan_add(s->plan, signature->in_place ? pcoll_entry_done(put, bank, 1) : put);
    }
}

static void build_phase(const struct state *s, int bank)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const uint64_t all = others(signature) * (signature->in_place ? 2 : 1);
    const int rank = s->plan->rank;

    pcoll_plan_open(s->plan, bank);
    add_puts(s, bank);
    for (int r = 0; r < signature->nranks; r++)
        pcoll_plan_operand(s->plan, r == rank ? pcoll_at(PCOLL_SEND, 0) : slot(s, bank, rank, r));
    pcoll_plan_add(s->plan, pcoll_entry_reduce(s->plan, bank, all, signature->nranks,
                                               pcoll_at(PCOLL_RECV, 0), signature->bytes));
    s->plan->gain[bank] = all;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    if (fits_cells(signature))
        return 0;
    return (uint64_t)nbanks_of(signature, params) * others(signature) * slot_bytes(signature);
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    const int nbanks = nbanks_of(signature, params);
    struct state s = {
        .plan = plan, .uses_cells = fits_cells(signature), .slot_bytes = slot_bytes(signature)};

    if (!pcoll_plan_begin(plan, nbanks, nbanks))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = temp_bytes(signature, params);
    for (int bank = 0; bank < nbanks; bank++)
        build_phase(&s, bank);
    return PCOLL_OK;
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const double peers = signature->nranks - 1, crowd = pcoll_cost_crowd(signature, machine);
    const double vectors = peers * (double)signature->bytes;

    (void)params;
    return pcoll_cost_waves(signature, machine, 1, peers) +
           vectors * crowd * pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP) +
           crowd * (pcoll_cost_node(machine).o + vectors * machine->reduce);
}

const struct pcoll_algorithm pcoll_allreduce_direct = {
    .name = "direct",
    .coll = PCOLL_ALLREDUCE,
    .description = "everybody reduces everything",
    .when = "short vectors on few ranks",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_slots = PCOLL_BANKS,
};
