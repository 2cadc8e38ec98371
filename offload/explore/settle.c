/*
 * The explorer: what follows from an event in every order, and what an event depends on. explore.c
 * says why.
 */
#include "offload/explore/help.h"
#include "offload/explore/search.h"

#include <string.h>

bool pcoll_explore_fire_is_silent(const struct pcoll_explore *explore, int task)
{
    const struct pcoll_entry *entry = explore->task[task].entry;

    return !explore->ordered || entry->op != PCOLL_OP_PUT || !pcoll_explore_moves(entry) ||
           pcoll_explore_is_bulk(explore, entry);
}

static bool same(struct explore_event a, struct explore_event b)
{
    return a.kind == b.kind && a.index == b.index;
}

static bool is_access(struct explore_event event)
{
    return event.kind == EXPLORE_READ || event.kind == EXPLORE_WRITE;
}

static bool accesses_depend(const struct pcoll_explore *explore, struct explore_event t,
                            struct explore_event u)
{
    const int nt = pcoll_explore_naccesses(explore, t), nu = pcoll_explore_naccesses(explore, u);

    if (t.kind != EXPLORE_WRITE && u.kind != EXPLORE_WRITE)
        return false;
    for (int i = 0; i < nt * nu; i++) {
        const struct explore_access a = pcoll_explore_access(explore, t, i / nu);
        const struct explore_access b = pcoll_explore_access(explore, u, i % nu);

        if (a.at < b.at + b.bytes && b.at < a.at + a.bytes)
            return true;
    }
    return false;
}

static bool access_to_user(const struct pcoll_explore *explore, struct explore_event event,
                           int owner)
{
    const int n = pcoll_explore_naccesses(explore, event);

    for (int i = 0; i < n; i++) {
        const struct explore_access access = pcoll_explore_access(explore, event, i);

        if (access.owner == owner && (access.buffer == PCOLL_SEND || access.buffer == PCOLL_RECV))
            return true;
    }
    return false;
}

static bool takes_turn(const struct pcoll_explore *explore, struct explore_event event)
{
    return explore->ordered && (event.kind == EXPLORE_FIRE || event.kind == EXPLORE_WRITE) &&
           pcoll_explore_queues_at(explore->task[event.index].entry, event.kind);
}

static bool is_of_rank(struct explore_event event)
{
    return event.kind == EXPLORE_START || event.kind == EXPLORE_COMPLETE;
}

/* Whether t, which is to be tried, and u, which can happen before it, depend on each other. */
static bool depend(const struct pcoll_explore *explore, struct explore_event t,
                   struct explore_event u)
{
    if (is_access(t) && is_access(u) && accesses_depend(explore, t, u))
        return true;
    if (is_access(t) && is_of_rank(u))
        return access_to_user(explore, t, u.index);
    if (is_of_rank(t) && is_access(u))
        return access_to_user(explore, u, t.index);
    return takes_turn(explore, t) && takes_turn(explore, u) &&
           explore->task[t.index].connection == explore->task[u.index].connection;
}

/* Returns whether a rank completes the instance of the barrier that t is about to start. */
static bool slips_through(const struct pcoll_explore *explore, struct explore_event t,
                          struct explore_event u)
{
    return explore->synchronizes && t.kind == EXPLORE_START && u.kind == EXPLORE_COMPLETE &&
           explore->progress[u.index].completed > explore->progress[t.index].started;
}

/* Let the event happen if it can. Returns false if a check failed, or in a dry run if left_out
 * depends on it. */
static bool attempt(struct explorer *x, enum explore_kind kind, int index)
{
    const struct explore_event event = {kind, index};
    const struct explore_event *t = x->left_out;

    if (!pcoll_explore_can(x->explore, event) || (t != NULL && same(event, *t)))
        return true;
    x->happened[x->nhappened++] = event;
    if (t == NULL)
        return pcoll_explore_apply(x->explore, event);
    (void)pcoll_explore_apply(x->explore, event);
    x->clashes = depend(x->explore, *t, event) || slips_through(x->explore, *t, event);
    return !x->clashes;
}

static bool attempt_fire(struct explorer *x, int task)
{
    return (x->left_out == NULL && !pcoll_explore_fire_is_silent(x->explore, task)) ||
           attempt(x, EXPLORE_FIRE, task);
}

static bool lets_pass(const struct pcoll_explore *explore, int task)
{
    return explore->ordered ? pcoll_explore_lets_pass(explore, task)
                            : pcoll_explore_has(explore, task, EXPLORE_FIRE) ||
                                  pcoll_explore_is_bulk(explore, explore->task[task].entry);
}

/* Fire what waits for the counter: each entry can only if those before it have. */
static bool settle_counter(struct explorer *x, int rank, int counter)
{
    const struct pcoll_explore *explore = x->explore;
    int task;

    if (counter == PCOLL_NONE || !pcoll_explore_is_active(explore, rank))
        return true;
    task = pcoll_explore_first_on(explore, rank, counter);
    while (task >= 0 && attempt_fire(x, task) && lets_pass(explore, task))
        task = explore->task[task].next;
    return x->left_out != NULL ? !x->clashes : true; /* firing fails no check */
}

static bool settle_start(struct explorer *x, int rank)
{
    const struct pcoll_explore *explore = x->explore;
    const int instance = explore->progress[rank].completed;
    const struct pcoll_phase *phase = pcoll_explore_phase(explore, rank, instance);

    if (!pcoll_explore_is_active(explore, rank))
        return true; /* what waited for counters has run, and nothing else was there */
    for (int i = phase->first; i < phase->first + phase->count; i++)
        if (!attempt_fire(x, pcoll_explore_task(explore, rank, instance, i)))
            return false;
    return attempt(x, EXPLORE_COMPLETE, rank);
}

/* The rank's next effect on the peer may arrive, if it has been issued. */
static bool settle_turn(struct explorer *x, const struct explore_task *task)
{
    const struct pcoll_explore *explore = x->explore;
    const int next = explore->ordered ? pcoll_explore_next_turn(explore, task->connection) : -1;

    return next < 0 || ((x->left_out == NULL || attempt(x, EXPLORE_WRITE, next)) &&
                        attempt(x, EXPLORE_SIGNAL, next));
}

/* What a step of the task makes possible for the task itself. */
static bool settle_task(struct explorer *x, int task)
{
    const bool is_dry = x->left_out != NULL;

    return (!is_dry || (attempt(x, EXPLORE_READ, task) && attempt(x, EXPLORE_WRITE, task))) &&
           attempt(x, EXPLORE_DONE, task) && attempt(x, EXPLORE_SIGNAL, task);
}

/* What waits for the task on the same trigger, in order. */
static bool settle_next(struct explorer *x, const struct explore_task *task)
{
    return task->next < 0 || attempt_fire(x, task->next);
}

/* What a step of the task makes possible for others. */
static bool settle_others(struct explorer *x, struct explore_event event)
{
    const struct explore_task *task = &x->explore->task[event.index];
    const struct pcoll_entry *entry = task->entry;

    switch (event.kind) {
        case EXPLORE_FIRE:
            return settle_next(x, task);
        case EXPLORE_WRITE:
            return settle_turn(x, task);
        case EXPLORE_DONE:
            return settle_counter(x, task->rank, entry->done) && settle_next(x, task) &&
                   attempt(x, EXPLORE_COMPLETE, task->rank);
        case EXPLORE_SIGNAL:
            return settle_counter(x, entry->peer, entry->peer_counter) && settle_turn(x, task);
        default:
            return true;
    }
}

/* A step of a helper: what is copied may have landed. */
static bool settle_help(struct explorer *x)
{
    const struct pcoll_explore *explore = x->explore;

    for (int i = 0; i < explore->nnotices; i++) {
        const int task = explore->notice[i].task - 1;

        if (task >= 0 && explore->happened[task] != explore->all[task] && !settle_task(x, task))
            return false;
    }
    return true;
}

/* Of what follows at once from an event that has happened. */
static bool settle_after(struct explorer *x, struct explore_event event)
{
    if (event.kind > EXPLORE_COMPLETE)
        return settle_help(x);
    if (event.kind == EXPLORE_START)
        return settle_start(x, event.index);
    if (event.kind != EXPLORE_COMPLETE)
        return settle_task(x, event.index) && settle_others(x, event);
    for (int r = 0; x->left_out != NULL && r < x->explore->nranks; r++)
        if (!attempt(x, EXPLORE_START, r))
            return false;
    return true;
}

/* Run all silent events (dry: all events except left_out) to the end that follow from those that
 * have happened. Returns false if a check failed (dry: if left_out depends on one of them). */
static bool settle(struct explorer *x)
{
    for (int i = 0; i < x->nhappened; i++)
        if (!settle_after(x, x->happened[i]))
            return false;
    return true;
}

bool pcoll_explore_step(struct explorer *x, struct explore_event event)
{
    x->happened[0] = event;
    x->nhappened = 1;
    return pcoll_explore_apply(x->explore, event) && settle(x);
}

bool pcoll_explore_is_independent(struct explorer *x, const struct explore_event *t)
{
    struct pcoll_explore *explore = x->explore;

    memcpy(x->control, explore->memory, explore->control_bytes);
    explore->dry = true;
    x->left_out = t;
    x->clashes = false;
    x->nhappened = 0;
    for (int i = 0; i < x->npossible && !x->clashes; i++)
        (void)attempt(x, x->possible[i].kind, x->possible[i].index);
    (void)(!x->clashes && settle(x));
    x->left_out = NULL;
    explore->dry = false;
    memcpy(explore->memory, x->control, explore->control_bytes);
    return !x->clashes;
}
