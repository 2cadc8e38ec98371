/*
 * pcoll-sim: simulates plans at any scale on one core. See engine.h for the model and options.c for
 * the command line.
 */
#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "algorithms/cost.h"
#include "algorithms/plan/levels.h"
#include "tuning/choose.h"
#include "tools/sim/goal.h"
#include "tools/sim/options.h"
#include "tools/sim/resources.h"
#include "tools/sim/timeline.h"

/* `best' tries powers of two from MIN_SEGMENT on, with at most MAX_SEGMENTS segments. */
enum { MIN_SEGMENT = 1024, MAX_SEGMENTS = 1024 };

/* Ranks 0 .. ppn - 1 are on node 0, and so on; NULL: all ranks are on one node. */
static enum pcoll_result make_nodes(int nranks, int ppn, struct pcoll_topology **topology_p)
{
    enum pcoll_result result;
    int *nodes;

    *topology_p = NULL;
    if (ppn == 0)
        return PCOLL_OK;
    nodes = malloc((size_t)nranks * sizeof(*nodes));
    if (nodes == NULL)
        return PCOLL_ERR_NOMEM;
    for (int r = 0; r < nranks; r++)
        nodes[r] = r / ppn;
    result = pcoll_topology_create(nodes, NULL, nranks, topology_p);
    free(nodes);
    return result;
}

/* The domain of a rank on a level of its node, which has levels, by any number. */
static int domain_of(const struct options *options, int level, int rank)
{
    const struct pcoll_sim_node *inside = &options->engine.inside;
    const int ppn = options->ppn ? options->ppn : INT_MAX, cores = pcoll_sim_node_cores(inside);

    assert(cores > 0);
    return rank / ppn * cores + rank % ppn % cores / inside->levels[level].cores;
}

/* Give the topology the levels that plans know, or leave it as it is if they divide nothing. */
static enum pcoll_result add_levels(const struct options *options, int nranks,
                                    struct pcoll_topology **topology_p)
{
    struct pcoll_division divisions[PCOLL_MAX_DIVISIONS];
    struct pcoll_topology *levels = malloc(sizeof(*levels));
    int *domains = malloc((size_t)nranks * PCOLL_MAX_DIVISIONS * sizeof(*domains)), n = 0;
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    for (int level = PCOLL_SIM_LEVELS; domains != NULL && level-- > 0;) {
        int *mine = domains + (size_t)n * (size_t)nranks;

        if (!options->knows[level] || n == PCOLL_MAX_DIVISIONS)
            continue;
        for (int r = 0; r < nranks; r++)
            mine[r] = domain_of(options, level, r);
        divisions[n++] = (struct pcoll_division){mine, PCOLL_LEVEL_OTHER_CACHE};
    }
    if (domains != NULL && levels != NULL)
        result = pcoll_topology_divide(*topology_p, nranks, divisions, n, levels);
    free(domains);
    if (result != PCOLL_OK) {
        free(levels);
        return result == PCOLL_UNSUPPORTED ? PCOLL_OK : result;
    }
    pcoll_topology_destroy(*topology_p);
    *topology_p = levels;
    return PCOLL_OK;
}

static enum pcoll_result make_topology(const struct options *options, int nranks,
                                       struct pcoll_topology **topology_p)
{
    enum pcoll_result result = make_nodes(nranks, options->ppn, topology_p);

    if (result == PCOLL_OK && options->levels)
        result = add_levels(options, nranks, topology_p);
    if (result != PCOLL_OK)
        pcoll_topology_destroy(*topology_p);
    return result;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Returns whether the caches hold what the job copies through; a call that is trivial copies
 * nothing through buffers. */
static bool is_cached(const struct pcoll_engine_options *engine, const struct pcoll_job *job)
{
    return pcoll_is_trivial(&job->signature) ||
           job->algorithm->temp_bytes(&job->signature, &job->params) <=
               pcoll_limits_of(&engine->machine).ring;
}

static struct pcoll_engine_options engine_of(const struct options *options,
                                             const struct pcoll_job *job, int ports)
{
    struct pcoll_engine_options engine = options->engine;
    struct pcoll_sim_node *inside = &engine.inside;

    if (is_cached(&engine, job)) {
        engine.machine = pcoll_cost_cached(&job->signature, &engine.machine);
        for (int level = 0; level < inside->nlevels; level++)
            inside->levels[level].machine =
                pcoll_cost_cached(&job->signature, &inside->levels[level].machine);
    }
    if (options->inside == NULL)
        pcoll_cost_contend(&job->signature, false, &engine.machine);
    engine.ports = ports;
    return engine;
}

static enum pcoll_result run_once(const struct options *options, const struct pcoll_job *job,
                                  struct row *row)
{
    const struct pcoll_engine_options engine = engine_of(options, job, row->ports);
    const double begin = now();
    enum pcoll_result result;

    result = pcoll_engine_run(job, &engine, &row->result);
    row->seconds = now() - begin;
    row->segment = job->params.segment;
    return result;
}

static enum pcoll_result run_best(const struct options *options, struct pcoll_job *job,
                                  struct row *row)
{
    struct row best = *row;
    enum pcoll_result result = PCOLL_UNSUPPORTED;

    for (uint64_t segment = MIN_SEGMENT; segment < 2 * row->bytes; segment *= 2) {
        if (row->bytes / segment > MAX_SEGMENTS)
            continue;
        job->params.segment = segment;
        result = run_once(options, job, row);
        if (result != PCOLL_OK)
            return result;
        if (best.segment == 0 || row->result.first < best.result.first)
            best = *row;
    }
    *row = best;
    return result;
}

/* Repeats the run with a trace. */
static enum pcoll_result write_timeline(const struct options *options, struct pcoll_job *job,
                                        const struct row *row)
{
    struct pcoll_trace trace;
    struct pcoll_engine_options engine = engine_of(options, job, row->ports);
    struct pcoll_engine_result unused;
    enum pcoll_result result;

    engine.trace = &trace;
    job->params.segment = row->segment;
    result = pcoll_engine_run(job, &engine, &unused);
    if (result != PCOLL_OK)
        return result;
    result = pcoll_timeline_write(job, &engine, &trace, options->timeline);
    pcoll_trace_destroy(&trace);
    return result;
}

/* The job for one line of the result; the caller destroys its topology. */
static enum pcoll_result make_job(const struct options *options, const struct row *row,
                                  struct pcoll_topology **topology_p, struct pcoll_job *job)
{
    enum pcoll_result result = make_topology(options, row->nranks, topology_p);

    *job = (struct pcoll_job){
        .algorithm = row->algorithm,
        .params = options->params,
        .lowered = options->lowered,
        .signature = {.coll = options->coll,
                      .nranks = row->nranks,
                      .root = pcoll_coll_has(options->coll, PCOLL_ROOTED) ? options->root : 0,
                      .bytes = row->bytes,
                      .commutes = row->algorithm->must_commute,
                      .topology = *topology_p}};
    if (job->params.rails == 0)
        job->params.rails = row->ports;
    return result;
}

static enum pcoll_result write_goal(const struct options *options, const struct pcoll_job *job)
{
    const struct pcoll_engine_options engine = engine_of(options, job, 1);
    FILE *file = fopen(options->goal, "w");
    enum pcoll_result result;

    if (file == NULL) {
        perror(options->goal);
        return PCOLL_ERR_SYSTEM;
    }
    result = pcoll_goal_write(job, &engine.machine, file);
    fclose(file);
    return result;
}

/* Prints the maximum of each resource over the ranks; with many ranks, over the first and the last
 * ones. */
static enum pcoll_result print_resources(const struct pcoll_job *job)
{
    enum { FEW = 1024 };
    const int nranks = job->signature.nranks, step = nranks <= FEW ? 1 : nranks - 1;
    struct pcoll_resources max = {0}, one;

    for (int r = 0; r < nranks; r += step) {
        enum pcoll_result result = pcoll_resources_of(job, r, &one);

        if (result != PCOLL_OK)
            return result;
        pcoll_resources_max(&max, &one);
    }
    report_resources(job, &max, stdout);
    return PCOLL_OK;
}

static bool is_simulation(const struct options *options)
{
    return !options->goal && !options->resources;
}

static enum pcoll_result run_row(const struct options *options, struct row *row)
{
    struct pcoll_topology *topology;
    struct pcoll_job job;
    enum pcoll_result result = make_job(options, row, &topology, &job);

    if (result != PCOLL_OK)
        return result;
    if (options->goal)
        result = write_goal(options, &job);
    else if (options->resources)
        result = print_resources(&job);
    else if (options->best_segment && row->algorithm->uses_segment && row->bytes > MIN_SEGMENT / 2)
        result = run_best(options, &job, row);
    else
        result = run_once(options, &job, row);
    if (result == PCOLL_OK && options->timeline && is_simulation(options))
        result = write_timeline(options, &job, row);
    pcoll_topology_destroy(topology);
    return result;
}

/* Runs one job and keeps its row if it ran. */
static int run_and_report(const struct options *options, struct row row, struct row *rows,
                          int *count)
{
    const enum pcoll_result result = run_row(options, &row);

    if (result != PCOLL_OK) {
        fprintf(stderr, "pcoll-sim: %s, %d ranks, %llu bytes: %s\n", row.algorithm->name,
                row.nranks, (unsigned long long)row.bytes, pcoll_result_text(result));
        return result != PCOLL_UNSUPPORTED;
    }
    if (is_simulation(options) && !options->json)
        report_row(options, &row, stdout);
    rows[(*count)++] = row;
    return 0;
}

static int run_all(const struct options *options, struct row *rows, int *count)
{
    bool failed = false;

    for (int a = 0; a < options->nalgorithms; a++)
        for (int p = 0; p < options->ports.count; p++)
            for (int n = 0; n < options->ranks.count; n++)
                for (int b = 0; b < options->bytes.count; b++) {
                    const struct row row = {.algorithm = options->algorithms[a],
                                            .nranks = (int)options->ranks.list[n],
                                            .ports = (int)options->ports.list[p],
                                            .bytes = options->bytes.list[b]};

                    failed |= run_and_report(options, row, rows, count);
                }
    return failed;
}

/* Returns whether the lists have so few combinations that all rows can be kept. */
static bool have_room(const struct options *options)
{
    const uint64_t n = (uint64_t)options->nalgorithms * (uint64_t)options->ports.count *
                       (uint64_t)options->ranks.count * (uint64_t)options->bytes.count;

    if (n > MAX_ROWS)
        fprintf(stderr,
                "pcoll-sim: %llu combinations of algorithms, ports, ranks and bytes are too many "
                "(allowed: %d)\n",
                (unsigned long long)n, MAX_ROWS);
    return n <= MAX_ROWS;
}

int main(int argc, char **argv)
{
    static struct row rows[MAX_ROWS];
    struct options options;
    bool failed;
    int count = 0, status = options_read(&options, argc, argv);

    if (status != CLI_GO_ON)
        return status;
    if (!have_room(&options))
        return CLI_WRONG;
    if (!options.json && !options.goal)
        report_head(&options, stdout);
    failed = run_all(&options, rows, &count);
    if (is_simulation(&options) && options.json)
        report_json(&options, rows, count, stdout);
    if (is_simulation(&options) && options.plot)
        failed |= plot_rows(&options, rows, count);
    return failed;
}
