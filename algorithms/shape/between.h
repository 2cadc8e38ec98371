/*
 * The stage between nodes of a reduction with several leaders a node (leaders.h): leader l of each
 * node has what its node has of slice l. Together they reduce these, and each gets the result, by
 * recursive doubling (doubling.h), in slices (team_slices.h), or by halving (halving.h).
 *
 * All of them have the same room in TEMP: for the sum of their node, for what comes from other
 * nodes, and at the end for the result.
 */
#ifndef PCOLL_BETWEEN_H
#define PCOLL_BETWEEN_H

#include "algorithms/shape/leaders.h"

enum pcoll_between_way {
    PCOLL_BETWEEN_DOUBLING, /* for a collective without a root */
    PCOLL_BETWEEN_SLICES,
    PCOLL_BETWEEN_HALVING /* for a collective without a root */
};

struct pcoll_between {
    struct pcoll_plan *plan;
    const struct pcoll_leaders *by;
    enum pcoll_between_way way;
    int member;     /* of each team: this leader and its counterparts */
    int bank;       /* the counter */
    uint64_t room;  /* offset in TEMP of pcoll_between_room bytes, where the sum is */
    uint64_t bytes; /* of the slice */
    uint64_t level; /* of the counter, when the sum is there; at the end, when the result is, or
                     * where nothing is received, when all have given what they have */
};

/* The bytes of the room, for slices of by->bytes bytes; where in it the result is. */
uint64_t pcoll_between_room(enum pcoll_between_way way, const struct pcoll_signature *signature,
                            const struct pcoll_leaders *by);
uint64_t pcoll_between_result(enum pcoll_between_way way, const struct pcoll_signature *signature,
                              const struct pcoll_leaders *by);

/* More than all signals of leaders of other nodes and, after them, of by->count leaders of the own
 * node, together. */
uint64_t pcoll_between_weight(enum pcoll_between_way way, const struct pcoll_leaders *by);

/* Add the entries of the plan's rank, a leader. */
void pcoll_between_add(struct pcoll_between *between);

#endif /* PCOLL_BETWEEN_H */
