/* The times of reductions with several leaders a node; the contract is in leaders.h. */
#include "algorithms/cost.h"
#include "algorithms/shape/doubling.h"
#include "algorithms/shape/leaders.h"

static int is_flat(const struct pcoll_leaders *by)
{
    return by->teams.topology == NULL;
}

/* How many leaders, or members, share a core. */
static double crowd_of(const struct pcoll_machine *machine, double ranks)
{
    return machine->cores > 0 && ranks > machine->cores ? ranks / machine->cores : 1;
}

/* What a leader needs to know for the stage between nodes. */
struct wire {
    struct pcoll_machine machine; /* in which leaders take turns only with leaders */
    double ports;                 /* leaders that send through a port at the same time */
    double crowd;
    double rate; /* per byte */
};

static struct wire wire_of(const struct pcoll_leaders *by, const struct pcoll_signature *signature,
                           const struct pcoll_machine *machine)
{
    const int is_wire = pcoll_is_over_wire(signature);
    struct wire wire = {*machine, 1, crowd_of(machine, by->count), is_wire ? machine->G : 0};

    if (is_flat(by)) {
        wire.ports = is_wire ? pcoll_ranks_per_node(signature) : 1;
        wire.crowd = pcoll_cost_crowd(signature, machine);
        wire.rate = is_wire ? machine->G : machine->copy;
    } else {
        wire.ports = by->count;
        wire.machine.cores = 0;
    }
    return wire;
}

/* Steps in each of which a leader sends `messages` messages of `bytes` bytes and then reduces as
 * many with its own. The leaders of a node queue at its port, which keeps them apart from then on.
 */
static double cost_of_steps(const struct wire *wire, const struct pcoll_signature *signature,
                            double steps, double messages, double bytes)
{
    const struct pcoll_machine *m = &wire->machine;
    const double length = bytes * wire->rate;
    const double gap = pcoll_larger(m->g, m->o) + length;
    const double port = (m->g + length) * messages * wire->ports;
    const double work = wire->crowd * (m->o + messages * bytes * m->reduce);
    const double one = pcoll_cost_wave(signature, m, 1, 1) + (messages - 1) * gap * wire->crowd +
                       length * wire->crowd + work;
    const double queue = port - (m->g + length) * messages;

    return (steps - 1) * pcoll_larger(one, port) + one + queue;
}

/* Where the folding does not take a step of its own, its data still takes the port's time. */
static double cost_of_doubling(const struct pcoll_leaders *by,
                               const struct pcoll_signature *signature,
                               const struct pcoll_machine *machine)
{
    const struct wire wire = wire_of(by, signature, machine);
    const int count = by->teams.count, steps = pcoll_doubling_steps(count);
    const int rounds = pcoll_doubling_rounds(count), folded = (count & (count - 1)) != 0;
    const double port = wire.ports * (double)by->bytes * wire.rate;

    return cost_of_steps(&wire, signature, steps, 1, (double)by->bytes) +
           (rounds + folded - steps) * port;
}

static double cost_of_shares(const struct pcoll_leaders *by,
                             const struct pcoll_signature *signature,
                             const struct pcoll_machine *machine)
{
    const struct wire wire = wire_of(by, signature, machine);
    const double count = by->teams.count, share = (double)by->bytes / count;

    return cost_of_steps(&wire, signature, 2, count - 1, share) -
           wire.crowd * (machine->o + (count - 1) * share * machine->reduce);
}

/* The two stages in the node of a pass. */
static double cost_in_node(const struct pcoll_leaders *by, const struct pcoll_signature *signature,
                           const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const double members = is_flat(by) ? 1 : pcoll_ranks_per_node(signature), count = by->count;
    const double crowd = pcoll_cost_crowd(signature, machine), slice = (double)by->bytes;
    const double copy = crowd * slice * node.copy, lead = crowd_of(machine, count);
    const double puts = members > count ? count : count - 1;
    const double sum = lead * (node.o + (members - 1) * slice * node.reduce);

    if (members <= 1)
        return 2 * (crowd * node.o + copy);
    return pcoll_cost_wave(signature, &node, puts, 1) + puts * copy + sum +
           pcoll_cost_wave(signature, &node, members - 1, 1) + count * (crowd * node.o + copy);
}

static double cost_of_passes(const struct pcoll_leaders *by,
                             const struct pcoll_signature *signature,
                             const struct pcoll_machine *machine, double between)
{
    return machine->call + (double)by->npasses * (cost_in_node(by, signature, machine) + between);
}

double pcoll_leaders_doubling_cost(const struct pcoll_signature *signature,
                                   const struct pcoll_params *params,
                                   const struct pcoll_machine *machine)
{
    const struct pcoll_leaders by = pcoll_leaders_of(signature, params);

    return cost_of_passes(&by, signature, machine, cost_of_doubling(&by, signature, machine));
}

double pcoll_leaders_shares_cost(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params,
                                 const struct pcoll_machine *machine)
{
    const struct pcoll_leaders by = pcoll_leaders_of(signature, params);

    return cost_of_passes(&by, signature, machine, cost_of_shares(&by, signature, machine));
}
