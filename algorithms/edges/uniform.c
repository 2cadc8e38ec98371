/* Pairs of nodes of uniform edges; the contract is in uniform.h. */
#include "algorithms/edges/uniform.h"

#include <stdbool.h>
#include <stdlib.h>

/* ---- a node ---- */

static int count_edges(const struct pcoll_signature *signature, int rank)
{
    struct pcoll_edge edge;
    int nin = 0, nout = 0;

    while (pcoll_edge_in(signature, NULL, rank, nin, &edge))
        nin++;
    while (pcoll_edge_out(signature, NULL, rank, nout, &edge))
        nout++;
    return nin + nout;
}

static int rank_at(const struct pcoll_signature *signature, int node, int member)
{
    const struct pcoll_topology *topology = signature->topology;

    return pcoll_topology_rank(topology, pcoll_topology_first(topology, node) + member);
}

/* Fills traffic->lists, and counts, which is that of `traffic`. */
static enum pcoll_result list_traffic(const struct pcoll_signature *signature,
                                      const struct pcoll_node_traffic *traffic,
                                      struct pcoll_traffic **lists, int *counts)
{
    for (int m = 0; m < traffic->nmembers; m++) {
        const int rank = rank_at(signature, traffic->node, m);
        const size_t max = (size_t)count_edges(signature, rank) + 1;

        lists[m] = malloc(max * sizeof(*lists[m]));
        if (!lists[m])
            return PCOLL_ERR_NOMEM;
        counts[m] = pcoll_traffic_of(signature, NULL, rank, lists[m]);
    }
    return PCOLL_OK;
}

enum pcoll_result pcoll_uniform_pairs(const struct pcoll_signature *signature, int node,
                                      struct pcoll_node_pairs **pairs_p)
{
    const int nmembers = pcoll_topology_size(signature->topology, node);
    struct pcoll_traffic **lists = calloc((size_t)nmembers, sizeof(*lists));
    int *counts = calloc((size_t)nmembers, sizeof(*counts));
    const struct pcoll_node_traffic traffic = {node, nmembers, counts,
                                               (const struct pcoll_traffic *const *)lists};
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (lists && counts)
        result = list_traffic(signature, &traffic, lists, counts);
    if (result == PCOLL_OK)
        result = pcoll_node_pairs_create(signature, &traffic, pairs_p);
    for (int m = 0; lists && m < nmembers; m++)
        free(lists[m]);
    free(lists);
    free(counts);
    return result;
}

/* ---- a rank ---- */

/* Edges that are sorted, with the nodes of their peers. */
struct item {
    int node;
    struct pcoll_edge edge;
};

static int in_order(const void *left, const void *right)
{
    const struct item *a = left, *b = right;

    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->edge.rank != b->edge.rank)
        return a->edge.rank < b->edge.rank ? -1 : 1;
    return (a->edge.key > b->edge.key) - (a->edge.key < b->edge.key);
}

/* The edges of one direction, sorted; returns their number. */
static int list_edges(const struct pcoll_signature *signature, int rank, bool is_out,
                      struct item *items, struct pcoll_edge *edges)
{
    int n = 0;

    while (is_out ? pcoll_edge_out(signature, NULL, rank, n, &items[n].edge)
                  : pcoll_edge_in(signature, NULL, rank, n, &items[n].edge)) {
        items[n].node = pcoll_topology_node(signature->topology, items[n].edge.rank);
        n++;
    }
    if (n > 0)
        qsort(items, (size_t)n, sizeof(*items), in_order);
    for (int i = 0; i < n; i++)
        edges[i] = items[i].edge;
    return n;
}

/* What the rank knows before others have told it anything. */
static enum pcoll_result prepare(const struct pcoll_signature *signature, int rank,
                                 const struct pcoll_node_pairs *all, struct pcoll_local **local_p)
{
    const size_t room = (size_t)count_edges(signature, rank) + 1;
    struct pcoll_local *local = calloc(1, sizeof(*local) + room * sizeof(struct pcoll_edge));
    struct item *items = malloc(room * sizeof(*items));
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (local && items) {
        local->in = (struct pcoll_edge *)(local + 1);
        local->nin = list_edges(signature, rank, false, items, local->in);
        local->out = local->in + local->nin;
        local->nout = list_edges(signature, rank, true, items, local->out);
        local->in_place = pcoll_is_in_place(signature, NULL, rank);
        result = pcoll_pairs_prepare(signature, local, rank, all);
    }
    free(items);
    if (result == PCOLL_OK)
        *local_p = local;
    else
        free(local);
    return result;
}

void pcoll_uniform_destroy(struct pcoll_local *local)
{
    if (local)
        pcoll_pairs_destroy(local->pairs);
    free(local);
}

/* ---- what others would tell ---- */

/* The peer at the other end of out edges [first, end) tells where they land. */
static enum pcoll_result hear_peer(const struct pcoll_signature *signature,
                                   const struct pcoll_node_pairs *all, int rank,
                                   struct pcoll_edge *out, int n)
{
    struct pcoll_local *peer;
    enum pcoll_result result = prepare(signature, out[0].rank, all, &peer);
    int k = 0;

    if (result != PCOLL_OK)
        return result;
    for (int i = 0; i < n; i++) {
        while (peer->in[k].rank != rank || peer->in[k].key != out[i].key)
            k++;
        out[i].landing = peer->in[k].landing;
    }
    pcoll_uniform_destroy(peer);
    return PCOLL_OK;
}

/* The pair, as the other node sees it, tells who leads it there. */
static void hear_pair(const struct pcoll_node_pairs *all, int own_node, struct pcoll_pair *pair)
{
    const struct pcoll_pair *back = pcoll_pair_find(all->pairs, all->count, own_node);

    pair->peer = back->leader;
    pair->peer_arriving = back->arriving;
}

/* All out edges to that node, which begin with the first one. */
static enum pcoll_result hear_node(const struct pcoll_signature *signature,
                                   struct pcoll_local *local, int rank, int node, int *at_p)
{
    struct pcoll_pair *pair = pcoll_pair_find(local->pairs->pairs, local->pairs->count, node);
    struct pcoll_node_pairs *all;
    enum pcoll_result result = pcoll_uniform_pairs(signature, node, &all);

    if (result != PCOLL_OK)
        return result;
    if (pair)
        hear_pair(all, pcoll_topology_node(signature->topology, rank), pair);
    while (result == PCOLL_OK && *at_p < local->nout) {
        struct pcoll_edge *out = &local->out[*at_p];
        int n = 1;

        if (pcoll_topology_node(signature->topology, out->rank) != node)
            break;
        while (*at_p + n < local->nout && out[n].rank == out->rank)
            n++;
        if (out->rank != rank)
            result = hear_peer(signature, all, rank, out, n);
        *at_p += n;
    }
    pcoll_node_pairs_destroy(all);
    return result;
}

enum pcoll_result pcoll_uniform_create(const struct pcoll_signature *signature, int rank,
                                       struct pcoll_local **local_p)
{
    const int own_node = pcoll_topology_node(signature->topology, rank);
    struct pcoll_node_pairs *all;
    struct pcoll_local *local;
    enum pcoll_result result = pcoll_uniform_pairs(signature, own_node, &all);

    if (result != PCOLL_OK)
        return result;
    result = prepare(signature, rank, all, &local);
    pcoll_node_pairs_destroy(all);
    if (result != PCOLL_OK)
        return result;
    for (int at = 0; result == PCOLL_OK && at < local->nout;)
        result = hear_node(signature, local, rank,
                           pcoll_topology_node(signature->topology, local->out[at].rank), &at);
    if (result == PCOLL_OK)
        *local_p = local;
    else
        pcoll_uniform_destroy(local);
    return result;
}
