/* The model's choice: no candidate is cheaper, for any call on any machine. */
#include <string.h>

#include "algorithms/cost.h"
#include "algorithms/plan/topology.h"
#include "test/unit/question.h"
#include "test/unit/tables.h"
#include "test/unit/tap.h"
#include "tuning/search.h"

/* Calls of every collective on few and many ranks, short and long, with and without access to user
 * buffers, mapped or not, with and without a core for each rank. */
static struct question call_number(const struct pcoll_table *table, int i)
{
    static const int nranks[] = {2, 3, 5, 8, 16, 33};
    static const uint64_t bytes[] = {1, 8, 4095, 4096, 65536, 100000, 4 << 20};
    static const uint64_t room[] = {64 << 20, 100000};
    const int n = i / PCOLL_NUM_COLLS;
    struct question q =
        question_of(table, (enum pcoll_coll)(i % PCOLL_NUM_COLLS), nranks[n % 6], bytes[n / 6 % 7]);

    q.caps.provides = n / 42 % 2 ? NO_RMA : ALL_NEEDS | (n % 2 ? PCOLL_NEED_MAPPED : 0);
    q.caps.cores = n / 84 % 2 * 2;
    q.caps.max_temp = room[n / 168 % 2];
    return q;
}

#define NUM_CALLS (PCOLL_NUM_COLLS * 6 * 7 * 2 * 2 * 2)

static struct pcoll_machine machine_of(const struct question *q)
{
    struct pcoll_machine machine = *pcoll_table_machine(q->table, q->caps.medium);

    machine.cores = q->caps.cores;
    pcoll_cost_contend(&q->signature, q->caps.mapped, &machine);
    return machine;
}

static struct pcoll_limits limits_of(const struct question *q)
{
    const struct pcoll_machine machine = machine_of(q);

    return pcoll_limits_of(&machine);
}

/* True if the candidate is possible, and sensible as choose.h says. */
static int is_candidate(const struct question *q, const struct pcoll_algorithm *row,
                        const struct pcoll_params *params)
{
    const uint64_t temp = row->temp_bytes(&q->signature, params);
    const int nnodes = q->signature.topology ? q->signature.topology->nnodes : 1;
    const int per_node = (q->signature.nranks + nnodes - 1) / nnodes;
    const int is_crowded = q->caps.cores > 0 && per_node > q->caps.cores;
    const struct pcoll_limits limits = limits_of(q);
    const uint64_t most = is_crowded || nnodes > 1 ? PCOLL_NEAR_RING_BYTES : limits.ring;

    if (pcoll_refusal_of(row, params, &q->signature, &q->caps) != 0)
        return 0;
    if (params->path == PCOLL_PATH_USER && q->signature.bytes < q->caps.user_rma_threshold)
        return 0;
    if (row->uses_segment &&
        params->segment < pcoll_min_segment(row, &q->signature, &q->caps, &limits))
        return 0;
    if (params->path == PCOLL_PATH_TEMP && params->segment > 1 << 17)
        return 0; /* communication buffers stay in the cache */
    return row->paths >> params->path & 1 &&
           (params->slots == 0 || (row->uses_slots && temp <= most));
}

/* The n-th combination of parameters, whether or not it suits the call; returns 0 if there is
 * none. */
static int params_number(int n, const struct question *q, const struct pcoll_algorithm *row,
                         struct pcoll_params *params)
{
    const int radixes[] = {2, 3, 4, 8, q->signature.nranks};

    *params = (struct pcoll_params){
        .radix = radixes[n % 5],
        .path = n / 5 % 2 ? PCOLL_PATH_TEMP : PCOLL_PATH_USER,
        .segment = row->uses_segment ? UINT64_C(4096) << n / 20 : 0,
    };
    if (n / 10 % 2) {
        const struct pcoll_limits limits = limits_of(q);

        params->slots = pcoll_long_ring(row, &q->signature, params, q->caps.cores, &limits);
    }
    return n < 5 * 2 * 2 * 9;
}

/* What a candidate costs at most, as part of what the choice costs, if it should have been chosen.
 * Costs that differ by rounding only are equal; far buffers must gain a tenth. */
static double margin_of(const struct question *q, const struct pcoll_algorithm *row,
                        const struct pcoll_params *params)
{
    const bool may_be_far = params->path == PCOLL_PATH_TEMP &&
                            row->temp_bytes(&q->signature, params) >= PCOLL_FAR_BYTES;

    return (may_be_far ? 0.9 : 1) * (1 - 1e-8);
}

/* No candidate is cheaper than the choice, which costs what the model says; if there is no choice,
 * there is no candidate. */
static int is_cheapest(const struct question *q)
{
    const struct pcoll_machine machine = machine_of(q);
    const struct pcoll_choice *choice = &q->choice;
    struct pcoll_params params;

    if (q->result == PCOLL_OK &&
        choice->predicted_us != choice->algorithm->cost(&q->signature, &choice->params, &machine))
        return 0;
    PCOLL_EACH_ALGORITHM (row) {
        for (int n = 0; row->coll == q->signature.coll && params_number(n, q, row, &params); n++) {
            double cost;

            if ((n % 5 > 0 && !row->uses_radix) || (n >= 20 && !row->uses_segment))
                continue; /* a duplicate */
            if (params.radix > q->signature.nranks && params.radix > 2)
                continue; /* a star has no wider form */
            cost = is_candidate(q, row, &params) ? row->cost(&q->signature, &params, &machine) : -1;
            if (cost >= 0 && (q->result != PCOLL_OK ||
                              cost < choice->predicted_us * margin_of(q, row, &params))) {
                printf("# %s, radix %d, segment %d, slots %d, path %d costs %g us\n", row->name,
                       params.radix, (int)params.segment, params.slots, params.path, cost);
                return 0;
            }
        }
    }
    return 1;
}

/* What is chosen, if anything is, is within the limits, and every rank can generate it. */
static int is_sound(const struct question *q)
{
    if (q->result != PCOLL_OK)
        return q->result == PCOLL_UNSUPPORTED && !q->choice.algorithm;
    return q->choice.algorithm->coll == q->signature.coll &&
           q->choice.algorithm->temp_bytes(&q->signature, &q->choice.params) <= q->caps.max_temp &&
           (q->choice.params.path != PCOLL_PATH_USER || q->caps.provides & PCOLL_NEED_USER_RMA) &&
           question_plans_fit(q);
}

static void test_cheapest(const char *name, struct pcoll_table *table)
{
    /* Briefly, calls that differ in everything. */
    const int step = tap_depth() == TAP_BRIEF ? 13 : 1;
    int cheapest = 1, sound = 1, chosen = 0;

    for (int i = 0; i < NUM_CALLS; i += step) {
        struct question q = call_number(table, i);
        int by_rule;

        question_ask(&q);
        by_rule = q.result == PCOLL_OK && strcmp(q.choice.reason, "rule") == 0;
        chosen += q.result == PCOLL_OK;
        sound = is_sound(&q) && sound;
        if (by_rule || is_cheapest(&q))
            continue;
        cheapest = 0;
        printf("# %s of %d ranks, %llu bytes, provides %x, %d cores, %llu of room: %s at %g us\n",
               pcoll_coll_name(q.signature.coll), q.signature.nranks,
               (unsigned long long)q.signature.bytes, q.caps.provides, q.caps.cores,
               (unsigned long long)q.caps.max_temp, question_chosen(&q), q.choice.predicted_us);
    }
    tap_ok(cheapest, "%s: no candidate is cheaper than the choice", name);
    tap_ok(sound && chosen > NUM_CALLS / step / 2,
           "%s: every rank can make its plan, of %d choices", name, chosen);
    pcoll_table_destroy(table);
}

static void test_ties(void)
{
    struct pcoll_table *table = tables_good("free");
    struct question q = question_of(table, PCOLL_BCAST, 8, 65536);

    question_ask(&q);
    tap_ok(q.result == PCOLL_OK && q.choice.predicted_us == 0, "a choice where everything is free");
    PCOLL_EACH_ALGORITHM (row) {
        if (row->coll != PCOLL_BCAST)
            continue;
        tap_ok(row == q.choice.algorithm, "equal costs go to the first row");
        break;
    }
    pcoll_table_destroy(table);
}
int main(void)
{
    test_cheapest("default", tables_default());
    test_cheapest("even", tables_good("even"));
    test_cheapest("slow copy", tables_good("slow_copy"));
    test_cheapest("slow RMA", tables_good("slow_rma"));
    test_ties();
    return tap_done();
}
