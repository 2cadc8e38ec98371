/* How much the ranks of a call move along their edges; the contract is in edges.h. */
#include "algorithms/plan/edges.h"

/* Every rank has an edge with every rank, also with itself. */
static int is_complete(const struct pcoll_signature *signature)
{
    const struct pcoll_pattern *pattern = pcoll_collective_of(signature)->pattern;

    return pattern == &pcoll_pattern_spread || pattern == &pcoll_pattern_complete;
}

/* The most edges of any rank in one direction; in complete patterns, those to other ranks. */
static int uniform_degree(const struct pcoll_signature *signature)
{
    if (pcoll_coll_has(signature->coll, PCOLL_NEIGHBORS))
        return PCOLL_TORUS_DEGREE;
    return is_complete(signature) && signature->nranks > 1 ? signature->nranks - 1
                                                           : signature->nranks;
}

int pcoll_edges_degree(const struct pcoll_signature *signature)
{
    return signature->degree > 0 ? signature->degree : uniform_degree(signature);
}

/* Of blocks side by side, whoever receives the least keeps the most: together that is all blocks.
 */
static uint64_t uniform_volume(const struct pcoll_signature *signature, int is_out)
{
    const struct pcoll_pattern *pattern = pcoll_collective_of(signature)->pattern;
    const uint64_t most = (uint64_t)uniform_degree(signature) * signature->bytes;
    uint64_t others;

    if (pattern == (is_out ? &pcoll_pattern_to_root : &pcoll_pattern_from_root))
        return signature->bytes;
    if (is_out || !signature->blocks)
        return most;
    others = signature->blocks[signature->nranks] - pcoll_edges_kept(signature);
    return others < most ? others : most;
}

uint64_t pcoll_edges_volume_of(const struct pcoll_signature *signature, int is_out)
{
    if (signature->degree > 0)
        return is_out ? signature->out_volume : signature->in_volume;
    return uniform_volume(signature, is_out);
}

uint64_t pcoll_edges_volume(const struct pcoll_signature *signature)
{
    const uint64_t in = pcoll_edges_volume_of(signature, 0);
    const uint64_t out = pcoll_edges_volume_of(signature, 1);

    return in > out ? in : out;
}

uint64_t pcoll_edges_kept(const struct pcoll_signature *signature)
{
    if (signature->degree > 0)
        return signature->kept;
    return is_complete(signature) && !signature->in_place ? signature->bytes : 0;
}
