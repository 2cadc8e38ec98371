/* What ranks of a node share: their processors move the bytes, and wait for each other. The
 * contract is in engine_state.h.
 *
 * Resources are asked for when an entry begins, so that the first that begins gets them. Therefore
 * entries wait for their core here: an entry that was given its time in advance would hold what it
 * needs from now on. */
#include "tuning/sim/engine_state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define MIB 1048576.0

static double user_bytes(const struct pcoll_signature *signature, int rank)
{
    const struct pcoll_collective *row = pcoll_collective_of(signature);

    return (double)row->send_bytes(signature, NULL, rank) +
           (double)row->recv_bytes(signature, NULL, rank);
}

/* Returns whether the user data of the ranks of a domain stays in its caches: that of the root and
 * of others. */
static bool fits(const struct pcoll_engine *e, const struct pcoll_sim_level *level)
{
    const struct pcoll_signature *signature = &e->job->signature;
    const int root = signature->root, other = (root + 1) % signature->nranks;

    return user_bytes(signature, root) + (level->cores - 1) * user_bytes(signature, other) <=
           level->caches * MIB;
}

bool pcoll_engine_share(struct pcoll_engine *e)
{
    const struct pcoll_sim_node *inside = &e->options->inside;
    const size_t ndomains = (size_t)e->nnodes * (size_t)pcoll_sim_node_ndomains(inside);
    const size_t nlocks = (size_t)e->program.nranks * PCOLL_ENGINE_LOCKS;

    for (int level = 0; level < inside->nlevels; level++)
        e->saturated[level] =
            fits(e, &inside->levels[level]) ? 0 : inside->levels[level].machine.saturated;
    if (ndomains > 0)
        e->domains = calloc(ndomains, sizeof(*e->domains));
    if (e->node.locked > 0)
        e->locks = calloc(nlocks, sizeof(*e->locks));
    e->is_shared = e->domains || e->locks;
    return (e->domains || ndomains == 0) && (e->locks || e->node.locked <= 0);
}

/* ---- levels ---- */

/* The core of a rank in its node, which has levels. */
static int core_of(const struct pcoll_engine *e, int rank)
{
    const int node = pcoll_engine_node(e, rank);
    const int member = e->topology ? pcoll_topology_place(e->topology, rank) -
                                         pcoll_topology_first(e->topology, node)
                                   : rank;
    const int cores = pcoll_sim_node_cores(&e->options->inside);

    assert(cores > 0);
    return member % cores;
}

const struct pcoll_machine *pcoll_engine_between(const struct pcoll_engine *e, int rank, int peer)
{
    const struct pcoll_sim_node *inside = &e->options->inside;

    if (inside->nlevels == 0 || peer == PCOLL_NONE || peer == rank)
        return &e->node;
    return &inside->levels[pcoll_sim_node_level(inside, core_of(e, rank), core_of(e, peer))]
                .machine;
}

static double pass(double *free, double length, double begin)
{
    if (length <= 0)
        return begin;
    *free = pcoll_larger(begin, *free) + length;
    return *free;
}

/* Bytes stay in the domain of a core, or go through it and its link; returns when the last has. */
static double pass_domain(struct pcoll_engine *e, int node, int level, int core, double bytes,
                          bool stays, double begin)
{
    const struct pcoll_sim_node *inside = &e->options->inside;
    struct pcoll_engine_domain *domain =
        &e->domains[(int64_t)node * pcoll_sim_node_ndomains(inside) +
                    pcoll_sim_node_domain(inside, level, core)];
    const double link = stays ? 0 : bytes * inside->levels[level].link;

    return pcoll_larger(pass(&domain->free, bytes * e->saturated[level], begin),
                        pass(&domain->link_free, link, begin));
}

/* All domains up to the one that holds both. */
static double pass_domains(struct pcoll_engine *e, int rank, int peer, double bytes, double begin)
{
    const int node = pcoll_engine_node(e, rank), a = core_of(e, rank), b = core_of(e, peer);
    const int common = pcoll_sim_node_level(&e->options->inside, a, b);
    double end = pass_domain(e, node, common, a, bytes, true, begin);

    for (int level = 0; level < common; level++) {
        end = pcoll_larger(end, pass_domain(e, node, level, a, bytes, false, begin));
        end = pcoll_larger(end, pass_domain(e, node, level, b, bytes, false, begin));
    }
    return end;
}

/* ---- readers of one process ---- */

static double *lock_of(struct pcoll_engine *e, int peer, enum pcoll_buffer buffer, uint64_t number)
{
    const uint64_t half = PCOLL_ENGINE_LOCKS / 2, place = number % half;

    return &e->locks[(uint64_t)peer * PCOLL_ENGINE_LOCKS +
                     (buffer == PCOLL_SEND ? place : half + place)];
}

/* The access takes one lock after the other, each for the time of its bytes there, or the part of
 * it for which others wait. */
static double follow(struct pcoll_engine *e, int peer, const struct pcoll_kind *kind, double begin,
                     double access)
{
    const double locked = e->node.locked, bytes = (double)kind->bytes;
    const double from = (double)kind->remote_at, to = from + bytes;
    double end = begin;

    for (double at = from; at < to;) {
        const double number = floor(at / locked);
        const double next = number * locked + locked < to ? number * locked + locked : to;
        double *free = lock_of(e, peer, pcoll_kind_remote(kind), (uint64_t)number);
        const double time = access * (next - at) / bytes, first = pcoll_larger(end, *free);

        end = first + time;
        *free = first + time * e->node.exclusive;
        at = next;
    }
    return end;
}

/* Returns whether the entry accesses memory of another rank of the node. */
static bool is_away(const struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step)
{
    const enum pcoll_op op = pcoll_engine_kind(e, step->kind)->op;

    return (op == PCOLL_OP_PUT || op == PCOLL_OP_GET) && step->peer != rank &&
           pcoll_engine_node(e, step->peer) == pcoll_engine_node(e, rank);
}

static bool takes_locks(const struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step)
{
    return e->locks && is_away(e, rank, step) &&
           pcoll_engine_is_user(e, pcoll_engine_kind(e, step->kind));
}

/* When the entry can begin: it does not use what others share before it has its first lock. */
static double unlocked(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, step->kind);

    if (!takes_locks(e, rank, step))
        return 0;
    return *lock_of(e, step->peer, pcoll_kind_remote(kind),
                    (uint64_t)((double)kind->remote_at / e->node.locked)) -
           e->node.o;
}

/* The operands of a REDUCE that other ranks have. */
static double pass_operands(struct pcoll_engine *e, int rank, const struct pcoll_kind *kind,
                            double begin)
{
    const struct pcoll_operand *operands = pcoll_engine_operands(e, kind);
    double end = begin;

    for (uint64_t i = 0; operands && i < kind->peer_add; i++)
        if (operands[i].rank != rank)
            end = pcoll_larger(end,
                               pass_domains(e, rank, operands[i].rank, (double)kind->bytes, begin));
    return end;
}

double pcoll_engine_pass(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step,
                         double begin, double work)
{
    const struct pcoll_kind *kind = pcoll_engine_kind(e, step->kind);
    const double o = e->node.o;
    struct pcoll_engine_core *core = pcoll_engine_core(e, rank);
    double end = begin + work;

    if (takes_locks(e, rank, step))
        end = pcoll_larger(end, follow(e, step->peer, kind, begin + o, work - o));
    if (e->domains && is_away(e, rank, step))
        end = pcoll_larger(end, pass_domains(e, rank, step->peer, (double)kind->bytes, begin));
    if (kind->op == PCOLL_OP_REDUCE && e->domains)
        end = pcoll_larger(end, pass_operands(e, rank, kind, begin));
    core->free = pcoll_larger(core->free, end);
    return end;
}

/* ---- entries that wait for their core ---- */

static uint32_t new_task(struct pcoll_engine *e)
{
    uint32_t task = e->unused_task;

    if (task != 0) {
        e->unused_task = e->tasks[task - 1].next;
        return task;
    }
    if (e->ntasks == e->tasks_room) {
        const uint32_t room = 2 * e->tasks_room + 1024;
        struct pcoll_engine_task *tasks = realloc(e->tasks, room * sizeof(*tasks));

        if (tasks == NULL)
            return 0;
        e->tasks = tasks;
        e->tasks_room = room;
    }
    return ++e->ntasks;
}

bool pcoll_engine_defer(struct pcoll_engine *e, int rank, const struct pcoll_sim_step *step,
                        double now)
{
    struct pcoll_engine_core *core = pcoll_engine_core(e, rank);
    double begin;
    uint32_t task;

    if (!e->is_shared)
        return false;
    begin = pcoll_larger(core->free, unlocked(e, rank, step));
    if (begin <= now && core->first_task == 0)
        return false;
    task = new_task(e);
    if (task == 0) {
        e->queue.failed = true;
        return true;
    }
    e->tasks[task - 1] = (struct pcoll_engine_task){.step = *step, .rank = rank};
    if (core->first_task == 0) {
        core->first_task = task;
        pcoll_engine_schedule(e, PCOLL_EVENT_TURN, rank, begin);
    } else {
        e->tasks[core->last_task - 1].next = task;
    }
    core->last_task = task;
    return true;
}

bool pcoll_engine_take(struct pcoll_engine *e, int rank, double now,
                       struct pcoll_engine_task *task_p)
{
    struct pcoll_engine_core *core = pcoll_engine_core(e, rank);
    const uint32_t task = core->first_task;
    const struct pcoll_engine_task *first = &e->tasks[task - 1];
    const double begin = pcoll_larger(core->free, unlocked(e, first->rank, &first->step));

    if (begin > now) {
        pcoll_engine_schedule(e, PCOLL_EVENT_TURN, rank, begin);
        return false;
    }
    *task_p = e->tasks[task - 1];
    core->first_task = task_p->next;
    e->tasks[task - 1].next = e->unused_task;
    e->unused_task = task;
    return true;
}

void pcoll_engine_turn(struct pcoll_engine *e, int rank, double now)
{
    const struct pcoll_engine_core *core = pcoll_engine_core(e, rank);

    if (core->first_task != 0)
        pcoll_engine_schedule(e, PCOLL_EVENT_TURN, rank, pcoll_larger(core->free, now));
}
