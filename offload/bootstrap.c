/* Combining by swaps; the contract is in bootstrap.h. */
#include "offload/bootstrap.h"

#include <assert.h>
#include <string.h>

#include "algorithms/plan/topology.h"

/* A rank exchanges with this many ranks on either side at once: more cost more messages, fewer cost
 * more swaps, and a swap takes longer than eight messages where processes wait for cores. */
#define REACH 4

int pcoll_circle_rank(const struct pcoll_circle *circle, int i)
{
    const int at = circle->first + i;

    if (circle->list == NULL)
        return at;
    return circle->rank_of ? circle->rank_of(circle->list, at) : ((const int *)circle->list)[at];
}

/* The ranks of a swap: 1 .. reach times `distance` before and behind this one on the circle, each
 * of them once, in ascending order. A rank that this one names also names this one. */
static int find_others(const struct pcoll_circle *circle, int64_t distance, int reach,
                       int others[2 * REACH])
{
    int count = 0;

    for (int d = -reach; d <= reach; d++) {
        const int64_t n = circle->nranks, number = ((circle->mine + d * distance) % n + n) % n;
        const int rank = pcoll_circle_rank(circle, (int)number);
        int at = count;

        while (at > 0 && others[at - 1] > rank)
            at--;
        if (number == circle->mine || (at > 0 && others[at - 1] == rank))
            continue;
        memmove(&others[at + 1], &others[at], (size_t)(count - at) * sizeof(*others));
        others[at] = rank;
        count++;
    }
    return count;
}

static enum pcoll_result swap_words(const struct pcoll_circle *circle, int64_t distance, int reach,
                                    uint64_t *words, int n)
{
    const struct pcoll_bootstrap *outer = circle->outer;
    uint64_t mine[2 * REACH * PCOLL_COMBINE_WORDS] = {0}, theirs[2 * REACH * PCOLL_COMBINE_WORDS];
    const size_t bytes = (size_t)n * sizeof(*words);
    int others[2 * REACH] = {0};
    const int count = find_others(circle, distance, reach, others);
    enum pcoll_result result;

    for (int i = 0; i < count; i++)
        memcpy(mine + (ptrdiff_t)i * n, words, bytes);
    result = outer->swap(outer->context, others, count, mine, theirs, bytes);
    for (int i = 0; result == PCOLL_OK && i < count * n; i++)
        if (theirs[i] > words[i % n])
            words[i % n] = theirs[i];
    return result;
}

/* A swap with so many ranks on either side lets a rank that knows about `known` ranks around it
 * know about 2 reach + 1 times as many; more than there are do no harm. */
static int reach_of(int64_t known, int nranks)
{
    int reach = 1;

    while (reach < REACH && known * (2 * reach + 1) < nranks)
        reach++;
    return reach;
}

enum pcoll_result pcoll_combine_by_swap(const struct pcoll_circle *circle, uint64_t *words, int n)
{
    enum pcoll_result result = PCOLL_OK;
    int64_t known = 1;

    assert(n <= PCOLL_COMBINE_WORDS);
    while (result == PCOLL_OK && known < circle->nranks) {
        const int reach = reach_of(known, circle->nranks);

        result = swap_words(circle, known, reach, words, n);
        known *= 2 * reach + 1;
    }
    return result;
}

size_t pcoll_gather_room(int nranks, size_t bytes)
{
    size_t room = 0;
    int64_t known = 1;

    while (known < nranks) {
        const int reach = reach_of(known, nranks);

        room = (size_t)known * (size_t)(4 * reach) * bytes;
        known *= 2 * reach + 1;
    }
    return room;
}

/* The block of the k-th of `known` ranks around `rank`. */
static char *block_around(const struct pcoll_circle *circle, int rank, int64_t known, int64_t k,
                          char *all, size_t bytes)
{
    const int64_t n = circle->nranks;

    return all + (size_t)((rank + n + k - known / 2) % n) * bytes;
}

/* Swap the blocks of the `known` ranks around each one. */
static enum pcoll_result swap_blocks(const struct pcoll_circle *circle, int64_t known, char *all,
                                     size_t bytes, char *mine)
{
    const struct pcoll_bootstrap *outer = circle->outer;
    int others[2 * REACH] = {0};
    const int count = find_others(circle, known, reach_of(known, circle->nranks), others);
    const size_t window = (size_t)known * bytes;
    char *theirs = mine + (size_t)count * window;
    enum pcoll_result result;

    for (int i = 0; i < count; i++)
        for (int64_t k = 0; k < known; k++)
            memcpy(mine + (size_t)i * window + (size_t)k * bytes,
                   block_around(circle, circle->mine, known, k, all, bytes), bytes);
    result = outer->swap(outer->context, others, count, mine, theirs, window);
    for (int i = 0; result == PCOLL_OK && i < count; i++)
        for (int64_t k = 0; k < known; k++)
            memcpy(block_around(circle, others[i], known, k, all, bytes),
                   theirs + (size_t)i * window + (size_t)k * bytes, bytes);
    return result;
}

enum pcoll_result pcoll_gather_by_swap(const struct pcoll_bootstrap *bootstrap, void *all,
                                       size_t bytes, void *room)
{
    const struct pcoll_circle circle = {
        .outer = bootstrap, .mine = bootstrap->rank, .nranks = bootstrap->nranks};
    enum pcoll_result result = PCOLL_OK;
    int64_t known = 1;

    while (result == PCOLL_OK && known < circle.nranks) {
        result = swap_blocks(&circle, known, all, bytes, room);
        known *= 2 * reach_of(known, circle.nranks) + 1;
    }
    return result;
}

static int rank_at_place(const void *topology, int place)
{
    return pcoll_topology_rank(topology, place);
}

struct pcoll_circle pcoll_circle_of_node(const struct pcoll_bootstrap *outer)
{
    const struct pcoll_topology *topology = outer->topology;
    struct pcoll_circle circle = {.outer = outer, .mine = outer->rank, .nranks = outer->nranks};

    if (topology != NULL) {
        const int node = pcoll_topology_node(topology, outer->rank);

        circle.first = pcoll_topology_first(topology, node);
        circle.nranks = pcoll_topology_size(topology, node);
        circle.mine = pcoll_topology_place(topology, outer->rank) - circle.first;
        circle.list = topology;
        circle.rank_of = rank_at_place;
    }
    return circle;
}

static enum pcoll_result combine_in_circle(void *circle, uint64_t *words, int n)
{
    return pcoll_combine_by_swap(circle, words, n);
}

static void idle_in_circle(void *context)
{
    const struct pcoll_bootstrap *outer = ((struct pcoll_circle *)context)->outer;

    outer->idle(outer->context);
}

static void report_in_circle(void *context, const char *message)
{
    const struct pcoll_bootstrap *outer = ((struct pcoll_circle *)context)->outer;

    outer->report(outer->context, message);
}

struct pcoll_bootstrap pcoll_bootstrap_of_circle(struct pcoll_circle *circle)
{
    return (struct pcoll_bootstrap){
        .rank = circle->mine,
        .nranks = circle->nranks,
        .crowded = circle->outer->crowded,
        .locality = circle->outer->locality,
        .maps = circle->outer->maps,
        .coop_from = circle->outer->coop_from,
        .context = circle,
        .combine = combine_in_circle,
        .idle = idle_in_circle,
        .report = report_in_circle,
    };
}
