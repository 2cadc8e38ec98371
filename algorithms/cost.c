/* Terms of the costs; the contract is in cost.h. */
#include "algorithms/cost.h"

#include "algorithms/plan/caches.h"
#include "algorithms/plan/edges.h"

#define MIB 1048576.0

int pcoll_ranks_per_node(const struct pcoll_signature *signature)
{
    int nnodes = signature->topology ? signature->topology->nnodes : 1;

    return (signature->nranks + nnodes - 1) / nnodes;
}

int pcoll_cost_mates(const struct pcoll_topology *level)
{
    return level->below ? level->most_parts : (level->nranks + level->nnodes - 1) / level->nnodes;
}

bool pcoll_is_over_wire(const struct pcoll_signature *signature)
{
    return signature->topology && signature->topology->nnodes > 1 && !signature->topology->in_node;
}

double pcoll_cost_arrival(const struct pcoll_machine *machine, int ranks)
{
    return ranks > 2 ? 2 * machine->L : 0;
}

void pcoll_cost_contend_in_node(int ranks, bool mapped, struct pcoll_machine *machine)
{
    machine->arrival = pcoll_cost_arrival(machine, ranks);
    machine->locked = ranks > 2 && !mapped ? 2 * MIB : 0;
}

void pcoll_cost_contend(const struct pcoll_signature *signature, bool mapped,
                        struct pcoll_machine *machine)
{
    pcoll_cost_contend_in_node(pcoll_is_over_wire(signature) ? 1 : signature->nranks, mapped,
                               machine);
}

double pcoll_cost_accessors(const struct pcoll_machine *machine, double ranks, double stride)
{
    const double all = machine->locked > 0 ? ranks * stride / machine->locked : ranks;
    const double places = pcoll_lesser(pcoll_larger(all, 1), ranks), first = places / ranks;

    return places / (first + (1 - first) * machine->exclusive);
}

/* Broadcasts of 512 KiB to 4 MiB on 2 cores took 0.45 to 0.9 of the time of one rank's copy
 * (doc/notes/who-copies.md). */
double pcoll_cost_coop(const struct pcoll_signature *signature)
{
    const bool is_shared = signature->nranks == 2 && signature->bytes >= PCOLL_COOP_FROM &&
                           !pcoll_is_over_wire(signature);

    return is_shared ? 0.7 : 1;
}

double pcoll_cost_crowd(const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine)
{
    int nranks = pcoll_ranks_per_node(signature);

    if (machine->cores <= 0 || nranks <= machine->cores)
        return 1;
    return (double)nranks / machine->cores;
}

double pcoll_cost_port_load(const struct pcoll_signature *signature)
{
    int n = signature->nranks, members = pcoll_ranks_per_node(signature);

    return (double)members * (n - members) / (n - 1);
}

double pcoll_cost_rate(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       enum pcoll_path path)
{
    if (pcoll_is_over_wire(signature))
        return machine->G * pcoll_cost_port_load(signature);
    return path == PCOLL_PATH_TEMP ? machine->copy : machine->G;
}

double pcoll_cost_saturated(const struct pcoll_machine *machine, double ranks, double bytes,
                            double alone)
{
    const double running = machine->cores > 0 ? pcoll_lesser(ranks, machine->cores) : ranks;

    return pcoll_larger(alone, running * bytes * machine->saturated);
}

double pcoll_cost_put_rate(const struct pcoll_signature *signature,
                           const struct pcoll_machine *machine)
{
    return pcoll_cost_rate(signature, machine, PCOLL_PATH_USER) +
           (pcoll_is_over_wire(signature) ? 0 : machine->put);
}

struct pcoll_machine pcoll_cost_leaders(const struct pcoll_signature *signature,
                                        const struct pcoll_machine *machine)
{
    struct pcoll_machine own = *machine;

    own.cores = 0;
    if (pcoll_is_over_wire(signature))
        own.G /= pcoll_cost_port_load(signature);
    return own;
}

struct pcoll_machine pcoll_cost_node(const struct pcoll_machine *machine)
{
    struct pcoll_machine node = machine->node ? *machine->node : *machine;

    node.cores = machine->cores;
    node.call = 0;
    return node;
}

/* The bytes of user memory that a rank reads or writes, or the root if there is one. */
static uint64_t touched(const struct pcoll_signature *signature)
{
    const struct pcoll_collective *row = pcoll_collective_of(signature);
    const int root = signature->root;

    if (row->traits & PCOLL_EDGES)
        return 2 * (pcoll_edges_volume(signature) + pcoll_edges_kept(signature));
    return row->send_bytes(signature, NULL, root) + row->recv_bytes(signature, NULL, root);
}

/* Returns whether the user memory of all ranks stays in their last cache. A root does most of the
 * copying alone, so that long messages leave its caches: they count as ROOT_WEIGHT times as long.
 */
static bool stays_in_last_cache(const struct pcoll_signature *signature,
                                const struct pcoll_machine *machine)
{
    enum { ROOT_WEIGHT = 4 };
    const int weight = pcoll_coll_has(signature->coll, PCOLL_ROOTED) ? ROOT_WEIGHT : 1;

    return (double)touched(signature) * weight * signature->nranks <= machine->cache * MIB;
}

struct pcoll_machine pcoll_cost_cached(const struct pcoll_signature *signature,
                                       const struct pcoll_machine *machine)
{
    struct pcoll_machine own = *machine;
    const bool is_crowded = pcoll_cost_crowd(signature, machine) > 1;

    if (pcoll_is_over_wire(signature) || !stays_in_last_cache(signature, machine) ||
        (!is_crowded && (signature->nranks > 2 || !pcoll_is_own_data(machine, touched(signature)))))
        return own;
    own.copy = is_crowded ? (own.copy + own.cached) / 2 : own.cached;
    return own;
}

double pcoll_cost_kept(const struct pcoll_signature *signature, const struct pcoll_machine *machine)
{
    const double core = (double)touched(signature) * pcoll_cost_crowd(signature, machine);
    const bool fits = pcoll_is_own_data(machine, (uint64_t)core);

    if (pcoll_is_over_wire(signature))
        return machine->copy;
    return pcoll_lesser(machine->copy, fits ? machine->kept : machine->cached);
}

/* Without a core of its own, each rank waits for the turns of all ranks that share the core. */
static double turns_of(double crowd, const struct pcoll_machine *machine)
{
    return crowd > 1 ? crowd * machine->turn : 0;
}

static double turns(const struct pcoll_signature *signature, const struct pcoll_machine *machine)
{
    return turns_of(pcoll_cost_crowd(signature, machine), machine);
}

static double wave_of(double crowd, const struct pcoll_machine *machine, double messages,
                      double gap, bool is_last)
{
    double firing = messages > 1 ? machine->o + (messages - 1) * gap : messages * machine->o;
    double one = machine->L + turns_of(crowd, machine) + firing * crowd;

    return is_last || one > messages * gap * crowd ? one : messages * gap * crowd;
}

double pcoll_cost_wave(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       double messages, bool is_last)
{
    const double gap = pcoll_larger(machine->g, machine->o);
    const double crowd = pcoll_cost_crowd(signature, machine);

    return wave_of(crowd, machine, messages, crowd > 1 ? gap : pcoll_larger(gap, machine->arrival),
                   is_last);
}

double pcoll_cost_waves(const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine, int waves, double messages)
{
    if (waves == 0)
        return machine->call;
    return machine->call + (waves - 1) * pcoll_cost_wave(signature, machine, messages, false) +
           pcoll_cost_wave(signature, machine, messages, true);
}

double pcoll_cost_fans(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       int fans, double messages)
{
    const double gap = pcoll_larger(machine->g, machine->o);
    const double crowd = pcoll_cost_crowd(signature, machine);

    return machine->call + (fans - 1) * wave_of(crowd, machine, messages, gap, false) +
           wave_of(crowd, machine, messages, gap, true);
}

/* The time of the processor to fire a message, and to reduce all of a wave. */
static double fire_of(const struct pcoll_link *link, double bytes)
{
    const double moving = link->senders > 0 ? 0 : bytes * link->machine.copy;

    return link->crowd * (link->machine.o + moving);
}

static double reduce_of(const struct pcoll_link *link, struct pcoll_wave wave)
{
    const struct pcoll_machine node = pcoll_cost_node(&link->machine);

    if (wave.reduced == 0)
        return 0;
    return link->crowd * (node.o + wave.reduced * wave.bytes * node.reduce);
}

/* The time until the port takes the next message. */
static double gap_of(const struct pcoll_link *link, double bytes)
{
    const struct pcoll_machine *m = &link->machine;

    if (link->senders > 0)
        return m->g + bytes * m->G;
    return link->crowd > 1 ? link->crowd * m->g : pcoll_larger(m->g, m->arrival);
}

double pcoll_wave_busy(const struct pcoll_link *link, struct pcoll_wave wave)
{
    const double port = link->senders * gap_of(link, wave.bytes);

    return wave.messages * pcoll_larger(fire_of(link, wave.bytes), port) + reduce_of(link, wave);
}

void pcoll_waves_add(struct pcoll_waves *waves, const struct pcoll_signature *signature,
                     const struct pcoll_link *link, struct pcoll_wave wave)
{
    const struct pcoll_machine *m = &link->machine;
    const bool is_wire = link->senders > 0, is_first = waves->time == 0;
    const double fire = fire_of(link, wave.bytes), gap = gap_of(link, wave.bytes);
    const double others = is_wire ? link->senders - 1 : 0;
    const double more = wave.messages - 1;
    const double one = pcoll_cost_wave(signature, m, 0, true) + fire +
                       (is_wire ? wave.bytes * m->G : 0) + more * pcoll_larger(fire, gap) +
                       (is_first ? others * more * gap : 0) + reduce_of(link, wave);

    waves->time += waves->port + one;
    waves->port = pcoll_larger(one, link->senders * wave.messages * gap) - one;
    waves->queue = pcoll_larger(waves->queue, others * (is_first ? 1 : wave.messages) * gap);
}

struct pcoll_hop pcoll_cost_hop(const struct pcoll_signature *signature,
                                const struct pcoll_machine *machine, double bytes)
{
    double crowd = pcoll_cost_crowd(signature, machine);
    double length = bytes * pcoll_cost_put_rate(signature, machine);
    double work = machine->rma + machine->o + length;
    double port =
        machine->rma + (machine->g + length > machine->o ? machine->g + length : machine->o);
    bool is_wire = pcoll_is_over_wire(signature);

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
    double rate = pcoll_cost_put_rate(signature, machine);

    return pcoll_cost_crowd(signature, machine) > 1 ? rate + machine->copy / 2 : rate;
}
