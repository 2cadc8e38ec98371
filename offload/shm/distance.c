/* How far apart the cores of a group's ranks are, by the time that a cache line takes between them.
 */
#include <time.h>

#include "offload/shm/state.h"
#include "offload/yield.h"

#define BLOCKS 8     /* the least time of so many counts */
#define EXCHANGES 16 /* per block */
#define LOOKS 20000  /* then the other rank does not run */
#define NSEC 1000000000u

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NSEC + (uint64_t)time.tv_nsec;
}

/* Two ranks each write the other's line and wait for their own. In nanoseconds for both directions
 * at once; 0: the other rank did not answer. */
static uint64_t exchange(struct pcoll_line *own, struct pcoll_line *other)
{
    uint64_t least = 0, round = 0;

    for (int block = 0; block < BLOCKS; block++) {
        const uint64_t begin = now();
        uint64_t took;

        for (int i = 0; i < EXCHANGES; i++) {
            atomic_store_explicit(&other->value, ++round, memory_order_release);
            for (int looks = 0; atomic_load_explicit(&own->value, memory_order_acquire) < round;) {
                if (++looks == LOOKS)
                    return 0;
                pcoll_relax();
            }
        }
        took = (now() - begin) / EXCHANGES;
        if (block == 0 || took < least)
            least = took;
    }
    return least;
}

enum pcoll_result pcoll_shm_measure_distance(struct pcoll_shm_group *group)
{
    const int rank = group->bootstrap.rank, nranks = group->bootstrap.nranks;
    enum pcoll_result result;
    /* Of two user-level threads of one kernel thread, neither answers while the other looks. */
    const int has_core = !group->bootstrap.crowded && pcoll_may_sleep();
    uint64_t farthest = 0;

    /* With the right neighbor, then with the left one, or the other way round. */
    for (int turn = 0; turn < 2 && has_core; turn++) {
        struct pcoll_line *lines = pcoll_shm_flags(group) + (size_t)turn * (size_t)nranks;
        const int other = (rank + turn) % 2 == 0 ? rank + 1 : rank - 1;
        uint64_t took;

        if (other < 0 || other >= nranks)
            continue;
        took = exchange(&lines[rank], &lines[other]);
        farthest = took > farthest ? took : farthest;
    }
    result = pcoll_agree(&group->bootstrap, PCOLL_OK, &farthest, 1);
    group->distance = farthest;
    return result;
}

uint64_t pcoll_shm_group_distance(const struct pcoll_group *group)
{
    return pcoll_shm_group_of(group)->distance;
}
