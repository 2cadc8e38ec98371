/*
 * Tables for people, JSON for programs.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COSTS_LENGTH = 2048 };

/* A row in which another call of the library is faster. */
struct loss {
    char operation[NAME_LENGTH], size[16], call[NAME_LENGTH];
    double times; /* as long as that call takes */
};

static struct {
    const struct job *job;
    const struct options *opts;
    const struct variant *variants;
    int num_variants, num_rows;
    FILE *output; /* receives the JSON at the end; NULL: no --output */
    FILE *json;   /* rows so far */
    char *json_text;
    size_t json_length;
    char cost_titles[COSTS_LENGTH];
    char costs[MAX_OPERATIONS][COSTS_LENGTH]; /* second table, printed last */
    struct loss losses[MAX_OPERATIONS];
    int num_losses, num_compared;
} report;

void size_text(char *text, size_t length, size_t size)
{
    if (size >= 1048576 && size % 1048576 == 0)
        snprintf(text, length, "%zuM", size >> 20);
    else if (size >= 1024 && size % 1024 == 0)
        snprintf(text, length, "%zuK", size >> 10);
    else
        snprintf(text, length, "%zu", size);
}

void operation_text(char *text, size_t length, const struct operation *op)
{
    if (op->hood && op->hood->n != NUM_FACES)
        snprintf(text, length, "%s/%d", collective_name(op->coll), op->hood->n);
    else
        snprintf(text, length, "%s", collective_name(op->coll));
}

static void copy_line(char *to, size_t length, const char *from, const char *ends)
{
    size_t n = strcspn(from, ends);
    n = n < length - 1 ? n : length - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] < ' ' || from[i] == '"' || from[i] == '\\' ? ' ' : from[i];
    to[n] = '\0';
}

/* Extracts "MPICH 4.0.2 ch4:ofi" or "Open MPI v4.1.4" from the long text that libraries return. */
void library_text(char *text, size_t length)
{
    char all[MPI_MAX_LIBRARY_VERSION_STRING], version[64], device[64];
    int n;
    MPI_Get_library_version(all, &n);
    const char *mpich = strstr(all, "MPICH Version:"), *at = strstr(all, "MPICH Device:");
    if (!mpich || !at) {
        copy_line(text, length, all, ",\n");
        return;
    }
    mpich += strlen("MPICH Version:");
    at += strlen("MPICH Device:");
    copy_line(version, sizeof version, mpich + strspn(mpich, " \t"), "\n");
    copy_line(device, sizeof device, at + strspn(at, " \t"), "\n");
    snprintf(text, length, "MPICH %s %s", version, device);
}

/* The subject of that name, or NULL. */
static const struct subject *row_find(const struct row *row, const char *name)
{
    for (int i = 0; i < row->num_subjects; i++)
        if (strcmp(row->subjects[i].name, name) == 0)
            return &row->subjects[i];
    return NULL;
}

/* In microseconds, with three significant digits, for times from 10 ns to seconds. */
static void time_text(char *text, size_t length, double seconds)
{
    double us = seconds * 1e6;
    int digits = us < 10 ? 2 : us < 100 ? 1 : 0;
    snprintf(text, length, "%.*f", digits, us);
}

/* Its time in microseconds, or a dash. */
static void median_text(char *text, size_t length, const struct subject *subject)
{
    if (subject)
        time_text(text, length, subject->summary.median);
    else
        snprintf(text, length, "-");
}

static const struct subject *first_offload(const struct row *row)
{
    for (int i = 0; i < row->num_subjects; i++) {
        const struct subject *subject = &row->subjects[i];
        if (subject->variant && subject->variant->way == OFFLOAD && subject->batch == subject_run)
            return subject;
    }
    return NULL;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int column_width(const struct variant *variant)
{
    int length = (int)strlen(variant->name);
    return length > 11 ? length : 11;
}

static void print_titles(void)
{
    printf("%-22s %6s", "collective", "size");
    for (int i = 0; i < report.num_variants; i++)
        printf(" %*s", column_width(&report.variants[i]), report.variants[i].name);
    printf(" %8s %9s %9s  %-15s %s\n", "ratio", "flag", "readv", "10%..90%", "verified");
}

static void print_header(void)
{
    const struct job *job = report.job;
    char library[128];
    library_text(library, sizeof library);
    printf("pcoll-bench: %s, %d rank%s on %d cores%s\n", library, job->nranks,
           job->nranks == 1 ? "" : "s", job->cores,
           job->pinned    ? ", one each"
           : job->crowded ? ", more ranks than cores"
                          : "");
    printf("Microseconds per operation%s%s; median of batches, all variants in turn\n\n",
           report.opts->once ? ", from init to free, with other buffers each time" : "",
           report.opts->use_data ? ", each after an untimed barrier, with data in use"
           : report.opts->apart  ? ", each after an untimed barrier"
                                 : "");
    print_titles();
}

static void ratio_text(char *text, size_t length, const struct row *row)
{
    const struct subject *stock = row_find(row, "stock"), *ours = first_offload(row);
    if (stock && ours && ours->summary.median > 0)
        snprintf(text, length, "%.2fx", stock->summary.median / ours->summary.median);
    else
        snprintf(text, length, "-");
}

static void spread_text(char *text, size_t length, const struct row *row)
{
    const struct subject *subject = first_offload(row);
    char low[24], high[24];
    subject = subject ? subject : &row->subjects[0];
    time_text(low, sizeof low, subject->summary.low);
    time_text(high, sizeof high, subject->summary.high);
    snprintf(text, length, "%s..%s", low, high);
}

static void print_verdict(const struct row *row)
{
    if (row->verdict == ALL_RIGHT) {
        printf("yes\n");
        return;
    }
    printf("NO:");
    for (int i = 0; i < row->num_subjects; i++)
        if (row->subjects[i].wrong)
            printf(" %s", row->subjects[i].name);
    printf("\n");
}

static void print_row(const struct row *row, const char *size)
{
    char text[64];
    operation_text(text, sizeof text, &row->op);
    printf("%-22s %6s", text, size);
    for (int i = 0; i < report.num_variants; i++) {
        median_text(text, sizeof text, row_find(row, report.variants[i].name));
        printf(" %*s", column_width(&report.variants[i]), text);
    }
    ratio_text(text, sizeof text, row);
    printf(" %8s", text);
    median_text(text, sizeof text, row_find(row, "flag"));
    printf(" %9s", text);
    median_text(text, sizeof text, row_find(row, "readv"));
    printf(" %9s", text);
    spread_text(text, sizeof text, row);
    printf("  %-15s ", text);
    print_verdict(row);
    fflush(stdout);
}

/* ---- wins and losses ------------------------------------------------------------------------- */

/* The fastest call of the library that delivers right data and is not ours. */
static const struct subject *best_other(const struct row *row)
{
    const struct subject *best = NULL;
    for (int i = 0; i < row->num_subjects; i++) {
        const struct subject *subject = &row->subjects[i];
        if (!subject->variant || subject->variant->way == OFFLOAD || subject->wrong ||
            subject->batch != subject_run)
            continue;
        if (!best || subject->summary.median < best->summary.median)
            best = subject;
    }
    return best;
}

static void keep_loss(const struct row *row, const char *size)
{
    const struct subject *ours = first_offload(row), *best = best_other(row);
    if (!ours || !best)
        return;
    report.num_compared++;
    if (ours->summary.median <= best->summary.median)
        return;
    struct loss *loss = &report.losses[report.num_losses++];
    operation_text(loss->operation, sizeof loss->operation, &row->op);
    snprintf(loss->size, sizeof loss->size, "%s", size);
    snprintf(loss->call, sizeof loss->call, "%s", best->name);
    loss->times = ours->summary.median / best->summary.median;
}

static int compare_losses(const void *a, const void *b)
{
    const struct loss *x = a, *y = b;
    return (x->times < y->times) - (x->times > y->times);
}

static void print_losses(void)
{
    if (report.num_compared == 0)
        return;
    printf("\nThe plan is the fastest call of this library in %d of %d rows.%s\n",
           report.num_compared - report.num_losses, report.num_compared,
           report.num_losses ? " In the others it takes:" : "");
    qsort(report.losses, (size_t)report.num_losses, sizeof *report.losses, compare_losses);
    for (int i = 0; i < report.num_losses; i++) {
        const struct loss *loss = &report.losses[i];
        printf("  %-22s %6s %6.2f times as long as %s\n", loss->operation, loss->size, loss->times,
               loss->call);
    }
}

/* ---- the second table ------------------------------------------------------------------------ */

static void append_cost(char *line, const struct subject *subject, const char *what,
                        const char *text)
{
    size_t used = strlen(line);
    int width = (int)(strlen(subject->name) + strlen(what)) + 1;
    snprintf(line + used, COSTS_LENGTH - used, " %*s", width, text);
}

static void append_title(char *line, const struct subject *subject, const char *what)
{
    char title[2 * NAME_LENGTH];
    snprintf(title, sizeof title, "%s.%s", subject->name, what);
    append_cost(line, subject, what, title);
}

/* Append the costs of one variant. */
static void append_costs(char *titles, char *line, const struct row *row,
                         const struct subject *timed)
{
    static const char *const whats[] = {"start", "init", "first", "overlap", "cpu", "others"};
    char text[24];
    for (int i = 0; i < (int)(sizeof whats / sizeof *whats); i++) {
        char name[2 * NAME_LENGTH];
        snprintf(name, sizeof name, "%s.%s", timed->name, whats[i]);
        const struct subject *cost = row_find(row, name);
        if (!cost)
            continue;
        if (cost->batch == subject_overlap)
            snprintf(text, sizeof text, "%.0f%%", 100 * overlap_share(cost));
        else
            time_text(text, sizeof text, cost->summary.median);
        append_title(titles, timed, whats[i]);
        append_cost(line, timed, whats[i], text);
    }
    if (timed->packets >= 0) {
        snprintf(text, sizeof text, "%.1f", timed->packets);
        append_title(titles, timed, "packets");
        append_cost(line, timed, "packets", text);
    }
}

static void keep_costs(const struct row *row, const char *size)
{
    char *line = report.costs[report.num_rows], name[NAME_LENGTH];
    operation_text(name, sizeof name, &row->op);
    report.cost_titles[0] = '\0';
    snprintf(line, COSTS_LENGTH, "%-22s %6s", name, size);
    for (int i = 0; i < row->num_subjects; i++)
        if (row->subjects[i].batch == subject_run)
            append_costs(report.cost_titles, line, row, &row->subjects[i]);
}

static void print_start_up(void)
{
    const char *before =
        "\nMicroseconds of the first barrier and allreduce, with what the library does once: ";
    char text[24];
    for (int i = 0; i < report.num_variants; i++) {
        const struct variant *variant = &report.variants[i];
        if (variant->start_up <= 0)
            continue;
        time_text(text, sizeof text, variant->start_up);
        printf("%s%s %s", before, variant->name, text);
        before = ", ";
    }
    printf("\n");
}

static void print_costs(void)
{
    if (report.cost_titles[0] == '\0')
        return;
    printf(
        "\nMicroseconds of MPI_Start alone, and of init and free together; of the first use, from\n"
        "init to free or of the call (one sample); share of an operation that computation hides,\n"
        "and CPU time beyond that computation, of the rank with the most; time of the ranks that\n"
        "do not compute (others); packets that all nodes sent for one operation\n\n"
        "%-22s %6s%s\n",
        "collective", "size", report.cost_titles);
    for (int i = 0; i < report.num_rows; i++)
        printf("%s\n", report.costs[i]);
    print_start_up();
}

static void print_notes(enum verdict verdict)
{
    printf(
        "\nratio = stock / offload; 10%%..90%% is the spread of offload (of the first column if\n"
        "there is none); limits: flag = bare exchange of two flags between two ranks,\n"
        "readv = bare process_vm_readv of the same data.\n");
    if (!cvars_have_offload())
        printf("This library has no offload backend: stock is its own persistent collective.\n");
    if (cvars_steer(ALLGATHER))
        printf("Stock allgather is steered to sched_brucks (below 80 KiB in total) or sched_ring,\n"
               "gather and scatter to tsp_tree: MPICH 4.0.2's own choice delivers wrong data, or\n"
               "fails, from the second start on.\n");
    if (verdict == OTHERS_WRONG)
        printf(
            "Some of the library's own calls deliver wrong data: see the column \"verified\".\n");
    if (verdict == BACKEND_WRONG)
        printf("WRONG DATA from the backend: see the column \"verified\".\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_subject(FILE *to, const struct subject *subject, bool first)
{
    const struct summary *summary = &subject->summary;
    fprintf(to,
            "%s\n      \"%s\": {\"us\": %.4f, \"p10\": %.4f, \"p90\": %.4f, \"batches\": %d, "
            "\"iterations\": %d, \"right\": %s",
            first ? "" : ",", subject->name, summary->median * 1e6, summary->low * 1e6,
            summary->high * 1e6, summary->batches, summary->iterations,
            subject->wrong ? "false" : "true");
    if (subject->packets >= 0)
        fprintf(to, ", \"packets\": %.1f", subject->packets);
    fprintf(to, "}");
}

static void json_row(FILE *to, const struct row *row)
{
    fprintf(to, "%s\n    {\"collective\": \"%s\", \"size\": %zu, \"root\": %d, \"neighbors\": %d,",
            report.num_rows ? "," : "", collective_name(row->op.coll), row->op.size, row->op.root,
            row->op.hood ? row->op.hood->n : 0);
    fprintf(to, " \"verified\": %s,", row->verdict == ALL_RIGHT ? "true" : "false");
    fprintf(to, " \"results\": {");
    for (int i = 0; i < row->num_subjects; i++)
        json_subject(to, &row->subjects[i], i == 0);
    fprintf(to, "}}");
}

static void json_start_up(FILE *to)
{
    const char *before = "";
    for (int i = 0; i < report.num_variants; i++) {
        const struct variant *variant = &report.variants[i];
        if (variant->start_up <= 0)
            continue;
        fprintf(to, "%s\"%s\": %.4f", before, variant->name, variant->start_up * 1e6);
        before = ", ";
    }
}

static void json_print(FILE *to, enum verdict verdict)
{
    const struct job *job = report.job;
    char library[128];
    library_text(library, sizeof library);
    fflush(report.json);
    fprintf(to,
            "{\"library\": \"%s\", \"ranks\": %d, \"cores\": %d, \"pinned\": %s, \"apart\": %s, "
            "\"once\": %s,\n"
            "  \"offload\": %s, \"stock_allgather_forced\": %s, \"verified\": %s,\n"
            "  \"start_up_us\": {",
            library, job->nranks, job->cores, job->pinned ? "true" : "false",
            report.opts->apart ? "true" : "false", report.opts->once ? "true" : "false",
            cvars_have_offload() ? "true" : "false", cvars_steer(ALLGATHER) ? "true" : "false",
            verdict == ALL_RIGHT ? "true" : "false");
    json_start_up(to);
    fprintf(to, "},\n  \"rows\": [%s]}\n", report.json_text);
}

/* Opened before anything is measured, which may take long. */
static bool open_output(const char *path)
{
    report.output = path ? fopen(path, "w") : NULL;
    if (path && !report.output)
        fprintf(stderr, "pcoll-bench: %s: %s\n", path, strerror(errno));
    return !path || report.output;
}

static bool close_output(const char *path, enum verdict verdict)
{
    if (!report.output)
        return true;
    json_print(report.output, verdict);
    bool written = !ferror(report.output);
    written = fclose(report.output) == 0 && written;
    if (!written)
        fprintf(stderr, "pcoll-bench: %s: %s\n", path, strerror(errno));
    return written;
}

/* ---- the table of operations beside computation ---------------------------------------------- */

static struct {
    FILE *lines;
    char *text;
    size_t length;
} table;

static void begin_table(void)
{
    table.lines = open_memstream(&table.text, &table.length);
    if (!table.lines)
        MPI_Abort(MPI_COMM_WORLD, 2);
    fprintf(
        table.lines,
        "\nMicroseconds per operation beside computation in pieces with an MPI_Test after each\n"
        "(none: no computation; all: one piece, then MPI_Wait), and CPU time beyond the\n"
        "computation, of the rank with the most\n\n%-20s %6s %-12s %8s",
        "collective", "size", "variant", "start");
    for (int grain = 0; grain < NUM_GRAINS; grain++)
        fprintf(table.lines, " %8s %8s", grain_name(grain), "cpu");
    fputc('\n', table.lines);
}

static void add_cell(const struct row *row, const struct subject *timed, const char *what,
                     const char *kind)
{
    char name[2 * NAME_LENGTH], text[24];
    snprintf(name, sizeof name, "%s.%s%s", timed->name, what, kind);
    median_text(text, sizeof text, row_find(row, name));
    fprintf(table.lines, " %8s", text);
}

/* Keep what the subjects of the row with grains have measured. */
static void series_keep(const struct row *row, const char *size)
{
    if (!table.lines)
        begin_table();
    for (int i = 0; i < row->num_subjects; i++) {
        const struct subject *timed = &row->subjects[i];
        if (timed->batch != subject_run || timed->variant->way == BLOCKING)
            continue;
        fprintf(table.lines, "%-20s %6s %-12s", collective_name(row->op.coll), size, timed->name);
        add_cell(row, timed, "start", "");
        for (int grain = 0; grain < NUM_GRAINS; grain++) {
            add_cell(row, timed, grain_name(grain), ".time");
            add_cell(row, timed, grain_name(grain), ".cpu");
        }
        fputc('\n', table.lines);
    }
}

static void series_print(void)
{
    if (!table.lines)
        return;
    fclose(table.lines);
    fputs(table.text, stdout);
    free(table.text);
}

/* ---- both ------------------------------------------------------------------------------------ */

bool report_begin(const struct job *job, const struct options *opts, const struct variant *variants,
                  int num_variants)
{
    if (!open_output(opts->output))
        return false;
    report.job = job;
    report.opts = opts;
    report.variants = variants;
    report.num_variants = num_variants;
    report.json = open_memstream(&report.json_text, &report.json_length);
    if (!report.json)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (!opts->json)
        print_header();
    return true;
}

void report_row(const struct row *row)
{
    char size[16] = "-";
    if (row->op.coll != BARRIER)
        size_text(size, sizeof size, row->op.size);
    json_row(report.json, row);
    if (!report.opts->json)
        print_row(row, size);
    keep_costs(row, size);
    keep_loss(row, size);
    if (report.opts->series)
        series_keep(row, size);
    report.num_rows++;
}

bool report_end(enum verdict verdict)
{
    if (report.opts->json) {
        json_print(stdout, verdict);
    } else {
        print_costs();
        series_print();
        print_losses();
        print_notes(verdict);
    }
    bool written = close_output(report.opts->output, verdict);
    fclose(report.json);
    free(report.json_text);
    return written;
}
