/* A group whose ranks are on several nodes: endpoints, and a shared-memory group on each node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/util.h"
#include "offload/agree.h"
#include "offload/rma/state.h"

/* The ranks on this node, in ascending order, so that all of them agree. */
static enum pcoll_result find_node(struct pcoll_rma_group *g)
{
    const struct pcoll_circle places = pcoll_circle_of_node(&g->bootstrap);
    int *ranks = malloc((size_t)places.nranks * sizeof(*ranks));

    if (ranks == NULL)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < places.nranks; i++)
        ranks[i] = pcoll_circle_rank(&places, i);
    qsort(ranks, (size_t)places.nranks, sizeof(*ranks), pcoll_compare_ints);
    g->node_ranks = ranks;
    g->local =
        (struct pcoll_circle){.outer = &g->bootstrap, .nranks = places.nranks, .list = ranks};
    while (ranks[g->local.mine] != g->bootstrap.rank)
        g->local.mine++;
    return PCOLL_OK;
}

static enum pcoll_result open_node(struct pcoll_rma_group *g)
{
    const struct pcoll_bootstrap bootstrap = pcoll_bootstrap_of_circle(&g->local);
    const struct pcoll_topology *topology = g->bootstrap.topology;
    enum pcoll_result result = pcoll_node_group_create(&bootstrap, &g->node);

    if (result == PCOLL_OK && topology != NULL && topology->nnodes > 1)
        result = pcoll_sharing_nest(pcoll_node_group_sharing(g->node), topology, &g->levels);
    return result == PCOLL_UNSUPPORTED ? PCOLL_OK : result;
}

/* Nodes that are not alike have no levels. */
static void settle_levels(struct pcoll_rma_group *g, bool differ)
{
    if (!differ)
        return;
    pcoll_topology_fini(&g->levels);
    g->levels = (struct pcoll_topology){.nranks = 0};
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

/* A number of a rank and, below it, its rank. */
static uint64_t ranked(int count, uint32_t rank)
{
    return (uint64_t)count << 32 | rank;
}

/* Rail i is the i-th interface of every rank; there are as many rails as the rank with the fewest
 * interfaces has. `many` and `few` are of the rank with the most and with the fewest interfaces,
 * the lowest of equals; `many` has the complement of its rank. */
static void settle_rails(struct pcoll_rma_group *g, uint64_t many, uint64_t few)
{
    const struct pcoll_bootstrap *bootstrap = &g->bootstrap;
    const int least = (int)(few >> 32), most = (int)(many >> 32);
    char text[160];

    if (least != most && bootstrap->rank == 0) {
        snprintf(text, sizeof(text), "rank %d has %d interfaces, rank %d has %d; all use %d",
                 (int)~(uint32_t)many, most, (int)(uint32_t)few, least, least);
        bootstrap->report(bootstrap->context, text);
    }
    while (g->nrails > least)
        g->wire->close(g->endpoints[--g->nrails]);
    for (int i = 0; i < g->nrails; i++)
        g->wire->keep(g->endpoints[i]);
}

/* The group can do what all of its ranks can do. *mixed: some ranks have foreign endpoints, others
 * their own. */
static enum pcoll_result agree(struct pcoll_rma_group *g, enum pcoll_result mine, bool *mixed)
{
    enum { CMA, ORDERED, MANY, FEW, NAME, KEY, FOREIGN, OWN, LEVEL, UNKNOWN, SHARING, NTERMS };
    const uint32_t rank = (uint32_t)g->bootstrap.rank;
    struct pcoll_term terms[NTERMS] = {
        [CMA] = {.kind = PCOLL_TERM_MIN},
        [ORDERED] = {.kind = PCOLL_TERM_MIN, .value = 1},
        [MANY] = {.kind = PCOLL_TERM_MAX, .value = ranked(g->nrails, ~rank)},
        [FEW] = {.kind = PCOLL_TERM_MIN, .value = ranked(g->nrails, rank)},
        [SHARING] = {.kind = PCOLL_TERM_SAME},
    };

    if (mine == PCOLL_OK) {
        terms[CMA].value = (pcoll_node_group_provides(g->node) & PCOLL_NEED_USER_RMA) != 0;
        terms[LEVEL].value = pcoll_node_group_level(g->node);
        terms[SHARING].value =
            g->levels.nranks > 0 ? pcoll_sharing_hash(pcoll_node_group_sharing(g->node)) : 0;
        terms[UNKNOWN].value = g->local.nranks > 1 && terms[LEVEL].value == PCOLL_LEVEL_ANY;
    }
    for (int i = 0; i < g->nrails; i++) {
        const struct pcoll_wire_endpoint *e = g->endpoints[i];

        terms[ORDERED].value &= e->ordered >= sizeof(struct pcoll_rma_line);
        terms[NAME].value = e->name_bytes > terms[NAME].value ? e->name_bytes : terms[NAME].value;
        terms[KEY].value = e->key_bytes > terms[KEY].value ? e->key_bytes : terms[KEY].value;
        terms[e->foreign ? FOREIGN : OWN].value = 1;
    }
    mine = pcoll_agree(&g->bootstrap, PCOLL_ROUND_NETWORK, mine, terms, NTERMS);
    *mixed = terms[FOREIGN].value && terms[OWN].value;
    if (mine == PCOLL_OK && !*mixed)
        settle_rails(g, terms[MANY].value, terms[FEW].value);
    g->name_bytes = terms[NAME].value;
    g->key_bytes = terms[KEY].value;
    g->can_cma = terms[CMA].value != 0;
    g->level = terms[UNKNOWN].value ? PCOLL_LEVEL_ANY : (enum pcoll_level)terms[LEVEL].value;
    settle_levels(g, terms[SHARING].differs);
    g->provides = PCOLL_NEED_WEIGHTS | PCOLL_NEED_GET | PCOLL_NEED_USER_RMA;
    if (terms[ORDERED].value)
        g->provides |= PCOLL_NEED_ORDER;
    return mine;
}

/* Endpoints are foreign on all ranks or on none. */
static enum pcoll_result settle(struct pcoll_rma_group *g, enum pcoll_result mine)
{
    bool mixed;
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
    result = pcoll_agree(bootstrap, PCOLL_ROUND_GROUP, result, NULL, 0);
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
    g->base.bootstrap = &g->bootstrap;
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

enum pcoll_level pcoll_rma_group_level(const struct pcoll_group *group)
{
    return pcoll_rma_group_of(group)->level;
}

const struct pcoll_sharing *pcoll_rma_group_sharing(const struct pcoll_group *group)
{
    return pcoll_node_group_sharing(pcoll_rma_group_of(group)->node);
}

const struct pcoll_topology *pcoll_rma_group_levels(const struct pcoll_group *group)
{
    const struct pcoll_topology *levels = &pcoll_rma_group_of(group)->levels;

    return levels->nranks > 0 ? levels : NULL;
}

void pcoll_rma_group_reach(const struct pcoll_group *group, char *text, size_t size)
{
    pcoll_node_group_reach(pcoll_rma_group_of(group)->node, text, size);
}

enum pcoll_result pcoll_rma_group_measure(struct pcoll_group *group)
{
    return pcoll_node_group_measure(pcoll_rma_group_of(group)->node);
}

const struct pcoll_machine *pcoll_rma_group_machine(const struct pcoll_group *group)
{
    return pcoll_node_group_machine(pcoll_rma_group_of(group)->node);
}
