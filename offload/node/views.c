/* Where user memory of other ranks is mapped here: what lies in their heaps, and all of it where
 * the node has XPMEM. */
#include <stdlib.h>

#include "offload/node/board.h"

/* Memory in a heap first: it stays mapped for other plans, and its pages are known here. Without a
 * plan that accesses user memory of others, no rank looks at the card. */
static void tell(const struct pcoll_node_binding *b, const struct pcoll_node_group *group,
                 struct pcoll_node_card *card, enum pcoll_buffer buffer)
{
    const uint64_t bytes = pcoll_plan_bytes(b->plan, buffer);
    const void *memory = buffer == PCOLL_SEND ? b->memory->send : b->memory->recv;
    const struct pcoll_heap_place place = pcoll_heap_find(memory, bytes);
    const bool has_layout =
        (buffer == PCOLL_SEND ? b->memory->send_layout : b->memory->recv_layout) != NULL;

    if (place.fd != PCOLL_NONE) {
        card->mapping[buffer] = PCOLL_NODE_IN_HEAP;
        card->there[buffer].heap = place;
    } else if (group->can_map && bytes > 0 && !has_layout) {
        card->mapping[buffer] = PCOLL_NODE_BY_XPMEM;
        card->there[buffer].xpmem.segment = pcoll_xpmem_segment();
        card->there[buffer].xpmem.bytes = bytes;
    }
}

void pcoll_node_tell_views(const struct pcoll_node_binding *b, const struct pcoll_node_group *group,
                           struct pcoll_node_card *card)
{
    tell(b, group, card, PCOLL_SEND);
    tell(b, group, card, PCOLL_RECV);
}

static void attach(struct pcoll_node_view *view, const struct pcoll_node_card *card, int buffer)
{
    const union pcoll_node_there *there = &card->there[buffer];
    const uint64_t address = buffer == PCOLL_SEND ? card->send : card->recv;

    switch (card->mapping[buffer]) {
        case PCOLL_NODE_IN_HEAP:
            view->attachment = pcoll_attach((pid_t)card->pid, &there->heap);
            view->there = address - there->heap.offset;
            break;
        case PCOLL_NODE_BY_XPMEM:
            view->attachment =
                pcoll_xpmem_attach(there->xpmem.segment, address, there->xpmem.bytes);
            view->there = pcoll_xpmem_page(address);
            break;
    }
}

static void attach_rank(const struct pcoll_node_binding *b, int number)
{
    attach(&b->bound->views[number][PCOLL_SEND], &b->cards[number], PCOLL_SEND);
    attach(&b->bound->views[number][PCOLL_RECV], &b->cards[number], PCOLL_RECV);
}

/* Returns whether user memory of any rank can be mapped. */
static bool has_any(const struct pcoll_node_binding *b)
{
    for (int i = 0; i < b->nlocal; i++)
        if (b->cards[i].mapping[PCOLL_SEND] != PCOLL_NODE_UNMAPPED ||
            b->cards[i].mapping[PCOLL_RECV] != PCOLL_NODE_UNMAPPED)
            return true;
    return false;
}

/* If any rank accesses user memory of another, both ends map it, as both may copy; if entries are
 * offered to all (node/board.h), all ranks do. What is not mapped, for whatever reason, is read and
 * written by CMA, except operands (pcoll_node_maps_operands). */
void pcoll_node_open_views(const struct pcoll_node_binding *b)
{
    struct pcoll_node_bound *bound = b->bound;
    const bool is_public = pcoll_node_board_is_public(bound);
    const bool reads_operands = (b->plan->needs & PCOLL_NEED_MAPPED) != 0;

    if ((bound->relay_bytes == 0 && !is_public && !reads_operands) || !has_any(b))
        return;
    bound->views = calloc((size_t)b->nlocal, sizeof(*bound->views));
    if (bound->views == NULL)
        return;
    bound->nviews = b->nlocal;
    for (int i = 0; is_public && i < b->nlocal; i++)
        attach_rank(b, i);
    for (int i = 0; !is_public && i < b->plan->nneighbors; i++) {
        const int number = pcoll_node_number(b, b->plan->neighbors[i]);

        if (number != PCOLL_NONE)
            attach_rank(b, number);
    }
}

void pcoll_node_close_views(struct pcoll_node_bound *bound)
{
    for (int i = 0; i < bound->nviews; i++) {
        pcoll_detach(bound->views[i][PCOLL_SEND].attachment);
        pcoll_detach(bound->views[i][PCOLL_RECV].attachment);
    }
    free(bound->views);
}

/* In place, a copy may begin in the last page of SEND and end in RECV, of which more is mapped. */
static char *look(const struct pcoll_node_view *view, uint64_t address, uint64_t bytes)
{
    const struct pcoll_attachment *attachment = view->attachment;
    const uint64_t at = address - view->there;

    if (attachment == NULL || at >= attachment->bytes || bytes > attachment->bytes - at)
        return NULL;
    return attachment->base + at;
}

char *pcoll_node_mapped(const struct pcoll_node_bound *bound, int number, uint64_t address,
                        uint64_t bytes)
{
    char *here;

    if (bound->views == NULL)
        return NULL;
    here = look(&bound->views[number][PCOLL_SEND], address, bytes);
    return here ? here : look(&bound->views[number][PCOLL_RECV], address, bytes);
}

void pcoll_node_map_step(const struct pcoll_node_binding *b, const struct pcoll_entry *entry,
                         struct pcoll_step *step)
{
    const bool reads = step->kind == PCOLL_NODE_READ;
    char *here =
        pcoll_node_mapped(b->bound, pcoll_node_number(b, entry->peer),
                          (uint64_t)(uintptr_t)(reads ? step->from : step->to), step->bytes);

    if (here == NULL)
        return;
    if (reads)
        step->from = here;
    else
        step->to = here;
    step->kind = PCOLL_STEP_COPY;
}
