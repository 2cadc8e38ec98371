/*
 * Allreduce by recursive doubling on a weighted butterfly, in rank order.
 *
 * Idea: in each round two ranks exchange what they have reduced so far, and both reduce the two
 * halves, the lower ranks' on the left on both sides. So all ranks build the same tree, whatever
 * the operator. What arrives in round j goes into slot j of TEMP, and is reduced there.
 *
 * Source: recursive doubling (Thakur et al. 2005, section 4.5) with the tank of document 001,
 * section 4.2.3. A number of ranks that is not a power of two is folded in adjacent pairs, so that
 * groups stay consecutive: with m = 2^n <= N and e = N - m, rank 2i + 1 gives its vector to 2i
 * (i < e) in an additional first round, and gets the result in an additional last one.
 *
 *      N = 5, e = 1:   1 -> 0 | {01}<->2 3<->4 | {01}<->3 2<->4 | 0 -> 1
 *
 * Cost: n (L + 2 o + M (copy + reduce)), one counter, two banks. When: many ranks, short vectors.
 * Condition: completing k needs every rank's start of k, so two banks keep instances apart. In
 * place, the result overwrites what the first put reads, so everything waits for that.
 */
#include "algorithms/algorithm.h"
#include "algorithms/cost.h"
#include "algorithms/number.h"

#define LINE_BYTES UINT64_C(64)

struct state {
    struct pcoll_plan *plan;
    int bank;
    int rounds;             /* including the fold, if there is one */
    int extra;              /* number of pairs that are folded */
    uint64_t slot_bytes;    /* of TEMP */
    uint64_t level;         /* of my tank, when everything so far has happened */
    struct pcoll_place sum; /* what I have reduced so far */
};

static int is_folded(const struct state *s)
{
    return s->extra > 0;
}

static struct pcoll_place slot(const struct state *s, int round)
{
    return pcoll_at(PCOLL_TEMP, (uint64_t)(s->bank * s->rounds + round) * s->slot_bytes);
}

/* What arrives in a round, and the REDUCE of that round, each outweigh all that arrives in later
 * rounds; later REDUCEs do not come early. */
static uint64_t weight_of(const struct state *s, int round)
{
    return (uint64_t)1 << (s->rounds - 1 - round);
}

/* The ranks of the core, from its numbers, and the number of a rank. */
static int core_rank(const struct state *s, int number)
{
    return number < s->extra ? 2 * number : number + s->extra;
}

static int core_number(const struct state *s, int rank)
{
    return rank < 2 * s->extra ? rank / 2 : rank - s->extra;
}

/* Put the sum to the peer, at the beginning or after the last REDUCE. */
static struct pcoll_entry put_sum(const struct state *s, int peer, struct pcoll_place to,
                                  uint64_t weight)
{
    const struct pcoll_entry put = pcoll_entry_put(s->level ? s->bank : PCOLL_NONE, s->level,
                                                   s->sum, peer, to, s->plan->signature.bytes);

    return pcoll_entry_signal(put, peer, s->bank, weight);
}

/* Reduce the sum and what arrives in that round, which is on its left or right. */
static void add_reduce(struct state *s, int round, int is_left, int is_done)
{
    const struct pcoll_place arrived = slot(s, round);
    const int is_last = round == s->rounds - 1;
    struct pcoll_entry reduce;

    pcoll_plan_operand(s->plan, is_left ? arrived : s->sum);
    pcoll_plan_operand(s->plan, is_left ? s->sum : arrived);
    s->sum = is_last ? pcoll_at(PCOLL_RECV, 0) : arrived;
    s->level += weight_of(s, round);
    reduce = pcoll_entry_reduce(s->plan, s->bank, s->level, 2, s->sum, s->plan->signature.bytes);
    if (is_done) {
        reduce = pcoll_entry_done(reduce, s->bank, weight_of(s, round));
        s->level += weight_of(s, round);
    }
    pcoll_plan_add(s->plan, reduce);
}

static void add_exchange(struct state *s, int round, int distance, int is_done)
{
    const int number = core_number(s, s->plan->rank), other = number ^ distance;
    struct pcoll_entry put = put_sum(s, core_rank(s, other), slot(s, round), weight_of(s, round));

    /* The result must not overtake the put that reads its place. */
    if (s->plan->signature.in_place && s->sum.buffer == PCOLL_SEND) {
        put = pcoll_entry_done(put, s->bank, 2 * weight_of(s, 0));
        s->level += 2 * weight_of(s, 0);
    }
    pcoll_plan_add(s->plan, put);
    add_reduce(s, round, other < number, is_done);
}

static void build_core(struct state *s)
{
    const int rank = s->plan->rank, has_extra = rank < 2 * s->extra;
    int round = 0;

    s->sum = pcoll_at(PCOLL_SEND, 0);
    if (has_extra)
        add_reduce(s, 0, 0, 1);
    round += is_folded(s);
    for (int distance = 1; round < s->rounds; distance *= 2, round++)
        add_exchange(s, round, distance, has_extra || round < s->rounds - 1);
    if (has_extra)
        pcoll_plan_add(s->plan, put_sum(s, rank + 1, slot(s, 0), 1));
}

static void build_extra(struct state *s)
{
    const uint64_t bytes = s->plan->signature.bytes;

    s->sum = pcoll_at(PCOLL_SEND, 0);
    pcoll_plan_add(s->plan, put_sum(s, s->plan->rank - 1, slot(s, 0), weight_of(s, 0)));
    s->level = 1;
    pcoll_plan_add(s->plan,
                   pcoll_entry_copy(s->bank, 1, slot(s, 0), pcoll_at(PCOLL_RECV, 0), bytes));
}

static int is_extra(const struct state *s)
{
    return s->plan->rank < 2 * s->extra && s->plan->rank % 2 == 1;
}

static int rounds_of(const struct pcoll_signature *signature)
{
    return pcoll_log_ceil(signature->nranks, 2);
}

static uint64_t slot_bytes(const struct pcoll_signature *signature)
{
    return (signature->bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    (void)params;
    return 2 * (uint64_t)rounds_of(signature) * slot_bytes(signature);
}

static enum pcoll_result generate(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    struct state s = {
        .rounds = rounds_of(signature),
        .extra = signature->nranks - (1 << pcoll_log2_floor(signature->nranks)),
        .slot_bytes = slot_bytes(signature),
    };
    enum pcoll_result result = pcoll_plan_create(signature, rank, "butterfly", 2, 2, &s.plan);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    s.plan->temp_bytes = temp_bytes(signature, params);
    for (s.bank = 0; s.bank < 2; s.bank++) {
        pcoll_plan_open(s.plan, s.bank);
        s.level = 0;
        if (is_extra(&s))
            build_extra(&s);
        else
            build_core(&s);
        s.plan->gain[s.bank] = s.level;
    }
    *plan_p = s.plan;
    return pcoll_plan_seal(plan_p);
}

static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const int rounds = rounds_of(signature);
    const int folded = pcoll_log2_floor(signature->nranks) != rounds;
    const double crowd = pcoll_cost_crowd(signature, machine), bytes = (double)signature->bytes;
    const double rate = pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP);
    const double reduce = crowd * (machine->o + bytes * machine->reduce);

    (void)params;
    return pcoll_cost_waves(signature, machine, rounds + folded, 1) +
           (rounds + folded) * crowd * bytes * rate + rounds * reduce +
           folded * crowd * (machine->o + bytes * machine->copy);
}

const struct pcoll_algorithm pcoll_allreduce_butterfly = {
    .name = "butterfly",
    .alias = "recursive_doubling",
    .coll = PCOLL_ALLREDUCE,
    .description = "recursive doubling on a weighted butterfly, in rank order",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
};
