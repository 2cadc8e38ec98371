/* Which ranks measure, and where they are bound in the meantime. */
#include "tools/tune.h"

#include "offload/media.h"
#include "tools/places.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- binding ---- */

static cpu_set_t everywhere;
static bool is_seated;

bool tune_sit(int unit)
{
    cpu_set_t set;

    if (unit < 0 || unit >= CPU_SETSIZE)
        return false;
    if (!is_seated && sched_getaffinity(0, sizeof(everywhere), &everywhere) != 0)
        return false;
    is_seated = true;
    CPU_ZERO(&set);
    CPU_SET((size_t)unit, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

void tune_sit_anywhere(void)
{
    if (is_seated)
        sched_setaffinity(0, sizeof(everywhere), &everywhere);
}

/* ---- the machine ---- */

static int with_topology(int (*look)(hwloc_topology_t topology, void *argument), void *argument)
{
    hwloc_topology_t topology;
    int seen = 0;

    if (hwloc_topology_init(&topology) != 0)
        return 0;
    if (hwloc_topology_load(topology) == 0)
        seen = look(topology, argument);
    hwloc_topology_destroy(topology);
    return seen;
}

static int count_sockets(hwloc_topology_t topology, void *argument)
{
    (void)argument;
    return places_sockets(topology);
}

int tune_sockets(void)
{
    return with_topology(count_sockets, NULL);
}

/* ---- nodes ---- */

static int count_ranks(void)
{
    int nranks;

    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    return nranks;
}

int *tune_find_nodes(void)
{
    MPI_Comm node;
    int rank, lowest, *nodes;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, node);
    MPI_Comm_free(&node);
    nodes = malloc((size_t)count_ranks() * sizeof(*nodes));
    if (!nodes)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allgather(&lowest, 1, MPI_INT, nodes, 1, MPI_INT, MPI_COMM_WORLD);
    return nodes;
}

int tune_nodes(void)
{
    const int nranks = count_ranks();
    int count = 0, *nodes = tune_find_nodes();

    for (int i = 0; i < nranks; i++)
        count += nodes[i] == i;
    free(nodes);
    return count;
}

/* The first rank that has a later one on its node, or on another node; false: there is none. */
static bool find_pair(const int *nodes, int nranks, bool on_one_node, int ranks[2])
{
    for (int i = 0; i < nranks; i++) {
        for (int k = i + 1; k < nranks; k++) {
            if ((nodes[i] == nodes[k]) != on_one_node)
                continue;
            ranks[0] = i;
            ranks[1] = k;
            return true;
        }
    }
    return false;
}

/* ---- sites ---- */

struct sites {
    const struct tune_options *options;
    struct tune_site *list;
    int count, max;
    int ranks[2];
};

/* Returns whether a list "a,b" has the name. */
static bool is_wanted(const struct tune_options *options, const char *name)
{
    const size_t length = strlen(name);

    if (!options->media)
        return true;
    for (const char *at = options->media; *at;) {
        const size_t part = strcspn(at, ",");

        if (part == length && memcmp(at, name, part) == 0)
            return true;
        at += part + (at[part] == ',');
    }
    return false;
}

/* Adds a site for each medium between nodes, or for each within one, the most common first. */
static void add_sites(struct sites *sites, bool spans_nodes, enum pcoll_level level,
                      const int units[2])
{
    for (int i = pcoll_nmedia - 1; i >= 0 && sites->count < sites->max; i--) {
        const struct pcoll_medium *medium = pcoll_media[i];

        if (((medium->traits & PCOLL_SPANS_NODES) != 0) != spans_nodes ||
            !is_wanted(sites->options, medium->name))
            continue;
        sites->list[sites->count++] = (struct tune_site){
            .number = i,
            .medium = medium,
            .level = level,
            .ranks = {sites->ranks[0], sites->ranks[1]},
            .units = {units[0], units[1]},
        };
    }
}

static int add_levels(hwloc_topology_t topology, void *argument)
{
    struct sites *sites = argument;
    int units[2];

    for (int level = PCOLL_LEVEL_SAME_CACHE; level <= PCOLL_LEVEL_OTHER_SOCKET; level++)
        if (places_find(topology, (enum pcoll_level)level, units))
            add_sites(sites, false, (enum pcoll_level)level, units);
    return 1;
}

/* Only ranks[0] knows the machine, so it broadcasts the sites. Each rank sets the pointers to
 * media, which differ between processes. */
static void share_sites(struct sites *sites)
{
    tune_bcast(&sites->count, sizeof(sites->count), sites->ranks[0], MPI_COMM_WORLD);
    tune_bcast(sites->list, sites->count * (int)sizeof(*sites->list), sites->ranks[0],
               MPI_COMM_WORLD);
    for (int i = 0; i < sites->count; i++)
        sites->list[i].medium = pcoll_media[sites->list[i].number];
}

int tune_sites(const struct tune_options *options, struct tune_site *list, int max)
{
    static const int anywhere[2] = {-1, -1};
    struct sites sites = {.options = options, .list = list, .max = max};
    const int nranks = count_ranks();
    int rank, *nodes = tune_find_nodes();

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (find_pair(nodes, nranks, true, sites.ranks)) {
        if (rank == sites.ranks[0])
            with_topology(add_levels, &sites);
        if (rank == sites.ranks[0] && sites.count == 0)
            add_sites(&sites, false, PCOLL_LEVEL_ANY, anywhere);
        share_sites(&sites);
    }
    if (find_pair(nodes, nranks, false, sites.ranks))
        add_sites(&sites, true, PCOLL_LEVEL_OTHER_HOST, anywhere);
    free(nodes);
    return sites.count;
}
