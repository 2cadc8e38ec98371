#include "messages.h"

int is_in_place(const struct roles *roles, int rank)
{
    return roles->in_place && (!coll_has(roles->coll, ROOTED) || rank == roles->root);
}

int messages_sent(const struct roles *roles)
{
    return coll_blocks(collectives[roles->coll].sends, roles->rank == roles->root, roles->n,
                       roles->edges.nout);
}

/* A root that scatters in place keeps its block where it sends from. */
int messages_received(const struct roles *roles)
{
    const struct collective *c = &collectives[roles->coll];

    if (c->sends == ALL_OF_ROOT && is_in_place(roles, roles->rank))
        return 0;
    return coll_blocks(c->receives, roles->rank == roles->root, roles->n, roles->edges.nin);
}

static struct message reduction(const struct roles *roles)
{
    const int slot = collectives[roles->coll].sends == ONE_PER_RANK ? roles->rank : 0;
    const int terms = roles->coll == COLL_SCAN     ? roles->rank + 1
                      : roles->coll == COLL_EXSCAN ? roles->rank
                                                   : roles->n;

    return (struct message){0, slot, terms};
}

struct message message_received(const struct roles *roles, int l)
{
    const struct collective *c = &collectives[roles->coll];

    if (c->traits & REDUCES)
        return reduction(roles);
    if (c->traits & NEIGHBOR)
        return (struct message){roles->edges.from[l],
                                c->sends == ONE_PER_EDGE ? roles->edges.slot[l] : 0, 1};
    switch (c->sends) {
        case ONE_BLOCK:
            return (struct message){l, 0, 1};
        case ONE_PER_RANK:
            return (struct message){l, roles->rank, 1};
        case ALL_OF_ROOT:
            return (struct message){roles->root, roles->rank, 1};
        default:
            return (struct message){roles->root, 0, 1};
    }
}

/* The blocks of a reduction are equal on all ranks, and what two ranks exchange in place is equally
 * long in both directions. */
long message_key(const struct roles *roles, int sender, int slot)
{
    const struct collective *c = &collectives[roles->coll];

    if (c->traits & REDUCES)
        return slot;
    if (roles->in_place && c->receives == ONE_PER_RANK && c->sends == ONE_PER_RANK && sender > slot)
        return slot * 1000L + sender;
    return sender * 1000L + slot;
}
