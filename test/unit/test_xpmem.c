/*
 * User memory that is mapped by XPMEM, or by what stands in for it (standin.h): plans of all
 * algorithms between private buffers. What is mapped is never moved by CMA; where a rank has no
 * XPMEM, no rank uses it; where an attachment fails, this one rank copies, or no rank binds a plan
 * that must map operands; memory that is freed and allocated again is attached again; and nothing
 * stays attached.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/algorithm.h"
#include "offload/memory/heap.h"
#include "offload/memory/xpmem.h"
#include "offload/shm/shm.h"
#include "test/unit/cover.h"
#include "test/unit/job.h"
#include "test/unit/meeting.h"
#include "test/unit/standin.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"
#include "test/unit/wraps.h"

#ifdef __has_include
#if __has_include(<xpmem.h>)
#include <xpmem.h>
#define SAME_FUNCTION(type, name, parameters)                                                      \
    _Static_assert(sizeof(type) == sizeof(__typeof__(((__typeof__(&xpmem_##name))0)parameters)),   \
                   "xpmem_" #name);
_Static_assert(sizeof(struct pcoll_xpmem_addr) == sizeof(struct xpmem_addr) &&
                   offsetof(struct pcoll_xpmem_addr, offset) == offsetof(struct xpmem_addr, offset),
               "struct xpmem_addr");
_Static_assert(sizeof(xpmem_segid_t) == sizeof(pcoll_xpmem_id) && XPMEM_RDWR == PCOLL_XPMEM_RDWR &&
                   XPMEM_PERMIT_MODE == PCOLL_XPMEM_PERMIT_MODE,
               "ids and flags");
#endif
#endif

static const struct pcoll_medium *const shm = &pcoll_medium_shm;
static const struct part_source arena = {standin_get, standin_put};

/* In memory that the ranks share. */
static struct shared {
    _Atomic int starts[MEETING_MAX_RANKS];
    _Atomic int jobs; /* that could run */
    _Atomic int cma_calls;
    _Atomic int declined; /* plans that a rank could not bind, as operands were not mapped */
    int is_refused;       /* CMA */
} * shared;
static struct standin *standin;

ssize_t vm_copy(vm_call *call, pid_t pid, const struct iovec *local, const struct iovec *remote)
{
    if (shared->is_refused) {
        errno = EPERM;
        return -1;
    }
    atomic_fetch_add(&shared->cma_calls, 1);
    return call(pid, local, 1, remote, 1, 0);
}

struct setup {
    const struct pcoll_algorithm *row;
    int nranks, form, as_threads, is_off;
    uint64_t bytes, coop_from;
};

/* ---- one rank ---- */

/* False: the ranks have declined, for the reason that is right. */
static int binds(struct part *p, const struct setup *setup, int *wrong_p)
{
    const enum pcoll_result result = part_bind(p);
    const int is_declined =
        result == PCOLL_UNSUPPORTED && setup->row->must_map && standin->fault != STANDIN_FINE;

    *wrong_p |= result != PCOLL_OK && !is_declined;
    shared->declined += is_declined;
    return result == PCOLL_OK;
}

/* The second plan is bound to other memory at the same addresses (threads: at any of them), while
 * the first one, whose memory is gone, still exists. */
static int exercise(struct part *p, const struct part_frame *frame)
{
    const struct setup *setup = frame->setup;
    struct meeting *meeting = frame->meeting;
    struct pcoll_bound *first, *second;
    const unsigned char *recv = p->recv;
    int wrong = 0;

    if (p->rank == 0)
        atomic_fetch_add(&shared->jobs, 1);
    if (!binds(p, setup, &wrong))
        return wrong;
    first = p->bound;
    meeting_barrier(meeting);
    wrong |= part_run(p, 6);
    meeting_barrier(meeting);
    part_free_memory(p);
    if (part_get_memory(p) != PCOLL_OK || (p->recv != recv && !setup->as_threads))
        return 1;
    meeting_barrier(meeting);
    if (!binds(p, setup, &wrong)) {
        part_unbind(p);
        return wrong;
    }
    second = p->bound;
    meeting_barrier(meeting);
    wrong |= part_run(p, 6);
    meeting_barrier(meeting);
    p->bound = first;
    part_unbind(p);
    p->bound = second;
    wrong |= part_run(p, 3);
    meeting_barrier(meeting);
    part_free_memory(p);
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
        .source = &arena,
    };
    int wrong;

    if (!setup->as_threads)
        standin_enter(standin, rank);
    bootstrap.coop_from = setup->coop_from;
    bootstrap.maps = !setup->is_off;
    alarm(30);
    (void)job_take_form(&job, setup->form);
    p.signature = job.signature;
    if (pcoll_coll_has(setup->row->coll, PCOLL_ROOTED))
        p.signature.root = setup->nranks / 2;
    wrong = part_perform(&p, &frame);
    alarm(0);
    return wrong;
}

/* ---- all ranks ---- */

/* Returns 1 if ranks fail, or if something stays attached. */
static int run(struct setup *setup)
{
    int wrong;

    standin->attached = standin->detached = standin->permitted = standin->released = 0;
    standin->refused = 0;
    shared->cma_calls = 0;
    if (setup->as_threads)
        wrong = meeting_run_threads(setup->nranks, rank_main, setup);
    else
        wrong = meeting_run_processes(setup->nranks, rank_main, setup);
    if (standin->attached != standin->detached || standin->permitted != standin->released) {
        printf("# %d attached, %d detached, %d permitted, %d released\n", standin->attached,
               standin->detached, standin->permitted, standin->released);
        wrong = 1;
    }
    return wrong > 0;
}

static void set_fault(enum standin_fault fault, int rank, int after, int length)
{
    standin->fault = fault;
    standin->rank = rank;
    standin->after = after;
    standin->length = length;
}

static uint64_t next_random(void)
{
    static uint64_t state = 1;

    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 33;
}

/* Below a page, some pages, and several cooperative chunks. */
static uint64_t random_bytes(void)
{
    static const uint64_t limits[] = {3000, 20000, 150000};

    return 1 + next_random() % limits[next_random() % 3];
}

static struct setup random_setup(const struct pcoll_algorithm *row)
{
    return (struct setup){
        .row = row,
        .nranks = 2 + (int)(next_random() % 4),
        .form = next_random() % 2 && pcoll_coll_has(row->coll, PCOLL_IN_PLACE),
        .bytes = random_bytes(),
        .coop_from = next_random() % 2 ? 4096 : 0,
    };
}

/* Everything is mapped, so nothing is copied by CMA: only the probe of each rank, two calls. */
static int wrong_if_mapped(struct setup *setup)
{
    const int jobs = shared->jobs;
    int wrong;

    set_fault(STANDIN_FINE, -1, 0, 0);
    wrong = run(setup);
    if (shared->jobs == jobs || shared->cma_calls <= 2 * setup->nranks)
        return wrong;
    printf("# %d ranks, %ld bytes: %d calls of CMA\n", setup->nranks, (long)setup->bytes,
           shared->cma_calls);
    return 1;
}

/* Some attachments of one rank fail, or all; with CMA, or without. Attachment 0 is the probe. */
static int wrong_if_some_fail(struct setup *setup, enum standin_fault fault)
{
    const int is_all = next_random() % 3 == 0;
    int wrong;

    set_fault(fault, (int)next_random() % setup->nranks, is_all ? 1 : 1 + (int)next_random() % 4,
              is_all ? 1000 : 1);
    shared->is_refused = next_random() % 2;
    wrong = run(setup);
    if (wrong)
        printf("# %d ranks, %ld bytes, fault %d on rank %d after %d, CMA %d\n", setup->nranks,
               (long)setup->bytes, (int)fault, standin->rank, standin->after, !shared->is_refused);
    shared->is_refused = 0;
    set_fault(STANDIN_FINE, -1, 0, 0);
    return wrong;
}

/* One rank has no XPMEM: no rank attaches anything, except its neighbor's probe. */
static int wrong_if_refused(struct setup *setup, enum standin_fault fault)
{
    int wrong;

    set_fault(fault, (int)next_random() % setup->nranks, 0, 1);
    wrong = run(setup);
    if (standin->attached > setup->nranks) {
        printf("# %d attached in spite of fault %d\n", standin->attached, (int)fault);
        wrong = 1;
    }
    set_fault(STANDIN_FINE, -1, 0, 0);
    return wrong;
}

static int wrong_if_off(struct setup *setup)
{
    int wrong;

    setup->is_off = 1;
    wrong = run(setup);
    return wrong || standin->permitted > 0;
}

static void check_row(const struct pcoll_algorithm *row)
{
    const int times = tap_depth() == TAP_BRIEF ? 1 : tap_depth() == TAP_USUAL ? 2 : 8;
    int wrong = 0;

    for (int i = 0; i < times; i++) {
        struct setup setup = random_setup(row);

        wrong += wrong_if_mapped(&setup);
        setup = random_setup(row);
        wrong += wrong_if_some_fail(&setup, i % 2 ? STANDIN_NO_TOUCH : STANDIN_NO_ATTACH);
    }
    tap_ok(wrong == 0, "%s %s", pcoll_coll_name(row->coll), row->name);
}

/* Where one rank of some cannot attach the memory of others, none of them binds the plan. */
static void check_operands(void)
{
    struct setup setup = {.row = &pcoll_allreduce_sliced_get, .nranks = 3, .bytes = 5000};
    int wrong;

    shared->declined = 0;
    set_fault(STANDIN_NO_ATTACH, 1, 1, 1000);
    wrong = run(&setup);
    tap_ok(!wrong && shared->declined == 3, "a rank cannot map operands: all decline (%d do)",
           shared->declined);
    set_fault(STANDIN_FINE, -1, 0, 0);
}

/* Without XPMEM the way is the same for all algorithms. */
static void check_refusals(const struct pcoll_algorithm *row)
{
    static const char *const names[STANDIN_NUM_FAULTS] = {
        [STANDIN_NO_DEVICE] = "no device",         [STANDIN_NO_LIBRARY] = "no library",
        [STANDIN_NO_FUNCTION] = "a function less", [STANDIN_NO_SEGMENT] = "no segment",
        [STANDIN_NO_PERMISSION] = "no permission", [STANDIN_NO_ATTACH] = "no attachment",
        [STANDIN_NO_TOUCH] = "nothing to touch",
    };
    struct setup setup = random_setup(row);

    for (int fault = STANDIN_FINE + 1; fault < STANDIN_NUM_FAULTS; fault++)
        tap_ok(!wrong_if_refused(&setup, (enum standin_fault)fault), "one rank has %s",
               names[fault]);
    tap_ok(!wrong_if_off(&setup), "switched off");
}

static void check_threads(const struct pcoll_algorithm *row)
{
    int wrong = 0;

    for (int i = 0; i < 4; i++) {
        struct setup setup = random_setup(row);

        setup.as_threads = 1;
        wrong += run(&setup);
    }
    tap_ok(wrong == 0 && standin->attached > 0, "ranks that are threads of a process");
}

/* ---- a process ---- */

/* Returns what a group of one rank or more says of its reach. */
static int tells_main(struct meeting *meeting, int rank, void *argument)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const char *expected = argument;
    struct pcoll_group *group;
    char text[300];
    int wrong;

    standin_enter(standin, rank);
    bootstrap.maps = 1;
    if (shm->group_create(&bootstrap, &group) != PCOLL_OK)
        return 1;
    shm->group_reach(group, text, sizeof(text));
    wrong = strstr(text, expected) == NULL;
    if (wrong)
        printf("# rank %d says: %s\n", rank, text);
    meeting_barrier(meeting);
    shm->group_destroy(group);
    return wrong;
}

static void check_text(enum standin_fault fault, int rank, const char *expected)
{
    char text[100];

    snprintf(text, sizeof(text), "%s", expected);
    set_fault(fault, rank, 0, 1);
    tap_ok(meeting_run_processes(3, tells_main, text) == 0, "all say: %s", expected);
    set_fault(STANDIN_FINE, -1, 0, 0);
}

/* All attachments that a process may have, and one more. */
static void check_limit(void)
{
    static struct pcoll_attachment *all[PCOLL_XPMEM_MAX_ATTACHED];
    const pcoll_xpmem_id segment = pcoll_xpmem_segment();
    unsigned char *memory = standin_get(10);
    const uint64_t address = (uint64_t)(uintptr_t)memory;
    int n = 0, right;

    while (n < PCOLL_XPMEM_MAX_ATTACHED &&
           (all[n] = pcoll_xpmem_attach(segment, address, 10)) != NULL)
        n++;
    right = n == PCOLL_XPMEM_MAX_ATTACHED && pcoll_xpmem_attach(segment, address, 10) == NULL;
    memory[3] = 77;
    while (n-- > 0) {
        right = right && all[n]->base[address % 4096 + 3] == 77;
        pcoll_detach(all[n]);
    }
    all[0] = pcoll_xpmem_attach(segment, address, 10);
    tap_ok(right && all[0] != NULL, "a process attaches so many ranges, and then none");
    pcoll_detach(all[0]);
    standin_put(memory);
}

static void check_ranges(void)
{
    const pcoll_xpmem_id segment = pcoll_xpmem_segment();
    unsigned char *memory = standin_get(5 * 4096);
    int wrong = 0;

    for (unsigned i = 0; i < 5 * 4096; i++)
        memory[i] = (unsigned char)(i * 7 + i / 256);
    for (int i = 0; i < 200; i++) {
        const uint64_t first = next_random() % (5 * 4096);
        const uint64_t bytes = 1 + next_random() % (5 * 4096 - first);
        const uint64_t address = (uint64_t)(uintptr_t)memory + first;
        struct pcoll_attachment *attachment = pcoll_xpmem_attach(segment, address, bytes);
        const uint64_t at = address - pcoll_xpmem_page(address);

        wrong += attachment == NULL || at + bytes > attachment->bytes ||
                 at + bytes + 4096 <= attachment->bytes ||
                 memcmp(attachment->base + at, memory + first, bytes) != 0;
        pcoll_detach(attachment);
    }
    tap_ok(wrong == 0 && pcoll_xpmem_attach(segment, 4096, 0) == NULL &&
               pcoll_xpmem_attach(segment + 5000, 4096, 1) == NULL,
           "ranges at any offset of a page, in whole pages");
    standin_put(memory);
}

int main(void)
{
    struct meeting *page = meeting_create(0); /* any shared page will do */

    shared = (struct shared *)(void *)page;
    standin = standin_create();
    if (!meeting_is_threads_only()) {
        PCOLL_EACH_ALGORITHM (row)
            if (row->paths & 1u << PCOLL_PATH_USER && !cover_skips(row, "shm"))
                check_row(row);
        check_operands();
        check_refusals(&pcoll_allreduce_sliced);
        check_text(STANDIN_FINE, -1, "mapped (XPMEM)");
        check_text(STANDIN_NO_DEVICE, -1, "not mapped (XPMEM: /dev/xpmem: No such file");
        check_text(STANDIN_NO_LIBRARY, -1, "not mapped (XPMEM: libxpmem");
        check_text(STANDIN_NO_FUNCTION, -1, "has no xpmem_attach)");
        check_text(STANDIN_NO_PERMISSION, 1, "a rank of the node cannot use it");
    }
    standin_enter(standin, 0);
    check_ranges();
    check_limit();
    check_threads(&pcoll_allreduce_sliced);
    tap_ok(standin->attached == standin->detached, "nothing stays attached");
    standin_destroy(standin);
    meeting_destroy(page);
    return tap_done();
}
