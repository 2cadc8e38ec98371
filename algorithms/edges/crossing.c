/* The costs of edges between nodes of several ranks; the contract is in crossing.h. */
#include "algorithms/edges/crossing.h"

#include "algorithms/cost.h"
#include "algorithms/edges/slots.h"
#include "algorithms/plan/node_pairs.h"

double pcoll_edges_per_byte(const struct pcoll_signature *signature,
                            const struct pcoll_machine *machine)
{
    return signature->typed ? machine->pack : machine->copy;
}

/* ---- what crosses ---- */

enum { SAMPLE = 32, MAX_NODES = 6 * SAMPLE };

/* The nodes that edges lead to, and how many lead to each. */
struct nodes {
    int count, list[MAX_NODES], nedges[MAX_NODES];
};

static void add_edge(struct nodes *nodes, int node)
{
    int i = 0;

    while (i < nodes->count && nodes->list[i] != node)
        i++;
    if (i == MAX_NODES)
        return;
    if (i == nodes->count) {
        nodes->list[nodes->count++] = node;
        nodes->nedges[i] = 0;
    }
    nodes->nedges[i]++;
}

/* The pairs of nodes, and how many edges share their messages. */
static int count_pairs(const struct nodes *nodes, int *nshared_p)
{
    int n = 0;

    *nshared_p = 0;
    for (int i = 0; i < nodes->count; i++)
        if (nodes->nedges[i] > 1) {
            n++;
            *nshared_p += nodes->nedges[i];
        }
    return n;
}

static struct pcoll_crossing crossing_of_all(const struct pcoll_signature *signature)
{
    const int nnodes = signature->topology->nnodes, members = pcoll_ranks_per_node(signature);
    const int others = signature->nranks - members;
    const uint64_t bytes = (uint64_t)members * (uint64_t)others * signature->bytes;

    return (struct pcoll_crossing){.degree = others,
                                   .edges = members * others,
                                   .messages = nnodes - 1,
                                   .led = (nnodes - 1 + members - 1) / members,
                                   .bytes = bytes,
                                   .shared = bytes};
}

/* Of neighbors: from the first ranks of a node in the middle. */
static struct pcoll_crossing crossing_of_neighbors(const struct pcoll_signature *signature)
{
    const struct pcoll_topology *topology = signature->topology;
    const int node = topology->nnodes / 2, first = pcoll_topology_first(topology, node);
    const int members = pcoll_topology_size(topology, node);
    const int sample = members < SAMPLE ? members : SAMPLE;
    struct pcoll_crossing crossing = {0};
    struct nodes nodes = {.count = 0};
    int all = 0, npairs, nshared;
    struct pcoll_edge edge;

    for (int m = 0; m < sample; m++) {
        const int rank = pcoll_topology_rank(topology, first + m);
        int far = 0;

        for (int i = 0; pcoll_edge_out(signature, NULL, rank, i, &edge); i++)
            if (pcoll_edge_is_far(signature, &edge, rank)) {
                add_edge(&nodes, pcoll_topology_node(topology, edge.rank));
                far++;
            }
        crossing.degree = far > crossing.degree ? far : crossing.degree;
        all += far;
    }
    npairs = count_pairs(&nodes, &nshared);
    crossing.edges = (int)((int64_t)all * members / sample);
    crossing.messages = nodes.count;
    crossing.led = (npairs + members - 1) / members;
    crossing.bytes = (uint64_t)all * signature->bytes * (uint64_t)members / (uint64_t)sample;
    crossing.shared = (uint64_t)nshared * signature->bytes * (uint64_t)members / (uint64_t)sample;
    return crossing;
}

struct pcoll_crossing pcoll_crossing_of(const struct pcoll_signature *signature)
{
    if (signature->degree > 0)
        return signature->crossing;
    if (!pcoll_can_have_pairs(signature))
        return (struct pcoll_crossing){0};
    return pcoll_coll_has(signature->coll, PCOLL_NEIGHBORS) ? crossing_of_neighbors(signature)
                                                            : crossing_of_all(signature);
}

/* ---- costs ---- */

/* The edges of all ranks of a node that leave it share its port. The processor copies at the same
 * time what stays, and all but the last segments out. */
double pcoll_crossing_direct(const struct pcoll_signature *signature,
                             const struct pcoll_params *params, const struct pcoll_machine *machine)
{
    const struct pcoll_crossing crossing = pcoll_crossing_of(signature);
    const bool is_user = params->path == PCOLL_PATH_USER;
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const struct pcoll_edge_slots slots = pcoll_edge_slots_of(signature, NULL, params);
    const double rounds = is_user ? 1 : (double)slots.nrounds;
    const double near_edges = pcoll_edges_degree(signature) - crossing.degree;
    const double volume = (double)pcoll_edges_volume(signature);
    const double near =
        pcoll_larger(0, volume - (double)crossing.bytes / pcoll_ranks_per_node(signature));
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double setup = is_user ? machine->rma : 0;
    const double puts = rounds * crossing.degree, all_puts = rounds * crossing.edges;
    const double wave = pcoll_cost_wave(signature, machine, 1, true);
    const double gaps =
        pcoll_larger(crowd * (crossing.degree - 1) * machine->o, (crossing.edges - 1) * machine->g);
    const double port =
        all_puts * (setup + machine->g) - machine->g + (double)crossing.bytes * machine->G;
    const double out = volume * pcoll_edges_per_byte(signature, &node);
    const double kept = (double)pcoll_edges_kept(signature) * node.copy;
    double fire = (puts - 1) * (machine->o + setup) + kept, last;

    if (is_user) {
        fire += near_edges * node.rma + near * (node.G + node.put);
        last = wave + gaps + (signature->typed ? 2 * crowd * out : 0);
    } else {
        fire += near * pcoll_edges_per_byte(signature, &node) + out * (1 - 1 / rounds);
        last = crowd * (pcoll_edges_degree(signature) * rounds * node.o + out / rounds);
    }
    return machine->call + wave + last +
           pcoll_larger(pcoll_larger(crowd * fire, port), (rounds - 1) * machine->L);
}

/* The ranks of a node pack at the same time, except what shares no message; then the messages of a
 * node leave its port one after the other; then all unpack. */
double pcoll_crossing_shared(const struct pcoll_signature *signature,
                             const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const struct pcoll_crossing crossing = pcoll_crossing_of(signature);
    const double degree = pcoll_edges_degree(signature);
    const double volume = (double)pcoll_edges_volume(signature);
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double copy = crowd * pcoll_edges_per_byte(signature, &node);
    const double members = pcoll_ranks_per_node(signature);
    const double alone = (double)(crossing.bytes - crossing.shared) / members;
    const double kept = crowd * (double)pcoll_edges_kept(signature) * node.copy;
    double packed, exchanged, unpacked;

    packed = pcoll_cost_wave(signature, &node, degree, true) + kept +
             copy * pcoll_larger(volume - alone, 0);
    exchanged = pcoll_cost_wave(signature, machine, 1, true) +
                pcoll_larger(crowd * (crossing.led - 1) * machine->o,
                             (crossing.messages - 1) * machine->g) +
                (double)crossing.bytes * machine->G;
    unpacked = pcoll_cost_wave(signature, &node, members - 1, true) + crowd * degree * node.o +
               copy * volume;
    return machine->call + packed + exchanged + unpacked;
}
