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
 * The space is finite, and every event happens once, except that a helper may look again. A claim
 * of a helper disables others: only PCOLL_EXPLORE_STATES is possible then. Firing an entry that
 * is copied in chunks says that the trigger of its notice has been reached, which is silent. Its
 * signals follow its last chunk at once, for the same reason as above.
 */
#include "offload/explore/help.h"
#include "offload/explore/search.h"

#include <stdlib.h>
#include <string.h>

/* A state on the path from the beginning to the current one, and what to try there. */
struct frame {
    unsigned char *memory;        /* NULL if there is only one choice */
    struct explore_event *choice; /* the same, then `only` */
    struct explore_event only;
    int count;
};

static void add_possible(struct explorer *x, enum explore_kind kind, int index)
{
    const struct explore_event event = {kind, index};

    if (pcoll_explore_can(x->explore, event))
        x->possible[x->npossible++] = event;
}

static void list_tasks(struct explorer *x, int first, int count)
{
    const struct pcoll_explore *explore = x->explore;

    if (memcmp(explore->happened + first, explore->all + first, (size_t)count) == 0)
        return; /* nothing of the instance is still to come */
    for (int i = first; i < first + count; i++) {
        if (explore->happened[i] == explore->all[i])
            continue;
        add_possible(x, EXPLORE_WRITE, i);
        add_possible(x, EXPLORE_READ, i);
        if (!pcoll_explore_fire_is_silent(explore, i))
            add_possible(x, EXPLORE_FIRE, i);
    }
}

static void list_help(struct explorer *x)
{
    const struct pcoll_explore *explore = x->explore;
    const int n = explore->nhelpers;

    for (int i = 0; i < explore->nnotices; i++)
        for (int h = 0; h < n && pcoll_explore_is_open(explore, &explore->notice[i]); h++)
            add_possible(x, EXPLORE_LOOK, i * n + h);
    for (int h = 0; h < n; h++) {
        add_possible(x, EXPLORE_HELP, h);
        add_possible(x, EXPLORE_REFUSE, h);
        add_possible(x, EXPLORE_DIE, h);
    }
}

static void list_possible(struct explorer *x)
{
    const struct pcoll_explore *explore = x->explore;

    x->npossible = 0;
    for (int r = 0; r < explore->nranks; r++)
        for (int k = 0; k < explore->progress[r].started; k++) {
            const struct pcoll_phase *phase = pcoll_explore_phase(explore, r, k);

            list_tasks(x, pcoll_explore_task(explore, r, k, phase->first), phase->count);
        }
    for (int r = 0; r < explore->nranks; r++)
        add_possible(x, EXPLORE_START, r);
    list_help(x);
}

static enum pcoll_result fill_frame(struct explorer *x, struct frame *frame)
{
    const struct pcoll_explore *explore = x->explore;
    const bool reduces = x->limits->reduction == PCOLL_EXPLORE_TRACES;

    list_possible(x);
    frame->count = x->npossible;
    if (x->npossible > 0)
        frame->only = x->possible[0];
    for (int i = 0; i < x->npossible && frame->count > 1 && reduces; i++)
        if (pcoll_explore_is_independent(x, &x->possible[i])) {
            frame->only = x->possible[i];
            frame->count = 1;
        }
    if (frame->count <= 1)
        return PCOLL_OK;
    frame->memory = malloc(explore->memory_bytes);
    frame->choice = malloc((size_t)frame->count * sizeof(*frame->choice));
    if (!frame->memory || !frame->choice)
        return PCOLL_ERR_NOMEM;
    memcpy(frame->memory, explore->memory, explore->memory_bytes);
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

/* The event is the one after the first `depth` of the path. */
static enum pcoll_result extend_path(struct explorer *x, int depth, struct explore_event event)
{
    if (depth == x->path_room) {
        const int room = 2 * depth + 100;
        struct explore_event *path = realloc(x->path, (size_t)room * sizeof(*path));

        if (!path)
            return PCOLL_ERR_NOMEM;
        x->path = path;
        x->path_room = room;
    }
    x->path[depth] = event;
    x->path_length = depth + 1;
    return PCOLL_OK;
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

        if (frame->memory)
            memcpy(explore->memory, frame->memory, explore->memory_bytes);
        result = extend_path(x, depth, choice);
        if (result == PCOLL_OK)
            result = pcoll_explore_step(x, choice) ? visit(x, depth + 1) : PCOLL_ERR_INVALID;
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
            pcoll_visited_add(&x->visited, x->explore->memory, x->explore->memory_bytes, &is_new);
    if (result != PCOLL_OK)
        return result;
    if (!is_new || is_over_limit(x))
        return PCOLL_OK;
    result = fill_frame(x, &frame);
    if (result == PCOLL_OK)
        result = try_choices(x, &frame, depth);
    free(frame.memory);
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
        ok = pcoll_explore_step(x, x->path[i]);
    if (ok)
        (void)pcoll_explore_end(explore);
    fprintf(trace, "%s\n", explore->why);
}

static enum pcoll_result search(struct explorer *x)
{
    FILE *trace = x->explore->options.trace;
    enum pcoll_result result;

    x->explore->compares = true;
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
    const size_t once = (size_t)explore->ntasks * EXPLORE_NUM_KINDS + 2 * ranks + 2;
    const size_t looks = ((size_t)explore->nnotices + 3) * (size_t)explore->nhelpers;
    struct explorer x = {.explore = explore, .limits = limits, .stats = stats};
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    *stats = (struct pcoll_explore_stats){0};
    if (explore->options.helpers > 0 && limits->reduction != PCOLL_EXPLORE_STATES)
        return PCOLL_ERR_INVALID;
    x.possible = malloc((once + looks) * sizeof(*x.possible));
    x.control = malloc(explore->control_bytes);
    x.happened = malloc(once * sizeof(*x.happened));
    if (x.possible && x.control && x.happened)
        result = search(&x);
    free(x.path);
    free(x.possible);
    free(x.control);
    free(x.happened);
    pcoll_visited_fini(&x.visited);
    return result;
}
