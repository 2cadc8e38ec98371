/*
 * The distance that the ranks of a group measure: the same on all of them, and measured in bounded
 * time also if some of them do not run.
 */
#include "offload/shm/shm.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

#define TRIES 2000
#define UNBELIEVABLE 100000 /* nanoseconds for an exchange of two lines */

static const struct pcoll_medium *const shm = &pcoll_medium_shm;

struct neighborhood {
    int is_crowded;
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
    *distance_p = shm->group_distance(group);
    meeting_allgather(attendee, distance_p, all, sizeof(*distance_p));
    for (int r = 0; r < bootstrap.nranks; r++)
        wrong += all[r] != *distance_p;
    shm->group_destroy(group);
    return wrong;
}

static int live_in(struct meeting *meeting, int rank, void *argument)
{
    const struct neighborhood *hood = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    uint64_t distance = 0;

    for (int i = 0; i < TRIES && distance == 0; i++) {
        if (measure(&attendee, hood->is_crowded, &distance) != 0)
            return 1;
        if (!hood->must_measure)
            break;
    }
    return hood->must_measure ? distance == 0 || distance > UNBELIEVABLE
                              : hood->is_crowded && distance != 0;
}

static void expect(int nranks, struct neighborhood hood, const char *what)
{
    tap_ok(meeting_run_processes(nranks, live_in, &hood) == 0, "%s", what);
}

int main(void)
{
    expect(2, (struct neighborhood){.must_measure = 1}, "2 ranks measure their distance");
    expect(1, (struct neighborhood){.is_crowded = 1}, "1 rank has no distance");
    expect(2, (struct neighborhood){.is_crowded = 1}, "ranks that share cores do not measure");
    expect(9, (struct neighborhood){0}, "9 ranks agree on it, although most have no core");
    return tap_done();
}
