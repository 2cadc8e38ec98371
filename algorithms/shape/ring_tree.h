/*
 * Rings of communication buffers (ring.h) along a tree over teams (team_tree.h): a rank puts into
 * the rings of others without asking, and reuses a slot when they have returned it.
 *
 * Down the tree, a rank fills the slots of its children, which return them to it; up the tree it
 * fills those of its parent. The counters are those of ring.h: of the slots of the rank's own ring,
 * and of what it has emptied there; and of the credit for the rings that it fills.
 *
 * A rank that both empties its ring and fills others has one counter for both: a *gate*, an entry
 * that credit opens, adds PCOLL_RING_GATE to the counter of the slot, on which the puts wait.
 * The user of this adds more than that for data and for work, so the gate cannot be mistaken for
 * them.
 */
#ifndef PCOLL_RING_TREE_H
#define PCOLL_RING_TREE_H

#include <stdbool.h>

#include "algorithms/shape/ring.h"
#include "algorithms/shape/team_tree.h"

enum { PCOLL_RING_GATE = 1 };

enum pcoll_ring_tree_direction { PCOLL_RING_TREE_DOWN, PCOLL_RING_TREE_UP };

/* A rank in the tree, and its plan. */
struct pcoll_ring_tree {
    struct pcoll_plan *plan;
    struct pcoll_team_tree tree;
    struct pcoll_ring ring;
    int parent; /* PCOLL_NONE: this is the root */
    int nchildren;
    int *children;       /* [nchildren]: found once, as every slot names them */
    bool owns_ring;      /* others put into its slots, and it returns them */
    uint64_t creditors;  /* how many ranks return what it puts into their slots */
    uint64_t emptied[2]; /* of each half: its counter when the last turn has been emptied */
};

/* One use of one slot. */
struct pcoll_ring_tree_use {
    struct pcoll_ring_use at;
    bool gated, counted, returned; /* waits for credit; credit waits for it; gives credit */
    int counter;                   /* of the credit for its half, on any rank */
    uint64_t credit;               /* what this counter must have reached to open the gate */
    uint64_t level;                /* of the slot's counter after everything so far */
};

/* Begin the plan, with the gains of its counters of credit, and find its rank's parent and
 * children. fini ends it, whatever the result. */
enum pcoll_result pcoll_ring_tree_init(struct pcoll_ring_tree *t, struct pcoll_plan *plan,
                                       const struct pcoll_params *params, struct pcoll_ring ring,
                                       enum pcoll_ring_tree_direction direction) PCOLL_MUST_CHECK;
void pcoll_ring_tree_fini(struct pcoll_ring_tree *t);

static inline bool pcoll_ring_tree_is_root(const struct pcoll_ring_tree *t)
{
    return t->parent == PCOLL_NONE;
}

/* Use `i` of phase `phase`, 0 <= i < nsegments. Uses begin in order; when all entries of one have
 * been added, end it. Inline as those of plan.h are: a long ring has thousands of uses. */
static inline void pcoll_ring_tree_begin(const struct pcoll_ring_tree *t, int phase, uint64_t i,
                                         struct pcoll_ring_tree_use *use)
{
    pcoll_ring_use(&t->ring, t->plan->signature.bytes, phase, i, &use->at);
    use->gated = t->creditors > 0 && use->at.opens;
    use->counted = t->owns_ring && use->at.counts;
    use->returned = t->owns_ring && use->at.closes;
    use->counter = pcoll_ring_credit(&t->ring, use->at.half);
    use->credit = use->at.turn * t->creditors;
    use->level = t->plan->gain[use->at.slot];
}

static inline void pcoll_ring_tree_end(const struct pcoll_ring_tree *t,
                                       const struct pcoll_ring_tree_use *use)
{
    t->plan->gain[use->at.slot] = use->level;
}

/* Add the gate, if the use is gated. */
static inline void pcoll_ring_tree_gate(const struct pcoll_ring_tree *t,
                                        struct pcoll_ring_tree_use *use)
{
    if (!use->gated)
        return;
    pcoll_plan_add(t->plan, pcoll_entry_done(pcoll_entry_add(use->counter, use->credit),
                                             use->at.slot, PCOLL_RING_GATE));
    use->level += PCOLL_RING_GATE;
}

/* The entry, which empties the slot or some of it; the credit waits for it if the use counts.
 * `work` is what it then adds to the slot's counter, if that is the one that credit waits for. */
static inline struct pcoll_entry pcoll_ring_tree_work(const struct pcoll_ring_tree *t,
                                                      struct pcoll_ring_tree_use *use,
                                                      struct pcoll_entry entry, uint64_t work)
{
    const int emptied = pcoll_ring_emptied(&t->ring, &use->at);

    if (!use->counted)
        return entry;
    if (emptied != use->at.slot) {
        t->plan->gain[emptied]++;
        return pcoll_entry_done(entry, emptied, 1);
    }
    use->level += work;
    return pcoll_entry_done(entry, emptied, work);
}

/* Return the half to `n` ranks when everything that counts has been done, if this is its last use.
 * Comes after all entries of the use. */
void pcoll_ring_tree_return(struct pcoll_ring_tree *t, const struct pcoll_ring_tree_use *use,
                            const int *ranks, int n);

/* ---- slots with a segment of each block of a subtree, in the order of places (teams.h) ---- */

/* The slot_bytes of this ring are those of one block, or 0 if the blocks of all but the root fit a
 * cell. */
struct pcoll_ring pcoll_block_ring_make(const struct pcoll_signature *signature,
                                        const struct pcoll_params *params,
                                        uint64_t default_segment);

/* The size of TEMP on a rank with `span` blocks. */
uint64_t pcoll_block_ring_bytes(const struct pcoll_ring *ring, int span);

/* Block `i` of the slot, on a rank with `span` blocks. */
struct pcoll_place pcoll_block_ring_place(const struct pcoll_ring *ring,
                                          const struct pcoll_ring_use *use, int span, int i);

/* In how many pieces the root's user buffer has the blocks of all others, if those of consecutive
 * ranks are `whole` pieces: each block is one if it is cut, or if ranks of a team do not follow
 * each other. */
double pcoll_block_ring_pieces(const struct pcoll_ring *ring,
                               const struct pcoll_signature *signature, int whole);

/* ---- costs ---- */

/* The time of the trees between the leaders of parts, on all levels of teams (0 without teams).
 * `one` is that of one tree, whose ranks lead `members` each. */
typedef double pcoll_ring_tree_cost(const struct pcoll_signature *signature,
                                    const struct pcoll_ring *ring, struct pcoll_tree tree,
                                    double members, const struct pcoll_machine *machine);
double pcoll_ring_tree_cost_in_teams(const struct pcoll_signature *signature,
                                     const struct pcoll_ring *ring, int radix,
                                     const struct pcoll_machine *machine,
                                     pcoll_ring_tree_cost *one);

/* Over a network, each half of a ring is returned by a message of its own: what the root spends on
 * those of its children in one instance. Down the tree it receives them, up the tree it sends them.
 */
double pcoll_ring_tree_cost_credit(const struct pcoll_ring *ring, struct pcoll_tree tree,
                                   const struct pcoll_machine *machine);

/* In a node where ranks share cores, they run ahead instead of waiting for each other if
 * pcoll_ring_runs_ahead: the cost is the total work, `moves` copies of each segment, and a turn for
 * each level of the tree, as only forwarding needs another rank. Otherwise the root copies
 * what is for or from all others while they wait, and those that share a core copy one after the
 * other while it waits. The root makes `alone` copies of a segment, and each other rank on its core
 * makes one: that core needs as long at least. */
double pcoll_ring_tree_cost_crowded(const struct pcoll_signature *signature,
                                    const struct pcoll_ring *ring, struct pcoll_tree tree,
                                    double moves, double alone, const struct pcoll_machine *node);

#endif /* PCOLL_RING_TREE_H */
