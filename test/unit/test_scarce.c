/*
 * Each allocation and system call in what a rank does alone, from a topology to the proof of plans,
 * fails once: the work returns an error, and nothing is leaked. test_scarce_jobs does the same to
 * jobs.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/lower/lower.h"
#include "algorithms/plan/topology.h"
#include "algorithms/proof/check.h"
#include "offload/explore/explore.h"
#include "test/unit/job.h"
#include "test/unit/shortage.h"
#include "test/unit/tables.h"
#include "test/unit/tap.h"
#include "tuning/table/table.h"

/* Does its work and releases everything. */
typedef enum pcoll_result work(const void *argument);

static int is_shortage(enum pcoll_result result)
{
    return result == PCOLL_ERR_NOMEM || result == PCOLL_ERR_SYSTEM;
}

/* The number of calls that failed, one after another; -1: something was wrong. */
static int fail_each(work *work, const void *argument)
{
    const enum pcoll_result good = work(argument);

    for (int n = 0;; n++) {
        const int live = shortage_live();
        enum pcoll_result result;
        int hit;

        shortage_begin(n);
        result = work(argument);
        hit = shortage_end();
        if ((hit ? !is_shortage(result) : result != good) || shortage_live() != live) {
            printf("# call %d fails: %s, %d kept\n", n, pcoll_result_text(result),
                   shortage_live() - live);
            return -1;
        }
        if (!hit)
            return n;
    }
}

static enum pcoll_result make_topology(const void *argument)
{
    static const int nodes[] = {3, 1, 1, 3, 0}, distance[] = {1, 0, 0, 1, 0};
    struct pcoll_topology *topology = NULL;
    enum pcoll_result result = pcoll_topology_create(nodes, distance, 5, &topology);

    (void)argument;
    pcoll_topology_destroy(topology);
    return result;
}

static enum pcoll_result read_table(const void *text)
{
    struct pcoll_table *table = NULL;
    enum pcoll_result result = pcoll_table_parse("table", text, NULL, &table);

    pcoll_table_destroy(table);
    return result;
}

static enum pcoll_result read_file(const void *path)
{
    char *text = NULL;
    enum pcoll_result result = pcoll_table_read(path, NULL, &text);

    free(text);
    return result;
}

/* Generates the plan of each rank. */
static enum pcoll_result make_plan(const struct job *job, int rank)
{
    struct pcoll_plan *plan = NULL;
    enum pcoll_result result =
        pcoll_generate(job->algorithm, &job->signature, NULL, rank, &job->params, &plan);

    if (result == PCOLL_OK && job->lowered)
        result = pcoll_lower(job->algorithm, &job->params, &plan);
    if (result == PCOLL_OK)
        pcoll_plan_destroy(plan);
    else if (plan != NULL)
        result = PCOLL_ERR_INVALID;
    return result;
}

static enum pcoll_result make_plans(const void *argument)
{
    const struct job *job = argument;
    enum pcoll_result result = PCOLL_OK;

    for (int rank = 0; rank < job->signature.nranks && result == PCOLL_OK; rank++)
        result = make_plan(job, rank);
    return result;
}

static enum pcoll_result prove(const void *argument)
{
    const struct job *job = argument;

    return pcoll_plan_check(job->plans, job->signature.nranks, NULL);
}

static enum pcoll_result explore(const void *argument)
{
    const struct job *job = argument;
    const struct pcoll_explore_options options = {.instances = 2, .ahead = 1};
    const struct pcoll_explore_limits limits = {.reduction = PCOLL_EXPLORE_TRACES, .states = 200};
    struct pcoll_explore_stats stats;
    struct pcoll_explore *explore = NULL;
    enum pcoll_result result =
        pcoll_explore_create(job->plans, job->signature.nranks, &options, &explore);

    if (result == PCOLL_OK)
        result = pcoll_explore_run_inorder(explore);
    if (result == PCOLL_OK)
        result = pcoll_explore_run_random(explore, 1);
    if (result == PCOLL_OK)
        result = pcoll_explore_all(explore, &limits, &stats);
    pcoll_explore_destroy(explore);
    return result;
}

static void check_tables(void)
{
    static const char *const names[] = {"good/identity.json", "good/levels.json", "good/rules.json",
                                        "good/correction_full.json"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *text = tables_read(names[i]);

        tap_ok(fail_each(read_table, text) > 0, "the table %s", names[i]);
        free(text);
    }
    tap_ok(fail_each(read_table, pcoll_tuning_default_json) > 0, "the table that is compiled in");
}

static void check_file(void)
{
    char path[] = "test_scarce.XXXXXX";
    const int fd = mkstemp(path);
    const size_t bytes = strlen(pcoll_tuning_default_json);

    if (fd < 0 || write(fd, pcoll_tuning_default_json, bytes) != (ssize_t)bytes)
        abort();
    close(fd);
    tap_ok(fail_each(read_file, path) > 0, "the file of a table");
    unlink(path);
}

/* Lowered and not, on one node and on several. */
static int fail_in_plans(const struct pcoll_algorithm *row, int nranks)
{
    struct pcoll_params params[JOB_VARIANTS];
    const int n = job_variants(row, nranks, params);
    int least = 1;

    for (int i = 0; i < 4 * n; i++) {
        const struct job job = {
            .algorithm = row,
            .signature = {.coll = row->coll,
                          .nranks = nranks,
                          .bytes = pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) ? 0 : 100,
                          .topology = i & 1 ? job_topology(JOB_UNEQUAL, nranks) : NULL,
                          .commutes = row->must_commute},
            .params = params[i / 4],
            .lowered = i & 2,
        };
        const int failed = fail_each(make_plans, &job);

        if (failed < 0)
            printf("# %s\n", job_name(&job));
        least = failed < least ? failed : least;
    }
    return least;
}

static void check_plans(const struct pcoll_algorithm *row)
{
    struct job job = {
        .algorithm = row,
        .signature = {.coll = row->coll,
                      .nranks = 3,
                      .bytes = pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) ? 0 : 8,
                      .commutes = row->must_commute},
    };

    tap_ok(fail_in_plans(row, 5) > 0, "plans: %s %s", pcoll_coll_name(row->coll), row->name);
    if (job_make(&job) != PCOLL_OK)
        abort();
    tap_ok(fail_each(prove, &job) > 0, "proof: %s %s", pcoll_coll_name(row->coll), row->name);
    tap_ok(fail_each(explore, &job) > 0, "exploring: %s %s", pcoll_coll_name(row->coll), row->name);
    job_destroy(&job);
}

int main(void)
{
    tap_ok(fail_each(make_topology, NULL) > 0, "a topology");
    check_tables();
    check_file();
    PCOLL_EACH_ALGORITHM (row)
        check_plans(row);
    return tap_done();
}
