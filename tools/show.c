#include "tools/show.h"

#include <stdbool.h>
#include <stdlib.h>

/* Generate the first `count` plans, or that of one rank. */
static enum pcoll_result make_plans(const struct pcoll_job *job, int rank, int count,
                                    struct pcoll_plan **plans)
{
    enum pcoll_result result = PCOLL_OK;

    for (int i = 0; i < count && result == PCOLL_OK; i++)
        result = pcoll_job_plan(job, rank == PCOLL_NONE ? i : rank, &plans[i]);
    return result;
}

static int count_entries(struct pcoll_plan *const *plans, int count)
{
    int entries = 0;

    for (int i = 0; i < count && entries <= SHOW_DOT_ENTRIES; i++)
        entries += plans[i]->nentries;
    return entries;
}

static void print_paper(const struct pcoll_plan *plan, bool is_one, FILE *out)
{
    if (!is_one)
        fprintf(out, "%srank %d\n", plan->rank ? "\n" : "", plan->rank);
    pcoll_plan_print_paper(plan, out);
}

static int print_all(const struct pcoll_job *job, const struct show *show,
                     struct pcoll_plan *const *plans, int count, FILE *out)
{
    if (show->form == SHOW_DOT && count_entries(plans, count) > SHOW_DOT_ENTRIES) {
        fprintf(stderr, "pcoll-info: --dot: more than %d entries cannot be drawn; %s\n",
                SHOW_DOT_ENTRIES, count > 1 ? "choose a --rank" : "take fewer ranks or segments");
        return 1;
    }
    if (show->form == SHOW_DOT)
        show_dot(plans, count, show->phase, out);
    else if (show->form == SHOW_JSON)
        show_json(job, plans, count, out);
    else
        for (int i = 0; i < count; i++)
            if (show->form == SHOW_PAPER)
                print_paper(plans[i], show->rank != PCOLL_NONE, out);
            else
                pcoll_plan_print(plans[i], out);
    return 0;
}

int show_plans(const struct pcoll_job *job, const struct show *show, FILE *out)
{
    const int count = show->rank == PCOLL_NONE ? job->signature.nranks : 1;
    struct pcoll_plan **plans = calloc((size_t)count, sizeof(struct pcoll_plan *));
    enum pcoll_result result = plans ? make_plans(job, show->rank, count, plans) : PCOLL_ERR_NOMEM;
    int status = 1;

    if (result == PCOLL_OK)
        status = print_all(job, show, plans, count, out);
    else
        fprintf(stderr, "pcoll-info: %s/%s: %s with these parameters\n",
                pcoll_coll_name(job->signature.coll), job->algorithm->name,
                pcoll_result_text(result));
    for (int i = 0; plans && i < count; i++)
        pcoll_plan_destroy(plans[i]);
    free(plans);
    return status;
}
