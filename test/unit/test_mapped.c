/*
 * User memory in heaps: plans of all algorithms between buffers that the other processes map, of
 * all ranks or of some. What both ends map is never moved by CMA; a plan that must map operands is
 * bound by all ranks or by none; no plan depends on another one
 * that is bound to the same memory, or on when the memory is freed; and nothing stays mapped.
 */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/algorithm.h"
#include "offload/memory/heap.h"
#include "offload/shm/shm.h"
#include "test/unit/cover.h"
#include "test/unit/job.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"
#include "test/unit/wraps.h"

static const struct pcoll_medium *const shm = &pcoll_medium_shm;

/* In memory that the ranks share. */
static struct shared {
    _Atomic int starts[MEETING_MAX_RANKS];
    _Atomic int jobs;      /* that could run */
    _Atomic int cma_calls; /* between bind and unbind */
} * shared;

ssize_t vm_copy(vm_call *call, pid_t pid, const struct iovec *local, const struct iovec *remote)
{
    atomic_fetch_add(&shared->cma_calls, 1);
    return call(pid, local, 1, remote, 1, 0);
}

/* Whose memory is in heaps. */
enum who { ALL, EVEN, ODD };

struct setup {
    const struct pcoll_algorithm *row;
    int nranks, form, as_threads;
    uint64_t bytes, coop_from;
    enum who who;
};

static int lines_of_maps(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[400];
    int n = 0;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        n += strstr(line, "memfd:pcoll-") != NULL;
    if (maps != NULL)
        fclose(maps);
    return n;
}

/* On all ranks. */
static int is_bound(struct part *p, const struct setup *setup)
{
    const enum pcoll_result result = part_bind(p);

    if (setup->row->must_map && setup->who != ALL)
        return result == PCOLL_UNSUPPORTED;
    return result == PCOLL_OK;
}

/* (Ranks that are threads have one pid, so any of them may help with a copy between two others.)
 * Two plans on the same memory: the second one runs before and after the first is gone, and is
 * unbound when the memory has been freed. */
static int exercise(struct part *p, const struct part_frame *frame)
{
    const struct setup *setup = frame->setup;
    struct meeting *meeting = frame->meeting;
    struct pcoll_bound *first, *second;
    int wrong;

    if (p->rank == 0)
        atomic_fetch_add(&shared->jobs, 1);
    if (!is_bound(p, setup))
        return 1;
    if (p->bound == NULL)
        return 0;
    first = p->bound;
    meeting_barrier(meeting);
    if (part_bind(p) != PCOLL_OK)
        return 1;
    second = p->bound;
    meeting_barrier(meeting);
    atomic_store(&shared->cma_calls, 0);
    meeting_barrier(meeting);
    wrong = part_run(p, 6);
    p->bound = first;
    wrong = wrong || part_run(p, 3);
    meeting_barrier(meeting);
    part_unbind(p);
    p->bound = second;
    wrong = wrong || part_run(p, 6);
    meeting_barrier(meeting);
    if (setup->who == ALL && !setup->as_threads && atomic_load(&shared->cma_calls) > 0) {
        printf("# %d ranks, %ld bytes: %d calls of process_vm_readv and process_vm_writev\n",
               setup->nranks, (long)setup->bytes, atomic_load(&shared->cma_calls));
        wrong = 1;
    }
    part_free_memory(p);
    meeting_barrier(meeting);
    part_unbind(p);
    return wrong;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct setup *setup = argument;
    const struct pcoll_params params = {
        .path = PCOLL_PATH_USER,
        .segment = setup->row->uses_segment ? 4096 : 0,
    };
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const struct part_frame frame = {meeting, &bootstrap, setup->row, &params, exercise, setup};
    struct job job = {.signature = {setup->row->coll, setup->nranks, 0, setup->bytes}};
    struct part p = {
        .medium = shm,
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = shared->starts,
        .loads = 1,
        .in_heap = setup->who == ALL || rank % 2 == (setup->who == ODD),
    };
    const int before = lines_of_maps();
    int wrong;

    bootstrap.coop_from = setup->coop_from;
    alarm(60);
    (void)job_take_form(&job, setup->form);
    p.signature = job.signature;
    if (pcoll_coll_has(setup->row->coll, PCOLL_ROOTED))
        p.signature.root = setup->nranks / 2;
    wrong = part_perform(&p, &frame);
    alarm(0);
    if (!setup->as_threads && lines_of_maps() > before + p.in_heap) {
        printf("# rank %d maps %d chunks more after all are freed\n", rank,
               lines_of_maps() - before);
        wrong = 1;
    }
    return wrong;
}

static int run(struct setup *setup)
{
    if (setup->as_threads)
        return meeting_run_threads(setup->nranks, rank_main, setup);
    return meeting_run_processes(setup->nranks, rank_main, setup);
}

/* Sizes below a page, and of several pages and cooperative chunks. */
static void check_row(const struct pcoll_algorithm *row)
{
    static const struct {
        enum who who;
        int nranks, as_threads;
        uint64_t bytes, coop_from;
    } all[] = {
        {ALL, 3, 0, 150001, 4096}, {ALL, 2, 0, 150001, 0},   {ALL, 3, 0, 1000, 0},
        {EVEN, 3, 0, 1000, 0},     {ODD, 3, 0, 150001, 0},   {EVEN, 2, 0, 150001, 4096},
        {ODD, 3, 0, 70001, 4096},  {ALL, 3, 1, 70001, 4096},
    };
    const size_t most = tap_depth() == TAP_BRIEF ? 1 : sizeof(all) / sizeof(all[0]);
    int failed = 0;

    for (size_t i = 0; i < most; i++) {
        struct setup setup = {row,
                              all[i].nranks,
                              i % 2 && pcoll_coll_has(row->coll, PCOLL_IN_PLACE),
                              all[i].as_threads,
                              all[i].bytes,
                              all[i].coop_from,
                              all[i].who};

        failed += run(&setup);
    }
    tap_ok(failed == 0, "%s %s", pcoll_coll_name(row->coll), row->name);
}

int main(void)
{
    struct meeting *page = meeting_create(0); /* any shared page will do */

    shared = (struct shared *)(void *)page;
    PCOLL_EACH_ALGORITHM (row)
        if (row->paths & 1u << PCOLL_PATH_USER && !cover_skips(row, "shm"))
            check_row(row);
    if (atomic_load(&shared->jobs) == 0)
        printf("# skip: no CMA on this machine\n");
    meeting_destroy(page);
    return tap_done();
}
