/* The resources of a rank; the contract is in resources.h. */
#include "tools/sim/resources.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sim/schedule.h"

static bool is(const struct pcoll_schedule_op *op, enum pcoll_schedule_type type)
{
    return op->is_data && op->type == type;
}

static int count(const struct pcoll_schedule *schedule, enum pcoll_schedule_type type)
{
    int n = 0;

    for (int i = 0; i < schedule->nops; i++)
        n += is(&schedule->ops[i], type);
    return n;
}

/* Number of different pairs of peer and rail. */
static int channels(const struct pcoll_schedule *schedule, enum pcoll_schedule_type type)
{
    const struct pcoll_schedule_op *ops = schedule->ops;
    int n = 0;

    for (int i = 0; i < schedule->nops; i++) {
        bool seen = false;

        for (int j = 0; j < i && !seen; j++)
            seen = is(&ops[j], type) && ops[j].peer == ops[i].peer && ops[j].rail == ops[i].rail;
        n += is(&ops[i], type) && !seen;
    }
    return n;
}

/* Mark what the operation needs, directly and indirectly. */
static void mark_needs(const struct pcoll_schedule *schedule, int op, char *marked)
{
    const struct pcoll_schedule_op *one = &schedule->ops[op];

    for (int i = 0; i < one->nneeds; i++) {
        int need = schedule->needs[one->first_need + i];

        if (!marked[need]) {
            marked[need] = 1;
            mark_needs(schedule, need, marked);
        }
    }
}

/* Number of receives that must complete before the send can begin. */
static int receives_before(const struct pcoll_schedule *schedule, int op, char *marked)
{
    int n = 0;

    memset(marked, 0, (size_t)schedule->nops);
    mark_needs(schedule, op, marked);
    for (int i = 0; i < schedule->nops; i++)
        n += marked[i] && is(&schedule->ops[i], PCOLL_SCHEDULE_RECV);
    return n;
}

/* Sends that can begin after the same number of receives belong to one round. If no send can begin
 * at once, a round with receives only comes first. */
static int count_rounds(const struct pcoll_schedule *schedule, char *marked, char *has_sends)
{
    int rounds = 0;

    for (int i = 0; i < schedule->nops; i++)
        if (is(&schedule->ops[i], PCOLL_SCHEDULE_SEND))
            has_sends[receives_before(schedule, i, marked)] = 1;
    for (int i = 0; i <= schedule->nops; i++)
        rounds += has_sends[i];
    return rounds + !has_sends[0];
}

static enum pcoll_result count_all(const struct pcoll_schedule *schedule,
                                   struct pcoll_resources *resources)
{
    char *flags = calloc(2 * (size_t)schedule->nops + 1, 1);

    if (flags == NULL)
        return PCOLL_ERR_NOMEM;
    resources->sends = count(schedule, PCOLL_SCHEDULE_SEND);
    resources->receives = count(schedule, PCOLL_SCHEDULE_RECV);
    resources->channels_out = channels(schedule, PCOLL_SCHEDULE_SEND);
    resources->channels_in = channels(schedule, PCOLL_SCHEDULE_RECV);
    resources->rounds = count_rounds(schedule, flags, flags + schedule->nops);
    free(flags);
    return PCOLL_OK;
}

static enum pcoll_result of_plans(const struct pcoll_plan *own, struct pcoll_plan *const *others,
                                  struct pcoll_resources *resources)
{
    const struct pcoll_account account = pcoll_plan_account(own);
    struct pcoll_schedule schedule;
    enum pcoll_result result = pcoll_schedule_create(own, others, own->nneighbors, &schedule);

    if (result != PCOLL_OK)
        return result;
    resources->counters = account.counters;
    resources->entries = account.entries;
    result = count_all(&schedule, resources);
    pcoll_schedule_destroy(&schedule);
    return result;
}

enum pcoll_result pcoll_resources_of(const struct pcoll_job *job, int rank,
                                     struct pcoll_resources *resources)
{
    struct pcoll_plan *own = NULL, **others;
    enum pcoll_result result = pcoll_job_plan(job, rank, &own);

    if (result != PCOLL_OK)
        return result;
    others = calloc((size_t)own->nneighbors + 1, sizeof(struct pcoll_plan *));
    if (others == NULL)
        result = PCOLL_ERR_NOMEM;
    for (int i = 0; result == PCOLL_OK && i < own->nneighbors; i++)
        result = pcoll_job_plan(job, own->neighbors[i], &others[i]);
    if (result == PCOLL_OK)
        result = of_plans(own, others, resources);
    for (int i = 0; others != NULL && i < own->nneighbors; i++)
        pcoll_plan_destroy(others[i]);
    free(others);
    pcoll_plan_destroy(own);
    return result;
}

static void raise_to(int *max, int one)
{
    *max = one > *max ? one : *max;
}

void pcoll_resources_max(struct pcoll_resources *max, const struct pcoll_resources *one)
{
    raise_to(&max->counters, one->counters);
    raise_to(&max->entries, one->entries);
    raise_to(&max->sends, one->sends);
    raise_to(&max->receives, one->receives);
    raise_to(&max->channels_out, one->channels_out);
    raise_to(&max->channels_in, one->channels_in);
    raise_to(&max->rounds, one->rounds);
}
