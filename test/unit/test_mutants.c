/*
 * The test of the tests: plans with one thing wrong, which the simulator must catch.
 *
 * Of every small job: each entry left out, each threshold lower by one, the second bank of counters
 * and buffers taken away, and (where the plan needs it) the order of messages.  What is not caught
 * has been run in every order that differs, so it is right as well; the reasons are given below,
 * and a survivor without one fails the test.  With an argument: names each survivor.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/explore/explore.h"
#include "test/unit/cover.h"
#include "test/unit/job.h"
#include "test/unit/mutate.h"
#include "test/unit/tap.h"

enum { MAX_RANKS = 4, BRIEF_RANKS = 2, SEEDS = 8, STATES_LIMIT = 30000 };

enum kind { DROP, LOWER, COLLAPSE, UNORDER, NUM_KINDS };

static const char *const kind_name[NUM_KINDS] = {"entry dropped", "threshold lowered",
                                                 "second bank removed", "order withdrawn"};

struct mutant {
    enum kind kind;
    const struct job *job;
    int rank, entry; /* DROP, LOWER */
};

/* Why a plan is right without what was taken away.  Fields that are 0 match all. */
struct excuse {
    enum kind kind;
    enum pcoll_coll coll;
    const char *algorithm;
    unsigned paths; /* bits, 0: all */
    unsigned ops;   /* bits */
    int most_ranks;
    int cut;   /* the message is cut in segments */
    int gated; /* each slot of the ring is waited for by itself: cut, or a ring of two */
    int lowered;
    int pipelined; /* in order, all instances on the same counters */
    int lanes;     /* the peer gets several lanes by that counter */
    const char *reason;
};

#define BIT(x) (1u << (x))

static const struct excuse excuses[] = {
    {.kind = COLLAPSE,
     .coll = PCOLL_BARRIER,
     .reason = "who signals for the next barrier has completed this one, so all have started it"},
    {.kind = COLLAPSE,
     .coll = PCOLL_ALLGATHER,
     .paths = BIT(PCOLL_PATH_USER),
     .most_ranks = 3,
     .reason = "with one partner a round, its next 'ready' says that it has all of this instance"},
    {.kind = COLLAPSE,
     .coll = PCOLL_BCAST,
     .gated = 1,
     .reason = "with a gate at every slot, a ring of the slots of one instance is enough"},
    {.kind = LOWER,
     .coll = PCOLL_BARRIER,
     .algorithm = "dissemination",
     .ops = BIT(PCOLL_OP_ADD),
     .reason = "N is no power of the radix: messages of two rounds tell of the same rank"},
    {.kind = LOWER,
     .coll = PCOLL_BCAST,
     .algorithm = "eager",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the own copy does not need the children's credit"},
    {.kind = LOWER,
     .coll = PCOLL_BCAST,
     .algorithm = "eager",
     .ops = BIT(PCOLL_OP_ADD),
     .reason = "puts that are done have passed the gate"},
    {.kind = LOWER,
     .coll = PCOLL_BCAST,
     .algorithm = "eager",
     .ops = BIT(PCOLL_OP_PUT),
     .cut = 1,
     .reason = "an earlier instance on this half waited for the same credit"},
    {.kind = LOWER,
     .coll = PCOLL_BCAST,
     .ops = BIT(PCOLL_OP_PUT),
     .pipelined = 1,
     .lanes = 1,
     .reason = "a child is ready for all its lanes at once: without one 'ready' there is another"},
    {.kind = LOWER,
     .coll = PCOLL_BCAST,
     .ops = BIT(PCOLL_OP_GET),
     .cut = 1,
     .pipelined = 1,
     .reason =
         "all reads weigh less than one announcement, and the last is not done before itself"},
    {.kind = LOWER,
     .coll = PCOLL_BCAST,
     .algorithm = "scatter_ring",
     .ops = BIT(PCOLL_OP_PUT),
     .reason = "v is odd: what its parent, v - 1, scatters comes before what it passes on"},
    {.kind = LOWER,
     .coll = PCOLL_ALLGATHER,
     .paths = BIT(PCOLL_PATH_USER),
     .ops = BIT(PCOLL_OP_GET) | BIT(PCOLL_OP_PUT),
     .reason = "the peer's later message, or its block come round, says that it is ready too"},
    {.kind = LOWER,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "butterfly",
     .paths = BIT(PCOLL_PATH_TEMP),
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the blocks copied have come in the other rounds"},
    {.kind = LOWER,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "bruck",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the blocks copied have come in the rounds before the last"},
    {.kind = LOWER,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "bruck",
     .ops = BIT(PCOLL_OP_PUT),
     .most_ranks = 3,
     .reason = "N is no power of two: the last round sends blocks that were there before"},
    {.kind = LOWER,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "direct",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the own copy waits just to let the messages go first"},
    {.kind = LOWER,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "ring",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the own copy waits just to have its data in the cache for the put"},
    {.kind = LOWER,
     .coll = PCOLL_BARRIER,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "what the gate waits for, others wait for before the instance can complete"},
    {.kind = LOWER,
     .coll = PCOLL_ALLGATHER,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "what the gate waits for, others wait for before the instance can complete"},
    {.kind = LOWER,
     .coll = PCOLL_BCAST,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "the last add by that counter waits for all that this one does"},
    {.kind = COLLAPSE,
     .coll = PCOLL_ALLGATHER,
     .paths = BIT(PCOLL_PATH_USER),
     .lowered = 1,
     .reason = "signals of different rounds, and so of different ranks, have their own counters"},
};

enum {
    NEXCUSES = sizeof(excuses) / sizeof(excuses[0]),
    NFAULTS = PCOLL_EXPLORE_FAULT_LEFTOVER + 1
};

struct tally {
    int mutants, failures;
    int caught[NFAULTS];
    int same;              /* no different from the original */
    int excused[NEXCUSES]; /* right for another reason */
    int compared;          /* by both reductions */
};

static int verbose;

static const struct pcoll_entry *entry_of(const struct mutant *m)
{
    return &m->job->plans[m->rank]->entries[m->entry];
}

/* --- plans that are no different --- */

enum { WINDOW = 4096 };

/* Mark the values that `value` can become when `add` comes or does not. */
static void spread(char *reachable, uint64_t add)
{
    for (uint64_t v = WINDOW; v-- > add;)
        reachable[v] |= reachable[v - add];
}

/* Mark all sums of signals in one cycle on that counter. */
static void spread_cycle(const struct job *job, int rank, int counter, char *reachable)
{
    for (int r = 0; r < job->signature.nranks; r++)
        for (int i = 0; i < job->plans[r]->nentries; i++) {
            const struct pcoll_entry *entry = &job->plans[r]->entries[i];

            if (r == rank && entry->done == counter)
                spread(reachable, entry->done_add);
            if (entry->peer == rank && entry->peer_counter == counter)
                spread(reachable, entry->peer_add);
        }
}

/* Can the counter ever stand one below the threshold?  Peers may be a cycle ahead; of the cycles
 * before nothing is missing, if the thresholds of this one wait for all that comes. */
static int one_less_is_reachable(const struct mutant *m)
{
    const struct pcoll_plan *plan = m->job->plans[m->rank];
    const int counter = entry_of(m)->trigger;
    static char reachable[WINDOW];
    uint64_t highest = 0;

    for (int i = 0; i < plan->nentries; i++)
        if (plan->entries[i].trigger == counter && plan->entries[i].threshold > highest)
            highest = plan->entries[i].threshold;
    if (highest < plan->gain[counter] || plan->gain[counter] >= WINDOW)
        return 1;
    memset(reachable, 0, sizeof(reachable));
    reachable[0] = 1;
    spread_cycle(m->job, m->rank, counter, reachable);
    spread_cycle(m->job, m->rank, counter, reachable);
    return reachable[entry_of(m)->threshold - 1];
}

/* A WAIT beside another entry of the phase that waits for as much. */
static int wait_is_redundant(const struct mutant *m)
{
    const struct pcoll_plan *plan = m->job->plans[m->rank];

    if (entry_of(m)->op != PCOLL_OP_WAIT)
        return 0;
    for (int p = 0; p < plan->nphases; p++) {
        const int first = plan->phases[p].first, end = first + plan->phases[p].count;

        for (int i = first; m->entry >= first && m->entry < end && i < end; i++)
            if (i != m->entry && plan->entries[i].trigger == entry_of(m)->trigger &&
                plan->entries[i].threshold >= entry_of(m)->threshold)
                return 1;
    }
    return 0;
}

/* In order, it fires after the entry before it on the same trigger, which waits for as much. */
static int stands_in_line(const struct mutant *m)
{
    const struct pcoll_plan *plan = m->job->plans[m->rank];
    const struct pcoll_entry *entry = entry_of(m);

    for (int p = 0; p < plan->nphases; p++)
        if (plan->phases[p].first == m->entry)
            return 0;
    return plan->ordered && entry[-1].trigger == entry->trigger &&
           entry[-1].threshold >= entry->threshold;
}

static int is_same(const struct mutant *m)
{
    if (m->kind == LOWER && (!one_less_is_reachable(m) || stands_in_line(m)))
        return 1;
    return m->kind <= LOWER && wait_is_redundant(m);
}

/* Is there another put by that counter to the same peer, on another rail? */
static int has_lanes(const struct mutant *m)
{
    const struct pcoll_plan *plan = m->job->plans[m->rank];
    const struct pcoll_entry *entry = entry_of(m);

    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *other = &plan->entries[i];

        if (other->op == PCOLL_OP_PUT && other->trigger == entry->trigger &&
            other->peer == entry->peer && other->rail != entry->rail)
            return 1;
    }
    return 0;
}

static const struct excuse *find_excuse(const struct mutant *m)
{
    const struct pcoll_plan *plan = m->job->plans[0];

    for (int i = 0; i < NEXCUSES; i++) {
        const struct excuse *e = &excuses[i];

        if (e->kind == m->kind && e->coll == plan->signature.coll &&
            (!e->algorithm || strcmp(e->algorithm, plan->algorithm) == 0) &&
            (!e->paths || e->paths >> m->job->params.path & 1) &&
            (!e->ops || e->ops >> entry_of(m)->op & 1) && (!e->cut || m->job->params.segment) &&
            (!e->gated || m->job->params.segment || m->job->params.slots == 2) &&
            (!e->lowered || m->job->lowered) && (!e->lanes || has_lanes(m)) &&
            (!e->pipelined || (plan->ordered && plan->nphases == 1)) &&
            (!e->most_ranks || plan->signature.nranks <= e->most_ranks))
            return e;
    }
    return NULL;
}

/* --- running a mutant --- */

/* As the other tests would find it: in order, at random, in every order. */
static enum pcoll_result hunt(struct pcoll_explore *explore, int *complete)
{
    const struct pcoll_explore_limits limits = {PCOLL_EXPLORE_TRACES, STATES_LIMIT};
    struct pcoll_explore_stats stats;
    enum pcoll_result result = pcoll_explore_run_inorder(explore);

    for (uint64_t seed = 0; result == PCOLL_OK && seed < SEEDS; seed++)
        result = pcoll_explore_run_random(explore, seed);
    *complete = 1;
    if (result == PCOLL_OK) {
        result = pcoll_explore_all(explore, &limits, &stats);
        *complete = stats.complete;
    }
    return result;
}

/* Comparing the reductions puts the simulator to the test, with mutants as its data: usually one in
 * 16 is enough. */
static int is_to_compare(const struct tally *t, const struct mutant *m, int nphases)
{
    const int nranks = m->job->signature.nranks, every = tap_depth() == TAP_FULL ? 1 : 16;

    return tap_depth() > TAP_BRIEF && t->mutants % every == 0 && nphases <= 2 &&
           nranks <= (m->job->signature.coll == PCOLL_ALLGATHER ? 2 : 3);
}

/* Both reductions must give the same verdict, where both come to an end. */
static void compare(struct tally *t, const struct mutant *m, struct pcoll_explore *explore)
{
    const struct pcoll_explore_limits all = {PCOLL_EXPLORE_STATES, STATES_LIMIT};
    const struct pcoll_explore_limits traces = {PCOLL_EXPLORE_TRACES, STATES_LIMIT};
    struct pcoll_explore_stats a, b;
    const enum pcoll_result one = pcoll_explore_all(explore, &all, &a);
    const enum pcoll_result other = pcoll_explore_all(explore, &traces, &b);

    if ((one == PCOLL_OK && !a.complete) || (other == PCOLL_OK && !b.complete))
        return;
    t->compared++;
    if (one != other) {
        t->failures++;
        printf("# %s, rank %d, entry %d, %s: the reductions disagree\n", job_name(m->job), m->rank,
               m->entry, kind_name[m->kind]);
    }
}

static void judge(struct tally *t, const struct mutant *m, enum pcoll_result result, int complete,
                  enum pcoll_explore_fault fault)
{
    const struct excuse *excuse = find_excuse(m);

    if (result != PCOLL_OK) {
        t->caught[fault]++;
    } else if (!complete) {
        t->failures++;
        printf("# %s, rank %d, entry %d, %s: not caught up to the limit\n", job_name(m->job),
               m->rank, m->entry, kind_name[m->kind]);
    } else if (is_same(m)) {
        t->same++;
    } else if (excuse) {
        t->excused[excuse - excuses]++;
    } else {
        t->failures++;
    }
    if (result == PCOLL_OK && complete && !is_same(m) && (verbose || !excuse))
        printf("# %s, rank %d, entry %d, %s: right all the same: %s\n", job_name(m->job), m->rank,
               m->entry, kind_name[m->kind], excuse ? excuse->reason : "why?");
}

/* Each phase three times: the counters are used again, and again by who runs ahead. */
static void run_mutant(struct tally *t, const struct mutant *m, struct pcoll_plan *const *plans)
{
    const int nphases = plans[0]->nphases, nranks = m->job->signature.nranks;
    const struct pcoll_explore_options options = {
        .instances = nphases == 1 ? 4 : 3 * nphases,
        .ahead = 3 * nphases + 1,
        .order = m->kind == UNORDER ? PCOLL_EXPLORE_UNORDERED : PCOLL_EXPLORE_AS_NEEDED,
    };
    struct pcoll_explore *explore;
    enum pcoll_result result;
    int complete;

    t->mutants++;
    if (pcoll_explore_create(plans, nranks, &options, &explore) != PCOLL_OK) {
        t->failures++;
        return;
    }
    result = hunt(explore, &complete);
    judge(t, m, result, complete, pcoll_explore_fault(explore));
    if (is_to_compare(t, m, nphases))
        compare(t, m, explore);
    pcoll_explore_destroy(explore);
}

/* One rank has the mutant in place of its plan.  Takes the mutant. */
static void run_one(struct tally *t, const struct mutant *m, struct pcoll_plan *changed)
{
    struct pcoll_plan *plans[MAX_RANKS];

    memcpy(plans, m->job->plans, (size_t)m->job->signature.nranks * sizeof(plans[0]));
    plans[m->rank] = changed;
    if (changed)
        run_mutant(t, m, plans);
    else
        t->failures++;
    pcoll_plan_destroy(changed);
}

static void run_collapsed(struct tally *t, const struct job *job)
{
    const struct mutant m = {COLLAPSE, job, 0, 0};
    struct pcoll_plan *plans[MAX_RANKS];

    if (!mutate_collapse(job->plans, job->signature.nranks, plans)) {
        t->failures++;
        return;
    }
    run_mutant(t, &m, plans);
    for (int r = 0; r < job->signature.nranks; r++)
        pcoll_plan_destroy(plans[r]);
}

static void run_mutants_of_rank(struct tally *t, const struct job *job, int rank)
{
    const struct pcoll_plan *plan = job->plans[rank];

    for (int i = 0; i < plan->nentries; i++) {
        const struct mutant drop = {DROP, job, rank, i}, lower = {LOWER, job, rank, i};

        run_one(t, &drop, mutate_drop(plan, i));
        if (mutate_can_lower(plan, i))
            run_one(t, &lower, mutate_lower(plan, i));
    }
}

static void run_mutants(struct tally *t, struct job *job)
{
    if (job_make(job) != PCOLL_OK) {
        t->failures++;
        return;
    }
    if (job->plans[0]->nphases > 1)
        run_collapsed(t, job);
    for (int r = 0; r < job->signature.nranks; r++)
        run_mutants_of_rank(t, job, r);
    job_destroy(job);
}

static void print_tally(const struct pcoll_algorithm *algorithm, int nranks, int lowered,
                        const struct tally *t, double begin)
{
    int excused = 0;

    for (int i = 0; i < NEXCUSES; i++) {
        excused += t->excused[i];
        if (t->excused[i])
            printf("# %d of %s, right all the same: %s\n", t->excused[i],
                   kind_name[excuses[i].kind], excuses[i].reason);
    }
    tap_ok(
        t->failures == 0 && t->mutants > 0,
        "%s/%s N=%d%s: %d mutants: %d wrong result, %d user memory, %d deadlock, %d left over; %d "
        "the same as before, %d right all the same; %d compared",
        pcoll_coll_name(algorithm->coll), algorithm->name, nranks, lowered ? ", lowered" : "",
        t->mutants, t->caught[PCOLL_EXPLORE_FAULT_RESULT], t->caught[PCOLL_EXPLORE_FAULT_MEMORY],
        t->caught[PCOLL_EXPLORE_FAULT_DEADLOCK], t->caught[PCOLL_EXPLORE_FAULT_LEFTOVER], t->same,
        excused, t->compared);
    cover_row(algorithm, "mutants", t->failures ? 0 : t->mutants, begin);
}

/* Through cells; in two segments; through TEMP in one segment and in two. */
static const struct {
    uint64_t bytes, segment;
} sizes[] = {{4, 0}, {2, 1}, {50, 0}, {100, 50}};

/* Lanes are alike, and each mutant is in one of them. */
static int has_too_many_lanes(struct pcoll_params params, int nranks, int lowered)
{
    return params.rails > 1 && (params.rails > 2 || nranks > 3 || lowered);
}

static void test_map(struct tally *t, const struct pcoll_algorithm *algorithm, int nranks,
                     enum job_map map, int lowered)
{
    struct pcoll_params params[JOB_VARIANTS];
    const int nparams = job_variants(algorithm, nranks, params);
    const int is_allgather = algorithm->coll == PCOLL_ALLGATHER;
    const int most = map == JOB_ONE_NODE && !lowered ? 4 : 2;

    for (int i = 0; i < nparams; i++)
        for (int size = 0; size < (algorithm->uses_segment ? most : 1); size++)
            for (int in_place = 0; in_place <= is_allgather; in_place++) {
                struct job job = {
                    .algorithm = algorithm,
                    .signature = {algorithm->coll, nranks, 0, sizes[size].bytes, in_place},
                    .params = params[i],
                    .lowered = lowered,
                };

                if (has_too_many_lanes(params[i], nranks, lowered))
                    continue;
                if (job.params.rails > 1) /* lanes as long as the message on one rail */
                    job.signature.bytes *= (uint64_t)job.params.rails;
                job.params.segment = sizes[size].segment;
                job.signature.topology = job_topology(map, nranks);
                run_mutants(t, &job);
            }
}

static void test_algorithm(const struct pcoll_algorithm *algorithm, int nranks, int lowered)
{
    struct tally t = {0};
    double begin = cover_clock();

    for (enum job_map map = 0; map < (lowered ? JOB_LAST_ALONE : JOB_NUM_MAPS); map++)
        if (job_map_matters(algorithm, map, nranks))
            test_map(&t, algorithm, nranks, map, lowered);
    print_tally(algorithm, nranks, lowered, &t, begin);
}

/* A plan that asks for order, on a medium that does not keep it. */
static void test_order(const struct pcoll_algorithm *algorithm, enum pcoll_path path)
{
    struct job job = {
        .algorithm = algorithm,
        .signature = {algorithm->coll, 4, 0, 18, 0},
        .params = {.segment = 3, .path = path},
    };
    const struct mutant m = {UNORDER, &job, 0, 0};
    struct tally t = {0};

    if (!(algorithm->paths >> path & 1))
        return;
    if (job_make(&job) != PCOLL_OK) {
        tap_ok(0, "%s", job_name(&job));
        return;
    }
    if (job.plans[0]->needs & PCOLL_NEED_ORDER) {
        run_mutant(&t, &m, job.plans);
        tap_ok(t.failures == 0, "%s: needs the order it asks for", job_name(&job));
    }
    job_destroy(&job);
}

int main(int argc, char **argv)
{
    (void)argv;
    verbose = argc > 1;
    PCOLL_EACH_ALGORITHM (a) {
        for (int n = 2; n <= (tap_depth() == TAP_BRIEF ? BRIEF_RANKS : MAX_RANKS); n++)
            for (int lowered = 0; lowered <= 1; lowered++)
                test_algorithm(a, n, lowered);
        test_order(a, PCOLL_PATH_USER);
        test_order(a, PCOLL_PATH_TEMP);
    }
    return tap_done();
}
