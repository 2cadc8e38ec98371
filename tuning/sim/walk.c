/* The cost of a plan, derived from the plan itself; the contract is in walk.h. */
#include "tuning/sim/walk.h"

#include "algorithms/cost.h"
#include "tuning/sim/engine.h"

/* What all ranks of a node share, as far as its machine says. */
static struct pcoll_sim_node inside_of(const struct pcoll_job *job,
                                       const struct pcoll_machine *machine)
{
    const struct pcoll_machine *node = machine->node ? machine->node : machine;
    const int ranks = pcoll_ranks_per_node(&job->signature);

    return (struct pcoll_sim_node){
        .nlevels = node->saturated > 0,
        .levels = {{.cores = machine->cores > 0 ? machine->cores : ranks, .machine = *node}}};
}

/* max_memory: as in the options of the engine. */
static enum pcoll_result walk(const struct pcoll_job *job, const struct pcoll_machine *machine,
                              uint64_t max_memory, double *cost_p)
{
    const struct pcoll_engine_options options = {.machine = *machine,
                                                 .inside = inside_of(job, machine),
                                                 .ports = job->params.rails,
                                                 .max_memory = max_memory};
    struct pcoll_engine_result run;
    const enum pcoll_result result = pcoll_engine_run(job, &options, &run);

    if (result == PCOLL_OK)
        *cost_p = run.first;
    return result;
}

double pcoll_cost_walk(const struct pcoll_algorithm *algorithm,
                       const struct pcoll_signature *signature, const struct pcoll_params *params,
                       const struct pcoll_machine *machine)
{
    const struct pcoll_job job = {algorithm, *signature, *params, 0};
    double cost;

    return walk(&job, machine, 0, &cost) == PCOLL_OK ? cost : -1;
}

/* Whether a row suits does not depend on the rank. */
static bool suits(const struct pcoll_job *job)
{
    struct pcoll_plan *plan;

    if (pcoll_job_plan(job, 0, &plan) != PCOLL_OK)
        return false;
    pcoll_plan_destroy(plan);
    return true;
}

/* The cost of a row without its own. */
static double cost_of_few(const struct pcoll_job *job, const struct pcoll_machine *machine)
{
    enum pcoll_result result = PCOLL_ERR_NOMEM;
    double cost;

    if (job->signature.nranks <= PCOLL_WALK_RANKS)
        result = walk(job, machine, PCOLL_WALK_STEPS * sizeof(struct pcoll_sim_step), &cost);
    if (result == PCOLL_OK)
        return cost;
    return result == PCOLL_ERR_NOMEM && suits(job) ? PCOLL_COST_UNKNOWN : -1;
}

double pcoll_cost_of(const struct pcoll_algorithm *algorithm,
                     const struct pcoll_signature *signature, const struct pcoll_params *params,
                     const struct pcoll_machine *machine)
{
    struct pcoll_signature room;
    const struct pcoll_signature *view = pcoll_signature_view(signature, params->teams, &room);

    if (view == NULL)
        return -1;
    if (algorithm->cost)
        return algorithm->cost(view, params, machine);
    return cost_of_few(&(struct pcoll_job){algorithm, *signature, *params, 0}, machine);
}
