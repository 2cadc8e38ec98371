/*
 * Binding: the agreements of the ranks, memory, and the order of both.
 *
 * Messages at init: the rounds PLAN, READY and BOUND (agree.h), the exchange of the ranks of a node
 * in their shared memory, and one swap with the neighbors on other nodes: addresses and keys of
 * each rail, where the neighbor's lines are in this rank's inbox, and which channels this rank will
 * use there.
 *
 * An entry of rail r uses rail r mod n of the group's n. The plan uses as many rails as its entries
 * name, on any rank, and its memory is registered with no others; and only memory that transfers
 * of some rank name with a key.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/agree.h"
#include "offload/rma/binding.h"
#include "offload/node/board.h"

/* ---- local preparation ------------------------------------------------------------ */

/* Allocate as if all other ranks were on other nodes; ranks of the node are removed once it is
 * known whether this plan may treat them as such. */
static enum pcoll_result allocate(struct pcoll_rma_binding *b)
{
    const struct pcoll_plan *plan = b->plan;
    struct pcoll_rma_bound *bound;
    enum pcoll_result result;
    size_t n, nrails = (size_t)b->group->nrails;

    if (plan == NULL)
        return PCOLL_ERR_NOMEM;
    n = (size_t)plan->nneighbors + 1;
    bound = b->bound = calloc(1, sizeof(*bound));
    if (bound == NULL)
        return PCOLL_ERR_NOMEM;
    bound->culprit = PCOLL_NONE;
    b->node.bound = &bound->node;
    result = pcoll_run_init(&bound->node.run, plan, b->memory->op);
    if (result == PCOLL_OK)
        result = pcoll_node_board_init(&b->node, pcoll_node_group_of(b->group->node));
    if (result != PCOLL_OK)
        return result;
    bound->ordered = plan->ordered;
    bound->ready_end = &bound->ready;
    bound->links = calloc(n, sizeof(*bound->links));
    bound->ways = calloc(n * nrails, sizeof(*bound->ways));
    bound->rails = calloc(nrails, sizeof(*bound->rails));
    bound->channels = calloc((size_t)plan->nentries + 1, sizeof(*bound->channels));
    bound->steps = calloc((size_t)plan->nentries + 1, sizeof(*bound->steps));
    b->ranks = calloc(n, sizeof(*b->ranks));
    b->index_mask = 1;
    while (b->index_mask < 2 * (size_t)plan->nentries)
        b->index_mask = 2 * b->index_mask + 1;
    b->index = calloc(b->index_mask + 1, sizeof(*b->index));
    if (!bound->links || !bound->ways || !bound->rails || !bound->channels || !bound->steps ||
        !b->ranks || !b->index)
        return PCOLL_ERR_NOMEM;
    return pcoll_node_binding_init(&b->node);
}

/* Collective: are all ranks ready, and do the ranks of a node reach each other's user memory as far
 * as any of them needs? If they do not, all ranks use the network. */
static enum pcoll_result agree_on_offer(struct pcoll_rma_binding *b, enum pcoll_result mine)
{
    enum { WANTS_USER_RMA, MAX_CHANNELS, NRAILS, KEYED, NTERMS = KEYED + PCOLL_RMA_NMEMORIES };
    struct pcoll_term terms[NTERMS] = {{.kind = PCOLL_TERM_MAX}};
    uint64_t keyed[PCOLL_RMA_NMEMORIES] = {0};

    if (mine == PCOLL_OK) {
        b->node.is_alone = true;
        pcoll_rma_find_links(b);
        terms[WANTS_USER_RMA].value = (b->plan->needs & PCOLL_NEED_USER_RMA) != 0;
        terms[MAX_CHANNELS].value = (uint64_t)pcoll_rma_max_channels(b);
        terms[NRAILS].value = (uint64_t)b->bound->nrails;
        pcoll_rma_find_keyed(b, keyed);
    }
    for (int i = 0; i < PCOLL_RMA_NMEMORIES; i++)
        terms[KEYED + i].value = keyed[i];
    mine = pcoll_agree(&b->group->bootstrap, PCOLL_ROUND_PLAN, mine, terms, NTERMS);
    if (mine != PCOLL_OK)
        return mine;
    b->max_channels = (int)terms[MAX_CHANNELS].value;
    for (int i = 0; i < PCOLL_RMA_NMEMORIES; i++)
        b->keyed[i] = terms[KEYED + i].value != 0;
    b->node.is_alone = terms[WANTS_USER_RMA].value && !b->group->can_cma;
    pcoll_rma_find_links(b);
    b->bound->nrails = (int)terms[NRAILS].value;
    return PCOLL_OK;
}

/* ---- memory -------------------------------------------------------------------------- */

/* A connection to each neighbor over each rail. */
static void make_ways(struct pcoll_rma_binding *b, struct pcoll_rma_line *outgoing)
{
    struct pcoll_rma_bound *bound = b->bound;

    bound->nways = bound->nlinks * bound->nrails;
    for (int i = 0; i < bound->nways; i++) {
        struct pcoll_rma_link *link = &bound->links[i / bound->nrails];
        int rail = i % bound->nrails;

        bound->ways[i] = (struct pcoll_rma_way){
            .rank = link->rank,
            .rail = &bound->rails[rail],
            .arrived = &link->lines[rail],
            .outgoing = outgoing + i,
            .bye = {.bound = bound},
        };
        link->ways = &bound->ways[i - rail];
    }
}

static enum pcoll_result make_mailbox(struct pcoll_rma_binding *b)
{
    struct pcoll_rma_bound *bound = b->bound;
    size_t steps_end = pcoll_rma_inbox_lines(b) + (size_t)bound->nsteps;
    void *memory = NULL;

    b->mail_bytes = (steps_end + (size_t)(bound->nlinks * bound->nrails)) * sizeof(*bound->mailbox);
    if (posix_memalign(&memory, 4096, b->mail_bytes) != 0)
        return PCOLL_ERR_NOMEM;
    memset(memory, 0, b->mail_bytes);
    bound->mailbox = memory;
    bound->sources = calloc(pcoll_rma_inbox_lines(b), sizeof(*bound->sources));
    if (bound->sources == NULL)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < bound->nlinks; i++)
        bound->links[i].lines =
            bound->mailbox + (size_t)i * (size_t)(b->max_channels + bound->nrails);
    make_ways(b, bound->mailbox + steps_end);
    return PCOLL_OK;
}

static enum pcoll_result register_some(const struct pcoll_rma_binding *b,
                                       struct pcoll_rma_rail *rail, const char *what, void *address,
                                       uint64_t bytes, struct pcoll_wire_region *region)
{
    if (bytes == 0)
        return PCOLL_OK;
    return rail->endpoint->wire->map(rail->endpoint, &b->group->bootstrap, what, address,
                                     (size_t)bytes, region);
}

/* Register a memory that entries may name, on this rank or on neighbors; without registration, they
 * name it by its address. */
static enum pcoll_result register_named(const struct pcoll_rma_binding *b,
                                        struct pcoll_rma_rail *rail, enum pcoll_rma_memory memory,
                                        const char *what, void *address, uint64_t bytes)
{
    struct pcoll_wire_region *region = &rail->memories[memory];

    if (b->keyed[memory])
        return register_some(b, rail, what, address, bytes, region);
    region->base = (uint64_t)(uintptr_t)address;
    return PCOLL_OK;
}

static enum pcoll_result register_with(const struct pcoll_rma_binding *b,
                                       struct pcoll_rma_rail *rail)
{
    const struct pcoll_memory *memory = b->memory;
    const uint64_t send = pcoll_plan_bytes(b->plan, PCOLL_SEND);
    const uint64_t recv = pcoll_plan_bytes(b->plan, PCOLL_RECV);
    enum pcoll_result result = PCOLL_OK;
    size_t bytes;
    char *area = pcoll_node_own_area(&b->node, &bytes);

    if (pcoll_wire_needs_key(rail->endpoint, false, sizeof(struct pcoll_rma_line)))
        result =
            register_some(b, rail, "a plan's inbox", b->bound->mailbox, b->mail_bytes, &rail->mail);
    if (result == PCOLL_OK)
        result = register_named(b, rail, PCOLL_RMA_AREA, "communication buffers", area, bytes);
    if (result == PCOLL_OK)
        result = register_named(b, rail, PCOLL_RMA_SEND, "the send buffer", memory->send, send);
    if (result == PCOLL_OK)
        result = register_named(b, rail, PCOLL_RMA_RECV, "the receive buffer", memory->recv, recv);
    return result;
}

static enum pcoll_result register_memory(struct pcoll_rma_binding *b)
{
    struct pcoll_rma_bound *bound = b->bound;
    enum pcoll_result result;

    for (int i = 0; i < bound->nrails; i++)
        bound->rails[i].endpoint = b->group->endpoints[i];
    if (bound->nlinks == 0)
        return PCOLL_OK;
    pcoll_rma_has_neighbors = true;
    result = make_mailbox(b);
    for (int i = 0; i < bound->nrails && result == PCOLL_OK; i++)
        result = register_with(b, &bound->rails[i]);
    return result;
}

/* ---- collective steps -------------------------------------------------------------- */

static enum pcoll_result get_cards(struct pcoll_rma_binding *b)
{
    const size_t nlinks = (size_t)b->bound->nlinks + 1;

    b->card_bytes = pcoll_rma_card_bytes(b);
    b->mine = calloc(nlinks, b->card_bytes);
    b->theirs = calloc(nlinks, b->card_bytes);
    return b->mine && b->theirs ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

/* No rank writes to a neighbor before it is known that all neighbors will answer. */
static enum pcoll_result connect_ranks(struct pcoll_rma_binding *b)
{
    const struct pcoll_bootstrap *bootstrap = &b->group->bootstrap;
    enum pcoll_result result =
        pcoll_node_carve_extent(&b->node, pcoll_node_group_of(b->group->node), PCOLL_OK);

    if (result == PCOLL_OK)
        result = get_cards(b);
    if (result == PCOLL_OK) {
        pcoll_node_resolve(&b->node);
        result = register_memory(b);
    }
    result = pcoll_agree(bootstrap, PCOLL_ROUND_READY, result, NULL, 0);
    if (result != PCOLL_OK)
        return result;
    result = pcoll_rma_swap_cards(b);
    if (result == PCOLL_OK)
        result = pcoll_rma_resolve_steps(b);
    pcoll_node_signalers_publish(&b->node);
    result = pcoll_agree(bootstrap, PCOLL_ROUND_BOUND, result, NULL, 0);
    pcoll_node_find_alone(&b->node);
    if (result == PCOLL_OK)
        pcoll_node_board_open(&b->node);
    return result;
}

enum pcoll_result pcoll_rma_bind(struct pcoll_group *group, const struct pcoll_plan *plan,
                                 const struct pcoll_memory *memory, struct pcoll_bound **bound_p)
{
    struct pcoll_rma_group *g = pcoll_rma_group_of(group);
    struct pcoll_rma_binding b = {
        .node = {.plan = plan, .memory = memory, .nlocal = g->local.nranks, .ranks = g->node_ranks},
        .group = g,
        .plan = plan,
        .memory = memory,
    };
    enum pcoll_result result;

    pcoll_rma_leave_some();
    result = agree_on_offer(&b, allocate(&b));
    if (result == PCOLL_OK)
        result = connect_ranks(&b);
    pcoll_node_binding_fini(&b.node);
    free(b.ranks);
    free(b.index);
    free(b.mine);
    free(b.theirs);
    if (result != PCOLL_OK) {
        pcoll_rma_bound_destroy(b.bound);
        return result;
    }
    b.bound->group = g;
    b.bound->node.base.medium = group->medium;
    b.bound->node.group = pcoll_node_group_of(g->node);
    g->refs++;
    *bound_p = &b.bound->node.base;
    return PCOLL_OK;
}
