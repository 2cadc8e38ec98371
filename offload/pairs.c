/* The swap of traffic within nodes; the contract is in pairs.h. */
#include "offload/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/util.h"

struct letter {
    int32_t count, unused;
    struct pcoll_traffic traffic[];
};

static int member_rank(const struct pcoll_topology *topology, int node, int member)
{
    return pcoll_topology_rank(topology, pcoll_topology_first(topology, node) + member);
}

int pcoll_pairs_max_traffic(const struct pcoll_signature *signature,
                            const struct pcoll_local *local, int rank)
{
    const int others = signature->topology ? signature->topology->nnodes - 1 : 0;
    int n = 0;

    for (int i = 0; i < local->nin && n < others; i++)
        n += pcoll_edge_is_far(signature, &local->in[i], rank);
    for (int i = 0; i < local->nout && n < others; i++)
        n += pcoll_edge_is_far(signature, &local->out[i], rank);
    return n;
}

enum pcoll_result pcoll_pairs_swap_init(struct pcoll_pairs_swap *s,
                                        const struct pcoll_signature *signature,
                                        const struct pcoll_local *local, int rank, int max)
{
    const struct pcoll_topology *topology = signature->topology;
    const int node = pcoll_topology_node(topology, rank);
    const int nmembers = pcoll_topology_size(topology, node);

    s->count = 0;
    s->letter_bytes = sizeof(struct letter) + (size_t)max * sizeof(struct pcoll_traffic);
    s->ranks = malloc((size_t)nmembers * sizeof(*s->ranks));
    s->own = malloc(((size_t)local->nin + (size_t)local->nout + 1) * sizeof(*s->own));
    s->mine = calloc((size_t)nmembers, s->letter_bytes);
    s->theirs = calloc((size_t)nmembers, s->letter_bytes);
    if (!s->ranks || !s->own || !s->mine || !s->theirs) {
        pcoll_pairs_swap_fini(s);
        return PCOLL_ERR_NOMEM;
    }
    for (int m = 0; m < nmembers; m++)
        if (member_rank(topology, node, m) != rank)
            s->ranks[s->count++] = member_rank(topology, node, m);
    s->nown = pcoll_traffic_of(signature, local, rank, s->own);
    qsort(s->ranks, (size_t)s->count, sizeof(*s->ranks), pcoll_compare_ints);
    return PCOLL_OK;
}

void pcoll_pairs_swap_fini(struct pcoll_pairs_swap *s)
{
    free(s->ranks);
    free(s->own);
    free(s->mine);
    free(s->theirs);
    memset(s, 0, sizeof(*s));
}

static struct letter *letter_at(const struct pcoll_pairs_swap *s, char *letters, int i)
{
    return (struct letter *)(void *)(letters + (size_t)i * s->letter_bytes);
}

/* The letter from that other rank of the node. */
static const struct letter *letter_of(const struct pcoll_pairs_swap *s, int rank)
{
    int i = 0;

    while (s->ranks[i] != rank)
        i++;
    return letter_at(s, s->theirs, i);
}

/* From the letters of all ranks of the node. */
static enum pcoll_result prepare(const struct pcoll_pairs_swap *s,
                                 const struct pcoll_signature *signature, int rank,
                                 struct pcoll_local *local)
{
    const int node = pcoll_topology_node(signature->topology, rank);
    const int nmembers = s->count + 1;
    const struct pcoll_traffic **lists = malloc((size_t)nmembers * sizeof(const void *));
    int *counts = malloc((size_t)nmembers * sizeof(*counts));
    const struct pcoll_node_traffic traffic = {node, nmembers, counts, lists};
    enum pcoll_result result = PCOLL_ERR_NOMEM;
    struct pcoll_node_pairs *all;

    for (int m = 0; lists && counts && m < nmembers; m++) {
        const int member = member_rank(signature->topology, node, m);

        lists[m] = member == rank ? s->own : letter_of(s, member)->traffic;
        counts[m] = member == rank ? s->nown : letter_of(s, member)->count;
    }
    if (lists && counts)
        result = pcoll_node_pairs_create(signature, &traffic, &all);
    free(lists);
    free(counts);
    if (result != PCOLL_OK)
        return result;
    result = pcoll_pairs_prepare(signature, local, rank, all);
    pcoll_node_pairs_destroy(all);
    return result;
}

enum pcoll_result pcoll_pairs_swap_run(struct pcoll_pairs_swap *s,
                                       const struct pcoll_bootstrap *bootstrap,
                                       const struct pcoll_signature *signature,
                                       struct pcoll_local *local)
{
    enum pcoll_result result = PCOLL_OK;

    for (int i = 0; i < s->count; i++) {
        struct letter *letter = letter_at(s, s->mine, i);

        letter->count = s->nown;
        memcpy(letter->traffic, s->own, (size_t)s->nown * sizeof(*s->own));
    }
    if (s->count > 0)
        result = bootstrap->swap(bootstrap->context, s->ranks, s->count, s->mine, s->theirs,
                                 s->letter_bytes);
    return result == PCOLL_OK ? prepare(s, signature, bootstrap->rank, local) : result;
}
