/* Reduce up a tree; the contract is in up.h. */
#include "algorithms/shape/up.h"

enum { GATE = 1, WORK = 2 };

/* One use of one slot. */
struct use {
    struct pcoll_ring_use at;
    struct pcoll_segment part; /* in bytes */
    int counter, credit;       /* of the slot, and of the credit for its half, on any rank */
    int gated, returned;       /* waits for the parent's credit; gives credit to the children */
    uint64_t level;            /* of the slot's counter */
};

/* ---- slots ---- */

/* The size of a vector's place in a slot in TEMP for `n` children; 0: they are in a cell. */
static uint64_t room(const struct pcoll_ring *ring, int n)
{
    if ((uint64_t)n * ring->slot_bytes <= PCOLL_CELL_BYTES)
        return 0;
    return pcoll_whole_lines(ring->slot_bytes);
}

uint64_t pcoll_up_bytes(const struct pcoll_ring *ring, int nchildren)
{
    return (uint64_t)ring->slots * (uint64_t)nchildren * room(ring, nchildren);
}

/* Where a rank with `n` children, whose slots begin at `temp`, keeps what child `i` sends. */
static struct pcoll_place vector_at(const struct pcoll_up *up, const struct use *use, uint64_t temp,
                                    int n, int i)
{
    const uint64_t bytes = room(&up->ring, n);

    if (bytes == 0)
        return pcoll_at(PCOLL_CELL, (uint64_t)use->counter * PCOLL_CELL_BYTES +
                                        (uint64_t)i * up->ring.slot_bytes);
    return pcoll_at(PCOLL_TEMP,
                    temp + ((uint64_t)use->at.slot * (uint64_t)n + (uint64_t)i) * bytes);
}

static struct pcoll_place child_at(const struct pcoll_up *up, const struct use *use, int i)
{
    return vector_at(up, use, up->temp, up->relatives.nchildren, i);
}

static void begin(const struct pcoll_up *up, int phase, uint64_t i, struct use *use)
{
    const uint64_t unit = pcoll_unit_of(&up->plan->signature);

    pcoll_ring_use(&up->ring, up->part.count, phase, i, &use->at);
    use->part.first = (up->part.first + use->at.part.first) * unit;
    use->part.count = use->at.part.count * unit;
    use->counter = up->counter + use->at.slot;
    use->credit = up->counter + pcoll_ring_credit(&up->ring, use->at.half);
    use->gated = !pcoll_relatives_is_root(&up->relatives) && use->at.opens;
    use->returned = up->relatives.nchildren > 0 && use->at.closes;
    use->level = up->plan->gain[use->counter];
}

/* ---- entries ---- */

static inline struct pcoll_entry put_up(const struct pcoll_up *up, const struct use *use,
                                        int trigger, uint64_t threshold, struct pcoll_place from)
{
    const struct pcoll_relatives *f = &up->relatives;
    const struct pcoll_entry put = pcoll_entry_put(
        trigger, threshold, from, f->parent,
        vector_at(up, use, up->parent_temp, f->siblings, f->number), use->part.count);

    return pcoll_entry_signal(put, f->parent, use->counter, WORK);
}

static void add_gate(const struct pcoll_up *up, struct use *use)
{
    const struct pcoll_entry gate = pcoll_entry_add(use->credit, use->at.credits);

    pcoll_plan_add(up->plan, pcoll_entry_done(gate, use->counter, GATE));
    use->level += GATE;
}

static void add_leaf_use(const struct pcoll_up *up, const struct use *use)
{
    pcoll_plan_add(up->plan,
                   put_up(up, use, use->gated ? use->credit : PCOLL_NONE,
                          use->gated ? use->at.credits : 0, pcoll_at(PCOLL_SEND, use->part.first)));
}

/* Segment `i`, after the one before. */
static void add_paced_use(const struct pcoll_up *up, struct use *use, uint64_t i)
{
    const int next = (use->at.slot + 1) % up->ring.slots;
    struct pcoll_entry put;

    if (use->gated)
        add_gate(up, use);
    use->level += i > 0 ? WORK : 0;
    put = put_up(up, use, use->level > 0 ? use->counter : PCOLL_NONE, use->level,
                 pcoll_at(PCOLL_SEND, use->part.first));
    pcoll_plan_add(up->plan, i + 1 < up->ring.nsegments
                                 ? pcoll_entry_done(put, up->counter + next, WORK)
                                 : put);
    up->plan->gain[use->counter] = use->level;
}

/* What the children have sent, with the own vector in its place among them. */
static void add_reduce(const struct pcoll_up *up, struct use *use, struct pcoll_place to, int tells)
{
    const struct pcoll_place own = pcoll_at(PCOLL_SEND, use->part.first);
    const int n = up->relatives.nchildren;
    struct pcoll_entry reduce;

    for (int i = 0; i < up->relatives.left; i++)
        pcoll_plan_operand(up->plan, child_at(up, use, i));
    pcoll_plan_operand(up->plan, own);
    for (int i = up->relatives.left; i < n; i++)
        pcoll_plan_operand(up->plan, child_at(up, use, i));
    use->level += (uint64_t)n * WORK;
    reduce = pcoll_entry_reduce(up->plan, use->counter, use->level, n + 1, to, use->part.count);
    pcoll_plan_add(up->plan, tells ? pcoll_entry_done(reduce, use->counter, WORK) : reduce);
    use->level += tells ? WORK : 0;
}

static void add_inner_use(const struct pcoll_up *up, struct use *use)
{
    const struct pcoll_place sum = child_at(up, use, 0);
    struct pcoll_entry put;

    add_reduce(up, use, sum, 1);
    if (use->gated)
        add_gate(up, use);
    put = put_up(up, use, use->counter, use->level, sum);
    pcoll_plan_add(up->plan, use->returned ? pcoll_entry_done(put, use->counter, WORK) : put);
    use->level += use->returned ? WORK : 0;
}

static void add_credits(const struct pcoll_up *up, const struct use *use)
{
    for (int i = 0; i < up->relatives.nchildren; i++)
        pcoll_plan_add(up->plan, pcoll_entry_signal(pcoll_entry_add(use->counter, use->level),
                                                    up->relatives.children[i], use->credit, 1));
}

void pcoll_up_add(const struct pcoll_up *up, int phase, uint64_t i)
{
    struct use use;

    begin(up, phase, i, &use);
    if (up->relatives.nchildren == 0) {
        if (up->paced)
            add_paced_use(up, &use, i);
        else
            add_leaf_use(up, &use);
        return;
    }
    if (pcoll_relatives_is_root(&up->relatives))
        add_reduce(up, &use, pcoll_at(PCOLL_RECV, use.part.first), use.returned);
    else
        add_inner_use(up, &use);
    if (use.returned)
        add_credits(up, &use);
    up->plan->gain[use.counter] = use.level;
}

void pcoll_up_end(const struct pcoll_up *up)
{
    for (int half = 0; half < 2 && !pcoll_relatives_is_root(&up->relatives); half++)
        up->plan->gain[up->counter + pcoll_ring_credit(&up->ring, half)] =
            pcoll_ring_credits(&up->ring);
}
