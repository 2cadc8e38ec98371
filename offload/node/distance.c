/* How far apart the cores of a group's ranks are, by the time that a cache line takes between them.
 */
#include "offload/node/distance.h"

#include "offload/yield.h"

#define BATCHES 8    /* the shortest of so many counts */
#define EXCHANGES 16 /* per batch */
#define LOOKS 20000  /* then the other rank does not run */
#define LOOKS_CROWDED 500
#define MAX_YIELDS 100
#define ONE_CORE 1000 /* nanoseconds: exchanges that take longer are of ranks that share a core */

/* Returns whether the other rank has answered. Where ranks share cores it may need this one's,
 * which may still be yielded `*yields` times; 0: they do not. */
static bool has_answer(const struct pcoll_line *own, uint64_t round, int *yields)
{
    const int looks = *yields > 0 ? LOOKS_CROWDED : LOOKS;

    do {
        for (int i = 0; i < looks; i++) {
            if (atomic_load_explicit(&own->value, memory_order_acquire) >= round)
                return true;
            pcoll_relax();
        }
        if (*yields > 0)
            pcoll_yield();
    } while (--*yields > 0);
    return false;
}

uint64_t pcoll_exchange_flags(struct pcoll_line *own, struct pcoll_line *other, bool is_crowded)
{
    uint64_t min = 0, round = 0;
    int yields = is_crowded ? MAX_YIELDS : 0;

    for (int batch = 0; batch < BATCHES; batch++) {
        const uint64_t begin = pcoll_now();
        uint64_t took;

        for (int i = 0; i < EXCHANGES; i++) {
            atomic_store_explicit(&other->value, ++round, memory_order_release);
            if (!has_answer(own, round, &yields))
                return 0;
        }
        took = (pcoll_now() - begin) / EXCHANGES;
        if (batch == 0 || took < min)
            min = took;
    }
    return is_crowded && min > ONE_CORE ? 0 : min;
}

/* Even ranks start with their right neighbor, odd ranks with their left. Where ranks share cores,
 * only the first three take part, while the others sleep. */
static int partner(const struct pcoll_bootstrap *bootstrap, int turn)
{
    const int rank = bootstrap->rank, first = rank - (rank + turn) % 2;

    if (first < 0 || first + 1 >= bootstrap->nranks || (bootstrap->crowded && first != turn))
        return PCOLL_NONE;
    return rank == first ? first + 1 : first;
}

struct pcoll_distance pcoll_node_measure_distance(const struct pcoll_bootstrap *bootstrap,
                                                  struct pcoll_line *lines)
{
    struct pcoll_distance farthest = {0, 0};

    /* Of two user-level threads of one kernel thread, neither answers while the other looks. */
    for (int turn = 0; turn < 2 && pcoll_may_sleep(); turn++, lines += bootstrap->nranks) {
        const int other = partner(bootstrap, turn);
        uint64_t took;

        if (other == PCOLL_NONE)
            continue;
        took = pcoll_exchange_flags(&lines[bootstrap->rank], &lines[other], bootstrap->crowded);
        if (took > farthest.nanoseconds)
            farthest =
                (struct pcoll_distance){took, other < bootstrap->rank ? other : bootstrap->rank};
    }
    return farthest;
}
