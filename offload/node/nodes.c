/* Where the ranks are, settled among them; the contract is in nodes.h. */
#include "offload/node/nodes.h"

#include <assert.h>
#include <stdlib.h>

#include "offload/agree.h"
#include "offload/memory/arena.h"

/* ---- the order of equal nodes ---- */

/* distances[first .. first + n) become the greatest of the i-th ranks of all nodes. */
static enum pcoll_result agree_on_distances(const struct pcoll_bootstrap *bootstrap,
                                            enum pcoll_result mine, int *distances, int first,
                                            int n)
{
    struct pcoll_term terms[PCOLL_TERM_WORDS] = {{0}};
    enum pcoll_result result;

    for (int i = 0; mine == PCOLL_OK && i < n; i++)
        terms[i].value = (uint64_t)distances[first + i];
    result = pcoll_agree(bootstrap, PCOLL_ROUND_ORDER, mine, terms, n);
    for (int i = 0; result == PCOLL_OK && i < n; i++)
        distances[first + i] = (int)terms[i].value;
    return result;
}

/* Collective. The i-th ranks of all nodes are equally far if each has the greatest distance of
 * them. PCOLL_UNSUPPORTED: they are not, so a table is needed. */
static enum pcoll_result settle_order(const struct pcoll_bootstrap *bootstrap, int distance,
                                      struct pcoll_topology *topology)
{
    const int node = pcoll_topology_node(topology, bootstrap->rank);
    const int size = pcoll_topology_size(topology, node);
    const int mine =
        pcoll_topology_place(topology, bootstrap->rank) - pcoll_topology_first(topology, node);
    enum pcoll_result result;
    int *distances, first = 0;

    if (!pcoll_topology_is_even(topology))
        return PCOLL_UNSUPPORTED;
    distances = calloc((size_t)size, sizeof(*distances));
    result = distances ? PCOLL_OK : PCOLL_ERR_NOMEM;
    if (distances)
        distances[mine] = distance;
    do {
        const int n = size - first < PCOLL_TERM_WORDS ? size - first : PCOLL_TERM_WORDS;

        result = agree_on_distances(bootstrap, result, distances, first, n);
        first += n;
    } while (result == PCOLL_OK && first < size);
    if (result == PCOLL_OK) {
        result = distances[mine] == distance ? pcoll_topology_arrange(topology, distances)
                                             : PCOLL_UNSUPPORTED;
        result = pcoll_agree(bootstrap, PCOLL_ROUND_ORDER, result, NULL, 0);
    }
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
    struct pcoll_shm_extent *extent;
};

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
    table->circle = (struct pcoll_circle){
        .outer = table->bootstrap, .mine = mine, .nranks = n, .list = table->ranks};
    return PCOLL_OK;
}

static void end_table(void *owned)
{
    struct table *table = owned;

    if (table == NULL)
        return;
    if (table->extent)
        pcoll_shm_release(table->extent);
    pcoll_shm_arena_fini(&table->arena);
    free(table->ranks);
    free(table);
}

static int *numbers_of(const struct table *table)
{
    return (int *)(void *)((char *)table->extent + PCOLL_LINE_BYTES);
}

/* All of it is written before anybody reads. */
static void clear_nothing(const void *context, char *payload)
{
    (void)context, (void)payload;
}

/* Collective in the node: the memory, and what its lowest rank writes there. The others may read it
 * after the next round. */
static enum pcoll_result write_table(struct table *table, const struct pcoll_nodes *nodes,
                                     const int *distances)
{
    const struct pcoll_bootstrap bootstrap = pcoll_bootstrap_of_circle(&table->circle);
    const int nranks = table->bootstrap->nranks;
    const struct pcoll_shm_wish wish = {.bytes = pcoll_topology_table_ints(nranks) * sizeof(int),
                                        .clear = clear_nothing};
    enum pcoll_result result;

    pcoll_shm_arena_init(&table->arena, bootstrap.rank, bootstrap.nranks);
    result = pcoll_shm_carve(&table->arena, &bootstrap, &wish, &table->extent);
    if (result == PCOLL_OK && bootstrap.rank == 0)
        result = pcoll_topology_write(&nodes->map, distances, nranks, numbers_of(table));
    return result;
}

/* Collective: every rank gets the result of all. */
static enum pcoll_result settle_table(const struct pcoll_bootstrap *bootstrap,
                                      const struct pcoll_nodes *nodes,
                                      struct pcoll_topology *topology)
{
    struct table *table = calloc(1, sizeof(*table));
    int *distances = NULL;
    enum pcoll_result result = PCOLL_ERR_NOMEM, gathered = PCOLL_OK;

    if (table != NULL) {
        table->bootstrap = bootstrap;
        result = list_ranks(table, &nodes->map);
    }
    if (nodes->distances_differ && result == PCOLL_OK) {
        distances = calloc((size_t)bootstrap->nranks, sizeof(*distances));
        result = distances ? PCOLL_OK : PCOLL_ERR_NOMEM;
    }
    result = pcoll_agree(bootstrap, PCOLL_ROUND_TABLE, result, NULL, 0);
    if (result == PCOLL_OK) {
        if (nodes->distances_differ)
            gathered = nodes->gather(bootstrap->context, nodes->distance, distances);
        result = write_table(table, nodes, distances);
        result = pcoll_agree(bootstrap, PCOLL_ROUND_TABLE, gathered == PCOLL_OK ? result : gathered,
                             NULL, 0);
    }
    free(distances);
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
                                     struct pcoll_topology *topology)
{
    struct pcoll_topology found = {0};
    enum pcoll_result result = pcoll_topology_find(&nodes->map, bootstrap->nranks, &found);

    if (result == PCOLL_OK && nodes->distances_differ)
        result = settle_order(bootstrap, nodes->distance, &found);
    if (result != PCOLL_OK)
        pcoll_topology_fini(&found);
    if (result == PCOLL_UNSUPPORTED)
        result = settle_table(bootstrap, nodes, &found);
    if (result == PCOLL_OK)
        *topology = found;
    return result;
}
