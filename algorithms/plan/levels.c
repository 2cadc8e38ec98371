/* Levels below the node; the contract is in levels.h. */
#include "algorithms/plan/levels.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

/* ---- those of some ranks ---- */

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
        made->levels[i].consecutive = pcoll_topology_find_consecutive(&made->levels[i]);
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

/* ---- those that all nodes have ---- */

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
    repeated.consecutive =
        pcoll_topology_is_consecutive(nested) && pcoll_topology_find_consecutive(&node);
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
