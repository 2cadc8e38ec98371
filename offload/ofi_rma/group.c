/* A group whose ranks are on several nodes: endpoints, and a shared-memory group of each node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/ofi_rma/state.h"

/* How the ranks of a node meet at first: everybody gives everybody the same. */
static enum pcoll_result node_allgather(void *context, const void *mine, void *all, size_t bytes)
{
    struct pcoll_ofi_group *g = context;
    const struct pcoll_bootstrap *bootstrap = &g->bootstrap;
    int n = g->nnode - 1, *others = malloc((size_t)g->nnode * sizeof(*others)), k = 0;
    char *copies = malloc((size_t)g->nnode * bytes), *theirs = malloc((size_t)g->nnode * bytes);
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (others != NULL && copies != NULL && theirs != NULL) {
        for (int i = 0; i < g->nnode; i++)
            if (g->node_ranks[i] != bootstrap->rank) {
                memcpy(copies + (size_t)k * bytes, mine, bytes);
                others[k++] = g->node_ranks[i];
            }
        result = bootstrap->swap(bootstrap->context, others, n, copies, theirs, bytes);
    }
    for (int i = 0, from = 0; result == PCOLL_OK && i < g->nnode; i++)
        memcpy((char *)all + (size_t)i * bytes,
               g->node_ranks[i] == bootstrap->rank ? mine : theirs + (size_t)from++ * bytes, bytes);
    free(others);
    free(copies);
    free(theirs);
    return result;
}

static void node_idle(void *context)
{
    struct pcoll_ofi_group *g = context;

    g->bootstrap.idle(g->bootstrap.context);
}

static void node_report(void *context, const char *message)
{
    struct pcoll_ofi_group *g = context;

    g->bootstrap.report(g->bootstrap.context, message);
}

/* Who is on this node; by rising rank, so that all of them agree. */
static enum pcoll_result find_node(struct pcoll_ofi_group *g)
{
    const struct pcoll_topology *topology = g->bootstrap.topology;
    int nranks = g->bootstrap.nranks, rank = g->bootstrap.rank;

    g->node_ranks = malloc((size_t)nranks * sizeof(int));
    g->local = malloc((size_t)nranks * sizeof(int));
    g->alone = malloc((size_t)nranks * sizeof(int));
    if (g->node_ranks == NULL || g->local == NULL || g->alone == NULL)
        return PCOLL_ERR_NOMEM;
    for (int r = 0; r < nranks; r++) {
        g->local[r] = PCOLL_NONE;
        g->alone[r] = PCOLL_NONE;
        if (topology == NULL || topology->node[r] == topology->node[rank]) {
            g->local[r] = g->nnode;
            g->node_ranks[g->nnode++] = r;
        }
    }
    g->alone[rank] = g->local[rank];
    return PCOLL_OK;
}

static enum pcoll_result open_node(struct pcoll_ofi_group *g)
{
    struct pcoll_bootstrap bootstrap = {
        .rank = g->local[g->bootstrap.rank],
        .nranks = g->nnode,
        .context = g,
        .allgather = node_allgather,
        .idle = node_idle,
        .report = node_report,
    };

    return pcoll_shm_group_create(&bootstrap, &g->node);
}

/* A rail for each interface. */
static enum pcoll_result open_network(struct pcoll_ofi_group *g)
{
    struct pcoll_ofi_options options = {
        .provider = g->bootstrap.provider,
        .progress = FI_PROGRESS_UNSPEC,
        .event = pcoll_ofi_rma_event,
    };
    struct pcoll_ofi_interfaces interfaces;
    enum pcoll_result result = pcoll_ofi_interfaces(&g->bootstrap, &interfaces);

    while (result == PCOLL_OK && g->nrails < interfaces.n) {
        options.interface = interfaces.names[g->nrails];
        result = pcoll_ofi_open(&options, &g->bootstrap, &g->endpoints[g->nrails]);
        g->nrails += result == PCOLL_OK;
    }
    pcoll_ofi_interfaces_free(&interfaces);
    return result;
}

/* The ranks' views of the way between them; the group has what all of them have. */
struct view {
    int32_t result, can_cma, ordered, nrails;
};

static struct view view_of(const struct pcoll_ofi_group *g, enum pcoll_result result)
{
    struct view view = {.result = (int32_t)result, .ordered = 1, .nrails = g->nrails};

    if (result == PCOLL_OK)
        view.can_cma = (pcoll_shm_group_provides(g->node) & PCOLL_NEED_USER_RMA) != 0;
    for (int i = 0; i < g->nrails; i++)
        view.ordered &= g->endpoints[i]->ordered;
    return view;
}

/* Rail i is the i-th interface of every rank: no more than the rank with the fewest has. */
static void settle_rails(struct pcoll_ofi_group *g, const struct view *all)
{
    const struct pcoll_bootstrap *bootstrap = &g->bootstrap;
    int few = 0, many = 0;
    char text[160];

    for (int r = 1; r < bootstrap->nranks; r++) {
        few = all[r].nrails < all[few].nrails ? r : few;
        many = all[r].nrails > all[many].nrails ? r : many;
    }
    if (few != many && bootstrap->rank == 0) {
        snprintf(text, sizeof(text), "rank %d has %d interfaces, rank %d has %d; all use %d", many,
                 all[many].nrails, few, all[few].nrails, all[few].nrails);
        bootstrap->report(bootstrap->context, text);
    }
    while (g->nrails > all[few].nrails)
        pcoll_ofi_close(g->endpoints[--g->nrails]);
    for (int i = 0; i < g->nrails; i++)
        pcoll_ofi_keep(g->endpoints[i]);
}

static enum pcoll_result agree(struct pcoll_ofi_group *g, enum pcoll_result mine)
{
    const struct pcoll_bootstrap *bootstrap = &g->bootstrap;
    struct view own = view_of(g, mine), *all;
    int ordered = 1;

    all = malloc((size_t)bootstrap->nranks * sizeof(*all));
    if (all == NULL)
        return PCOLL_ERR_NOMEM;
    mine = bootstrap->allgather(bootstrap->context, &own, all, sizeof(own));
    g->can_cma = 1;
    for (int r = 0; mine == PCOLL_OK && r < bootstrap->nranks; r++) {
        g->can_cma &= all[r].can_cma;
        ordered &= all[r].ordered;
        own.result = all[r].result > own.result ? all[r].result : own.result;
    }
    if (mine == PCOLL_OK && own.result == PCOLL_OK)
        settle_rails(g, all);
    free(all);
    g->provides = PCOLL_NEED_WEIGHTS | PCOLL_NEED_GET | PCOLL_NEED_USER_RMA;
    if (ordered)
        g->provides |= PCOLL_NEED_ORDER;
    return mine != PCOLL_OK ? mine : (enum pcoll_result)own.result;
}

/* The network is opened by each rank for itself, the node by all its ranks together. */
enum pcoll_result pcoll_ofi_rma_group_create(const struct pcoll_bootstrap *bootstrap,
                                             struct pcoll_group **group_p)
{
    struct pcoll_ofi_group *g = calloc(1, sizeof(*g));
    enum pcoll_result result = g ? PCOLL_OK : PCOLL_ERR_NOMEM, node;

    if (g != NULL) {
        g->refs = 1;
        g->bootstrap = *bootstrap;
        result = find_node(g);
    }
    result = pcoll_shm_agree(bootstrap, result);
    if (result == PCOLL_OK) {
        result = open_network(g);
        node = open_node(g);
        result = agree(g, result != PCOLL_OK ? result : node);
    }
    if (result != PCOLL_OK) {
        if (g != NULL)
            pcoll_ofi_group_release(g);
        return result;
    }
    g->base.medium = &pcoll_medium_ofi_rma;
    *group_p = &g->base;
    return PCOLL_OK;
}

void pcoll_ofi_group_release(struct pcoll_ofi_group *g)
{
    if (--g->refs > 0)
        return;
    pcoll_shm_group_destroy(g->node);
    for (int i = 0; i < g->nrails; i++)
        pcoll_ofi_close(g->endpoints[i]);
    free(g->node_ranks);
    free(g->local);
    free(g->alone);
    free(g);
}

void pcoll_ofi_rma_group_destroy(struct pcoll_group *group)
{
    if (group == NULL)
        return;
    pcoll_ofi_leave_some();
    pcoll_ofi_group_release(pcoll_ofi_group_of(group));
}

unsigned pcoll_ofi_rma_group_provides(const struct pcoll_group *group)
{
    return pcoll_ofi_group_of(group)->provides;
}

int pcoll_ofi_rma_group_rails(const struct pcoll_group *group)
{
    return pcoll_ofi_group_of(group)->nrails;
}

enum pcoll_result pcoll_ofi_rma_exchange(struct pcoll_group *group, const void *mine, void *all,
                                         size_t bytes)
{
    const struct pcoll_bootstrap *bootstrap = &pcoll_ofi_group_of(group)->bootstrap;

    return bootstrap->allgather(bootstrap->context, mine, all, bytes);
}
