/*
 * The send and receive formulation of plans: its GOAL text, the times that LogGOPSim computes from
 * it, and the counters that document 001 states for it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/job.h"
#include "test/unit/tap.h"
#include "tuning/sim/engine.h"
#include "tools/sim/goal.h"
#include "tools/sim/resources.h"

/* LogGOPSim -L 1000 -o 200 -g 300 -G 1, in us. */
static const struct pcoll_machine machine = {.L = 1, .o = 0.2, .g = 0.3, .G = 0.001};

static struct pcoll_job job_of(enum pcoll_coll coll, const char *name, int nranks, uint64_t bytes)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(coll, name);

    return (struct pcoll_job){
        .algorithm = row,
        .signature = {.coll = coll,
                      .nranks = nranks,
                      .commutes = row->must_commute,
                      .bytes = bytes,
                      .topology = job_topology(JOB_APART, nranks)},
    };
}

/* ---- the text ---- */

enum { MAX_MESSAGES = 1 << 16 };

struct message {
    int is_send, from, to, tag, op;
    unsigned long long bytes;
};

/* `after` cannot begin before `before` has completed. */
struct edge {
    int before, after, is_message;
};

struct reader {
    int nranks, rank, blocks; /* rank NONE: between two blocks */
    int base, defined;        /* number of operations in earlier blocks; labels l0 .. of this
                               * block */
    int needs;                /* dependencies are being read: no more operations may follow */
    struct message messages[MAX_MESSAGES];
    int nmessages;
    struct edge edges[MAX_MESSAGES];
    int nedges;
};

static int compare_messages(const void *left, const void *right)
{
    const struct message *a = left, *b = right;
    const int by[] = {a->from - b->from, a->to - b->to, a->tag - b->tag, a->is_send - b->is_send};

    for (int i = 0; i < 4; i++)
        if (by[i] != 0)
            return by[i];
    return 0;
}

static int read_operation(struct reader *r, const char *line)
{
    unsigned long long bytes;
    char what[8], way[8];
    int label, peer, tag, end = 0;

    if (sscanf(line, "l%d: calc %llu cpu 0%n", &label, &bytes, &end) == 2 && line[end] == '\n')
        return label == r->defined++ && !r->needs;
    end = 0;
    if (sscanf(line, "l%d: %4s %llub %4s %d tag %d cpu 0 nic 0%n", &label, what, &bytes, way, &peer,
               &tag, &end) != 6 ||
        line[end] != '\n' || r->nmessages == MAX_MESSAGES)
        return 0;
    int is_send = strcmp(what, "send") == 0 && strcmp(way, "to") == 0;
    int is_recv = strcmp(what, "recv") == 0 && strcmp(way, "from") == 0;

    r->messages[r->nmessages++] = (struct message){.is_send = is_send,
                                                   .from = is_send ? r->rank : peer,
                                                   .to = is_send ? peer : r->rank,
                                                   .tag = tag,
                                                   .op = r->base + label,
                                                   .bytes = bytes};
    return label == r->defined++ && !r->needs && is_send != is_recv && bytes >= 1 && peer >= 0 &&
           peer < r->nranks && peer != r->rank;
}

static int read_line(struct reader *r, const char *line)
{
    int first, second, end = 0;

    if (line[0] == '\n')
        return 1;
    if (r->rank == PCOLL_NONE) {
        int right = sscanf(line, "rank %d {%n", &r->rank, &end) == 1 && line[end] == '\n';

        r->base += r->defined;
        r->defined = r->needs = 0;
        return right && r->rank == r->blocks++;
    }
    if (strcmp(line, "}\n") == 0) {
        r->rank = PCOLL_NONE;
        return 1;
    }
    if (sscanf(line, "l%d requires l%d%n", &first, &second, &end) == 2 && line[end] == '\n') {
        r->needs = 1;
        if (r->nedges == MAX_MESSAGES)
            return 0;
        r->edges[r->nedges++] = (struct edge){r->base + second, r->base + first, 0};
        return first >= 0 && second >= 0 && first < r->defined && second < r->defined &&
               first != second;
    }
    return read_operation(r, line);
}

/* Every send matches one receive of the same number of bytes, and vice versa. */
static int is_matched(struct reader *r)
{
    struct message *m = r->messages;

    if (r->nmessages % 2 != 0)
        return 0;
    qsort(m, (size_t)r->nmessages, sizeof(*m), compare_messages);
    for (int i = 0; i < r->nmessages; i += 2)
        if (m[i].is_send || !m[i + 1].is_send || m[i].bytes != m[i + 1].bytes ||
            m[i].from != m[i + 1].from || m[i].to != m[i + 1].to || m[i].tag != m[i + 1].tag ||
            (i > 0 && m[i].from == m[i - 1].from && m[i].to == m[i - 1].to &&
             m[i].tag == m[i - 1].tag))
            return 0;
    return 1;
}

/* Number of messages on the longest path through a matched schedule; NONE: it has a cycle. */
static int depth_of(struct reader *r)
{
    static int depth[2 * MAX_MESSAGES];
    int again = 1, most = 0;

    for (int i = 0; i < r->nmessages && r->nedges < MAX_MESSAGES; i += 2)
        r->edges[r->nedges++] = (struct edge){r->messages[i + 1].op, r->messages[i].op, 1};
    memset(depth, 0, sizeof(depth));
    for (int pass = 0; again; pass++) {
        again = 0;
        for (int i = 0; i < r->nedges; i++) {
            const struct edge *edge = &r->edges[i];
            const int least = depth[edge->before] + edge->is_message;

            if (depth[edge->after] < least) {
                depth[edge->after] = least;
                again = 1;
            }
            most = least > most ? least : most;
        }
        if (pass > r->base + r->defined)
            return PCOLL_NONE;
    }
    return most;
}

static struct reader reader;

/* 1: the schedule is valid; 0: it is not; PCOLL_NONE: the plans have no schedule. */
static int is_schedule(const struct pcoll_job *job)
{
    char *text = NULL, line[256];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size), *in;
    enum pcoll_result result = pcoll_goal_write(job, &machine, out);
    int right = result == PCOLL_OK;

    fclose(out);
    memset(&reader, 0, sizeof(reader));
    reader.rank = PCOLL_NONE;
    in = fmemopen(text, size + 1, "r");
    right = right && fgets(line, sizeof(line), in) &&
            sscanf(line, "num_ranks %d\n", &reader.nranks) &&
            reader.nranks == job->signature.nranks;
    while (right && fgets(line, sizeof(line), in) && line[0] != '\0')
        right = read_line(&reader, line);
    fclose(in);
    free(text);
    if (result == PCOLL_UNSUPPORTED)
        return PCOLL_NONE;
    return right && reader.blocks == reader.nranks && reader.rank == PCOLL_NONE &&
           is_matched(&reader) && depth_of(&reader) != PCOLL_NONE;
}

static void check_text(const struct pcoll_algorithm *row)
{
    struct pcoll_params params[JOB_VARIANTS];
    int right = 1, some = 0;

    for (int nranks = 2; nranks <= 13; nranks += nranks < 5 ? 3 : 4)
        for (int v = job_variants(row, nranks, params); v-- > 0;) {
            struct pcoll_job job = job_of(row->coll, row->name, nranks,
                                          pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) ? 0 : 1001);
            int found;

            job.params = params[v];
            found = is_schedule(&job);
            right = right && found != 0;
            some |= found == 1;
        }
    tap_ok(right && some, "%s %s: GOAL text, every send has its receive",
           pcoll_coll_name(row->coll), row->name);
}

static void check_depth(struct pcoll_job job, int expected)
{
    int right = is_schedule(&job) == 1, depth = depth_of(&reader);

    tap_ok(right && depth == expected, "%s of %d ranks: %d messages one after the other",
           job.algorithm->name, job.signature.nranks, depth);
}

static void check_depths(void)
{
    struct pcoll_job chain = job_of(PCOLL_BCAST, "chain", 9, 1000);

    chain.params.segment = 100;
    check_depth(chain, 9);
    check_depth(job_of(PCOLL_BARRIER, "butterfly", 16, 0), 4);
    check_depth(job_of(PCOLL_BARRIER, "butterfly", 31, 0), 6);
    check_depth(job_of(PCOLL_BARRIER, "dissemination", 17, 0), 5);
    check_depth(job_of(PCOLL_BCAST, "knomial_put", 32, 8), 6);
    check_depth(job_of(PCOLL_BCAST, "eager", 32, 8), 5);
}

/* ---- LogGOPSim ---- */

/* The times that LogGOPSim computes for the GOAL text of these jobs, in ns. */
static const struct replay {
    enum pcoll_coll coll;
    const char *name;
    int nranks, radix;
    uint64_t bytes, segment;
    double ns;
} replays[] = {
    {PCOLL_BARRIER, "butterfly", 8, 0, 0, 0, 4200},
    {PCOLL_BARRIER, "butterfly", 13, 0, 0, 0, 7300},
    {PCOLL_BARRIER, "dissemination", 13, 0, 0, 0, 5600},
    {PCOLL_BARRIER, "dissemination", 27, 3, 0, 0, 5100},
    {PCOLL_BCAST, "knomial_put", 4, 0, 8, 0, 4514},
    {PCOLL_BCAST, "knomial_put", 13, 0, 8, 0, 6828},
    {PCOLL_BCAST, "knomial_put", 16, 0, 65536, 0, 270040},
    {PCOLL_BCAST, "knomial_put", 64, 0, 65536, 0, 404510},
    {PCOLL_BCAST, "chain", 8, 0, 65536, 4096, 107290},
};

static void check_replay(const struct replay *replay)
{
    struct pcoll_job job = job_of(replay->coll, replay->name, replay->nranks, replay->bytes);
    struct pcoll_engine_options options = {.machine = machine, .host_driven = 1};
    struct pcoll_engine_result result;

    job.params.radix = replay->radix;
    job.params.segment = replay->segment;
    if (pcoll_engine_run(&job, &options, &result) != PCOLL_OK)
        result.first = -1;
    tap_ok(fabs(1000 * result.first - replay->ns) < 0.5,
           "%s of %d ranks, %llu bytes: as LogGOPSim, %.0f ns", replay->name, replay->nranks,
           (unsigned long long)replay->bytes, replay->ns);
}

/* ---- document 001 ---- */

static struct pcoll_resources resources_of(const struct pcoll_job *job, int rank)
{
    struct pcoll_resources resources;

    if (pcoll_resources_of(job, rank, &resources) != PCOLL_OK)
        abort();
    return resources;
}

static void check_table6(int nranks, int rounds)
{
    struct pcoll_job job = job_of(PCOLL_ALLGATHER, "butterfly", nranks, 1);
    struct pcoll_resources ours, matched;

    job.signature.topology = NULL;
    job.signature.in_place = 1;
    job.params.path = PCOLL_PATH_USER;
    matched = resources_of(&job, 0);
    job.params.paper = 1;
    ours = resources_of(&job, 0);
    tap_ok(ours.counters == 1 && matched.counters == 2,
           "table 6: 1 tank at %d ranks, 2 safe against run-ahead", nranks);
    tap_ok(matched.rounds == rounds && pcoll_resources_by_round(&matched) == 3 * rounds,
           "table 6: %d rounds of send and receive, %d counters", matched.rounds, 3 * rounds);
}

static void check_trinaryx3(uint64_t segment, int messages)
{
    struct pcoll_job job = job_of(PCOLL_BCAST, "trinaryx3", 64, UINT64_C(128) << 20);
    struct pcoll_resources most = {0}, one;
    int right = 1;

    job.params.segment = segment;
    for (int r = 0; r < 64; r += 21) {
        one = resources_of(&job, r);
        right = right && one.receives == (r == 0 ? 0 : messages) && one.counters <= 3;
        pcoll_resources_max(&most, &one);
    }
    tap_ok(right && most.counters == 3, "section 5.1: 3 tanks for 128 MiB in %d segments",
           messages);
    tap_ok(most.channels_in == 3 && pcoll_resources_by_channel(&most) == 9,
           "section 5.1: 9 counters for the channels, %d messages to tell apart", most.receives);
}

int main(void)
{
    PCOLL_EACH_ALGORITHM (row)
        check_text(row);
    check_depths();
    for (size_t i = 0; i < sizeof(replays) / sizeof(replays[0]); i++)
        check_replay(&replays[i]);
    check_table6(82944, 18);
    check_table6(1000000, 21);
    check_trinaryx3(64 << 10, 2049);
    check_trinaryx3(1 << 20, 129);
    return tap_done();
}
