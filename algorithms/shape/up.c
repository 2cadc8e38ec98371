/* Reduce up a tree; the contract is in up.h. */
#include "algorithms/shape/up.h"

enum { GATE = 1, WORK = 2 };

/* One use of one slot. */
struct use {
    struct pcoll_ring_use at;
    struct pcoll_segment segment; /* in bytes */
    int counter, credit;          /* of the slot, and of the credit for its half, on any rank */
    bool gated;                   /* waits for the parent's credit */
    bool counted, returned;       /* the children's credit waits for it; gives it */
    uint64_t level;               /* of the slot's counter */
};

/* ---- slots ---- */

/* Where a rank with `n` children, whose slots begin at `temp`, keeps what child `i` sends. */
static struct pcoll_place vector_at(const struct pcoll_up *up, const struct use *use, uint64_t temp,
                                    int n, int i)
{
    struct pcoll_place place = pcoll_vector_ring_place(&up->ring, use->at.slot, n, i);

    place.offset += place.buffer == PCOLL_CELL ? (uint64_t)up->counter * PCOLL_CELL_BYTES : temp;
    return place;
}

static struct pcoll_place child_at(const struct pcoll_up *up, const struct use *use, int i)
{
    return vector_at(up, use, up->temp, up->relatives.nchildren, i);
}

static void begin(const struct pcoll_up *up, int phase, uint64_t i, struct use *use)
{
    const uint64_t unit = pcoll_unit_of(&up->plan->signature);

    pcoll_ring_use(&up->ring, up->lane.count, phase, i, &use->at);
    use->segment.first = (up->lane.first + use->at.segment.first) * unit;
    use->segment.count = use->at.segment.count * unit;
    use->counter = up->counter + use->at.slot;
    use->credit = up->counter + pcoll_ring_credit(&up->ring, use->at.half);
    use->gated = !pcoll_relatives_is_root(&up->relatives) && use->at.opens;
    use->counted = up->relatives.nchildren > 0 && use->at.counts;
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
        vector_at(up, use, up->parent_temp, f->siblings, f->number), use->segment.count);

    return pcoll_entry_signal(put, f->parent, use->counter, WORK);
}

static void add_gate(const struct pcoll_up *up, struct use *use)
{
    const struct pcoll_entry gate = pcoll_entry_add(use->credit, use->at.turn);

    pcoll_plan_add(up->plan, pcoll_entry_done(gate, use->counter, GATE));
    use->level += GATE;
}

static void add_leaf_use(const struct pcoll_up *up, const struct use *use)
{
    pcoll_plan_add(up->plan,
                   put_up(up, use, use->gated ? use->credit : PCOLL_NONE,
                          use->gated ? use->at.turn : 0, pcoll_at(PCOLL_SEND, use->segment.first)));
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
                 pcoll_at(PCOLL_SEND, use->segment.first));
    pcoll_plan_add(up->plan, i + 1 < up->ring.nsegments
                                 ? pcoll_entry_done(put, up->counter + next, WORK)
                                 : put);
    up->plan->gain[use->counter] = use->level;
}

/* The counter of what has been done before the credit is given. */
static int emptied_counter(const struct pcoll_up *up, const struct use *use)
{
    return up->counter + pcoll_ring_emptied(&up->ring, &use->at);
}

/* What an entry adds to which counter when it is done. */
struct told {
    int counter;
    uint64_t add;
};

/* Of the entry that empties the slot, if credit waits for it. */
static struct told count_work(const struct pcoll_up *up, struct use *use)
{
    const int emptied = emptied_counter(up, use);

    if (!use->counted)
        return (struct told){PCOLL_NONE, 0};
    if (emptied == use->counter) {
        use->level += WORK;
        return (struct told){emptied, WORK};
    }
    up->plan->gain[emptied]++;
    return (struct told){emptied, 1};
}

/* The operands: what the children have sent, with the own vector in its place among them. */
static void add_operands(const struct pcoll_up *up, struct use *use)
{
    const int n = up->relatives.nchildren, left = up->relatives.left;

    for (int i = 0; i < left; i++)
        pcoll_plan_operand(up->plan, child_at(up, use, i));
    pcoll_plan_operand(up->plan, pcoll_at(PCOLL_SEND, use->segment.first));
    for (int i = left; i < n; i++)
        pcoll_plan_operand(up->plan, child_at(up, use, i));
    use->level += (uint64_t)n * WORK;
}

static void add_reduce(const struct pcoll_up *up, const struct use *use, uint64_t arrived,
                       struct pcoll_place to, struct told told)
{
    const struct pcoll_entry reduce = pcoll_entry_reduce(
        up->plan, use->counter, arrived, up->relatives.nchildren + 1, to, use->segment.count);

    pcoll_plan_add(up->plan, pcoll_entry_done(reduce, told.counter, told.add));
}

static void add_inner_use(const struct pcoll_up *up, struct use *use)
{
    const struct pcoll_place sum = child_at(up, use, 0);
    struct pcoll_entry put;
    struct told told;

    add_operands(up, use);
    add_reduce(up, use, use->level, sum, (struct told){use->counter, WORK});
    use->level += WORK;
    if (use->gated)
        add_gate(up, use);
    put = put_up(up, use, use->counter, use->level, sum);
    told = count_work(up, use);
    pcoll_plan_add(up->plan, pcoll_entry_done(put, told.counter, told.add));
}

static void add_root_use(const struct pcoll_up *up, struct use *use)
{
    uint64_t arrived;

    add_operands(up, use);
    arrived = use->level;
    add_reduce(up, use, arrived, pcoll_at(PCOLL_RECV, use->segment.first), count_work(up, use));
}

static void add_credits(const struct pcoll_up *up, const struct use *use)
{
    const int emptied = emptied_counter(up, use);
    const uint64_t level = emptied == use->counter ? use->level : up->plan->gain[emptied];

    for (int i = 0; i < up->relatives.nchildren; i++)
        pcoll_plan_add(up->plan, pcoll_entry_signal(pcoll_entry_add(emptied, level),
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
        add_root_use(up, &use);
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
            pcoll_ring_turns(&up->ring);
}
