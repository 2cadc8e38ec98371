/* What reductions with several leaders a node take; the contract is in leaders.h. */
#include "algorithms/cost.h"
#include "algorithms/shape/halving.h"
#include "algorithms/shape/leaders.h"

static bool is_flat(const struct pcoll_leaders *by)
{
    return by->teams.topology == NULL;
}

/* How many leaders, or members, share a core. */
static double crowd_of(const struct pcoll_machine *machine, double ranks)
{
    return machine->cores > 0 && ranks > machine->cores ? ranks / machine->cores : 1;
}

/* How leaders reach those of other nodes. */
static struct pcoll_link link_of(const struct pcoll_leaders *by,
                                 const struct pcoll_signature *signature,
                                 const struct pcoll_machine *machine)
{
    const double crowd = pcoll_cost_crowd(signature, machine);
    struct pcoll_link link = {*machine, pcoll_ranks_per_node(signature), crowd};

    if (!is_flat(by)) {
        const int senders = pcoll_is_over_wire(signature) ? by->count : 0;

        link = (struct pcoll_link){*machine, senders, crowd_of(machine, by->count)};
        link.machine.cores = 0; /* leaders take turns only with leaders */
    } else if (!pcoll_is_over_wire(signature)) {
        link = (struct pcoll_link){pcoll_cost_node(machine), 0, crowd};
    }
    return link;
}

static struct pcoll_fold_links links_of(const struct pcoll_leaders *by, struct pcoll_fold fold,
                                        const struct pcoll_signature *signature,
                                        const struct pcoll_machine *machine)
{
    return (struct pcoll_fold_links){
        .signature = signature,
        .fold = fold,
        .members = is_flat(by) ? pcoll_ranks_per_node(signature) : 1,
        .near = {pcoll_cost_node(machine), 0, pcoll_cost_crowd(signature, machine)},
        .far = link_of(by, signature, machine),
    };
}

static double cost_of_doubling(const struct pcoll_leaders *by,
                               const struct pcoll_signature *signature,
                               const struct pcoll_machine *machine)
{
    const struct pcoll_doubling_cost doubling = {
        .rounds = by->rounds,
        .links = links_of(by, by->rounds.fold, signature, machine),
        .bytes = (double)by->bytes[0],
    };

    return pcoll_doubling_time(&doubling);
}

static double cost_of_halving(const struct pcoll_leaders *by,
                              const struct pcoll_signature *signature,
                              const struct pcoll_machine *machine)
{
    const struct pcoll_fold fold = pcoll_halving_fold(by->teams.count);
    const struct pcoll_fold_links links = links_of(by, fold, signature, machine);
    const struct pcoll_halving_cost halving = {links, links, (double)by->bytes[0]};

    return pcoll_halving_time(&halving);
}

static double cost_of_slices(const struct pcoll_leaders *by,
                             const struct pcoll_signature *signature,
                             const struct pcoll_machine *machine)
{
    const struct pcoll_link link = link_of(by, signature, machine);
    const double count = by->teams.count, slice = (double)by->bytes[0] / count;
    struct pcoll_waves waves = {0};

    pcoll_waves_add(&waves, signature, &link, (struct pcoll_wave){count - 1, slice, count - 1});
    pcoll_waves_add(&waves, signature, &link, (struct pcoll_wave){count - 1, slice, 0});
    return waves.time + waves.queue;
}

/* The two stages of a segment among the mates of a depth; `node` is the machine there. */
static double cost_of_mates(const struct pcoll_leaders *by, const struct pcoll_signature *signature,
                            const struct pcoll_machine *node, int depth)
{
    const double members = by->sizes[depth].max, count = by->counts[depth];
    const double slice = (double)by->bytes[depth];
    const double crowd = pcoll_cost_crowd(signature, node), lead = crowd_of(node, count);
    const double copy = crowd * slice * node->copy;
    const double puts = members > count ? count : count - 1;
    const double sum = lead * (node->o + (members - 1) * slice * node->reduce);

    if (members <= 1)
        return 2 * (crowd * node->o + copy);
    return pcoll_cost_wave(signature, node, puts, true) + puts * copy + sum +
           pcoll_cost_wave(signature, node, members - 1, true) + count * (crowd * node->o + copy);
}

static double cost_of_segments(const struct pcoll_leaders *by,
                               const struct pcoll_signature *signature,
                               const struct pcoll_machine *machine, double between)
{
    struct pcoll_machine node = *machine;
    double cost = between;

    for (int depth = 0; depth < by->depths; depth++) {
        node = pcoll_cost_node(&node);
        cost += cost_of_mates(by, signature, &node, depth);
    }
    return machine->call + (double)by->nsegments * cost;
}

double pcoll_leaders_doubling_cost(const struct pcoll_signature *signature,
                                   const struct pcoll_params *params,
                                   const struct pcoll_machine *machine)
{
    const struct pcoll_leaders by = pcoll_leaders_of(signature, params);

    return cost_of_segments(&by, signature, machine, cost_of_doubling(&by, signature, machine));
}

double pcoll_leaders_halving_cost(const struct pcoll_signature *signature,
                                  const struct pcoll_params *params,
                                  const struct pcoll_machine *machine)
{
    const struct pcoll_leaders by = pcoll_leaders_of(signature, params);

    return cost_of_segments(&by, signature, machine, cost_of_halving(&by, signature, machine));
}

double pcoll_leaders_sliced_cost(const struct pcoll_signature *signature,
                                 const struct pcoll_params *params,
                                 const struct pcoll_machine *machine)
{
    const struct pcoll_leaders by = pcoll_leaders_of(signature, params);

    return cost_of_segments(&by, signature, machine, cost_of_slices(&by, signature, machine));
}
