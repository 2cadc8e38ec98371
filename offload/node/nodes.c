/* Where the ranks are, settled among them; the contract is in nodes.h. */
#include "offload/node/nodes.h"

#include <assert.h>
#include <stdlib.h>

#include "offload/memory/arena.h"

/* ---- the order of equal nodes ---- */

/* The distances of the i-th ranks of all nodes, from `first` on, as many as are combined at a time.
 * They are the same on every node if the greatest is also the least. */
static enum pcoll_result combine_distances(const struct pcoll_bootstrap *bootstrap, int mine,
                                           int distance, int first, int n, int *distances,
                                           int *differ_p)
{
    uint64_t pairs[PCOLL_COMBINE_WORDS / 2][2] = {{0}};
    enum pcoll_result result;

    if (mine >= first && mine < first + n) {
        pairs[mine - first][0] = (uint64_t)distance;
        pairs[mine - first][1] = ~(uint64_t)distance;
    }
    result = bootstrap->combine(bootstrap->context, pairs[0], 2 * n);
    for (int i = 0; i < n; i++) {
        distances[i] = (int)pairs[i][0];
        *differ_p |= pairs[i][0] != ~pairs[i][1];
    }
    return result;
}

/* Collective. PCOLL_UNSUPPORTED: the nodes differ, so a table is needed. */
static enum pcoll_result settle_order(const struct pcoll_bootstrap *bootstrap, int distance,
                                      struct pcoll_topology *topology)
{
    enum { AT_ONCE = PCOLL_COMBINE_WORDS / 2 };
    const int node = pcoll_topology_node(topology, bootstrap->rank);
    const int size = pcoll_topology_size(topology, node);
    const int mine =
        pcoll_topology_place(topology, bootstrap->rank) - pcoll_topology_first(topology, node);
    int *distances, differ = 0;
    enum pcoll_result result;

    if (!pcoll_topology_is_even(topology))
        return PCOLL_UNSUPPORTED;
    distances = malloc((size_t)size * sizeof(*distances));
    result = pcoll_agree(bootstrap, distances ? PCOLL_OK : PCOLL_ERR_NOMEM, NULL, 0);
    for (int i = 0; result == PCOLL_OK && i < size; i += AT_ONCE)
        result = combine_distances(bootstrap, mine, distance, i,
                                   size - i < AT_ONCE ? size - i : AT_ONCE, distances + i, &differ);
    if (result == PCOLL_OK)
        result = differ ? PCOLL_UNSUPPORTED : pcoll_topology_arrange(topology, distances);
    free(distances);
    return result;
}

/* ---- the table of a node ---- */

/* The ranks of this node, and the memory that they share. */
struct table {
    const struct pcoll_bootstrap *bootstrap;
    int *ranks; /* [circle.nranks], rising */
    struct pcoll_circle circle;
    struct pcoll_shm_arena arena;
    struct pcoll_shm_block *block;
};

static int rank_in_list(const void *list, int i)
{
    return ((const int *)list)[i];
}

/* The ranks of this node; *mine_p: the index of this one. Fills `ranks` if it is not NULL. */
static int find_ranks(const struct pcoll_bootstrap *bootstrap, const struct pcoll_node_map *map,
                      int *ranks, int *mine_p)
{
    const int id = map->node_of(map->context, bootstrap->rank);
    int n = 0;

    for (int r = 0; r < bootstrap->nranks; r++)
        if (map->node_of(map->context, r) == id) {
            if (ranks)
                ranks[n] = r;
            if (r == bootstrap->rank)
                *mine_p = n;
            n++;
        }
    return n;
}

static enum pcoll_result list_ranks(struct table *table, const struct pcoll_node_map *map)
{
    int mine = 0;
    const int n = find_ranks(table->bootstrap, map, NULL, &mine);

    assert(n > 0);
    table->ranks = malloc((size_t)n * sizeof(*table->ranks));
    if (table->ranks == NULL)
        return PCOLL_ERR_NOMEM;
    find_ranks(table->bootstrap, map, table->ranks, &mine);
    table->circle = (struct pcoll_circle){mine, n, table->ranks, rank_in_list};
    return PCOLL_OK;
}

static enum pcoll_result combine_in_node(void *context, uint64_t *words, int n)
{
    const struct table *table = context;

    return pcoll_combine_by_swap(table->bootstrap, &table->circle, words, n);
}

static void report_from_node(void *context, const char *message)
{
    const struct table *table = context;

    table->bootstrap->report(table->bootstrap->context, message);
}

static void end_table(void *owned)
{
    struct table *table = owned;

    if (table == NULL)
        return;
    if (table->block)
        pcoll_shm_release(table->block);
    pcoll_shm_arena_fini(&table->arena);
    free(table->ranks);
    free(table);
}

static int *numbers_of(const struct table *table)
{
    return (int *)(void *)((char *)table->block + PCOLL_LINE_BYTES);
}

/* All of it is written before anybody reads. */
static void clear_nothing(const void *context, char *payload)
{
    (void)context, (void)payload;
}

/* Collective in the node: the memory, and what its lowest rank writes there. */
static enum pcoll_result write_table(struct table *table, const struct pcoll_nodes *nodes,
                                     const int *distances)
{
    const struct pcoll_bootstrap bootstrap = {
        .rank = table->circle.mine,
        .nranks = table->circle.nranks,
        .context = table,
        .combine = combine_in_node,
        .report = report_from_node,
    };
    const int nranks = table->bootstrap->nranks;
    const struct pcoll_shm_wish wish = {.bytes = pcoll_topology_table_ints(nranks) * sizeof(int),
                                        .clear = clear_nothing};
    enum pcoll_result result;

    pcoll_shm_arena_init(&table->arena, bootstrap.rank, bootstrap.nranks);
    result = pcoll_shm_carve(&table->arena, &bootstrap, &wish, &table->block);
    if (result != PCOLL_OK)
        return result;
    if (bootstrap.rank == 0)
        result = pcoll_topology_write(&nodes->map, distances, nranks, numbers_of(table));
    return pcoll_agree(&bootstrap, result, NULL, 0);
}

/* Collective: every rank gets the result of all. */
static enum pcoll_result settle_table(const struct pcoll_bootstrap *bootstrap,
                                      const struct pcoll_nodes *nodes,
                                      struct pcoll_topology *topology)
{
    struct table *table = calloc(1, sizeof(*table));
    int *distances = NULL;
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (table != NULL) {
        table->bootstrap = bootstrap;
        result = list_ranks(table, &nodes->map);
    }
    if (nodes->differ && result == PCOLL_OK) {
        distances = malloc((size_t)bootstrap->nranks * sizeof(*distances));
        result = distances ? PCOLL_OK : PCOLL_ERR_NOMEM;
    }
    result = pcoll_agree(bootstrap, result, NULL, 0);
    if (result == PCOLL_OK && nodes->differ) {
        result = nodes->gather(bootstrap->context, nodes->distance, distances);
        result = pcoll_agree(bootstrap, result, NULL, 0);
    }
    if (result == PCOLL_OK)
        result = write_table(table, nodes, distances);
    free(distances);
    result = pcoll_agree(bootstrap, result, NULL, 0);
    if (result != PCOLL_OK) {
        end_table(table);
        return result;
    }
    *topology = pcoll_topology_of_table(numbers_of(table), bootstrap->nranks);
    topology->owned = table;
    topology->disown = end_table;
    return PCOLL_OK;
}

enum pcoll_result pcoll_nodes_settle(const struct pcoll_bootstrap *bootstrap,
                                     const struct pcoll_nodes *nodes,
                                     struct pcoll_topology **topology_p)
{
    struct pcoll_topology found = {0}, *topology = malloc(sizeof(*topology));
    enum pcoll_result result = pcoll_topology_find(&nodes->map, bootstrap->nranks, &found);

    if (result == PCOLL_OK && nodes->differ)
        result = settle_order(bootstrap, nodes->distance, &found);
    if (result == PCOLL_UNSUPPORTED)
        result = settle_table(bootstrap, nodes, &found);
    if (topology == NULL)
        result = PCOLL_ERR_NOMEM;
    result = pcoll_agree(bootstrap, result, NULL, 0);
    if (result != PCOLL_OK) {
        pcoll_topology_fini(&found);
        free(topology);
        return result;
    }
    *topology = found;
    *topology_p = topology;
    return PCOLL_OK;
}
