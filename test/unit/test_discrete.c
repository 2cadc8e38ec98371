/*
 * The discrete-event engine against closed forms of LogP and LogGP, and with symbolic data.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/plan/topology.h"
#include "test/unit/job.h"
#include "test/unit/tap.h"
#include "tuning/sim/engine.h"

static const struct pcoll_machine machine = {.L = 5, .o = 0.5, .g = 0.75, .G = 0.001, .rma = 1};

/* So many consecutive ranks on each node; made once. */
static const struct pcoll_topology *nodes_of(int nranks, int ppn)
{
    static struct pcoll_topology *made[64];
    const int nnodes = (nranks + ppn - 1) / ppn;
    int *nodes, i = 0;

    while (made[i] != NULL && (made[i]->nranks != nranks || made[i]->nnodes != nnodes))
        i++;
    if (made[i] != NULL)
        return made[i];
    nodes = malloc((size_t)nranks * sizeof(*nodes));
    for (int r = 0; nodes != NULL && r < nranks; r++)
        nodes[r] = r / ppn;
    if (nodes == NULL || pcoll_topology_create(nodes, NULL, nranks, &made[i]) != PCOLL_OK)
        abort();
    free(nodes);
    return made[i];
}

static const struct pcoll_topology *apart(int nranks)
{
    return nodes_of(nranks, 1);
}

static struct pcoll_job job_of(enum pcoll_coll coll, const char *name, int nranks, uint64_t bytes)
{
    return (struct pcoll_job){
        .algorithm = pcoll_algorithm_find(coll, name),
        .signature = {.coll = coll, .nranks = nranks, .bytes = bytes, .topology = apart(nranks)},
    };
}

static struct pcoll_engine_options options_of(struct pcoll_machine m)
{
    return (struct pcoll_engine_options){.machine = m, .verify = 1, .why = stdout};
}

static double time_of(const struct pcoll_job *job, const struct pcoll_engine_options *options)
{
    struct pcoll_engine_result result;

    return pcoll_engine_run(job, options, &result) == PCOLL_OK ? result.first : -1;
}

static int is_close(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* ---- closed forms ---- */

static void check_barriers(void)
{
    struct pcoll_engine_options options = options_of(machine);

    for (int nranks = 2; nranks <= 1024; nranks *= 8)
        for (int host = 0; host <= 1; host++) {
            struct pcoll_job job = job_of(PCOLL_BARRIER, "butterfly", nranks, 0);
            double expected = log2(nranks) * (machine.L + (1 + host) * machine.o);

            options.host_driven = host;
            tap_ok(is_close(time_of(&job, &options), expected),
                   "butterfly of %d ranks: log2 N (L + %d o)", nranks, 1 + host);
        }
}

/* For base k and N = k^R: R rounds of k - 1 messages, one gap apart. */
static void check_dissemination(void)
{
    struct pcoll_engine_options options = options_of(machine);

    for (int k = 2; k <= 5; k++) {
        struct pcoll_job job = job_of(PCOLL_BARRIER, "dissemination", k * k * k, 0);
        double round = (k - 2) * machine.g + machine.o + machine.L;

        job.params.radix = k;
        tap_ok(is_close(time_of(&job, &options), 3 * round),
               "dissemination of %d ranks in base %d: 3 ((k - 2) g + o + L)", k * k * k, k);
    }
}

/* The time of one put of s bytes on idle ports, and the time that it occupies its port. */
static double put_of(double s)
{
    return machine.o + machine.rma + machine.L + (s - 1) * machine.G;
}

static double gap_of(double s)
{
    return fmax(machine.o + machine.rma, machine.rma + machine.g + (s - 1) * machine.G);
}

static void check_chain(void)
{
    struct pcoll_engine_options options = options_of(machine);

    for (int nranks = 2; nranks <= 33; nranks += 31)
        for (int segments = 1; segments <= 64; segments *= 8) {
            struct pcoll_job job = job_of(PCOLL_BCAST, "chain", nranks, (uint64_t)segments * 4096);
            double expected =
                machine.o + machine.L + (nranks - 1) * put_of(4096) + (segments - 1) * gap_of(4096);

            job.params.segment = 4096;
            tap_ok(is_close(time_of(&job, &options), expected),
                   "chain of %d ranks, %d segments: ready, N - 1 puts, S - 1 gaps", nranks,
                   segments);
        }
}

/* The time of a rank that has the message and d subtrees of 2^(d-1) .. 1 ranks. */
static double binomial(int d, double s)
{
    double most = 0;

    for (int i = 1; i <= d; i++)
        most = fmax(most, (i - 1) * gap_of(s) + put_of(s) + binomial(d - i, s));
    return most;
}

static void check_binomial(void)
{
    struct pcoll_engine_options options = options_of(machine);

    for (int d = 1; d <= 10; d += 3)
        for (int bytes = 8; bytes <= 80000; bytes *= 100) {
            struct pcoll_job job = job_of(PCOLL_BCAST, "knomial_put", 1 << d, (uint64_t)bytes);
            double ready = machine.o + machine.L + (d - 1) * machine.g;

            tap_ok(is_close(time_of(&job, &options), ready + binomial(d, bytes)),
                   "binomial tree of %d ranks, %d bytes: the recursion of LogGP", 1 << d, bytes);
        }
}

/* A star of n children: all ask at once, and the root's port answers one after another. */
static void check_star_of_gets(void)
{
    struct pcoll_engine_options options = options_of(machine);
    struct pcoll_job job = job_of(PCOLL_BCAST, "knomial_get", 9, 1000);
    double length = 999 * machine.G, tell = 7 * machine.g + machine.o + machine.L;
    double request = machine.o + machine.rma + machine.L, answer = machine.L + length;

    job.params.radix = 9;
    tap_ok(is_close(time_of(&job, &options),
                    tell + request + fmax(0, 7 * (length - 0)) + answer + machine.o + machine.L),
           "a star of gets: the answers share the root's port");
}

static void check_closed_forms(void)
{
    check_barriers();
    check_dissemination();
    check_chain();
    check_binomial();
    check_star_of_gets();
}

/* ---- in a node ---- */

static void check_node(void)
{
    struct pcoll_machine m = {.L = 0.1, .o = 0.02, .copy = 0.0001, .turn = 2, .cores = 1};
    struct pcoll_engine_options options = options_of(m);
    struct pcoll_job job = job_of(PCOLL_BARRIER, "butterfly", 2, 0);

    job.signature.topology = NULL;
    options.machine.cores = 0;
    tap_ok(is_close(time_of(&job, &options), m.o + m.L), "two ranks of a node: o + L");
    options.machine.cores = 1;
    /* Rank 1 runs second; then rank 0 needs its turn to see the end. */
    tap_ok(time_of(&job, &options) >= 2 * m.turn, "on one core they take turns");
}

/* Seven ranks on nodes of three have a core each from three cores on. */
static void check_cores(void)
{
    struct pcoll_machine m = machine;
    struct pcoll_engine_options options;
    struct pcoll_job job = job_of(PCOLL_BARRIER, "dissemination", 7, 0);
    double expected;

    m.turn = 2;
    options = options_of(m);
    job.signature.topology = nodes_of(7, 3);
    expected = time_of(&job, &options);
    for (int cores = 3; cores <= 8; cores++) {
        options.machine.cores = cores;
        tap_ok(is_close(time_of(&job, &options), expected),
               "%d cores for three ranks of a node: none is shared", cores);
    }
    options.machine.cores = 2;
    tap_ok(time_of(&job, &options) >= expected + m.turn, "two cores: two ranks share one");
}

/* Ranks 0 and 1 signal counter 0 of rank 2 at the same time; then rank 1 signals counter 1, for
 * which rank 2 waits. */
static enum pcoll_result generate_signals(struct pcoll_plan *plan,
                                          const struct pcoll_params *params)
{
    (void)params;
    if (!pcoll_plan_begin(plan, 2, 1))
        return PCOLL_ERR_NOMEM;
    pcoll_plan_open(plan, 0);
    if (plan->rank == 2)
        pcoll_plan_add(plan, pcoll_entry_wait(1, 1));
    for (int counter = 0; counter < (plan->rank == 2 ? 0 : plan->rank + 1); counter++)
        pcoll_plan_add(plan, pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), 2, counter, 1));
    return PCOLL_OK;
}

static void check_order(void)
{
    struct pcoll_algorithm row = *pcoll_algorithm_find(PCOLL_BARRIER, "butterfly");
    struct pcoll_machine m = {.L = 0.1, .o = 0.02, .g = 0.02, .arrival = 0.2};
    struct pcoll_engine_options options = {.machine = m, .why = stdout};
    struct pcoll_job job = {.algorithm = &row, .signature = {.coll = PCOLL_BARRIER, .nranks = 3}};

    row.generate = generate_signals;
    tap_ok(is_close(time_of(&job, &options), m.o + m.L + m.arrival),
           "a signal does not overtake one that waits for a counter");
    options.machine.cores = 1;
    tap_ok(is_close(time_of(&job, &options), 3 * m.o + m.L),
           "ranks that share a core never signal at the same time");
}

/* Teams below a node are no nodes. */
static void check_teams(void)
{
    struct pcoll_engine_options options = options_of(machine);
    struct pcoll_job job = job_of(PCOLL_BARRIER, "butterfly", 7, 0);
    struct pcoll_engine_result result;

    job.signature.topology = job_topology(JOB_LEVELS, 7);
    tap_ok(job.signature.topology->in_node &&
               pcoll_engine_run(&job, &options, &result) == PCOLL_OK && result.messages > 0 &&
               result.wire_messages == 0,
           "levels below a node: all messages stay in it");
}

/* ---- the network ---- */

static double waited_on_torus(const char *name)
{
    struct pcoll_job job = job_of(PCOLL_BCAST, name, 64, 1 << 18);
    struct pcoll_engine_options options = options_of(machine);
    struct pcoll_engine_result result;

    job.params.segment = 4096;
    options.network =
        (struct pcoll_network){.kind = PCOLL_TORUS, .side = {4, 4, 4}, .hop = 0.1, .G = machine.G};
    return pcoll_engine_run(&job, &options, &result) == PCOLL_OK ? result.waited : -1;
}

static void check_neighbors(void)
{
    tap_ok(waited_on_torus("trinaryx3") == 0,
           "trinaryx3 sends to neighbors only: no message waits on its torus");
    tap_ok(waited_on_torus("two_tree") > 0, "heads of two_tree do");
}

/* Four nodes of one leaf switch send to four of another over one link. */
static void check_fat_tree(void)
{
    struct pcoll_job job = job_of(PCOLL_ALLGATHER, "direct", 8, 100000);
    struct pcoll_engine_options options = options_of(machine);
    double wide, narrow;

    options.network =
        (struct pcoll_network){.kind = PCOLL_FAT_TREE, .down = 4, .up = 4, .G = machine.G};
    wide = time_of(&job, &options);
    options.network.up = 1;
    narrow = time_of(&job, &options);
    tap_ok(narrow > 2 * wide, "a tapered fat tree: an allgather over one link takes longer");
}

/* ---- all algorithms ---- */

static int runs(struct pcoll_job *job, struct pcoll_engine_options *options)
{
    struct pcoll_engine_result result;
    enum pcoll_result outcome = pcoll_engine_run(job, options, &result);

    return outcome == PCOLL_OK || outcome == PCOLL_UNSUPPORTED;
}

static void check_row(const struct pcoll_algorithm *row, enum job_map map, double arrival)
{
    struct pcoll_params params[JOB_VARIANTS];
    struct pcoll_engine_options options = options_of(machine);
    int right = 1;

    options.instances = 19;
    options.skew = 20;
    options.noise = 2;
    options.machine.arrival = arrival;
    for (int nranks = 2; nranks <= 17; nranks += 5)
        for (int v = job_variants(row, nranks, params); v-- > 0;) {
            struct pcoll_job job = {
                .algorithm = row,
                .params = params[v],
                .signature = {.coll = row->coll,
                              .nranks = nranks,
                              .root = pcoll_coll_has(row->coll, PCOLL_ROOTED) ? nranks / 2 : 0,
                              .bytes = pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) ? 0 : 1001,
                              .commutes = row->must_commute,
                              .topology = job_topology(map, nranks)}};

            options.seed++;
            options.ports = 1 + v % 2;
            right = right && runs(&job, &options);
        }
    tap_ok(right, "%s %s on nodes of kind %d: results right, ranks late at random%s",
           pcoll_coll_name(row->coll), row->name, map, arrival > 0 ? ", slow counters" : "");
}

static void check_all(void)
{
    PCOLL_EACH_ALGORITHM (row) {
        check_row(row, JOB_ONE_NODE, 0);
        check_row(row, JOB_ONE_NODE, 2 * machine.L);
        check_row(row, JOB_APART, 0);
        check_row(row, JOB_ROUND_ROBIN, 0);
        check_row(row, JOB_LEVELS, 0);
    }
}

static void check_lowered(void)
{
    struct pcoll_engine_options options = options_of(machine);
    struct pcoll_job job = job_of(PCOLL_BARRIER, "butterfly", 13, 0);

    job.lowered = 1;
    options.instances = 6;
    tap_ok(runs(&job, &options), "a lowered barrier");
    job = job_of(PCOLL_ALLGATHER, "butterfly", 13, 100);
    job.lowered = 1;
    tap_ok(runs(&job, &options), "a lowered allgather");
}

/* ---- errors are found ---- */

static int broken_rank, broken_how;

/* The butterfly allgather, with one rank's plan broken. */
static enum pcoll_result generate_broken(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const enum pcoll_coll coll = plan->signature.coll;
    const struct pcoll_algorithm *row =
        pcoll_algorithm_find(coll, pcoll_coll_has(coll, PCOLL_SYNCHRONIZES) ? "butterfly" : "ring");
    enum pcoll_result result = row->generate(plan, params);

    if (result != PCOLL_OK || plan->rank != broken_rank)
        return result;
    for (int i = 0; i < plan->nentries; i++) {
        struct pcoll_entry *entry = &plan->entries[i];

        if (broken_how == 0 && entry->op == PCOLL_OP_PUT)
            entry->local.offset = 0;
        if (broken_how == 1 && entry->trigger != PCOLL_NONE)
            entry->threshold = 0;
        if (broken_how == 2 && entry->peer_counter != PCOLL_NONE)
            entry->peer_add = 0;
    }
    return result;
}

static void check_broken(enum pcoll_coll coll, int how, const char *what)
{
    struct pcoll_algorithm row = *pcoll_algorithm_find(
        coll, pcoll_coll_has(coll, PCOLL_SYNCHRONIZES) ? "butterfly" : "ring");
    struct pcoll_job job =
        job_of(coll, row.name, 8, pcoll_coll_has(coll, PCOLL_SYNCHRONIZES) ? 0 : 100);
    struct pcoll_engine_options options = options_of(machine);
    struct pcoll_engine_result result;

    options.why = NULL;
    options.instances = 4;
    row.generate = generate_broken;
    job.algorithm = &row;
    broken_rank = 3;
    broken_how = how;
    tap_ok(pcoll_engine_run(&job, &options, &result) == PCOLL_ERR_INVALID, "%s is detected", what);
}

static void check_wrong(void)
{
    check_broken(PCOLL_ALLGATHER, 0, "wrong data");
    check_broken(PCOLL_ALLGATHER, 1, "data passed on too early");
    check_broken(PCOLL_ALLGATHER, 2, "a deadlock");
    check_broken(PCOLL_BARRIER, 1, "a barrier that lets through");
    check_broken(PCOLL_BARRIER, 2, "a barrier that never ends");
}

static void check_seeds(void)
{
    struct pcoll_job job = job_of(PCOLL_BARRIER, "dissemination", 32, 0);
    struct pcoll_engine_options options = options_of(machine);
    double quiet = time_of(&job, &options), first, again;

    options.skew = 50;
    options.noise = 1;
    options.seed = 7;
    first = time_of(&job, &options);
    again = time_of(&job, &options);
    options.seed = 8;
    tap_ok(first == again && first != time_of(&job, &options) && first > quiet,
           "equal seeds give equal runs, different seeds do not");
}

/* ---- large ---- */

static void check_large(enum pcoll_coll coll, const char *name, int nranks)
{
    struct pcoll_job job =
        job_of(coll, name, nranks, pcoll_coll_has(coll, PCOLL_SYNCHRONIZES) ? 0 : 8);
    struct pcoll_engine_options options = options_of(machine);
    struct pcoll_engine_result result;

    tap_ok(pcoll_engine_run(&job, &options, &result) == PCOLL_OK && result.kinds < 100,
           "%s of %d ranks: %llu different entries", name, nranks,
           (unsigned long long)result.kinds);
    options.max_memory = 100;
    tap_ok(pcoll_engine_run(&job, &options, &result) == PCOLL_ERR_NOMEM,
           "%s of %d ranks does not fit 100 bytes", name, nranks);
}

int main(void)
{
    check_closed_forms();
    check_node();
    check_cores();
    check_order();
    check_teams();
    check_neighbors();
    check_fat_tree();
    check_all();
    check_lowered();
    check_wrong();
    check_seeds();
    check_large(PCOLL_BARRIER, "butterfly", 1 << 17);
    check_large(PCOLL_BCAST, "eager", 1 << 17);
    return tap_done();
}
