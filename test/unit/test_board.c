/*
 * Boards: three ranks with one agent, of rank 0's process. Ranks start, and do nothing more until
 * others have performed all their entries; or they wait, with memory in heaps or not, while agent
 * and ranks help each other. The agent never calls functions of the user. Its process dies in the
 * middle of a chunk, of a reduction, or of signals.
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/agent/agent.h"
#include "offload/agree.h"
#include "offload/memory/process.h"
#include "offload/node/board_state.h"
#include "offload/node/node.h"
#include "offload/shm/shm.h"
#include "test/unit/meeting.h"
#include "test/unit/standin.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"
#include "test/unit/wraps.h"

enum { RANKS = 3, BYTES = 40000, PATIENCE_USEC = 20000000, STEP_USEC = 50 };

static const struct pcoll_medium *const shm = &pcoll_medium_shm;
static _Atomic int *starts; /* as trial.h requires; then the number of jobs that ran, */
static _Atomic int *rank_2; /* what became of rank 2 (enum outcome), */
static _Atomic int *now;    /* and the time */

static const struct part_source arena = {standin_get, standin_put};
static struct standin *standin;

enum memory { HEAP, MIXED, PRIVATE, MAPPED };
enum death { NOBODY, IN_CHUNK, IN_REDUCTION, IN_SIGNALS };
enum outcome { UNKNOWN, COMPLETE, FAILED, WRONG };

struct setup {
    const struct pcoll_algorithm *row;
    struct pcoll_params params;
    int in_place, instances, is_absent, is_slow;
    int has_function; /* the operator has no kernel, if the row permits that */
    uint64_t bytes, segment;
    enum memory memory;
    enum death death;
    unsigned retired_usec;
    int has_core;
};

static const struct setup *exercised; /* set before the ranks are there */

/* ---- time ---- */

/* The test owns the clock: it ticks when a rank or the agent has looked for something to do, so a
 * pause lasts until others had their chances, and no longer. A thread that pauses gives its core
 * away, and makes the clock tick in the end, as all others may be asleep. */
enum { YIELDS_PER_TICK = 4 };

static void tick(void)
{
    atomic_fetch_add(now, 1);
}

static void pause_for(int ticks)
{
    const int end = atomic_load(now) + ticks;

    for (int yields = 1; atomic_load(now) - end < 0; yields++) {
        sched_yield();
        if (yields % YIELDS_PER_TICK == 0)
            tick();
    }
}

enum pcoll_result __real_pcoll_node_attend(struct pcoll_node_bound *bound);
enum pcoll_result __wrap_pcoll_node_attend(struct pcoll_node_bound *bound);

enum pcoll_result __wrap_pcoll_node_attend(struct pcoll_node_bound *bound)
{
    tick();
    return __real_pcoll_node_attend(bound);
}

static enum pcoll_visit visit(void)
{
    const enum pcoll_visit found = pcoll_node_visit_boards();

    tick();
    return found;
}

/* ---- the agent pauses, or its process dies ---- */

enum { LONG_PAUSE = 32, NOTICEABLE = 16 }; /* in ticks */

static _Thread_local unsigned pause_seed;

enum pcoll_result __real_pcoll_reduce(const struct pcoll_reduction *reduction);
enum pcoll_result __wrap_pcoll_reduce(const struct pcoll_reduction *reduction);

static void pause_at_random(void)
{
    const unsigned dice = (unsigned)rand_r(&pause_seed) % 64;

    if (exercised == NULL || !exercised->is_slow)
        return;
    if (dice < 16)
        sched_yield();
    else if (dice == 16)
        pause_for(1 + rand_r(&pause_seed) % LONG_PAUSE);
}

/* The thread that copies is an agent if it belongs to no rank. */
static _Thread_local int is_rank;

static void die_in(enum death death, uint64_t bytes)
{
    if (exercised != NULL && exercised->death == death && !is_rank && bytes > 5000)
        kill(getpid(), SIGKILL);
}

void __wrap_pcoll_copy(void *to, const void *from, size_t bytes)
{
    pause_at_random();
    __real_pcoll_copy(to, from, bytes / 2);
    die_in(IN_CHUNK, bytes);
    pause_at_random();
    __real_pcoll_copy((char *)to + bytes / 2, (const char *)from + bytes / 2, bytes - bytes / 2);
    pause_at_random();
}

/* It dies when all has been overwritten that will be. */
enum pcoll_result __wrap_pcoll_reduce(const struct pcoll_reduction *reduction)
{
    enum pcoll_result result;

    pause_at_random();
    result = __real_pcoll_reduce(reduction);
    die_in(IN_REDUCTION, reduction->bytes);
    pause_at_random();
    return result;
}

void __wrap_pcoll_notice_close(struct pcoll_notice *notice)
{
    if (notice->bytes > PCOLL_LONG_BYTES)
        die_in(IN_SIGNALS, notice->bytes);
    pause_at_random();
    __real_pcoll_notice_close(notice);
    if (exercised != NULL && exercised->is_slow && rand_r(&pause_seed) % 8 == 0)
        pause_for(NOTICEABLE); /* so that signals that were still to be given would be missed */
    pause_at_random();
}

bool __wrap_pcoll_notice_claim(struct pcoll_notice *notice, uint64_t word, unsigned helper,
                               struct pcoll_chunk *chunk_p)
{
    pause_at_random();
    return __real_pcoll_notice_claim(notice, word, helper, chunk_p);
}

/* ---- ranks ---- */

static struct pcoll_node_board *board_of(const struct part *p)
{
    return pcoll_node_bound_of(p->bound)->board;
}

/* All notices of this rank are closed. */
static int is_done(const struct part *p)
{
    const struct pcoll_node_board *board = board_of(p);

    for (long usec = 0;; usec += STEP_USEC) {
        int open = 0;

        for (int i = 0; i < board->nposts; i++)
            open += pcoll_notice_is_open(board->posts[i].notice);
        if (open == 0 || usec > PATIENCE_USEC)
            return open == 0;
        tick();
        usleep(STEP_USEC);
    }
}

/* Ranks agree, or some would wait for others. When all notices are closed, all signals have been
 * given, so that each rank completes at once. */
static int exercise_absent(struct part *p, const struct pcoll_bootstrap *bootstrap)
{
    int wrong = part_start(p);

    if (!wrong && p->active && !is_done(p)) {
        printf("# rank %d: nobody has performed all of instance %d\n", p->rank, p->instance);
        wrong = 1;
    }
    p->failed = pcoll_agree(bootstrap, PCOLL_ROUND_BOUND, wrong ? PCOLL_ERR_SYSTEM : PCOLL_OK, NULL,
                            0) != PCOLL_OK;
    if (p->failed)
        return 1;
    wrong = p->active && p->bound->medium->progress(p->bound) != PCOLL_OK;
    if (wrong)
        printf("# rank %d: all is closed, and something is missing in instance %d\n", p->rank,
               p->instance);
    p->failed = pcoll_agree(bootstrap, PCOLL_ROUND_BOUND, wrong ? PCOLL_ERR_SYSTEM : PCOLL_OK, NULL,
                            0) != PCOLL_OK;
    return p->failed || part_wait(p);
}

/* Each notice has been opened at the starts of its phase, and at no others. */
static int has_opened(const struct part *p)
{
    const struct pcoll_node_bound *bound = pcoll_node_bound_of(p->bound);
    const struct pcoll_plan *plan = p->plan;
    int right = 1;

    for (int i = 0; i < bound->board->nposts; i++) {
        const struct board_post *post = &bound->board->posts[i];
        const int entry = (int)(post->step - bound->run.steps);
        const uint64_t word = atomic_load(&post->notice->word);
        int phase = 0;

        while (entry >= plan->phases[phase].first + plan->phases[phase].count)
            phase++;
        right = right && pcoll_notice_read(word).epoch ==
                             (uint64_t)((p->instance - phase + plan->nphases - 1) / plan->nphases);
    }
    return right;
}

/* A rank with wrong data goes on, since others wait for it. */
static int exercise(struct part *p, const struct setup *setup,
                    const struct pcoll_bootstrap *bootstrap)
{
    int wrong = 0;

    for (int i = 0; i < setup->instances && !p->failed; i++) {
        wrong |= setup->is_absent ? exercise_absent(p, bootstrap) : part_start(p) || part_wait(p);
        wrong = wrong || !part_is_untouched(p);
    }
    return wrong || !has_opened(p);
}

static int falls_asleep(const struct pcoll_bell *bell)
{
    for (long usec = 0; atomic_load(&bell->sleep) != PCOLL_ASLEEP; usec += STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(STEP_USEC);
    }
    return 1;
}

/* Rank 1 has the data and starts; of a reduction, rank 0 does, too. The agent copies or reduces it
 * for rank 2, and its process dies, which is rank 0; the others then meet no more. Rank 2 completes
 * by itself, or its plan fails. */
static int exercise_death(struct meeting *meeting, struct part *p)
{
    const pid_t host = board_of(p)->members[0].pid;

    meeting_barrier(meeting);
    if ((p->rank > 0 || pcoll_coll_has(p->signature.coll, PCOLL_REDUCES)) && part_start(p))
        atomic_store(rank_2, WRONG);
    while (p->rank == 0 || (p->rank == 1 && atomic_load(rank_2) == 0))
        usleep(STEP_USEC);
    if (p->rank == 1)
        return 0;
    while (!pcoll_process_is_dead(host))
        usleep(STEP_USEC);
    atomic_store(rank_2, part_wait(p) == 0 ? COMPLETE : p->failed ? FAILED : WRONG);
    return 0;
}

/* Which the agent must not call. */
static int is_with_function(const struct part *p)
{
    return pcoll_coll_has(p->signature.coll, PCOLL_REDUCES) && p->op.kernel == NULL;
}

static _Thread_local enum pcoll_result (*function)(const struct pcoll_operator *self,
                                                   const void *left, void *right, size_t n);

static enum pcoll_result apply_in_rank(const struct pcoll_operator *self, const void *left,
                                       void *right, size_t n)
{
    if (!is_rank)
        abort();
    return function(self, left, right, n);
}

static int exercise_bound(struct part *p, const struct part_frame *frame)
{
    const struct pcoll_bootstrap *bootstrap = frame->bootstrap;
    const struct setup *setup = frame->setup;
    int wrong = 0;

    if (part_bind(p) != PCOLL_OK)
        return 1;
    function = p->op.apply;
    p->op.apply = apply_in_rank;
    if (setup->death != NOBODY)
        exit(exercise_death(frame->meeting, p));
    if (board_of(p) != NULL && !(setup->is_absent && is_with_function(p))) {
        wrong = exercise(p, setup, bootstrap);
        if (p->rank == 0)
            atomic_fetch_add(&starts[MEETING_MAX_RANKS], 1);
    }
    meeting_barrier(frame->meeting);
    if (!wrong && bootstrap->bell != NULL && setup->retired_usec == 0)
        wrong = !falls_asleep(bootstrap->bell);
    part_unbind(p);
    return wrong;
}

static struct pcoll_agent *hire(const struct setup *setup, struct pcoll_bell **bell_p)
{
    struct pcoll_agent_options options = {
        .cpu = PCOLL_NONE,
        .has_core = setup->has_core,
        .spin_usec = 20,
        .retired_usec = setup->retired_usec,
        .bell = pcoll_heap_get(sizeof(**bell_p)),
        .visit = visit,
    };
    struct pcoll_agent *agent;

    *bell_p = options.bell;
    if (options.bell == NULL || pcoll_agent_create(&options, &agent) != 0)
        abort();
    return agent;
}

static int is_in_heap(const struct setup *setup, int rank)
{
    return setup->memory == HEAP || (setup->memory == MIXED && rank == 1);
}

/* A setup of death ends there. */
static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct setup *setup = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const struct part_frame frame = {meeting,        &bootstrap,     setup->row,
                                     &setup->params, exercise_bound, setup};
    struct pcoll_agent *agent = NULL;
    struct part p = {
        .medium = shm,
        .signature = {.coll = setup->row->coll,
                      .nranks = RANKS,
                      .bytes = setup->bytes,
                      .in_place = setup->in_place,
                      .commutes = !setup->has_function},
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = starts,
        .loads = setup->memory == HEAP,
        .in_heap = is_in_heap(setup, rank),
        .source = setup->memory == MAPPED ? &arena : NULL,
    };
    int wrong;

    if (setup->memory == MAPPED)
        standin_enter(standin, rank);
    bootstrap.maps = setup->memory == MAPPED;
    is_rank = 1;
    bootstrap.board_from = 0;
    if (rank == 0)
        agent = hire(setup, &bootstrap.bell);
    if (pcoll_coll_has(setup->row->coll, PCOLL_ROOTED))
        p.signature.root = setup->death == IN_REDUCTION ? 2 : 1;
    wrong = part_perform(&p, &frame);
    pcoll_agent_destroy(agent);
    return wrong;
}

/* Every algorithm on both paths. */
static void test_rows(struct setup setup, const char *what)
{
    int failed = 0, jobs;

    exercised = &setup;
    PCOLL_EACH_ALGORITHM (row)
        for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++) {
            if (!(row->paths & 1u << path))
                continue;
            setup.row = row;
            setup.params.path = (enum pcoll_path)path;
            setup.params.segment = row->uses_segment ? setup.segment : 0;
            setup.in_place = path == PCOLL_PATH_TEMP && pcoll_coll_has(row->coll, PCOLL_IN_PLACE);
            if ((meeting_is_threads_only() ? meeting_run_threads : meeting_run_processes)(
                    RANKS, rank_main, &setup) != 0) {
                printf("# %s %s, path %d\n", pcoll_coll_name(row->coll), row->name, path);
                failed++;
            }
        }
    jobs = atomic_exchange(&starts[MEETING_MAX_RANKS], 0);
    tap_ok(failed == 0 && jobs > 40, "%d jobs: %s", jobs, what);
}

static void test_death(enum death death, int in_place, enum outcome outcome, const char *what)
{
    struct setup setup = {.row = death == IN_REDUCTION
                                     ? pcoll_algorithm_find(PCOLL_REDUCE, "knomial")
                                     : pcoll_algorithm_find(PCOLL_BCAST, "knomial_get"),
                          .params = {.radix = RANKS, .segment = 400000},
                          .bytes = 400000,
                          .in_place = in_place,
                          .death = death,
                          .has_core = 1};

    if (meeting_is_threads_only())
        return;
    atomic_store(rank_2, UNKNOWN);
    exercised = &setup;
    meeting_run_processes(RANKS, rank_main, &setup);
    tap_ok(atomic_load(rank_2) == (int)outcome, "the agent's process dies %s", what);
}

int main(void)
{
    const int n = tap_depth() >= TAP_USUAL ? 10 : 4;
    struct setup setup = {
        .instances = n, .bytes = BYTES, .segment = 4096, .is_absent = 1, .has_core = 1};
    struct meeting *page = meeting_create(0); /* any shared page will do */

    setvbuf(stdout, NULL, _IOLBF, 0);
    standin = standin_create();
    starts = (_Atomic int *)(void *)page;
    rank_2 = &starts[MEETING_MAX_RANKS + 1];
    now = &starts[MEETING_MAX_RANKS + 2];
    test_death(IN_CHUNK, 0, COMPLETE, "in a chunk: the owner copies it");
    test_death(IN_REDUCTION, 0, COMPLETE, "in a reduction: the owner reduces");
    test_death(IN_REDUCTION, 1, FAILED,
               "in a reduction that overwrites an operand: the plan fails");
    test_death(IN_SIGNALS, 0, FAILED, "between signals: the plan fails");
    test_rows(setup, "only the agent performs entries");
    setup.memory = MAPPED;
    if (!meeting_is_threads_only())
        test_rows(setup, "only the agent performs entries, in private memory that XPMEM maps");
    setup.memory = HEAP;
    setup.is_slow = 1;
    test_rows(setup, "only the agent performs entries, and dawdles");
    setup.is_absent = 0;
    setup.instances = 2 * n;
    test_rows(setup, "all help");
    setup.has_function = 1;
    setup.segment = BYTES + BYTES / 10; /* so phases of some ranks only reduce */
    test_rows(setup, "all help, with one segment, and a function of the user reduces");
    setup.has_function = 0;
    setup.memory = MIXED;
    setup.retired_usec = 1000;
    test_rows(setup, "all help, the memory of some ranks is private, and the agent retires");
    setup.memory = PRIVATE;
    setup.has_core = 0;
    test_rows(setup, "all memory is private, and the agent has no core");
    standin_destroy(standin);
    meeting_destroy(page);
    return tap_done();
}
