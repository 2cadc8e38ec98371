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
    unsigned char *block;
    struct explore_event *choice;
    int count;
};

struct explorer {
    struct pcoll_explore *explore;
    const struct pcoll_explore_limits *limits;
    struct pcoll_explore_stats *stats;
    struct pcoll_visited visited;
    struct explore_event *path; /* taken to reach the current state */
    int path_length;
    unsigned char *control;         /* saved during a dry run */
    struct explore_event *happened; /* in a dry run */
    int nhappened;
    int furthest; /* the most instances that a rank has completed at the end of the run */
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

/* Let the event happen if it can and is not `not`. Returns false if a check failed. */
static bool attempt(struct explorer *x, struct explore_event event,
                    const struct explore_event * not, bool *moved)
{
    if (!pcoll_explore_can(x->explore, event) || (not &&same(event, *not )))
        return true;
    *moved = true;
    if (x->explore->dry)
        x->happened[x->nhappened++] = event;
    return pcoll_explore_apply(x->explore, event);
}

static bool attempt_slot(struct explorer *x, int slot, const struct explore_event * not,
                         bool *moved)
{
    static const enum explore_kind silent[] = {EXPLORE_FIRE, EXPLORE_DONE, EXPLORE_SIGNAL};
    static const enum explore_kind loud[] = {EXPLORE_FIRE, EXPLORE_READ, EXPLORE_WRITE};

    for (int i = 0; x->explore->dry && i < 3; i++)
        attempt(x, (struct explore_event){loud[i], slot}, not, moved);
    for (int i = 0; i < 3; i++) {
        if (silent[i] == EXPLORE_FIRE && !fire_is_silent(x->explore, slot))
            continue;
        if (!attempt(x, (struct explore_event){silent[i], slot}, not, moved))
            return false;
    }
    return true;
}

/* True if the slot is an entry of an instance that has begun, and some of its events are still to
 * come. */
static bool is_in_play(const struct pcoll_explore *explore, int slot)
{
    const struct explore_slot *s = &explore->slot[slot];

    return s->entry && s->instance < explore->progress[s->rank].started &&
           explore->happened[slot] != s->all;
}

/* Run all silent events to the end (dry: all events except `not`). False: a check failed. */
static bool settle(struct explorer *x, const struct explore_event * not )
{
    struct pcoll_explore *explore = x->explore;
    bool moved;

    do {
        moved = false;
        for (int i = 0; i < explore->nslots; i++)
            if (is_in_play(explore, i) && !attempt_slot(x, i, not, &moved))
                return false;
        for (int r = 0; r < explore->nranks; r++) {
            if (!attempt(x, (struct explore_event){EXPLORE_COMPLETE, r}, not, &moved))
                return false;
            if (explore->dry)
                attempt(x, (struct explore_event){EXPLORE_START, r}, not, &moved);
        }
    } while (moved);
    return true;
}

/* Run everything that could happen before t. */
static void run_dry_without(struct explorer *x, struct explore_event t)
{
    struct pcoll_explore *explore = x->explore;

    memcpy(x->control, explore->block, explore->control_bytes);
    explore->dry = true;
    x->nhappened = 0;
    settle(x, &t);
    explore->dry = false;
    x->furthest = 0;
    for (int r = 0; r < explore->nranks; r++)
        if (explore->progress[r].completed > x->furthest)
            x->furthest = explore->progress[r].completed;
    memcpy(explore->block, x->control, explore->control_bytes);
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
static bool slips_through(const struct explorer *x, struct explore_event t)
{
    return t.kind == EXPLORE_START && x->explore->synchronizes &&
           x->furthest > x->explore->progress[t.index].started;
}

static bool is_independent(struct explorer *x, struct explore_event t)
{
    run_dry_without(x, t);
    if (slips_through(x, t))
        return false;
    for (int i = 0; i < x->nhappened; i++)
        if (depend(x->explore, t, x->happened[i]))
            return false;
    return true;
}

static void add_choice(struct explorer *x, struct frame *frame, enum explore_kind kind, int index)
{
    const struct explore_event event = {kind, index};

    if (pcoll_explore_can(x->explore, event))
        frame->choice[frame->count++] = event;
}

static void list_choices(struct explorer *x, struct frame *frame)
{
    const struct pcoll_explore *explore = x->explore;

    frame->count = 0;
    for (int i = 0; i < explore->nslots; i++) {
        if (!is_in_play(explore, i))
            continue;
        add_choice(x, frame, EXPLORE_WRITE, i);
        add_choice(x, frame, EXPLORE_READ, i);
        if (!fire_is_silent(explore, i))
            add_choice(x, frame, EXPLORE_FIRE, i);
    }
    for (int r = 0; r < explore->nranks; r++)
        add_choice(x, frame, EXPLORE_START, r);
}

static void reduce_choices(struct explorer *x, struct frame *frame)
{
    for (int i = 0; i < frame->count; i++)
        if (is_independent(x, frame->choice[i])) {
            frame->choice[0] = frame->choice[i];
            frame->count = 1;
            return;
        }
}

static void free_frame(struct frame *frame)
{
    free(frame->block);
    free(frame->choice);
}

static enum pcoll_result fill_frame(struct explorer *x, struct frame *frame)
{
    const struct pcoll_explore *explore = x->explore;
    const size_t most = 3 * (size_t)explore->nslots + (size_t)explore->nranks;

    frame->block = malloc(explore->block_bytes);
    frame->choice = malloc(most * sizeof(*frame->choice));
    if (!frame->block || !frame->choice)
        return PCOLL_ERR_NOMEM;
    memcpy(frame->block, explore->block, explore->block_bytes);
    list_choices(x, frame);
    if (x->limits->reduction == PCOLL_EXPLORE_TRACES && frame->count > 1)
        reduce_choices(x, frame);
    return PCOLL_OK;
}

static bool is_over_limit(const struct explorer *x)
{
    return x->limits->states > 0 && x->visited.count >= x->limits->states;
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
        memcpy(explore->block, frame->block, explore->block_bytes);
        x->path[depth] = frame->choice[i];
        x->path_length = depth + 1;
        result = pcoll_explore_apply(explore, frame->choice[i]) ? visit(x, depth + 1)
                                                                : PCOLL_ERR_INVALID;
    }
    return result;
}

/* Visit the current state, `depth` choices from the beginning, and all states after it. */
static enum pcoll_result visit(struct explorer *x, int depth)
{
    struct frame frame = {0};
    enum pcoll_result result;
    bool is_new;

    if (!settle(x, NULL))
        return PCOLL_ERR_INVALID;
    if (pcoll_visited_add(&x->visited, x->explore->block, x->explore->block_bytes, &is_new) !=
        PCOLL_OK)
        return PCOLL_ERR_NOMEM;
    if (!is_new || is_over_limit(x))
        return PCOLL_OK;
    result = fill_frame(x, &frame);
    if (result == PCOLL_OK)
        result = try_choices(x, &frame, depth);
    free_frame(&frame);
    return result;
}

/* Show the failed run by running it once more from the beginning. */
static void replay(struct explorer *x, FILE *trace)
{
    struct pcoll_explore *explore = x->explore;
    bool ok;

    pcoll_explore_reset(explore);
    explore->options.trace = trace;
    ok = settle(x, NULL);
    for (int i = 0; ok && i < x->path_length; i++)
        ok = pcoll_explore_apply(explore, x->path[i]) && settle(x, NULL);
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
    x->stats->states = x->visited.count;
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
    x.control = malloc(explore->control_bytes);
    x.happened = malloc(events * sizeof(*x.happened));
    if (x.path && x.control && x.happened)
        result = search(&x);
    free(x.path);
    free(x.control);
    free(x.happened);
    pcoll_visited_fini(&x.visited);
    return result;
}
