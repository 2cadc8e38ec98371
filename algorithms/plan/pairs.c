/* Pairs as a rank knows them; the contract is in pairs.h. */
#include "algorithms/plan/pairs.h"

#include <stdbool.h>
#include <stdlib.h>

static struct pcoll_pairs *allocate(int count, int nmembers)
{
    struct pcoll_pairs *pairs =
        calloc(1, sizeof(*pairs) + (size_t)count * sizeof(struct pcoll_pair) +
                      2 * (size_t)nmembers * sizeof(struct pcoll_member));

    if (pairs) {
        pairs->pairs = (struct pcoll_pair *)(pairs + 1);
        pairs->members = (struct pcoll_member *)(pairs->pairs + count);
        pairs->leaders = pairs->members + nmembers;
    }
    return pairs;
}

void pcoll_pairs_destroy(struct pcoll_pairs *pairs)
{
    free(pairs);
}

/* Of pair i: the share of the member, or NULL, and where its blocks begin in what arrives. */
static const struct pcoll_share *share_of(const struct pcoll_node_pairs *all, int i, int member,
                                          uint64_t *first_p)
{
    const struct pcoll_share *share = &all->shares[all->first[i]];

    *first_p = 0;
    for (int k = 0; k < all->nshares[i] && share[k].member <= member; k++) {
        if (share[k].member == member)
            return &share[k];
        *first_p += share[k].traffic.in_bytes;
    }
    return NULL;
}

static void count_blocks(struct pcoll_member *member, const struct pcoll_pair *pair,
                         const struct pcoll_share *share)
{
    member->packs += pcoll_share_packs(share, pair);
    member->unpacks += pcoll_share_unpacks(share, pair);
}

/* Keep the elements of other ranks with blocks, of one for each member of the node of this rank;
 * returns their number. */
static int keep_others(struct pcoll_member *list, int nmembers,
                       const struct pcoll_topology *topology, int rank)
{
    const int first = pcoll_topology_first(topology, pcoll_topology_node(topology, rank));
    int n = 0;

    for (int m = 0; m < nmembers; m++) {
        struct pcoll_member member = list[m];

        member.rank = pcoll_topology_rank(topology, first + m);
        if (member.rank != rank && member.packs + member.unpacks > 0)
            list[n++] = member;
    }
    return n;
}

/* Take over the pairs in which the member takes part. next[i] becomes where its first block arrives
 * in the message of its pair i. */
static void take_pairs(struct pcoll_pairs *pairs, const struct pcoll_node_pairs *all,
                       const struct pcoll_topology *topology, int rank, uint64_t *next)
{
    const int first = pcoll_topology_first(topology, pcoll_topology_node(topology, rank));
    const int member = pcoll_topology_place(topology, rank) - first;

    for (int i = 0; i < all->count; i++) {
        const struct pcoll_share *share = share_of(all, i, member, &next[pairs->count]);
        const struct pcoll_pair *pair = &all->pairs[i];

        if (!share || !pcoll_share_takes_part(share, pair))
            continue;
        count_blocks(&pairs->leaders[pcoll_topology_place(topology, pair->leader) - first], pair,
                     share);
        pairs->pairs[pairs->count++] = *pair;
    }
    pairs->nleaders = keep_others(pairs->leaders, all->nmembers, topology, rank);
}

/* Whose blocks are in messages of pairs that this rank leads. */
static void take_members(struct pcoll_pairs *pairs, const struct pcoll_node_pairs *all,
                         const struct pcoll_topology *topology, int rank)
{
    for (int i = 0; i < all->count; i++) {
        const struct pcoll_pair *pair = &all->pairs[i];

        for (int k = 0; pair->leader == rank && k < all->nshares[i]; k++) {
            const struct pcoll_share *share = &all->shares[all->first[i] + k];

            count_blocks(&pairs->members[share->member], pair, share);
        }
        pairs->crossing.led += pair->leader == rank;
    }
    pairs->nmembers = keep_others(pairs->members, all->nmembers, topology, rank);
}

/* Which message the edges of one direction share. Returns the number of edges to other nodes. */
static int set_pairs(const struct pcoll_signature *signature, const struct pcoll_pairs *pairs,
                     struct pcoll_edge *edges, int n, int rank, bool is_out)
{
    int nfar = 0;

    for (int i = 0; i < n; i++) {
        const struct pcoll_pair *pair = NULL;

        if (pcoll_edge_is_far(signature, &edges[i], rank)) {
            pair = pcoll_pair_find(pairs->pairs, pairs->count,
                                   pcoll_topology_node(signature->topology, edges[i].rank));
            nfar++;
        }
        edges[i].pair = PCOLL_NONE;
        if (pair && (is_out ? pair->sent : pair->received) > 0)
            edges[i].pair = (int)(pair - pairs->pairs);
    }
    return nfar;
}

/* Where in edges arrive; `end` is the end of the messages in TEMP. Returns the end of all. */
static uint64_t set_landings(struct pcoll_edge *in, int nin, int rank, uint64_t end, uint64_t *next)
{
    for (int i = 0; i < nin; i++) {
        if (in[i].pair != PCOLL_NONE) {
            in[i].landing = next[in[i].pair];
            next[in[i].pair] += in[i].bytes;
        } else if (in[i].bytes > 0 && in[i].rank != rank && !in[i].in_cell) {
            in[i].landing = end;
            end = pcoll_in_bank(end, in[i].bytes, 2);
        }
    }
    return end;
}

enum pcoll_result pcoll_pairs_prepare(const struct pcoll_signature *signature,
                                      struct pcoll_local *local, int rank,
                                      const struct pcoll_node_pairs *all)
{
    const struct pcoll_topology *topology = signature->topology;
    const int member = pcoll_topology_place(topology, rank) -
                       pcoll_topology_first(topology, pcoll_topology_node(topology, rank));
    struct pcoll_pairs *pairs = allocate(all->count, all->nmembers);
    uint64_t *next = calloc((size_t)all->count + 1, sizeof(*next));
    int nin, nout;

    if (!pairs || !next) {
        free(pairs);
        free(next);
        return PCOLL_ERR_NOMEM;
    }
    take_pairs(pairs, all, topology, rank, next);
    take_members(pairs, all, topology, rank);
    nin = set_pairs(signature, pairs, local->in, local->nin, rank, false);
    nout = set_pairs(signature, pairs, local->out, local->nout, rank, true);
    pairs->temp_bytes = set_landings(local->in, local->nin, rank, all->used[member], next);
    pairs->crossing.degree = nin > nout ? nin : nout;
    pairs->crossing.edges = all->edges;
    pairs->crossing.messages = all->messages;
    pairs->crossing.bytes = all->bytes;
    pairs->crossing.shared = all->shared;
    pairs->crossing.temp = pairs->temp_bytes;
    free(next);
    local->pairs = pairs;
    return PCOLL_OK;
}
