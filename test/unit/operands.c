/* REDUCEs with wrong operands; the contract is in operands.h. */
#include "test/unit/operands.h"

#include <stdio.h>
#include <string.h>

#include "algorithms/proof/check.h"
#include "offload/explore/explore.h"
#include "test/unit/mutate.h"

/* Wrong operands show in every order, so one will do that runs each phase twice: with some data,
 * they make no difference. Where the operator may commute or not, only the proof sees for one that
 * does that ranks or phases associate operands otherwise. */
static void run_one(struct operands_tally *t, const struct job *job,
                    struct pcoll_plan *const *plans, const char *what)
{
    const int nphases = plans[0]->nphases;
    const struct pcoll_explore_options options = {
        .instances = nphases > 2 ? 2 * nphases : 4,
        .ahead = 4,
    };
    struct pcoll_explore *explore;
    int caught = 1;

    t->mutants++;
    if (job->signature.commutes == job->algorithm->must_commute &&
        pcoll_explore_create(plans, job->signature.nranks, &options, &explore) == PCOLL_OK) {
        caught = pcoll_explore_run_inorder(explore) == PCOLL_ERR_INVALID;
        pcoll_explore_destroy(explore);
    }
    if (caught && pcoll_plan_check(plans, job->signature.nranks, NULL) == PCOLL_ERR_INVALID) {
        t->refused++;
        return;
    }
    t->failures++;
    printf("# %s, operands %s: %s\n", job_name(job), what,
           caught ? "the proof accepts it" : "not caught");
}

static void run_entry(struct operands_tally *t, const struct job *job, int rank, int entry)
{
    static const char *const names[MUTATE_NUM_HOW] = {
        "exchanged", "left out", "doubled", "displaced", "displaced", "only copied", "in reverse"};
    const int commutes = job->signature.commutes, must = job->algorithm->must_commute;
    struct pcoll_plan *plans[JOB_MOST_RANKS];

    memcpy(plans, job->plans, (size_t)job->signature.nranks * sizeof(plans[0]));
    for (int how = 0; how < MUTATE_NUM_HOW; how++)
        for (int k = 0; k < job->plans[rank]->entries[entry].noperands; k++) {
            const int is_order = how == MUTATE_SWAP || how == MUTATE_TURN;

            if (must ? is_order : commutes && !is_order)
                continue;
            plans[rank] = mutate_operands(job->plans[rank], entry, (enum mutate_how)how, k);
            if (plans[rank])
                run_one(t, job, plans, names[how]);
            pcoll_plan_destroy(plans[rank]);
        }
}

/* Every byte is reduced once for all ranks, and in all instances by the same entries. */
static int is_reduced_once(const struct job *job)
{
    const uint64_t nranks = (uint64_t)job->signature.nranks;
    const uint64_t vector = pcoll_plan_bytes(job->plans[0], PCOLL_SEND);
    uint64_t reduced = 0;

    for (int r = 0; r < job->signature.nranks; r++)
        reduced += pcoll_plan_account(job->plans[r]).bytes_reduced;
    return job->plans[0]->nphases == 1 && reduced == (nranks - 1) * vector;
}

/* If all may take any order, only one that not all take is wrong. */
void operands_run(struct job *job, struct operands_tally *t)
{
    const int must = job->algorithm->must_commute; /* then every order of operands is right */
    const int most = job->params.segment == 0; /* a segment may be reduced in an order of its own */

    for (int commutes = must; commutes <= (must | most); commutes++) {
        job->signature.commutes = commutes;
        if (job_make(job) != PCOLL_OK) {
            t->failures++;
            return;
        }
        for (int r = 0; r < job->signature.nranks; r++)
            for (int i = 0; i < job->plans[r]->nentries; i++)
                if (job->plans[r]->entries[i].op == PCOLL_OP_REDUCE &&
                    (must || !commutes || !is_reduced_once(job)))
                    run_entry(t, job, r, i);
        job_destroy(job);
    }
    job->signature.commutes = 0;
}
