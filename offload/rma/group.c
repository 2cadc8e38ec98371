/* A group whose ranks are on several nodes: endpoints, and a shared-memory group on each node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/plan/topology.h"
#include "algorithms/util.h"
#include "offload/rma/state.h"

static int node_rank(const void *list, int i)
{
    return ((const int *)list)[i];
}

/* How the ranks of a node combine at first, before they share memory. */
static enum pcoll_result node_combine(void *context, uint64_t *words, int n)
{
    const struct pcoll_rma_group *g = context;
    const struct pcoll_circle circle = {g->mine, g->nnode, g->node_ranks, node_rank};

    return pcoll_combine_by_swap(&g->bootstrap, &circle, words, n);
}

static void node_idle(void *context)
{
    struct pcoll_rma_group *g = context;

    g->bootstrap.idle(g->bootstrap.context);
}

static void node_report(void *context, const char *message)
{
    struct pcoll_rma_group *g = context;

    g->bootstrap.report(g->bootstrap.context, message);
}

/* The ranks on this node, in ascending order, so that all of them agree. */
static enum pcoll_result find_node(struct pcoll_rma_group *g)
{
    const struct pcoll_topology *topology = g->bootstrap.topology;
    const int node = pcoll_topology_node(topology, g->bootstrap.rank);

    g->nnode = topology ? pcoll_topology_size(topology, node) : g->bootstrap.nranks;
    g->node_ranks = malloc((size_t)g->nnode * sizeof(int));
    if (g->node_ranks == NULL)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < g->nnode; i++)
        g->node_ranks[i] =
            topology ? pcoll_topology_rank(topology, pcoll_topology_first(topology, node) + i) : i;
    qsort(g->node_ranks, (size_t)g->nnode, sizeof(int), pcoll_compare_ints);
    while (g->node_ranks[g->mine] != g->bootstrap.rank)
        g->mine++;
    return PCOLL_OK;
}

static enum pcoll_result open_node(struct pcoll_rma_group *g)
{
    struct pcoll_bootstrap bootstrap = {
        .rank = g->mine,
        .nranks = g->nnode,
        .crowded = g->bootstrap.crowded,
        .coop_from = g->bootstrap.coop_from,
        .context = g,
        .combine = node_combine,
        .idle = node_idle,
        .report = node_report,
    };

    return pcoll_node_group_create(&bootstrap, &g->node);
}

/* Open a rail for each interface. */
static enum pcoll_result open_network(struct pcoll_rma_group *g)
{
    struct pcoll_wire_options options = {
        .provider = g->bootstrap.provider,
        .event = pcoll_rma_event,
    };
    struct pcoll_interfaces interfaces;
    enum pcoll_result result = pcoll_interfaces(&g->bootstrap, &interfaces);

    while (result == PCOLL_OK && g->nrails < interfaces.n) {
        options.interface = interfaces.names[g->nrails];
        result = g->wire->open(&options, &g->bootstrap, &g->endpoints[g->nrails]);
        g->nrails += result == PCOLL_OK;
    }
    pcoll_interfaces_free(&interfaces);
    return result;
}

/* A number of this rank as a word whose maximum identifies the rank with the largest number; of
 * equals, the lowest rank. */
static uint64_t ranked(int count, int rank)
{
    return (uint64_t)count << 32 | (uint32_t)~rank;
}

/* Rail i is the i-th interface of every rank; there are as many rails as the rank with the fewest
 * interfaces has. */
static void settle_rails(struct pcoll_rma_group *g, uint64_t many, uint64_t few)
{
    const struct pcoll_bootstrap *bootstrap = &g->bootstrap;
    const int least = PCOLL_MAX_RAILS - (int)(few >> 32), most = (int)(many >> 32);
    char text[160];

    if (least != most && bootstrap->rank == 0) {
        snprintf(text, sizeof(text), "rank %d has %d interfaces, rank %d has %d; all use %d",
                 (int)~(uint32_t)many, most, (int)~(uint32_t)few, least, least);
        bootstrap->report(bootstrap->context, text);
    }
    while (g->nrails > least)
        g->wire->close(g->endpoints[--g->nrails]);
    for (int i = 0; i < g->nrails; i++)
        g->wire->keep(g->endpoints[i]);
}

/* The group can do what all of its ranks can do. *mixed: some ranks have foreign endpoints, others
 * their own. */
static enum pcoll_result agree(struct pcoll_rma_group *g, enum pcoll_result mine, int *mixed)
{
    enum { NO_CMA, UNORDERED, MANY, FEW, NAME, KEY, FOREIGN, OWN, DISTANCE, NVALUES };
    const int rank = g->bootstrap.rank;
    uint64_t values[NVALUES] = {
        [MANY] = ranked(g->nrails, rank),
        [FEW] = ranked(PCOLL_MAX_RAILS - g->nrails, rank),
    };

    values[NO_CMA] =
        mine != PCOLL_OK || !(pcoll_node_group_provides(g->node) & PCOLL_NEED_USER_RMA);
    values[DISTANCE] = mine == PCOLL_OK ? pcoll_node_group_distance(g->node) : 0;
    for (int i = 0; i < g->nrails; i++) {
        const struct pcoll_wire_endpoint *e = g->endpoints[i];

        values[UNORDERED] |= e->ordered < sizeof(struct pcoll_rma_slot);
        values[NAME] = e->name_bytes > values[NAME] ? e->name_bytes : values[NAME];
        values[KEY] = e->key_bytes > values[KEY] ? e->key_bytes : values[KEY];
        values[e->foreign ? FOREIGN : OWN] = 1;
    }
    mine = pcoll_agree(&g->bootstrap, mine, values, NVALUES);
    *mixed = values[FOREIGN] && values[OWN];
    if (mine == PCOLL_OK && !*mixed)
        settle_rails(g, values[MANY], values[FEW]);
    g->name_bytes = values[NAME];
    g->key_bytes = values[KEY];
    g->can_cma = !values[NO_CMA];
    g->distance = values[DISTANCE];
    g->provides = PCOLL_NEED_WEIGHTS | PCOLL_NEED_GET | PCOLL_NEED_USER_RMA;
    if (!values[UNORDERED])
        g->provides |= PCOLL_NEED_ORDER;
    return mine;
}

/* Endpoints are foreign on all ranks or on none. */
static enum pcoll_result settle(struct pcoll_rma_group *g, enum pcoll_result mine)
{
    int mixed;
    enum pcoll_result result = agree(g, mine, &mixed);

    if (result != PCOLL_OK || !mixed)
        return result;
    while (g->nrails > 0)
        g->wire->close(g->endpoints[--g->nrails]);
    g->bootstrap.foreign = NULL;
    return agree(g, open_network(g), &mixed);
}

/* Each rank opens the network by itself; all ranks of a node open the node together. */
enum pcoll_result pcoll_rma_group_create(const struct pcoll_medium *medium,
                                         const struct pcoll_wire *wire,
                                         const struct pcoll_bootstrap *bootstrap,
                                         struct pcoll_group **group_p)
{
    struct pcoll_rma_group *g = calloc(1, sizeof(*g));
    enum pcoll_result result = g ? PCOLL_OK : PCOLL_ERR_NOMEM, node;

    if (g != NULL) {
        g->refs = 1;
        g->wire = wire;
        g->bootstrap = *bootstrap;
        result = find_node(g);
    }
    result = pcoll_agree(bootstrap, result, NULL, 0);
    if (result == PCOLL_OK) {
        result = open_network(g);
        node = open_node(g);
        result = settle(g, result != PCOLL_OK ? result : node);
    }
    if (result != PCOLL_OK) {
        if (g != NULL)
            pcoll_rma_group_release(g);
        return result;
    }
    g->base.medium = medium;
    *group_p = &g->base;
    return PCOLL_OK;
}

unsigned pcoll_rma_group_provides(const struct pcoll_group *group)
{
    return pcoll_rma_group_of(group)->provides;
}

int pcoll_rma_group_rails(const struct pcoll_group *group)
{
    return pcoll_rma_group_of(group)->nrails;
}

uint64_t pcoll_rma_group_distance(const struct pcoll_group *group)
{
    return pcoll_rma_group_of(group)->distance;
}

enum pcoll_result pcoll_rma_combine(struct pcoll_group *group, uint64_t *words, int n)
{
    const struct pcoll_bootstrap *bootstrap = &pcoll_rma_group_of(group)->bootstrap;

    return bootstrap->combine(bootstrap->context, words, n);
}
