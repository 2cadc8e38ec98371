/* The time of recursive halving and doubling; the contract is in halving.h. */
#include "algorithms/number.h"
#include "algorithms/shape/halving.h"

double pcoll_halving_time(const struct pcoll_halving_cost *c)
{
    const struct pcoll_signature *signature = c->parts.signature;
    const struct pcoll_move give = pcoll_fold_give(&c->parts, c->bytes);
    const struct pcoll_move get = pcoll_fold_get(&c->results, c->bytes);
    const int rounds = pcoll_log2_floor(c->parts.fold.count);
    struct pcoll_moves moves = {0};
    double folding = 0;

    for (int i = 0; i < 2 * rounds; i++) {
        const int is_result = i >= rounds, round = is_result ? 2 * rounds - 1 - i : i;
        const struct pcoll_fold_links *links = is_result ? &c->results : &c->parts;
        const struct pcoll_move move =
            pcoll_fold_exchange(links, 1 << round, 2, c->bytes / (double)(2 << round), !is_result);

        pcoll_moves_add(&moves, signature, &move);
    }
    /* All wait for those to whom others are folded. */
    if (pcoll_fold_folded(&c->parts.fold) > 0)
        folding = pcoll_move_alone(signature, &give).time + pcoll_move_alone(signature, &get).time;
    return folding + pcoll_moves_time(&moves);
}
