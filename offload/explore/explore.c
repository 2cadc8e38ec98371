/*
 * The explorer: run a job in every order.
 *
 * It is a depth-first search over states. Equal states are visited once (visited.h). Of the events
 * of explore/state.h only some are tried in all orders.
 *
 * 1. Silent events happen at once: firing (except below), done, signal, complete.
 *
 *    Counters only grow, and an event that is possible stays possible. An event that only adds to
 *    counters can therefore be moved to the front of any run: the others remain possible, touch the
 *    same memory in the same order, and the run fails the same check or an earlier one. The same
 *    holds for completion, which makes the checks stricter the earlier it comes. Firing does
 *    nothing by itself: an entry that fires late is one that reads late. In order
 *    (PCOLL_NEED_ORDER), an ADD that fires earlier takes an earlier turn; being a silent event it
 *    does not delay those behind it. A PUT may, so its firing is not silent then.
 *
 * 2. The remaining events are starts, reads and writes (and fires of ordered PUTs).
 *    PCOLL_EXPLORE_STATES tries all of these that are possible, in every state.
 *
 * 3. PCOLL_EXPLORE_TRACES tries just one event, t, in a state where t is independent of everything
 *    that can happen before it ({t} is a persistent set: Godefroid, LNCS 1032). As nothing is ever
 *    disabled, what can happen before t is what happens if everything except t runs until nothing
 *    is possible; one dry run, which moves counters but no data, finds exactly that. Dependent are:
 *    two accesses to the same byte, at least one of them a write; an access to user memory and the
 *    start or completion of its owner; a start of a barrier and a completion of the same instance;
 *    two events that take a turn from the same rank to the same peer on the same rail. In any run t
 *    can then be moved to the front, and no check sees a difference.
 *
 *    A plan without races is explored in one run this way, and that is a proof: every two events
 *    that could make a difference are ordered by counters.
 *
 * The space is finite and has no cycles, since every event happens once.
 */
#include "offload/explore/state.h"
#include "offload/explore/visited.h"

#include <stdlib.h>
#include <string.h>

/* A state on the path from the beginning to the current one, and what to try there. */
struct frame {
    unsigned char *block;         /* NULL if there is only one choice */
    struct explore_event *choice; /* the same, then `only` */
    struct explore_event only;
    int count;
};

struct explorer {
    struct pcoll_explore *explore;
    const struct pcoll_explore_limits *limits;
    struct pcoll_explore_stats *stats;
    struct pcoll_visited visited; /* from the first state on that has several choices */
    uint64_t nalone;              /* states before it, none of which can come again */
    struct explore_event *path;   /* taken to reach the current state */
    int path_length;
    struct explore_event *possible; /* loud events of the current state */
    int npossible;
    unsigned char *control; /* saved during a dry run */
    struct explore_event
        *happened; /* since settle() began: what follows from them is still to come */
    int nhappened;
    const struct explore_event *left_out; /* of a dry run; NULL: the run is not dry */
    bool clashes;                         /* something depends on left_out */
};

/* A PUT that takes its turn when it fires is not silent; see 1. */
static bool fire_is_silent(const struct pcoll_explore *explore, int slot)
{
    const struct pcoll_entry *entry = explore->slot[slot].entry;

    return !explore->ordered || entry->op != PCOLL_OP_PUT || !pcoll_explore_moves(entry);
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
           pcoll_explore_queues_at(explore->slot[event.index].entry, event.kind);
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
           explore->slot[t.index].pair == explore->slot[u.index].pair;
}

/* True if a rank completes the instance of the barrier that t is about to start. */
static bool slips_through(const struct pcoll_explore *explore, struct explore_event t,
                          struct explore_event u)
{
    return explore->synchronizes && t.kind == EXPLORE_START && u.kind == EXPLORE_COMPLETE &&
           explore->progress[u.index].completed > explore->progress[t.index].started;
}

/* Let the event happen if it can. False: a check failed, or in a dry run left_out depends on it. */
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

static bool is_active(const struct pcoll_explore *explore, int rank)
{
    return explore->progress[rank].started > explore->progress[rank].completed;
}

static bool attempt_fire(struct explorer *x, int slot)
{
    return (x->left_out == NULL && !fire_is_silent(x->explore, slot)) ||
           attempt(x, EXPLORE_FIRE, slot);
}

/* Fire what waits for the counter: each entry can only if those before it have. */
static bool settle_counter(struct explorer *x, int rank, int counter)
{
    const struct pcoll_explore *explore = x->explore;
    int slot;

    if (counter == PCOLL_NONE || !is_active(explore, rank))
        return true;
    slot = pcoll_explore_first_on(explore, rank, counter);
    while (slot >= 0 && attempt_fire(x, slot) && pcoll_explore_has(explore, slot, EXPLORE_FIRE))
        slot = explore->slot[slot].next;
    return x->left_out != NULL ? !x->clashes : true; /* firing fails no check */
}

static bool settle_start(struct explorer *x, int rank)
{
    const struct pcoll_explore *explore = x->explore;
    const int instance = explore->progress[rank].completed;
    const struct pcoll_phase *phase = pcoll_explore_phase(explore, rank, instance);

    if (!is_active(explore,
                   rank)) /* what waited for counters has run, and nothing else was there */
        return true;
    for (int i = phase->first; i < phase->first + phase->count; i++)
        if (!attempt_fire(x, pcoll_explore_slot(explore, rank, instance, i)))
            return false;
    return attempt(x, EXPLORE_COMPLETE, rank);
}

/* The rank's next effect on the peer may arrive, if it has been issued. */
static bool settle_turn(struct explorer *x, const struct explore_slot *slot)
{
    const struct pcoll_explore *explore = x->explore;
    const int next = explore->ordered ? pcoll_explore_next_turn(explore, slot->pair) : -1;

    return next < 0 || ((x->left_out == NULL || attempt(x, EXPLORE_WRITE, next)) &&
                        attempt(x, EXPLORE_SIGNAL, next));
}

/* What a step of the slot makes possible for the slot itself. */
static bool settle_slot(struct explorer *x, int slot)
{
    const bool is_dry = x->left_out != NULL;

    return (!is_dry || (attempt(x, EXPLORE_READ, slot) && attempt(x, EXPLORE_WRITE, slot))) &&
           attempt(x, EXPLORE_DONE, slot) && attempt(x, EXPLORE_SIGNAL, slot);
}

/* What a step of the slot makes possible for others. */
static bool settle_others(struct explorer *x, struct explore_event event)
{
    const struct explore_slot *slot = &x->explore->slot[event.index];
    const struct pcoll_entry *entry = slot->entry;

    switch (event.kind) {
        case EXPLORE_FIRE:
            return slot->next < 0 || attempt_fire(x, slot->next);
        case EXPLORE_WRITE:
            return settle_turn(x, slot);
        case EXPLORE_DONE:
            return settle_counter(x, slot->rank, entry->done) &&
                   attempt(x, EXPLORE_COMPLETE, slot->rank);
        case EXPLORE_SIGNAL:
            return settle_counter(x, entry->peer, entry->peer_counter) && settle_turn(x, slot);
        default:
            return true;
    }
}

/* Of what follows at once from an event that has happened. */
static bool settle_after(struct explorer *x, struct explore_event event)
{
    if (event.kind == EXPLORE_START)
        return settle_start(x, event.index);
    if (event.kind != EXPLORE_COMPLETE)
        return settle_slot(x, event.index) && settle_others(x, event);
    for (int r = 0; x->left_out != NULL && r < x->explore->nranks; r++)
        if (!attempt(x, EXPLORE_START, r))
            return false;
    return true;
}

/* Run all silent events (dry: all events except left_out) to the end that follow from those that
 * have happened. False: a check failed (dry: left_out depends on one of them). */
static bool settle(struct explorer *x)
{
    for (int i = 0; i < x->nhappened; i++)
        if (!settle_after(x, x->happened[i]))
            return false;
    return true;
}

/* The event is what has happened to a state in which no silent event was possible. */
static bool apply_and_settle(struct explorer *x, struct explore_event event)
{
    x->happened[0] = event;
    x->nhappened = 1;
    return pcoll_explore_apply(x->explore, event) && settle(x);
}

/* Run everything that could happen before t, as long as t is independent of it. */
static bool is_independent(struct explorer *x, const struct explore_event *t)
{
    struct pcoll_explore *explore = x->explore;

    memcpy(x->control, explore->block, explore->control_bytes);
    explore->dry = true;
    x->left_out = t;
    x->clashes = false;
    x->nhappened = 0;
    for (int i = 0; i < x->npossible && !x->clashes; i++)
        (void)attempt(x, x->possible[i].kind, x->possible[i].index);
    (void)(!x->clashes && settle(x));
    x->left_out = NULL;
    explore->dry = false;
    memcpy(explore->block, x->control, explore->control_bytes);
    return !x->clashes;
}

static void add_possible(struct explorer *x, enum explore_kind kind, int index)
{
    const struct explore_event event = {kind, index};

    if (pcoll_explore_can(x->explore, event))
        x->possible[x->npossible++] = event;
}

static void list_slots(struct explorer *x, int first, int count)
{
    const struct pcoll_explore *explore = x->explore;

    if (memcmp(explore->happened + first, explore->all + first, (size_t)count) == 0)
        return; /* nothing of the instance is still to come */
    for (int i = first; i < first + count; i++) {
        if (explore->happened[i] == explore->all[i])
            continue;
        add_possible(x, EXPLORE_WRITE, i);
        add_possible(x, EXPLORE_READ, i);
        if (!fire_is_silent(explore, i))
            add_possible(x, EXPLORE_FIRE, i);
    }
}

static void list_possible(struct explorer *x)
{
    const struct pcoll_explore *explore = x->explore;

    x->npossible = 0;
    for (int r = 0; r < explore->nranks; r++)
        for (int k = 0; k < explore->progress[r].started; k++) {
            const struct pcoll_phase *phase = pcoll_explore_phase(explore, r, k);

            list_slots(x, pcoll_explore_slot(explore, r, k, phase->first), phase->count);
        }
    for (int r = 0; r < explore->nranks; r++)
        add_possible(x, EXPLORE_START, r);
}

static enum pcoll_result fill_frame(struct explorer *x, struct frame *frame)
{
    const struct pcoll_explore *explore = x->explore;
    const bool reduces = x->limits->reduction == PCOLL_EXPLORE_TRACES;

    list_possible(x);
    frame->count = x->npossible;
    frame->only = x->possible[0];
    for (int i = 0; i < x->npossible && frame->count > 1 && reduces; i++)
        if (is_independent(x, &x->possible[i])) {
            frame->only = x->possible[i];
            frame->count = 1;
        }
    if (frame->count <= 1)
        return PCOLL_OK;
    frame->block = malloc(explore->block_bytes);
    frame->choice = malloc((size_t)frame->count * sizeof(*frame->choice));
    if (!frame->block || !frame->choice)
        return PCOLL_ERR_NOMEM;
    memcpy(frame->block, explore->block, explore->block_bytes);
    memcpy(frame->choice, x->possible, (size_t)frame->count * sizeof(*frame->choice));
    return PCOLL_OK;
}

static uint64_t count_states(const struct explorer *x)
{
    return x->nalone + x->visited.count;
}

static bool is_over_limit(const struct explorer *x)
{
    return x->limits->states > 0 && count_states(x) >= x->limits->states;
}

static enum pcoll_result visit(struct explorer *x, int depth);

/* Try all choices of a state. */
static enum pcoll_result try_choices(struct explorer *x, struct frame *frame, int depth)
{
    struct pcoll_explore *explore = x->explore;
    enum pcoll_result result = PCOLL_OK;

    if (frame->count == 0)
        return pcoll_explore_end(explore) ? PCOLL_OK : PCOLL_ERR_INVALID;
    x->stats->branches += frame->count > 1;
    if (depth + 1 > x->stats->depth)
        x->stats->depth = depth + 1;
    for (int i = 0; i < frame->count && result == PCOLL_OK; i++) {
        const struct explore_event choice = frame->choice ? frame->choice[i] : frame->only;

        if (frame->block)
            memcpy(explore->block, frame->block, explore->block_bytes);
        x->path[depth] = choice;
        x->path_length = depth + 1;
        result = apply_and_settle(x, choice) ? visit(x, depth + 1) : PCOLL_ERR_INVALID;
    }
    return result;
}

/* Visit the current state, in which no silent event is possible, `depth` choices from the
 * beginning, and all states after it. */
static enum pcoll_result visit(struct explorer *x, int depth)
{
    struct frame frame = {0};
    enum pcoll_result result = PCOLL_OK;
    bool is_new = true;

    if (x->stats->branches == 0)
        x->nalone++;
    else
        result =
            pcoll_visited_add(&x->visited, x->explore->block, x->explore->block_bytes, &is_new);
    if (result != PCOLL_OK)
        return result;
    if (!is_new || is_over_limit(x))
        return PCOLL_OK;
    result = fill_frame(x, &frame);
    if (result == PCOLL_OK)
        result = try_choices(x, &frame, depth);
    free(frame.block);
    free(frame.choice);
    return result;
}

/* Show the failed run by running it once more from the beginning. */
static void replay(struct explorer *x, FILE *trace)
{
    struct pcoll_explore *explore = x->explore;
    bool ok = true;

    pcoll_explore_reset(explore);
    explore->options.trace = trace;
    for (int i = 0; ok && i < x->path_length; i++)
        ok = apply_and_settle(x, x->path[i]);
    if (ok)
        (void)pcoll_explore_end(explore);
    fprintf(trace, "%s\n", explore->why);
}

static enum pcoll_result search(struct explorer *x)
{
    FILE *trace = x->explore->options.trace;
    enum pcoll_result result;

    pcoll_explore_reset(x->explore);
    x->explore->options.trace = NULL;
    result = visit(x, 0);
    if (result == PCOLL_ERR_INVALID && trace)
        replay(x, trace);
    x->explore->options.trace = trace;
    x->stats->states = count_states(x);
    x->stats->complete = result == PCOLL_OK && !is_over_limit(x);
    return result;
}

enum pcoll_result pcoll_explore_all(struct pcoll_explore *explore,
                                    const struct pcoll_explore_limits *limits,
                                    struct pcoll_explore_stats *stats)
{
    const size_t ranks = (size_t)explore->nranks * (size_t)explore->options.instances;
    const size_t events = (size_t)explore->nslots * EXPLORE_NUM_KINDS + 2 * ranks + 2;
    struct explorer x = {.explore = explore, .limits = limits, .stats = stats};
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    *stats = (struct pcoll_explore_stats){0};
    x.path = malloc(events * sizeof(*x.path));
    x.possible = malloc(events * sizeof(*x.possible));
    x.control = malloc(explore->control_bytes);
    x.happened = malloc(events * sizeof(*x.happened));
    if (x.path && x.possible && x.control && x.happened)
        result = search(&x);
    free(x.path);
    free(x.possible);
    free(x.control);
    free(x.happened);
    pcoll_visited_fini(&x.visited);
    return result;
}
