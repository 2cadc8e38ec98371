/*
 * Cooperative copies. A rank that waits copies all of it while the other is away, whichever of them
 * owns the entry and whichever has started first, and completes before the other comes back.
 * Owners and helpers dawdle in the middle of chunks, and before and after they claim them; the
 * kernel refuses either of them after a while; and a helper dies. Each rank's memory is in its heap
 * or not.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/algorithm.h"
#include "offload/memory/process.h"
#include "offload/node/board_state.h"
#include "offload/run/run.h"
#include "offload/shm/shm.h"
#include "test/unit/cover.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"
#include "test/unit/wraps.h"

enum { INSTANCES = 20, FREE_INSTANCES = 8, STEP_USEC = 50 };

static const struct pcoll_medium *const shm = &pcoll_medium_shm;
static _Atomic int *starts;  /* as trial.h requires; then */
static _Atomic int *fate;    /* what became of the rank whose helper died (enum fate), and */
static _Atomic int *claimed; /* [2]: chunks, by their owners and by helpers */

enum fate { UNKNOWN, COMPLETE, FAILED, WRONG };

/* ---- owners and helpers that dawdle, are refused, or die ---- */

enum role { OWNER = 1, HELPER = 2 };
enum death { NOBODY, IN_CHUNK, IN_SIGNALS };

static struct {
    unsigned slow, refused; /* enum role, or both */
    enum death death;       /* of a helper */
} trouble;                  /* set before the ranks are there */

enum { REFUSED_FROM = 9 }; /* so many copies of a rank succeed in a role that will be refused */

static _Thread_local enum role role; /* in which this thread has claimed its last chunk */
static _Thread_local unsigned seed, ncopies;

static void pause_as(enum role who)
{
    const unsigned dice = (unsigned)rand_r(&seed) % 64;

    if (!(trouble.slow & who))
        return;
    if (dice < 8)
        sched_yield();
    else if (dice == 8)
        usleep(1 + (unsigned)rand_r(&seed) % 1000);
}

static void die_in(enum death death)
{
    if (trouble.death == death && role == HELPER)
        kill(getpid(), SIGKILL);
}

bool __wrap_pcoll_notice_claim(struct pcoll_notice *notice, uint64_t word, unsigned helper,
                               struct pcoll_chunk *chunk_p)
{
    const enum role who = helper > 0 ? HELPER : OWNER;
    int has;

    pause_as(who);
    has = __real_pcoll_notice_claim(notice, word, helper, chunk_p);
    if (has) {
        role = who;
        atomic_fetch_add_explicit(&claimed[who == HELPER], 1, memory_order_relaxed);
    }
    return has;
}

void __wrap_pcoll_notice_close(struct pcoll_notice *notice)
{
    die_in(IN_SIGNALS);
    pause_as(role);
    __real_pcoll_notice_close(notice);
    pause_as(role);
}

void __wrap_pcoll_copy(void *to, const void *from, size_t bytes)
{
    pause_as(role);
    __real_pcoll_copy(to, from, bytes / 2);
    die_in(IN_CHUNK);
    pause_as(role);
    __real_pcoll_copy((char *)to + bytes / 2, (const char *)from + bytes / 2, bytes - bytes / 2);
    pause_as(role);
}

/* The caller asks again for what is left. */
ssize_t vm_copy(vm_call *call, pid_t pid, const struct iovec *local, const struct iovec *remote)
{
    const size_t bytes = local->iov_len > 1 ? local->iov_len / 2 : local->iov_len;
    const struct iovec here = {local->iov_base, bytes}, there = {remote->iov_base, bytes};
    ssize_t moved;

    pause_as(role);
    if (trouble.refused & role && ++ncopies > REFUSED_FROM) {
        errno = EPERM;
        return -1;
    }
    moved = call(pid, &here, 1, &there, 1, 0);
    die_in(IN_CHUNK);
    return moved;
}

/* ---- setups ---- */

/* Rank `away` starts when the other has, so that its copy can begin, or, in every other instance,
 * before the other, and does nothing more until the other has completed. */
struct setup {
    const struct pcoll_algorithm *row;
    int (*exercise)(struct meeting *meeting, struct part *p, const struct setup *setup);
    int nranks, away, root;
    unsigned in_heap; /* a bit for each rank */
    uint64_t bytes, segment;
};

static int run_setup(struct setup *setup);

static int exercise_away(struct meeting *meeting, struct part *p, const struct setup *setup)
{
    const int is_away = p->rank == setup->away;
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
static int exercise_next(struct meeting *meeting, struct part *p, const struct setup *setup)
{
    int wrong = 0;

    (void)setup;
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

/* Ranks run ahead of each other. */
static int exercise_freely(struct meeting *meeting, struct part *p, const struct setup *setup)
{
    int wrong = 0;

    (void)meeting, (void)setup;
    for (int i = 0; i < FREE_INSTANCES && !p->failed; i++)
        wrong |= part_start(p) || part_wait(p) || !part_is_untouched(p);
    return wrong;
}

/* In an exchange the owner of a copy takes all of it at once, in a tree it shares chunks. */
static int exercise_shares(struct meeting *meeting, struct part *p, const struct setup *setup)
{
    const struct pcoll_node_board *board = pcoll_node_bound_of(p->bound)->board;
    const bool is_tree = pcoll_coll_has(setup->row->coll, PCOLL_ROOTED);
    int wrong = board->nposts == 0 && !(is_tree && p->rank == setup->root);

    (void)meeting;
    for (int i = 0; i < board->nposts; i++)
        wrong |= board->posts[i].notice->is_whole == is_tree;
    return wrong;
}

/* The helper dies before the owner waits; then they meet no more. */
static int exercise_death(struct meeting *meeting, struct part *p, const struct setup *setup)
{
    const pid_t helper = pcoll_node_bound_of(p->bound)->board->members[1 - setup->away].pid;

    meeting_barrier(meeting);
    if (p->rank != setup->away)
        exit(part_start(p) || part_wait(p));
    if (part_start(p) == 0)
        while (!pcoll_process_is_dead(helper))
            usleep(STEP_USEC);
    atomic_store(fate, part_wait(p) == 0 ? COMPLETE : p->failed ? FAILED : WRONG);
    exit(0);
}

static int exercise_bound(struct part *p, const struct part_frame *frame)
{
    const struct setup *setup = frame->setup;
    int wrong;

    if (part_bind(p) != PCOLL_OK)
        return 1;
    wrong = setup->exercise(frame->meeting, p, setup);
    meeting_barrier(frame->meeting);
    part_unbind(p);
    return wrong;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct setup *setup = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const struct pcoll_params params = {.path = PCOLL_PATH_USER, .segment = setup->segment};
    const struct part_frame frame = {meeting, &bootstrap,     setup->row,
                                     &params, exercise_bound, setup};
    struct part p = {
        .medium = shm,
        .signature = {setup->row->coll, setup->nranks, setup->root, setup->bytes, 0},
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = starts,
        .in_heap = (int)(setup->in_heap >> rank & 1),
    };

    alarm(60);
    seed = (unsigned)rand_r(&p.seed);
    return part_perform(&p, &frame);
}

/* Between processes a sanitizer sees no race. */
static int run_setup(struct setup *setup)
{
    return (meeting_is_threads_only() ? meeting_run_threads
                                      : meeting_run_processes)(setup->nranks, rank_main, setup);
}

/* Half of the sizes are no multiple of a chunk. */
static void check(const char *algorithm, const char *who, int root, int away)
{
    static const uint64_t sizes[] = {4096, 4097, 150000, (uint64_t)1 << 20};
    int failed = 0;

    for (unsigned in_heap = 0; in_heap < 4; in_heap++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            struct setup setup = {.row = pcoll_algorithm_find(PCOLL_BCAST, algorithm),
                                  .exercise = exercise_away,
                                  .nranks = 2,
                                  .away = away,
                                  .root = root,
                                  .in_heap = in_heap,
                                  .bytes = sizes[i]};

            if (tap_depth() > TAP_BRIEF || in_heap % 3 == 0)
                failed += run_setup(&setup);
        }
    tap_ok(failed == 0, "bcast %s, root %d: %s is away", algorithm, root, who);
}

static void check_next(void)
{
    int failed = 0;

    for (unsigned in_heap = 0; in_heap < 8; in_heap += 7) {
        struct setup setup = {.row = pcoll_algorithm_find(PCOLL_BCAST, "knomial_get"),
                              .exercise = exercise_next,
                              .nranks = 3,
                              .in_heap = in_heap,
                              .bytes = 150000};

        failed += run_setup(&setup);
    }
    tap_ok(failed == 0,
           "bcast knomial_get, 3 ranks: nobody helps with the next instance too early");
}

static void check_shares(void)
{
    static const struct pcoll_algorithm *const some[] = {
        &pcoll_bcast_knomial_get, &pcoll_allgather_direct, &pcoll_alltoall_direct};
    int failed = 0;

    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        struct setup setup = {
            .row = some[i], .exercise = exercise_shares, .nranks = 2, .bytes = 150000};

        failed += run_setup(&setup);
    }
    tap_ok(failed == 0, "owners share the copies of a tree, not those of an exchange");
}

static const struct pcoll_algorithm *rows[100]; /* [nrows]: between user buffers */
static int nrows;

static void find_rows(void)
{
    PCOLL_EACH_ALGORITHM (row)
        if (row->paths & 1u << PCOLL_PATH_USER && !cover_skips(row, "shm"))
            rows[nrows++] = row;
}

static void check_rows(unsigned slow, unsigned refused, const char *what)
{
    int failed = 0, by_owners, by_helpers;

    trouble.slow = slow;
    trouble.refused = refused;
    for (int i = 0; i < nrows; i++) {
        struct setup setup = {.row = rows[i],
                              .exercise = exercise_freely,
                              .nranks = 2 + i % 3,
                              .root = pcoll_coll_has(rows[i]->coll, PCOLL_ROOTED) ? i % 2 : 0,
                              .in_heap = refused ? 0 : (unsigned)i,
                              .bytes = 40000,
                              .segment = rows[i]->uses_segment ? 9000 : 0};

        if (run_setup(&setup) == 0)
            continue;
        printf("# %s %s, %d ranks\n", pcoll_coll_name(rows[i]->coll), rows[i]->name, setup.nranks);
        failed++;
    }
    by_owners = atomic_exchange(&claimed[0], 0);
    by_helpers = atomic_exchange(&claimed[1], 0);
    tap_ok(failed == 0 && by_owners > 0 && by_helpers > 0,
           "%d algorithms, %s: %d chunks by owners, %d by helpers", nrows, what, by_owners,
           by_helpers);
    trouble.slow = trouble.refused = 0;
}

static void check_death(enum death death, unsigned in_heap, enum fate expected, const char *what)
{
    struct setup setup = {.row = pcoll_algorithm_find(PCOLL_BCAST, "knomial_get"),
                          .exercise = exercise_death,
                          .nranks = 2,
                          .away = 1,
                          .in_heap = in_heap,
                          .bytes = 150000};

    if (meeting_is_threads_only())
        return;
    atomic_store(fate, UNKNOWN);
    trouble.death = death;
    meeting_run_processes(2, rank_main, &setup);
    trouble.death = NOBODY;
    tap_ok(atomic_load(fate) == (int)expected, "a helper dies %s", what);
}

int main(void)
{
    struct meeting *page = meeting_create(0); /* any shared page will do */

    starts = (_Atomic int *)(void *)page;
    fate = &starts[MEETING_MAX_RANKS];
    claimed = &starts[MEETING_MAX_RANKS + 1];
    for (int root = 0; root < 2; root++) {
        check("knomial_get", "the rank that reads", root, 1 - root);
        check("knomial_put", "the rank that writes", root, root);
    }
    check_next();
    check_shares();
    find_rows();
    check_rows(OWNER | HELPER, 0, "all dawdle");
    if (tap_depth() > TAP_BRIEF) {
        check_rows(0, 0, "nobody dawdles");
        check_rows(OWNER, 0, "owners dawdle");
        check_rows(HELPER, 0, "helpers dawdle");
    }
    if (!meeting_is_threads_only()) {
        check_rows(OWNER, HELPER, "helpers are refused");
        check_rows(HELPER, OWNER, "owners are refused");
        check_rows(OWNER | HELPER, OWNER | HELPER, "all are refused");
    }
    check_death(IN_CHUNK, 3, COMPLETE, "in a chunk between heaps: the owner copies it");
    check_death(IN_CHUNK, 0, FAILED, "in a chunk, and its memory with it: the plan fails");
    check_death(IN_SIGNALS, 3, FAILED, "between signals: the plan fails");
    meeting_destroy(page);
    return tap_done();
}
