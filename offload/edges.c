/* The swap between the ends of edges; the contract is in edges.h. */
#include "offload/edges.h"

#include <stdbool.h>
#include <stdlib.h>

#include "algorithms/util.h"
#include "offload/agree.h"
#include "offload/pairs.h"

/* One end of an edge, as its rank tells the rank at the other end. */
struct end {
    uint64_t bytes, first, slot, landing;
    int32_t rank; /* at the other end */
    uint32_t key : 31, in_cell : 1;
};

struct letter {
    int32_t nin, nout;
    int32_t leader, unused; /* of the pair of both nodes on this one; PCOLL_NONE: this rank has no
                             * block in its messages */
    uint64_t arriving;      /* where messages of the pair arrive there */
    struct end ends[];      /* [2 * max_parallel]: from the first one on those of in edges, from the
                             * middle on those of out edges */
};

/* What a rank writes for all others where ranks share memory. */
struct table {
    int32_t nin, nout;
    struct end ends[]; /* [nin + nout]: those of in edges, then those of out edges */
};

struct swap {
    const struct pcoll_topology *topology;
    struct pcoll_local *local;
    int rank, max_parallel;
    char *tables; /* [nranks of the bootstrap]; NULL: there are letters */
    size_t table_bytes;
    int *ranks; /* [nranks]: all peers, ascending */
    int nranks;
    char *mine, *theirs; /* [nranks]: letters */
    size_t letter_bytes;
};

/* The edges to one peer, which are adjacent. */
struct bundle {
    struct pcoll_edge *edges;
    int count;
};

static struct bundle next_bundle(struct pcoll_edge *edges, int n)
{
    struct bundle bundle = {edges, n > 0};

    while (bundle.count < n && edges[bundle.count].rank == edges[0].rank)
        bundle.count++;
    return bundle;
}

/* Those of `edges` from *at_p on that lead to `rank`, which no earlier call has skipped. */
static struct bundle take_bundle(struct pcoll_edge *edges, int n, int rank, int *at_p)
{
    struct bundle bundle = {edges + *at_p, 0};

    if (*at_p < n && edges[*at_p].rank == rank) {
        bundle = next_bundle(edges + *at_p, n - *at_p);
        *at_p += bundle.count;
    }
    return bundle;
}

static int max_parallel_of(struct pcoll_edge *edges, int n, int rank)
{
    int max = 0;

    for (int at = 0; at < n;) {
        const struct bundle bundle = next_bundle(edges + at, n - at);

        if (bundle.edges[0].rank != rank && bundle.count > max)
            max = bundle.count;
        at += bundle.count;
    }
    return max;
}

int pcoll_edges_max_parallel(const struct pcoll_local *local, int rank)
{
    const int in = max_parallel_of(local->in, local->nin, rank);
    const int out = max_parallel_of(local->out, local->nout, rank);

    return in > out ? in : out;
}

static struct letter *letter_at(const struct swap *s, char *letters, int i)
{
    return (struct letter *)(void *)(letters + (size_t)i * s->letter_bytes);
}

static void write_ends(struct end *ends, const struct pcoll_edge *edges, int n)
{
    for (int i = 0; i < n; i++)
        ends[i] = (struct end){.bytes = edges[i].bytes,
                               .first = edges[i].first,
                               .slot = edges[i].slot,
                               .landing = edges[i].landing,
                               .rank = edges[i].rank,
                               .key = (uint32_t)edges[i].key & INT32_MAX,
                               .in_cell = edges[i].in_cell};
}

/* The peer's ends of these edges. */
static enum pcoll_result read_ends(const struct bundle *bundle, const struct end *ends, int nends,
                                   bool is_out)
{
    if (nends != bundle->count)
        return PCOLL_ERR_INVALID;
    for (int i = 0; i < nends; i++) {
        struct pcoll_edge *edge = &bundle->edges[i];

        if (ends[i].key != (uint32_t)edge->key || ends[i].bytes != edge->bytes)
            return PCOLL_ERR_INVALID;
        edge->peer_first = ends[i].first;
        if (is_out) {
            edge->slot = ends[i].slot;
            edge->landing = ends[i].landing;
            edge->in_cell = ends[i].in_cell;
        }
    }
    return PCOLL_OK;
}

/* The next rank of both lists, or PCOLL_NONE at the end. */
static int next_rank(const struct pcoll_local *local, int in, int out)
{
    if (in == local->nin)
        return out == local->nout ? PCOLL_NONE : local->out[out].rank;
    if (out == local->nout || local->in[in].rank < local->out[out].rank)
        return local->in[in].rank;
    return local->out[out].rank;
}

/* The pair of the nodes of this rank and of the peer; NULL: there is none. */
static struct pcoll_pair *pair_with(const struct swap *s, int rank)
{
    const struct pcoll_pairs *pairs = s->local->pairs;

    return pairs
               ? pcoll_pair_find(pairs->pairs, pairs->count, pcoll_topology_node(s->topology, rank))
               : NULL;
}

static void write_letter(const struct swap *s, int rank, const struct bundle *sources,
                         const struct bundle *targets, struct letter *letter)
{
    const struct pcoll_pair *pair = pair_with(s, rank);

    letter->nin = sources->count;
    letter->nout = targets->count;
    write_ends(letter->ends, sources->edges, sources->count);
    write_ends(letter->ends + s->max_parallel, targets->edges, targets->count);
    letter->leader = pair ? pair->leader : PCOLL_NONE;
    letter->arriving = pair ? pair->arriving : 0;
}

static enum pcoll_result read_letter(const struct swap *s, int rank, const struct bundle *sources,
                                     const struct bundle *targets, const struct letter *letter)
{
    struct pcoll_pair *pair = pair_with(s, rank);
    enum pcoll_result result =
        read_ends(sources, letter->ends + s->max_parallel, letter->nout, false);

    if (pair && letter->leader != PCOLL_NONE) {
        pair->peer = letter->leader;
        pair->peer_arriving = letter->arriving;
    }
    return result == PCOLL_OK ? read_ends(targets, letter->ends, letter->nin, true) : result;
}

/* Visit the peers in ascending order: write a letter to each, or read the one from it. Edges of a
 * rank to itself are matched on the way. */
static enum pcoll_result visit_peers(struct swap *s, bool is_reading)
{
    struct pcoll_local *local = s->local;
    enum pcoll_result result = PCOLL_OK;
    int in = 0, out = 0, rank;

    s->nranks = 0;
    while (result == PCOLL_OK && (rank = next_rank(local, in, out)) != PCOLL_NONE) {
        const struct bundle sources = take_bundle(local->in, local->nin, rank, &in);
        const struct bundle targets = take_bundle(local->out, local->nout, rank, &out);
        struct letter *letter;

        if (rank == s->rank)
            continue;
        letter = letter_at(s, is_reading ? s->theirs : s->mine, s->nranks);
        s->ranks[s->nranks++] = rank;
        if (is_reading)
            result = read_letter(s, rank, &sources, &targets, letter);
        else
            write_letter(s, rank, &sources, &targets, letter);
    }
    return result;
}

/* The edges of a rank to itself. */
static enum pcoll_result match_own(const struct swap *s)
{
    struct pcoll_edge *in = s->local->in, *out = s->local->out;
    int i = 0, o = 0;

    while (i < s->local->nin && in[i].rank != s->rank)
        i++;
    while (o < s->local->nout && out[o].rank != s->rank)
        o++;
    for (; i < s->local->nin && in[i].rank == s->rank; i++, o++) {
        if (o == s->local->nout || out[o].rank != s->rank || in[i].key != out[o].key ||
            in[i].bytes != out[o].bytes)
            return PCOLL_ERR_INVALID;
        in[i].peer_first = out[o].first;
        out[o].peer_first = in[i].first;
    }
    return o < s->local->nout && out[o].rank == s->rank ? PCOLL_ERR_INVALID : PCOLL_OK;
}

static enum pcoll_result swap_letters(struct swap *s, const struct pcoll_bootstrap *bootstrap)
{
    enum pcoll_result result = visit_peers(s, false);

    if (result == PCOLL_OK)
        result = bootstrap->swap(bootstrap->context, s->ranks, s->nranks, s->mine, s->theirs,
                                 s->letter_bytes);
    if (result == PCOLL_OK)
        result = visit_peers(s, true);
    return result == PCOLL_OK ? match_own(s) : result;
}

/* ---- tables ---- */

static struct table *table_of(const struct swap *s, int rank)
{
    return (struct table *)(void *)(s->tables + (size_t)rank * s->table_bytes);
}

static void write_table(const struct swap *s)
{
    const struct pcoll_local *local = s->local;
    struct table *table = table_of(s, s->rank);

    table->nin = local->nin;
    table->nout = local->nout;
    write_ends(table->ends, local->in, local->nin);
    write_ends(table->ends + local->nin, local->out, local->nout);
}

static int by_rank(const void *left, const void *right)
{
    return pcoll_compare_ints(&((const struct end *)left)->rank,
                              &((const struct end *)right)->rank);
}

/* The first of *count_p ends to `rank`, among n. Where each rank has an edge with each, the first
 * look finds it. */
static const struct end *find_ends(const struct end *ends, int n, int rank, int *count_p)
{
    const struct end key = {.rank = rank}, *first = rank < n ? &ends[rank] : NULL, *after;

    if (first == NULL || first->rank != rank)
        first = bsearch(&key, ends, (size_t)n, sizeof(key), by_rank);
    *count_p = 0;
    if (first == NULL)
        return NULL;
    while (first > ends && first[-1].rank == rank)
        first--;
    for (after = first; after < ends + n && after->rank == rank; after++)
        ++*count_p;
    return first;
}

static enum pcoll_result read_tables(const struct swap *s, struct pcoll_edge *edges, int n,
                                     bool is_out)
{
    enum pcoll_result result = PCOLL_OK;

    for (int at = 0; at < n && result == PCOLL_OK;) {
        const struct bundle bundle = next_bundle(edges + at, n - at);
        const struct table *table = table_of(s, bundle.edges->rank);
        int count;
        const struct end *ends =
            is_out ? find_ends(table->ends, table->nin, s->rank, &count)
                   : find_ends(table->ends + table->nin, table->nout, s->rank, &count);

        result = read_ends(&bundle, ends, count, is_out);
        at += bundle.count;
    }
    return result;
}

/* Collective: all ranks get the same result. */
static enum pcoll_result share_tables(struct swap *s, const struct pcoll_bootstrap *bootstrap,
                                      uint64_t max_edges)
{
    const size_t nranks = (size_t)bootstrap->nranks;

    s->table_bytes = pcoll_whole_lines(sizeof(struct table) + max_edges * sizeof(struct end));
    if (s->max_parallel > 1 && s->table_bytes > PCOLL_LETTERS_BYTES / nranks)
        return PCOLL_UNSUPPORTED;
    s->tables = bootstrap->share(bootstrap->context, nranks * s->table_bytes);
    return s->tables != NULL ? PCOLL_OK : PCOLL_ERR_SYSTEM;
}

static enum pcoll_result swap_by_tables(struct swap *s, const struct pcoll_bootstrap *bootstrap,
                                        uint64_t max_edges)
{
    struct pcoll_local *local = s->local;
    enum pcoll_result result = share_tables(s, bootstrap, max_edges);

    if (result != PCOLL_OK)
        return result;
    write_table(s);
    result = pcoll_agree(bootstrap, PCOLL_ROUND_LETTERS, PCOLL_OK, NULL, 0);
    if (result == PCOLL_OK)
        result = read_tables(s, local->in, local->nin, false);
    if (result == PCOLL_OK)
        result = read_tables(s, local->out, local->nout, true);
    bootstrap->unshare(bootstrap->context);
    return result;
}

/* ---- the whole ---- */

/* Collective: the crossing becomes that of all ranks. */
static enum pcoll_result agree_on_crossing(const struct pcoll_bootstrap *bootstrap,
                                           enum pcoll_result mine, struct pcoll_crossing *crossing)
{
    enum { DEGREE, MESSAGES, LED, BYTES, SHARED, TEMP, EDGES, NTERMS };
    struct pcoll_term terms[NTERMS] = {
        [DEGREE] = {.kind = PCOLL_TERM_MAX, .value = (uint64_t)crossing->degree},
        [MESSAGES] = {.kind = PCOLL_TERM_MAX, .value = (uint64_t)crossing->messages},
        [LED] = {.kind = PCOLL_TERM_MAX, .value = (uint64_t)crossing->led},
        [BYTES] = {.kind = PCOLL_TERM_MAX, .value = crossing->bytes},
        [SHARED] = {.kind = PCOLL_TERM_MAX, .value = crossing->shared},
        [TEMP] = {.kind = PCOLL_TERM_MAX, .value = crossing->temp},
        [EDGES] = {.kind = PCOLL_TERM_MAX, .value = (uint64_t)crossing->edges},
    };
    const enum pcoll_result result = pcoll_agree(bootstrap, PCOLL_ROUND_PAIRS, mine, terms, NTERMS);

    *crossing = (struct pcoll_crossing){.degree = (int)terms[DEGREE].value,
                                        .messages = (int)terms[MESSAGES].value,
                                        .led = (int)terms[LED].value,
                                        .bytes = terms[BYTES].value,
                                        .shared = terms[SHARED].value,
                                        .temp = terms[TEMP].value,
                                        .edges = (int)terms[EDGES].value};
    return result;
}

/* The part that the ranks of a node do, and what all of them see of it. */
static enum pcoll_result swap_pairs(const struct pcoll_bootstrap *bootstrap,
                                    struct pcoll_pairs_swap *pairs,
                                    struct pcoll_signature *signature, struct pcoll_local *local)
{
    const enum pcoll_result result = pcoll_pairs_swap_run(pairs, bootstrap, signature, local);
    struct pcoll_crossing crossing = {0};

    if (result == PCOLL_OK)
        crossing = local->pairs->crossing;
    signature->crossing = crossing;
    return agree_on_crossing(bootstrap, result, &signature->crossing);
}

/* All letters have room for the most parallel edges. */
static enum pcoll_result allocate(struct swap *s)
{
    const size_t room = (size_t)s->local->nin + (size_t)s->local->nout + 1;

    s->letter_bytes = sizeof(struct letter) + 2 * (size_t)s->max_parallel * sizeof(struct end);
    if (s->max_parallel > 1 && s->letter_bytes > PCOLL_LETTERS_BYTES / room)
        return PCOLL_UNSUPPORTED;
    s->ranks = malloc(room * sizeof(*s->ranks));
    s->mine = calloc(room, s->letter_bytes);
    s->theirs = calloc(room, s->letter_bytes);
    return s->ranks && s->mine && s->theirs ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

static enum pcoll_result swap_by_letters(struct swap *s, const struct pcoll_bootstrap *bootstrap,
                                         struct pcoll_signature *signature, int max_traffic)
{
    const bool has_pairs = max_traffic > 0 && pcoll_can_have_pairs(signature);
    struct pcoll_pairs_swap pairs = {.count = 0};
    enum pcoll_result result = allocate(s);

    if (result == PCOLL_OK && has_pairs)
        result = pcoll_pairs_swap_init(&pairs, signature, s->local, s->rank, max_traffic);
    result = pcoll_agree(bootstrap, PCOLL_ROUND_LETTERS, result, NULL, 0);
    if (result == PCOLL_OK && has_pairs)
        result = swap_pairs(bootstrap, &pairs, signature, s->local);
    if (result == PCOLL_OK)
        result = swap_letters(s, bootstrap);
    pcoll_pairs_swap_fini(&pairs);
    free(s->ranks);
    free(s->mine);
    free(s->theirs);
    return result;
}

enum pcoll_result pcoll_edges_swap(const struct pcoll_bootstrap *bootstrap,
                                   struct pcoll_signature *signature, struct pcoll_local *local,
                                   struct pcoll_edges_max max)
{
    struct swap s = {.topology = signature->topology,
                     .local = local,
                     .rank = bootstrap->rank,
                     .max_parallel = max.parallel};

    return bootstrap->share ? swap_by_tables(&s, bootstrap, max.edges)
                            : swap_by_letters(&s, bootstrap, signature, max.traffic);
}
