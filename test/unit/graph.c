/* Random graphs of edges; the contract is in graph.h. */
#include "test/unit/graph.h"

#include <stdlib.h>
#include <string.h>

#include "offload/agree.h"
#include "offload/edges.h"
#include "offload/pairs.h"
#include "test/unit/meeting.h"

uint64_t graph_next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

uint64_t graph_bytes(uint64_t *seed)
{
    static const uint64_t sizes[] = {0, 1, 8, 8, 13, 48, 63, 64, 200};

    return sizes[graph_next(seed) % (sizeof(sizes) / sizeof(sizes[0]))];
}

/* One link between each rank and the root. */
static void add_star(struct graph *g, int is_to_root)
{
    const int root = (int)(graph_next(&g->seed) % (uint64_t)g->nranks);

    g->signature.root = root;
    g->nlinks = g->nranks;
    for (int r = 0; r < g->nranks; r++)
        g->links[r] =
            (struct link){is_to_root ? r : root, is_to_root ? root : r, graph_bytes(&g->seed)};
}

static void add_links(struct graph *g)
{
    g->nlinks = (int)(graph_next(&g->seed) % (4 * (uint64_t)g->nranks + 1));
    for (int i = 0; i < g->nlinks; i++) {
        struct link *link = &g->links[i];

        link->from = (int)(graph_next(&g->seed) % (uint64_t)g->nranks);
        link->to = (int)(graph_next(&g->seed) % (uint64_t)g->nranks);
        link->bytes = graph_next(&g->seed) % 4 == 0 ? 8 : graph_bytes(&g->seed);
        if (graph_next(&g->seed) % 3 == 0 && i + 1 < g->nlinks) { /* and one back */
            g->links[i + 1] = (struct link){link->to, link->from, graph_bytes(&g->seed)};
            i++;
        }
    }
}

/* Each rank sends one block to all. */
static void spread_blocks(struct graph *g)
{
    uint64_t bytes[GRAPH_MAX_RANKS];

    for (int r = 0; r < g->nranks; r++)
        bytes[r] = graph_bytes(&g->seed);
    for (int i = 0; i < g->nlinks; i++)
        g->links[i].bytes = bytes[g->links[i].from];
}

void graph_end(struct graph *g)
{
    pcoll_topology_destroy(g->topology);
    for (int r = 0; r < g->nranks; r++)
        pcoll_pairs_destroy(g->locals[r].pairs);
    memset(g, 0, sizeof(*g));
}

/* Ranks on nodes anywhere, of any size, or all on one. */
static void make_nodes(struct graph *g)
{
    const uint64_t nnodes = 1 + graph_next(&g->seed) % 4;
    int ids[GRAPH_MAX_RANKS];

    for (int r = 0; r < g->nranks; r++)
        ids[r] = (int)(graph_next(&g->seed) % nnodes);
    if (pcoll_topology_create(ids, NULL, g->nranks, &g->topology) != PCOLL_OK)
        abort();
    g->signature.topology = g->topology;
}

void graph_make(struct graph *g, uint64_t seed)
{
    static const enum pcoll_coll colls[] = {PCOLL_NEIGHBOR_ALLTOALLV, PCOLL_GATHERV,
                                            PCOLL_NEIGHBOR_ALLGATHERV, PCOLL_SCATTERV};

    graph_end(g);
    g->signature.coll = colls[seed % 4];
    g->wrong_rank = PCOLL_NONE;
    g->seed = seed;
    g->nranks = 1 + (int)(graph_next(&g->seed) % GRAPH_MAX_RANKS);
    g->signature.nranks = g->nranks;
    make_nodes(g);
    g->shares = seed / 4 % 2 == 0 && !pcoll_can_have_pairs(&g->signature);
    if (pcoll_coll_has(g->signature.coll, PCOLL_ROOTED))
        add_star(g, g->signature.coll == PCOLL_GATHERV);
    else
        add_links(g);
    if (g->signature.coll == PCOLL_NEIGHBOR_ALLGATHERV)
        spread_blocks(g);
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
    const int is_spread = g->signature.coll == PCOLL_NEIGHBOR_ALLGATHERV;
    const uint64_t first = graph_next(&g->seed) % 50;
    uint64_t end = graph_next(&g->seed) % 20, packed = 0;

    local->in = g->in[rank];
    local->out = g->out[rank];
    for (int i = 0; i < g->nlinks; i++) {
        const struct link *link = &g->links[i];

        if (link->from == rank) {
            local->out[local->nout++] = (struct pcoll_edge){
                .rank = link->to,
                .key = i,
                .bytes = link->bytes,
                .first = is_spread                  ? first
                         : g->places == GRAPH_APART ? packed
                                                    : graph_next(&g->seed) % 50};
            packed += link->bytes;
        }
        if (link->to == rank)
            local->in[local->nin++] =
                (struct pcoll_edge){.rank = link->from, .key = i, .bytes = link->bytes};
    }
    for (int i = 0; i < local->nin; i++) {
        struct pcoll_edge *edge = &local->in[rank % 2 == 0 ? i : local->nin - 1 - i];

        edge->first = end + graph_next(&g->seed) % 5;
        end = edge->first + edge->bytes + 1;
    }
    qsort(local->in, (size_t)local->nin, sizeof(*local->in), by_rank_and_key);
    qsort(local->out, (size_t)local->nout, sizeof(*local->out), by_rank_and_key);
    if (rank == g->wrong_rank && g->shares)
        local->nin--;
    else if (rank == g->wrong_rank)
        local->in[0].bytes += 1;
}

/* A rank's part in the swap; returns 0 if it ends as it should. */
static int tell_others(struct meeting *meeting, int rank, void *argument)
{
    struct graph *g = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const struct pcoll_local *local = &g->locals[rank];
    struct pcoll_term max[] = {
        {.value = (uint64_t)pcoll_edges_max_parallel(local, rank)},
        {.value = (uint64_t)pcoll_pairs_max_traffic(&g->signature, local, rank)},
        {.value = (uint64_t)local->nin + (uint64_t)local->nout}};
    struct pcoll_signature signature = g->signature;
    enum pcoll_result result = PCOLL_OK;

    if (g->shares)
        meeting_share(&bootstrap);
    if (pcoll_agree(&bootstrap, PCOLL_ROUND_EDGES, PCOLL_OK, max, 3) == PCOLL_OK)
        result = pcoll_edges_swap(
            &bootstrap, &signature, &g->locals[rank],
            (struct pcoll_edges_max){(int)max[0].value, (int)max[1].value, max[2].value});
    result = pcoll_agree(&bootstrap, PCOLL_ROUND_CALL, result, NULL, 0);
    g->crossings[rank] = signature.crossing;
    return result != (g->wrong_rank == PCOLL_NONE ? PCOLL_OK : PCOLL_ERR_INVALID) ||
           (g->shares && attendee.swaps > 0);
}

static void add_facts(const struct pcoll_edge *edges, int n, int rank, struct pcoll_signature *s,
                      uint64_t *volume_p)
{
    uint64_t volume = 0, kept = 0;
    int degree = 0;

    for (int i = 0; i < n; i++) {
        s->bytes = edges[i].bytes > s->bytes ? edges[i].bytes : s->bytes;
        kept += edges[i].rank == rank ? edges[i].bytes : 0;
        volume += edges[i].rank == rank ? 0 : edges[i].bytes;
        degree += edges[i].rank != rank && edges[i].bytes > 0;
    }
    s->kept = kept > s->kept ? kept : s->kept;
    *volume_p = volume > *volume_p ? volume : *volume_p;
    s->degree = degree > s->degree ? degree : s->degree;
}

/* Bytes, volumes, what is kept and the degree, of the signature. */
static void find_facts(struct graph *g)
{
    struct pcoll_signature *s = &g->signature;

    s->degree = 1;
    for (int r = 0; r < g->nranks; r++) {
        add_facts(g->locals[r].in, g->locals[r].nin, r, s, &s->in_volume);
        add_facts(g->locals[r].out, g->locals[r].nout, r, s, &s->out_volume);
    }
}

int graph_prepare(struct graph *g)
{
    for (int r = 0; r < g->nranks; r++)
        make_local(g, r);
    find_facts(g);
    for (int r = 0; r < g->nranks; r++)
        pcoll_edges_prepare(&g->signature, &g->locals[r], r);
    return meeting_run_threads(g->nranks, tell_others, g) == 0;
}

int graph_knows_peers(const struct graph *g, int rank)
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

int graph_count_pairs(const struct graph *g, int one_way)
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
