/* The time of recursive halving and doubling; the contract is in halving.h. */
#include "algorithms/number.h"
#include "algorithms/shape/halving.h"

/* All wait for those to whom others are folded. */
double pcoll_halving_time(const struct pcoll_halving_cost *c)
{
    const struct pcoll_signature *signature = c->parts.signature;
    const struct pcoll_move give = pcoll_fold_give(&c->parts, c->bytes);
    const struct pcoll_move get = pcoll_fold_get(&c->results, c->bytes);
    const int rounds = pcoll_log2_floor(c->parts.fold.count);
    const int is_folded = pcoll_fold_folded(&c->parts.fold) > 0;
    struct pcoll_moves moves = {0};

    if (is_folded)
        pcoll_moves_add(&moves, signature, &give);
    for (int i = 0; i < 2 * rounds; i++) {
        const int is_result = i >= rounds, round = is_result ? 2 * rounds - 1 - i : i;
        const struct pcoll_fold_links *links = is_result ? &c->results : &c->parts;
        const struct pcoll_move move =
            pcoll_fold_exchange(links, 1 << round, 2, c->bytes / (double)(2 << round), !is_result);

        pcoll_moves_add(&moves, signature, &move);
    }
    if (is_folded)
        pcoll_moves_add(&moves, signature, &get);
    return pcoll_moves_time(&moves);
}
