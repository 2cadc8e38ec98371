/*
 * Agents: ranks start, and do nothing more until the agents of all of them have ended the instance.
 * Then, with random delays in the agent and ranks that wait in every way. And lists of CPUs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/agent/state.h"
#include "offload/agree.h"
#include "offload/shm/shm.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"
#include "test/unit/wraps.h"

enum { BYTES = 40000, PATIENCE_USEC = 20000000, STEP_USEC = 50 };

static const struct pcoll_medium *const shm = &pcoll_medium_shm;
static _Atomic int *starts; /* as trial.h requires; then the number of jobs that ran */

static const struct pcoll_agent_options with_core = {PCOLL_NONE, 1, 20, 0};
static const struct pcoll_agent_options retiring = {PCOLL_NONE, 1, 20, 1000};
static const struct pcoll_agent_options without_core = {PCOLL_NONE, 0, 20, 1000};

/* ---- a medium that dawdles --------------------------------------------------------- */

/* The functions of the plans' medium, which is the same on all ranks, with a pause before and
 * after, one in four of them long. */
static const struct pcoll_medium *_Atomic fast;
static _Thread_local unsigned pause_seed;

static void pause_at_random(void)
{
    const unsigned dice = (unsigned)rand_r(&pause_seed) % 64;

    if (dice < 16)
        sched_yield();
    else if (dice == 16)
        usleep(1 + (unsigned)rand_r(&pause_seed) % 3000);
}

#define SLOWLY(name, parameters, arguments)                                                        \
    static enum pcoll_result name##_slowly parameters                                              \
    {                                                                                              \
        enum pcoll_result result;                                                                  \
                                                                                                   \
        pause_at_random();                                                                         \
        result = atomic_load(&fast)->name arguments;                                               \
        pause_at_random();                                                                         \
        return result;                                                                             \
    }

SLOWLY(start, (struct pcoll_bound * bound), (bound))
SLOWLY(progress, (struct pcoll_bound * bound), (bound))
SLOWLY(spin, (struct pcoll_bound * bound, unsigned spins), (bound, spins))

static struct pcoll_medium slow;

/* The linker redirects these calls of all objects here. Then there are pauses, too, before and
 * after a thread sleeps or wakes another one, and before, in the middle of, and after a chunk. */
static int dawdles;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

static void pause_around_call(void)
{
    const int error = errno;

    if (dawdles)
        pause_at_random();
    errno = error;
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long result;

    pause_around_call();
    result = __real_syscall(number, a, b, c, d, e, f);
    pause_around_call();
    return result;
}

/* The caller asks again for what is left. */
ssize_t vm_copy(vm_call *call, pid_t pid, const struct iovec *local, const struct iovec *remote)
{
    const size_t bytes = local->iov_len > 1 && dawdles ? local->iov_len / 2 : local->iov_len;
    const struct iovec here = {local->iov_base, bytes}, there = {remote->iov_base, bytes};
    ssize_t moved;

    pause_around_call();
    moved = call(pid, &here, 1, &there, 1, 0);
    pause_around_call();
    return moved;
}

/* ---- ranks ------------------------------------------------------------------------- */

struct setup {
    const struct pcoll_algorithm *row;
    struct pcoll_params params;
    const struct pcoll_agent_options *options;
    int nranks, in_place, instances;
    int is_slow;   /* the medium dawdles */
    int is_absent; /* the owner does nothing between start and end */
};

static int has_ended(const struct pcoll_agent *agent, unsigned long ended)
{
    for (long usec = 0; pcoll_agent_account(agent).ended < ended; usec += STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(STEP_USEC);
    }
    return 1;
}

/* With a core, agents also begin what is started. Ranks agree, or some would wait for others. */
static int exercise_absent(struct part *p, const struct setup *setup,
                           const struct pcoll_bootstrap *bootstrap, const struct pcoll_agent *agent)
{
    const unsigned long ended = pcoll_agent_account(agent).ended;
    int wrong = part_start(p) || (setup->options->has_core && !p->active);

    if (!wrong && p->active && !has_ended(agent, ended + 1)) {
        printf("# rank %d: the agent has not ended instance %d\n", p->rank, p->instance);
        wrong = 1;
    }
    if (pcoll_agree(bootstrap, PCOLL_ROUND_BOUND, wrong ? PCOLL_ERR_SYSTEM : PCOLL_OK, NULL, 0) !=
        PCOLL_OK)
        return 1;
    return (p->active && p->bound->medium->progress(p->bound) != PCOLL_OK) || part_wait(p);
}

static int exercise(struct part *p, const struct setup *setup,
                    const struct pcoll_bootstrap *bootstrap, const struct pcoll_agent *agent)
{
    int wrong = 0;

    for (int i = 0; i < setup->instances && !wrong; i++) {
        wrong = setup->is_absent ? exercise_absent(p, setup, bootstrap, agent)
                                 : part_start(p) || part_wait(p);
        wrong = wrong || !part_is_untouched(p);
    }
    return wrong;
}

static int exercise_served(struct part *p, const struct part_frame *frame)
{
    const struct pcoll_bootstrap *bootstrap = frame->bootstrap;
    const struct setup *setup = frame->setup;
    struct pcoll_agent *agent = NULL;
    struct pcoll_bound *bound;
    int wrong;

    if (p->rank == 0)
        atomic_fetch_add(&starts[MEETING_MAX_RANKS], 1);
    if (part_bind(p) != PCOLL_OK)
        return 1;
    bound = p->bound;
    atomic_store(&fast, bound->medium);
    if (setup->is_slow)
        bound->medium = &slow;
    wrong = pcoll_agent_create(setup->options, &agent) != 0 ||
            pcoll_agent_serve(agent, bound, 1, &p->bound) != PCOLL_OK;
    if (pcoll_agree(bootstrap, PCOLL_ROUND_BOUND, wrong ? PCOLL_ERR_SYSTEM : PCOLL_OK, NULL, 0) !=
        PCOLL_OK)
        return 1;
    wrong = exercise(p, setup, bootstrap, agent);
    if (p->rank % 2)
        pcoll_agent_destroy(agent);
    part_unbind(p);
    if (p->rank % 2 == 0)
        pcoll_agent_destroy(agent);
    return wrong;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct setup *setup = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const struct part_frame frame = {meeting,        &bootstrap,      setup->row,
                                     &setup->params, exercise_served, setup};
    struct part p = {
        .medium = shm,
        .signature = {.coll = setup->row->coll,
                      .nranks = setup->nranks,
                      .bytes = BYTES,
                      .in_place = setup->in_place,
                      .commutes = 1},
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = starts,
        .in_heap = rank > 0,
    };

    if (pcoll_coll_has(setup->row->coll, PCOLL_ROOTED))
        p.signature.root = setup->nranks / 2;
    return part_perform(&p, &frame);
}

static int run_ranks(struct setup *setup, int as_threads)
{
    return as_threads ? meeting_run_threads(setup->nranks, rank_main, setup)
                      : meeting_run_processes(setup->nranks, rank_main, setup);
}

/* Every algorithm on both paths; ranks of processes only add CMA between them. */
static void test_rows(struct setup setup, int as_threads, const char *what)
{
    int failed = 0, jobs;

    dawdles = setup.is_slow;
    setup.nranks = 3;
    PCOLL_EACH_ALGORITHM (row)
        for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++) {
            if (!(row->paths & 1u << path))
                continue;
            setup.row = row;
            setup.params.path = (enum pcoll_path)path;
            setup.params.segment = row->uses_segment ? 4096 : 0;
            setup.in_place = path == PCOLL_PATH_TEMP && pcoll_coll_has(row->coll, PCOLL_IN_PLACE);
            if (run_ranks(&setup, as_threads) != 0) {
                printf("# %s %s, path %d\n", pcoll_coll_name(row->coll), row->name, path);
                failed++;
            }
        }
    jobs = atomic_exchange(&starts[MEETING_MAX_RANKS], 0);
    tap_ok(failed == 0 && jobs > 40, "%d jobs of ranks as %s: %s", jobs,
           as_threads ? "threads" : "processes", what);
}

/* ---- before there are plans --------------------------------------------------------- */

static void test_cpus(void)
{
    static const struct {
        const char *list;
        int which, count, cpu; /* count 0: wrong at `cpu` */
    } cases[] = {
        {"3", 0, 1, 3},     {"3", 5, 1, 3},
        {"2,4-7", 0, 5, 2}, {"2,4-7", 1, 5, 4},
        {"2,4-7", 4, 5, 7}, {"2,4-7", 5, 5, 2},
        {"2,4-7", 8, 5, 6}, {"7,1", 1, 2, 1},
        {"0-0", 3, 1, 0},   {"", 0, 0, 0},
        {"a", 0, 0, 0},     {"1,", 0, 0, 2},
        {"1;2", 0, 0, 1},   {"1-", 0, 0, 1},
        {"5-3", 0, 0, 1},   {"1,-3", 0, 0, 2},
        {" 1", 0, 0, 0},    {"1,2x", 0, 0, 3},
        {"99999", 0, 0, 0}, {"1,5-99999", 0, 0, 3},
        {"0x1", 0, 0, 1},   {"18446744073709551617", 0, 0, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *wrong = NULL;
        int cpu = PCOLL_NONE;
        const int count = pcoll_agent_cpus(cases[i].list, cases[i].which, &cpu, &wrong);
        const int at = count ? cpu : (int)(wrong - cases[i].list);

        tap_ok(count == cases[i].count && at == cases[i].cpu, "CPU %d of '%s': %s %d",
               cases[i].which, cases[i].list, count ? "" : "wrong at", at);
    }
}

static void test_create(void)
{
    struct pcoll_agent_options options = with_core;
    struct pcoll_agent *agent = NULL;

    options.cpu = CPU_SETSIZE - 1;
    tap_ok(pcoll_agent_create(&options, &agent) == EINVAL && agent == NULL, "no such CPU");
    options.cpu = 1 << 20;
    tap_ok(pcoll_agent_create(&options, &agent) == EINVAL && agent == NULL, "far beyond");
    options.cpu = sched_getcpu();
    tap_ok(pcoll_agent_create(&options, &agent) == 0, "CPU %d", options.cpu);
    pcoll_agent_destroy(agent);
    pcoll_agent_destroy(NULL);
}

static void test_can_serve(void)
{
    const struct pcoll_operator ours = {.kernel = (pcoll_kernel *)(void (*)(void))abort};
    const struct pcoll_operator theirs = {.kernel = NULL};
    const struct pcoll_user_layout layout = {NULL, NULL, NULL};
    struct pcoll_memory memory = {.op = NULL};
    struct pcoll_medium selfish = *shm;

    tap_ok(pcoll_agent_can_serve(shm, &memory), "a plan of that medium can be served");
    memory.op = &ours;
    tap_ok(pcoll_agent_can_serve(shm, &memory), "also with a kernel");
    memory.op = &theirs;
    tap_ok(!pcoll_agent_can_serve(shm, &memory), "not with a user's function");
    memory = (struct pcoll_memory){.send_layout = &layout};
    tap_ok(!pcoll_agent_can_serve(shm, &memory), "not with a layout to send");
    memory = (struct pcoll_memory){.recv_layout = &layout};
    tap_ok(!pcoll_agent_can_serve(shm, &memory), "nor to receive");
    memory.recv_layout = NULL;
    selfish.traits = 0;
    tap_ok(!pcoll_agent_can_serve(&selfish, &memory), "not on another medium");
}

int main(void)
{
    const int n = tap_depth() >= TAP_USUAL ? 10 : 4;
    struct setup setup = {.options = &with_core, .instances = n, .is_absent = 1};
    struct meeting *page = meeting_create(0); /* any shared page will do */

    setvbuf(stdout, NULL, _IOLBF, 0);
    starts = (_Atomic int *)(void *)page;
    slow = *shm;
    slow.start = start_slowly;
    slow.progress = progress_slowly;
    slow.spin = spin_slowly;
    test_cpus();
    test_create();
    test_can_serve();
    test_rows(setup, 1, "only agents run plans");
    setup.options = &without_core;
    test_rows(setup, 1, "agents without a core");
    setup.options = &with_core;
    setup.is_slow = 1;
    test_rows(setup, 1, "only agents run plans, and dawdle");
    setup.options = &retiring;
    setup.is_absent = 0;
    setup.instances = 2 * n;
    test_rows(setup, 1, "both run plans, and dawdle");
    if (!meeting_is_threads_only()) {
        setup = (struct setup){.options = &with_core, .instances = n, .is_absent = 1};
        test_rows(setup, 0, "only agents run plans");
        setup.is_slow = 1;
        test_rows(setup, 0, "only agents run plans, and dawdle");
        setup.options = &retiring;
        setup.is_absent = 0;
        test_rows(setup, 0, "both run plans, and dawdle");
    }
    meeting_destroy(page);
    return tap_done();
}
