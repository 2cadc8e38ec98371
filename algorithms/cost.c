/* Terms of the costs; the contract is in cost.h. */
#include "algorithms/cost.h"

int pcoll_ranks_per_node(const struct pcoll_signature *signature)
{
    int nnodes = signature->topology ? signature->topology->nnodes : 1;

    return (signature->nranks + nnodes - 1) / nnodes;
}

int pcoll_is_over_wire(const struct pcoll_signature *signature)
{
    return signature->topology && signature->topology->nnodes > 1;
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

/* Without a core of its own, each rank waits for the turns of all ranks that share the core. */
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

double pcoll_cost_forward(const struct pcoll_signature *signature,
                          const struct pcoll_machine *machine)
{
    double rate = pcoll_cost_rate(signature, machine, PCOLL_PATH_USER);

    return pcoll_cost_crowd(signature, machine) > 1 ? rate + machine->copy / 2 : rate;
}
