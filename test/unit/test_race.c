/*
 * A race: the same result on all ranks, also for a plan that one of them cannot run, and the group
 * can be used afterwards; how its ranks wait.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/algorithm.h"
#include "offload/race.h"
#include "offload/shm/shm.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

enum { BYTES = 64 << 10, NPLANS = 3 };

static const struct pcoll_medium *const shm = &pcoll_medium_shm;

/* The second plan has a thousand times as many entries as the first one. */
static const struct {
    const char *algorithm;
    struct pcoll_params params;
} candidates[NPLANS] = {
    {"eager", {.segment = BYTES, .slots = 16, .path = PCOLL_PATH_TEMP}},
    {"shared", {.segment = 64, .slots = 4, .path = PCOLL_PATH_TEMP}},
    {"eager", {.segment = BYTES, .slots = 4, .path = PCOLL_PATH_TEMP}},
};

static bool generate(int nranks, int rank, struct pcoll_plan **plans)
{
    const struct pcoll_signature signature = {
        .coll = PCOLL_BCAST, .nranks = nranks, .bytes = BYTES};
    bool good = true;

    for (int i = 0; i < NPLANS; i++)
        good &=
            pcoll_generate(pcoll_algorithm_find(PCOLL_BCAST, candidates[i].algorithm), &signature,
                           NULL, rank, &candidates[i].params, &plans[i]) == PCOLL_OK;
    return good;
}

/* Returns 0 if all ranks got the same times, and the third plan, which the last rank does not have,
 * none. */
static int judge(struct attendee *attendee, int nranks, const double *us)
{
    double all[MEETING_MAX_RANKS][NPLANS];

    meeting_allgather(attendee, us, all, NPLANS * sizeof(*us));
    for (int r = 0; r < nranks; r++)
        if (memcmp(all[r], us, NPLANS * sizeof(*us)) != 0)
            return 1;
    return us[0] <= 0 || us[1] <= us[0] || us[2] >= 0;
}

static int race(struct meeting *meeting, int rank, void *argument)
{
    const int nranks = *(int *)argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct pcoll_plan *plans[NPLANS] = {NULL};
    char *memory = calloc(1, BYTES);
    const struct pcoll_memory user = {.send = memory, .recv = memory};
    struct pcoll_group *group;
    int races;

    bootstrap.crowded = nranks > 2;
    if (memory == NULL || !generate(nranks, rank, plans) ||
        shm->group_create(&bootstrap, &group) != PCOLL_OK)
        return 1;
    for (races = 0; races < 3; races++) {
        const struct pcoll_plan *const mine[NPLANS] = {plans[0], plans[1],
                                                       rank < nranks - 1 ? plans[2] : NULL};
        double us[NPLANS];

        if (pcoll_race(group, mine, NPLANS, &user, us) != PCOLL_OK ||
            judge(&attendee, nranks, us) != 0)
            break;
    }
    for (int i = 0; i < NPLANS; i++)
        pcoll_plan_destroy(plans[i]);
    shm->group_destroy(group);
    free(memory);
    return races < 3;
}

/* A gather of blocks that are short, and together long at the root only: ranks agree whether to
 * meet before a start. */
static int race_gather(struct meeting *meeting, int rank, void *argument)
{
    const struct pcoll_signature signature = {
        .coll = PCOLL_GATHER, .nranks = *(int *)argument, .bytes = 3000};
    const struct pcoll_params params = {.slots = 4, .path = PCOLL_PATH_TEMP};
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    char *memory = calloc(2, BYTES);
    const struct pcoll_memory user = {.send = memory, .recv = memory + BYTES};
    struct pcoll_plan *plan = NULL;
    struct pcoll_group *group;
    double us = -1;

    if (memory == NULL || shm->group_create(&bootstrap, &group) != PCOLL_OK)
        return 1;
    if (pcoll_generate(pcoll_algorithm_find(PCOLL_GATHER, "knomial"), &signature, NULL, rank,
                       &params, &plan) == PCOLL_OK &&
        pcoll_race(group, (const struct pcoll_plan *const[]){plan}, 1, &user, &us) != PCOLL_OK)
        us = -1;
    pcoll_plan_destroy(plan);
    shm->group_destroy(group);
    free(memory);
    return us <= 0;
}

/* ---- waiting ---- */

enum { ROUNDS = 64 };

static struct {
    unsigned spins, rests, looks; /* calls, since the start */
    unsigned polls;               /* of a spin, at most */
} calls;

static enum pcoll_result count_start(struct pcoll_bound *bound)
{
    (void)bound;
    memset(&calls, 0, sizeof(calls));
    return PCOLL_PENDING;
}

static enum pcoll_result count_spin(struct pcoll_bound *bound, unsigned spins)
{
    (void)bound;
    if (spins > calls.polls)
        calls.polls = spins;
    return ++calls.spins < ROUNDS ? PCOLL_PENDING : PCOLL_OK;
}

static void count_rest(struct pcoll_bound *bound, unsigned usec)
{
    (void)bound;
    (void)usec;
    calls.rests++;
}

static void count_look(void *context)
{
    (void)context;
    calls.looks++;
}

/* How often a rank looks at other communication while it waits for one start. */
static unsigned count_looks(bool is_crowded, unsigned traits)
{
    const struct pcoll_medium counting = {
        .traits = traits, .start = count_start, .spin = count_spin, .rest = count_rest};
    const struct pcoll_bootstrap bootstrap = {.crowded = is_crowded, .idle = count_look};
    const struct pcoll_race_data nothing = {NULL};
    struct pcoll_bound bound = {&counting};
    uint64_t nsec;

    if (pcoll_race_batch(&bootstrap, &bound, &nothing, 1, &nsec) != PCOLL_OK ||
        calls.rests != ROUNDS - 1)
        return UINT_MAX;
    return calls.looks;
}

int main(void)
{
    for (int nranks = 2; nranks <= 4; nranks++)
        tap_ok(meeting_run_processes(nranks, race, &nranks) == 0, "%d ranks agree on their times",
               nranks);
    for (int nranks = 3; nranks <= 4; nranks++)
        tap_ok(meeting_run_processes(nranks, race_gather, &nranks) == 0,
               "%d ranks race although one has more data", nranks);
    tap_ok(count_looks(false, 0) == ROUNDS - 1, "a rank with a core looks around after each poll");
    tap_ok(count_looks(true, 0) > 0 && count_looks(true, 0) <= ROUNDS / 8,
           "a crowded rank seldom looks around, as users' ranks do");
    tap_ok(count_looks(false, PCOLL_SPANS_NODES) <= ROUNDS / 8 && calls.polls <= 10,
           "a rank that waits for the network soon yields, and seldom looks around");
    return tap_done();
}
