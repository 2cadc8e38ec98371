/*
 * The plan check accepts correct plans and names the errors of others.
 */
#include "algorithms/proof/check.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit/job.h"
#include "test/unit/plan_faults.h"
#include "test/unit/tap.h"

/* ---- messages of a check ---- */

/* Recompute the gains from the entries' signals, so that a mutation is not found by a wrong
 * gain. */
static void recount(struct pcoll_plan **plans, int nranks)
{
    for (int r = 0; r < nranks; r++)
        memset(plans[r]->gain, 0, (size_t)plans[r]->ncounters * sizeof(*plans[r]->gain));
    for (int r = 0; r < nranks; r++) {
        for (int i = 0; i < plans[r]->nentries; i++) {
            const struct pcoll_entry *entry = &plans[r]->entries[i];

            if (entry->done != PCOLL_NONE)
                plans[r]->gain[entry->done] += entry->done_add;
            if (entry->peer_counter != PCOLL_NONE)
                plans[entry->peer]->gain[entry->peer_counter] += entry->peer_add;
        }
    }
}

/* The message must contain `expected`; NULL: the plans are right. */
static void expect(struct pcoll_plan **plans, int nranks, const char *expected, const char *what)
{
    char *why = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&why, &size);
    enum pcoll_result result = pcoll_plan_check(plans, nranks, out);
    int is_expected;

    fclose(out);
    if (expected == NULL)
        is_expected = result == PCOLL_OK && size == 0;
    else
        is_expected = result == PCOLL_ERR_INVALID && strstr(why, expected) &&
                      strchr(why, '\n') == why + size - 1;
    if (!tap_ok(is_expected, "%s: %s", what, expected ? expected : "right"))
        printf("# result %s: %s", pcoll_result_text(result), size > 0 ? why : "\n");
    free(why);
}

/* ---- plans made by hand ---- */

/* Broadcast from rank 0 to 1 through TEMP of rank 1. */
struct pair {
    const char *what;
    int banks;
    int awaits_credit;   /* the put waits for the credit of the bank's previous use */
    int completes_late;  /* the root completes with the credit of this instance */
    int announces_early; /* the signal leaves before the put */
    int ordered;
    const char *expected;
};

static const struct pair pairs[] = {
    {"one bank, credit", 1, 1, 0, 0, 0, NULL},
    {"two banks, credit", 2, 1, 0, 0, 0, NULL},
    {"three banks, credit", 3, 1, 0, 0, 0, NULL},
    {"one bank, acknowledged", 1, 0, 1, 0, 0, NULL},
    {"one bank, nothing", 1, 0, 0, 0, 0, "in no certain order"},
    {"two banks, nothing", 2, 0, 0, 0, 0, "in no certain order"},
    {"one bank, only order", 1, 0, 0, 0, 1, "perhaps not before a later instance"},
    {"two banks, only order", 2, 0, 0, 0, 1, "perhaps not before a later instance"},
    {"announced before the data", 2, 1, 0, 1, 0, "in no certain order"},
};

enum { PAIR_BYTES = 8 };

static void add_root_phase(struct pcoll_plan *plan, const struct pair *pair, int bank)
{
    struct pcoll_place to = pcoll_at(PCOLL_TEMP, (uint64_t)bank * PAIR_BYTES);
    int trigger = pair->awaits_credit ? bank : PCOLL_NONE;
    struct pcoll_entry put =
        pcoll_entry_put(trigger, 0, pcoll_at(PCOLL_SEND, 0), 1, to, PAIR_BYTES);
    struct pcoll_entry add = pcoll_entry_add(trigger, 0);

    pcoll_plan_open(plan, bank);
    if (pair->announces_early) {
        pcoll_plan_add(plan, pcoll_entry_signal(add, 1, bank, 1));
        pcoll_plan_add(plan, put);
    } else {
        pcoll_plan_add(plan, pcoll_entry_signal(put, 1, bank, 1));
    }
    if (pair->completes_late)
        pcoll_plan_add(plan, pcoll_entry_wait(bank, 1));
}

static void add_leaf_phase(struct pcoll_plan *plan, int bank)
{
    struct pcoll_place from = pcoll_at(PCOLL_TEMP, (uint64_t)bank * PAIR_BYTES);
    struct pcoll_entry copy = pcoll_entry_copy(bank, 1, from, pcoll_at(PCOLL_RECV, 0), PAIR_BYTES);

    pcoll_plan_open(plan, bank);
    pcoll_plan_add(plan, pcoll_entry_signal(copy, 0, bank, 1));
    plan->temp_bytes += PAIR_BYTES;
}

/* A plan for one of two ranks, with one counter per bank. */
static struct pcoll_plan *new_plan(enum pcoll_coll coll, int rank, int banks)
{
    struct pcoll_signature signature = {
        coll, 2, 0, pcoll_coll_has(coll, PCOLL_SYNCHRONIZES) ? 0 : PAIR_BYTES, 0};
    struct pcoll_plan *plan;

    if (pcoll_plan_create(&signature, NULL, rank, &plan) != PCOLL_OK ||
        !pcoll_plan_begin(plan, banks, banks))
        abort();
    return plan;
}

static void seal(struct pcoll_plan *plan)
{
    if (pcoll_plan_seal(plan) != PCOLL_OK)
        abort();
}

static void check_pair(const struct pair *pair)
{
    struct pcoll_plan *plans[2];

    for (int rank = 0; rank < 2; rank++) {
        plans[rank] = new_plan(PCOLL_BCAST, rank, pair->banks);
        plans[rank]->ordered = pair->ordered;
        for (int bank = 0; bank < pair->banks; bank++) {
            if (rank == 0)
                add_root_phase(plans[rank], pair, bank);
            else
                add_leaf_phase(plans[rank], bank);
        }
        seal(plans[rank]);
    }
    recount(plans, 2);
    expect(plans, 2, pair->expected, pair->what);
    for (int rank = 0; rank < 2; rank++)
        pcoll_plan_destroy(plans[rank]);
}

/* A barrier of two ranks that signal each other `weight` at `trigger`. */
static void check_meeting(int trigger, uint64_t weight, const char *expected, const char *what)
{
    struct pcoll_plan *plans[2];

    for (int rank = 0; rank < 2; rank++) {
        struct pcoll_entry tell = pcoll_entry_add(trigger, trigger == PCOLL_NONE ? 0 : weight);

        plans[rank] = new_plan(PCOLL_BARRIER, rank, 1);
        pcoll_plan_open(plans[rank], 0);
        pcoll_plan_add(plans[rank], pcoll_entry_signal(tell, 1 - rank, 0, weight));
        pcoll_plan_add(plans[rank], pcoll_entry_wait(0, 1));
        seal(plans[rank]);
    }
    recount(plans, 2);
    expect(plans, 2, expected, what);
    for (int rank = 0; rank < 2; rank++)
        pcoll_plan_destroy(plans[rank]);
}

static void check_by_hand(void)
{
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        check_pair(&pairs[i]);
    check_meeting(PCOLL_NONE, 1, NULL, "two tell each other");
    check_meeting(PCOLL_NONE, 2, NULL, "two tell each other more than needed");
    check_meeting(0, 1, "never fires", "two wait for each other");
}

/* ---- generated plans with one thing wrong ---- */

static void check_fault(const struct plan_fault *f)
{
    struct job job = {
        .algorithm = pcoll_algorithm_find(f->coll, f->algorithm),
        .signature = {.coll = f->coll, .nranks = PLAN_FAULT_RANKS, .bytes = f->bytes},
        .params = {.segment = f->segment, .path = f->path},
    };
    char what[200];

    if (job_make(&job) != PCOLL_OK)
        abort();
    f->apply(job.plans);
    if (!f->keeps_gain)
        recount(job.plans, PLAN_FAULT_RANKS);
    snprintf(what, sizeof(what), "%s %s, %s", pcoll_coll_name(f->coll), f->algorithm, f->what);
    expect(job.plans, PLAN_FAULT_RANKS, f->expected, what);
    job_destroy(&job);
}

int main(void)
{
    check_by_hand();
    for (int i = 0; plan_faults[i].what; i++)
        check_fault(&plan_faults[i]);
    return tap_done();
}
