/* How an allgather around a ring cuts blocks, and what it costs; the contract is in ring.h. */
#include "algorithms/allgather/ring.h"

#include <math.h>

#include "algorithms/cost.h"

#define DEFAULT_SEGMENT (UINT64_C(128) << 10)

/* Unequal blocks need segments in a flat ring, too: the largest would keep each link waiting. If it
 * goes in segments of the average, no link waits for it longer than for others. */
uint64_t pcoll_allgather_ring_nsegments(const struct pcoll_signature *signature,
                                        const struct pcoll_params *params, uint64_t bytes)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    const uint64_t nranks = (uint64_t)signature->nranks;
    uint64_t segment = params->segment ? params->segment : DEFAULT_SEGMENT, n, most, average;

    if (bytes == 0 || (teams.topology == NULL && signature->blocks == NULL))
        return 1;
    if (teams.topology == NULL) {
        average = (pcoll_block_first(signature, signature->nranks) - 1) / nranks;
        average = average / (uint64_t)pcoll_lanes(params, signature->bytes) + 1;
        segment = segment > average ? segment : average;
    }
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

/* Between user buffers: for its own block a rank waits only for the copy of the first segment. */
static double cost_user(const struct pcoll_signature *signature, const struct pcoll_params *params,
                        const struct pcoll_machine *machine)
{
    int steps = signature->nranks - 1, nlanes = pcoll_lanes(params, signature->bytes);
    uint64_t nown =
        pcoll_allgather_ring_nown(signature, params, signature->bytes / (uint64_t)nlanes);
    double own = (double)signature->bytes, segments = nown > 1 ? (double)nown : 1;
    double cached = own <= nlanes * (double)nown * PCOLL_ALLGATHER_RING_OWN ? 0.5 : 1;
    double copying = pcoll_is_over_wire(signature) ? machine->o + own * machine->copy / segments
                                                   : cached * own * machine->copy;
    double work = nlanes * (steps - 1 + segments) * machine->rma + copying +
                  steps * own * pcoll_cost_forward(signature, machine) / nlanes;

    return pcoll_cost_waves(signature, machine, steps + 1, 1) +
           pcoll_cost_crowd(signature, machine) * work;
}

/* Through communication buffers: while a block is in flight, the previous one is copied out. */
static double cost_temp(const struct pcoll_signature *signature, const struct pcoll_params *params,
                        const struct pcoll_machine *machine)
{
    int steps = signature->nranks - 1, nlanes = pcoll_lanes(params, signature->bytes);
    double own = (double)signature->bytes, crowd = pcoll_cost_crowd(signature, machine);
    double copy = crowd * own * machine->copy, o = crowd * nlanes * machine->o;
    double sent = own * pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP) / nlanes;
    double latency = pcoll_cost_wave(signature, machine, 0, 1); /* of a rank that fires nothing */
    double flight = pcoll_is_over_wire(signature) ? latency + sent : latency;
    double step = o + (pcoll_is_over_wire(signature) ? 0 : crowd * sent) +
                  (flight > copy + o ? flight : copy + o);

    return machine->call + latency + 4 * o + crowd * sent + 3 * copy + (steps - 1) * step;
}

static double cost_flat(const struct pcoll_signature *signature, const struct pcoll_params *params,
                        const struct pcoll_machine *machine)
{
    return pcoll_allgather_ring_is_user(params) ? cost_user(signature, params, machine)
                                                : cost_temp(signature, params, machine);
}

static double cost_of_levels(const struct pcoll_signature *signature,
                             const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    const struct pcoll_machine node = pcoll_cost_node(machine);
    int is_user = pcoll_allgather_ring_is_user(params), members = pcoll_ranks_per_node(signature);
    int nlanes = pcoll_lanes(params, signature->bytes);
    uint64_t lane = signature->bytes / (uint64_t)nlanes;
    double steps = teams.count - 1;
    double parts =
        nlanes * steps *
        (double)pcoll_allgather_ring_nsegments(signature, params, lane * (uint64_t)members);
    double own = (double)signature->bytes, all = own * signature->nranks;
    double crowd = pcoll_cost_crowd(signature, machine);
    double firing = is_user ? parts * machine->rma : (parts - steps) * machine->o;
    double between = firing + steps * own * members * machine->G / nlanes;
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
    if (!pcoll_allgather_ring_suits(signature))
        return INFINITY;
    return pcoll_teams_of(signature).topology ? cost_of_levels(signature, params, machine)
                                              : cost_flat(signature, params, machine);
}
