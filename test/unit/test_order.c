/*
 * Every algorithm on the explorer, in order and in random orders, for many shapes of jobs.
 */
#include <stdlib.h>

#include "offload/explore/explore.h"
#include "test/unit/cover.h"
#include "test/unit/job.h"
#include "test/unit/known.h"
#include "test/unit/tap.h"

enum { SEGMENT = 16, MAX_SIZES = 16, MAX_REPORTS = 3 };

struct size {
    uint64_t bytes, segment;
};

struct tally {
    int jobs, known, runs, failures;
};

static void report(struct tally *t, const struct job *job, const char *how, const char *why)
{
    if (t->failures++ < MAX_REPORTS)
        printf("# %s, %s: %s\n", job_name(job), how, why);
}

/* Enough to use every phase twice, and 4 to 6 instances. */
static int instances(const struct job *job, int seed)
{
    const int least = job->plans[0]->nphases + 2;

    return least > 4 + seed % 3 ? least : 4 + seed % 3;
}

static void run_seeds(struct tally *t, const struct job *job, struct pcoll_explore *explore,
                      int seed, int nseeds)
{
    char how[40];

    t->runs += 1 + nseeds;
    if (pcoll_explore_run_inorder(explore) != PCOLL_OK)
        report(t, job, "in order", pcoll_explore_why(explore));
    for (int i = 0; i < nseeds; i++)
        if (pcoll_explore_run_random(explore, (uint64_t)(seed + i)) != PCOLL_OK) {
            snprintf(how, sizeof(how), "seed %d", seed + i);
            report(t, job, how, pcoll_explore_why(explore));
        }
}

/* Ranks run ahead by up to 3 instances, or as far as the plans let them, and in some jobs counters
 * wrap around. */
static void test_job(struct tally *t, struct job *job, int nseeds)
{
    const int seed = 100 * t->jobs++;
    struct pcoll_explore_options options = {.first_cycle = t->jobs % 3 ? 0 : (uint64_t)-2};
    struct pcoll_explore *explore;

    if (job_make(job) != PCOLL_OK) {
        report(t, job, "generate", "failed");
        return;
    }
    if (tap_depth() < TAP_FULL && job_is_known(job, 0)) { /* other seeds only */
        t->known++;
        job_destroy(job);
        return;
    }
    options.instances = instances(job, t->jobs);
    options.ahead = t->jobs % 2 ? 3 : options.instances;
    if (pcoll_explore_create(job->plans, job->signature.nranks, &options, &explore) != PCOLL_OK) {
        report(t, job, "create", "failed");
    } else {
        run_seeds(t, job, explore, seed, nseeds);
        pcoll_explore_destroy(explore);
    }
    job_destroy(job);
}

/* 64 KiB and 3 bytes; less if many ranks would move too much. */
static uint64_t large(enum pcoll_coll coll, int nranks)
{
    const uint64_t n = (uint64_t)nranks, bytes = 64 * 1024 + 3;
    const uint64_t most = (1 << 21) / (pcoll_coll_has(coll, PCOLL_ROOTED) ? n : n * n) | 1;

    return bytes < most ? bytes : most;
}

static int sizes(const struct pcoll_algorithm *algorithm, int nranks, struct size *size)
{
    const uint64_t most = large(algorithm->coll, nranks);
    const struct size always[] = {
        {0, 0}, {1, 0}, {13, 0}, {PCOLL_CELL_BYTES, 0}, {PCOLL_CELL_BYTES + 1, 0}, {most, 0}};
    const struct size cut[] = {{SEGMENT - 1, SEGMENT},
                               {SEGMENT, SEGMENT},
                               {SEGMENT + 1, SEGMENT},
                               {5 * SEGMENT + 1, SEGMENT},
                               {13, 1},
                               {most, most / 3}};
    int count = 0;

    if (pcoll_coll_has(algorithm->coll, PCOLL_SYNCHRONIZES)) {
        size[0] = always[0];
        return 1;
    }
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        size[count++] = always[i];
    for (size_t i = 0; algorithm->uses_segment && i < sizeof(cut) / sizeof(cut[0]); i++)
        size[count++] = cut[i];
    return count;
}

/* All roots of small jobs; of other jobs the first two and the last. */
static int is_root_to_test(const struct job *job)
{
    const int nranks = job->signature.nranks, root = job->signature.root;

    if (!pcoll_coll_has(job->signature.coll, PCOLL_ROOTED))
        return root == 0;
    return (nranks <= (tap_depth() < TAP_FULL ? 5 : 9) && !job_is_variation(job)) || root <= 1 ||
           root == nranks - 1;
}

/* All maps of small jobs; of other jobs one besides those of one node and of levels. */
static int is_map_to_test(const struct pcoll_algorithm *algorithm, enum job_map map, int nranks,
                          int lowered)
{
    if (map != JOB_ONE_NODE && map != JOB_LEVELS && nranks > 9 &&
        (int)map != JOB_PAIRS + nranks % 4)
        return 0;
    return (!lowered || map <= JOB_PAIRS) && job_map_matters(algorithm, map, nranks);
}

/* A few sizes of jobs and messages suffice to see that nodes and rails work together. */
static int is_to_test(const struct job *job)
{
    const int nranks = job->signature.nranks;

    if (job_is_variation(job) && job->algorithm->uses_segment &&
        ((nranks != 4 && nranks != 7 && (nranks != 13 || tap_depth() < TAP_FULL)) ||
         job->signature.bytes > 100))
        return 0;
    return is_root_to_test(job);
}

static int seeds_for(const struct job *job)
{
    const int nranks = job->signature.nranks;

    if (job_is_variation(job) || nranks > 17)
        return 2;
    return nranks <= 9 && tap_depth() == TAP_FULL ? 6 : 3;
}

static void test_params(struct tally *t, const struct pcoll_algorithm *algorithm, int nranks,
                        enum job_map map, struct pcoll_params params, int lowered)
{
    struct size size[MAX_SIZES];
    const int nsizes = sizes(algorithm, nranks, size);

    for (int i = 0; i < nsizes; i++)
        for (int root = 0; root < nranks; root++)
            for (int form = 0; form < JOB_FORMS; form++) {
                struct job job = {
                    .algorithm = algorithm,
                    .signature = {algorithm->coll, nranks, root, size[i].bytes},
                    .params = params,
                    .lowered = lowered,
                };

                job_place(&job.signature, map);
                job.params.segment = size[i].segment;
                if (job_take_form(&job, form) && is_to_test(&job))
                    test_job(t, &job, seeds_for(&job));
            }
}

static void test_algorithm(const struct pcoll_algorithm *algorithm, int nranks, int lowered)
{
    struct pcoll_params params[JOB_VARIANTS];
    const int nparams = job_variants(algorithm, nranks, params);
    struct tally t = {0};
    double begin = cover_clock();

    for (enum job_map map = 0; map < JOB_NUM_MAPS; map++)
        for (int i = 0; is_map_to_test(algorithm, map, nranks, lowered) && i < nparams; i++)
            test_params(&t, algorithm, nranks, map, params[i], lowered);
    tap_ok(t.failures == 0 && t.jobs > 0, "%s/%s N=%d%s: %d jobs (%d known), %d runs, %d wrong",
           pcoll_coll_name(algorithm->coll), algorithm->name, nranks, lowered ? ", lowered" : "",
           t.jobs, t.known, t.runs, t.failures);
    cover_row(algorithm, "random", t.failures ? 0 : t.jobs, begin);
}

int main(void)
{
    static const struct {
        int nranks;
        enum tap_depth depth; /* the depth from which on it runs */
    } jobs[] = {{1, TAP_USUAL}, {2, TAP_BRIEF},  {3, TAP_USUAL}, {4, TAP_USUAL}, {5, TAP_BRIEF},
                {6, TAP_FULL},  {7, TAP_USUAL},  {8, TAP_USUAL}, {9, TAP_FULL},  {10, TAP_FULL},
                {11, TAP_FULL}, {12, TAP_FULL},  {13, TAP_FULL}, {14, TAP_FULL}, {15, TAP_FULL},
                {16, TAP_FULL}, {17, TAP_USUAL}, {31, TAP_FULL}, {32, TAP_FULL}, {33, TAP_FULL},
                {64, TAP_FULL}};

    /* Lowering an entry does not ask how many ranks there are. */
    const int most_lowered = tap_depth() < TAP_FULL ? 5 : 9;

    PCOLL_EACH_ALGORITHM (a) {
        if (cover_skips(a, "random"))
            continue;
        for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
            for (int lowered = 0; lowered <= (jobs[i].nranks <= most_lowered); lowered++)
                if (jobs[i].depth <= tap_depth())
                    test_algorithm(a, jobs[i].nranks, lowered);
    }
    return tap_done();
}
