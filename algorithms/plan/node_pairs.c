/* Pairs of nodes; the contract is in node_pairs.h. */
#include "algorithms/plan/node_pairs.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "algorithms/util.h"

enum { MIN_EDGES = 2 }; /* that share a message */

bool pcoll_can_have_pairs(const struct pcoll_signature *signature)
{
    const struct pcoll_topology *topology = signature->topology;
    const unsigned traits = pcoll_collective_of(signature)->traits;

    return topology && topology->nnodes > 1 && topology->nnodes < topology->nranks &&
           (traits & (PCOLL_EDGES | PCOLL_ROOTED | PCOLL_VECTOR)) == PCOLL_EDGES;
}

static uint64_t room(uint64_t bytes)
{
    return pcoll_whole_lines(bytes);
}

uint64_t pcoll_in_bank(uint64_t first, uint64_t bytes, int bank)
{
    return first + (uint64_t)bank * room(bytes);
}

/* ---- the traffic of a rank ---- */

static int by_node(const void *left, const void *right)
{
    const struct pcoll_traffic *a = left, *b = right;

    return (a->node > b->node) - (a->node < b->node);
}

bool pcoll_edge_is_far(const struct pcoll_signature *signature, const struct pcoll_edge *edge,
                       int rank)
{
    return edge->bytes > 0 && pcoll_topology_node(signature->topology, edge->rank) !=
                                  pcoll_topology_node(signature->topology, rank);
}

/* Add up adjacent elements for the same node; returns their number. */
static int join(struct pcoll_traffic *list, int n)
{
    int count = 0;

    for (int i = 0; i < n; i++) {
        struct pcoll_traffic *last = list + count - (count > 0);

        if (count == 0 || last->node != list[i].node) {
            list[count++] = list[i];
            continue;
        }
        last->nout += list[i].nout;
        last->nin += list[i].nin;
        last->out_bytes += list[i].out_bytes;
        last->in_bytes += list[i].in_bytes;
    }
    return count;
}

int pcoll_traffic_of(const struct pcoll_signature *signature, const struct pcoll_local *local,
                     int rank, struct pcoll_traffic *list)
{
    const struct pcoll_topology *topology = signature->topology;
    struct pcoll_edge edge;
    int n = 0;

    for (int i = 0; pcoll_edge_out(signature, local, rank, i, &edge); i++)
        if (pcoll_edge_is_far(signature, &edge, rank))
            list[n++] = (struct pcoll_traffic){.node = pcoll_topology_node(topology, edge.rank),
                                               .nout = 1,
                                               .out_bytes = edge.bytes};
    for (int i = 0; pcoll_edge_in(signature, local, rank, i, &edge); i++)
        if (pcoll_edge_is_far(signature, &edge, rank))
            list[n++] = (struct pcoll_traffic){
                .node = pcoll_topology_node(topology, edge.rank), .nin = 1, .in_bytes = edge.bytes};
    if (n > 0)
        qsort(list, (size_t)n, sizeof(*list), by_node);
    return join(list, n);
}

/* ---- the pairs of a node ---- */

static int by_node_and_member(const void *left, const void *right)
{
    const struct pcoll_share *a = left, *b = right;
    const int order = by_node(&a->traffic, &b->traffic);

    return order != 0 ? order : (a->member > b->member) - (a->member < b->member);
}

/* All shares of the node, in order; returns their number. */
static int collect(struct pcoll_node_pairs *all, const struct pcoll_node_traffic *traffic)
{
    int n = 0;

    for (int m = 0; m < traffic->nmembers; m++)
        for (int i = 0; i < traffic->counts[m]; i++)
            all->shares[n++] = (struct pcoll_share){traffic->lists[m][i], m};
    if (n > 0)
        qsort(all->shares, (size_t)n, sizeof(*all->shares), by_node_and_member);
    return n;
}

/* The pair of the first shares, which is kept if it has a message. Returns their number. */
static int add_pair(struct pcoll_node_pairs *all, int first, int end)
{
    const int node = all->shares[first].traffic.node;
    struct pcoll_pair pair = {.node = node, .leader = PCOLL_NONE, .peer = PCOLL_NONE};
    int nout = 0, nin = 0, n = 0;

    for (; first + n < end && all->shares[first + n].traffic.node == node; n++) {
        const struct pcoll_traffic *t = &all->shares[first + n].traffic;

        nout += t->nout;
        nin += t->nin;
        pair.sent += t->out_bytes;
        pair.received += t->in_bytes;
    }
    all->edges += nout;
    all->messages += nout > 0;
    all->bytes += pair.sent;
    if (nout < MIN_EDGES)
        pair.sent = 0;
    if (nin < MIN_EDGES)
        pair.received = 0;
    all->shared += pair.sent;
    if (pair.sent > 0 || pair.received > 0) {
        all->first[all->count] = first;
        all->nshares[all->count] = n;
        all->pairs[all->count++] = pair;
    }
    return n;
}

int pcoll_share_packs(const struct pcoll_share *share, const struct pcoll_pair *pair)
{
    return pair->sent > 0 ? share->traffic.nout : 0;
}

int pcoll_share_unpacks(const struct pcoll_share *share, const struct pcoll_pair *pair)
{
    return pair->received > 0 ? share->traffic.nin : 0;
}

bool pcoll_share_takes_part(const struct pcoll_share *share, const struct pcoll_pair *pair)
{
    return pcoll_share_packs(share, pair) + pcoll_share_unpacks(share, pair) > 0;
}

struct size {
    uint64_t bytes;
    int number;
};

static int by_bytes(const void *left, const void *right)
{
    const struct size *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->number - b->number;
}

static int least_loaded(const struct pcoll_node_pairs *all, int i, const uint64_t *loads)
{
    int best = PCOLL_NONE;

    for (int k = 0; k < all->nshares[i]; k++) {
        const struct pcoll_share *share = &all->shares[all->first[i] + k];

        if (pcoll_share_takes_part(share, &all->pairs[i]) &&
            (best == PCOLL_NONE || loads[share->member] < loads[best]))
            best = share->member;
    }
    return best;
}

/* Give each pair a leader, for now the number of a member, largest pairs first. */
static enum pcoll_result appoint(struct pcoll_node_pairs *all)
{
    struct size *order = malloc(((size_t)all->count + 1) * sizeof(*order));
    uint64_t *loads = calloc((size_t)all->nmembers, sizeof(*loads));

    for (int i = 0; order && i < all->count; i++)
        order[i] = (struct size){all->pairs[i].sent + all->pairs[i].received, i};
    if (order && all->count > 0)
        qsort(order, (size_t)all->count, sizeof(*order), by_bytes);
    for (int i = 0; order && loads && i < all->count; i++) {
        const int member = least_loaded(all, order[i].number, loads);

        all->pairs[order[i].number].leader = member;
        loads[member] += order[i].bytes;
    }
    free(loads);
    free(order);
    return loads && order ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

/* Messages get their places in TEMP, and leaders their ranks. */
static void place_messages(struct pcoll_node_pairs *all, const struct pcoll_topology *topology,
                           int node)
{
    for (int i = 0; i < all->count; i++) {
        struct pcoll_pair *pair = &all->pairs[i];
        uint64_t *used = &all->used[pair->leader];

        pair->leaving = *used;
        pair->arriving = pcoll_in_bank(pair->leaving, pair->sent, 2);
        *used = pcoll_in_bank(pair->arriving, pair->received, 2);
        pair->leader =
            pcoll_topology_rank(topology, pcoll_topology_first(topology, node) + pair->leader);
    }
}

enum pcoll_result pcoll_node_pairs_create(const struct pcoll_signature *signature,
                                          const struct pcoll_node_traffic *traffic,
                                          struct pcoll_node_pairs **pairs_p)
{
    struct pcoll_node_pairs *all = calloc(1, sizeof(*all));
    enum pcoll_result result = PCOLL_ERR_NOMEM;
    size_t n = 1;
    int nshares;

    if (!all)
        return PCOLL_ERR_NOMEM;
    for (int m = 0; m < traffic->nmembers; m++)
        n += (size_t)traffic->counts[m];
    all->nmembers = traffic->nmembers;
    all->shares = calloc(n, sizeof(*all->shares));
    all->pairs = calloc(n, sizeof(*all->pairs));
    all->first = calloc(n, sizeof(*all->first));
    all->nshares = calloc(n, sizeof(*all->nshares));
    all->used = calloc((size_t)all->nmembers, sizeof(*all->used));
    if (all->shares && all->pairs && all->first && all->nshares && all->used) {
        nshares = collect(all, traffic);
        for (int i = 0; i < nshares;)
            i += add_pair(all, i, nshares);
        result = appoint(all);
    }
    if (result != PCOLL_OK) {
        pcoll_node_pairs_destroy(all);
        return result;
    }
    place_messages(all, signature->topology, traffic->node);
    *pairs_p = all;
    return PCOLL_OK;
}

void pcoll_node_pairs_destroy(struct pcoll_node_pairs *all)
{
    if (!all)
        return;
    free(all->shares);
    free(all->pairs);
    free(all->first);
    free(all->nshares);
    free(all->used);
    free(all);
}

struct pcoll_pair *pcoll_pair_find(struct pcoll_pair *pairs, int count, int node)
{
    static_assert(offsetof(struct pcoll_pair, node) == 0, "pairs are compared as ints");
    return count > 0 ? bsearch(&node, pairs, (size_t)count, sizeof(*pairs), pcoll_compare_ints)
                     : NULL;
}
