/* How an allgather around a ring cuts blocks, and what it costs; the contract is in ring.h. */
#include "algorithms/allgather/ring.h"

#include <math.h>

#include "algorithms/cost.h"

#define DEFAULT_SEGMENT (UINT64_C(128) << 10)

/* The shortest segment in a flat ring of unequal blocks, where each link would wait for the whole
 * of the largest: no less than a quarter of the average block in the lane, so that there are O(N)
 * segments. */
static uint64_t least_segment(const struct pcoll_signature *signature,
                              const struct pcoll_params *params)
{
    const uint64_t lanes =
        (uint64_t)signature->nranks * (uint64_t)pcoll_lanes(params, signature->bytes);

    return pcoll_block_first(signature, signature->nranks) / (4 * lanes) + 1;
}

uint64_t pcoll_allgather_ring_nsegments(const struct pcoll_signature *signature,
                                        const struct pcoll_params *params, uint64_t bytes)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    const uint64_t all = pcoll_block_first(signature, signature->nranks);
    const int is_flat = teams.topology == NULL;
    const int is_equal = all == (uint64_t)signature->nranks * signature->bytes;
    uint64_t segment = params->segment ? params->segment : DEFAULT_SEGMENT, n, most;

    if (bytes == 0 || (is_flat && is_equal))
        return 1;
    if (is_flat && segment < least_segment(signature, params))
        segment = least_segment(signature, params);
    n = pcoll_segment_count(bytes, segment, DEFAULT_SEGMENT);
    most = PCOLL_MAX_SEGMENTS / (uint64_t)teams.count + 1;
    return n < most ? n : most;
}

uint64_t pcoll_allgather_ring_nsegments_of(const struct pcoll_blocks *blocks,
                                           const struct pcoll_params *params, int team)
{
    return pcoll_allgather_ring_nsegments(blocks->signature, params,
                                          pcoll_blocks_bytes(blocks, team));
}

uint64_t pcoll_allgather_ring_nsegments_of_all(const struct pcoll_blocks *blocks,
                                               const struct pcoll_params *params)
{
    uint64_t n = 0;

    for (int team = 0; team < blocks->teams.count; team++)
        n += pcoll_allgather_ring_nsegments_of(blocks, params, team);
    return n;
}

uint64_t pcoll_allgather_ring_nown(const struct pcoll_signature *signature,
                                   const struct pcoll_params *params, uint64_t block)
{
    if (pcoll_teams_of(signature).topology || params->path == PCOLL_PATH_TEMP ||
        signature->in_place || block == 0)
        return 0;
    return pcoll_segment_count(block, params->segment, PCOLL_ALLGATHER_RING_OWN);
}

/* What passes along a link of the ring. */
struct load {
    double largest; /* bytes of the largest block */
    double segment; /* bytes of its segments; equal blocks are one */
    double items;   /* so many of these take each link as long as all that passes, or the largest
                     * block   as long as its way to the last rank, whichever is longer */
};

static struct load load_of(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const int nranks = signature->nranks, nlanes = pcoll_lanes(params, signature->bytes);
    const double parts = (double)pcoll_allgather_ring_nsegments(
        signature, params, signature->bytes / (uint64_t)nlanes);
    const double all = (double)pcoll_block_first(signature, nranks);
    struct load load = {.largest = (double)signature->bytes};

    load.segment = load.largest / parts;
    load.items = pcoll_larger((all - all / nranks) / load.segment, parts + nranks - 2);
    return load;
}

/* Between user buffers: for its own block a rank waits only for the copy of the first part. */
static double cost_user(const struct pcoll_signature *signature, const struct pcoll_params *params,
                        const struct pcoll_machine *machine)
{
    const struct load load = load_of(signature, params);
    int steps = signature->nranks - 1, nlanes = pcoll_lanes(params, signature->bytes);
    uint64_t nown =
        pcoll_allgather_ring_nown(signature, params, signature->bytes / (uint64_t)nlanes);
    double own = load.largest, segments = nown > 1 ? (double)nown : 1;
    double cached = own <= nlanes * (double)nown * PCOLL_ALLGATHER_RING_OWN ? 0.5 : 1;
    double first = pcoll_larger(segments, own / load.segment);
    double copying = pcoll_is_over_wire(signature)
                         ? pcoll_cost_node(machine).o + own * machine->copy / first
                         : cached * own * machine->copy;
    double work = nlanes * (load.items - 1 + segments) * machine->rma + copying +
                  load.items * load.segment * pcoll_cost_forward(signature, machine) / nlanes;

    return pcoll_cost_waves(signature, machine, steps + 1, 1) +
           pcoll_cost_crowd(signature, machine) * work;
}

/* Through communication buffers: while a segment is in flight, the previous one is copied out.
 * Those of a block follow each other without waiting. */
static double cost_temp(const struct pcoll_signature *signature, const struct pcoll_params *params,
                        const struct pcoll_machine *machine)
{
    const struct load load = load_of(signature, params);
    int steps = signature->nranks - 1, nlanes = pcoll_lanes(params, signature->bytes);
    double crowd = pcoll_cost_crowd(signature, machine), o = crowd * nlanes * machine->o;
    double local = crowd * nlanes * pcoll_cost_node(machine).o; /* to fire a copy */
    double copy = crowd * load.segment * machine->copy;
    double own = 2 * crowd * load.largest * machine->copy;
    double sent = load.segment * pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP) / nlanes;
    double latency = pcoll_cost_wave(signature, machine, 0, 1); /* of a rank that fires nothing */
    double flight = pcoll_is_over_wire(signature) ? latency + sent : latency;
    double work = o + (pcoll_is_over_wire(signature) ? 0 : crowd * sent);
    double step = work + pcoll_larger(flight, copy + local);
    double next = work + pcoll_larger(pcoll_is_over_wire(signature) ? sent : 0, copy + local);

    return machine->call + latency + o + 3 * local + crowd * sent + own + copy +
           (steps - 1) * step + (load.items - steps) * next;
}

static double cost_flat(const struct pcoll_signature *signature, const struct pcoll_params *params,
                        const struct pcoll_machine *machine)
{
    return pcoll_allgather_ring_is_user(params) ? cost_user(signature, params, machine)
                                                : cost_temp(signature, params, machine);
}

/* The largest block of a node is taken to be the average one, or to hold the largest block only. */
static double cost_of_levels(const struct pcoll_signature *signature,
                             const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    const struct pcoll_machine node = pcoll_cost_node(machine);
    int is_user = pcoll_allgather_ring_is_user(params), members = pcoll_ranks_per_node(signature);
    int nlanes = pcoll_lanes(params, signature->bytes);
    double all = (double)pcoll_block_first(signature, signature->nranks), steps = teams.count - 1;
    double own = (double)signature->bytes;
    double block = signature->blocks ? all / teams.count : own * members;
    double largest = pcoll_larger(block, own);
    double segments =
        (double)pcoll_allgather_ring_nsegments(signature, params, (uint64_t)(block / nlanes));
    double parts = nlanes * steps * segments;
    double sent = pcoll_larger(steps * block, largest + (steps - 1) * block / segments);
    double crowd = pcoll_cost_crowd(signature, machine);
    double firing = is_user ? parts * machine->rma : (parts - steps) * machine->o;
    double between = firing + sent * machine->G / nlanes;
    double inside = parts * (is_user ? node.rma : node.o) + all * (is_user ? node.G : node.copy);
    double last = crowd * inside / parts;

    between += pcoll_cost_waves(signature, machine, teams.count - !is_user, 1);
    inside = crowd * inside + pcoll_cost_waves(signature, machine, 1, 1);
    return pcoll_cost_waves(signature, &node, 1 + is_user, 1) + crowd * own * node.copy +
           pcoll_cost_waves(signature, &node, 1, members - 1) + last +
           pcoll_larger(between, inside);
}

double pcoll_allgather_ring_cost(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params,
                                 const struct pcoll_machine *machine)
{
    if (!pcoll_blocks_are_known(signature))
        return INFINITY;
    return pcoll_teams_of(signature).topology ? cost_of_levels(signature, params, machine)
                                              : cost_flat(signature, params, machine);
}
