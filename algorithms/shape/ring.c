/* The ring of communication buffers; the contract is in ring.h. */
#include "algorithms/shape/ring.h"

#include "algorithms/number.h"

#define DEFAULT_SLOTS 8

/* Rounds to a number that divides the ring or is a multiple of it. */
static uint64_t round_segments(uint64_t n, uint64_t slots)
{
    uint64_t divisor = 1;

    if (n > slots)
        return pcoll_quotient(n + slots - 1, slots) * slots;
    while (divisor < n)
        divisor *= 2;
    return divisor;
}

/* The slots have room for the longest segment. */
static struct pcoll_ring make(uint64_t bytes, int slots, uint64_t segment, uint64_t fallback)
{
    const uint64_t wanted = pcoll_segment_count(bytes, segment, fallback);
    const uint64_t nsegments = round_segments(wanted, (uint64_t)slots);

    return (struct pcoll_ring){slots, nsegments, pcoll_quotient(bytes - 1, nsegments) + 1};
}

static int slots_of(const struct pcoll_params *params)
{
    return params->slots ? params->slots : DEFAULT_SLOTS;
}

struct pcoll_ring pcoll_ring_make(const struct pcoll_signature *signature,
                                  const struct pcoll_params *params, uint64_t default_segment)
{
    struct pcoll_ring ring =
        make(signature->bytes, slots_of(params), params->segment, default_segment);

    ring.slot_bytes = ring.slot_bytes <= PCOLL_CELL_BYTES ? 0 : pcoll_whole_lines(ring.slot_bytes);
    return ring;
}

struct pcoll_ring pcoll_unit_ring_make(const struct pcoll_signature *signature,
                                       const struct pcoll_params *params, uint64_t default_segment)
{
    const uint64_t unit = pcoll_unit_of(signature), up = unit - 1;
    struct pcoll_ring ring = make(pcoll_quotient(signature->bytes, unit), slots_of(params),
                                  pcoll_quotient(params->segment + up, unit),
                                  pcoll_quotient(default_segment + up, unit));

    ring.slot_bytes *= unit;
    return ring;
}

int pcoll_ring_phases(const struct pcoll_ring *ring)
{
    uint64_t slots = (uint64_t)ring->slots;

    return ring->nsegments < slots ? (int)(slots / ring->nsegments) : 1;
}

uint64_t pcoll_ring_turns(const struct pcoll_ring *ring)
{
    uint64_t slots = (uint64_t)ring->slots;

    return ring->nsegments > slots ? ring->nsegments / slots : 1;
}

struct pcoll_place pcoll_ring_place(const struct pcoll_ring *ring, int slot)
{
    if (ring->slot_bytes == 0)
        return pcoll_at(PCOLL_CELL, (uint64_t)slot * PCOLL_CELL_BYTES);
    return pcoll_at(PCOLL_TEMP, (uint64_t)slot * ring->slot_bytes);
}

/* The size of a vector's place in a slot in TEMP; 0: they are in a cell. */
static uint64_t room(const struct pcoll_ring *ring, int n)
{
    if ((uint64_t)n * ring->slot_bytes <= PCOLL_CELL_BYTES)
        return 0;
    return pcoll_whole_lines(ring->slot_bytes);
}

uint64_t pcoll_vector_ring_bytes(const struct pcoll_ring *ring, int n)
{
    return (uint64_t)ring->slots * (uint64_t)n * room(ring, n);
}

struct pcoll_place pcoll_vector_ring_place(const struct pcoll_ring *ring, int slot, int n, int i)
{
    const uint64_t bytes = room(ring, n), number = (uint64_t)i;

    if (bytes == 0)
        return pcoll_at(PCOLL_CELL, (uint64_t)slot * PCOLL_CELL_BYTES + number * ring->slot_bytes);
    return pcoll_at(PCOLL_TEMP, ((uint64_t)slot * (uint64_t)n + number) * bytes);
}

void pcoll_ring_return(struct pcoll_plan *plan, const struct pcoll_ring *ring, int phase, int peer)
{
    struct pcoll_ring_use use;

    pcoll_ring_use(ring, 0, phase, 0, &use);
    if (use.opens)
        pcoll_plan_add(plan, pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), peer,
                                                pcoll_ring_credit(ring, !use.half), 1));
}

struct pcoll_machine pcoll_ring_machine(const struct pcoll_ring *ring,
                                        const struct pcoll_machine *machine)
{
    struct pcoll_machine own = *machine;
    double waits = 2 * (double)ring->nsegments / ring->slots;

    own.L *= 1 + waits;
    own.turn *= waits;
    return own;
}
