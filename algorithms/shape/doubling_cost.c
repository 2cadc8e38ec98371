/* The time of recursive doubling; the contract is in doubling.h. */
#include "algorithms/shape/doubling.h"

/* All rounds: the time that they take if all begin together; the time that they take a rank to
 * whom another is folded, while those wait for it to whom none is. */
struct times {
    double all, late;
};

static struct times time_of_rounds(const struct pcoll_doubling_cost *c)
{
    const struct pcoll_doubling_rounds *rounds = &c->rounds;
    const struct pcoll_signature *signature = c->links.signature;
    const int folded = pcoll_fold_folded(&rounds->fold);
    struct pcoll_moves moves = {0};
    double late = 0;
    int distance = 1;

    for (int i = 0; i < rounds->number; i++) {
        const int radix = i == rounds->number - 1 ? rounds->last : rounds->radix;
        const struct pcoll_move move = pcoll_fold_exchange(&c->links, distance, radix, c->bytes, 1);

        pcoll_moves_add(&moves, signature, &move);
        late += folded > distance ? pcoll_move_alone(signature, &move).time
                                  : pcoll_wave_busy(&move.link, move.wave);
        distance *= radix;
    }
    return (struct times){pcoll_moves_time(&moves), late};
}

/* A rank to which another is folded is late by that folding, and those that wait for it are late,
 * too. If all such ranks come first in their groups of the last round, none of them waits for
 * another one there. Then they can pass the result on a round earlier than if all were late, unless
 * their own messages keep them busy. */
double pcoll_doubling_time(const struct pcoll_doubling_cost *c)
{
    const struct pcoll_move give = pcoll_fold_give(&c->links, c->bytes);
    const struct pcoll_move get = pcoll_fold_get(&c->links, c->bytes);
    const struct pcoll_waves fold = pcoll_move_alone(c->links.signature, &give);
    const double unfold = pcoll_move_alone(c->links.signature, &get).time + c->copy;
    const struct times rounds = time_of_rounds(c);
    const int folded = pcoll_fold_folded(&c->rounds.fold);

    if (folded == 0)
        return rounds.all;
    if (c->rounds.last * folded > c->rounds.fold.core)
        return fold.time + rounds.all + unfold;
    return pcoll_larger(fold.time + rounds.all,
                        pcoll_larger(fold.time + fold.queue + rounds.late, rounds.all) + unfold);
}
