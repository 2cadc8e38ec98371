/*
 * Broadcast from the root's communication buffers, which all others read.
 *
 * Idea: the root owns a ring of slots. It copies the message into the next slot and tells all other
 * ranks, which copy it from there to their user buffers. Compared with bcast/eager.c, where the
 * root writes to each receiver, the root moves the message only once, whatever the number of ranks;
 * compared with reads from its user buffer, it need not wait until all have read, but may run ahead
 * by the length of the ring.
 *
 * Source: Graham and Shipman, "MPI support for multi-core architectures: optimized shared memory
 * collectives" (2008), the fan-out through shared segments; the ring and its credits are those of
 * bcast/eager.c.
 *
 *      N = 5:   0 -> TEMP of 0 -> 1, 2, 3, 4
 *
 * On the root, data[slot] is raised by its own copy and triggers the signals to all others; on
 * these it is raised by that signal and triggers the read.
 *
 * Cost: M copy at the root, L + M (copy + G) at each other rank, or what all need to read M
 * together; slots + 2 or 4 counters. Condition: a slot is returned after all ranks have read it
 * (ring.h).
 */
#include "algorithms/cost.h"
#include "algorithms/shape/ring.h"

#define DEFAULT_SEGMENT (UINT64_C(64) << 10)

/* The cache that holds the lines is read at a rate that all readers share: 15 of a Xeon got them
 * six times as fast as one rank copies (doc/notes/many-cores.md). */
#define READERS_AT_ONCE 6

static struct pcoll_ring ring_of(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params)
{
    return pcoll_ring_make(signature, params, DEFAULT_SEGMENT);
}

static void add_root_use(struct pcoll_plan *plan, const struct pcoll_ring *ring,
                         const struct pcoll_ring_use *use)
{
    const struct pcoll_signature *sig = &plan->signature;
    uint64_t others = (uint64_t)sig->nranks - 1;
    struct pcoll_entry copy = pcoll_entry_copy(
        use->opens ? pcoll_ring_credit(ring, use->half) : PCOLL_NONE,
        use->opens ? use->turn * others : 0, pcoll_at(PCOLL_SEND, use->segment.first),
        pcoll_ring_place(ring, use->slot), use->segment.count);

    pcoll_plan_add(plan, pcoll_entry_done(copy, use->slot, 1));
    for (int i = 1; i < sig->nranks; i++)
        pcoll_plan_add(plan, pcoll_entry_signal(pcoll_entry_add(use->slot, use->turn + 1),
                                                (sig->root + i) % sig->nranks, use->slot, 1));
}

/* A read that is the only one that counts gives the credit itself. */
static void add_other_use(struct pcoll_plan *plan, const struct pcoll_ring *ring,
                          const struct pcoll_ring_use *use)
{
    const int root = plan->signature.root, credit = pcoll_ring_credit(ring, use->half);
    const int emptied = pcoll_ring_emptied(ring, use);
    const bool is_cut = pcoll_ring_is_cut(ring);
    struct pcoll_entry get =
        pcoll_entry_get(use->slot, use->turn + 1, root, pcoll_ring_place(ring, use->slot),
                        pcoll_at(PCOLL_RECV, use->segment.first), use->segment.count);

    if (is_cut && use->counts) {
        get = pcoll_entry_done(get, emptied, 1);
        plan->gain[emptied]++;
    } else if (use->closes) {
        get = pcoll_entry_signal(get, root, credit, 1);
    }
    pcoll_plan_add(plan, get);
    if (is_cut && use->closes)
        pcoll_plan_add(plan, pcoll_entry_signal(pcoll_entry_add(emptied, plan->gain[emptied]), root,
                                                credit, 1));
}

static void build(struct pcoll_plan *plan, const struct pcoll_ring *ring)
{
    const struct pcoll_signature *sig = &plan->signature;
    bool is_root = plan->rank == sig->root;

    for (int phase = 0; phase < plan->nphases; phase++) {
        pcoll_plan_open(plan, phase);
        for (uint64_t i = 0; i < ring->nsegments; i++) {
            struct pcoll_ring_use use;

            pcoll_ring_use(ring, sig->bytes, phase, i, &use);
            (is_root ? add_root_use : add_other_use)(plan, ring, &use);
        }
    }
    for (int slot = 0; slot < ring->slots; slot++)
        plan->gain[slot] = pcoll_ring_turns(ring);
    for (int half = 0; half < 2 && is_root; half++)
        plan->gain[pcoll_ring_credit(ring, half)] =
            pcoll_ring_turns(ring) * ((uint64_t)sig->nranks - 1);
    plan->temp_bytes = is_root ? pcoll_ring_bytes(ring) : 0;
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_ring ring = ring_of(&plan->signature, params);

    if (!pcoll_plan_begin(plan, pcoll_ring_counters(&ring), pcoll_ring_phases(&ring)))
        return PCOLL_ERR_NOMEM;
    build(plan, &ring);
    return PCOLL_OK;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    struct pcoll_ring ring = ring_of(signature, params);

    return pcoll_ring_bytes(&ring);
}

/* The segments that ranks which share cores copy one after the other. If the root runs
 * ahead, no core waits; otherwise all read when the root has copied. */
static double copies_of_crowd(const struct pcoll_signature *signature,
                              const struct pcoll_ring *ring, const struct pcoll_machine *machine)
{
    const double segments = (double)ring->nsegments;

    return segments * (pcoll_ring_runs_ahead(ring) ? (double)signature->nranks / machine->cores
                                                   : 1 + pcoll_cost_crowd(signature, machine));
}

/* With a core for each, the other ranks must move the data to their caches. The root fills a slot
 * while they read another if it is they who take longer, together. */
static double cost_in_node(const struct pcoll_signature *signature, const struct pcoll_ring *ring,
                           const struct pcoll_machine *machine)
{
    struct pcoll_machine own = pcoll_ring_machine(ring, machine);
    double segments = (double)ring->nsegments, crowd = pcoll_cost_crowd(signature, machine);
    double segment = (double)signature->bytes / segments, others = signature->nranks - 1;
    double fill = segment * machine->copy + machine->o;
    double alone = fill + machine->L + segment * machine->G;
    double together = others / READERS_AT_ONCE * segment * machine->copy;

    if (crowd > 1)
        return machine->call + crowd * own.turn +
               copies_of_crowd(signature, ring, machine) * (fill + machine->o);
    return pcoll_cost_fans(signature, &own, 1, others) + fill +
           segments * pcoll_larger(alone, together);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    struct pcoll_ring ring = ring_of(signature, params);
    struct pcoll_machine own = pcoll_ring_machine(&ring, machine);
    double segments = (double)ring.nsegments, segment = (double)signature->bytes / segments;
    double fill = segment * machine->copy + pcoll_cost_node(machine).o;
    double get = machine->rma + 2 * machine->L;                   /* request and answer */
    double move = segment * machine->G * (signature->nranks - 1); /* all data leaves through the
                                                                   * root's link */

    if (!pcoll_is_over_wire(signature))
        return cost_in_node(signature, &ring, machine);
    return pcoll_cost_fans(signature, &own, 1, signature->nranks - 1) + fill +
           segments * (fill + get + move);
}

const struct pcoll_algorithm pcoll_bcast_shared = {
    .name = "shared",
    .coll = PCOLL_BCAST,
    .description = "all read the root's communication buffers",
    .when = "one node with many ranks, which wait for nothing but the root",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
    .uses_slots = PCOLL_RING,
};
