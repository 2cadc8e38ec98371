/* Shared by the algorithm files; the contract is in private.h. */
#include "algorithms/private.h"

#include <assert.h>

int pcoll_ranks_per_node(const struct pcoll_signature *signature)
{
    int nnodes = signature->topology ? signature->topology->nnodes : 1;

    return (signature->nranks + nnodes - 1) / nnodes;
}

int pcoll_is_over_wire(const struct pcoll_signature *signature)
{
    return signature->topology && signature->topology->nnodes > 1;
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

double pcoll_cost_share(const struct pcoll_signature *signature)
{
    int n = signature->nranks, members = pcoll_ranks_per_node(signature);

    return (double)members * (n - members) / (n - 1);
}

double pcoll_cost_rate(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       enum pcoll_path path)
{
    if (pcoll_is_over_wire(signature))
        return machine->G * pcoll_cost_share(signature);
    return path == PCOLL_PATH_TEMP ? machine->copy : machine->G;
}

struct pcoll_machine pcoll_cost_leaders(const struct pcoll_signature *signature,
                                        const struct pcoll_machine *machine)
{
    struct pcoll_machine own = *machine;

    own.cores = 0;
    if (pcoll_is_over_wire(signature))
        own.G /= pcoll_cost_share(signature);
    return own;
}

struct pcoll_machine pcoll_cost_node(const struct pcoll_machine *machine)
{
    struct pcoll_machine node = machine->node ? *machine->node : *machine;

    node.cores = machine->cores;
    node.call = 0;
    return node;
}

/* Without core, each rank waits for the turns of all that share it. */
static double turns(const struct pcoll_signature *signature, const struct pcoll_machine *machine)
{
    double crowd = pcoll_cost_crowd(signature, machine);

    return crowd > 1 ? crowd * machine->turn : 0;
}

double pcoll_cost_wave(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       double messages, int is_last)
{
    double crowd = pcoll_cost_crowd(signature, machine);
    double gap = pcoll_larger(machine->g, machine->o);
    double firing = messages > 1 ? machine->o + (messages - 1) * gap : messages * machine->o;
    double one = machine->L + turns(signature, machine) + firing * crowd;

    return is_last || one > messages * gap * crowd ? one : messages * gap * crowd;
}

double pcoll_cost_waves(const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine, int waves, double messages)
{
    if (waves == 0)
        return machine->call;
    return machine->call + (waves - 1) * pcoll_cost_wave(signature, machine, messages, 0) +
           pcoll_cost_wave(signature, machine, messages, 1);
}

struct pcoll_hop pcoll_cost_hop(const struct pcoll_signature *signature,
                                const struct pcoll_machine *machine, double bytes)
{
    double crowd = pcoll_cost_crowd(signature, machine);
    double length = bytes * pcoll_cost_rate(signature, machine, PCOLL_PATH_USER);
    double work = machine->rma + machine->o + length;
    double port =
        machine->rma + (machine->g + length > machine->o ? machine->g + length : machine->o);
    int is_wire = pcoll_is_over_wire(signature);

    return (struct pcoll_hop){
        .first = machine->L + turns(signature, machine) + work * crowd,
        .gap = (is_wire             ? port
                : work > machine->g ? work
                                    : machine->g) *
               crowd,
        .in = is_wire ? machine->g : 0,
    };
}

/* From a rank with the message to the last of radix^depth that it leads.  A child of the first
 * digit begins with one digit less when the last of its kind has its message; or, where the port is
 * the limit, the rank itself goes on. */
static double cost_of_full(struct pcoll_hop hop, double radix, int depth)
{
    double others = (radix - 2) * hop.gap, next = hop.first > hop.gap ? hop.first : hop.gap;

    return depth == 0 ? 0 : others + hop.first + (depth - 1) * (others + next);
}

/* c children of the first digit, the last of which leads what is left. */
double pcoll_cost_knomial(struct pcoll_tree tree, struct pcoll_hop hop)
{
    int64_t n = tree.nranks, radix = tree.radix;
    double full, most, last;
    int64_t place = 1, c;
    int depth = 0;

    if (n <= 1)
        return 0;
    for (; place * radix < n; place *= radix)
        depth++;
    c = (n - 1) / place;
    full = cost_of_full(hop, (double)radix, depth);
    most = depth > 0 ? (double)c * hop.gap + full : 0;
    if (c > 1 && (double)(c - 2) * hop.gap + hop.first + full > most)
        most = (double)(c - 2) * hop.gap + hop.first + full;
    last = (double)(c - 1) * hop.gap + hop.first +
           pcoll_cost_knomial((struct pcoll_tree){(int)(n - c * place), tree.radix}, hop);
    return last > most ? last : most;
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
