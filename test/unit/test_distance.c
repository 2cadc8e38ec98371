/*
 * The distance that the ranks of a group measure: the same on all of them, and measured in bounded
 * time also if some of them do not run.
 */
#include <sched.h>

#include "offload/node/group.h"
#include "offload/shm/shm.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

#define TRIES 2000
#define UNBELIEVABLE 100000 /* nanoseconds for an exchange of two lines */

static const struct pcoll_medium *const shm = &pcoll_medium_shm;

struct neighborhood {
    int is_crowded, is_one_core;
    int must_measure; /* within TRIES groups, as other programs may run */
};

/* Returns 0 if all ranks got the same; *distance_p is it. */
static int measure(struct attendee *attendee, int is_crowded, uint64_t *distance_p)
{
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(attendee);
    uint64_t all[MEETING_MAX_RANKS];
    struct pcoll_group *group;
    int wrong = 0;

    bootstrap.crowded = is_crowded;
    if (shm->group_create(&bootstrap, &group) != PCOLL_OK)
        return 1;
    *distance_p = pcoll_node_group_of(group)->farthest.nanoseconds;
    meeting_allgather(attendee, distance_p, all, sizeof(*distance_p));
    for (int r = 0; r < bootstrap.nranks; r++)
        wrong += all[r] != *distance_p;
    shm->group_destroy(group);
    return wrong;
}

/* Of the cores that this process may use, all in turn. */
static int stay_on_core(int number)
{
    cpu_set_t cpus;
    int cpu = 0;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
        return -1;
    for (number %= CPU_COUNT(&cpus); !CPU_ISSET(cpu, &cpus) || number > 0; cpu++)
        number -= CPU_ISSET(cpu, &cpus) != 0;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    return sched_setaffinity(0, sizeof(cpus), &cpus);
}

static int live_in(struct meeting *meeting, int rank, void *argument)
{
    const struct neighborhood *hood = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    uint64_t distance = 0;

    /* Those that must measure would never run at once if they shared a core, and other programs the
     * other one. */
    if ((hood->is_one_core || hood->must_measure) &&
        stay_on_core(hood->is_one_core ? 0 : rank) != 0)
        return 1;
    for (int i = 0; i < TRIES && distance == 0; i++) {
        if (measure(&attendee, hood->is_crowded, &distance) != 0)
            return 1;
        if (!hood->must_measure)
            break;
    }
    return hood->must_measure ? distance == 0 || distance > UNBELIEVABLE
                              : hood->is_one_core && distance != 0;
}

static void expect(int nranks, struct neighborhood hood, const char *what)
{
    tap_ok(meeting_run_processes(nranks, live_in, &hood) == 0, "%s", what);
}

int main(void)
{
    expect(2, (struct neighborhood){.must_measure = 1}, "2 ranks measure their distance");
    expect(1, (struct neighborhood){.is_crowded = 1}, "1 rank has no distance");
    expect(3, (struct neighborhood){.is_crowded = 1, .must_measure = 1}, "3 ranks of 2 cores do");
    expect(3, (struct neighborhood){.is_crowded = 1, .is_one_core = 1}, "ranks of one core do not");
    expect(2, (struct neighborhood){.is_one_core = 1}, "nor if that is not known");
    expect(9, (struct neighborhood){0}, "9 ranks agree on it, although most have no core");
    expect(9, (struct neighborhood){.is_crowded = 1}, "and if they know it");
    return tap_done();
}
