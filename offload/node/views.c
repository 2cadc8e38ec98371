/* Where user memory of other ranks is mapped here, if it lies in their heaps. */
#include <stdlib.h>

#include "offload/node/board.h"

static void attach(struct pcoll_node_view *view, const struct pcoll_node_card *card, int buffer)
{
    const struct pcoll_heap_place *place = &card->in_heap[buffer];

    if (place->fd == PCOLL_NONE)
        return;
    view->attachment = pcoll_attach((pid_t)card->pid, place);
    view->there = (buffer == PCOLL_SEND ? card->send : card->recv) - place->offset;
}

static void attach_rank(const struct pcoll_node_binding *b, int number)
{
    attach(&b->bound->views[number][PCOLL_SEND], &b->cards[number], PCOLL_SEND);
    attach(&b->bound->views[number][PCOLL_RECV], &b->cards[number], PCOLL_RECV);
}

/* Returns whether user memory of any rank is in its heap. */
static bool has_any(const struct pcoll_node_binding *b)
{
    for (int i = 0; i < b->nlocal; i++)
        if (b->cards[i].in_heap[PCOLL_SEND].fd != PCOLL_NONE ||
            b->cards[i].in_heap[PCOLL_RECV].fd != PCOLL_NONE)
            return true;
    return false;
}

/* If any rank accesses user memory of another, both ends map it, as both may copy; if entries are
 * offered to all (node/board.h), all ranks do. What is not mapped, for whatever reason, is read and
 * written by CMA. */
void pcoll_node_open_views(const struct pcoll_node_binding *b)
{
    struct pcoll_node_bound *bound = b->bound;
    const bool is_public = pcoll_node_board_is_public(bound);

    if ((bound->relay_bytes == 0 && !is_public) || !has_any(b))
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

static char *look(const struct pcoll_node_view *view, uint64_t address)
{
    if (view->attachment == NULL || address - view->there >= view->attachment->bytes)
        return NULL;
    return view->attachment->base + (address - view->there);
}

char *pcoll_node_mapped(const struct pcoll_node_bound *bound, int number, uint64_t address)
{
    char *here;

    if (bound->views == NULL)
        return NULL;
    here = look(&bound->views[number][PCOLL_SEND], address);
    return here ? here : look(&bound->views[number][PCOLL_RECV], address);
}

void pcoll_node_map_step(const struct pcoll_node_binding *b, const struct pcoll_entry *entry,
                         struct pcoll_step *step)
{
    const bool reads = step->kind == PCOLL_NODE_READ;
    char *here = pcoll_node_mapped(b->bound, pcoll_node_number(b, entry->peer),
                                   (uint64_t)(uintptr_t)(reads ? step->from : step->to));

    if (here == NULL)
        return;
    if (reads)
        step->from = here;
    else
        step->to = here;
    step->kind = PCOLL_STEP_COPY;
}
