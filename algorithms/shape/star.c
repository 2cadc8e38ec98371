/* Plans of a root and all other ranks; the contract is in star.h. */
#include "algorithms/shape/star.h"

enum pcoll_result pcoll_star_generate(const struct pcoll_signature *signature, int rank,
                                      pcoll_star_build *root, pcoll_star_build *other,
                                      struct pcoll_plan **plan_p)
{
    const enum pcoll_result result = pcoll_plan_create(signature, rank, 1, 1, plan_p);

    if (result != PCOLL_OK)
        return result;
    pcoll_plan_open(*plan_p, 0);
    if (rank == signature->root)
        root(*plan_p);
    else
        other(*plan_p);
    return pcoll_plan_seal(plan_p);
}
