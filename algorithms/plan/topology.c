/* Nodes, their leaders, and levels below them; the contract is in topology.h. */
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

/* Returns whether each node's ranks follow those of the nodes before it. */
static bool is_consecutive(const struct pcoll_topology *table)
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

    topology.consecutive = is_consecutive(&topology);
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

/* ---- levels ---- */

/* A rank among others: numbers of teams, from coarse to fine, and its place in the base's row. */
struct path {
    int at[PCOLL_MAX_DIVISIONS + 2];
    int rank;
};

/* The levels so far; level 0 is that of the nodes. */
struct divider {
    const struct pcoll_topology *base; /* NULL: one node */
    int nranks, count;
    enum pcoll_level distances[PCOLL_MAX_DIVISIONS + 1];
    int *heads[PCOLL_MAX_DIVISIONS + 1]; /* [nranks] each: of each rank's team, the place of its
                                          * first rank in the row of the base */
    struct path *paths;                  /* [nranks], for sorting */
};

static int base_place(const struct divider *d, int rank)
{
    return d->base ? pcoll_topology_place(d->base, rank) : rank;
}

static int base_rank(const struct divider *d, int place)
{
    return d->base ? pcoll_topology_rank(d->base, place) : place;
}

static int by_path(const void *left, const void *right)
{
    const struct path *a = left, *b = right;
    int i = 0;

    while (i < PCOLL_MAX_DIVISIONS + 1 && a->at[i] == b->at[i])
        i++;
    return (a->at[i] > b->at[i]) - (a->at[i] < b->at[i]);
}

static void sort_paths(struct divider *d)
{
    qsort(d->paths, (size_t)d->nranks, sizeof(*d->paths), by_path);
}

static void find_nodes(struct divider *d)
{
    for (int r = 0; r < d->nranks; r++)
        d->heads[0][r] =
            d->base ? pcoll_topology_first(d->base, pcoll_topology_node(d->base, r)) : 0;
    d->count = 1;
}

/* The heads of the next level, from its teams. */
static void find_heads(struct divider *d, const int *teams)
{
    int head = 0;

    for (int r = 0; r < d->nranks; r++)
        d->paths[r] = (struct path){.at = {teams[r], base_place(d, r)}, .rank = r};
    sort_paths(d);
    for (int i = 0; i < d->nranks; i++) {
        if (i == 0 || d->paths[i].at[0] != d->paths[i - 1].at[0])
            head = d->paths[i].at[1];
        d->heads[d->count][d->paths[i].rank] = head;
    }
}

static int count_teams(const struct divider *d, int level)
{
    int count = 0;

    for (int r = 0; r < d->nranks; r++)
        count += d->heads[level][r] == base_place(d, r);
    return count;
}

/* Are the teams of the next level known, and do they divide those of the level above? */
static bool is_level(const struct divider *d, const int *teams)
{
    const int *heads = d->heads[d->count], *above = d->heads[d->count - 1];
    const int count = count_teams(d, d->count);

    for (int r = 0; r < d->nranks; r++)
        if (teams[r] == PCOLL_NONE || above[r] != above[base_rank(d, heads[r])])
            return false;
    return count > count_teams(d, d->count - 1) && 2 * count <= d->nranks;
}

/* The row: team by team of each level, from coarse to fine. */
static void make_row(struct divider *d, int *members, int *places)
{
    for (int r = 0; r < d->nranks; r++) {
        struct path *path = &d->paths[r];

        *path = (struct path){.rank = r};
        for (int level = 0; level < d->count; level++)
            path->at[level] = d->heads[level][r];
        path->at[d->count] = base_place(d, r);
    }
    sort_paths(d);
    for (int place = 0; place < d->nranks; place++) {
        members[place] = d->paths[place].rank;
        places[members[place]] = place;
    }
}

/* Fills first[0 .. return], the places where teams begin, and the end. */
static int find_teams(const struct divider *d, int level, const int *members, int *first)
{
    const int *heads = d->heads[level];
    int count = 0;

    for (int place = 0; place < d->nranks; place++)
        if (place == 0 || heads[members[place]] != heads[members[place - 1]])
            first[count++] = place;
    first[count] = d->nranks;
    return count;
}

/* The most parts of any team, if these begin at places of `parts`. */
static int most_parts(const struct pcoll_topology *topology)
{
    int most = 0;

    for (int i = 0, part = 0; i < topology->nnodes; i++) {
        const int begin = part;

        while (topology->below->first[part] < topology->first[i + 1])
            part++;
        most = part - begin > most ? part - begin : most;
    }
    return most;
}

/* What owns the levels below: they follow, then the row, then the beginnings of teams. */
struct levels {
    struct pcoll_topology levels[PCOLL_MAX_DIVISIONS + 1];
    int numbers[];
};

static enum pcoll_result make_levels(struct divider *d, struct pcoll_topology *levels_p)
{
    const int top = d->base && d->base->nnodes > 1 ? 0 : 1;
    const size_t n = (size_t)d->nranks;
    const size_t numbers = 2 * n + (size_t)d->count * (n + 1);
    struct levels *made = malloc(sizeof(*made) + numbers * sizeof(made->numbers[0]));

    if (made == NULL)
        return PCOLL_ERR_NOMEM;
    make_row(d, made->numbers, made->numbers + n);
    for (int i = d->count - 1; i >= top; i--) {
        int *first = made->numbers + 2 * n + (size_t)i * (n + 1);

        made->levels[i] = (struct pcoll_topology){
            .nranks = d->nranks,
            .nnodes = find_teams(d, i, made->numbers, first),
            .first = first,
            .members = made->numbers,
            .places = made->numbers + n,
            .below = i + 1 < d->count ? &made->levels[i + 1] : NULL,
            .in_node = top > 0,
            .level = d->distances[i],
        };
        made->levels[i].consecutive = is_consecutive(&made->levels[i]);
        if (made->levels[i].below)
            made->levels[i].most_parts = most_parts(&made->levels[i]);
    }
    *levels_p = made->levels[top];
    levels_p->owned = made;
    levels_p->disown = free;
    return PCOLL_OK;
}

enum pcoll_result pcoll_topology_divide(const struct pcoll_topology *topology, int nranks,
                                        const struct pcoll_division *divisions, int n,
                                        struct pcoll_topology *levels_p)
{
    struct divider d = {.base = topology, .nranks = nranks};
    int *heads = malloc((size_t)(n + 1) * (size_t)nranks * sizeof(*heads));
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    assert(n <= PCOLL_MAX_DIVISIONS);
    d.paths = malloc((size_t)nranks * sizeof(*d.paths));
    if (heads != NULL && d.paths != NULL) {
        for (int i = 0; i <= n; i++)
            d.heads[i] = heads + (size_t)i * (size_t)nranks;
        find_nodes(&d);
        for (int i = 0; i < n; i++) {
            find_heads(&d, divisions[i].teams);
            d.distances[d.count] = divisions[i].level;
            d.count += is_level(&d, divisions[i].teams);
        }
        result = d.count > 1 ? make_levels(&d, levels_p) : PCOLL_UNSUPPORTED;
    }
    free(heads);
    free(d.paths);
    return result;
}

/* ---- levels that all nodes have ---- */

static int count_levels(const struct pcoll_topology *level)
{
    int n = 0;

    for (; level != NULL; level = level->below)
        n++;
    return n;
}

/* That level below every node of *nested; its beginnings of teams go to starts[]. */
static struct pcoll_topology repeat_level(const struct pcoll_topology *nested,
                                          const struct pcoll_topology *level, int *starts)
{
    const struct pcoll_topology node = {.nranks = level->nranks,
                                        .nnodes = level->nnodes,
                                        .members = nested->order,
                                        .first = starts};
    struct pcoll_topology repeated = *nested;

    for (int team = 0; team <= level->nnodes; team++)
        starts[team] = pcoll_topology_first(level, team);
    repeated.nnodes = nested->nnodes * level->nnodes;
    repeated.parts = level->nnodes;
    repeated.starts = starts;
    repeated.consecutive = pcoll_topology_is_consecutive(nested) && is_consecutive(&node);
    repeated.most_parts = level->most_parts;
    repeated.level = level->level;
    return repeated;
}

enum pcoll_result pcoll_topology_repeat(const struct pcoll_topology *topology,
                                        const struct pcoll_topology *levels,
                                        struct pcoll_topology *nested_p)
{
    const size_t n = (size_t)levels->nranks, count = (size_t)count_levels(levels);
    struct pcoll_topology *below;
    struct levels *made;
    int *numbers;

    if (topology->run == 0 || !pcoll_topology_is_even(topology) ||
        pcoll_topology_size(topology, 0) != levels->nranks)
        return PCOLL_UNSUPPORTED;
    made = malloc(sizeof(*made) + (2 * n + count * (n + 1)) * sizeof(made->numbers[0]));
    if (made == NULL)
        return PCOLL_ERR_NOMEM;
    numbers = made->numbers;
    for (int i = 0; i < levels->nranks; i++) {
        numbers[i] = pcoll_topology_rank(levels, i);
        numbers[n + (size_t)numbers[i]] = i;
    }
    *nested_p = (struct pcoll_topology){.nranks = topology->nranks,
                                        .nnodes = topology->nnodes,
                                        .run = topology->run,
                                        .order = numbers,
                                        .order_of = numbers + n,
                                        .below = made->levels,
                                        .most_parts = levels->nnodes};
    numbers += 2 * n;
    for (below = made->levels; levels != NULL; levels = levels->below, below++, numbers += n + 1) {
        *below = repeat_level(nested_p, levels, numbers);
        below->below = levels->below ? below + 1 : NULL;
    }
    nested_p->owned = made;
    nested_p->disown = free;
    return PCOLL_OK;
}

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
