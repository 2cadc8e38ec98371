/* The parts of pcoll-tune: its statistics, the plans that it measures with, its pictures. */
#include "tools/draw.h"
#include "tools/probes.h"
#include "tools/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "algorithms/proof/check.h"
#include "offload/shm/shm.h"
#include "test/unit/job.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

/* ---- statistics ---- */

static int is(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

static void test_estimate(void)
{
    double one[] = {7}, few[] = {3, 1, 2}, same[] = {4, 4, 4, 4, 4, 4, 4, 900};
    double many[101];
    struct estimate estimate = estimate_of(one, 1);

    tap_ok(is(estimate.value, 7) && is(estimate.low, 7) && is(estimate.high, 7) &&
               estimate.used == 1 && estimate.rejected == 0,
           "one sample");
    estimate = estimate_of(few, 3);
    tap_ok(is(estimate.value, 2) && is(estimate.low, 1) && is(estimate.high, 3),
           "of few samples the interval is all");
    estimate = estimate_of(same, 8);
    tap_ok(is(estimate.value, 4) && is(estimate.high, 4) && estimate.rejected == 1,
           "what is far from all others is rejected");
    for (int i = 0; i < 101; i++)
        many[i] = (i * 37) % 101;
    estimate = estimate_of(many, 101);
    /* 50.5 +- 0.98 sqrt(101): the 41st and the 61st of 101 samples */
    tap_ok(is(estimate.value, 50) && is(estimate.low, 40) && is(estimate.high, 60) &&
               estimate.rejected == 0,
           "95 %% interval of the median: %g .. %g", estimate.low, estimate.high);
}

/* A tenth of the samples is disturbed by any amount. */
static void test_noise(void)
{
    double samples[500];
    struct estimate estimate;
    unsigned state = 1;

    for (int i = 0; i < 500; i++) {
        state = state * 1103515245 + 12345;
        samples[i] = 100 + (state >> 16) % 11 - 5.0;
        if (i % 10 == 3)
            samples[i] += 1000.0 * i;
    }
    estimate = estimate_of(samples, 500);
    tap_ok(fabs(estimate.value - 100) <= 1 && estimate.low <= 100 && estimate.high >= 100 &&
               estimate.rejected == 50,
           "noise is no matter: %g (%g .. %g), %d rejected", estimate.value, estimate.low,
           estimate.high, estimate.rejected);
    tap_ok(estimate_round(1.23456) == 1.235 && estimate_round(0) == 0, "four digits");
    tap_ok(estimate_is_tight(&estimate, 0.05, 0) && !estimate_is_tight(&estimate, 1e-4, 0) &&
               estimate_is_tight(&estimate, 0, 5),
           "tight or not");
}

static void test_join(void)
{
    const struct estimate sittings[] = {
        {5, 4, 6, 10, 1}, {9, 8.5, 9.5, 10, 0}, {6, 5.5, 6.5, 10, 2}};
    const struct estimate joined = estimate_join(sittings, 3);

    tap_ok(is(joined.value, 6) && is(joined.low, 4) && is(joined.high, 9.5) && joined.used == 30 &&
               joined.rejected == 3,
           "sittings that differ widen the interval");
}

/* ---- plans ---- */

static struct job job_of(enum probe probe, int n, uint64_t bytes)
{
    const struct job job = {
        .algorithm = &probe_rows[probe],
        .signature = {.coll = probe_rows[probe].coll, .nranks = 2, .bytes = bytes},
        .params = {.radix = n},
    };

    return job;
}

/* Probes that move nothing are barriers. */
static void test_proof(enum probe probe, int n, int lowered)
{
    struct job job = job_of(probe, n, 0);
    char *why = NULL;
    size_t size;
    FILE *out = open_memstream(&why, &size);
    int good;

    job.lowered = lowered;
    good = job_make(&job) == PCOLL_OK;
    good = good && pcoll_plan_check(job.plans, 2, out) == PCOLL_OK;
    fclose(out);
    if (!tap_ok(good, "%s of %d%s is proved", probe_rows[probe].name, n,
                lowered ? ", lowered" : ""))
        printf("# %s\n", why);
    free(why);
    job_destroy(&job);
}

static void test_size(void)
{
    struct job job = job_of(PROBE_PING, 5, 0);
    const int made = job_make(&job) == PCOLL_OK;

    tap_ok(made && pcoll_plan_account(job.plans[0]).messages == 5 &&
               pcoll_plan_account(job.plans[1]).messages == 5,
           "a ping of 5 is 5 there and 5 back");
    job_destroy(&job);
    job = job_of(PROBE_STREAM_PUT, 7, 1000);
    tap_ok(job_make(&job) == PCOLL_OK && pcoll_plan_account(job.plans[0]).bytes_moved == 7000 &&
               pcoll_plan_account(job.plans[1]).messages == 1,
           "a stream of 7 is 7 there and 1 back");
    job_destroy(&job);
    job = job_of(PROBE_PING_COPY, 3, 1000);
    tap_ok(job_make(&job) == PCOLL_OK && pcoll_plan_account(job.plans[0]).bytes_copied == 3000 &&
               pcoll_plan_account(job.plans[1]).bytes_copied == 3000,
           "what goes through communication buffers is copied out of them");
    job_destroy(&job);
}

static void test_other_sizes(void)
{
    struct pcoll_signature signature = {.coll = PCOLL_BARRIER, .nranks = 3};
    const struct pcoll_params params = {.radix = 2};
    struct pcoll_plan *plan = NULL;

    tap_ok(pcoll_generate(&probe_rows[PROBE_PING], &signature, NULL, 0, &params, &plan) ==
               PCOLL_UNSUPPORTED,
           "three ranks do not ping");
}

/* ---- running them ---- */

enum { INSTANCES = 20, BYTES = 1000 };

struct run {
    enum probe probe;
    unsigned char recv[2][2 * BYTES];
};

static int exercise(struct pcoll_bound *bound)
{
    const struct pcoll_medium *medium = bound->medium;

    for (int i = 0; i < INSTANCES; i++) {
        enum pcoll_result result = medium->start(bound);

        while (result == PCOLL_PENDING) {
            medium->rest(bound, 0);
            result = medium->progress(bound);
        }
        if (result != PCOLL_OK)
            return 1;
    }
    return 0;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    struct run *run = argument;
    const struct pcoll_algorithm *row = &probe_rows[run->probe];
    const struct pcoll_signature signature = {
        .coll = row->coll,
        .nranks = 2,
        .bytes = pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) ? 0 : BYTES};
    const struct pcoll_params params = {.radix = 6};
    struct attendee attendee = {meeting, rank, 0};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    unsigned char send[BYTES];
    const struct pcoll_memory memory = {send, run->recv[rank]};
    struct pcoll_group *group;
    struct pcoll_bound *bound;
    struct pcoll_plan *plan = NULL;
    int wrong = 1;

    memset(send, 100 + rank, sizeof(send));
    if (pcoll_medium_shm.group_create(&bootstrap, &group) != PCOLL_OK)
        return 1;
    if (pcoll_generate(row, &signature, NULL, rank, &params, &plan) == PCOLL_OK &&
        pcoll_medium_shm.bind(group, plan, &memory, &bound) == PCOLL_OK) {
        wrong = exercise(bound);
        meeting_barrier(meeting);
        pcoll_medium_shm.unbind(bound);
    }
    pcoll_plan_destroy(plan);
    meeting_barrier(meeting);
    if (rank == 0)
        meeting_barrier(meeting); /* threads share rank 0's mapping, so rank 0 leaves last */
    pcoll_medium_shm.group_destroy(group);
    if (rank != 0)
        meeting_barrier(meeting);
    return wrong;
}

static int all_are(const unsigned char *bytes, int value)
{
    for (int i = 0; i < BYTES; i++)
        if (bytes[i] != value)
            return 0;
    return 1;
}

static void test_run(enum probe probe)
{
    static struct run run;
    int to_first = 1, to_second = 1;

    memset(&run, 0, sizeof(run));
    run.probe = probe;
    tap_ok(meeting_run_threads(2, rank_main, &run) == 0, "%s runs in shared memory",
           probe_rows[probe].name);
    if (probe == PROBE_PING_PUT || probe == PROBE_PING_COPY || probe == PROBE_STREAM_GET)
        to_first = all_are(run.recv[0] + BYTES, 101);
    if (probe == PROBE_PING_PUT || probe == PROBE_PING_COPY || probe == PROBE_STREAM_PUT)
        to_second = all_are(run.recv[1], 100);
    tap_ok(to_first && to_second, "%s moves what it says", probe_rows[probe].name);
}

/* ---- pictures ---- */

static int size_of(const char *folder, const char *name)
{
    char path[200];
    struct stat status;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return stat(path, &status) == 0 ? (int)status.st_size : -1;
}

static int holds(const char *folder, const char *name, const char *expected)
{
    char path[200], text[1000] = "";
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "r");
    if (!file)
        return 0;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return strcmp(text, expected) == 0;
}

static void remove_all(const char *folder)
{
    static const char *const names[] = {"p.dat", "p.gp", "p.svg", "p.png"};
    char path[200];

    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void test_series(void)
{
    static struct drawing drawing;
    struct draw_series *first = drawing_series(&drawing, "a");
    char label[8];

    tap_ok(first && drawing_series(&drawing, "b") == first + 1 &&
               drawing_series(&drawing, "a") == first && drawing.nseries == 2,
           "a series for each label");
    for (int i = 2; i < DRAW_SERIES; i++) {
        snprintf(label, sizeof(label), "%d", i);
        drawing_series(&drawing, label);
    }
    tap_ok(!drawing_series(&drawing, "one more"), "as many as there is room for");
}

static void test_drawing(void)
{
    static struct drawing drawing = {
        .name = "p", .title = "a title", .nsizes = 2, .sizes = {8, 4096}, .chosen = {0, -1}};
    char parent[] = "/tmp/pcoll_test_tune.XXXXXX", folder[64];
    const int has_gnuplot = system("gnuplot --version >/dev/null 2>&1") == 0;
    struct draw_series *ring = drawing_series(&drawing, "ring");

    ring->measured[0] = 1.5;
    ring->predicted[0] = 2;
    ring->measured[1] = 30;
    ring->predicted[1] = 20;
    drawing_series(&drawing, "direct")->measured[1] = 0.25;
    if (!mkdtemp(parent))
        abort();
    snprintf(folder, sizeof(folder), "%s/a folder", parent);
    tap_ok(drawing_write(&drawing, folder) == (has_gnuplot ? 1 : 2), "a drawing is written");
    tap_ok(holds(folder, "p.dat",
                 "# ring: bytes, measured us, predicted us\n8 1.5 2\n4096 30 20\n\n\n"
                 "# direct: bytes, measured us, predicted us\n4096 0.25 0\n\n\n"
                 "# chosen\n8 1.5 2\n"),
           "its data");
    if (has_gnuplot)
        tap_ok(size_of(folder, "p.svg") > 1000 && size_of(folder, "p.png") > 1000, "its pictures");
    else
        tap_ok(1, "its pictures # skip no gnuplot");
    remove_all(folder);
    tap_ok(drawing_write(&drawing, "/nonexistent/folder") == 0, "no such folder");
    rmdir(parent);
}

int main(void)
{
    test_estimate();
    test_noise();
    test_join();
    for (int n = 2; n < 6; n++) {
        for (int lowered = 0; lowered < 2; lowered++) {
            test_proof(PROBE_PING, n, lowered);
            test_proof(PROBE_STREAM, n, lowered);
        }
    }
    test_size();
    test_other_sizes();
    for (int probe = 0; probe < NUM_PROBES; probe++)
        test_run((enum probe)probe);
    test_series();
    test_drawing();
    return tap_done();
}
