/*
 * Agents: ranks start, and do nothing more until the agents of all of them have ended the instance.
 * Then, with random delays in the agent and ranks that wait in every way; when it sleeps, what its
 * end, a failure and a fork mean for plans; and lists of CPUs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/agent/state.h"
#include "offload/shm/shm.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"

enum { BYTES = 40000, PATIENCE_USEC = 20000000, STEP_USEC = 50, MANY = 2 * PCOLL_SLOTS + 1 };

static const struct pcoll_medium *const shm = &pcoll_medium_shm;
static _Atomic int *starts; /* as trial.h requires; then the number of jobs that ran */

static const struct pcoll_agent_options with_core = {PCOLL_NONE, 1, 20, 0};
static const struct pcoll_agent_options retiring = {PCOLL_NONE, 1, 20, 1000};
static const struct pcoll_agent_options without_core = {PCOLL_NONE, 0, 20, 1000};

/* ---- a medium that dawdles --------------------------------------------------------- */

/* The functions of `shm` with a pause before and after, one in four of them long. */
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
        result = shm->name arguments;                                                              \
        pause_at_random();                                                                         \
        return result;                                                                             \
    }

SLOWLY(start, (struct pcoll_bound * bound), (bound))
SLOWLY(progress, (struct pcoll_bound * bound), (bound))
SLOWLY(spin, (struct pcoll_bound * bound, unsigned spins), (bound, spins))

static struct pcoll_medium slow;

/* ---- ranks ------------------------------------------------------------------------- */

struct scene {
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

/* Between instances the memory is the owner's: nobody else may write there. */
static int is_untouched(const struct part *p, uint64_t bytes)
{
    int wrong = 0;

    memset(p->recv, 0x77, bytes);
    sched_yield();
    for (uint64_t i = 0; i < bytes; i++)
        wrong |= p->recv[i] != 0x77;
    return !wrong;
}

/* With a core, agents also begin what is started. Ranks agree, or some would wait for others. */
static int play_absent(struct part *p, const struct scene *scene,
                       const struct pcoll_bootstrap *bootstrap, const struct pcoll_agent *agent)
{
    const unsigned long ended = pcoll_agent_account(agent).ended;
    int wrong = part_start(p) || (scene->options->has_core && !p->active);

    if (!wrong && p->active && !has_ended(agent, ended + 1)) {
        printf("# rank %d: the agent has not ended instance %d\n", p->rank, p->instance);
        wrong = 1;
    }
    if (pcoll_agree(bootstrap, wrong ? PCOLL_ERR_SYSTEM : PCOLL_OK, NULL, 0) != PCOLL_OK)
        return 1;
    return (p->active && p->bound->medium->progress(p->bound) != PCOLL_OK) || part_wait(p);
}

static int play(struct part *p, const struct scene *scene, const struct pcoll_bootstrap *bootstrap,
                const struct pcoll_agent *agent)
{
    const uint64_t bytes = pcoll_plan_bytes(p->plan, PCOLL_RECV);
    int wrong = 0;

    for (int i = 0; i < scene->instances && !wrong; i++) {
        wrong = scene->is_absent ? play_absent(p, scene, bootstrap, agent)
                                 : part_start(p) || part_wait(p);
        wrong = wrong || !is_untouched(p, bytes);
    }
    return wrong;
}

static int play_served(const struct pcoll_bootstrap *bootstrap, struct part *p,
                       const struct scene *scene)
{
    struct pcoll_agent *agent = NULL;
    struct pcoll_bound *bound;
    int wrong;

    if (part_bind(p) != PCOLL_OK)
        return 1;
    bound = p->bound;
    if (scene->is_slow)
        bound->medium = &slow;
    wrong = pcoll_agent_create(scene->options, &agent) != 0 ||
            pcoll_agent_serve(agent, bound, 1, &p->bound) != PCOLL_OK;
    if (pcoll_agree(bootstrap, wrong ? PCOLL_ERR_SYSTEM : PCOLL_OK, NULL, 0) != PCOLL_OK)
        return 1;
    wrong = play(p, scene, bootstrap, agent);
    if (p->rank % 2)
        pcoll_agent_destroy(agent);
    part_unbind(p);
    if (p->rank % 2 == 0)
        pcoll_agent_destroy(agent);
    return wrong;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct scene *scene = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct part p = {
        .medium = shm,
        .signature = {.coll = scene->row->coll,
                      .nranks = scene->nranks,
                      .bytes = BYTES,
                      .in_place = scene->in_place,
                      .commutes = 1},
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = starts,
    };
    enum pcoll_result made;
    int wrong;

    if (pcoll_coll_has(scene->row->coll, PCOLL_ROOTED))
        p.signature.root = scene->nranks / 2;
    if (shm->group_create(&bootstrap, &p.group) != PCOLL_OK)
        return 1;
    made = pcoll_agree(&bootstrap, part_init(&p, scene->row, &scene->params), NULL, 0);
    wrong = made == PCOLL_OK ? play_served(&bootstrap, &p, scene) : made != PCOLL_UNSUPPORTED;
    if (rank == 0 && made == PCOLL_OK)
        atomic_fetch_add(&starts[MEETING_MAX_RANKS], 1);
    meeting_barrier(meeting);
    if (rank == 0)
        meeting_barrier(meeting); /* threads share rank 0's mapping, so rank 0 leaves last */
    shm->group_destroy(p.group);
    if (rank != 0)
        meeting_barrier(meeting);
    part_fini(&p);
    return wrong;
}

static int is_threads_only(void)
{
    const char *ranks = getenv("PCOLL_TEST_RANKS");

    return ranks != NULL && strcmp(ranks, "threads") == 0;
}

static int run_ranks(struct scene *scene, int as_threads)
{
    return as_threads ? meeting_run_threads(scene->nranks, rank_main, scene)
                      : meeting_run_processes(scene->nranks, rank_main, scene);
}

/* Every algorithm on both paths; ranks of processes only add CMA between them. */
static void test_rows(struct scene scene, int as_threads, const char *what)
{
    int failed = 0, jobs;

    scene.nranks = 3;
    PCOLL_EACH_ALGORITHM (row)
        for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++) {
            if (!(row->paths & 1u << path))
                continue;
            scene.row = row;
            scene.params.path = (enum pcoll_path)path;
            scene.params.segment = row->uses_segment ? 4096 : 0;
            scene.in_place = path == PCOLL_PATH_TEMP && pcoll_coll_has(row->coll, PCOLL_IN_PLACE);
            if (run_ranks(&scene, as_threads) != 0) {
                printf("# %s %s, path %d\n", pcoll_coll_name(row->coll), row->name, path);
                failed++;
            }
        }
    jobs = atomic_exchange(&starts[MEETING_MAX_RANKS], 0);
    tap_ok(failed == 0 && jobs > 40, "%d jobs of ranks as %s: %s", jobs,
           as_threads ? "threads" : "processes", what);
}

/* ---- plans of a medium of the test ------------------------------------------------- */

/* Pending until it is told otherwise. */
struct toy {
    struct pcoll_bound base;
    _Atomic int begun, polled;
    _Atomic int result; /* enum pcoll_result */
    int unbound;
    const char *says;
};

static struct toy *toy_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct toy, base);
}

static enum pcoll_result toy_start(struct pcoll_bound *bound)
{
    atomic_fetch_add(&toy_of(bound)->begun, 1);
    return PCOLL_PENDING;
}

static enum pcoll_result toy_progress(struct pcoll_bound *bound)
{
    struct toy *toy = toy_of(bound);

    atomic_fetch_add(&toy->polled, 1);
    if (toy->says != NULL)
        pcoll_agent_keep_message(toy->says);
    return (enum pcoll_result)atomic_load(&toy->result);
}

static enum pcoll_result toy_spin(struct pcoll_bound *bound, unsigned spins)
{
    (void)spins;
    return toy_progress(bound);
}

static void toy_unbind(struct pcoll_bound *bound)
{
    toy_of(bound)->unbound++;
}

static const struct pcoll_medium toys = {
    .name = "toy",
    .traits = PCOLL_LENDS,
    .start = toy_start,
    .progress = toy_progress,
    .spin = toy_spin,
    .position = pcoll_no_position,
    .unbind = toy_unbind,
};

static void toy_init(struct toy *toy)
{
    *toy = (struct toy){.base = {&toys}, .result = PCOLL_PENDING};
}

static int reaches(const _Atomic int *value, int least)
{
    for (long usec = 0; atomic_load(value) < least; usec += STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(STEP_USEC);
    }
    return 1;
}

static int falls_asleep(const struct pcoll_agent *agent)
{
    for (long usec = 0; atomic_load(&agent->sleep) != PCOLL_ASLEEP; usec += STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(STEP_USEC);
    }
    return 1;
}

static struct pcoll_bound *serve(struct pcoll_agent *agent, struct toy *toy, int is_bulk)
{
    struct pcoll_bound *served = NULL;

    toy_init(toy);
    if (pcoll_agent_serve(agent, &toy->base, is_bulk, &served) != PCOLL_OK)
        abort();
    return served;
}

static struct pcoll_agent *hire(const struct pcoll_agent_options *options)
{
    struct pcoll_agent *agent;

    if (pcoll_agent_create(options, &agent) != 0)
        abort();
    return agent;
}

static void test_sleep(const struct pcoll_agent_options *options, const char *what)
{
    struct pcoll_agent *agent = hire(options);
    struct toy toy;
    struct pcoll_bound *served = serve(agent, &toy, 1);
    int asleep = falls_asleep(agent), good = asleep, polled;

    for (int i = 1; i <= 5 && good; i++) {
        good = served->medium->start(served) == PCOLL_PENDING && reaches(&toy.begun, i) &&
               reaches(&toy.polled, atomic_load(&toy.polled) + 5);
        atomic_store(&toy.result, PCOLL_OK);
        good = good && has_ended(agent, (unsigned long)i) &&
               served->medium->progress(served) == PCOLL_OK && falls_asleep(agent);
        atomic_store(&toy.result, PCOLL_PENDING);
    }
    tap_ok(asleep && good, "%s: sleeps without a plan, and each start wakes it", what);
    polled = atomic_load(&toy.polled);
    usleep(20000);
    tap_ok(polled == atomic_load(&toy.polled) && atomic_load(&agent->sleep) == PCOLL_ASLEEP,
           "%s: visits no plan that is not active", what);
    tap_ok(pcoll_agent_account(agent).wakes >= 1, "%s: %lu starts had to wake it", what,
           pcoll_agent_account(agent).wakes);
    served->medium->unbind(served);
    tap_ok(toy.unbound == 1, "%s: the plan is unbound", what);
    pcoll_agent_destroy(agent);
}

/* A plan that is not bulk is its owner's, and its start wakes nobody. */
static void test_small(void)
{
    struct pcoll_agent *agent = hire(&with_core);
    struct toy toy;
    struct pcoll_bound *served = serve(agent, &toy, 0);
    int good = falls_asleep(agent) && served->medium->start(served) == PCOLL_PENDING;

    usleep(5000);
    tap_ok(good && atomic_load(&toy.begun) == 1 && atomic_load(&toy.polled) == 0 &&
               pcoll_agent_account(agent).wakes == 0,
           "a plan that is not bulk is left to its owner");
    atomic_store(&toy.result, PCOLL_OK);
    tap_ok(served->medium->spin(served, 3) == PCOLL_OK && atomic_load(&toy.polled) == 1,
           "who completes it");
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

/* More plans than fit in one group of slots, all active at a time, ending from the last to the
 * first; slots are used again. */
static void test_many(void)
{
    struct pcoll_agent *agent = hire(&with_core);
    static struct toy list[MANY];
    struct pcoll_bound *served[MANY];
    int good = 1;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            served[i] = serve(agent, &list[i], 1);
        for (int i = 0; i < MANY; i++)
            good &= served[i]->medium->start(served[i]) == PCOLL_PENDING;
        for (int i = MANY - 1; i >= 0; i--) {
            good &= reaches(&list[i].polled, 1);
            atomic_store(&list[i].result, PCOLL_OK);
            good &= has_ended(agent, (unsigned long)(round * MANY + MANY - i));
            good &= served[i]->medium->progress(served[i]) == PCOLL_OK;
        }
        for (int i = 0; i < MANY; i++)
            served[i]->medium->unbind(served[i]);
    }
    tap_ok(good, "%d active plans", MANY);
    pcoll_agent_destroy(agent);
}

/* The owner gets the result and the message of a failure that the agent has met; without an agent,
 * it alone runs the plan. */
static void test_failure(void)
{
    struct pcoll_agent *agent = hire(&with_core);
    char text[PCOLL_AGENT_MESSAGE_BYTES];
    struct toy toy;
    struct pcoll_bound *served = serve(agent, &toy, 1);
    int good;

    tap_ok(!pcoll_agent_keep_message("not from an agent") && !pcoll_agent_said(agent, text),
           "the owner's own messages are not the agent's");
    toy.says = "the toy is broken";
    good = served->medium->start(served) == PCOLL_PENDING && reaches(&toy.polled, 1);
    atomic_store(&toy.result, PCOLL_ERR_SYSTEM);
    good = good && has_ended(agent, 1);
    tap_ok(good && served->medium->spin(served, 1) == PCOLL_ERR_SYSTEM &&
               pcoll_agent_said(agent, text) && strcmp(text, "the toy is broken") == 0 &&
               !pcoll_agent_said(agent, text),
           "the agent's failure and its message reach the owner");
    pcoll_agent_destroy(agent);
    toy.says = NULL;
    atomic_store(&toy.result, PCOLL_OK);
    atomic_store(&toy.begun, 0);
    tap_ok(served->medium->start(served) == PCOLL_PENDING && atomic_load(&toy.begun) == 1 &&
               served->medium->progress(served) == PCOLL_OK,
           "after its end the owner runs the plan");
    served->medium->unbind(served);
}

/* While the agent is away, starts and polls are the owner's; what was posted before is begun. */
static void test_retired(void)
{
    struct pcoll_agent *agent = hire(&with_core);
    struct toy toy;
    struct pcoll_bound *served = serve(agent, &toy, 1);
    uint32_t asleep = PCOLL_ASLEEP;
    int good = falls_asleep(agent);

    /* It believes that it sleeps until somebody ends that state, so this keeps it asleep. */
    good = good && atomic_compare_exchange_strong(&agent->sleep, &asleep, PCOLL_RETIRED);
    good = good && served->medium->start(served) == PCOLL_PENDING;
    tap_ok(good && atomic_load(&toy.begun) == 1, "if it has retired, the owner begins");
    atomic_store(&toy.result, PCOLL_OK);
    tap_ok(served->medium->progress(served) == PCOLL_OK, "and ends");
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

/* While an agent with a core is at work, an owner that only tests does none of it; if the agent is
 * stuck in another plan, the owner does. */
static enum pcoll_result stay(struct pcoll_bound *bound)
{
    struct toy *toy = toy_of(bound);

    atomic_fetch_add(&toy->polled, 1);
    while (atomic_load(&toy->result) == PCOLL_PENDING)
        usleep(STEP_USEC);
    return PCOLL_OK;
}

static void test_hands(void)
{
    struct pcoll_medium sticky = toys;
    struct pcoll_agent *agent = hire(&with_core);
    struct toy toy, other;
    struct pcoll_bound *served = serve(agent, &toy, 1), *stuck;
    int good = served->medium->start(served) == PCOLL_PENDING && reaches(&toy.polled, 1);
    unsigned tests = 0;

    sticky.progress = stay;
    toy_init(&other);
    other.base.medium = &sticky;
    if (pcoll_agent_serve(agent, &other.base, 1, &stuck) != PCOLL_OK)
        abort();
    good = good && stuck->medium->start(stuck) == PCOLL_PENDING && reaches(&other.polled, 1);
    usleep(1000); /* its visit of the first plan is over */
    atomic_store(&toy.result, PCOLL_OK);
    while (served->medium->progress(served) == PCOLL_PENDING && tests < 1000)
        tests++;
    tap_ok(good && tests > 0 && tests < 1000, "the owner ends a plan after %u tests", tests);
    atomic_store(&other.result, PCOLL_OK);
    tap_ok(has_ended(agent, 1) && stuck->medium->progress(stuck) == PCOLL_OK,
           "the agent ends the one that it has");
    served->medium->unbind(served);
    stuck->medium->unbind(stuck);
    pcoll_agent_destroy(agent);
}

static void test_network(void)
{
    static const struct pcoll_medium network = {
        .name = "network",
        .traits = PCOLL_LENDS | PCOLL_SPANS_NODES,
        .start = toy_start,
        .progress = toy_progress,
        .spin = toy_spin,
        .position = pcoll_no_position,
        .unbind = toy_unbind,
    };
    struct pcoll_agent *agent = hire(&with_core);
    struct toy toy;
    struct pcoll_bound *served;
    int good, polled;

    toy_init(&toy);
    toy.base.medium = &network;
    if (pcoll_agent_serve(agent, &toy.base, 1, &served) != PCOLL_OK)
        abort();
    good = served->medium->start(served) == PCOLL_PENDING && reaches(&toy.polled, 3);
    pcoll_agent_hold(agent);
    good = good && pcoll_agent_try_hold(agent);
    polled = atomic_load(&toy.polled);
    usleep(5000);
    tap_ok(good && atomic_load(&toy.polled) == polled, "nothing moves while its owner holds it");
    tap_ok(served->medium->progress(served) == PCOLL_PENDING &&
               atomic_load(&toy.polled) == polled + 1,
           "except by the owner");
    pcoll_agent_release(agent);
    usleep(1000);
    good = atomic_load(&toy.polled) == polled + 1;
    pcoll_agent_release(agent);
    tap_ok(good && reaches(&toy.polled, polled + 5), "until it has been released as often");
    atomic_store(&toy.result, PCOLL_OK);
    tap_ok(has_ended(agent, 1), "then the agent ends the instance");
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

/* ---- forks ------------------------------------------------------------------------- */

/* In the child all calls return, none touches the plan; the parent's plan goes on. */
static void test_fork(void)
{
    struct pcoll_agent *agent = hire(&with_core);
    struct toy toy;
    struct pcoll_bound *served = serve(agent, &toy, 1);
    int good = served->medium->start(served) == PCOLL_PENDING && reaches(&toy.begun, 1), status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        const int polled = atomic_load(&toy.polled);
        int wrong = served->medium->start(served) != PCOLL_ERR_SYSTEM;

        alarm(20);
        atomic_store(&toy.result, PCOLL_OK);
        wrong |= served->medium->progress(served) != PCOLL_ERR_SYSTEM;
        wrong |= served->medium->spin(served, 10) != PCOLL_ERR_SYSTEM;
        wrong |= pcoll_agent_try_hold(agent);
        pcoll_agent_hold(agent);
        pcoll_agent_release(agent);
        served->medium->unbind(served);
        wrong |= toy.unbound != 0 || atomic_load(&toy.polled) != polled;
        pcoll_agent_destroy(agent);
        _exit(wrong);
    }
    tap_ok(good && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
               WEXITSTATUS(status) == 0,
           "a child has no agent, and its calls touch nothing");
    atomic_store(&toy.result, PCOLL_OK);
    tap_ok(has_ended(agent, 1) && served->medium->progress(served) == PCOLL_OK,
           "the parent's plan goes on");
    served->medium->unbind(served);
    pcoll_agent_destroy(agent);
}

/* ---- CPUs -------------------------------------------------------------------------- */

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
    const struct pcoll_user_layout layout = {NULL, NULL};
    struct pcoll_memory memory = {.op = NULL};
    struct pcoll_medium selfish = toys;

    tap_ok(pcoll_agent_can_serve(&toys, &memory), "a plan of that medium can be served");
    memory.op = &ours;
    tap_ok(pcoll_agent_can_serve(&toys, &memory), "also with a kernel");
    memory.op = &theirs;
    tap_ok(!pcoll_agent_can_serve(&toys, &memory), "not with a user's function");
    memory = (struct pcoll_memory){.send_layout = &layout};
    tap_ok(!pcoll_agent_can_serve(&toys, &memory), "not with a layout to send");
    memory = (struct pcoll_memory){.recv_layout = &layout};
    tap_ok(!pcoll_agent_can_serve(&toys, &memory), "nor to receive");
    memory.recv_layout = NULL;
    selfish.traits = 0;
    tap_ok(!pcoll_agent_can_serve(&selfish, &memory), "not on another medium");
}

int main(void)
{
    const int n = tap_depth() >= TAP_USUAL ? 10 : 4;
    struct scene scene = {.options = &with_core, .instances = n, .is_absent = 1};
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
    test_sleep(&with_core, "with a core");
    test_sleep(&without_core, "without a core");
    test_small();
    test_many();
    test_failure();
    test_retired();
    test_hands();
    test_network();
    test_rows(scene, 1, "only agents run plans");
    scene.options = &without_core;
    test_rows(scene, 1, "agents without a core");
    scene.options = &retiring;
    scene.is_absent = 0;
    scene.is_slow = 1;
    scene.instances = 2 * n;
    test_rows(scene, 1, "both run plans, and dawdle");
    if (!is_threads_only()) {
        scene = (struct scene){.options = &with_core, .instances = n, .is_absent = 1};
        test_fork();
        test_rows(scene, 0, "only agents run plans");
        scene.options = &retiring;
        scene.is_absent = 0;
        scene.is_slow = 1;
        test_rows(scene, 0, "both run plans, and dawdle");
    }
    meeting_destroy(page);
    return tap_done();
}
