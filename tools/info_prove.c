/*
 * pcoll-info --prove: the proof of a job's plans (proof/check.h) and, where there are few ranks,
 * their runs in every order (explore/explore.h), in plain words.
 */
#include "algorithms/proof/check.h"
#include "offload/explore/explore.h"
#include "tools/info.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ENTRIES = 20000,      /* of all ranks: the proof takes a minute */
    MAX_RANKS_TRACES = 16,    /* that run in all orders that differ */
    MAX_RANKS_STATES = 4,     /* that run in all orders */
    MAX_STATES = 100000,      /* that are explored of these */
    MIN_STATES = 16,          /* fewer show nothing */
    MIN_INSTANCES_TRACES = 4, /* each rank runs as many, so that it can run ahead */
    INSTANCES_STATES = 2
};

/* A state with several next events is kept: its buffers, of all ranks. */
static const uint64_t max_kept = UINT64_C(1) << 30;

/* The plans of all ranks. */
struct subject {
    const struct pcoll_job *job;
    struct pcoll_plan **plans;
    int nranks, entries, counters;
};

static const char *name_of(const struct pcoll_job *job)
{
    static char name[128];

    snprintf(name, sizeof(name), "%s/%s%s", pcoll_coll_name(job->signature.coll),
             job->algorithm->name, job->lowered ? ", lowered" : "");
    return name;
}

static int complain(const struct pcoll_job *job, const char *what)
{
    fprintf(stderr, "pcoll-info: %s: %s\n", name_of(job), what);
    return 1;
}

/* ---- the plans ---- */

static enum pcoll_result make_plans(struct subject *subject)
{
    enum pcoll_result result = PCOLL_OK;

    subject->plans = calloc((size_t)subject->nranks, sizeof(struct pcoll_plan *));
    if (!subject->plans)
        return PCOLL_ERR_NOMEM;
    for (int rank = 0; rank < subject->nranks && result == PCOLL_OK; rank++) {
        result = pcoll_job_plan(subject->job, rank, &subject->plans[rank]);
        if (result == PCOLL_OK) {
            subject->entries += subject->plans[rank]->nentries;
            subject->counters += subject->plans[rank]->ncounters;
        }
        if (subject->entries > MAX_ENTRIES)
            break;
    }
    return result;
}

static void destroy_plans(struct subject *subject)
{
    for (int rank = 0; subject->plans && rank < subject->nranks; rank++)
        pcoll_plan_destroy(subject->plans[rank]);
    free(subject->plans);
}

/* Leave out an entry, and let the counters expect no more than what is signaled then. */
static void remove_entry(struct subject *subject, int rank, int index)
{
    struct pcoll_plan *plan = subject->plans[rank];
    struct pcoll_entry *entry = &plan->entries[index];
    int phase = plan->nphases - 1;

    if (entry->done != PCOLL_NONE)
        plan->gain[entry->done] -= entry->done_add;
    if (entry->peer_counter != PCOLL_NONE)
        subject->plans[entry->peer]->gain[entry->peer_counter] -= entry->peer_add;
    while (plan->phases[phase].first > index)
        plan->phases[phase--].first--;
    plan->phases[phase].count--;
    plan->nentries--;
    memmove(entry, entry + 1, (size_t)(plan->nentries - index) * sizeof(*entry));
}

/* ---- the proof ---- */

/* What the collective promises. */
static const char *meaning_of(const struct pcoll_signature *signature)
{
    if (pcoll_coll_has(signature->coll, PCOLL_SYNCHRONIZES))
        return "no rank completes before all have started";
    if (!pcoll_coll_has(signature->coll, PCOLL_REDUCES))
        return "each rank receives exactly the bytes that the collective promises";
    return signature->commutes ? "each result is reduced from every operand, each once, by one tree"
                               : "each result is reduced from every operand, each once, in rank "
                                 "order, by one tree";
}

static enum pcoll_result prove(const struct subject *subject)
{
    char *why = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&why, &size);
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (!out)
        return result;
    result = pcoll_plan_check(subject->plans, subject->nranks, out);
    fclose(out);
    if (result == PCOLL_OK)
        printf(
            "proof: right in every order of arrivals, for any number of starts\n"
            "  form     every counter gains what is signaled to it; entries stay in their buffers\n"
            "  life     no deadlock, however far ranks run ahead\n"
            "  hazards  no byte is read or written too early or too late\n"
            "  meaning  %s\n",
            meaning_of(&subject->job->signature));
    else if (result == PCOLL_ERR_INVALID)
        printf("proof: WRONG: %s", why);
    free(why);
    return result;
}

/* ---- the runs ---- */

struct run {
    enum pcoll_explore_reduction reduction;
    enum pcoll_explore_algebra algebra;
    int instances;
    const char *what;
};

static void print_outcome(const struct run *run, enum pcoll_result result,
                          const struct pcoll_explore_stats *stats, const char *order)
{
    if (result == PCOLL_ERR_INVALID)
        printf("runs: WRONG, as in this order:\n%s", order);
    if (result != PCOLL_OK)
        return;
    printf("runs: right in %s of %d starts: ", run->what, run->instances);
    if (stats->complete)
        printf("%" PRIu64 " states, %" PRIu64 " with a choice%s\n", stats->states, stats->branches,
               run->algebra == PCOLL_EXPLORE_TREE ? ", and equal bits if the operator rounds" : "");
    else
        printf("the first %" PRIu64 " states; there are more\n", stats->states);
}

static uint64_t buffer_bytes(const struct subject *subject)
{
    uint64_t bytes = 1;

    for (int rank = 0; rank < subject->nranks; rank++)
        for (int buffer = 0; buffer < PCOLL_NUM_BUFFERS; buffer++)
            bytes += pcoll_plan_bytes(subject->plans[rank], (enum pcoll_buffer)buffer);
    return bytes;
}

/* As many as memory can keep. */
static uint64_t max_states(const struct subject *subject)
{
    const uint64_t kept = max_kept / buffer_bytes(subject);

    return kept < MAX_STATES ? kept : MAX_STATES;
}

static enum pcoll_result explore(const struct subject *subject, const struct run *run)
{
    char *order = NULL;
    size_t size = 0;
    FILE *trace = open_memstream(&order, &size);
    const struct pcoll_explore_options options = {.instances = run->instances,
                                                  .ahead = run->instances,
                                                  .algebra = run->algebra,
                                                  .trace = trace};
    const struct pcoll_explore_limits limits = {run->reduction, max_states(subject)};
    struct pcoll_explore_stats stats;
    struct pcoll_explore *explorer;
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (!trace)
        return result;
    result = pcoll_explore_create(subject->plans, subject->nranks, &options, &explorer);
    if (result == PCOLL_OK) {
        result = pcoll_explore_all(explorer, &limits, &stats);
        pcoll_explore_destroy(explorer);
    }
    fclose(trace);
    print_outcome(run, result, &stats, order);
    free(order);
    return result;
}

/* Each phase three times, so that ranks that run ahead use its counters and buffers again. */
static enum pcoll_result explore_all(const struct subject *subject)
{
    const int thrice = 3 * subject->plans[0]->nphases;
    const int instances = thrice > MIN_INSTANCES_TRACES ? thrice : MIN_INSTANCES_TRACES;
    const bool reduces = pcoll_coll_has(subject->job->signature.coll, PCOLL_REDUCES);
    const struct {
        int max_ranks;
        bool is_asked;
        struct run run;
    } runs[] = {
        {MAX_RANKS_TRACES,
         true,
         {PCOLL_EXPLORE_TRACES, PCOLL_EXPLORE_BY_SIGNATURE, instances,
          "all orders that make a difference"}},
        {MAX_RANKS_TRACES,
         reduces,
         {PCOLL_EXPLORE_TRACES, PCOLL_EXPLORE_TREE, instances,
          "all orders that make a difference"}},
        {MAX_RANKS_STATES,
         true,
         {PCOLL_EXPLORE_STATES, PCOLL_EXPLORE_BY_SIGNATURE, INSTANCES_STATES, "all orders"}},
    };
    enum pcoll_result result = PCOLL_OK;

    if (max_states(subject) < MIN_STATES) {
        printf("runs: left out, as the buffers of all ranks have more than %" PRIu64
               " MiB; take fewer bytes\n",
               (max_kept / MIN_STATES) >> 20);
        return PCOLL_OK;
    }
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]) && result == PCOLL_OK; i++)
        if (runs[i].is_asked && subject->nranks <= runs[i].max_ranks)
            result = explore(subject, &runs[i].run);
    return result;
}

static int prove_and_run(struct subject *subject, int without_rank, int without_entry)
{
    enum pcoll_result proved, ran = PCOLL_OK;

    printf("%s: %d ranks, %" PRIu64 " bytes, %d entries, %d counters, %d phases\n",
           name_of(subject->job), subject->nranks, subject->job->signature.bytes, subject->entries,
           subject->counters, subject->plans[0]->nphases);
    if (without_rank != PCOLL_NONE) {
        remove_entry(subject, without_rank, without_entry);
        printf("without entry %d of rank %d\n", without_entry, without_rank);
    }
    proved = prove(subject);
    if (proved != PCOLL_ERR_NOMEM && subject->nranks <= MAX_RANKS_TRACES)
        ran = explore_all(subject);
    if (proved == PCOLL_ERR_NOMEM || ran == PCOLL_ERR_NOMEM)
        return complain(subject->job, "out of memory");
    return proved != PCOLL_OK || ran != PCOLL_OK;
}

int info_prove(const struct pcoll_job *job, int without_rank, int without_entry)
{
    struct subject subject = {.job = job, .nranks = job->signature.nranks};
    const enum pcoll_result result = make_plans(&subject);
    int status;

    if (result != PCOLL_OK)
        status = complain(job, pcoll_result_text(result));
    else if (subject.entries > MAX_ENTRIES)
        status = complain(job, "too many entries to prove in minutes; take fewer ranks or longer "
                               "segments");
    else if (without_rank != PCOLL_NONE && without_entry >= subject.plans[without_rank]->nentries)
        status = complain(job, "the rank has no such entry");
    else
        status = prove_and_run(&subject, without_rank, without_entry);
    destroy_plans(&subject);
    return status;
}
