/*
 * Unbinding. It is local, but a neighbor that has not yet unbound the plan may still write credits
 * here, or read communication buffers. An unbound plan therefore says farewell to its neighbors on
 * other nodes, and its memory stays registered until all of them have said farewell, too. A
 * farewell is sent on every rail, since one rail says nothing about what is still in flight on
 * another.
 */
#include "offload/ofi_rma/state.h"

static struct pcoll_ofi_bound *leaving;

static int is_gone(struct pcoll_ofi_bound *bound)
{
    int gone = pcoll_ofi_say_farewell(bound, PCOLL_OFI_LEFT);

    pcoll_ofi_poll_rails(bound);
    for (int i = 0; i < bound->nways; i++)
        gone &= pcoll_ofi_farewell_of(&bound->ways[i]) != PCOLL_OFI_HERE;
    return gone && bound->inflight == 0;
}

void pcoll_ofi_leave_some(void)
{
    struct pcoll_ofi_bound **link = &leaving;

    while (*link != NULL) {
        struct pcoll_ofi_bound *bound = *link;

        if (is_gone(bound)) {
            *link = bound->next_leaving;
            pcoll_ofi_bound_destroy(bound);
        } else {
            link = &bound->next_leaving;
        }
    }
}

/* User memory belongs to the user again; peers have completed all their accesses to it. */
void pcoll_ofi_rma_unbind(struct pcoll_bound *base)
{
    struct pcoll_ofi_bound *bound;

    if (base == NULL)
        return;
    bound = pcoll_ofi_bound_of(base);
    for (int i = 0; i < bound->nrails; i++) {
        pcoll_ofi_unregister(&bound->rails[i].send);
        pcoll_ofi_unregister(&bound->rails[i].recv);
    }
    bound->next_leaving = leaving;
    leaving = bound;
    pcoll_ofi_leave_some();
}

void pcoll_ofi_rma_poll(void)
{
    pcoll_ofi_poll_all();
    pcoll_ofi_leave_some();
}

int pcoll_ofi_rma_lingering(void)
{
    int n = 0;

    pcoll_ofi_rma_poll();
    for (const struct pcoll_ofi_bound *bound = leaving; bound != NULL; bound = bound->next_leaving)
        n++;
    return n;
}

/* The endpoint is closed first: it may still have operations of these plans. */
void pcoll_ofi_rma_finalize(void)
{
    for (int i = 0; i < 100 && leaving != NULL; i++)
        pcoll_ofi_leave_some();
    while (leaving != NULL) {
        struct pcoll_ofi_bound *bound = leaving;

        leaving = bound->next_leaving;
        if (bound->inflight == 0)
            pcoll_ofi_bound_destroy(bound);
    }
    pcoll_ofi_close_kept();
}
