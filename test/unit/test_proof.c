/*
 * Every algorithm is proved right, for every order of arrivals, in many shapes of small jobs.
 */
#include "algorithms/proof/check.h"
#include "test/unit/cover.h"
#include "test/unit/job.h"
#include "test/unit/known.h"
#include "test/unit/tap.h"

enum { SMALL = 9, LARGE = 16, ALL_ROOTS = 5, ALL_SIZES = 5, BRIEF_RANKS = 2, UNIT = 5 };

static int is_map_of_large(enum job_map map)
{
    return map == JOB_ONE_NODE || map == JOB_UNEQUAL || map == JOB_LEVELS;
}

/* LARGE is there for deep trees and many rounds, which sizes, forms of nodes and weights do not
 * change: what 9 ranks prove for these holds for 16. */
static int is_brief_large(int nranks)
{
    return nranks == LARGE && tap_depth() < TAP_FULL;
}

/* Below and above a cell. Larger jobs use the last two only, with no more parts than make a
 * difference: a size that changes a plan changes it with a few ranks, too. */
static const uint64_t sizes[] = {1, 5, 40, 100};

static int is_repetition(const struct job *job)
{
    return tap_depth() < TAP_FULL && job->signature.nranks > ALL_SIZES;
}

struct tally {
    int jobs, failed;
};

static void prove(struct tally *tally, struct job *job)
{
    tally->jobs++;
    if (job_make(job) != PCOLL_OK) {
        tally->failed++;
        printf("# %s: no plans\n", job_name(job));
        return;
    }
    if (!job_is_known(job, (int)job->signature.coll) &&
        pcoll_plan_check(job->plans, job->signature.nranks, stdout) != PCOLL_OK) {
        tally->failed++;
        printf("# %s\n", job_name(job));
    }
    job_destroy(job);
}

/* In one part, in a few, and in more than an eager broadcast has slots. */
static void prove_segments(struct tally *tally, struct job *job)
{
    const uint64_t parts[] = {0, 3, 10};
    uint64_t bytes = job->signature.bytes;

    int nparts = !job->algorithm->uses_segment                                ? 1
                 : job->algorithm->uses_slots || job_is_even(&job->signature) ? 3
                 : is_repetition(job)                                         ? 2
                                                                              : 3;

    for (int i = 0; i < nparts; i++) {
        job->params.segment = parts[i] ? (bytes - 1) / parts[i] + 1 : 0;
        prove(tally, job);
    }
}

static void prove_sizes(struct tally *tally, struct job *job)
{
    int nsizes = sizeof(sizes) / sizeof(sizes[0]);

    if (pcoll_coll_has(job->signature.coll, PCOLL_SYNCHRONIZES)) {
        prove(tally, job);
        return;
    }
    for (int i = is_brief_large(job->signature.nranks) ? 3
                 : is_repetition(job)                  ? 2
                                                       : 0;
         i < nsizes; i++) {
        job->signature.bytes = sizes[i];
        if (pcoll_coll_has(job->signature.coll, PCOLL_REDUCES))
            job->signature.unit = sizes[i] % UNIT == 0 ? UNIT : 1;
        for (int form = 0; form < JOB_FORMS; form++)
            if (job_take_form(job, form))
                prove_segments(tally, job);
        (void)job_take_form(job, 0);
    }
    job->signature.unit = 0;
    job->signature.bytes = 0;
    prove(tally, job);
}

/* With levels, one that leads nothing in the first node, and the last one, too. */
static int is_root_to_prove(enum pcoll_coll coll, int nranks, enum job_map map, int root)
{
    if (root == 0 || !pcoll_coll_has(coll, PCOLL_ROOTED))
        return root == 0;
    return nranks <= ALL_ROOTS || (map >= JOB_LEVELS && (root == 4 || root == nranks - 1));
}

static void prove_map(struct tally *tally, const struct pcoll_algorithm *algorithm, int nranks,
                      enum job_map map, int lowered)
{
    struct pcoll_params params[JOB_VARIANTS];
    struct job job = {.algorithm = algorithm,
                      .signature = {algorithm->coll, nranks, 0, 0, 0},
                      .lowered = lowered};
    int nvariants = job_variants(algorithm, nranks, params);

    job_place(&job.signature, map);
    for (int variant = 0; variant < nvariants; variant++) {
        for (int root = 0; root < nranks; root++) {
            if (!is_root_to_prove(algorithm->coll, nranks, map, root))
                continue;
            job.signature.root = root;
            job.params = params[variant];
            prove_sizes(tally, &job);
        }
    }
}

static void prove_all(const struct pcoll_algorithm *algorithm, int nranks, int lowered)
{
    struct tally tally = {0};
    double begin = cover_clock();

    for (enum job_map map = 0; map < (lowered ? JOB_LAST_ALONE : JOB_NUM_MAPS); map++)
        if (!(is_brief_large(nranks) && !is_map_of_large(map)) &&
            job_map_matters(algorithm, map, nranks))
            prove_map(&tally, algorithm, nranks, map, lowered);
    tap_ok(tally.failed == 0 && tally.jobs > 0, "%s %s%s: %d plans for %d ranks are right",
           pcoll_coll_name(algorithm->coll), algorithm->name, lowered ? ", lowered" : "",
           tally.jobs, nranks);
    cover_row(algorithm, "proof", tally.failed ? 0 : tally.jobs, begin);
}

static void prove_algorithms(int lowered)
{
    PCOLL_EACH_ALGORITHM (row) {
        if (cover_skips(row, "proof"))
            continue;
        for (int nranks = 1; nranks <= (tap_depth() == TAP_BRIEF ? BRIEF_RANKS : SMALL); nranks++)
            prove_all(row, nranks, lowered);
        if (tap_depth() > TAP_BRIEF && !(lowered && is_brief_large(LARGE)))
            prove_all(row, LARGE, lowered);
    }
}

static void prove_one(enum pcoll_coll coll, const char *name, int nranks, int lowered)
{
    struct job job = {
        .algorithm = pcoll_algorithm_find(coll, name),
        .signature = {coll, nranks, 0, pcoll_coll_has(coll, PCOLL_SYNCHRONIZES) ? 0 : 8, 0},
        .lowered = lowered,
    };
    struct tally tally = {0};

    prove(&tally, &job);
    tap_ok(tally.failed == 0, "%s %s%s for %d ranks is right", pcoll_coll_name(coll), name,
           lowered ? ", lowered," : "", nranks);
}

int main(void)
{
    for (int lowered = 0; lowered <= 1; lowered++) {
        prove_algorithms(lowered);
        prove_one(PCOLL_BARRIER, "butterfly", 64, lowered);
        prove_one(PCOLL_BARRIER, "dissemination", 64, lowered);
        prove_one(PCOLL_BCAST, "eager", 64, lowered);
        prove_one(PCOLL_BCAST, "chain", 64, lowered);
        prove_one(PCOLL_ALLGATHER, "butterfly", 64, lowered);
        prove_one(PCOLL_ALLREDUCE, "butterfly", 64, lowered);
    }
    return tap_done();
}
