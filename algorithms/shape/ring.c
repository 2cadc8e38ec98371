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

struct pcoll_ring pcoll_ring_make(const struct pcoll_signature *signature,
                                  const struct pcoll_params *params, uint64_t default_segment)
{
    int slots = params->slots ? params->slots : DEFAULT_SLOTS;
    uint64_t wanted = pcoll_segment_count(signature->bytes, params->segment, default_segment);
    uint64_t nsegments = round_segments(wanted, (uint64_t)slots);
    uint64_t largest = pcoll_quotient(signature->bytes - 1, nsegments) + 1;
    struct pcoll_ring ring = {
        .slots = slots,
        .nsegments = nsegments,
        .slot_bytes = largest <= PCOLL_CELL_BYTES ? 0 : pcoll_whole_lines(largest),
    };

    return ring;
}

struct pcoll_ring pcoll_unit_ring_make(const struct pcoll_signature *signature,
                                       const struct pcoll_params *params, uint64_t default_segment)
{
    const uint64_t unit = pcoll_unit_of(signature);
    struct pcoll_signature units = *signature;
    struct pcoll_params own = *params;
    struct pcoll_ring ring;

    units.bytes /= unit;
    own.segment = (params->segment + unit - 1) / unit;
    ring = pcoll_ring_make(&units, &own, (default_segment + unit - 1) / unit);
    ring.slot_bytes = pcoll_segment_of(units.bytes, ring.nsegments, 0).count * unit;
    return ring;
}

int pcoll_ring_phases(const struct pcoll_ring *ring)
{
    uint64_t slots = (uint64_t)ring->slots;

    return ring->nsegments < slots ? (int)(slots / ring->nsegments) : 1;
}

/* A plan asks for hundreds of uses, so this does without divisions where it can. */
struct pcoll_ring_use pcoll_ring_use(const struct pcoll_ring *ring, uint64_t bytes, int phase,
                                     uint64_t i)
{
    int q = phase * (int)ring->nsegments + (int)i, half = ring->slots / 2;
    int many = ring->nsegments > 1, turn = q < ring->slots ? 0 : q / ring->slots;
    struct pcoll_ring_use use = {
        .part = {0, bytes},
        .slot = q - turn * ring->slots,
        .turn = (uint64_t)turn,
    };

    if (many)
        use.part = pcoll_segment_of(bytes, ring->nsegments, i);
    use.half = use.slot >= half;
    use.opens = many || use.slot == use.half * half;
    use.closes = many || use.slot + 1 == (use.half + 1) * half;
    use.credits = use.turn * (many ? (uint64_t)half : 1);
    return use;
}

uint64_t pcoll_ring_turns(const struct pcoll_ring *ring)
{
    uint64_t slots = (uint64_t)ring->slots;

    return ring->nsegments > slots ? ring->nsegments / slots : 1;
}

uint64_t pcoll_ring_credits(const struct pcoll_ring *ring)
{
    return pcoll_ring_turns(ring) * (ring->nsegments > 1 ? (uint64_t)ring->slots / 2 : 1);
}

struct pcoll_place pcoll_ring_place(const struct pcoll_ring *ring, int slot)
{
    if (ring->slot_bytes == 0)
        return pcoll_at(PCOLL_CELL, (uint64_t)slot * PCOLL_CELL_BYTES);
    return pcoll_at(PCOLL_TEMP, (uint64_t)slot * ring->slot_bytes);
}

void pcoll_ring_return(struct pcoll_plan *plan, const struct pcoll_ring *ring, int phase, int peer)
{
    const struct pcoll_ring_use use = pcoll_ring_use(ring, 0, phase, 0);

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
