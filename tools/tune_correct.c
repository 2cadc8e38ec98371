/* pcoll-tune --correct adds to the table how far off the model is on this communicator; pcoll-tune
 * --judge reports how well a table does at sizes that it has not seen. */
#include "tools/tune.h"

#include "tuning/table/correction.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- corrections ---- */

struct ledger {
    const struct tune_stage *stage;
    const struct pcoll_table *table; /* NULL on all ranks but the first */
    int nranks, count;
    struct entry {
        struct pcoll_correction correction;
        double model; /* what it predicts at the last point, us */
    } list[TUNE_RUNNERS];
};

static struct entry *find(struct ledger *ledger, const struct tune_runner *runner)
{
    struct pcoll_correction wanted = {.algorithm = pcoll_algorithms[runner->row],
                                      .path = runner->params.path,
                                      .nranks = ledger->nranks,
                                      .nnodes = tune_stage_nnodes(ledger->stage)};

    snprintf(wanted.medium, sizeof(wanted.medium), "%s", ledger->stage->medium->name);
    for (int i = 0; i < ledger->count; i++)
        if (pcoll_correction_same(&ledger->list[i].correction, &wanted))
            return &ledger->list[i];
    if (ledger->count == TUNE_RUNNERS)
        return NULL;
    ledger->list[ledger->count].correction = wanted;
    return &ledger->list[ledger->count++];
}

/* What the model alone predicts: the table may hold factors of an earlier time. */
static double model_of(const struct ledger *ledger, const struct tune_runner *runner,
                       const struct pcoll_correction *wanted, uint64_t bytes)
{
    struct pcoll_correction about = *wanted;

    if (ledger->table == NULL)
        return runner->predicted;
    about.slots = runner->params.slots;
    about.rails = runner->params.rails > 0 ? runner->params.rails : 1;
    return runner->predicted / pcoll_table_factor(ledger->table, &about, bytes, NULL);
}

/* Appends a point. Runners of one size may differ in parameters that a correction does not name, as
 * where a rule sets them: of these the one that the model takes for the fastest counts. */
static void enter(struct ledger *ledger, const struct tune_runner *runner, uint64_t bytes)
{
    struct pcoll_correction *correction;
    struct entry *entry;
    double model;

    if (runner->measured.used == 0 || runner->predicted <= 0)
        return;
    entry = find(ledger, runner);
    if (!entry)
        return;
    correction = &entry->correction;
    model = model_of(ledger, runner, correction, bytes);
    if (correction->npoints > 0 && correction->bytes[correction->npoints - 1] == bytes) {
        if (model >= entry->model)
            return;
        correction->npoints--;
    }
    if (correction->npoints == PCOLL_CORRECTION_POINTS)
        return;
    entry->model = model;
    correction->bytes[correction->npoints] = bytes;
    correction->factor[correction->npoints++] =
        estimate_round(fmin(1e6, fmax(1e-6, runner->measured.value / model)));
}

static bool correct_coll(const struct tune_options *options, struct ledger *ledger,
                         enum pcoll_coll coll, struct pcoll_table *table)
{
    struct tune_runner runners[TUNE_RUNNERS];
    uint64_t sizes[TUNE_SIZES];
    const int n = tune_sizes(options, coll, ledger->nranks, sizes);
    bool good = true;

    ledger->count = 0;
    for (int i = 0; i < n; i++) {
        const int count = tune_race(ledger->stage, coll, sizes[i], options->algorithms, runners);

        for (int k = 0; k < count; k++)
            enter(ledger, &runners[k], sizes[i]);
        if (table)
            fputc('#', stderr);
    }
    for (int i = 0; i < ledger->count && table; i++)
        good &= pcoll_table_correct(table, &ledger->list[i].correction) == PCOLL_OK;
    return good;
}

bool tune_correct(const struct tune_options *options, struct pcoll_table *table)
{
    struct tune_stage *stage = tune_stage_open(options, table);
    struct ledger ledger = {.stage = stage, .table = table};
    bool good = true;

    if (!stage)
        return false;
    MPI_Comm_size(MPI_COMM_WORLD, &ledger.nranks);
    if (table)
        fprintf(stderr, "%-26s [", "corrections");
    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++)
        good &= correct_coll(options, &ledger, (enum pcoll_coll)coll, table);
    if (table)
        fputs("]\n", stderr);
    tune_stage_close(stage);
    return good;
}

/* ---- judging ---- */

static void write_runner(const struct tune_runner *runner, FILE *out)
{
    fprintf(out,
            "{\"name\": \"%s\", \"by_table\": %s, \"by_race\": %s, \"slots\": %d, \"segment\": "
            "%llu, \"radix\": %d, "
            "\"predicted\": %.6g, "
            "\"measured\": %.6g, \"low\": %.6g, \"high\": %.6g}",
            tune_runner_label(runner), runner->by_table ? "true" : "false",
            runner->by_race ? "true" : "false", runner->params.slots,
            (unsigned long long)runner->params.segment, runner->params.radix, runner->predicted,
            runner->measured.value, runner->measured.low, runner->measured.high);
}

/* us; NaN: ranks share cores, or no barrier ran. */
static double time_barrier(const struct tune_stage *stage)
{
    struct tune_runner runners[TUNE_RUNNERS];

    if (stage->bootstrap.crowded ||
        tune_race(stage, PCOLL_BARRIER, 0, "dissemination", runners) == 0 ||
        runners[0].measured.used == 0)
        return NAN;
    return runners[0].measured.value;
}

/* Writes one line of JSON for each point; the chosen candidate comes first. Where each rank has a
 * core, `barrier` tells how far apart these cores were just before: in a virtual machine that may
 * change. */
static void judge_point(const struct tune_options *options, const struct tune_stage *stage,
                        enum pcoll_coll coll, uint64_t bytes, FILE *out)
{
    struct tune_runner runners[TUNE_RUNNERS];
    const double barrier = time_barrier(stage);
    const int count = tune_race(stage, coll, bytes, options->algorithms, runners);
    int nranks, written = 0;

    tune_mark_winner(stage, coll, bytes, runners, count);
    if (!out)
        return;
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    fprintf(out, "{\"coll\": \"%s\", \"ranks\": %d, \"nodes\": %d, \"bytes\": %llu, ",
            pcoll_coll_name(coll), nranks, tune_stage_nnodes(stage), (unsigned long long)bytes);
    if (!isnan(barrier))
        fprintf(out, "\"barrier\": %.4g, ", barrier);
    fputs("\"runners\": [", out);
    for (int i = 0; i < count; i++) {
        if (runners[i].measured.used == 0)
            continue;
        fputs(written++ ? ", " : "", out);
        write_runner(&runners[i], out);
    }
    fputs("]}\n", out);
    fputc('#', stderr);
}

bool tune_judge(const struct tune_options *options, const struct pcoll_table *table)
{
    struct tune_stage *stage = tune_stage_open(options, table);
    FILE *out = table ? fopen(options->judge, "w") : NULL;
    int good = stage != NULL && (!table || out), nranks;

    if (table && !out)
        fprintf(stderr, "pcoll-tune: %s: %s\n", options->judge, strerror(errno));
    tune_bcast(&good, sizeof(good), 0, MPI_COMM_WORLD);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    for (int coll = 0; coll < PCOLL_NUM_COLLS && good; coll++) {
        uint64_t sizes[TUNE_SIZES];
        const int n = tune_sizes(options, (enum pcoll_coll)coll, nranks, sizes);

        for (int i = 0; i < n; i++)
            judge_point(options, stage, (enum pcoll_coll)coll, sizes[i], out);
    }
    if (out) {
        fputc('\n', stderr);
        good &= fclose(out) == 0;
    }
    if (stage)
        tune_stage_close(stage);
    return good;
}
