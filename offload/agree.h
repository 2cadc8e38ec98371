/*
 * How ranks agree before a plan runs: a list of all rounds of agreement, in order, and the function
 * that performs one.
 *
 * In a round each rank contributes its result so far and a number of terms. Afterwards all ranks
 * know the worst result and the combined value of each term, so that they make the same decisions.
 * A rank that has failed still takes part in every round for which the others wait.
 */
#ifndef PCOLL_AGREE_H
#define PCOLL_AGREE_H

#include <stdbool.h>

#include "offload/bootstrap.h"

/* Code that takes part in a round passes its name to pcoll_agree. "In each node" means that the
 * ranks of a node agree among themselves, not with those of other nodes. */
enum pcoll_round {
    /* -- at ordinary calls, now and then: ch4_coll/promote.c -- */

    PCOLL_ROUND_REVIEW, /* have all ranks made the same calls; how much memory have the plans that
                         * serve some of them */

    /* -- at the first call on a communicator: ch4_coll/comm.c, node/nodes.c -- */

    PCOLL_ROUND_SETTINGS, /* has every rank a state, which medium does rank 0 want, are provider and
                           * distance to the network the same everywhere */
    PCOLL_ROUND_ORDER,    /* if distances differ: are those of the i-th ranks of all nodes the same?
                           * Then one order serves all nodes */
    PCOLL_ROUND_TABLE,    /* if there is no formula for the nodes, or no one order: can each node
                           * share a table */
    PCOLL_ROUND_HOST, /* if all are on one node, and one wants an agent for it: which hosts it */

    /* -- when a medium opens a group -- */

    PCOLL_ROUND_GROUP,   /* has every rank a group */
    PCOLL_ROUND_NODE,    /* in each node, after ranks have told where they are bound: can all access
                          * each other's memory, how far apart are the cores */
    PCOLL_ROUND_BELL,    /* in each node: where is the agent's bell */
    PCOLL_ROUND_NETWORK, /* what every endpoint can do, how many rails there are, how far apart the
                          * ranks of a node are, and whether all nodes have the same levels */

    /* -- before the first choice that depends on the machine -- */

    PCOLL_ROUND_KNOWN,   /* in each node: which machines does its first rank know */
    PCOLL_ROUND_MACHINE, /* in each node whose first rank does not know it: what two ranks have
                          * measured of their machine */

    /* -- at each call: ch4_coll/agreement.c -- */

    PCOLL_ROUND_BLOCKS,  /* do the blocks of an allgatherv lie side by side? Then this round is also
                          * CALL; otherwise the blocks become edges */
    PCOLL_ROUND_EDGES,   /* the largest of all ranks: bytes, degree, volumes */
    PCOLL_ROUND_LETTERS, /* has every rank memory for its letters to the other ends of edges? Their
                          * size follows from EDGES; the swap is after this round, or after PAIRS.
                          * If ranks share memory: has every rank written its table */
    PCOLL_ROUND_PAIRS,   /* if edges share messages: a summary of what the ranks of each node have
                          * told each other about theirs */
    PCOLL_ROUND_CALL,    /* can all take part, with equal arguments; rank 0's choice. Once more if
                          * BOUND finds that operands are not mapped */

    /* -- if candidates run before one is chosen: ch4_coll/race.c, race.c -- */

    PCOLL_ROUND_RIVALS, /* rank 0's other candidates */
    PCOLL_ROUND_RACE,   /* all ranks are ready for a batch; what the batches took on the slowest */

    /* -- when the plan is bound -- */

    PCOLL_ROUND_PLAN,  /* has every rank a plan, and what does it need from the others? Within a
                        * node, the cards answer that */
    PCOLL_ROUND_READY, /* has every rank memory for its cards to its neighbors, or for the outlines
                        * of all ranks, whose size follows from PLAN, and has registered its
                        * buffers; then they are swapped */
    PCOLL_ROUND_BOUND, /* is every rank connected, and has it mapped all operands that it reads
                        * where they lie; no rank signals before this */

    /* -- after TABLE, GROUP, BELL, EDGES and PLAN, in each node: memory/arena.c -- */

    PCOLL_ROUND_GRANT, /* where has the lowest rank put an extent */
    PCOLL_ROUND_SHARE  /* can every rank map its object */
};

/* How the values of all ranks are combined. */
enum pcoll_term_kind {
    PCOLL_TERM_MAX, /* of all ranks */
    PCOLL_TERM_MIN,
    PCOLL_TERM_SAME,  /* the maximum, and whether all ranks gave the same */
    PCOLL_TERM_RANK_0 /* what rank 0 gives */
};

struct pcoll_term {
    enum pcoll_term_kind kind;
    bool differs; /* of PCOLL_TERM_SAME, after the round: not all ranks gave the same */
    uint64_t value;
};

/* A round has room for this many words: a term takes one, or two if it must be the same. */
#define PCOLL_TERM_WORDS (PCOLL_COMBINE_WORDS - 1)

/* Collective. Returns the worst of all ranks' results, or an error of the combine itself, after
 * which the terms are as they were. */
enum pcoll_result pcoll_agree(const struct pcoll_bootstrap *bootstrap, enum pcoll_round round,
                              enum pcoll_result mine, struct pcoll_term *terms,
                              int n) PCOLL_MUST_CHECK;

/* A round in which at most one rank `tells` something: `data` becomes what it tells, or 0 if none
 * does. `bytes` is at most 8 * PCOLL_TERM_WORDS. */
enum pcoll_result pcoll_tell(const struct pcoll_bootstrap *bootstrap, enum pcoll_round round,
                             enum pcoll_result mine, bool tells, void *data,
                             size_t bytes) PCOLL_MUST_CHECK;

/* The round of a combine, by its first word. */
static inline enum pcoll_round pcoll_round_of(uint64_t first_word)
{
    return (enum pcoll_round)(first_word >> 8);
}

#endif /* PCOLL_AGREE_H */
