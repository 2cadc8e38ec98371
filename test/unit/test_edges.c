/*
 * Edges that differ between ranks: the plans of random graphs (graph.h) are proved and explored. So
 * are those of blocks that lie side by side.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "algorithms/edges/slots.h"
#include "algorithms/plan/edges.h"
#include "algorithms/proof/check.h"
#include "offload/edges.h"
#include "offload/explore/explore.h"
#include "test/unit/graph.h"
#include "test/unit/job.h"
#include "test/unit/tap.h"

enum { GRAPHS = 80, INSTANCES = 36 };

static int explore(const struct job *job, uint64_t seed)
{
    const struct pcoll_explore_options options = {.instances = INSTANCES, .ahead = INSTANCES};
    struct pcoll_explore *explorer;
    enum pcoll_result result =
        pcoll_explore_create(job->plans, job->signature.nranks, &options, &explorer);

    if (result != PCOLL_OK)
        return 0;
    for (int run = 0; run < 20 && result == PCOLL_OK; run++)
        result = pcoll_explore_run_random(explorer, seed + (uint64_t)run);
    if (result != PCOLL_OK)
        printf("# %s: %s\n", job_name(job), pcoll_explore_why(explorer));
    pcoll_explore_destroy(explorer);
    return result == PCOLL_OK;
}

static int is_proved(struct job *job)
{
    int right;

    if (job_make(job) != PCOLL_OK)
        return 0;
    right = pcoll_plan_check(job->plans, job->signature.nranks, stdout) == PCOLL_OK;
    job_destroy(job);
    return right;
}

/* The plans do with the whole graph what they should, and no rank needs more memory than said. */
static int is_right(struct job *job, uint64_t seed)
{
    int right;

    if (job_make(job) != PCOLL_OK)
        return 0;
    right = pcoll_plan_check(job->plans, job->signature.nranks, stdout) == PCOLL_OK &&
            explore(job, seed);
    for (int r = 0; r < job->signature.nranks; r++)
        right =
            right && job->plans[r]->lowered &&
            job->plans[r]->temp_bytes <= job->algorithm->temp_bytes(&job->signature, &job->params);
    job_destroy(job);
    return right;
}

static void test_graphs(void)
{
    static struct graph g;
    int swapped = 0, user = 0, temp = 0, cut = 0, known = 0, get = 0, read = 0, spread = 0,
        shared = 0;

    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        struct job job = {
            .locals = g.locals,
        };
        int all_known = 1;

        graph_make(&g, seed);
        swapped += graph_prepare(&g);
        for (int r = 0; r < g.nranks; r++)
            all_known = all_known && graph_knows_peers(&g, r);
        known += all_known;
        job.signature = g.signature;
        job.algorithm = pcoll_algorithm_find(g.signature.coll, "direct");
        job.params.path = PCOLL_PATH_USER;
        user += is_right(&job, seed);
        job.algorithm = pcoll_algorithm_find(g.signature.coll, "direct_get");
        get += job.algorithm != NULL;
        read += job.algorithm != NULL && is_right(&job, seed);
        job.algorithm = pcoll_algorithm_find(g.signature.coll, "direct");
        job.params.path = PCOLL_PATH_TEMP;
        temp += is_right(&job, seed);
        job.params.segment = 16;
        cut += is_right(&job, seed);
        job.algorithm = pcoll_algorithm_find(g.signature.coll, "direct_shared");
        job.params.segment = seed % 8 < 4 ? 16 : 0;
        spread += job.algorithm != NULL;
        shared += job.algorithm != NULL && is_right(&job, seed);
    }
    tap_ok(swapped == GRAPHS && known == GRAPHS, "%d of %d graphs: ranks know their peers' ends",
           known, GRAPHS);
    tap_ok(user == GRAPHS, "user: the plans of %d of %d graphs are right", user, GRAPHS);
    tap_ok(get > GRAPHS / 2 && read == get, "get: the plans of %d of %d graphs are right", read,
           get);
    tap_ok(temp == GRAPHS, "temp: the plans of %d of %d graphs are right", temp, GRAPHS);
    tap_ok(cut == GRAPHS, "temp, segments: the plans of %d of %d graphs are right", cut, GRAPHS);
    tap_ok(spread == GRAPHS / 4 && shared == spread,
           "shared: the plans of %d of %d graphs are right", shared, spread);
    graph_end(&g);
}

/* ---- peers in parts ---- */

/* Rows whose ranks have their peers in parts, although they have few. */
enum { PARTS = 3 };

static enum pcoll_result generate_in_parts(struct pcoll_plan *plan,
                                           const struct pcoll_params *params)
{
    struct pcoll_edge_slots slots = pcoll_edge_slots_of(&plan->signature, plan->local, params);

    slots.nparts = PARTS;
    return pcoll_edge_slots_generate(&slots, plan);
}

static enum pcoll_result generate_at_sender(struct pcoll_plan *plan,
                                            const struct pcoll_params *params)
{
    struct pcoll_edge_slots slots =
        pcoll_edge_sender_slots_of(&plan->signature, plan->local, params);

    slots.nparts = PARTS;
    return pcoll_edge_slots_generate(&slots, plan);
}

static struct pcoll_algorithm row_in_parts(enum pcoll_coll coll, int at_sender)
{
    struct pcoll_algorithm row =
        *pcoll_algorithm_find(coll, at_sender ? "direct_shared" : "direct");

    row.generate = at_sender ? generate_at_sender : generate_in_parts;
    return row;
}

/* Also in all orders that make a difference. */
static int is_right_in_all(struct job *job)
{
    enum { PHASES = 3 };
    const struct pcoll_explore_limits limits = {.reduction = PCOLL_EXPLORE_TRACES,
                                                .states = 100000};
    struct pcoll_explore_options options = {0};
    struct pcoll_explore_stats stats = {0};
    struct pcoll_explore *explorer;
    int right = 0;

    if (!is_right(job, 1) || job_make(job) != PCOLL_OK)
        return 0;
    options.instances = options.ahead = PHASES * job->plans[0]->nphases;
    if (pcoll_explore_create(job->plans, job->signature.nranks, &options, &explorer) == PCOLL_OK) {
        right = pcoll_explore_all(explorer, &limits, &stats) == PCOLL_OK && stats.complete;
        pcoll_explore_destroy(explorer);
    }
    job_destroy(job);
    return right;
}

/* If one entry signals the counter of another part, the plans are wrong. */
static int finds_wrong_parts(struct job *job)
{
    FILE *nowhere = fopen("/dev/null", "w");
    int found = 0, tried = 0;

    if (nowhere == NULL || job_make(job) != PCOLL_OK)
        abort();
    for (int i = 0; i < job->plans[1]->nentries; i++) {
        struct pcoll_entry *entry = &job->plans[1]->entries[i];
        const int right = entry->peer_counter;
        int all, wrong;

        if (entry->peer == PCOLL_NONE || right == PCOLL_NONE)
            continue;
        all = job->plans[entry->peer]->ncounters;
        wrong = (right + all / PARTS) % all;
        if (wrong == right || all % PARTS != 0)
            continue;
        entry->peer_counter = wrong;
        found += pcoll_plan_check(job->plans, job->signature.nranks, nowhere) != PCOLL_OK;
        entry->peer_counter = right;
        tried++;
    }
    job_destroy(job);
    fclose(nowhere);
    return tried > 0 && found == tried;
}

static void test_parts_of_graphs(void)
{
    static struct graph g;
    int right = 0, shared = 0, spread = 0;

    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        struct pcoll_algorithm row;
        struct job job = {.locals = g.locals, .params.path = PCOLL_PATH_TEMP};

        graph_make(&g, seed);
        if (!graph_prepare(&g))
            continue;
        job.signature = g.signature;
        row = row_in_parts(g.signature.coll, 0);
        job.algorithm = &row;
        right += is_right(&job, seed);
        if (pcoll_algorithm_find(g.signature.coll, "direct_shared") == NULL)
            continue;
        row = row_in_parts(g.signature.coll, 1);
        spread++;
        shared += is_right(&job, seed);
    }
    tap_ok(right == GRAPHS && spread > 0 && shared == spread,
           "peers in parts: the plans of %d and %d of %d and %d graphs are right", right, shared,
           GRAPHS, spread);
    graph_end(&g);
}

static void test_parts(void)
{
    static const enum pcoll_coll colls[] = {PCOLL_GATHERV, PCOLL_SCATTERV, PCOLL_ALLTOALLV};
    enum { MANY = 40, FEW = 16, MOST_SMALL = 5 };

    for (size_t i = 0; i < sizeof(colls) / sizeof(colls[0]); i++) {
        const struct pcoll_algorithm row = row_in_parts(colls[i], 0);
        struct job job = {.algorithm = &row,
                          .signature = {.coll = colls[i], .bytes = 100},
                          .params.path = PCOLL_PATH_TEMP};
        int right = 1, wrong;

        for (int n = 2; n <= MOST_SMALL; n++) {
            job.signature.nranks = n;
            right = right && is_right_in_all(&job);
        }
        wrong = finds_wrong_parts(&job);
        job.algorithm = pcoll_algorithm_find(colls[i], "direct");
        for (int n = FEW; n <= MANY; n += FEW / 2) {
            job.signature.nranks = n;
            right = right && is_proved(&job);
        }
        tap_ok(right && wrong, "%s: peers in parts, and none that is in two",
               pcoll_coll_name(colls[i]));
    }
    test_parts_of_graphs();
}

/* Messages that the edges between two nodes share. */
static void test_pairs(void)
{
    static struct graph g;
    int right = 0, tried = 0, pairs = 0, one_way = 0;

    for (uint64_t seed = 2; tried < GRAPHS; seed += 2) {
        struct job job = {.locals = g.locals, .params.path = PCOLL_PATH_TEMP};

        graph_make(&g, seed); /* of an even seed: not a star */
        if (!graph_prepare(&g) || graph_count_pairs(&g, 0) == 0)
            continue;
        tried++;
        pairs += graph_count_pairs(&g, 0) / 2;
        one_way += graph_count_pairs(&g, 1) / 2;
        job.signature = g.signature;
        job.signature.crossing = g.crossings[0];
        job.algorithm = pcoll_algorithm_find(g.signature.coll, "aggregate");
        right += is_right(&job, seed);
    }
    tap_ok(right == tried && one_way > 0 && one_way < pairs,
           "aggregate: the plans of %d of %d graphs with %d pairs of nodes are right, %d of which "
           "send in one direction",
           right, tried, pairs, one_way);
    graph_end(&g);
}

/* An allgatherv of random blocks side by side. */
static void make_blocks(struct job *job, uint64_t seed)
{
    struct pcoll_signature *s = &job->signature;
    uint64_t random = seed;

    s->coll = PCOLL_ALLGATHERV;
    s->in_place = seed % 3 == 0;
    s->nranks = 2 + (int)(graph_next(&random) % GRAPH_MAX_RANKS);
    for (int r = 0; r < s->nranks; r++) {
        const uint64_t bytes = r == 1 ? 8 : graph_bytes(&random);

        job->blocks[r + 1] = job->blocks[r] + bytes;
        s->bytes = bytes > s->bytes ? bytes : s->bytes;
    }
    s->blocks = job->blocks;
}

/* Blocks that the signature names need no local edges. */
static void test_blocks(void)
{
    int right = 0;

    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        static const char *const names[] = {"direct",     "direct",       "direct_get",
                                            "direct",     "direct",       "direct_shared",
                                            "direct_get", "direct_shared"};
        struct job job = {.algorithm = pcoll_algorithm_find(PCOLL_ALLGATHERV, names[seed % 8]),
                          .params = {.path = seed % 2 ? PCOLL_PATH_TEMP : PCOLL_PATH_USER,
                                     .segment = seed % 4 == 1 ? 16 : 0}};

        make_blocks(&job, seed);
        right += is_right(&job, seed);
    }
    tap_ok(right == GRAPHS, "blocks side by side: the plans of %d of %d calls are right", right,
           GRAPHS);
}

/* The most bytes of any rank in one direction; with those that it keeps. */
static uint64_t max_moved(const struct pcoll_signature *signature, int is_out)
{
    uint64_t most = 0;

    for (int r = 0; r < signature->nranks; r++) {
        struct pcoll_edge edge;
        uint64_t sum = 0;

        for (int i = 0; is_out ? pcoll_edge_out(signature, NULL, r, i, &edge)
                               : pcoll_edge_in(signature, NULL, r, i, &edge);
             i++)
            sum += edge.rank == r && signature->in_place ? 0 : edge.bytes;
        most = sum > most ? sum : most;
    }
    return most;
}

static uint64_t volume_with_kept(const struct pcoll_signature *signature, int is_out)
{
    return pcoll_edges_volume_of(signature, is_out) + pcoll_edges_kept(signature);
}

/* The signature says of uniform edges and of blocks, too, how much the busiest ranks move. */
static void test_volumes(void)
{
    int right = 1;

    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++)
        for (int n = 2; pcoll_coll_has((enum pcoll_coll)coll, PCOLL_EDGES) && n < 9; n++) {
            const struct pcoll_signature s = {
                .coll = (enum pcoll_coll)coll, .nranks = n, .bytes = 10};

            right &= volume_with_kept(&s, 0) == max_moved(&s, 0);
            right &= volume_with_kept(&s, 1) == max_moved(&s, 1);
        }
    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        struct job job = {0};
        const struct pcoll_signature *s = &job.signature;

        make_blocks(&job, seed);
        right &= volume_with_kept(s, 0) >= max_moved(s, 0);
        right &= s->in_place || volume_with_kept(s, 0) == max_moved(s, 0);
        right &= volume_with_kept(s, 0) <= volume_with_kept(s, 1);
        right &= volume_with_kept(s, 1) == max_moved(s, 1);
    }
    tap_ok(right, "what the busiest ranks send and receive follows from patterns and blocks");
}

/* True if receivers should get, where no rank receives or sends more than this. */
static int gets(enum pcoll_coll coll, uint64_t in, uint64_t out, int cores)
{
    const struct pcoll_signature s = {
        .coll = coll, .nranks = 4, .bytes = 1000, .degree = 4, .in_volume = in, .out_volume = out};
    const struct pcoll_machine machine = {
        .L = 1, .o = 1, .G = 1, .rma = 1, .copy = 1, .cores = cores};
    const struct pcoll_params params = {.path = PCOLL_PATH_USER};

    return pcoll_algorithm_find(coll, "direct_get")->cost(&s, &params, &machine) <
           pcoll_algorithm_find(coll, "direct")->cost(&s, &params, &machine);
}

/* On one core, it does not matter who copies; the acknowledgments do. Receivers of a root need
 * several cores, and without a root the ranks need a core each. */
static void test_who_moves(void)
{
    for (int cores = 0; cores < 3; cores++) {
        const int own = cores == 0;

        tap_ok(gets(PCOLL_SCATTERV, 1000, 4000, cores) == (cores != 1) &&
                   gets(PCOLL_ALLGATHERV, 2500, 4000, cores) == own &&
                   gets(PCOLL_NEIGHBOR_ALLTOALL, 2500, 4000, cores) == own,
               "%d cores: receivers get if a root sends and there are several cores, or each has a "
               "core and a rank sends the most",
               cores);
        tap_ok(!gets(PCOLL_ALLTOALLV, 4000, 2500, cores) &&
                   !gets(PCOLL_ALLTOALLV, 4000, 4000, cores),
               "%d cores: senders put if a rank receives the most, or all move the same", cores);
    }
}

/* Slots are longer where blocks are, but the memory for them does not grow with the degree. */
static void test_slots(void)
{
    struct pcoll_signature s = {.coll = PCOLL_NEIGHBOR_ALLTOALLV, .nranks = 100, .typed = 1};
    const struct {
        uint64_t bytes;
        int degree;
        uint64_t slot;
    } cases[] = {
        {PCOLL_EDGE_SLOT, 6, PCOLL_EDGE_SLOT}, {PCOLL_EDGE_SLOT + 1, 6, 2 * PCOLL_EDGE_SLOT},
        {4 << 20, 6, 4 * PCOLL_EDGE_SLOT},     {4 << 20, 1, 16 * PCOLL_EDGE_SLOT},
        {4 << 20, 8, 2 * PCOLL_EDGE_SLOT},     {64 << 20, 99, PCOLL_EDGE_SLOT},
    };
    int right = 1;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        s.bytes = cases[i].bytes;
        s.degree = cases[i].degree;
        s.in_volume = s.out_volume = s.bytes * (uint64_t)s.degree;
        right &= pcoll_edges_slot_bytes(&s) == cases[i].slot;
        right &= s.degree > 32 || pcoll_edges_max_temp(&s, 2) <= 4 << 20;
    }
    s.typed = 0;
    s.bytes = 4 << 20;
    s.degree = 6;
    right &= pcoll_edges_slot_bytes(&s) == 2 * PCOLL_EDGE_SLOT;
    tap_ok(right, "slots hold long blocks of few edges, above all if they are packed");
}

/* Of a block of so many bytes, in slots of PCOLL_EDGE_SLOT. */
static int has_rounds(uint64_t bytes, uint64_t segment, uint64_t expected)
{
    const struct pcoll_signature s = {
        .coll = PCOLL_NEIGHBOR_ALLTOALLV, .nranks = 100, .degree = 99, .bytes = bytes};
    const struct pcoll_params params = {.path = PCOLL_PATH_TEMP, .segment = segment};

    return pcoll_edge_slots_of(&s, NULL, &params).nrounds == expected;
}

static void test_segments(void)
{
    const uint64_t most = PCOLL_MAX_SEGMENTS;

    tap_ok(has_rounds(1, 1, 1) && has_rounds(most, 1, most) &&
               has_rounds(most + 1, 1, most / 2 + 1) && has_rounds(16 << 20, 16, most) &&
               has_rounds(16 << 20, 64 << 10, 256) && has_rounds(16 << 20, 0, 256),
           "a short segment makes %d of a block at most", PCOLL_MAX_SEGMENTS);
    tap_ok(has_rounds(most * PCOLL_EDGE_SLOT, 16, most) &&
               has_rounds(most * PCOLL_EDGE_SLOT + 1, 16, most + 1),
           "unless slots are shorter");
}

/* A ring needs to know the blocks of all ranks. */
static void test_ring(void)
{
    const struct pcoll_algorithm *ring = pcoll_algorithm_find(PCOLL_ALLGATHERV, "ring");
    const struct pcoll_signature s = {
        .coll = PCOLL_ALLGATHERV, .nranks = 3, .bytes = 8, .degree = 2, .in_volume = 16};
    const struct pcoll_machine machine = {.L = 1, .o = 1, .G = 1, .copy = 1};
    const struct pcoll_params params = {.path = PCOLL_PATH_USER};
    struct pcoll_plan *plan = NULL;

    tap_ok(pcoll_generate(ring, &s, NULL, 0, &params, &plan) == PCOLL_UNSUPPORTED &&
               isinf(ring->cost(&s, &params, &machine)),
           "the ring of an allgatherv does not suit edges that differ");
}

static void test_mismatch(void)
{
    static struct graph g;
    int found = 0, tried = 0;

    for (uint64_t seed = 1; tried < 10; seed++) {
        graph_make(&g, seed);
        g.wrong_rank = g.nlinks > 0 ? g.links[0].to : PCOLL_NONE;
        if (g.wrong_rank == PCOLL_NONE)
            continue;
        tried++;
        found += graph_prepare(&g);
    }
    graph_end(&g);
    tap_ok(found == tried, "a rank that is wrong about an edge is found out");
}

/* ---- letters and tables ---- */

static enum pcoll_result combine_alone(void *context, uint64_t *words, int n)
{
    (void)context;
    (void)words;
    (void)n;
    return PCOLL_OK;
}

/* The peer says the same as this rank. */
static enum pcoll_result echo(void *context, const int *ranks, int n, const void *mine,
                              void *theirs, size_t bytes)
{
    (void)ranks;
    *(size_t *)context = bytes;
    memcpy(theirs, mine, (size_t)n * bytes);
    return PCOLL_OK;
}

static char *share_nothing(void *context, size_t bytes)
{
    *(size_t *)context = bytes;
    return NULL;
}

/* Of a rank with an edge in each direction, where others have so many parallel ones, and without
 * `swaps` there is no memory to share. */
static enum pcoll_result tell_beside(int parallel, int swaps, size_t *bytes_p)
{
    struct pcoll_edge in = {.rank = 1, .bytes = 8}, out = {.rank = 1, .bytes = 8};
    struct pcoll_local local = {.nin = 1, .nout = 1, .in = &in, .out = &out};
    struct pcoll_signature s = {.coll = PCOLL_NEIGHBOR_ALLTOALLV, .nranks = 2, .bytes = 8};
    const struct pcoll_bootstrap bootstrap = {.nranks = 2,
                                              .context = bytes_p,
                                              .combine = combine_alone,
                                              .swap = echo,
                                              .share = swaps ? NULL : share_nothing};

    *bytes_p = 0;
    return pcoll_edges_swap(
        &bootstrap, &s, &local,
        (struct pcoll_edges_max){.parallel = parallel, .edges = 2 * (uint64_t)parallel});
}

static void test_letters(void)
{
    size_t bytes;

    tap_ok(tell_beside(1, 1, &bytes) == PCOLL_OK && bytes > 0 && bytes < 200 &&
               tell_beside(1000, 1, &bytes) == PCOLL_OK && bytes < 100000,
           "a letter has room for as many edges as any two ranks share");
    tap_ok(tell_beside(1 << 20, 1, &bytes) == PCOLL_UNSUPPORTED && bytes == 0 &&
               tell_beside(INT_MAX, 1, &bytes) == PCOLL_UNSUPPORTED && bytes == 0,
           "unless a rank's letters would take too much memory");
    tap_ok(tell_beside(1000, 0, &bytes) == PCOLL_ERR_SYSTEM && bytes > 2 * 2000 * 32 &&
               bytes < 2 * 2000 * 50,
           "tables have room for the edges of the rank that has most");
    tap_ok(tell_beside(1 << 20, 0, &bytes) == PCOLL_UNSUPPORTED && bytes == 0 &&
               tell_beside(INT_MAX, 0, &bytes) == PCOLL_UNSUPPORTED && bytes == 0,
           "unless some edges are parallel and all tables would take too much memory");
}

int main(void)
{
    test_graphs();
    test_parts();
    test_pairs();
    test_blocks();
    test_volumes();
    test_who_moves();
    test_slots();
    test_segments();
    test_ring();
    test_mismatch();
    test_letters();
    return tap_done();
}
