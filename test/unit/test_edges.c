/*
 * Edges that differ between ranks: random graphs with several edges between two ranks, edges of a
 * rank to itself, one-way edges, blocks of any size and place, and empty blocks. The ranks tell
 * each other about their edges as in MPI, and the plans are proved and explored. So are those of
 * blocks that lie side by side.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/proof/check.h"
#include "offload/edges.h"
#include "offload/explore/explore.h"
#include "offload/pairs.h"
#include "test/unit/job.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

enum { MOST_RANKS = 9, MOST_EDGES = 4 * MOST_RANKS, GRAPHS = 80, INSTANCES = 36 };

/* An edge of the whole graph. */
struct link {
    int from, to;
    uint64_t bytes;
};

struct graph {
    struct pcoll_signature signature;
    struct pcoll_topology *topology;
    int nranks, nlinks;
    uint64_t seed;
    struct link links[MOST_EDGES];
    struct pcoll_edge in[MOST_RANKS][MOST_EDGES], out[MOST_RANKS][MOST_EDGES];
    struct pcoll_local locals[MOST_RANKS];
    struct pcoll_crossing crossings[MOST_RANKS]; /* as each rank has heard */
    int wrong_rank; /* this rank is wrong about the bytes of an edge; PCOLL_NONE: no rank is */
};

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static uint64_t random_bytes(uint64_t *seed)
{
    static const uint64_t sizes[] = {0, 1, 8, 8, 13, 48, 63, 64, 200};

    return sizes[next(seed) % (sizeof(sizes) / sizeof(sizes[0]))];
}

/* One link between each rank and the root. */
static void add_star(struct graph *g, int is_to_root)
{
    const int root = (int)(next(&g->seed) % (uint64_t)g->nranks);

    g->signature.root = root;
    g->nlinks = g->nranks;
    for (int r = 0; r < g->nranks; r++)
        g->links[r] =
            (struct link){is_to_root ? r : root, is_to_root ? root : r, random_bytes(&g->seed)};
}

static void add_links(struct graph *g)
{
    g->nlinks = (int)(next(&g->seed) % (4 * (uint64_t)g->nranks + 1));
    for (int i = 0; i < g->nlinks; i++) {
        struct link *link = &g->links[i];

        link->from = (int)(next(&g->seed) % (uint64_t)g->nranks);
        link->to = (int)(next(&g->seed) % (uint64_t)g->nranks);
        link->bytes = next(&g->seed) % 4 == 0 ? 8 : random_bytes(&g->seed);
        if (next(&g->seed) % 3 == 0 && i + 1 < g->nlinks) { /* and one back */
            g->links[i + 1] = (struct link){link->to, link->from, random_bytes(&g->seed)};
            i++;
        }
    }
}

static void end_graph(struct graph *g)
{
    pcoll_topology_destroy(g->topology);
    for (int r = 0; r < g->nranks; r++)
        pcoll_pairs_destroy(g->locals[r].pairs);
    memset(g, 0, sizeof(*g));
}

/* Ranks on nodes anywhere, of any size, or all on one. */
static void make_nodes(struct graph *g)
{
    const uint64_t nnodes = 1 + next(&g->seed) % 4;
    int ids[MOST_RANKS];

    for (int r = 0; r < g->nranks; r++)
        ids[r] = (int)(next(&g->seed) % nnodes);
    if (pcoll_topology_create(ids, NULL, g->nranks, &g->topology) != PCOLL_OK)
        abort();
    g->signature.topology = g->topology;
}

static void make_graph(struct graph *g, uint64_t seed)
{
    static const enum pcoll_coll colls[] = {PCOLL_NEIGHBOR_ALLTOALLV, PCOLL_GATHERV,
                                            PCOLL_NEIGHBOR_ALLTOALLV, PCOLL_SCATTERV};

    end_graph(g);
    g->signature.coll = colls[seed % 4];
    g->wrong_rank = PCOLL_NONE;
    g->seed = seed;
    g->nranks = 1 + (int)(next(&g->seed) % MOST_RANKS);
    g->signature.nranks = g->nranks;
    make_nodes(g);
    if (pcoll_coll_has(g->signature.coll, PCOLL_ROOTED))
        add_star(g, g->signature.coll == PCOLL_GATHERV);
    else
        add_links(g);
}

static int by_rank_and_key(const void *left, const void *right)
{
    const struct pcoll_edge *a = left, *b = right;

    return a->rank != b->rank ? a->rank - b->rank : a->key - b->key;
}

/* What the rank knows before it has heard from others. Received blocks lie apart from each other,
 * in either order; blocks that are sent lie anywhere. */
static void make_local(struct graph *g, int rank)
{
    struct pcoll_local *local = &g->locals[rank];
    uint64_t end = next(&g->seed) % 20;

    local->in = g->in[rank];
    local->out = g->out[rank];
    for (int i = 0; i < g->nlinks; i++) {
        const struct link *link = &g->links[i];

        if (link->from == rank)
            local->out[local->nout++] = (struct pcoll_edge){
                .rank = link->to, .key = i, .bytes = link->bytes, .first = next(&g->seed) % 50};
        if (link->to == rank)
            local->in[local->nin++] =
                (struct pcoll_edge){.rank = link->from, .key = i, .bytes = link->bytes};
    }
    for (int i = 0; i < local->nin; i++) {
        struct pcoll_edge *edge = &local->in[rank % 2 == 0 ? i : local->nin - 1 - i];

        edge->first = end + next(&g->seed) % 5;
        end = edge->first + edge->bytes + 1;
    }
    qsort(local->in, (size_t)local->nin, sizeof(*local->in), by_rank_and_key);
    qsort(local->out, (size_t)local->nout, sizeof(*local->out), by_rank_and_key);
    if (rank == g->wrong_rank && local->nin > 0)
        local->in[0].bytes += 1;
}

/* A rank's part in the swap; returns 0 if it ends as it should. */
static int tell_others(struct meeting *meeting, int rank, void *argument)
{
    struct graph *g = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    uint64_t most[] = {(uint64_t)pcoll_edges_most_parallel(&g->locals[rank], rank),
                       (uint64_t)pcoll_pairs_most_traffic(&g->signature, &g->locals[rank], rank)};
    struct pcoll_signature signature = g->signature;
    enum pcoll_result result = PCOLL_OK;

    if (pcoll_agree(&bootstrap, PCOLL_OK, most, 2) == PCOLL_OK)
        result = pcoll_edges_swap(&bootstrap, NULL, &signature, &g->locals[rank],
                                  (struct pcoll_edges_most){(int)most[0], (int)most[1]});
    result = pcoll_agree(&bootstrap, result, NULL, 0);
    g->crossings[rank] = signature.crossing;
    return result != (g->wrong_rank == PCOLL_NONE ? PCOLL_OK : PCOLL_ERR_INVALID);
}

static void find_facts(struct graph *g)
{
    struct pcoll_signature *s = &g->signature;

    for (int r = 0; r < g->nranks; r++) {
        const struct pcoll_local *local = &g->locals[r];
        uint64_t volume = 0;
        int degree = 0;

        for (int i = 0; i < local->nin; i++) {
            s->bytes = local->in[i].bytes > s->bytes ? local->in[i].bytes : s->bytes;
            volume += local->in[i].bytes;
            degree += local->in[i].bytes > 0;
        }
        s->volume = volume > s->volume ? volume : s->volume;
        s->degree = degree > s->degree ? degree : s->degree;
    }
}

static int prepare_graph(struct graph *g)
{
    for (int r = 0; r < g->nranks; r++)
        make_local(g, r);
    find_facts(g);
    for (int r = 0; r < g->nranks; r++)
        pcoll_edges_prepare(&g->signature, &g->locals[r], r);
    return meeting_run_threads(g->nranks, tell_others, g) == 0;
}

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

/* What an in edge says about its peer is what the graph says. */
static int knows_peers(const struct graph *g, int rank)
{
    const struct pcoll_local *local = &g->locals[rank];

    for (int i = 0; i < local->nin; i++) {
        const struct pcoll_edge *in = &local->in[i], *out = g->locals[in->rank].out;

        while (out->rank != rank || out->key != in->key)
            out++;
        if (out->first != in->peer_first || out->peer_first != in->first ||
            (rank != in->rank && out->bytes > 0 &&
             (out->slot != in->slot || out->in_cell != in->in_cell)))
            return 0;
    }
    return 1;
}

/* How many pairs of nodes there are, each counted by its two leaders, and of these such with
 * messages in one direction only. */
static int count_pairs(const struct graph *g, int one_way)
{
    int n = 0;

    for (int r = 0; r < g->nranks; r++) {
        const struct pcoll_pairs *pairs = g->locals[r].pairs;

        for (int i = 0; pairs && i < pairs->count; i++) {
            const struct pcoll_pair *pair = &pairs->pairs[i];

            n += pair->leader == r && (!one_way || pair->sent == 0 || pair->received == 0);
        }
    }
    return n;
}

static void test_graphs(void)
{
    static struct graph g;
    int swapped = 0, user = 0, temp = 0, cut = 0, known = 0;

    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        struct job job = {
            .locals = g.locals,
        };
        int all_known = 1;

        make_graph(&g, seed);
        swapped += prepare_graph(&g);
        for (int r = 0; r < g.nranks; r++)
            all_known = all_known && knows_peers(&g, r);
        known += all_known;
        job.signature = g.signature;
        job.algorithm = pcoll_algorithm_find(g.signature.coll, "direct");
        job.params.path = PCOLL_PATH_USER;
        user += is_right(&job, seed);
        job.params.path = PCOLL_PATH_TEMP;
        temp += is_right(&job, seed);
        job.params.segment = 16;
        cut += is_right(&job, seed);
    }
    tap_ok(swapped == GRAPHS && known == GRAPHS, "%d of %d graphs: ranks know their peers' ends",
           known, GRAPHS);
    tap_ok(user == GRAPHS, "user: the plans of %d of %d graphs are right", user, GRAPHS);
    tap_ok(temp == GRAPHS, "temp: the plans of %d of %d graphs are right", temp, GRAPHS);
    tap_ok(cut == GRAPHS, "temp, segments: the plans of %d of %d graphs are right", cut, GRAPHS);
    end_graph(&g);
}

/* Messages that the edges between two nodes share. */
static void test_pairs(void)
{
    static struct graph g;
    int right = 0, tried = 0, pairs = 0, one_way = 0;

    for (uint64_t seed = 2; tried < GRAPHS; seed += 2) {
        struct job job = {.locals = g.locals, .params.path = PCOLL_PATH_TEMP};

        make_graph(&g, seed); /* of an even seed: not a star */
        if (!prepare_graph(&g) || count_pairs(&g, 0) == 0)
            continue;
        tried++;
        pairs += count_pairs(&g, 0) / 2;
        one_way += count_pairs(&g, 1) / 2;
        job.signature = g.signature;
        job.signature.crossing = g.crossings[0];
        job.algorithm = pcoll_algorithm_find(g.signature.coll, "aggregate");
        right += is_right(&job, seed);
    }
    tap_ok(right == tried && one_way > 0 && one_way < pairs,
           "aggregate: the plans of %d of %d graphs with %d pairs of nodes are right, %d of which "
           "send in one direction",
           right, tried, pairs, one_way);
    end_graph(&g);
}

/* Blocks that the signature names need no local edges. */
static void test_blocks(void)
{
    int right = 0;

    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        struct job job = {.algorithm = pcoll_algorithm_find(PCOLL_ALLGATHERV, "direct"),
                          .signature = {.coll = PCOLL_ALLGATHERV, .in_place = seed % 3 == 0},
                          .params = {.path = seed % 2 ? PCOLL_PATH_TEMP : PCOLL_PATH_USER}};
        struct pcoll_signature *s = &job.signature;
        uint64_t random = seed;

        s->nranks = 2 + (int)(next(&random) % MOST_RANKS);
        job.params.segment = seed % 4 == 1 ? 16 : 0;
        for (int r = 0; r < s->nranks; r++) {
            const uint64_t bytes = r == 1 ? 8 : random_bytes(&random);

            job.blocks[r + 1] = job.blocks[r] + bytes;
            s->bytes = bytes > s->bytes ? bytes : s->bytes;
        }
        s->blocks = job.blocks;
        right += is_right(&job, seed);
    }
    tap_ok(right == GRAPHS, "blocks side by side: the plans of %d of %d calls are right", right,
           GRAPHS);
}

/* Slots are longer where blocks are, but the memory for them does not grow with the degree. */
static void test_slots(void)
{
    struct pcoll_signature s = {.coll = PCOLL_NEIGHBOR_ALLTOALLV, .nranks = 100, .degree = 6};
    const struct {
        uint64_t bytes;
        int degree;
        uint64_t slot;
    } cases[] = {
        {1, 6, PCOLL_EDGE_SLOT},
        {PCOLL_EDGE_SLOT * 4 - 1, 6, PCOLL_EDGE_SLOT},
        {4 << 20, 6, 4 * PCOLL_EDGE_SLOT},
        {PCOLL_EDGE_SLOT * 4, 6, 2 * PCOLL_EDGE_SLOT},
        {4 << 20, 1, 16 * PCOLL_EDGE_SLOT},
        {4 << 20, 8, 2 * PCOLL_EDGE_SLOT},
        {64 << 20, 99, PCOLL_EDGE_SLOT},
    };
    int right = 1;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        s.bytes = cases[i].bytes;
        s.degree = cases[i].degree;
        s.volume = s.bytes * (uint64_t)s.degree;
        right &= pcoll_edges_slot_bytes(&s) == cases[i].slot;
        right &= s.degree > 32 || pcoll_edges_most_temp(&s) <= 4 << 20;
    }
    tap_ok(right, "slots are longer for long blocks of few edges, in at most 4 MiB");
}

/* A ring needs to know the blocks of all ranks. */
static void test_ring(void)
{
    const struct pcoll_algorithm *ring = pcoll_algorithm_find(PCOLL_ALLGATHERV, "ring");
    const struct pcoll_signature s = {
        .coll = PCOLL_ALLGATHERV, .nranks = 3, .bytes = 8, .degree = 2, .volume = 16};
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
        make_graph(&g, seed);
        g.wrong_rank = g.nlinks > 0 ? g.links[0].to : PCOLL_NONE;
        if (g.wrong_rank == PCOLL_NONE)
            continue;
        tried++;
        found += prepare_graph(&g);
    }
    end_graph(&g);
    tap_ok(found == tried, "a rank that is wrong about the bytes of an edge is found out");
}

int main(void)
{
    test_graphs();
    test_pairs();
    test_blocks();
    test_slots();
    test_ring();
    test_mismatch();
    return tap_done();
}
