/* Plans of a root and all other ranks; the contract is in star.h. */
#include "algorithms/shape/star.h"

enum pcoll_result pcoll_star_generate(struct pcoll_plan *plan, pcoll_star_build *root,
                                      pcoll_star_build *other)
{
    if (!pcoll_plan_begin(plan, 1, 1))
        return PCOLL_ERR_NOMEM;
    pcoll_plan_open(plan, 0);
    (plan->rank == plan->signature.root ? root : other)(plan);
    return PCOLL_OK;
}
