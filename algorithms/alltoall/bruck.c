/*
 * Alltoall by the algorithm of Bruck through communication buffers.
 *
 * Idea: the block for rank p + j travels the distance j as the sum of the digits of j in base
 * `radix`: in round i, all blocks whose digit i is d go together from p to p + d * radix^i. Blocks
 * that have arrived stay where they are until they go on. A message holds its blocks in the order
 * of descending j, so that those of the same higher digits are adjacent, and those that have
 * arrived are in the order of the ranks that they come from. So there is no rotation before the
 * rounds and no inversion after them: the packing of the first round reads the send buffer, blocks
 * that have arrived are copied out in whole runs, and every message is one put.
 *
 * Round i waits until the messages of the rounds before it have arrived and their packing is done,
 * each of which adds (radix + 1)^(R-1-i) to the tank, i its round: there are at most `radix` of
 * them in a round, so a later round cannot substitute for an earlier one (document 001
 * section 4.2.1). The copies that pack a round's messages count in a second counter, which fires
 * the puts.
 *
 * Source: Bruck et al., "Efficient algorithms for all-to-all communications in multiport
 * message-passing systems" (1997), index operation. Traeff, Rougier and Hunold, "Implementing a
 * classic: zero-copy all-to-all communication with MPI datatypes" (2014), leave out the rotation
 * and the inversion by the order of the blocks, too.
 *
 *      N = 5, radix 2:   p -> p + 1: j = 3, 1 | p -> p + 2: j = 3, 2 | p -> p + 4: j = 4
 *
 * Cost: R = ceil(log_radix N) times (L + (radix - 1) o + N M (radix - 1) / radix (G + copy)) and N
 * M copy, in about 2 N copies, whatever the radix: N of single blocks from the send buffer, N of
 * runs that are longer from round to round. Two counters, two banks; TEMP 3 R N M. Condition (lemma
 * A): completing k needs every rank's start of k, as a block comes from each, so two banks of
 * counters and of buffers for arrivals keep instances apart. Messages are packed in one bank, since
 * they have left when the instance is complete.
 */
#include <assert.h>
#include <stdbool.h>

#include "algorithms/algorithm.h"
#include "algorithms/cost.h"
#include "algorithms/number.h"

enum { DEFAULT_RADIX = 2, MAX_ROUNDS = 31 };

/* The numbers of the blocks: j is for the rank that is j ranks after the one it comes from. */
struct digits {
    int nranks, radix, nrounds;
    int64_t unit[MAX_ROUNDS + 1]; /* radix^i */
    int64_t first[MAX_ROUNDS];    /* blocks in the messages of the rounds before */
    int64_t blocks;               /* in those of all rounds */
};

/* When the messages of a round are packed: trigger and threshold of what follows. */
struct gate {
    int counter;
    uint64_t level;
};

struct state {
    struct pcoll_plan *plan;
    struct digits digits;
    int bank;
    uint64_t level;  /* of my tank when all rounds so far are over */
    uint64_t packed; /* copies so far that pack messages */
    uint64_t weight; /* of what happens in this round */
    struct gate gates[MAX_ROUNDS];
};

static int tank(const struct state *s)
{
    return s->bank;
}

static int packing(const struct state *s)
{
    return 2 + s->bank;
}

/* ---- digits ---- */

/* The number of blocks whose digit i is `digit` or more. */
static int64_t at_least(const struct digits *of, int i, int64_t digit)
{
    const int64_t unit = of->unit[i], cycle = unit * of->radix, rest = of->nranks % cycle;
    const int64_t all = of->nranks / cycle * (cycle - digit * unit);

    return rest > digit * unit ? all + rest - digit * unit : all;
}

static struct digits digits_of(const struct pcoll_signature *signature,
                               const struct pcoll_params *params)
{
    const int nranks = signature->nranks;
    const int radix = params->radix == 0 ? DEFAULT_RADIX : params->radix;
    struct digits of = {.nranks = nranks, .radix = radix < nranks ? radix : nranks, .unit = {1}};

    of.nrounds = pcoll_log_ceil(nranks, of.radix);
    for (int i = 0; i < of.nrounds; i++) {
        of.first[i] = of.blocks;
        of.blocks += at_least(&of, i, 1);
        of.unit[i + 1] = of.unit[i] * of.radix;
    }
    return of;
}

static int digit(const struct digits *of, int i, int64_t j)
{
    return (int)(j / of->unit[i] % of->radix);
}

/* The messages of round i: to p + unit[i], p + 2 unit[i], ... */
static int nmessages(const struct digits *of, int i)
{
    int64_t max;

    assert(of->unit[i] > 0);
    max = (of->nranks - 1) / of->unit[i];
    return max < of->radix ? (int)max : of->radix - 1;
}

static int64_t blocks_of_message(const struct digits *of, int i, int digit)
{
    return at_least(of, i, digit) - at_least(of, i, digit + 1);
}

/* Where block j, which moves in round i, is among the blocks of all messages. Higher digits come
 * first. */
static int64_t slot(const struct digits *of, int i, int64_t j)
{
    const int64_t unit = of->unit[i], below = j / (unit * of->radix) * unit + j % unit;

    return of->first[i] + at_least(of, i, digit(of, i, j)) - 1 - below;
}

/* The last round before round i in which block j moves; PCOLL_NONE: it has not moved. */
static int last_move(const struct digits *of, int i, int64_t j)
{
    while (--i >= 0)
        if (digit(of, i, j) != 0)
            return i;
    return PCOLL_NONE;
}

/* ---- buffers ---- */

static uint64_t bytes_of(const struct state *s, int64_t blocks)
{
    return (uint64_t)blocks * s->plan->signature.bytes;
}

/* Block j in the message of round i, as it is packed. */
static struct pcoll_place packed(const struct state *s, int i, int64_t j)
{
    return pcoll_at(PCOLL_TEMP, bytes_of(s, slot(&s->digits, i, j)));
}

/* The same, as it has arrived. */
static struct pcoll_place arrived(const struct state *s, int i, int64_t j)
{
    return pcoll_at(PCOLL_TEMP,
                    bytes_of(s, (1 + s->bank) * s->digits.blocks + slot(&s->digits, i, j)));
}

/* Block j before round i. */
static struct pcoll_place found(const struct state *s, int i, int64_t j)
{
    const int last = last_move(&s->digits, i, j);

    if (last == PCOLL_NONE)
        return pcoll_at(PCOLL_SEND, bytes_of(s, (s->plan->rank + j) % s->digits.nranks));
    return arrived(s, last, j);
}

/* ---- entries ---- */

/* A single block has not moved before: it leaves from the send buffer, after the first round. */
static bool is_packed(const struct state *s, int i, int digit)
{
    return blocks_of_message(&s->digits, i, digit) > 1;
}

static void pack_message(struct state *s, int i, int digit)
{
    const int trigger = i == 0 ? PCOLL_NONE : tank(s);
    const int64_t unit = s->digits.unit[i], cycle = unit * s->digits.radix;
    const int64_t nranks = s->digits.nranks;

    for (int64_t base = (nranks - 1) / cycle * cycle; base >= 0; base -= cycle) {
        const int64_t first = base + digit * unit;

        for (int64_t j = first + unit - 1; j >= first; j--) {
            struct pcoll_entry copy;

            if (j >= nranks)
                continue;
            copy = pcoll_entry_copy(trigger, s->level, found(s, i, j), packed(s, i, j),
                                    bytes_of(s, 1));
            s->packed += (uint64_t)pcoll_plan_join(s->plan, pcoll_entry_done(copy, packing(s), 1));
        }
    }
}

/* Add the copies of round i; returns what the puts wait for. */
static struct gate pack(struct state *s, int i)
{
    const uint64_t before = s->packed;

    for (int digit = 1; digit <= nmessages(&s->digits, i); digit++)
        if (is_packed(s, i, digit))
            pack_message(s, i, digit);
    if (s->packed > before)
        return (struct gate){packing(s), s->packed};
    return (struct gate){i == 0 ? PCOLL_NONE : tank(s), s->level};
}

static void add_put(struct state *s, int i, int digit)
{
    const int nranks = s->digits.nranks, rank = s->plan->rank;
    const int distance = (int)(digit * s->digits.unit[i]);
    const int to = (int)(((int64_t)rank + distance) % nranks);
    const int64_t blocks = blocks_of_message(&s->digits, i, digit);
    const int64_t top = distance + (blocks - 1) / s->digits.unit[i] * s->digits.unit[i + 1] +
                        (blocks - 1) % s->digits.unit[i]; /* its first block */
    const bool has_moved = is_packed(s, i, digit);
    const struct gate gate = s->gates[has_moved ? i : 0];
    const struct pcoll_place from = has_moved ? packed(s, i, top) : found(s, i, top);
    const struct pcoll_entry put = pcoll_entry_put(gate.counter, gate.level, from, to,
                                                   arrived(s, i, top), bytes_of(s, blocks));

    pcoll_plan_add(s->plan, pcoll_entry_signal(put, to, tank(s), s->weight));
    pcoll_plan_neighbor(s->plan, (rank - distance + nranks) % nranks);
    s->level += s->weight;
}

static void add_round(struct state *s, int i)
{
    const struct gate gate = s->gates[i] = pack(s, i);

    for (int digit = 1; digit <= nmessages(&s->digits, i); digit++)
        add_put(s, i, digit);
    if (gate.counter == packing(s) && i < s->digits.nrounds - 1) {
        pcoll_plan_add(s->plan, pcoll_entry_done(pcoll_entry_add(gate.counter, gate.level), tank(s),
                                                 s->weight));
        s->level += s->weight;
    }
    s->weight /= (uint64_t)s->digits.radix + 1;
}

/* Copy block j to its place, from where it is at the end. It waits for the messages of the next
 * round to go first. */
static void copy_out(const struct state *s, int64_t j)
{
    const int nrounds = s->digits.nrounds, next = last_move(&s->digits, nrounds, j) + 1;
    const struct gate end = {tank(s), s->level};
    const struct gate gate = next < nrounds ? s->gates[next] : end;
    const int from = (int)((s->plan->rank - j + s->digits.nranks) % s->digits.nranks);

    pcoll_plan_join(s->plan,
                    pcoll_entry_copy(gate.counter, gate.level, found(s, nrounds, j),
                                     pcoll_at(PCOLL_RECV, bytes_of(s, from)), bytes_of(s, 1)));
}

static void build_phase(struct state *s)
{
    pcoll_plan_open(s->plan, s->bank);
    s->level = s->packed = 0;
    s->weight = 1;
    for (int i = 1; i < s->digits.nrounds; i++)
        s->weight *= (uint64_t)s->digits.radix + 1;
    for (int i = 0; i < s->digits.nrounds; i++)
        add_round(s, i);
    for (int64_t j = s->digits.nranks - 1; j >= 0; j--)
        copy_out(s, j);
    s->plan->gain[tank(s)] = s->level;
    s->plan->gain[packing(s)] = s->packed;
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return 3 * (uint64_t)digits_of(signature, params).blocks * signature->bytes;
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    struct state s = {.plan = plan, .digits = digits_of(&plan->signature, params)};

    if (!pcoll_plan_begin(plan, 4, 2))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = temp_bytes(&plan->signature, params);
    for (s.bank = 0; s.bank < 2; s.bank++)
        build_phase(&s);
    return PCOLL_OK;
}

/* ---- cost ---- */

/* The copies that pack round i: of the blocks with the same higher digits, those that arrived in a
 * message are adjacent, and the one that has not moved is alone. */
static double copies_of_round(const struct digits *of, int i)
{
    const double runs = 1 + (double)i * (of->radix - 1);

    return (double)at_least(of, i, 1) / (double)of->unit[i] * runs;
}

/* The messages of a last round of single blocks leave with those of the first. The own block is
 * copied while those are on their way. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct digits of = digits_of(signature, params);
    const struct pcoll_machine node = pcoll_cost_node(machine);
    struct pcoll_machine port = *machine;
    const double crowd = pcoll_cost_crowd(signature, machine), block = (double)signature->bytes;
    const double rate =
        pcoll_is_over_wire(signature)
            ? pcoll_cost_rate(signature, machine, PCOLL_PATH_TEMP)
            : crowd * pcoll_cost_saturated(machine, signature->nranks, 1, machine->copy);
    const int last = of.nrounds - 1;
    const bool ends_early = blocks_of_message(&of, last, 1) == 1;
    const int waves = last > 0 && ends_early ? of.nrounds - 1 : of.nrounds;
    double copies = 3 + (of.nrounds - 1.0) * (of.radix - 1), moved = signature->nranks - 1;
    double time = machine->call, meanwhile = machine->L;

    if (pcoll_is_over_wire(signature))
        port.g *= pcoll_cost_port_load(signature);
    for (int i = 0; i < of.nrounds; i++)
        if (blocks_of_message(&of, i, 1) > 1) {
            copies += copies_of_round(&of, i);
            moved += (double)at_least(&of, i, 1);
        }
    for (int i = 0; i < waves; i++) {
        const int more = i == 0 && waves < of.nrounds ? nmessages(&of, last) : 0;

        time += pcoll_cost_wave(signature, &port, nmessages(&of, i) + more, i == waves - 1);
    }
    if (pcoll_is_over_wire(signature))
        meanwhile += (double)at_least(&of, 0, 1) * block * rate;
    time += pcoll_larger(0, crowd * block * node.copy - meanwhile);
    return time + (double)of.blocks * block * rate +
           crowd * (copies * node.o + moved * block * node.copy);
}

const struct pcoll_algorithm pcoll_alltoall_bruck = {
    .name = "bruck",
    .alias = "brucks",
    .coll = PCOLL_ALLTOALL,
    .description = "Bruck: each block in as many hops as its distance has digits",
    .when = "short blocks and so many ranks that N messages cost more than N copies",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_radix = 1,
};
