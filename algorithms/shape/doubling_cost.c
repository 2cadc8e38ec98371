/* The time of recursive doubling; the contract is in doubling.h. */
#include "algorithms/shape/doubling.h"

static int nfolded(const struct pcoll_doubling_cost *c)
{
    return c->rounds.count - c->rounds.core;
}

/* A round as ranks of a node see it. */
struct move {
    struct pcoll_link link;
    struct pcoll_wave wave;
};

static struct pcoll_waves alone(const struct pcoll_doubling_cost *c, const struct move *move)
{
    struct pcoll_waves waves = {0};

    pcoll_waves_add(&waves, c->signature, &move->link, move->wave);
    return waves;
}

static double time_of(const struct pcoll_doubling_cost *c, const struct move *move)
{
    const struct pcoll_waves waves = alone(c, move);

    return waves.time + waves.queue;
}

/* ... of which `numbers` are in the core. In a group, those of one node reach each other in memory
 * while the port sends to the others. */
static struct move move_of(const struct pcoll_doubling_cost *c, int numbers, int distance,
                           int radix)
{
    const int is_near = distance <= numbers / radix;
    const int mates = is_near || distance > numbers ? 0 : numbers / distance - 1;
    struct move move = {is_near ? c->near : c->far, {radix - 1 - mates, c->bytes, radix - 1}};

    move.link.senders *= (double)numbers / c->members;
    return move;
}

/* Where ranks are folded a node has half as many in the core as elsewhere. Who takes longer makes
 * the others wait. */
static struct move slowest_move(const struct pcoll_doubling_cost *c, int distance, int radix)
{
    const int is_one_node = c->members >= c->rounds.count;
    const int half = c->members > 1 && !is_one_node ? c->members / 2 : c->members;
    const struct move whole = move_of(c, c->members, distance, radix);
    const struct move folded = move_of(c, half, distance, radix);

    if (nfolded(c) == 0)
        return whole;
    if (c->rounds.count - 2 * nfolded(c) < c->members)
        return folded;
    return time_of(c, &whole) > time_of(c, &folded) ? whole : folded;
}

/* All rounds: the time that they take if all begin together; the time that they take a rank to
 * whom another is folded, while those wait for it to whom none is. */
struct times {
    double all, late;
};

static struct times time_of_rounds(const struct pcoll_doubling_cost *c)
{
    struct pcoll_waves near = {0}, far = {0};
    double late = 0;
    int distance = 1;

    for (int i = 0; i < c->rounds.number; i++) {
        const int radix = i == c->rounds.number - 1 ? c->rounds.last : c->rounds.radix;
        const struct move move = slowest_move(c, distance, radix);

        pcoll_waves_add(move.link.senders > 0 ? &far : &near, c->signature, &move.link, move.wave);
        late +=
            nfolded(c) > distance ? alone(c, &move).time : pcoll_wave_busy(&move.link, move.wave);
        distance *= radix;
    }
    return (struct times){near.time + far.time + far.queue, late};
}

/* If those to whom ranks are folded all come first in the groups of the last round, they wait for
 * nobody who is late: only the others wait for them. So they have the result for
 * the ranks that are folded a round earlier, unless they wait for each other or their own messages
 * keep them busy.
 */
double pcoll_doubling_time(const struct pcoll_doubling_cost *c)
{
    const struct pcoll_link *link = c->members > 1 ? &c->near : &c->far;
    const struct move give = {*link, {1, c->bytes, 1}}, take = {*link, {1, c->bytes, 0}};
    const struct times rounds = time_of_rounds(c);
    const double fold = alone(c, &give).time, unfold = alone(c, &take).time + c->copy;

    if (nfolded(c) == 0)
        return rounds.all;
    if (c->rounds.last * nfolded(c) > c->rounds.core)
        return fold + rounds.all + unfold;
    return pcoll_larger(fold + rounds.all,
                        pcoll_larger(time_of(c, &give) + rounds.late, rounds.all) + unfold);
}
