/*
 * Allreduce by recursive halving and doubling, in rank order.
 *
 * Idea: ranks exchange halves of their vectors, then halves of these, until each has reduced a
 * slice of all vectors, and gather the slices in the opposite order (shape/halving.h). What is to
 * be reduced goes through TEMP; results go into TEMP and are copied at the end, or (path user) into
 * RECV.
 *
 * Source: Rabenseifner 2004, "Optimization of collective reduction operations".
 *
 *      N = 4, vectors abcd:   0 <-> 1, 2 <-> 3: 0 has ab, 1 cd, 2 ab, 3 cd |
 *      0 <-> 2, 1 <-> 3: 0 has a, 2 b, 1 c, 3 d | 0 <-> 2, 1 <-> 3 | 0 <-> 1, 2 <-> 3
 *
 * A vector that is longer than params->segment goes in several segments, one after the other.
 *
 * Cost: 2 lg N (L + o) + M (2 G + reduce), optimal in bytes; M (2 G + reduce) more if N is no power
 * of two. TEMP: two banks of a segment, and of another one for path temp or what is folded. One
 * counter for each bank.
 *
 * Condition (lemma A, two banks): completing a segment needs every rank's first put, which waits
 * until that rank has completed the segment before (that of a folded rank, until both have). What a
 * rank reduces before that comes from one that has completed it, so all have begun it and the bank
 * is free. A byte of the result, put into RECV of a peer, depends on that byte of what the peer has
 * given or reduced, which in place it therefore no longer needs.
 */
#include "algorithms/shape/halving.h"

#define DEFAULT_SEGMENT (UINT64_C(256) << 10)

struct state {
    struct pcoll_plan *plan;
    bool is_user;
    uint64_t nsegments, number;
    int trigger; /* what this segment waits for, and its level */
    uint64_t threshold;
};

static bool is_user(const struct pcoll_params *params)
{
    return params->path == PCOLL_PATH_USER;
}

static uint64_t nsegments_of(const struct pcoll_signature *signature,
                             const struct pcoll_params *params)
{
    const uint64_t units = signature->bytes / pcoll_unit_of(signature);
    const uint64_t n = pcoll_segment_count(signature->bytes, params->segment, DEFAULT_SEGMENT);

    return n < units ? n : units;
}

/* The bytes of a segment. */
static struct pcoll_segment segment_of(const struct pcoll_signature *signature, uint64_t nsegments,
                                       uint64_t number)
{
    const uint64_t unit = pcoll_unit_of(signature);
    const struct pcoll_segment segment =
        pcoll_segment_of(signature->bytes / unit, nsegments, number);

    return (struct pcoll_segment){segment.first * unit, segment.count * unit};
}

/* A bank: the slots, then the whole, if there is something for it. */
struct room {
    uint64_t slots, bank;
};

static struct room room_of(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    const struct pcoll_fold fold = pcoll_halving_fold(signature->nranks);
    const uint64_t max = segment_of(signature, nsegments_of(signature, params), 0).count;
    const uint64_t slots = pcoll_halving_slots(signature->nranks, max, pcoll_unit_of(signature));
    const uint64_t whole =
        is_user(params) && pcoll_fold_folded(&fold) == 0 ? 0 : pcoll_whole_lines(max);

    return (struct room){slots, slots + whole};
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return 2 * room_of(signature, params).bank;
}

static uint64_t heavy(const struct state *s)
{
    return pcoll_halving_weight(s->plan->signature.nranks, 1);
}

/* A segment begins when the one before is complete. With path temp that one ends with a copy, which
 * then adds to the counter of this one. */
static void begin(const struct state *s, struct pcoll_halving *h)
{
    if (s->number == 0)
        return;
    if (s->is_user) {
        h->trigger = s->trigger;
        h->threshold = s->threshold;
    } else {
        h->level += heavy(s);
        h->trigger = h->bank;
        h->threshold = h->level;
    }
}

static void end(struct state *s, const struct pcoll_halving *h, struct pcoll_place recv)
{
    const bool is_last = s->number == s->nsegments - 1;
    const struct pcoll_entry copy = pcoll_entry_copy(h->bank, h->level, h->result, recv, h->bytes);

    if (!s->is_user)
        pcoll_plan_add(s->plan, is_last ? copy : pcoll_entry_done(copy, 1 - h->bank, heavy(s)));
    else if (is_last)
        pcoll_plan_add(s->plan, pcoll_entry_wait(h->bank, h->level));
    s->trigger = h->bank;
    s->threshold = h->level;
    s->plan->gain[h->bank] = h->level;
}

static void add_segment(struct state *s, int bank, struct room room)
{
    const struct pcoll_signature *signature = &s->plan->signature;
    const struct pcoll_segment segment = segment_of(signature, s->nsegments, s->number);
    const struct pcoll_place recv = pcoll_at(PCOLL_RECV, segment.first);
    const uint64_t first = (uint64_t)bank * room.bank;
    const struct pcoll_place whole = pcoll_at(PCOLL_TEMP, first + room.slots);
    struct pcoll_halving h = {
        .plan = s->plan,
        .teams = pcoll_teams_of_one(signature->nranks),
        .bank = bank,
        .weight = 1,
        .slots = first,
        .bytes = segment.count,
        .whole = whole,
        .result = s->is_user ? recv : whole,
        .sum = pcoll_at(PCOLL_SEND, segment.first),
        .trigger = PCOLL_NONE,
        .level = s->plan->gain[bank],
    };

    begin(s, &h);
    pcoll_halving_add(&h);
    end(s, &h, recv);
}

/* With an odd number of segments, every other instance begins with the second bank. */
static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = &plan->signature;
    struct state s = {
        .plan = plan, .is_user = is_user(params), .nsegments = nsegments_of(signature, params)};

    if (!pcoll_plan_begin(plan, 2, s.nsegments % 2 == 0 ? 1 : 2))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = temp_bytes(signature, params);
    for (int phase = 0; phase < plan->nphases; phase++) {
        pcoll_plan_open(plan, phase);
        for (s.number = 0; s.number < s.nsegments; s.number++)
            add_segment(&s, (int)(((uint64_t)phase + s.number) % 2), room_of(signature, params));
    }
    return PCOLL_OK;
}

/* A message to user memory costs `rma` more, and in a node it is no copy. */
static struct pcoll_link to_user(struct pcoll_link link)
{
    link.machine.o += link.machine.rma;
    link.machine.g += link.machine.rma;
    link.machine.copy = link.machine.G;
    return link;
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_machine node = pcoll_cost_node(machine);
    const struct pcoll_fold fold = pcoll_halving_fold(signature->nranks);
    const int members = pcoll_ranks_per_node(signature);
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double nsegments = (double)nsegments_of(signature, params);
    const double bytes = (double)signature->bytes / nsegments;
    const struct pcoll_link near = {node, 0, crowd}, far = {*machine, members, crowd};
    const struct pcoll_fold_links operands = {signature, fold, members, near, far};
    const struct pcoll_fold_links to_users = {signature, fold, members, to_user(near),
                                              to_user(far)};
    const struct pcoll_halving_cost halving = {operands, is_user(params) ? to_users : operands,
                                               bytes};
    const double copy = is_user(params) ? 0 : crowd * (node.o + bytes * node.copy);

    return machine->call + nsegments * (pcoll_halving_time(&halving) + copy);
}

const struct pcoll_algorithm pcoll_allreduce_halving = {
    .name = "halving",
    .alias = "reduce_scatter_allgather",
    .coll = PCOLL_ALLREDUCE,
    .description = "recursive halving, then doubling, in rank order",
    .when = "long vectors on many ranks; half of the bytes go to the nearest rank",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_USER | PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
};
