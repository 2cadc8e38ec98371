/* How the tuning table overrides the model: with rules, and with corrections of measured
 * candidates. */
#include <string.h>

#include "test/unit/question.h"
#include "test/unit/tables.h"
#include "test/unit/tap.h"

/* ---- rules ---- */

/* A range of ranks or bytes includes both ends. */
static void test_match(const struct pcoll_table *table)
{
    static const struct {
        int nranks;
        uint64_t bytes;
        const char *algorithm, *reason;
        int radix;
        uint64_t segment; /* 0: any */
    } cases[] = {
        {4, 8192, "chain", "rule", 0, 8192}, {8, 65536, "chain", "rule", 0, 8192},
        {3, 8192, "eager", "rule", 3, 0},    {9, 8192, "eager", "rule", 3, 0},
        {4, 8191, "eager", "rule", 3, 0},    {4, 65537, "shared", "model", 0, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct question q = question_of(table, PCOLL_BCAST, cases[i].nranks, cases[i].bytes);
        const struct pcoll_params *params = &q.choice.params;

        tap_ok(question_gets(&q, cases[i].algorithm, cases[i].reason, NULL) &&
                   params->radix == cases[i].radix && params->segment > 0 &&
                   (cases[i].segment == 0 || params->segment == cases[i].segment),
               "%d ranks, %d bytes: by %s, what it leaves open filled in", cases[i].nranks,
               (int)cases[i].bytes, cases[i].reason);
    }
}

static void test_passed_over(const struct pcoll_table *table)
{
    struct question q = question_of(table, PCOLL_BCAST, 4, 8192);

    q.caps.provides = NO_RMA;
    tap_ok(question_gets(&q, "eager", "rule", NULL),
           "a rule that cannot run gives way to the next");
    q = question_of(table, PCOLL_ALLGATHER, 4, 64);
    tap_ok(question_gets(&q, "ring", "rule", NULL), "a rule applies below the threshold");
    q.caps.provides = NO_RMA;
    question_ask(&q);
    tap_ok(q.result == PCOLL_OK && strcmp(q.choice.reason, "model") == 0,
           "no rule can run: the model decides");
}

static void test_and_hint(const struct pcoll_table *table)
{
    struct question q = question_of(table, PCOLL_BCAST, 4, 8192);

    q.hint.algorithm = "knomial_put";
    tap_ok(question_gets(&q, "knomial_put", "hint", NULL), "a hint is stronger than a rule");
    q.hint = (struct pcoll_hint){.segment = 1024};
    tap_ok(question_gets(&q, "chain", "rule", NULL) && q.choice.params.segment == 1024,
           "a hint for a segment leaves the rule its algorithm");
    q.hint = (struct pcoll_hint){.algorithm = "nonsense"};
    tap_ok(question_gets(&q, "chain", "rule", "no bcast algorithm 'nonsense'"),
           "no such hint: the rule");
}

static void test_path(const struct pcoll_table *table)
{
    struct question q = question_of(table, PCOLL_ALLGATHER, 4, 64);

    tap_ok(question_gets(&q, "direct", "rule", NULL) && q.choice.params.path == PCOLL_PATH_USER,
           "a rule's path is used, however slow and small");
}

static void test_slots_and_rails(const struct pcoll_table *table)
{
    struct question q = question_of(table, PCOLL_BCAST, 4, 64);

    tap_ok(question_gets(&q, "shared", "rule", NULL) && q.choice.params.slots == 16,
           "a rule's slots are used");
    q.caps.max_ring = 8;
    tap_ok(question_gets(&q, "chain", "rule", NULL) && q.choice.params.rails == 2,
           "a rule with too many slots is skipped; a rule's rails are used");
}

/* What a rule names of the communicator must be as it says, unless that is unknown. */
static void test_calls(const struct pcoll_table *table)
{
    struct question q = question_of(table, PCOLL_BCAST, 4, 65536);

    q.caps.level = PCOLL_LEVEL_OTHER_CACHE;
    q.caps.cores = 4;
    tap_ok(question_gets(&q, "shared", "rule", NULL), "a rule for a level and private memory");
    q.caps.mapped = 1;
    tap_ok(question_gets(&q, "knomial_get", "rule", NULL), "a rule for mapped memory");
    q.caps.cores = 2;
    question_ask(&q);
    tap_ok(q.result == PCOLL_OK && strcmp(q.choice.reason, "model") == 0, "other cores: no rule");
    q.caps.level = PCOLL_LEVEL_SAME_CACHE;
    tap_ok(question_gets(&q, "chain", "rule", NULL), "a rule for another level");
    q = question_of(table, PCOLL_BCAST, 4, 65536);
    tap_ok(question_gets(&q, "shared", "rule", NULL), "an unknown level: the first rule");
    q = question_of(table, PCOLL_NEIGHBOR_ALLTOALL, 8, 65536);
    q.signature.degree = 4;
    q.signature.in_volume = q.signature.out_volume = 4 * 65536;
    tap_ok(question_gets(&q, "direct_get", "rule", NULL), "a rule for neighborhoods of degree 4");
    q.signature.degree = 3;
    question_ask(&q);
    tap_ok(q.result == PCOLL_OK && strcmp(q.choice.reason, "model") == 0, "not of degree 3");
}

/* The rule that is made from a choice leads to that choice, and to it only for such calls. */
static void test_rule_of(void)
{
    struct pcoll_table *table = tables_good("slow_rma");
    struct question q = question_of(table, PCOLL_BCAST, 4, 65536);
    struct pcoll_choice slow;
    struct pcoll_rule rule;
    size_t n;

    q.caps.level = PCOLL_LEVEL_SAME_CACHE;
    q.caps.cores = 4;
    q.hint.algorithm = "knomial_get";
    question_ask(&q);
    slow = q.choice;
    rule = pcoll_rule_of(&q.signature, &q.caps, &slow);
    tap_ok(pcoll_table_prefer(table, &rule) == PCOLL_OK &&
               pcoll_table_prefer(table, &rule) == PCOLL_OK,
           "the same rule twice");
    pcoll_table_rules(table, &n);
    q.hint.algorithm = NULL;
    tap_ok(n == 1 && question_gets(&q, "knomial_get", "rule", NULL) &&
               pcoll_choice_same(&q.choice, &slow),
           "is one rule, by which the slow candidate is chosen");
    q.caps.level = PCOLL_LEVEL_OTHER_CACHE;
    question_ask(&q);
    tap_ok(strcmp(q.choice.reason, "model") == 0, "not at another distance");
    q.caps.level = PCOLL_LEVEL_SAME_CACHE;
    q.signature.bytes += 1;
    question_ask(&q);
    tap_ok(strcmp(q.choice.reason, "model") == 0, "not at another size");
    pcoll_table_destroy(table);
}

/* ---- corrections ---- */

/* What was measured on a communicator of that shape applies, and only there. */
static void test_correction(const struct pcoll_table *table)
{
    struct question q = question_of(table, PCOLL_BCAST, 8, 16);
    double model;

    tap_ok(question_gets(&q, "shared", "model", NULL), "a correction of 1");
    model = q.choice.predicted_us;
    q.signature.bytes = 8;
    tap_ok(question_gets(&q, "eager", "model", NULL),
           "a candidate 1000 times slower than predicted is not chosen");
    q.hint.algorithm = "shared";
    tap_ok(question_gets(&q, "shared", "hint", NULL) && q.choice.predicted_us > 900 * model,
           "a hint chooses it all the same, with the corrected prediction");
    q.hint.algorithm = NULL;
    q.signature.nranks = 7;
    tap_ok(question_gets(&q, "shared", "model", NULL),
           "the correction does not apply to one rank less");
}

/* A correction that names slots applies to these only, whatever precedes it. */
static void test_correction_of_slots(const struct pcoll_table *table)
{
    struct question q = question_of(table, PCOLL_BCAST, 8, 8);

    tap_ok(question_gets(&q, "shared", "model", NULL) && q.choice.params.slots == 16,
           "a correction that names slots applies to them");
    q.caps.max_ring = 8;
    tap_ok(question_gets(&q, "eager", "model", NULL),
           "the correction applies to no other number of slots");
}

static void with_table(const char *name, void (*test)(const struct pcoll_table *table))
{
    struct pcoll_table *table = tables_good(name);

    test(table);
    pcoll_table_destroy(table);
}

int main(void)
{
    with_table("rules", test_match);
    with_table("rules", test_passed_over);
    with_table("rules", test_and_hint);
    with_table("rule_path", test_path);
    with_table("rule_slots", test_slots_and_rails);
    with_table("rule_calls", test_calls);
    test_rule_of();
    with_table("correction", test_correction);
    with_table("correction_slots", test_correction_of_slots);
    return tap_done();
}
