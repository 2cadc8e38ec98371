/* Every row on an RMA medium; the contract is in rma_rows.h. */
#include "test/unit/rma_rows.h"

#include <stdio.h>

#include "test/unit/cover.h"
#include "test/unit/job.h"

#define BIG ((uint64_t)1 << 20)

static int jobs_run; /* for one row */

static int try_one(struct meeting *meeting, const struct part *model, const struct job *job,
                   int instances)
{
    struct part p = *model;
    enum pcoll_result made;
    int wrong = 1;

    p.signature = job->signature;
    made = part_init(&p, job->algorithm, &job->params);
    meeting_barrier(meeting);
    if (made == PCOLL_UNSUPPORTED) {
        wrong = 0;
        if (p.rank == 0)
            cover_excuse(job->algorithm, p.medium->name, "the medium lacks what the plans need");
    } else if (made == PCOLL_OK && part_bind(&p) == PCOLL_OK) {
        wrong = part_run(&p, instances);
        part_unbind(&p);
        jobs_run++;
    }
    part_fini(&p);
    if (wrong)
        printf("# rank %d: %s\n", p.rank, job_name(job));
    return wrong;
}

/* In place or not in turns, if the collective can be; both forms with unequal blocks. */
static int is_form_to_try(const struct job *job, int form, size_t i)
{
    const int can_be = pcoll_coll_has(job->signature.coll, PCOLL_IN_PLACE);

    return form == (can_be && i % 2) || form == 2 + (can_be && i % 2 == 0);
}

/* Every counter and buffer is used again in the third instance of a plan with two phases; more of
 * them in one setup let ranks run ahead farther. */
static int instances(const struct setup *setup, uint64_t bytes)
{
    if (bytes > 1000)
        return 5;
    return setup->all_sizes ? 20 : 7;
}

static int try_sizes(const struct setup *setup, struct meeting *meeting, const struct part *part,
                     struct job *job)
{
    static const uint64_t sizes[] = {8, 49, 65537, 0, 1, 48, 1000, BIG};
    const size_t nsizes = setup->all_sizes ? sizeof(sizes) / sizeof(sizes[0]) : 3;
    int n = job->signature.nranks;

    for (size_t i = 0; i < nsizes; i++) {
        if (sizes[i] == BIG && n > 4)
            continue;
        job->signature.bytes =
            pcoll_coll_has(job->signature.coll, PCOLL_SYNCHRONIZES) ? 0 : sizes[i];
        job->signature.root =
            pcoll_coll_has(job->signature.coll, PCOLL_ROOTED) ? (int)(i * 3) % n : 0;
        for (int form = 0; form < JOB_FORMS; form++)
            if (is_form_to_try(job, form, i) && job_take_form(job, form) &&
                try_one(meeting, part, job, instances(setup, sizes[i])))
                return 1;
        if (pcoll_coll_has(job->signature.coll, PCOLL_SYNCHRONIZES))
            break;
    }
    return 0;
}

int rma_exercise_rows(struct setup *setup, struct meeting *meeting, struct part *part, int striped)
{
    PCOLL_EACH_ALGORITHM (row) {
        struct pcoll_params params[JOB_VARIANTS];
        int n = job_variants(row, setup->nranks, params);
        double begin = cover_clock();

        if (cover_skips(row, part->medium->name))
            continue;
        jobs_run = 0;
        for (int i = 0; i < n; i++) {
            struct job job = {.algorithm = row,
                              .signature = {.coll = row->coll, .nranks = setup->nranks},
                              .params = params[i]};

            job.params.segment = row->uses_segment ? 32768 : 0;
            if ((params[i].rails > 1) == striped && try_sizes(setup, meeting, part, &job))
                return 1;
        }
        if (part->rank == 0)
            cover_row(row, part->medium->name, jobs_run, begin);
    }
    return 0;
}
