/* The GOAL schedule of a job; the contract is in goal.h. */
#include "tools/sim/goal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/sim/schedule.h"

static void write_op(const struct pcoll_schedule *schedule, int i,
                     const struct pcoll_machine *machine, FILE *out)
{
    const struct pcoll_schedule_op *op = &schedule->ops[i];
    const struct pcoll_machine *node = machine->node ? machine->node : machine;
    const uint64_t bytes = op->bytes ? op->bytes : 1;

    if (op->type == PCOLL_SCHEDULE_CALC)
        fprintf(out, "l%d: calc %.0f cpu 0\n", i,
                1000 * (node->o + (double)op->bytes * node->copy));
    else
        fprintf(out, "l%d: %s %" PRIu64 "b %s %d tag %d cpu 0 nic 0\n", i,
                op->type == PCOLL_SCHEDULE_SEND ? "send" : "recv", bytes,
                op->type == PCOLL_SCHEDULE_SEND ? "to" : "from", op->peer, op->tag);
}

static void write_needs(const struct pcoll_schedule *schedule, int i, FILE *out)
{
    const struct pcoll_schedule_op *op = &schedule->ops[i];

    for (int n = 0; n < op->nneeds; n++)
        fprintf(out, "l%d requires l%d\n", i, schedule->needs[op->first_need + n]);
}

static enum pcoll_result write_rank(struct pcoll_plan *const *plans, int rank,
                                    const struct pcoll_machine *machine, FILE *out)
{
    struct pcoll_plan **others;
    struct pcoll_schedule schedule;
    enum pcoll_result result;
    const int n = plans[rank]->nneighbors;

    others = malloc(((size_t)n + 1) * sizeof(struct pcoll_plan *));
    if (others == NULL)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < n; i++)
        others[i] = plans[plans[rank]->neighbors[i]];
    result = pcoll_schedule_create(plans[rank], others, n, &schedule);
    free(others);
    if (result != PCOLL_OK)
        return result;
    fprintf(out, "\nrank %d {\n", rank);
    for (int i = 0; i < schedule.nops; i++)
        write_op(&schedule, i, machine, out);
    for (int i = 0; i < schedule.nops; i++)
        write_needs(&schedule, i, out);
    fprintf(out, "}\n");
    pcoll_schedule_destroy(&schedule);
    return PCOLL_OK;
}

enum pcoll_result pcoll_goal_write(const struct pcoll_job *job, const struct pcoll_machine *machine,
                                   FILE *out)
{
    const int nranks = job->signature.nranks;
    struct pcoll_plan **plans = calloc((size_t)nranks, sizeof(struct pcoll_plan *));
    enum pcoll_result result = plans ? PCOLL_OK : PCOLL_ERR_NOMEM;

    for (int r = 0; result == PCOLL_OK && r < nranks; r++)
        result = pcoll_job_plan(job, r, &plans[r]);
    if (result == PCOLL_OK)
        fprintf(out, "num_ranks %d\n", nranks);
    for (int r = 0; result == PCOLL_OK && r < nranks; r++)
        result = write_rank(plans, r, machine, out);
    if (result == PCOLL_OK && (fflush(out) != 0 || ferror(out)))
        result = PCOLL_ERR_SYSTEM;
    for (int r = 0; plans != NULL && r < nranks; r++)
        pcoll_plan_destroy(plans[r]);
    free(plans);
    return result;
}
