/* Nodes and their leaders; the contract is in topology.h. */
#include "algorithms/plan/topology.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const pcoll_level_names[PCOLL_NUM_LEVELS] = {
    [PCOLL_LEVEL_ANY] = "any",
    [PCOLL_LEVEL_SAME_CACHE] = "same_cache",
    [PCOLL_LEVEL_OTHER_CACHE] = "other_cache",
    [PCOLL_LEVEL_OTHER_SOCKET] = "other_socket",
    [PCOLL_LEVEL_OTHER_HOST] = "other_host",
};

/* ---- nodes and places ---- */

/* Those of a formula that ranks are dealt out to. */
static int dealt_nodes(const struct pcoll_topology *topology)
{
    return topology->parts > 0 ? topology->nnodes / topology->parts : topology->nnodes;
}

/* Ranks dealt out in one round. */
static int64_t cycle_of(const struct pcoll_topology *topology)
{
    return (int64_t)topology->run * dealt_nodes(topology);
}

/* The node, or team of a level, that has a place: the last one that begins at it or before. */
static int node_at(const struct pcoll_topology *topology, int place)
{
    int low = 0, high = topology->nnodes;

    while (high - low > 1) {
        const int middle = low + (high - low) / 2;

        if (pcoll_topology_first(topology, middle) <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int node_dealt(const struct pcoll_topology *topology, int rank)
{
    return rank / topology->run % dealt_nodes(topology);
}

int pcoll_topology_node(const struct pcoll_topology *topology, int rank)
{
    if (topology == NULL)
        return 0;
    if (topology->run > 0 && topology->parts == 0)
        return node_dealt(topology, rank);
    return node_at(topology, pcoll_topology_place(topology, rank));
}

/* The place of the leader of a node of a formula: each node before has had so many whole rounds,
 * and its part of the last. */
static int first_dealt(const struct pcoll_topology *topology, int node)
{
    const int64_t whole = topology->nranks / cycle_of(topology);
    const int64_t rest = topology->nranks % cycle_of(topology);
    const int64_t last = (int64_t)node * topology->run;

    return (int)(whole * last + (last < rest ? last : rest));
}

int pcoll_topology_first(const struct pcoll_topology *topology, int node)
{
    const int parts = topology->parts;

    if (topology->run == 0)
        return topology->first[node];
    if (parts == 0)
        return first_dealt(topology, node);
    return first_dealt(topology, node / parts) + topology->starts[node % parts];
}

int pcoll_topology_size(const struct pcoll_topology *topology, int node)
{
    return pcoll_topology_first(topology, node + 1) - pcoll_topology_first(topology, node);
}

int pcoll_topology_rank(const struct pcoll_topology *topology, int place)
{
    const int run = topology->run;
    int node, i;

    if (run == 0)
        return topology->members[place];
    node = node_at(topology, place);
    if (topology->parts > 0)
        node /= topology->parts;
    i = place - first_dealt(topology, node);
    if (topology->order)
        i = topology->order[i];
    return (int)(i / run * cycle_of(topology)) + node * run + i % run;
}

int pcoll_topology_place(const struct pcoll_topology *topology, int rank)
{
    const int run = topology->run;
    int i;

    if (run == 0)
        return topology->places[rank];
    i = (int)(rank / cycle_of(topology)) * run + rank % run;
    if (topology->order)
        i = topology->order_of[i];
    return first_dealt(topology, node_dealt(topology, rank)) + i;
}

/* ---- the formula ---- */

static int id_of(const struct pcoll_node_map *map, int rank)
{
    return map->node_of(map->context, rank);
}

/* The first of ranks step, 2 step ... that is on node 0, or is not; `nranks` or more: none. */
static int64_t first_that(const struct pcoll_node_map *map, int nranks, int step, bool is_there)
{
    const int id = id_of(map, 0);
    int64_t rank = step;

    while (rank < nranks && (id_of(map, (int)rank) == id) != is_there)
        rank += step;
    return rank;
}

enum pcoll_result pcoll_topology_find(const struct pcoll_node_map *map, int nranks,
                                      struct pcoll_topology *topology_p)
{
    const int run = (int)first_that(map, nranks, 1, false);
    const int nnodes = (int)(first_that(map, nranks, run, true) / run);
    const bool rises = nnodes > 1 && id_of(map, run) > id_of(map, 0);

    for (int r = 0; r < nranks; r++) {
        const int low = r / run % nnodes * run; /* of its node */
        const int id = id_of(map, r);

        if (id != id_of(map, low))
            return PCOLL_UNSUPPORTED;
        if (r == low && r > 0 && (rises ? id <= id_of(map, r - run) : id >= id_of(map, r - run)))
            return PCOLL_UNSUPPORTED;
    }
    *topology_p = (struct pcoll_topology){.nranks = nranks, .nnodes = nnodes, .run = run};
    return PCOLL_OK;
}

bool pcoll_topology_is_even(const struct pcoll_topology *topology)
{
    const int size = pcoll_topology_size(topology, 0);

    for (int i = 1; i < topology->nnodes; i++)
        if (pcoll_topology_size(topology, i) != size)
            return false;
    return true;
}

bool pcoll_topology_is_consecutive(const struct pcoll_topology *topology)
{
    return topology->run > 0 && topology->parts == 0 ? cycle_of(topology) >= topology->nranks
                                                     : topology->consecutive;
}

enum pcoll_result pcoll_topology_arrange(struct pcoll_topology *topology, const int *distance)
{
    const int n = pcoll_topology_size(topology, 0);
    int *order = malloc(2 * (size_t)n * sizeof(*order)), *order_of = order + n;

    assert(topology->run > 0 && topology->order == NULL && pcoll_topology_is_even(topology));
    if (order == NULL)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < n; i++) {
        int at = i;

        for (; at > 0 && distance[order[at - 1]] > distance[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < n; i++)
        order_of[order[i]] = i;
    topology->order = order;
    topology->order_of = order_of;
    topology->owned = order;
    topology->disown = free;
    return PCOLL_OK;
}

/* ---- the table ---- */

struct locality {
    int node_id, distance, rank;
    int lowest; /* rank of the node */
};

static int by_node(const void *left, const void *right)
{
    const struct locality *a = left, *b = right;

    if (a->node_id != b->node_id)
        return a->node_id < b->node_id ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static int by_member(const void *left, const void *right)
{
    const struct locality *a = left, *b = right;

    if (a->lowest != b->lowest)
        return a->lowest < b->lowest ? -1 : 1;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* The ranks in the order of their places. */
static void sort_localities(struct locality *localities, const struct pcoll_node_map *map,
                            const int *distance, int nranks)
{
    for (int r = 0; r < nranks; r++)
        localities[r] = (struct locality){id_of(map, r), distance ? distance[r] : 0, r, r};
    qsort(localities, (size_t)nranks, sizeof(*localities), by_node);
    for (int i = 1; i < nranks; i++)
        if (localities[i].node_id == localities[i - 1].node_id)
            localities[i].lowest = localities[i - 1].lowest;
    qsort(localities, (size_t)nranks, sizeof(*localities), by_member);
}

/* nnodes, members, places, first. */
size_t pcoll_topology_table_ints(int nranks)
{
    return 3 * (size_t)nranks + 2;
}

enum pcoll_result pcoll_topology_write(const struct pcoll_node_map *map, const int *distance,
                                       int nranks, int *table)
{
    int *members = table + 1, *places = members + nranks, *first = places + nranks, nnodes = 0;
    struct locality *localities = malloc((size_t)nranks * sizeof(*localities));

    if (localities == NULL)
        return PCOLL_ERR_NOMEM;
    sort_localities(localities, map, distance, nranks);
    for (int i = 0; i < nranks; i++) {
        if (i == 0 || localities[i].lowest != localities[i - 1].lowest)
            first[nnodes++] = i;
        members[i] = localities[i].rank;
        places[members[i]] = i;
    }
    first[nnodes] = nranks;
    table[0] = nnodes;
    free(localities);
    return PCOLL_OK;
}

bool pcoll_topology_find_consecutive(const struct pcoll_topology *table)
{
    for (int place = 0, next = 1; place < table->nranks; place++) {
        while (next < table->nnodes && place >= table->first[next])
            next++;
        if (table->members[place] >= table->first[next])
            return false;
    }
    return true;
}

struct pcoll_topology pcoll_topology_of_table(const int *table, int nranks)
{
    struct pcoll_topology topology = {
        .nranks = nranks,
        .nnodes = table[0],
        .members = table + 1,
        .places = table + 1 + nranks,
        .first = table + 1 + 2 * (size_t)nranks,
    };

    topology.consecutive = pcoll_topology_find_consecutive(&topology);
    return topology;
}

/* ---- from arrays ---- */

static int id_in_array(const void *context, int rank)
{
    return ((const int *)context)[rank];
}

/* Do the i-th ranks of all nodes have the same distance, for each i? */
static bool distances_repeat(const struct pcoll_topology *topology, const int *distance)
{
    for (int r = 0; r < topology->nranks; r++) {
        const int node = pcoll_topology_node(topology, r);
        const int i = pcoll_topology_place(topology, r) - pcoll_topology_first(topology, node);

        if (distance[r] != distance[pcoll_topology_rank(topology, i)])
            return false;
    }
    return true;
}

static bool is_constant(const int *values, int n)
{
    for (int i = 1; i < n; i++)
        if (values[i] != values[0])
            return false;
    return true;
}

/* PCOLL_UNSUPPORTED: these distances take a table. */
static enum pcoll_result arrange_by_rank(struct pcoll_topology *topology, const int *distance)
{
    enum pcoll_result result;
    int n, *of_node;

    if (distance == NULL || is_constant(distance, topology->nranks))
        return PCOLL_OK;
    if (!pcoll_topology_is_even(topology) || !distances_repeat(topology, distance))
        return PCOLL_UNSUPPORTED;
    n = pcoll_topology_size(topology, 0);
    of_node = calloc((size_t)n, sizeof(*of_node));
    if (of_node == NULL)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < n; i++)
        of_node[i] = distance[pcoll_topology_rank(topology, i)];
    result = pcoll_topology_arrange(topology, of_node);
    free(of_node);
    return result;
}

static enum pcoll_result make_table(const struct pcoll_node_map *map, const int *distance,
                                    int nranks, struct pcoll_topology *topology)
{
    int *table = malloc(pcoll_topology_table_ints(nranks) * sizeof(*table));
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (table != NULL)
        result = pcoll_topology_write(map, distance, nranks, table);
    if (result != PCOLL_OK) {
        free(table);
        return result;
    }
    *topology = pcoll_topology_of_table(table, nranks);
    topology->owned = table;
    topology->disown = free;
    return PCOLL_OK;
}

enum pcoll_result pcoll_topology_create(const int *node_ids, const int *distance, int nranks,
                                        struct pcoll_topology **topology_p)
{
    const struct pcoll_node_map map = {id_in_array, node_ids};
    struct pcoll_topology *topology = malloc(sizeof(*topology));
    enum pcoll_result result;

    assert(nranks >= 1);
    if (topology == NULL)
        return PCOLL_ERR_NOMEM;
    result = pcoll_topology_find(&map, nranks, topology);
    if (result == PCOLL_OK)
        result = arrange_by_rank(topology, distance);
    if (result == PCOLL_UNSUPPORTED)
        result = make_table(&map, distance, nranks, topology);
    if (result == PCOLL_OK)
        *topology_p = topology;
    else
        free(topology);
    return result;
}

/* ---- the end ---- */

void pcoll_topology_fini(struct pcoll_topology *topology)
{
    if (topology->disown)
        topology->disown(topology->owned);
}

void pcoll_topology_destroy(struct pcoll_topology *topology)
{
    if (topology != NULL)
        pcoll_topology_fini(topology);
    free(topology);
}
