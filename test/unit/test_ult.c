/*
 * Ranks as user-level threads of one kernel thread, with a cooperative scheduler: a rank runs until
 * it yields. If a wait did not yield through pcoll_yield, or a rank yielded while it holds what
 * others need, nothing would go on, and the alarm would end the test. (That none sleeps, test_run
 * shows.)
 */
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "offload/agent/agent.h"
#include "offload/agree.h"
#include "offload/yield.h"
#include "offload/shm/shm.h"
#include "test/unit/job.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"

enum { MAX_RANKS = 5, STACK_BYTES = 1 << 20, INSTANCES = 20 };

/* ---- the scheduler ------------------------------------------------------------------ */

static struct ult {
    ucontext_t context;
    char *stack;
    int has_ended;
} ults[MAX_RANKS];

static ucontext_t scheduler;
static int running; /* the number of the one that runs */
static unsigned long yields;

static void yield(void)
{
    yields++;
    swapcontext(&ults[running].context, &scheduler);
}

/* In turn, until all have ended. */
static void schedule(int n)
{
    for (int left = n; left > 0;) {
        left = 0;
        for (running = 0; running < n; running++) {
            if (ults[running].has_ended)
                continue;
            left++;
            swapcontext(&scheduler, &ults[running].context);
        }
    }
}

/* ---- the ranks ------------------------------------------------------------------- */

static struct {
    const struct pcoll_medium *medium;
    const struct pcoll_algorithm *row;
    struct pcoll_params params;
    int nranks, is_crowded;
    uint64_t bytes;
    struct meeting *meeting;
    struct pcoll_agent *agent; /* NULL: none */
    int wrong, ran;
} job;

static _Atomic int starts[MEETING_MAX_RANKS]; /* as trial.h requires */

/* The agent is not part of the trial: it serves the plan that the trial has bound. */
static int run_part(struct part *p)
{
    struct pcoll_bound *bound;
    int wrong;

    if (part_bind(p) != PCOLL_OK)
        return 1;
    bound = p->bound;
    if (job.agent != NULL && pcoll_agent_serve(job.agent, bound, 1, &p->bound) != PCOLL_OK)
        return 1;
    wrong = part_run(p, INSTANCES);
    part_unbind(p);
    return wrong;
}

static void rank_main(void)
{
    const int rank = running;
    struct attendee attendee = {.meeting = job.meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct part p = {
        .medium = job.medium,
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = starts,
        .signature = {job.row->coll, job.nranks, 0, job.bytes},
    };
    enum pcoll_result made;

    bootstrap.crowded = job.is_crowded;
    if (pcoll_coll_has(job.row->coll, PCOLL_ROOTED))
        p.signature.root = job.nranks / 2;
    p.signature.commutes = pcoll_coll_has(job.row->coll, PCOLL_REDUCES);
    if (job.medium->group_create(&bootstrap, &p.group) == PCOLL_OK) {
        made = pcoll_agree(&bootstrap, PCOLL_ROUND_BOUND, part_init(&p, job.row, &job.params), NULL,
                           0);
        if (made == PCOLL_OK) {
            job.wrong += run_part(&p);
            job.ran++;
        } else {
            job.wrong += made != PCOLL_UNSUPPORTED;
        }
        meeting_barrier(job.meeting);
        job.medium->group_destroy(p.group);
        part_fini(&p);
    } else {
        job.wrong++;
    }
    ults[rank].has_ended = 1;
    swapcontext(&ults[rank].context, &scheduler);
}

static void run_job(void)
{
    job.meeting = meeting_create(job.nranks);
    job.ran = 0;
    for (int i = 0; i < MEETING_MAX_RANKS; i++)
        atomic_store(&starts[i], 0);
    for (int i = 0; i < job.nranks; i++) {
        ults[i].has_ended = 0;
        if (getcontext(&ults[i].context) != 0)
            abort();
        ults[i].context.uc_stack.ss_sp = ults[i].stack;
        ults[i].context.uc_stack.ss_size = STACK_BYTES;
        makecontext(&ults[i].context, rank_main, 0);
    }
    schedule(job.nranks);
    meeting_destroy(job.meeting);
}

/* Each algorithm of the medium, with short and long messages. */
static void test_rows(const char *what)
{
    static const uint64_t sizes[] = {8, 20000};
    int jobs = 0;

    job.wrong = 0;
    yields = 0;
    PCOLL_EACH_ALGORITHM (row)
        for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++)
            for (int i = 0; i < 2; i++) {
                if (!(row->paths & 1u << path))
                    continue;
                job.row = row;
                job.params = (struct pcoll_params){.path = (enum pcoll_path)path};
                job.bytes = sizes[i];
                job.nranks = 2 + (jobs + i) % (MAX_RANKS - 1);
                run_job();
                jobs += job.ran > 0;
            }
    tap_ok(job.wrong == 0 && jobs > 0 && yields > 0, "%d jobs: %s, %lu yields", jobs, what, yields);
}

static void test_agent(void)
{
    const struct pcoll_agent_options options = {PCOLL_NONE, 1, 20, 0};

    if (pcoll_agent_create(&options, &job.agent) != 0)
        abort();
    test_rows("one agent serves the plans of all ranks");
    pcoll_agent_destroy(job.agent);
    job.agent = NULL;
}

int main(void)
{
    for (int i = 0; i < MAX_RANKS; i++)
        if ((ults[i].stack = malloc(STACK_BYTES)) == NULL)
            abort();
    alarm(300);
    meeting_on_wait = yield;
    pcoll_set_yield(yield);
    job.medium = &pcoll_medium_shm;
    test_rows("ranks of one kernel thread");
    job.is_crowded = 1;
    test_rows("ranks that share a core, too");
    test_agent();
    pcoll_set_yield(NULL);
    for (int i = 0; i < MAX_RANKS; i++)
        free(ults[i].stack);
    return tap_done();
}
