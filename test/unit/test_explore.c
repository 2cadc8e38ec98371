/*
 * Every algorithm on the explorer in every order, with several instances in flight: up to 4 ranks
 * in both reductions, and a few more ranks with the stronger reduction only. What reduces runs with
 * an operator that does not commute, and with one that is not even associative.
 */
#include "offload/explore/explore.h"
#include "test/unit/cover.h"
#include "test/unit/job.h"
#include "test/unit/known.h"
#include "test/unit/tap.h"

enum {
    ALL_ORDERS = 4,
    LARGEST = 8,
    LARGE = 16,
    FEW = 4 /* with several nodes or rails */,
    NESTED = 6 /* with levels: the fewest that have two, or one below nodes */
};
enum { STATES_INSTANCES = 3, STATES_LIMIT = 100000, BRIEF_RANKS = 2 };

struct tally {
    int jobs, known, wrong, incomplete;
    uint64_t states, branches;
};

static void explore(struct tally *t, const struct job *job, enum pcoll_explore_reduction reduction,
                    int instances, int is_tree)
{
    const struct pcoll_explore_options options = {
        .instances = instances,
        .ahead = instances,
        .algebra = is_tree ? PCOLL_EXPLORE_TREE : PCOLL_EXPLORE_BY_SIGNATURE,
    };
    const struct pcoll_explore_limits limits = {
        .reduction = reduction,
        .states = reduction == PCOLL_EXPLORE_TRACES || tap_depth() == TAP_FULL ? STATES_LIMIT
                                                                               : STATES_LIMIT / 10,
    };
    struct pcoll_explore_stats stats;
    struct pcoll_explore *explore;

    t->jobs++;
    if (pcoll_explore_create(job->plans, job->signature.nranks, &options, &explore) != PCOLL_OK) {
        t->wrong++;
        return;
    }
    if (pcoll_explore_all(explore, &limits, &stats) != PCOLL_OK) {
        t->wrong++;
        printf("# %s: %s\n", job_name(job), pcoll_explore_why(explore));
    } else if (!stats.complete) {
        t->incomplete++;
    }
    t->states += stats.states;
    t->branches += stats.branches;
    pcoll_explore_destroy(explore);
}

/* Traces run each phase three times, so that ranks that run ahead use its counters and buffers
 * again. States (`states` may be NULL) run fewer instances, up to the limit. */
static void explore_job(struct tally *states, struct tally *traces, struct job *job)
{
    const int nranks = job->signature.nranks;
    int all;

    if (job_make(job) != PCOLL_OK) {
        traces->wrong++;
        return;
    }
    /* Exploring all states checks the reduction to traces, which alone decides. */
    if (tap_depth() < TAP_FULL && nranks > 2 && (nranks == ALL_ORDERS || job->lowered))
        states = NULL;
    if (job_is_known(job, states != NULL)) {
        traces->known++;
        job_destroy(job);
        return;
    }
    all = 3 * job->plans[0]->nphases;
    explore(traces, job, PCOLL_EXPLORE_TRACES, all < 4 ? 4 : all, 0);
    if (pcoll_coll_has(job->signature.coll, PCOLL_REDUCES))
        explore(traces, job, PCOLL_EXPLORE_TRACES, all < 4 ? 4 : all, 1);
    if (states && nranks < ALL_ORDERS)
        explore(states, job, PCOLL_EXPLORE_STATES, STATES_INSTANCES, 0);
    else if (states && nranks == ALL_ORDERS)
        explore(states, job, PCOLL_EXPLORE_STATES, STATES_INSTANCES - 1, 0);
    job_destroy(job);
}

/* One segment, two, and more than an eager broadcast has slots; through cells and through TEMP.
 * Jobs without segments or with more ranks use the first only; the first STATES_SIZES run in all
 * orders. */
static const struct {
    uint64_t bytes, segment;
} sizes[] = {{1, 0}, {2, 1}, {9, 1}, {50, 0}, {100, 50}};

enum { STATES_SIZES = 2, EVEN_SIZES = 2, NSIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* LARGE ranks are there for deep trees and many rounds: all orders of these with other roots, forms
 * and nodes repeat what fewer ranks show. */
static int is_repetition(const struct job *job)
{
    return job->signature.nranks == LARGE && tap_depth() < TAP_FULL &&
           (job->signature.root > 0 || job->signature.blocks != NULL ||
            job->signature.topology != NULL);
}

static void explore_params(struct tally *states, struct tally *traces,
                           const struct pcoll_algorithm *algorithm, int nranks, enum job_map map,
                           struct pcoll_params params, int lowered)
{
    const int has_sizes = algorithm->uses_segment || pcoll_coll_has(algorithm->coll, PCOLL_REDUCES);
    const int is_even =
        algorithm->uses_segment && map == JOB_LEVELS_NODES && nranks == JOB_EVEN_RANKS;
    const int nsizes = has_sizes && nranks <= ALL_ORDERS ? NSIZES : is_even ? EVEN_SIZES : 1;
    const int nroots = pcoll_coll_has(algorithm->coll, PCOLL_ROOTED) ? nranks : 1;

    for (int size = 0; size < nsizes; size++)
        for (int root = 0; root < nroots; root++)
            for (int form = 0; form < JOB_FORMS; form++) {
                struct job job = {
                    .algorithm = algorithm,
                    .signature = {algorithm->coll, nranks, root, sizes[size].bytes},
                    .params = params,
                    .lowered = lowered,
                };

                if (is_even && sizes[size].segment)
                    job.signature.bytes = 4 * sizes[size].segment; /* leaders on two levels */
                if (!job_take_form(&job, form))
                    continue;
                job_place(&job.signature, map);
                if (!algorithm->uses_segment && sizes[size].segment)
                    continue;
                if ((root > 1 && (size > 0 || nranks > ALL_ORDERS)) || is_repetition(&job))
                    continue;
                if (algorithm->uses_segment && job_is_variation(&job) && nranks > FEW &&
                    !(map >= JOB_LEVELS && nranks == NESTED) && !is_even)
                    continue;
                job.params.segment = sizes[size].segment;
                explore_job(root == 0 && size < STATES_SIZES && params.rails <= 1 ? states : NULL,
                            traces, &job);
            }
}

static void explore_algorithm(const struct pcoll_algorithm *algorithm, int nranks, int lowered)
{
    const char *form = lowered ? ", lowered" : "";
    struct pcoll_params params[JOB_VARIANTS];
    const int nparams = job_variants(algorithm, nranks, params);
    struct tally states = {0}, traces = {0};
    double begin = cover_clock();

    for (enum job_map map = 0; map < (lowered ? JOB_LAST_ALONE : JOB_NUM_MAPS); map++)
        for (int i = 0; job_map_matters(algorithm, map, nranks) && i < nparams; i++)
            explore_params(map == JOB_ONE_NODE || nranks == 3 ? &states : NULL, &traces, algorithm,
                           nranks, map, params[i], lowered);
    tap_ok(
        traces.jobs + traces.known > 0 && traces.wrong == 0 && traces.incomplete == 0,
        "%s/%s N=%d%s: all orders that differ, %d jobs (and %d known), %llu states, %llu branches",
        pcoll_coll_name(algorithm->coll), algorithm->name, nranks, form, traces.jobs, traces.known,
        (unsigned long long)traces.states, (unsigned long long)traces.branches);
    if (states.jobs > 0)
        tap_ok(states.wrong == 0,
               "%s/%s N=%d%s: all orders, %d instances, %d jobs (%d to the end), %llu states",
               pcoll_coll_name(algorithm->coll), algorithm->name, nranks, form,
               nranks < ALL_ORDERS ? STATES_INSTANCES : STATES_INSTANCES - 1, states.jobs,
               states.jobs - states.incomplete, (unsigned long long)states.states);
    cover_row(algorithm, "orders",
              traces.wrong || traces.incomplete ? 0 : traces.jobs + traces.known, begin);
}

int main(void)
{
    PCOLL_EACH_ALGORITHM (a) {
        const int brief = tap_depth() == TAP_BRIEF;

        if (cover_skips(a, "orders"))
            continue;
        for (int n = 2; n <= (brief ? BRIEF_RANKS : LARGEST); n++)
            explore_algorithm(a, n, 0);
        if (!brief)
            explore_algorithm(a, LARGE, 0);
        for (int n = 2; n <= (brief ? BRIEF_RANKS : ALL_ORDERS); n++)
            explore_algorithm(a, n, 1);
    }
    return tap_done();
}
