/*
 * The end of plans, groups and the process. Unbinding is local, but what this rank has sent may
 * still be on its way, and a process that ends, or its network namespace, may take it along. An
 * unbound plan therefore ends its side of each connection, and lingers until all neighbors have
 * ended theirs.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "offload/tcp_kernel/state.h"

struct tcp_process pcoll_tcp_process;

void pcoll_tcp_release(struct tcp_bound *b)
{
    pcoll_tcp_stop(b);
    for (int p = 0; b->scripts && p < b->nphases; p++)
        free(b->scripts[p].actions);
    free(b->scripts);
    b->scripts = NULL;
    pcoll_autonomous_memory_fini(&b->memory);
    if (b->group)
        pcoll_autonomous_group_release(&b->group->base);
    b->plan = NULL;
}

void pcoll_tcp_close(struct tcp_bound *b)
{
    for (int n = 0; b->links && n < b->nneighbors; n++)
        if (b->links[n].socket >= 0)
            close(b->links[n].socket);
    free(b->links);
    free(b);
}

/* Returns whether the neighbor has ended its side, or is gone. If it sends more, it has started the
 * plan once more than this rank: it meets with an error when the connection is closed. */
static bool has_left(const struct tcp_link *link)
{
    char more;

    return link->socket < 0 || recv(link->socket, &more, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

/* Close the connections that no neighbor needs any more; returns whether there is none left. */
static bool have_left(struct tcp_bound *b)
{
    int left = 0;

    for (int n = 0; n < b->nneighbors; n++) {
        if (!has_left(&b->links[n])) {
            left++;
        } else if (b->links[n].socket >= 0) {
            close(b->links[n].socket);
            b->links[n].socket = -1;
        }
    }
    return left == 0;
}

/* A failed plan has nothing on its way. */
void pcoll_tcp_poll(void)
{
    struct tcp_bound **link = &pcoll_tcp_process.lingering;

    while (*link) {
        struct tcp_bound *b = *link;

        if (!b->failed && !have_left(b)) {
            link = &b->next;
            continue;
        }
        *link = b->next;
        pcoll_tcp_close(b);
    }
}

void pcoll_tcp_unbind(struct pcoll_bound *bound)
{
    struct tcp_bound *b = tcp_bound_of(bound);

    pcoll_tcp_release(b);
    for (int n = 0; n < b->nneighbors; n++)
        (void)shutdown(b->links[n].socket, SHUT_WR);
    b->next = pcoll_tcp_process.lingering;
    pcoll_tcp_process.lingering = b;
    pcoll_tcp_poll();
}

int pcoll_tcp_lingering(void)
{
    int n = 0;

    pcoll_tcp_poll();
    for (struct tcp_bound *b = pcoll_tcp_process.lingering; b; b = b->next)
        n++;
    return n;
}

void pcoll_tcp_finalize(void)
{
    struct tcp_bound *next;

    for (struct tcp_bound *b = pcoll_tcp_process.lingering; b; b = next) {
        next = b->next;
        pcoll_tcp_close(b);
    }
    pcoll_tcp_process.lingering = NULL;
}
