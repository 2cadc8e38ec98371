/* Rings along a tree over teams; the contract is in ring_tree.h. */
#include "algorithms/shape/ring_tree.h"

#include <stdlib.h>

/* ---- begin and end ---- */

static bool find_family(struct pcoll_ring_tree *t, int rank,
                        enum pcoll_ring_tree_direction direction)
{
    t->parent = pcoll_team_tree_parent(&t->tree, rank);
    t->nchildren = pcoll_team_tree_nchildren(&t->tree, rank);
    if (direction == PCOLL_RING_TREE_DOWN) {
        t->owns_ring = !pcoll_ring_tree_is_root(t);
        t->creditors = (uint64_t)t->nchildren;
    } else {
        t->owns_ring = t->nchildren > 0;
        t->creditors = pcoll_ring_tree_is_root(t) ? 0 : 1;
    }
    t->children = malloc((size_t)(t->nchildren + 1) * sizeof(*t->children));
    for (int i = 0; t->children && i < t->nchildren; i++)
        t->children[i] = pcoll_team_tree_child(&t->tree, rank, i);
    return t->children != NULL;
}

enum pcoll_result pcoll_ring_tree_init(struct pcoll_ring_tree *t, struct pcoll_plan *plan,
                                       const struct pcoll_params *params, struct pcoll_ring ring,
                                       enum pcoll_ring_tree_direction direction)
{
    *t = (struct pcoll_ring_tree){
        .plan = plan,
        .tree = {pcoll_teams_of(&plan->signature), pcoll_radix(params)},
        .ring = ring,
    };
    if (!pcoll_plan_begin(plan, pcoll_ring_counters(&ring), pcoll_ring_phases(&ring)) ||
        !find_family(t, plan->rank, direction))
        return PCOLL_ERR_NOMEM;
    for (int half = 0; half < 2; half++)
        plan->gain[pcoll_ring_credit(&ring, half)] = pcoll_ring_turns(&ring) * t->creditors;
    return PCOLL_OK;
}

void pcoll_ring_tree_fini(struct pcoll_ring_tree *t)
{
    free(t->children);
}

void pcoll_ring_tree_return(struct pcoll_ring_tree *t, const struct pcoll_ring_tree_use *use,
                            const int *ranks, int n)
{
    const int emptied = pcoll_ring_emptied(&t->ring, &use->at);
    const uint64_t level = emptied == use->at.slot ? use->level : t->plan->gain[emptied];

    if (!use->returned)
        return;
    for (int i = 0; i < n; i++)
        pcoll_plan_add(t->plan, pcoll_entry_signal(pcoll_entry_add(emptied, level), ranks[i],
                                                   use->counter, 1));
    t->emptied[use->at.half] = level;
}

/* ---- slots of blocks ---- */

struct pcoll_ring pcoll_block_ring_make(const struct pcoll_signature *signature,
                                        const struct pcoll_params *params, uint64_t default_segment)
{
    struct pcoll_ring ring = pcoll_ring_make(signature, params, default_segment);
    uint64_t largest = pcoll_segment_of(signature->bytes, ring.nsegments, 0).count;

    ring.slot_bytes = largest * (uint64_t)(signature->nranks - 1) <= PCOLL_CELL_BYTES ? 0 : largest;
    return ring;
}

/* The size of a slot. */
static uint64_t room(const struct pcoll_ring *ring, int span)
{
    return pcoll_whole_lines(ring->slot_bytes * (uint64_t)span);
}

uint64_t pcoll_block_ring_bytes(const struct pcoll_ring *ring, int span)
{
    return (uint64_t)ring->slots * room(ring, span);
}

struct pcoll_place pcoll_block_ring_place(const struct pcoll_ring *ring,
                                          const struct pcoll_ring_use *use, int span, int i)
{
    uint64_t slot = (uint64_t)use->slot, offset = (uint64_t)i * use->segment.count;

    if (ring->slot_bytes == 0)
        return pcoll_at(PCOLL_CELL, slot * PCOLL_CELL_BYTES + offset);
    return pcoll_at(PCOLL_TEMP, slot * room(ring, span) + offset);
}

double pcoll_block_ring_pieces(const struct pcoll_ring *ring,
                               const struct pcoll_signature *signature, int whole)
{
    const struct pcoll_topology *level = signature->topology;

    while (level && pcoll_topology_is_consecutive(level))
        level = level->below;
    return level || pcoll_ring_is_cut(ring) ? signature->nranks - 1 : whole;
}

/* ---- costs ---- */

double pcoll_ring_tree_cost_in_teams(const struct pcoll_signature *signature,
                                     const struct pcoll_ring *ring, int radix,
                                     const struct pcoll_machine *machine, pcoll_ring_tree_cost *one)
{
    struct pcoll_machine node = *machine;
    double cost = 0;

    for (const struct pcoll_topology *t = signature->topology; t != NULL; t = t->below) {
        const struct pcoll_tree tree = {pcoll_cost_mates(t), radix};
        const double members = t->below ? (double)t->nranks / t->below->nnodes : 1;

        node = pcoll_cost_node(&node);
        cost += one(signature, ring, tree, members, &node);
    }
    return cost;
}

double pcoll_ring_tree_cost_credit(const struct pcoll_ring *ring, struct pcoll_tree tree,
                                   const struct pcoll_machine *machine)
{
    const double halves = 2 * (double)ring->nsegments / ring->slots;

    return tree.nranks > 1 ? halves * pcoll_tree_nchildren(tree, 0) * machine->o : 0;
}

double pcoll_ring_tree_cost_crowded(const struct pcoll_signature *signature,
                                    const struct pcoll_ring *ring, struct pcoll_tree tree,
                                    double moves, double alone, const struct pcoll_machine *node)
{
    const struct pcoll_machine own = pcoll_ring_machine(ring, node);
    const double segments = (double)ring->nsegments;
    const double one = (double)signature->bytes / segments * node->copy + node->o;
    const double others = tree.nranks - 1, crowd = pcoll_cost_crowd(signature, node);
    const double copies = pcoll_ring_runs_ahead(ring) ? others / node->cores : (others + crowd) / 2;

    return crowd * own.turn * pcoll_tree_depth(tree) +
           pcoll_larger(moves * copies, alone + crowd - 1) * segments * one;
}
