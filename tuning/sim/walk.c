/* The cost of a plan, derived from the plan itself; the contract is in walk.h. */
#include "tuning/sim/walk.h"

#include "tuning/sim/engine.h"

double pcoll_cost_walk(const struct pcoll_algorithm *algorithm,
                       const struct pcoll_signature *signature, const struct pcoll_params *params,
                       const struct pcoll_machine *machine)
{
    const struct pcoll_job job = {algorithm, *signature, *params, 0};
    const struct pcoll_engine_options options = {.machine = *machine, .ports = params->rails};
    struct pcoll_engine_result result;

    if (pcoll_engine_run(&job, &options, &result) != PCOLL_OK)
        return -1;
    return result.first;
}
