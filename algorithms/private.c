/* Shared by the algorithm files; the contract is in private.h. */
#include "algorithms/private.h"

#include <assert.h>

int pcoll_ranks_per_node(const struct pcoll_signature *signature)
{
    int nnodes = signature->topology ? signature->topology->nnodes : 1;

    return (signature->nranks + nnodes - 1) / nnodes;
}

int pcoll_log2_floor(int value)
{
    int n = 0;

    assert(value >= 1);
    while (value >>= 1)
        n++;
    return n;
}

int pcoll_log_ceil(int value, int radix)
{
    int n = 0;

    for (int64_t reach = 1; reach < value; reach *= radix)
        n++;
    return n;
}

/* The place value radix^j of the lowest digit of v that is not zero; for 0, the first place
 * beyond all ranks. */
static int64_t lowest_place(struct pcoll_tree tree, int v)
{
    int64_t place = 1;

    while (place < tree.nranks && (v / place) % tree.radix == 0)
        place *= tree.radix;
    return place;
}

int pcoll_tree_parent(struct pcoll_tree tree, int v)
{
    int64_t place = lowest_place(tree, v);

    return v == 0 ? PCOLL_NONE : (int)(v - (v / place) % tree.radix * place);
}

int pcoll_tree_nchildren(struct pcoll_tree tree, int v)
{
    int n = 0;

    for (int64_t place = lowest_place(tree, v) / tree.radix; place >= 1; place /= tree.radix) {
        int64_t fit = (tree.nranks - 1 - v) / place;

        n += (int)(fit < tree.radix - 1 ? fit : tree.radix - 1);
    }
    return n;
}

int pcoll_tree_child(struct pcoll_tree tree, int v, int i)
{
    for (int64_t place = lowest_place(tree, v) / tree.radix; place >= 1; place /= tree.radix) {
        int64_t fit = (tree.nranks - 1 - v) / place;
        int here = (int)(fit < tree.radix - 1 ? fit : tree.radix - 1);

        if (i < here)
            return (int)(v + (i + 1) * place);
        i -= here;
    }
    assert(0 && "no such child");
    return PCOLL_NONE;
}

int pcoll_tree_depth(struct pcoll_tree tree)
{
    return pcoll_log_ceil(tree.nranks, tree.radix);
}

uint64_t pcoll_segment_count(uint64_t bytes, uint64_t segment, uint64_t fallback)
{
    uint64_t n = (bytes - 1) / (segment ? segment : fallback) + 1;

    return n < PCOLL_MAX_SEGMENTS ? n : PCOLL_MAX_SEGMENTS;
}

struct pcoll_segment pcoll_segment_of(uint64_t bytes, uint64_t nsegments, uint64_t i)
{
    uint64_t size = bytes / nsegments, longer = bytes % nsegments;
    struct pcoll_segment segment = {
        .first = i * size + (i < longer ? i : longer),
        .count = size + (i < longer),
    };

    return segment;
}

double pcoll_cost_crowd(const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine)
{
    int nranks = pcoll_ranks_per_node(signature);

    if (machine->cores <= 0 || nranks <= machine->cores)
        return 1;
    return (double)nranks / machine->cores;
}

double pcoll_cost_rate(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       enum pcoll_path path)
{
    if (signature->topology && signature->topology->nnodes > 1)
        return machine->G * pcoll_ranks_per_node(signature);
    return path == PCOLL_PATH_TEMP ? machine->copy : machine->G;
}

struct pcoll_machine pcoll_cost_node(const struct pcoll_machine *machine)
{
    struct pcoll_machine node = machine->node ? *machine->node : *machine;

    node.cores = machine->cores;
    node.call = 0;
    return node;
}

double pcoll_cost_waves(const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine, int waves, double messages)
{
    double crowd = pcoll_cost_crowd(signature, machine);
    double turn = crowd > 1 ? crowd * machine->turn : 0;
    double gap = machine->g > machine->o ? machine->g : machine->o;

    return machine->call + waves * (machine->L + turn + messages * gap * crowd);
}

double pcoll_cost_forward(const struct pcoll_signature *signature,
                          const struct pcoll_machine *machine)
{
    double rate = pcoll_cost_rate(signature, machine, PCOLL_PATH_USER);

    return pcoll_cost_crowd(signature, machine) > 1 ? rate + machine->copy / 2 : rate;
}

int pcoll_lanes(const struct pcoll_params *params, uint64_t bytes)
{
    uint64_t most = params->rails > 1 ? (uint64_t)params->rails : 1;

    return (int)(most < bytes ? most : bytes);
}

void pcoll_lane_rail(struct pcoll_plan *plan, int first, int rail)
{
    for (int i = first; i < plan->nentries; i++)
        plan->entries[i].rail = rail;
}

uint64_t pcoll_no_temp(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    (void)signature;
    (void)params;
    return 0;
}
