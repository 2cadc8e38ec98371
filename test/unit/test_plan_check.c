/*
 * The plan check accepts correct plans and names the errors of others.
 */
#include "algorithms/proof/check.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit/job.h"
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

    if (pcoll_plan_create(&signature, rank, "by hand", banks, banks, &plan) != PCOLL_OK)
        abort();
    return plan;
}

static void seal(struct pcoll_plan **plan_p)
{
    if (pcoll_plan_seal(plan_p) != PCOLL_OK)
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
        seal(&plans[rank]);
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
        seal(&plans[rank]);
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

static struct pcoll_entry *find(struct pcoll_plan *plan, enum pcoll_op op, int nth)
{
    for (int i = 0; i < plan->nentries; i++)
        if (plan->entries[i].op == op && nth-- == 0)
            return &plan->entries[i];
    abort();
}

static void drop(struct pcoll_plan *plan, struct pcoll_entry *entry)
{
    int at = (int)(entry - plan->entries), phase = plan->nphases - 1;

    while (plan->phases[phase].first > at)
        plan->phases[phase--].first--;
    plan->phases[phase].count--;
    plan->nentries--;
    memmove(entry, entry + 1, (size_t)(plan->nentries - at) * sizeof(*entry));
}

static void drop_last_signal(struct pcoll_plan **plans)
{
    drop(plans[1], find(plans[1], PCOLL_OP_ADD, 1));
}

static void lower_wait(struct pcoll_plan **plans)
{
    find(plans[2], PCOLL_OP_WAIT, 0)->threshold--;
}

static void raise_wait(struct pcoll_plan **plans)
{
    find(plans[2], PCOLL_OP_WAIT, 0)->threshold++;
}

/* The butterfly of 4 ranks with a count of messages, without weights. */
static void unweigh(struct pcoll_plan **plans)
{
    for (int r = 0; r < 4; r++) {
        for (int i = 0; i < plans[r]->nentries; i++) {
            plans[r]->entries[i].peer_add = plans[r]->entries[i].op == PCOLL_OP_ADD;
            if (plans[r]->entries[i].threshold > 0)
                plans[r]->entries[i].threshold--;
        }
    }
}

static void heavier_signal(struct pcoll_plan **plans)
{
    find(plans[3], PCOLL_OP_ADD, 1)->peer_add++;
}

static void nothing(struct pcoll_plan **plans)
{
    (void)plans;
}

static void collapse(struct pcoll_plan **plans)
{
    for (int r = 0; r < plans[0]->signature.nranks; r++) {
        plans[r]->nphases = 1;
        plans[r]->nentries = plans[r]->phases[0].count;
    }
}

static void swap_targets(struct pcoll_plan **plans)
{
    struct pcoll_entry *a = find(plans[0], PCOLL_OP_GET, 0), *b = find(plans[0], PCOLL_OP_GET, 1);
    struct pcoll_place place = a->local;

    a->local = b->local;
    b->local = place;
}

static void same_target(struct pcoll_plan **plans)
{
    find(plans[0], PCOLL_OP_GET, 1)->local = find(plans[0], PCOLL_OP_GET, 0)->local;
}

static void shift_put(struct pcoll_plan **plans)
{
    find(plans[0], PCOLL_OP_PUT, 0)->remote.offset++;
}

static void shorten_put(struct pcoll_plan **plans)
{
    find(plans[0], PCOLL_OP_PUT, 0)->bytes--;
}

static void copy_at_once(struct pcoll_plan **plans)
{
    struct pcoll_entry *copy = find(plans[3], PCOLL_OP_COPY, 0);

    copy->trigger = PCOLL_NONE;
    copy->threshold = 0;
}

/* The root ignores what its gate waits for. */
static void ignore_credit(struct pcoll_plan **plans)
{
    for (int i = 0; i < plans[0]->nentries; i++) {
        plans[0]->entries[i].trigger = PCOLL_NONE;
        plans[0]->entries[i].threshold = 0;
    }
}

static void forget_acknowledge(struct pcoll_plan **plans)
{
    drop(plans[0], find(plans[0], PCOLL_OP_WAIT, 0));
}

static void disorder(struct pcoll_plan **plans)
{
    for (int r = 0; r < plans[0]->signature.nranks; r++)
        plans[r]->ordered = 0;
}

static void unsort(struct pcoll_plan **plans)
{
    struct pcoll_entry first = plans[0]->entries[0];

    plans[0]->entries[0] = plans[0]->entries[1];
    plans[0]->entries[1] = first;
}

static void leave_entry(struct pcoll_plan **plans)
{
    plans[1]->phases[plans[1]->nphases - 1].count--;
}

static void lose_target(struct pcoll_plan **plans)
{
    find(plans[1], PCOLL_OP_ADD, 0)->peer_counter = PCOLL_NONE;
}

static void write_input(struct pcoll_plan **plans)
{
    struct pcoll_entry *copy = find(plans[1], PCOLL_OP_COPY, 0);

    copy->local = copy->remote;
    copy->remote = pcoll_at(PCOLL_SEND, 0);
}

static void other_root(struct pcoll_plan **plans)
{
    plans[2]->signature.root = 1;
}

static void miscount(struct pcoll_plan **plans)
{
    plans[0]->gain[0]++;
}

static void forget_neighbor(struct pcoll_plan **plans)
{
    plans[0]->nneighbors--;
}

struct mutation {
    const char *what;
    void (*mutate)(struct pcoll_plan **plans);
    enum pcoll_coll coll;
    const char *algorithm;
    uint64_t bytes, segment;
    enum pcoll_path path;
    const char *expected;
    int keeps_gain;
};

#define BARRIER PCOLL_BARRIER, "butterfly", 0, 0, PCOLL_PATH_AUTO
#define DISSEMINATION PCOLL_BARRIER, "dissemination", 0, 0, PCOLL_PATH_AUTO
#define EAGER PCOLL_BCAST, "eager", 8, 0, PCOLL_PATH_AUTO
#define CHAIN PCOLL_BCAST, "chain", 8, 2, PCOLL_PATH_AUTO
#define BY_PUT PCOLL_BCAST, "binomial_put", 8, 0, PCOLL_PATH_AUTO
#define BY_GET PCOLL_BCAST, "binomial_get", 8, 0, PCOLL_PATH_AUTO
#define DIRECT PCOLL_ALLGATHER, "direct", 8, 0, PCOLL_PATH_USER
#define GATHER PCOLL_ALLGATHER, "butterfly", 8, 0, PCOLL_PATH_TEMP

static const struct mutation mutations[] = {
    {"a signal dropped", drop_last_signal, BARRIER, "has gain", 1},
    {"a signal dropped, gain corrected", drop_last_signal, BARRIER, "never fires", 0},
    {"a threshold lowered", lower_wait, BARRIER, "may complete before rank", 0},
    {"a threshold raised", raise_wait, BARRIER, "never fires", 0},
    {"a signal's weight changed", heavier_signal, BARRIER, "has gain", 1},
    {"a signal's weight changed, gain corrected", heavier_signal, BARRIER, "may complete before",
     0},
    {"no weights", unweigh, BARRIER, "may complete before rank", 0},
    {"one bank", collapse, GATHER, "in no certain order", 0},
    {"one bank for credits", collapse, EAGER, "in no certain order", 0},
    {"two gets swapped", swap_targets, DIRECT, "receives byte 0 of rank", 0},
    {"two gets to one place", same_target, DIRECT, "in the same instance as", 0},
    {"a put beside its place", shift_put, EAGER, "was not written before in this instance", 0},
    {"a put beyond the buffer", shift_put, BY_PUT, "outside RECV", 0},
    {"a put too short", shorten_put, BY_PUT, "was not written before in this instance", 0},
    {"a copy that does not wait", copy_at_once, EAGER, "in no certain order", 0},
    {"no wait for credit", ignore_credit, EAGER, "in no certain order", 0},
    {"no wait for readiness", ignore_credit, BY_PUT, "perhaps before its start", 0},
    {"no wait for readers", forget_acknowledge, BY_GET, "perhaps after its completion", 0},
    {"segments out of order", disorder, CHAIN, "in no certain order", 0},
    {"entries not sorted", unsort, BARRIER, "not sorted", 0},
    {"an entry outside the phases", leave_entry, BARRIER, "entries left", 0},
    {"a signal without target", lose_target, BARRIER, "signals no counter", 0},
    {"input written", write_input, DIRECT, "writes input in SEND", 0},
    {"another signature", other_root, BY_PUT, "signature differs", 0},
    {"a gain miscounted", miscount, BARRIER, "has gain", 1},
    {"an own neighbor forgotten", forget_neighbor, BY_PUT, "no neighbor", 0},
    {"a signaler forgotten", forget_neighbor, DISSEMINATION, "which knows nothing of it", 0},
    {"nothing wrong with it", nothing, GATHER, NULL, 0},
};

static void check_mutation(const struct mutation *m)
{
    enum { NRANKS = 4 };
    struct job job = {
        .algorithm = pcoll_algorithm_find(m->coll, m->algorithm),
        .signature = {.coll = m->coll, .nranks = NRANKS, .bytes = m->bytes},
        .params = {.segment = m->segment, .path = m->path},
    };
    char what[200];

    if (job_make(&job) != PCOLL_OK)
        abort();
    m->mutate(job.plans);
    if (!m->keeps_gain)
        recount(job.plans, NRANKS);
    snprintf(what, sizeof(what), "%s %s, %s", pcoll_coll_name(m->coll), m->algorithm, m->what);
    expect(job.plans, NRANKS, m->expected, what);
    job_destroy(&job);
}

int main(void)
{
    check_by_hand();
    for (size_t i = 0; i < sizeof(mutations) / sizeof(mutations[0]); i++)
        check_mutation(&mutations[i]);
    return tap_done();
}
