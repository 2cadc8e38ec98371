/*
 * The test of the tests: plans with one thing wrong, which the explorer must catch.
 *
 * For every small job each entry is left out, each threshold lowered by one, the second bank of
 * counters and buffers removed, and (where the plan needs it) the order of messages removed; and
 * operands of each REDUCE are wrong (operands.h). A mutant that is not caught has been run in every
 * order that differs, so it is right as well; test/tables/excuses.tsv gives the reasons, and a
 * survivor without one fails the test. With an argument the test names each survivor.
 */
#include <stdlib.h>
#include <string.h>

#include "algorithms/proof/check.h"
#include "offload/explore/explore.h"
#include "test/unit/cover.h"
#include "test/unit/job.h"
#include "test/unit/known.h"
#include "test/unit/mutant.h"
#include "test/unit/mutate.h"
#include "test/unit/operands.h"
#include "test/unit/tap.h"

enum {
    MAX_RANKS = 4,
    NESTED = 6 /* the fewest with two levels, or with nodes and a level */,
    BRIEF_RANKS = 2,
    SEEDS = 8,
    STATES_LIMIT = 30000
};

enum { NFAULTS = PCOLL_EXPLORE_FAULT_LEFTOVER + 1 };

struct tally {
    int known; /* jobs */
    int mutants, failures;
    int caught[NFAULTS];
    int same;                         /* equivalent to the original */
    int excused[MUTANT_MOST_EXCUSES]; /* right for another reason */
    int compared;                     /* with both reductions */
    struct operands_tally operands;
};

static int verbose;

/* --- running a mutant --- */

/* Searches as the other tests do: in order, at random, in every order. */
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

/* Comparing the reductions tests the explorer with mutants as its data: one in 16 is usually
 * enough, and one in 4 at full depth. */
static int is_to_compare(const struct tally *t, const struct mutant *m, int nphases)
{
    const int nranks = m->job->signature.nranks, every = tap_depth() == TAP_FULL ? 4 : 16;

    return tap_depth() > TAP_BRIEF && t->mutants % every == 0 && nphases <= 2 &&
           nranks <= (pcoll_coll_has(m->job->signature.coll, PCOLL_IN_PLACE) ? 2 : 3);
}

/* Both reductions must give the same verdict if both come to an end. */
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
               m->entry, mutant_kind_names[m->kind]);
    }
}

static void judge(struct tally *t, const struct mutant *m, enum pcoll_result result, int complete,
                  enum pcoll_explore_fault fault)
{
    const int excuse = mutant_excuse(m);

    if (result != PCOLL_OK) {
        t->caught[fault]++;
    } else if (!complete) {
        t->failures++;
        printf("# %s, rank %d, entry %d, %s: not caught up to the limit\n", job_name(m->job),
               m->rank, m->entry, mutant_kind_names[m->kind]);
    } else if (mutant_is_same(m)) {
        t->same++;
    } else if (excuse >= 0) {
        t->excused[excuse]++;
    } else {
        t->failures++;
    }
    if (result == PCOLL_OK && complete && !mutant_is_same(m) && (verbose || excuse < 0))
        printf("# %s, rank %d, entry %d, %s: right all the same: %s\n", job_name(m->job), m->rank,
               m->entry, mutant_kind_names[m->kind],
               excuse >= 0 ? mutant_excuse_text(excuse) : "why?");
}

/* Each phase runs three times, so that counters are used again, also by ranks that run ahead. */
static void run_mutant(struct tally *t, const struct mutant *m, struct pcoll_plan *const *plans)
{
    const int nphases = plans[0]->nphases, nranks = m->job->signature.nranks;
    const struct pcoll_explore_options options = {
        .instances = nphases == 1 ? 4 : 3 * nphases,
        .ahead = 3 * nphases + 1,
        .order = m->kind == MUTANT_UNORDER ? PCOLL_EXPLORE_UNORDERED : PCOLL_EXPLORE_AS_NEEDED,
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

/* One rank has the mutant instead of its plan. Takes ownership of the mutant. */
static void run_one(struct tally *t, const struct mutant *m, struct pcoll_plan *changed)
{
    struct pcoll_plan *plans[JOB_EVEN_RANKS];

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
    const struct mutant m = {MUTANT_COLLAPSE, job, 0, 0};
    struct pcoll_plan *plans[JOB_EVEN_RANKS];

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
        const struct mutant drop = {MUTANT_DROP, job, rank, i},
                            lower = {MUTANT_LOWER, job, rank, i};

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
    if (job_is_known(job, 0)) {
        t->known++;
        job_destroy(job);
        return;
    }
    if (job->plans[0]->nphases > 1)
        run_collapsed(t, job);
    for (int r = 0; r < job->signature.nranks; r++)
        run_mutants_of_rank(t, job, r);
    job_destroy(job);
    if (pcoll_coll_has(job->signature.coll, PCOLL_REDUCES))
        operands_run(job, &t->operands);
}

static void print_tally(const struct pcoll_algorithm *algorithm, int nranks, int lowered,
                        const struct tally *t, double begin)
{
    const int is_right = t->failures == 0 && t->operands.failures == 0;
    const int mutants = t->mutants + t->operands.mutants;
    int excused = 0;

    for (int i = 0; i < MUTANT_MOST_EXCUSES; i++) {
        excused += t->excused[i];
        if (t->excused[i])
            printf("# %d of %s, right all the same: %s\n", t->excused[i],
                   mutant_kind_names[mutant_excuse_kind(i)], mutant_excuse_text(i));
    }
    tap_ok(is_right && mutants + t->known > 0,
           "%s/%s N=%d%s: %d mutants (and those of %d known jobs): %d wrong result, %d user "
           "memory, %d deadlock, %d left over; %d equivalent, %d right for another reason, %d "
           "wrong operands; %d compared",
           pcoll_coll_name(algorithm->coll), algorithm->name, nranks, lowered ? ", lowered" : "",
           mutants, t->known, t->caught[PCOLL_EXPLORE_FAULT_RESULT],
           t->caught[PCOLL_EXPLORE_FAULT_MEMORY], t->caught[PCOLL_EXPLORE_FAULT_DEADLOCK],
           t->caught[PCOLL_EXPLORE_FAULT_LEFTOVER], t->same, excused, t->operands.refused,
           t->compared);
    cover_row(algorithm, "mutants", is_right ? mutants + t->known : 0, begin);
}

/* Through cells; in two segments; through TEMP in one segment and in two. */
static const struct {
    uint64_t bytes, segment;
} sizes[] = {{4, 0}, {2, 1}, {50, 0}, {100, 50}};

/* All lanes are equal, and each mutant changes one of them. */
static int has_too_many_lanes(struct pcoll_params params, int nranks, int lowered)
{
    return params.rails > 1 && (params.rails > 2 || nranks > 3 || lowered);
}

static void test_map(struct tally *t, const struct pcoll_algorithm *algorithm, int nranks,
                     enum job_map map, int lowered)
{
    struct pcoll_params params[JOB_VARIANTS];
    const int nparams = job_variants(algorithm, nranks, params);
    const int reduces = pcoll_coll_has(algorithm->coll, PCOLL_REDUCES);
    const int is_dense = pcoll_coll_has(algorithm->coll, PCOLL_NEIGHBORS); /* 6 edges a rank */
    const int scatters = algorithm->coll == PCOLL_REDUCE_SCATTER_BLOCK ||
                         algorithm->coll == PCOLL_REDUCE_SCATTER; /* several blocks to a member */
    const int most = is_dense ? 1 : map == JOB_ONE_NODE && !lowered ? 4 : 2;

    for (int i = 0; i < nparams; i++)
        for (int size = 0; size < (algorithm->uses_segment || reduces ? most : 1); size++)
            for (int form = 0; form < JOB_FORMS; form++) {
                struct job job = {
                    .algorithm = algorithm,
                    .signature = {algorithm->coll, nranks, 0, sizes[size].bytes},
                    .params = params[i],
                    .lowered = lowered,
                };

                if (!algorithm->uses_segment && sizes[size].segment)
                    continue;
                if (has_too_many_lanes(params[i], nranks, lowered))
                    continue;
                if (job.params.rails > 1) /* with several rails, lanes are as long as the whole
                                           * message on one rail */
                    job.signature.bytes *= (uint64_t)job.params.rails;
                job.params.segment = sizes[size].segment;
                if (reduces) { /* no slice is empty */
                    job.signature.bytes *= (uint64_t)nranks;
                    job.params.segment *= (uint64_t)nranks;
                }
                if (nranks == JOB_EVEN_RANKS && job.params.segment) {
                    job.params.segment = job.signature.bytes;
                    if (!scatters) /* leaders on two levels */
                        job.signature.bytes *= 4;
                }
                if (!job_take_form(&job, form))
                    continue;
                job_place(&job.signature, map);
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

static void test_levels(const struct pcoll_algorithm *algorithm)
{
    static const struct {
        enum job_map map;
        int nranks;
    } cases[] = {
        {JOB_LEVELS, NESTED}, {JOB_LEVELS_NODES, NESTED}, {JOB_LEVELS_NODES, JOB_EVEN_RANKS}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tally t = {0};
        double begin = cover_clock();

        if (!job_map_matters(algorithm, cases[i].map, cases[i].nranks))
            continue;
        test_map(&t, algorithm, cases[i].nranks, cases[i].map, 0);
        print_tally(algorithm, cases[i].nranks, 0, &t, begin);
    }
}

/* A ring with several turns in one instance, also if the vector takes two rings, in place, where
 * results wait for what has left; on one node, and on nodes of two ranks. */
static void test_turns(const struct pcoll_algorithm *algorithm, int nranks)
{
    const int has_temp = algorithm->paths >> PCOLL_PATH_TEMP & 1;
    struct tally t = {0};
    double begin = cover_clock();
    struct job job = {
        .algorithm = algorithm,
        .signature = {algorithm->coll, nranks, 0, 8, 1},
        .params = {.segment = 1, .slots = 2, .path = has_temp ? PCOLL_PATH_TEMP : PCOLL_PATH_USER},
    };

    if (algorithm->uses_slots != PCOLL_RING || !algorithm->uses_segment ||
        !pcoll_coll_has(algorithm->coll, PCOLL_REDUCES))
        return;
    for (enum job_map map = 0; map <= JOB_PAIRS; map++) {
        if (!job_map_matters(algorithm, map, nranks))
            continue;
        job_place(&job.signature, map);
        run_mutants(&t, &job);
    }
    print_tally(algorithm, nranks, 0, &t, begin);
}

/* A plan that requires order, on a medium that does not keep it. */
static void test_order(const struct pcoll_algorithm *algorithm, enum pcoll_path path)
{
    struct job job = {
        .algorithm = algorithm,
        .signature = {algorithm->coll, 4, 0, 18, 0},
        .params = {.segment = 3, .path = path},
    };
    const struct mutant m = {MUTANT_UNORDER, &job, 0, 0};
    struct tally t = {0};

    if (!(algorithm->paths >> path & 1))
        return;
    if (job_make(&job) != PCOLL_OK) {
        tap_ok(0, "%s", job_name(&job));
        return;
    }
    if (job.plans[0]->needs & PCOLL_NEED_ORDER) {
        run_mutant(&t, &m, job.plans);
        tap_ok(t.failures == 0, "%s: needs the order that it requires", job_name(&job));
    }
    job_destroy(&job);
}

int main(int argc, char **argv)
{
    /* Lowering an entry does not ask how many ranks there are: 3 have all kinds of entries. */
    const int most_lowered = tap_depth() < TAP_FULL ? 3 : MAX_RANKS;

    (void)argv;
    verbose = argc > 1;
    PCOLL_EACH_ALGORITHM (a) {
        if (cover_skips(a, "mutants"))
            continue;
        for (int n = 2; n <= (tap_depth() == TAP_BRIEF ? BRIEF_RANKS : MAX_RANKS); n++)
            for (int lowered = 0; lowered <= (n <= most_lowered); lowered++)
                test_algorithm(a, n, lowered);
        if (tap_depth() == TAP_FULL || (tap_depth() == TAP_USUAL && !a->uses_segment))
            test_levels(a);
        for (int n = 2; n <= 3; n++)
            test_turns(a, n);
        test_order(a, PCOLL_PATH_USER);
        test_order(a, PCOLL_PATH_TEMP);
    }
    return tap_done();
}
