/*
 * pcoll-bench: time persistent collectives beside everything else that could do the same work.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VERIFY_ROUNDS = 5,
    SPOT_ROUNDS = 2,
    MAX_INITS = 20,
    MAX_VARIANTS = NUM_WAYS + MAX_ALGORITHMS
};

/* Below this size a copy through shared memory is faster than a system call. */
static const size_t smallest_readv = 4096;

/* ---- the variants ---------------------------------------------------------------------------- */

static int add_offload(const struct options *opts, struct variant *variants)
{
    if (opts->num_algorithms < 2) {
        variants[0] = (struct variant){.name = "offload", .way = OFFLOAD};
        return 1;
    }
    for (int i = 0; i < opts->num_algorithms; i++) {
        variants[i] = (struct variant){
            .way = OFFLOAD, .algorithm = opts->algorithms[i], .info_key = opts->info_key};
        snprintf(variants[i].name, NAME_LENGTH, "offload:%s", opts->algorithms[i]);
    }
    return opts->num_algorithms;
}

static int list_variants(const struct options *opts, struct variant *variants)
{
    int n = 0;
    if (opts->way[STOCK])
        variants[n++] = (struct variant){.name = "stock", .way = STOCK};
    if (opts->way[OFFLOAD] && cvars_have_offload())
        n += add_offload(opts, variants + n);
    for (enum way way = BLOCKING; way < (opts->once ? HALO : NUM_WAYS); way++) {
        if (!opts->way[way])
            continue;
        variants[n] = (struct variant){.way = way};
        snprintf(variants[n++].name, NAME_LENGTH, "%s", way_name(way));
    }
    return n;
}

/* MPICH 4.0 does not allow MPI_T to write string variables, so they are set before MPI_Init. */
static void set_algorithm(const struct options *opts)
{
#define NAME_OF(NAME, name, Name) [NAME] = "MPIR_CVAR_" #NAME "_INIT_ALGORITHM",
    static const char *const names[] = {BENCH_COLLECTIVES(NAME_OF)};
#undef NAME_OF
    if (opts->num_algorithms != 1)
        return;
    for (enum collective coll = BARRIER; coll < NUM_COLLECTIVES; coll++)
        if (opts->coll[coll])
            setenv(names[coll], opts->algorithms[0], 1);
}

/* ---- one row --------------------------------------------------------------------------------- */

static bool verify_with_root(struct subject *subject, int root)
{
    struct subject other = *subject;
    other.op.root = root;
    subject_open(&other);
    bool right = subject_verify(&other, VERIFY_ROUNDS);
    subject_close(&other);
    return right;
}

/* A separate pass that uses the requested root, the first rank and the last rank as root. */
static void verify_fully(struct subject *subject)
{
    int last = subject->op.job->nranks - 1, root = subject->op.root;
    bool right = verify_with_root(subject, root);
    if (is_rooted(subject->op.coll) && root != 0)
        right &= verify_with_root(subject, 0);
    if (is_rooted(subject->op.coll) && root != last)
        right &= verify_with_root(subject, last);
    subject->wrong = !right;
}

static struct subject *add(struct row *row, struct subject *subjects, const char *name)
{
    struct subject *subject = &subjects[row->num_subjects++];
    *subject = (struct subject){.op = row->op, .request = MPI_REQUEST_NULL, .packets = -1};
    snprintf(subject->name, sizeof subject->name, "%.47s", name);
    return subject;
}

/* Returns the number of variants that suit the operation. */
static int add_variants(struct row *row, struct subject *subjects, const struct variant *variants,
                        int n, const struct options *opts)
{
    for (int i = 0; i < n; i++) {
        if (!variant_suits(&variants[i], &row->op))
            continue;
        struct subject *subject = add(row, subjects, variants[i].name);
        subject->batch = subject_run;
        subject->variant = &variants[i];
        subject->apart = opts->apart;
        subject->use_data = opts->use_data;
        subject->once = opts->once;
    }
    return row->num_subjects;
}

/* Nothing may have performed the operation before. Stock comes last, because it touches memory of
 * MPICH that the other calls need, too. */
static void time_first_uses(struct subject *subjects, int n)
{
    for (int i = n - 1; i >= 0; i--)
        subjects[i].first_use = subject_first_use(&subjects[i]);
}

static void open_variants(struct subject *subjects, int n)
{
    for (int i = 0; i < n; i++) {
        verify_fully(&subjects[i]);
        subject_open(&subjects[i]);
    }
}

static void add_limits(struct row *row, struct subject *subjects)
{
    const struct job *job = row->op.job;
    if (!job->one_node || job->nranks < 2)
        return;
    add(row, subjects, "flag")->batch = limit_flag;
    if (!limit_readv_exists(&row->op) || row->op.size < smallest_readv)
        return;
    struct subject *readv = add(row, subjects, "readv");
    readv->batch = limit_readv;
    if (!limit_readv_open(readv)) {
        limit_readv_close(readv);
        row->num_subjects--;
    }
}

static struct subject *add_cost(struct row *row, struct subject *subjects,
                                const struct subject *timed, const char *what,
                                double (*batch)(struct subject *, int))
{
    char name[2 * NAME_LENGTH];
    snprintf(name, sizeof name, "%s.%s", timed->variant->name, what);
    struct subject *subject = add(row, subjects, name);
    subject->batch = batch;
    subject->variant = timed->variant;
    subject->timed = timed;
    subject->max_iterations = batch == subject_init ? MAX_INITS : 0;
    return subject;
}

static void add_series(struct row *row, struct subject *subjects, const struct subject *timed)
{
    char what[NAME_LENGTH];
    for (int grain = 0; grain < NUM_GRAINS; grain++) {
        snprintf(what, sizeof what, "%s.time", grain_name(grain));
        add_cost(row, subjects, timed, what, subject_series_time)->grain = grain;
        snprintf(what, sizeof what, "%s.cpu", grain_name(grain));
        add_cost(row, subjects, timed, what, subject_series_cpu)->grain = grain;
    }
}

static void add_costs(struct row *row, struct subject *subjects, int num_variants,
                      const struct options *opts)
{
    for (int i = 0; i < num_variants; i++) {
        if (opts->series && subjects[i].variant->way != BLOCKING)
            add_series(row, subjects, &subjects[i]);
        if (opts->overlap > 0 && subjects[i].variant->way != BLOCKING) {
            add_cost(row, subjects, &subjects[i], "overlap", subject_overlap);
            add_cost(row, subjects, &subjects[i], "cpu", subject_cpu);
            if (opts->away >= 0)
                add_cost(row, subjects, &subjects[i], "others", subject_others);
        }
        if (!way_is_persistent(subjects[i].variant->way) || opts->once)
            continue;
        add_cost(row, subjects, &subjects[i], "start", subject_start);
        add_cost(row, subjects, &subjects[i], "init", subject_init);
    }
}

/* Each has one sample. */
static void add_first_uses(struct row *row, struct subject *subjects, int num_variants)
{
    for (int i = 0; i < num_variants; i++) {
        const double once = subjects[i].first_use;
        struct subject *first = add_cost(row, subjects, &subjects[i], "first", NULL);
        first->summary = (struct summary){once, once, once, 1, 1};
    }
}

/* The costs of init and start are timed in a shorter round of their own. */
static void time_costs(struct job *job, struct subject *subjects, int n, const struct options *opts)
{
    struct options brief = *opts;
    brief.batches = opts->batches / 3 + 1;
    brief.row_seconds = opts->row_seconds / 3;
    measure(job, subjects, n, &brief);
}

static enum verdict worse(enum verdict a, enum verdict b)
{
    return a > b ? a : b;
}

static void close_row(struct row *row, struct subject *subjects, int num_variants)
{
    row->verdict = ALL_RIGHT;
    for (int i = 0; i < num_variants; i++) {
        subjects[i].wrong |= !subject_verify(&subjects[i], SPOT_ROUNDS);
        if (subjects[i].wrong)
            row->verdict = worse(row->verdict, subjects[i].variant->way == OFFLOAD ? BACKEND_WRONG
                                                                                   : OTHERS_WRONG);
        subject_close(&subjects[i]);
    }
    for (int i = num_variants; i < row->num_subjects; i++)
        if (subjects[i].remote)
            limit_readv_close(&subjects[i]);
}

static enum verdict run_row(struct operation op, const struct options *opts,
                            const struct variant *variants, int num_variants)
{
    struct subject subjects[MAX_SUBJECTS];
    struct row row = {.op = op, .subjects = subjects};
    num_variants = add_variants(&row, subjects, variants, num_variants, opts);
    time_first_uses(subjects, num_variants);
    open_variants(subjects, num_variants);
    add_limits(&row, subjects);
    int timed = row.num_subjects;
    measure(op.job, subjects, timed, opts);
    if (!op.job->one_node)
        for (int i = 0; i < num_variants; i++)
            subject_count_packets(&subjects[i]);
    add_costs(&row, subjects, num_variants, opts);
    if (row.num_subjects > timed)
        time_costs(op.job, subjects + timed, row.num_subjects - timed, opts);
    add_first_uses(&row, subjects, num_variants);
    close_row(&row, subjects, num_variants);
    if (op.job->rank == 0)
        report_row(&row);
    return row.verdict;
}

/* ---- all rows -------------------------------------------------------------------------------- */

static void show_progress(const struct operation *op, int done, int all, double begin)
{
    char size[16], left[40] = "", name[NAME_LENGTH];
    double passed = job_now() - begin;
    size_text(size, sizeof size, op->size);
    operation_text(name, sizeof name, op);
    if (done > 0)
        snprintf(left, sizeof left, ", about %.0f s left", passed / done * (all - done));
    fprintf(stderr, "[%3d %%] %s %s%s\n", 100 * done / all, name, size, left);
}

/* What a library does once, for the process, for a communicator, or for the first long message, is
 * no part of a first use: a barrier and an allreduce do it before. */
static void start_up(struct operation op, struct variant *variants, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        struct subject first = {.op = {.job = op.job, .coll = BARRIER, .hood = op.hood},
                                .variant = &variants[i],
                                .request = MPI_REQUEST_NULL};
        if (variants[i].way >= HALO)
            continue;
        double seconds = subject_first_use(&first);
        first.op.coll = ALLREDUCE;
        first.op.size = START_UP_BYTES;
        seconds += subject_first_use(&first);
        variants[i].start_up = variants[i].start_up > 0 ? variants[i].start_up : seconds;
    }
}

/* The barriers between operations are those of a program that has run for a while: a library may
 * serve them otherwise then. */
static void meet_often(struct job *job)
{
    const double seconds = 0.3, begin = job_now();
    const int barriers = 50;
    do
        for (int i = 0; i < barriers; i++)
            MPI_Barrier(MPI_COMM_WORLD);
    while (job_max(job, job_now() - begin) < seconds);
}

static enum verdict run_rows(struct job *job, const struct options *opts, struct variant *variants,
                             int num_variants)
{
    struct operation ops[MAX_OPERATIONS];
    int n = list_operations(job, opts, ops);
    enum verdict verdict = ALL_RIGHT;
    double begin = job_now();
    for (int i = 0; i < n; i++) {
        if (opts->progress && job->rank == 0)
            show_progress(&ops[i], i, n, begin);
        if (i == 0 || ops[i].hood != ops[i - 1].hood)
            start_up(ops[i], variants, num_variants);
        if (i == 0 && opts->apart)
            meet_often(job);
        verdict = worse(verdict, run_row(ops[i], opts, variants, num_variants));
    }
    return verdict;
}

/* All ranks follow rank 0. */
static bool agree(bool good)
{
    int all = good;
    MPI_Bcast(&all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return all;
}

static int run_table(struct job *job, const struct options *opts, struct variant *variants,
                     int num_variants)
{
    if (!agree(job->rank != 0 || report_begin(job, opts, variants, num_variants)))
        return 2;
    enum verdict verdict = run_rows(job, opts, variants, num_variants);
    bool written = agree(job->rank != 0 || report_end(verdict));
    return verdict == BACKEND_WRONG ? 1 : written ? 0 : 2;
}

/* NULL: it can run. */
static const char *why_not(struct job *job, const struct options *opts, int num_variants)
{
    struct operation ops[MAX_OPERATIONS];
    if (num_variants == 0)
        return "nothing to run: this library has no offload backend";
    if (list_operations(job, opts, ops) == 0)
        return "nothing to run: no collective has these sizes (those of reductions are multiples "
               "of 8)";
    if (opts->series && !job->computes)
        return "--series needs a core for each rank that computes (--away=RANK: only that one)";
    return NULL;
}

static int run(struct job *job, struct options *opts)
{
    struct variant variants[MAX_VARIANTS];
    int n = list_variants(opts, variants);
    const char *why = why_not(job, opts, n);
    if (why) {
        if (job->rank == 0)
            fprintf(stderr, "pcoll-bench: %s\n", why);
        return 2;
    }
    opts->batch_seconds = (job->crowded ? 10e-3 : 1.5e-3) / (opts->quick ? 2 : 1);
    if (opts->loop) {
        instructions_loop(job, opts, variants, n);
        return 0;
    }
    if (opts->instructions)
        return instructions_table(job, opts, variants, n) ? 0 : 2;
    return run_table(job, opts, variants, n);
}

static bool rank_exists(const struct job *job, const char *option, int given)
{
    int rank = job_last_or(job, given);
    bool exists = rank >= 0 && rank < job->nranks;
    if (!exists && job->rank == 0)
        fprintf(stderr, "pcoll-bench: %s=%d is not among the %d ranks\n", option, given,
                job->nranks);
    return exists;
}

static bool ranks_exist(const struct job *job, const struct options *opts)
{
    return rank_exists(job, "--root", opts->root) &&
           (opts->away < 0 || rank_exists(job, "--away", opts->away));
}

static int run_job(struct options *opts)
{
    struct job job;
    job_init(&job, opts);
    cvars_init();
    int status = ranks_exist(&job, opts) ? run(&job, opts) : 2;
    cvars_fini();
    job_fini(&job);
    return status;
}

static int run_or_tell(struct options *opts, enum options_result result)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (result == OPTIONS_RUN)
        return run_job(opts);
    if (rank == 0 && result == OPTIONS_HELP)
        options_help();
    if (rank == 0 && result == OPTIONS_BAD)
        fprintf(stderr, "pcoll-bench: %s; see --help\n", opts->complaint);
    return result == OPTIONS_BAD ? 2 : 0;
}

int main(int argc, char **argv)
{
    struct options opts;
    enum options_result result = options_parse(&opts, argc, argv);
    if (result == OPTIONS_RUN)
        set_algorithm(&opts);
    if (!opts.once)
        setenv("MPIR_CVAR_COLL_OFFLOAD_USED_ONCE", "0", 0); /* inits are those of plans */
    setenv("MPIR_CVAR_COLL_OFFLOAD_PROMOTE", "off", 0);     /* ordinary calls are those of MPICH */
    MPI_Init(NULL, NULL);
    int status = run_or_tell(&opts, result);
    MPI_Finalize();
    return status;
}
