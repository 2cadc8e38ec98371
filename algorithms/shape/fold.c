/* Folding; the contract is in fold.h. */
#include "algorithms/shape/fold.h"

int pcoll_fold_folded(const struct pcoll_fold *fold)
{
    return fold->count - fold->core;
}

int pcoll_fold_is_folded(const struct pcoll_fold *fold, int rank)
{
    return rank < 2 * pcoll_fold_folded(fold) && rank % 2 == 1;
}

int pcoll_fold_has_extra(const struct pcoll_fold *fold, int rank)
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
