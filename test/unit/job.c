#include "test/unit/job.h"

#include <stdio.h>
#include <stdlib.h>

#include "algorithms/lower.h"

static enum pcoll_result make_plan(struct job *job, int rank)
{
    enum pcoll_result result =
        pcoll_generate(job->algorithm, &job->signature, rank, &job->params, &job->plans[rank]);

    if (result == PCOLL_OK && job->lowered)
        result = pcoll_lower(job->algorithm, &job->params, &job->plans[rank]);
    return result;
}

enum pcoll_result job_make(struct job *job)
{
    const int nranks = job->signature.nranks;
    enum pcoll_result first = PCOLL_OK;

    job->plans = calloc((size_t)nranks, sizeof(*job->plans));
    if (!job->plans)
        return PCOLL_ERR_NOMEM;
    for (int r = 0; r < nranks; r++) {
        enum pcoll_result result = make_plan(job, r);

        if (r == 0)
            first = result;
        else if (result != first)
            first = PCOLL_ERR_INVALID;
    }
    if (first != PCOLL_OK)
        job_destroy(job);
    return first;
}

void job_destroy(struct job *job)
{
    for (int r = 0; job->plans && r < job->signature.nranks; r++)
        pcoll_plan_destroy(job->plans[r]);
    free(job->plans);
    job->plans = NULL;
}

const char *job_name(const struct job *job)
{
    static char name[200];
    static const char *const path[] = {"", " path=user", " path=temp"};
    const struct pcoll_signature *s = &job->signature;

    snprintf(name, sizeof(name),
             "%s/%s N=%d root=%d bytes=%llu%s%s radix=%d segment=%llu slots=%d%s",
             pcoll_coll_name(s->coll), job->algorithm->name, s->nranks, s->root,
             (unsigned long long)s->bytes, s->in_place ? " in place" : "", path[job->params.path],
             job->params.radix, (unsigned long long)job->params.segment, job->params.slots,
             job->lowered ? " lowered" : "");
    return name;
}

int job_variants(const struct pcoll_algorithm *algorithm, int nranks, struct pcoll_params *params)
{
    const int radices[] = {2, 3, 4, nranks};
    int count = 0;

    for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++) {
        if (!(algorithm->paths >> path & 1))
            continue;
        for (int i = 0; i < (algorithm->uses_radix ? 4 : 1); i++) {
            if (i == 3 ? nranks <= 4 : i > 0 && radices[i] > nranks)
                continue;
            params[count++] = (struct pcoll_params){
                .radix = algorithm->uses_radix ? radices[i] : 0,
                .path = (enum pcoll_path)path,
            };
        }
        if (algorithm->uses_slots)
            params[count++] = (struct pcoll_params){.path = (enum pcoll_path)path, .slots = 2};
    }
    return count;
}
