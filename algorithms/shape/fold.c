/* Folding; the contract is in fold.h. */
#include "algorithms/shape/fold.h"

int pcoll_fold_folded(const struct pcoll_fold *fold)
{
    return fold->count - fold->core;
}

bool pcoll_fold_is_folded(const struct pcoll_fold *fold, int rank)
{
    return rank < 2 * pcoll_fold_folded(fold) && rank % 2 == 1;
}

bool pcoll_fold_has_extra(const struct pcoll_fold *fold, int rank)
{
    return rank < 2 * pcoll_fold_folded(fold) && rank % 2 == 0;
}

int pcoll_fold_rank(const struct pcoll_fold *fold, int number)
{
    const int folded = pcoll_fold_folded(fold);

    return number < folded ? 2 * number : number + folded;
}

int pcoll_fold_number(const struct pcoll_fold *fold, int rank)
{
    const int folded = pcoll_fold_folded(fold);

    return rank < 2 * folded ? rank / 2 : rank - folded;
}

/* ---- cost ---- */

/* The same for a node of which `numbers` are in the core. In a group, those of one node reach each
 * other in memory while the port sends to the others. */
static struct pcoll_move exchange(const struct pcoll_fold_links *links, int numbers, int distance,
                                  int radix, double bytes)
{
    const bool is_near = distance <= numbers / radix;
    const int mates = is_near || distance > numbers ? 0 : numbers / distance - 1;
    struct pcoll_move move = {is_near ? links->near : links->far,
                              {radix - 1 - mates, bytes, radix - 1}};

    move.link.senders *= (double)numbers / links->members;
    return move;
}

static double time_of(const struct pcoll_fold_links *links, const struct pcoll_move *move)
{
    const struct pcoll_waves waves = pcoll_move_alone(links->signature, move);

    return waves.time + waves.queue;
}

/* Where ranks are folded a node has half as many in the core as elsewhere. The slower nodes make
 * the others wait. */
static struct pcoll_move slowest(const struct pcoll_fold_links *links, int distance, int radix,
                                 double bytes)
{
    const int folded = pcoll_fold_folded(&links->fold), count = links->fold.count;
    const bool is_halved = links->members > 1 && links->members < count;
    const int numbers = is_halved ? links->members / 2 : links->members;
    const struct pcoll_move whole = exchange(links, links->members, distance, radix, bytes);
    const struct pcoll_move half = exchange(links, numbers, distance, radix, bytes);

    if (folded == 0)
        return whole;
    if (count - 2 * folded < links->members)
        return half;
    return time_of(links, &whole) > time_of(links, &half) ? whole : half;
}

struct pcoll_move pcoll_fold_exchange(const struct pcoll_fold_links *links, int distance, int radix,
                                      double bytes, bool reduces)
{
    struct pcoll_move move = slowest(links, distance, radix, bytes);

    move.wave.reduced *= reduces;
    return move;
}

struct pcoll_move pcoll_fold_give(const struct pcoll_fold_links *links, double bytes)
{
    return (struct pcoll_move){links->members > 1 ? links->near : links->far, {1, bytes, 1}};
}

struct pcoll_move pcoll_fold_get(const struct pcoll_fold_links *links, double bytes)
{
    struct pcoll_move move = pcoll_fold_give(links, bytes);

    move.wave.reduced = 0;
    return move;
}

struct pcoll_waves pcoll_move_alone(const struct pcoll_signature *signature,
                                    const struct pcoll_move *move)
{
    struct pcoll_waves waves = {0};

    pcoll_waves_add(&waves, signature, &move->link, move->wave);
    return waves;
}

void pcoll_moves_add(struct pcoll_moves *moves, const struct pcoll_signature *signature,
                     const struct pcoll_move *move)
{
    pcoll_waves_add(move->link.senders > 0 ? &moves->far : &moves->near, signature, &move->link,
                    move->wave);
}

double pcoll_moves_time(const struct pcoll_moves *moves)
{
    return moves->near.time + moves->far.time + moves->far.queue;
}
