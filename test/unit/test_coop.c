/*
 * Cooperative copies: a rank that waits copies all of it while the other is away,
 * whichever of the two the plan has copy and whichever has started first, and completes before that
 * one comes back. Each rank's memory is in its heap or not.
 */
#include <string.h>
#include <unistd.h>

#include "algorithms/algorithm.h"
#include "offload/shm/shm.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"

enum { INSTANCES = 20 };

static const struct pcoll_medium *const shm = &pcoll_medium_shm;
static _Atomic int *starts;

/* Rank `away` starts when the other has, so that its copy can begin, or, in every other instance,
 * before the other, and does nothing more until the other has completed. */
struct scene {
    const struct pcoll_algorithm *row;
    int (*play)(struct meeting *meeting, struct part *p, const struct scene *scene);
    int nranks, away, root;
    unsigned in_heap; /* a bit for each rank */
    uint64_t bytes;
};

static int play_away(struct meeting *meeting, struct part *p, const struct scene *scene)
{
    const int is_away = p->rank == scene->away;
    int wrong = 0;

    for (int i = 0; i < INSTANCES && !wrong; i++) {
        if (is_away == i % 2)
            wrong = part_start(p);
        meeting_barrier(meeting);
        if (is_away != i % 2)
            wrong = part_start(p);
        meeting_barrier(meeting);
        if (!is_away)
            wrong = wrong || part_wait(p);
        meeting_barrier(meeting);
        if (is_away)
            wrong = wrong || part_wait(p);
    }
    return wrong;
}

/* Rank 1 has begun the next instance, in which its copy may not begin, while rank 0, the root,
 * still waits for the late rank 2 and would help with that copy. */
static int play_next(struct meeting *meeting, struct part *p, const struct scene *scene)
{
    int wrong = 0;

    (void)scene;
    for (int i = 0; i < INSTANCES && !wrong; i++) {
        if (p->rank < 2)
            wrong = part_start(p);
        if (p->rank == 1)
            wrong = wrong || part_wait(p) || part_start(p);
        meeting_barrier(meeting);
        for (int k = 0; p->rank == 0 && !wrong && k < 100; k++)
            wrong = p->bound->medium->progress(p->bound) != PCOLL_PENDING;
        meeting_barrier(meeting);
        if (p->rank == 2)
            wrong = part_start(p);
        if (p->rank != 1)
            wrong = wrong || part_wait(p) || part_start(p);
        wrong = wrong || part_wait(p);
        meeting_barrier(meeting);
    }
    return wrong;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct scene *scene = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const struct pcoll_params params = {.path = PCOLL_PATH_USER};
    struct part p = {
        .medium = shm,
        .signature = {scene->row->coll, scene->nranks, scene->root, scene->bytes, 0},
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = starts,
        .in_heap = (int)(scene->in_heap >> rank & 1),
    };
    int wrong;

    alarm(60);
    if (shm->group_create(&bootstrap, &p.group) != PCOLL_OK)
        return 1;
    wrong = part_init(&p, scene->row, &params) != PCOLL_OK || part_bind(&p) != PCOLL_OK;
    wrong = wrong || scene->play(meeting, &p, scene);
    meeting_barrier(meeting);
    part_unbind(&p);
    shm->group_destroy(p.group);
    part_fini(&p);
    return wrong;
}

/* Half of the sizes are no multiple of a chunk. */
static void check(const char *algorithm, const char *who, int root, int away)
{
    static const uint64_t sizes[] = {4096, 4097, 150000, (uint64_t)1 << 20};
    int failed = 0;

    for (unsigned in_heap = 0; in_heap < 4; in_heap++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            struct scene scene = {.row = pcoll_algorithm_find(PCOLL_BCAST, algorithm),
                                  .play = play_away,
                                  .nranks = 2,
                                  .away = away,
                                  .root = root,
                                  .in_heap = in_heap,
                                  .bytes = sizes[i]};

            if (tap_depth() > TAP_BRIEF || in_heap % 3 == 0)
                failed += meeting_run_processes(2, rank_main, &scene);
        }
    tap_ok(failed == 0, "bcast %s, root %d: %s is away", algorithm, root, who);
}

static void check_next(void)
{
    int failed = 0;

    for (unsigned in_heap = 0; in_heap < 8; in_heap += 7) {
        struct scene scene = {.row = pcoll_algorithm_find(PCOLL_BCAST, "binomial_get"),
                              .play = play_next,
                              .nranks = 3,
                              .in_heap = in_heap,
                              .bytes = 150000};

        failed += meeting_run_processes(3, rank_main, &scene);
    }
    tap_ok(failed == 0,
           "bcast binomial_get, 3 ranks: nobody helps with the next instance too early");
}

int main(void)
{
    struct meeting *page = meeting_create(0); /* any shared page will do */

    starts = (_Atomic int *)(void *)page;
    for (int root = 0; root < 2; root++) {
        check("binomial_get", "the rank that reads", root, 1 - root);
        check("binomial_put", "the rank that writes", root, root);
    }
    check_next();
    meeting_destroy(page);
    return tap_done();
}
