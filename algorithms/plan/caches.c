#include "algorithms/plan/caches.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t share_of(const struct pcoll_caches *caches)
{
    return caches->sharers > 0 ? caches->last / (uint64_t)caches->sharers : 0;
}

void pcoll_caches_tell(const struct pcoll_caches *caches, struct pcoll_machine *machine)
{
    const uint64_t share = share_of(caches);

    if (caches->own > 0)
        machine->own = (double)caches->own / MIB;
    if (share == 0)
        return;
    machine->share = (double)share / MIB;
    machine->cache = 3 * (double)caches->last / MIB;
}

bool pcoll_is_own_data(const struct pcoll_machine *machine, uint64_t bytes)
{
    return machine->own == 0 || (double)(bytes + PCOLL_FAR_BYTES) <= machine->own * MIB;
}

bool pcoll_is_evicted(const struct pcoll_machine *machine, uint64_t piece)
{
    return machine->own > 0 && (double)piece >= machine->own * MIB;
}

/* Half of a core's share of the last cache: the users' data needs the other half. Longer rings than
 * 2 MiB were not faster anywhere. */
static uint64_t ring_of(double share)
{
    const uint64_t most = 2 * MIB;

    return share > 0 ? lesser((uint64_t)(share * MIB) / 2, most) : most;
}

/* A power of two, as all candidates are. */
static uint64_t segment_of(uint64_t ring)
{
    uint64_t segment = 4 * KIB;

    while (2 * segment * PCOLL_MAX_RING_SLOTS <= ring)
        segment *= 2;
    return segment;
}

struct pcoll_limits pcoll_limits_of(const struct pcoll_machine *machine)
{
    const uint64_t ring = ring_of(machine->share);

    return (struct pcoll_limits){
        .ring = ring,
        .banks = 2 * ring, /* two for 26 neighbors of 64 KiB are as long as that */
        .segment = segment_of(ring),
    };
}

/* Source and target together may fill half of a core's share of the last cache, or four times the
 * core's own cache if that is more. */
size_t pcoll_long_copy(const struct pcoll_caches *caches)
{
    const uint64_t usual = 4 * MIB, share = share_of(caches);

    if (caches->own == 0 || share == 0)
        return (size_t)usual;
    return (size_t)(share / 4 > 2 * caches->own ? share / 4 : 2 * caches->own);
}
