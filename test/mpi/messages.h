/* Who sends what to whom in a collective, from its row in collectives.c.
 *
 * What a rank sends are messages in slots 0, 1, ...: one for all receivers, or one for each rank or
 * edge; of a reduction, the blocks of its vector. What it receives are messages of other ranks, or
 * the reduction of one slot over several ranks. */

#ifndef MESSAGES_H_INCLUDED
#define MESSAGES_H_INCLUDED

#include "collectives.h"
#include "topology.h"

struct roles {
    enum coll coll;
    int in_place; /* the form of the call; with a root, only the root's data is in place */
    int rank, n, root;
    struct edges edges; /* of a neighbor collective */
};

/* Of ranks sender, sender + 1, ... `terms` in all; sender may be MPI_PROC_NULL. */
struct message {
    int sender, slot, terms;
};

int is_in_place(const struct roles *roles, int rank);
int messages_sent(const struct roles *roles);
int messages_received(const struct roles *roles);
struct message message_received(const struct roles *roles, int l);

/* Messages with different keys may differ in length. */
long message_key(const struct roles *roles, int sender, int slot);

#endif /* MESSAGES_H_INCLUDED */
