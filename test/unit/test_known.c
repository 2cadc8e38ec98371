/*
 * Which jobs count as known: each difference that the proof or the explorer could see makes a job
 * new, and another name for the same does not.
 */
#include "test/unit/known.h"
#include "test/unit/mutate.h"
#include "test/unit/tap.h"

static struct job job_of(enum pcoll_coll coll, const char *name, uint64_t bytes)
{
    return (struct job){
        .algorithm = pcoll_algorithm_find(coll, name),
        .signature = {coll, 3, 0, bytes},
        .params.path = PCOLL_PATH_TEMP,
    };
}

/* Makes the plans and forgets them. */
static int is_known(struct job job, int how)
{
    int known;

    if (job_make(&job) != PCOLL_OK)
        abort();
    known = job_is_known(&job, how);
    job_destroy(&job);
    return known;
}

static void test_names(void)
{
    const struct job one = job_of(PCOLL_ALLGATHER, "ring", 100);
    struct job other = job_of(PCOLL_ALLGATHERV, "ring", 100);

    tap_ok(!is_known(one, 0), "the first job is new");
    tap_ok(is_known(one, 0), "the second time it is known");
    tap_ok(!is_known(one, 1), "not for another purpose");
    tap_ok(is_known(other, 0), "known under the name of another collective");
    (void)job_take_form(&other, 2);
    tap_ok(!is_known(other, 0), "new with unequal blocks");
    tap_ok(!is_known(job_of(PCOLL_ALLGATHER, "ring", 99), 0), "new with another size");
}

/* The plans of both are the same. */
static void test_meaning(void)
{
    struct job job = job_of(PCOLL_SCAN, "direct", 8);

    (void)is_known(job, 0);
    job.signature.commutes = true;
    tap_ok(!is_known(job, 0), "new if the operator commutes");
    job.signature.unit = 8;
    tap_ok(!is_known(job, 0), "new with another unit");
}

enum { NFIELDS = 16 };

/* Change a field, or if there are no more, return 0. */
static int change(struct pcoll_plan *plan, int field)
{
    struct pcoll_entry *entry = &plan->entries[plan->nentries - 1];
    int *const ints[] = {&entry->trigger, &entry->done,         &entry->first_operand, &entry->peer,
                         &entry->rail,    &entry->peer_counter, &entry->noperands};
    uint64_t *const longs[] = {&entry->threshold,
                               &entry->done_add,
                               &entry->peer_add,
                               &entry->bytes,
                               &entry->local.offset,
                               &entry->remote.offset,
                               &plan->gain[plan->ncounters - 1]};
    const int nints = sizeof(ints) / sizeof(ints[0]), nlongs = sizeof(longs) / sizeof(longs[0]);

    if (field < nints)
        ++*ints[field];
    else if (field < nints + nlongs)
        ++*longs[field - nints];
    else if (field == nints + nlongs)
        entry->op = entry->op == PCOLL_OP_WAIT ? PCOLL_OP_ADD : PCOLL_OP_WAIT;
    else
        plan->ordered = !plan->ordered;
    return field <= nints + nlongs + 1;
}

static void test_fields(enum pcoll_coll coll, const char *name)
{
    struct job job = job_of(coll, name, 64);
    int wrong = 0;

    if (job_make(&job) != PCOLL_OK)
        abort();
    (void)job_is_known(&job, 0);
    for (int field = 0; field < NFIELDS; field++) {
        struct pcoll_plan *plan = job.plans[2], *changed = mutate_copy(plan);

        if (!changed || !change(changed, field))
            abort();
        job.plans[2] = changed;
        if (job_is_known(&job, 0)) {
            wrong++;
            printf("# field %d does not count\n", field);
        }
        job.plans[2] = plan;
        pcoll_plan_destroy(changed);
    }
    tap_ok(wrong == 0 && job_is_known(&job, 0), "%s/%s: %d fields of a plan count",
           pcoll_coll_name(coll), name, NFIELDS);
    job_destroy(&job);
}

int main(void)
{
    test_names();
    test_meaning();
    test_fields(PCOLL_ALLGATHER, "direct");
    test_fields(PCOLL_ALLREDUCE, "direct");
    return tap_done();
}
