/*
 * The shared-memory medium: every algorithm on ranks that are threads, then processes. Ranks run
 * ahead, pause at random, and change and poison their buffers between instances.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/algorithm.h"
#include "offload/node/binding.h"
#include "offload/shm/shm.h"
#include "test/unit/cover.h"
#include "test/unit/job.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"

struct trial {
    const struct pcoll_algorithm *row;
    struct pcoll_params params;
    int nranks;
    uint64_t bytes;
    int form;
    int instances;
    int as_threads;
    int has_layouts; /* user memory is not contiguous */
    int (*exercise)(struct part *p, const struct part_frame *frame); /* NULL: run_twice */
};

static const struct pcoll_medium *const shm = &pcoll_medium_shm;

static void fill(const void *bytes, char *payload)
{
    memset(payload, 0xee, *(const size_t *)bytes);
}

/* Leave memory that is not zero: in the first chunk, and in one for longer blocks. */
static int soil(struct meeting *meeting, const struct part *p)
{
    static const size_t sizes[] = {8 * 1024, 256 * 1024};
    struct pcoll_node_group *group = pcoll_node_group_of(p->group);
    struct pcoll_shm_extent *block;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct pcoll_shm_wish wish = {sizes[i], fill, &sizes[i]};

        if (pcoll_shm_carve(&group->arena, &group->bootstrap, &wish, &block) != PCOLL_OK)
            return 1;
        meeting_barrier(meeting);
        pcoll_shm_release(block);
    }
    return 0;
}

static _Atomic int *starts_in_shared_memory; /* [MEETING_MAX_RANKS]: number of trials that could
                                              * run */

/* Bind and run twice: in memory that is not zero, then in the block that the first bind returned.
 * A rank with wrong data goes on, since others wait for it. */
static int run_twice(struct part *p, const struct part_frame *frame)
{
    const struct trial *trial = frame->setup;
    struct meeting *meeting = frame->meeting;
    int wrong = soil(meeting, p);

    if (p->rank == 0)
        atomic_fetch_add(&starts_in_shared_memory[MEETING_MAX_RANKS], 1);
    for (int round = 0; round < 2; round++) {
        meeting_barrier(meeting);
        if (part_bind(p) != PCOLL_OK)
            return 1;
        wrong |= part_run(p, trial->instances);
        part_unbind(p);
        meeting_barrier(meeting);
    }
    return wrong;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct trial *trial = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    /* Without CMA, only algorithms that move data between user buffers themselves cannot run. */
    const struct part_frame frame = {.meeting = meeting,
                                     .bootstrap = &bootstrap,
                                     .row = trial->row,
                                     .params = &trial->params,
                                     .exercise = trial->exercise ? trial->exercise : run_twice,
                                     .setup = trial};
    struct job job = {.signature = {trial->row->coll, trial->nranks, 0, trial->bytes}};
    struct part p = {
        .medium = shm,
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = starts_in_shared_memory,
        .loads = 1,
        .in_heap = trial->row->must_map,
        .has_layouts = trial->has_layouts,
    };

    (void)job_take_form(&job, trial->form);
    p.signature = job.signature;
    if (pcoll_coll_has(trial->row->coll, PCOLL_ROOTED))
        p.signature.root = trial->nranks / 2;
    return part_perform(&p, &frame);
}

static int run_trial(struct trial *trial)
{
    if (trial->as_threads)
        return meeting_run_threads(trial->nranks, rank_main, trial);
    return meeting_run_processes(trial->nranks, rank_main, trial);
}

static int run_sizes(struct trial *trial)
{
    static const struct {
        uint64_t bytes;
        enum tap_depth depth; /* the depth from which on it runs */
    } sizes[] = {{13, TAP_BRIEF}, {0, TAP_USUAL},   {1, TAP_FULL},
                 {8, TAP_FULL},   {24, TAP_FULL},   {48, TAP_FULL},
                 {49, TAP_USUAL}, {1000, TAP_FULL}, {40000, TAP_BRIEF}};
    int failed = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i].depth > tap_depth())
            continue;
        trial->bytes = sizes[i].bytes;
        trial->instances = sizes[i].bytes > 1000 ? 12 : 40;
        failed += run_trial(trial);
        if (pcoll_coll_has(trial->row->coll, PCOLL_SYNCHRONIZES))
            break;
    }
    return failed;
}

/* Threads prove all but the sharing, so that processes need no number of ranks of their own, and
 * where time is short (an emulator forks slowly) only two ranks. */
static int processes_run(int nranks)
{
    return tap_depth() == TAP_FULL || (nranks != 3 && (tap_depth() > TAP_BRIEF || nranks == 2));
}

static int run_ranks(struct trial *trial, int max_ranks)
{
    static const struct {
        int nranks;
        enum tap_depth depth; /* the depth from which on it runs */
    } jobs[] = {{1, TAP_USUAL}, {2, TAP_BRIEF}, {3, TAP_USUAL},
                {4, TAP_FULL},  {5, TAP_BRIEF}, {8, TAP_FULL}};
    const int brief_ranks =
        max_ranks < 5 ? 3 : 0; /* a thread sanitizer sees 3 ranks instead of 5 */
    int failed = 0;

    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]) && jobs[i].nranks <= max_ranks; i++) {
        trial->nranks = jobs[i].nranks;
        if (trial->nranks == brief_ranks ||
            (jobs[i].depth <= tap_depth() && (trial->as_threads || processes_run(trial->nranks))))
            failed += run_sizes(trial);
    }
    return failed;
}

static void check_row(const struct pcoll_algorithm *row, int as_threads, int max_ranks)
{
    const int can_be_in_place = pcoll_coll_has(row->coll, PCOLL_IN_PLACE);

    for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++)
        for (int radix = 0; radix <= (row->uses_radix ? 8 : 0); radix += 4) {
            struct trial trial = {.row = row, .as_threads = as_threads};
            double begin = cover_clock();
            int failed, jobs;

            if (!(row->paths & 1u << path))
                continue;
            trial.params.path = (enum pcoll_path)path;
            trial.params.radix = radix;
            trial.params.segment = row->uses_segment ? 4096 : 0;
            trial.form = can_be_in_place && as_threads;
            failed = run_ranks(&trial, max_ranks);
            trial.form = 2 + (can_be_in_place && !as_threads);
            if (pcoll_coll_has(row->coll, PCOLL_VECTOR))
                failed += run_ranks(&trial, max_ranks);
            tap_ok(failed == 0, "%s %s, path %s, radix %d, ranks as %s", pcoll_coll_name(row->coll),
                   row->name, path == PCOLL_PATH_USER ? "user" : "temp", radix,
                   as_threads ? "threads" : "processes");
            jobs = atomic_exchange(&starts_in_shared_memory[MEETING_MAX_RANKS], 0);
            cover_row(row, "shm", failed ? 0 : jobs, begin);
            if (!failed && jobs == 0)
                cover_excuse(row, "shm", "no CMA on this machine");
        }
}

/* User memory with gaps, which the medium packs and unpacks on the way: every algorithm whose plan
 * permits it. Not all do, but some must. */
static void check_layouts(void)
{
    int failed = 0, jobs;

    PCOLL_EACH_ALGORITHM (row) {
        struct trial trial = {.row = row, .as_threads = 1, .has_layouts = 1, .instances = 12};

        trial.params.path = row->paths & PCOLL_PATH_BIT_TEMP ? PCOLL_PATH_TEMP : PCOLL_PATH_AUTO;
        trial.params.segment = row->uses_segment ? 4096 : 0;
        for (trial.nranks = tap_depth() > TAP_BRIEF ? 2 : 3; trial.nranks <= 3; trial.nranks++)
            for (trial.bytes = 7; trial.bytes <= 10007; trial.bytes += 10000)
                failed += run_trial(&trial);
    }
    jobs = atomic_exchange(&starts_in_shared_memory[MEETING_MAX_RANKS], 0);
    tap_ok(failed == 0 && jobs >= 40, "%d jobs whose user memory has gaps", jobs);
}

/* Other user memory after every few instances, or without any in between: a rank then tells where
 * its next memory is while others look where its last was. */
static int run_moved(struct part *p, const struct part_frame *frame)
{
    enum { MOVES = 8, INSTANCES = 3 };
    int wrong;

    (void)frame;
    if (p->rank == 0)
        atomic_fetch_add(&starts_in_shared_memory[MEETING_MAX_RANKS], 1);
    if (part_bind(p) != PCOLL_OK)
        return 1;
    wrong = part_run(p, INSTANCES);
    wrong |= !p->bound->can_move;
    for (int i = 0; i < MOVES; i++)
        wrong |= part_move(p) != PCOLL_OK || part_run(p, i % INSTANCES);
    part_unbind(p);
    return wrong;
}

static int has_form(const struct pcoll_algorithm *row, int form)
{
    struct job job = {.signature = {.coll = row->coll, .nranks = 1}};

    return job_take_form(&job, form);
}

static void check_moves(enum pcoll_path path, int has_layouts, int least)
{
    int failed = 0, jobs;

    PCOLL_EACH_ALGORITHM (row) {
        struct trial trial = {
            .row = row, .as_threads = 1, .exercise = run_moved, .has_layouts = has_layouts};

        if (row->must_map || !(row->paths & 1u << path))
            continue;
        trial.params.path = path;
        trial.params.segment = row->uses_segment ? 4096 : 0;
        for (trial.nranks = 1; trial.nranks <= 4; trial.nranks++)
            for (trial.form = 0; trial.form < JOB_FORMS; trial.form++)
                for (trial.bytes = 7; trial.bytes <= 10007; trial.bytes += 10000)
                    failed += has_form(row, trial.form) ? run_trial(&trial) : 0;
    }
    jobs = atomic_exchange(&starts_in_shared_memory[MEETING_MAX_RANKS], 0);
    tap_ok(failed == 0 && jobs >= least, "%d jobs whose user memory%s moves, path %s", jobs,
           has_layouts ? " with gaps" : "", path == PCOLL_PATH_USER ? "user" : "temp");
}

enum { BEFORE = 3, AFTER = 2 }; /* instances before and after rank 1 cannot pack any more */

/* All ranks need rank 1's data, so none may complete an instance, nor wait forever. */
static int failing_main(struct meeting *meeting, int rank, void *row)
{
    const struct pcoll_params params = {.path = PCOLL_PATH_TEMP, .segment = 4096};
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct part p = {
        .medium = shm,
        .signature = {PCOLL_ALLGATHER, 3, 0, 1000},
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = starts_in_shared_memory,
        .has_layouts = 1,
    };
    int wrong = shm->group_create(&bootstrap, &p.group) != PCOLL_OK;

    if (wrong || part_init(&p, row, &params) != PCOLL_OK || part_bind(&p) != PCOLL_OK)
        return 1;
    wrong = part_run(&p, BEFORE);
    meeting_barrier(meeting); /* a failure also ends what other ranks have not completed */
    p.strided_send[0].fails = rank == 1;
    wrong |= !part_run(&p, AFTER) || !p.failed;
    wrong |= (strstr(attendee.said, "cannot be packed") != NULL) != (rank == 1);
    part_unbind(&p);
    meeting_barrier(meeting);
    shm->group_destroy(p.group);
    part_fini(&p);
    return wrong;
}

static void check_failure(void)
{
    const struct pcoll_algorithm *ring = pcoll_algorithm_find(PCOLL_ALLGATHER, "ring");

    tap_ok(meeting_run_processes(3, failing_main, (void *)(uintptr_t)ring) == 0,
           "a rank that cannot pack any more fails the plan on all ranks");
}

/* How far apart the counters of slots are on the ranks that wait for them. Half a line: with one
 * neighbor, if no cell of any rank has more than 16 bytes. The root is rank nranks / 2. */
static const struct spacing {
    enum pcoll_coll coll;
    const char *name;
    int nranks;
    uint64_t bytes;
    int strides[4]; /* 0: any */
} spacings[] = {
    {PCOLL_BCAST, "eager", 2, 8, {32, 0}},
    {PCOLL_BCAST, "eager", 2, 16, {32, 0}},
    {PCOLL_BCAST, "eager", 2, 17, {64, 0}},
    {PCOLL_BCAST, "eager", 4, 8, {64, 32, 0, 32}}, /* rank 0 passes on to rank 1 */
    {PCOLL_SCATTER, "knomial", 4, 8, {64, 32, 0, 32}},
    {PCOLL_SCATTER, "knomial", 4, 9, {64, 64, 0, 64}}, /* rank 0 gets two blocks */
    {PCOLL_REDUCE, "knomial", 2, 8, {0, 32}},
    {PCOLL_SCAN, "direct", 2, 8, {0, 32}},
    {PCOLL_SCAN, "direct", 3, 8, {0, 64, 64}},
};

static int look_at_lines(struct part *p, const struct part_frame *frame)
{
    const struct spacing *spacing = frame->setup;
    const int wanted = spacing->strides[p->rank];
    const struct pcoll_run *run;
    int wrong;

    if (part_bind(p) != PCOLL_OK)
        return 1;
    run = &pcoll_node_bound_of(p->bound)->run;
    wrong = wanted > 0 &&
            (char *)run->phases[2].end[-1].line - (char *)run->phases[1].end[-1].line != wanted;
    wrong |= part_run(p, 40);
    part_unbind(p);
    return wrong;
}

static int spacing_main(struct meeting *meeting, int rank, void *argument)
{
    const struct pcoll_params params = {.path = PCOLL_PATH_TEMP, .radix = 2};
    const struct spacing *spacing = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const struct part_frame frame = {
        meeting, &bootstrap,    pcoll_algorithm_find(spacing->coll, spacing->name),
        &params, look_at_lines, spacing};
    struct part p = {
        .medium = shm,
        .signature = {spacing->coll, spacing->nranks, 0, spacing->bytes},
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = starts_in_shared_memory,
    };

    if (pcoll_coll_has(spacing->coll, PCOLL_ROOTED))
        p.signature.root = spacing->nranks / 2;
    return part_perform(&p, &frame);
}

static void check_spacings(void)
{
    int failed = 0;

    for (size_t i = 0; i < sizeof(spacings) / sizeof(spacings[0]); i++) {
        struct spacing spacing = spacings[i];
        const int wrong = meeting_run_threads(spacing.nranks, spacing_main, &spacing);

        if (wrong > 0)
            printf("# %s/%s of %d B on %d ranks: %d ranks\n", pcoll_coll_name(spacing.coll),
                   spacing.name, (int)spacing.bytes, spacing.nranks, wrong);
        failed += wrong;
    }
    tap_ok(failed == 0,
           "two counters share a line where cells are short and a rank has one sender");
}

/* Odd lengths, odd alignments, nothing beyond the ends. */
static void check_copies(void (*copy)(void *, const void *, size_t), size_t mega, const char *name)
{
    const size_t page = 4096, room = (mega + 300 + page - 1) / page * page;
    unsigned char *from = aligned_alloc(page, room), *to = aligned_alloc(page, room);
    int wrong = from == NULL || to == NULL;

    for (size_t i = 0; !wrong && i < room; i++)
        from[i] = (unsigned char)(i * 7 + i / 256);
    for (size_t shift = 0; !wrong && shift < 130; shift += 13) {
        memset(to, 0xee, room);
        copy(to + shift, from + shift / 2, mega + shift);
        wrong = memcmp(to + shift, from + shift / 2, mega + shift) != 0 ||
                to[2 * shift + mega] != 0xee || (shift > 0 && to[shift - 1] != 0xee);
    }
    tap_ok(!wrong, "copies of any alignment: %s", name);
    free(from);
    free(to);
}

int main(void)
{
    const int threads_only = meeting_is_threads_only();
    struct meeting *page = meeting_create(0); /* any shared page will do */

    starts_in_shared_memory = (_Atomic int *)(void *)page;
    PCOLL_EACH_ALGORITHM (row) {
        if (cover_skips(row, "shm"))
            continue;
        check_row(row, 1, threads_only ? 4 : 8);
        if (!threads_only)
            check_row(row, 0, 5);
    }
    check_layouts();
    check_moves(PCOLL_PATH_TEMP, 0, 400);
    check_moves(PCOLL_PATH_USER, 0, 100);
    check_moves(PCOLL_PATH_TEMP, 1, 40);
    check_spacings();
    if (!threads_only)
        check_failure();
    check_copies(pcoll_copy, (size_t)4 << 20, "long");
    check_copies(pcoll_copy, 3000, "short");
    check_copies(pcoll_copy_past, (size_t)64 << 10, "past the cache");
    meeting_destroy(page);
    return tap_done();
}
