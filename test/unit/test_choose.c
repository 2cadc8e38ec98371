/* The choice of algorithm and parameters: model, rules, hints, and what each falls back on. */
#include "tuning/choose.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "algorithms/topology.h"
#include "test/unit/tap.h"

#define ALL_NEEDS (PCOLL_NEED_WEIGHTS | PCOLL_NEED_GET | PCOLL_NEED_USER_RMA | PCOLL_NEED_ORDER)
#define NO_RMA (ALL_NEEDS & ~(unsigned)PCOLL_NEED_USER_RMA)
#define HEAD "{\"pcoll_tuning\": 1, \"media\": {\"shm\": "

/* Where nothing costs anything; where only reaching user buffers, or only copying, does. */
#define FREE "{\"L\":0,\"o\":0,\"g\":0,\"G\":0,\"rma\":0,\"copy\":0,\"call\":0,\"turn\":0}}"
#define SLOW_RMA                                                                                   \
    "{\"L\":1,\"o\":1,\"g\":1,\"G\":1e-4,\"rma\":1e6,\"copy\":1e-4,\"call\":1,\"turn\":1}}"
#define SLOW_COPY                                                                                  \
    "{\"L\":1,\"o\":1,\"g\":1,\"G\":1e-4,\"rma\":1,\"copy\":1e6,\"call\":1,\"turn\":1}}"

static const struct pcoll_caps able = {
    .medium = "shm",
    .provides = ALL_NEEDS,
    .user_rma_threshold = 4096,
    .max_temp = 64 << 20,
};

/* One call of pcoll_choose and what came of it. */
struct trial {
    const char *json; /* NULL: the default table */
    struct pcoll_signature signature;
    struct pcoll_caps caps;
    struct pcoll_hint hint;
    enum pcoll_result result;
    struct pcoll_choice choice;
    char *message; /* the one who reads it last frees it */
};

static struct trial trial_of(enum pcoll_coll coll, int nranks, uint64_t bytes)
{
    struct trial trial = {
        .signature = {.coll = coll, .nranks = nranks, .bytes = bytes},
        .caps = able,
    };

    return trial;
}

static void run(struct trial *trial)
{
    const char *json = trial->json ? trial->json : pcoll_tuning_default_json;
    struct pcoll_table *table = NULL;
    size_t size;
    FILE *report = open_memstream(&trial->message, &size);

    trial->result = pcoll_table_parse("t.json", json, report, &table);
    if (trial->result == PCOLL_OK)
        trial->result = pcoll_choose(table, &trial->signature, &trial->caps, &trial->hint, report,
                                     &trial->choice);
    fclose(report);
    pcoll_table_destroy(table);
}

static const char *chosen(const struct trial *trial)
{
    return trial->choice.algorithm ? trial->choice.algorithm->name : "nothing";
}

static int is(const struct trial *trial, const char *algorithm, const char *reason)
{
    return trial->result == PCOLL_OK && strcmp(chosen(trial), algorithm) == 0 &&
           strcmp(trial->choice.reason, reason) == 0;
}

/* Run, check algorithm, reason and message (which must contain `message`; NULL: be empty). */
static void expect(struct trial *trial, const char *algorithm, const char *reason,
                   const char *message, const char *what)
{
    int heard;

    run(trial);
    heard = message ? strstr(trial->message, message) != NULL : trial->message[0] == '\0';
    if (!tap_ok(is(trial, algorithm, reason) && heard, "%s", what))
        printf("# got %s by %s: %s\n", chosen(trial), trial->choice.reason, trial->message);
    free(trial->message);
}

#define EVEN "{\"L\":1,\"o\":1,\"g\":1,\"G\":1e-4,\"rma\":2,\"copy\":2e-4,\"call\":1,\"turn\":1}"

/* ---- the model ---- */

/* Negative: none. */
static double lesser(double a, double b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

static double cost_within(const struct trial *trial, const struct pcoll_algorithm *row,
                          const struct pcoll_params *params, const struct pcoll_machine *machine,
                          uint64_t max_temp)
{
    return row->temp_bytes(&trial->signature, params) <= max_temp
               ? row->cost(&trial->signature, params, machine)
               : -1;
}

static double least_of_row(const struct trial *trial, const struct pcoll_algorithm *row,
                           const struct pcoll_machine *machine, enum pcoll_path path)
{
    const struct pcoll_signature *signature = &trial->signature;
    const uint64_t most = path == PCOLL_PATH_TEMP ? 1 << 17 : 1 << 20;
    const int crowded = machine->cores > 0 && signature->nranks > machine->cores;
    double least = -1;

    for (int radix = 2; radix <= signature->nranks || radix == 2; radix++) {
        if (radix != 2 && radix != 3 && radix != 4 && radix != 8 && radix != signature->nranks)
            continue;
        for (uint64_t segment = 4096; segment <= most; segment *= 2) {
            struct pcoll_params params = {.radix = radix, .segment = segment, .path = path};
            const double plain = cost_within(trial, row, &params, machine, trial->caps.max_temp);
            double cost;

            params.slots = crowded ? PCOLL_LONG_RING_CROWDED : PCOLL_LONG_RING;
            cost = row->uses_slots
                       ? cost_within(trial, row, &params, machine, PCOLL_LONG_RING_BYTES)
                       : plain;
            least = lesser(least, lesser(plain, cost));
        }
    }
    return least;
}

/* The cost of the best candidate, by looking at all of them; negative: none. */
static double least_cost(const struct trial *trial, const struct pcoll_machine *machine)
{
    const struct pcoll_caps *caps = &trial->caps;
    const int user =
        caps->provides & PCOLL_NEED_USER_RMA && trial->signature.bytes >= caps->user_rma_threshold;
    double least = -1;

    PCOLL_EACH_ALGORITHM (row) {
        for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++) {
            if (row->coll != trial->signature.coll || !(row->paths >> path & 1) ||
                (path == PCOLL_PATH_USER && !user))
                continue;
            least = lesser(least, least_of_row(trial, row, machine, (enum pcoll_path)path));
        }
    }
    return least;
}

/* Whether every rank can make the plan, and it keeps within the medium's caps. */
static int can_be_made(const struct trial *trial)
{
    for (int rank = 0; rank < trial->signature.nranks; rank++) {
        struct pcoll_plan *plan;
        int fits;

        if (pcoll_generate(trial->choice.algorithm, &trial->signature, NULL, rank,
                           &trial->choice.params, &plan) != PCOLL_OK)
            return 0;
        fits =
            (plan->needs & ~trial->caps.provides) == 0 && plan->temp_bytes <= trial->caps.max_temp;
        pcoll_plan_destroy(plan);
        if (!fits)
            return 0;
    }
    return 1;
}

static int is_best(struct trial *trial, const struct pcoll_machine *machine)
{
    double least = least_cost(trial, machine);
    int good;

    run(trial);
    free(trial->message);
    if (trial->result == PCOLL_OK && strcmp(trial->choice.reason, "rule") == 0)
        return can_be_made(trial); /* the default table knows better */
    good = least < 0 ? trial->result == PCOLL_UNSUPPORTED
                     : trial->result == PCOLL_OK && trial->choice.predicted_us == least &&
                           can_be_made(trial);
    if (!good)
        printf("# %s of %d ranks, %llu bytes, provides %x: %s at %g us, best is %g us\n",
               pcoll_coll_name(trial->signature.coll), trial->signature.nranks,
               (unsigned long long)trial->signature.bytes, trial->caps.provides, chosen(trial),
               trial->choice.predicted_us, least);
    return good;
}

static void test_best(void)
{
    static const int nranks[] = {2, 3, 5, 8, 16, 33};
    static const uint64_t bytes[] = {1, 8, 4095, 4096, 65536, 100000, 4 << 20};
    static const unsigned provides[] = {ALL_NEEDS, NO_RMA};
    struct pcoll_table *table;
    struct pcoll_machine machine;
    int good = pcoll_table_parse("default", pcoll_tuning_default_json, stdout, &table) == PCOLL_OK;

    machine = *pcoll_table_machine(table, "shm");
    pcoll_table_destroy(table);
    for (int i = 0; i < PCOLL_NUM_COLLS * 6 * 7 * 2 * 2; i++) {
        struct trial trial =
            trial_of((enum pcoll_coll)(i % PCOLL_NUM_COLLS), nranks[i / 3 % 6], bytes[i / 18 % 7]);

        if (pcoll_coll_has(trial.signature.coll, PCOLL_SYNCHRONIZES))
            trial.signature.bytes = 0;
        trial.caps.provides = provides[i / 126 % 2];
        trial.caps.cores = machine.cores = i / 252 * 2;
        good = is_best(&trial, &machine) && good;
    }
    tap_ok(good, "the cheapest candidate is chosen, and can be made");
}

static void test_ties(void)
{
    struct trial trial = trial_of(PCOLL_BCAST, 8, 65536);

    trial.json = HEAD FREE "}";
    run(&trial);
    tap_ok(trial.choice.algorithm == pcoll_algorithm_find(PCOLL_BCAST, chosen(&trial)) &&
               trial.choice.predicted_us == 0,
           "a choice where all is free");
    PCOLL_EACH_ALGORITHM (row) {
        if (row->coll != PCOLL_BCAST)
            continue;
        tap_ok(strcmp(row->name, chosen(&trial)) == 0, "equal costs go to the first row");
        break;
    }
    free(trial.message);
}

static void test_paths(void)
{
    struct trial trial = trial_of(PCOLL_BCAST, 8, 65536);

    trial.json = HEAD SLOW_RMA "}";
    expect(&trial, "shared", "model", NULL, "user buffers are left alone where that is slow");
    tap_ok(trial.choice.params.path == PCOLL_PATH_TEMP, "by path temp");
    trial.json = HEAD SLOW_COPY "}";
    run(&trial);
    free(trial.message);
    tap_ok(trial.choice.params.path == PCOLL_PATH_USER, "and used where copying is slow");
    trial.signature.bytes = 4095;
    expect(&trial, "shared", "model", NULL, "but not below the threshold");
    trial.signature.bytes = 4096;
    trial.caps.provides = NO_RMA;
    expect(&trial, "shared", "model", NULL, "nor where they are out of reach");
}

static void test_unsupported(void)
{
    struct trial trial = trial_of(PCOLL_ALLGATHER, 8, 65536);

    trial.caps.provides = NO_RMA;
    trial.caps.max_temp = 1000;
    run(&trial);
    tap_ok(trial.result == PCOLL_UNSUPPORTED && !trial.choice.algorithm && !trial.message[0],
           "no candidate: unsupported");
    free(trial.message);
    trial.caps = able;
    trial.caps.medium = "ofi";
    run(&trial);
    tap_ok(trial.result == PCOLL_UNSUPPORTED && strstr(trial.message, "lacks medium 'ofi'"),
           "no such medium: unsupported, with a message");
    free(trial.message);
}

static void test_trivial(void)
{
    static const struct pcoll_signature signatures[] = {
        {PCOLL_BARRIER, 1, 0, 0, 0},   {PCOLL_BCAST, 1, 0, 1 << 20, 0},
        {PCOLL_BCAST, 8, 0, 0, 0},     {PCOLL_ALLGATHER, 1, 0, 1 << 20, 0},
        {PCOLL_ALLGATHER, 8, 0, 0, 0},
    };

    for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
        struct trial trial = trial_of(0, 0, 0);

        trial.signature = signatures[i];
        trial.caps.max_temp = 0;
        run(&trial);
        free(trial.message);
        tap_ok(trial.result == PCOLL_OK && trial.choice.predicted_us == 0.1 && can_be_made(&trial),
               "%s of %d ranks, %llu bytes", pcoll_coll_name(signatures[i].coll),
               signatures[i].nranks, (unsigned long long)signatures[i].bytes);
    }
}

/* ---- hints ---- */

static void test_hint_names(void)
{
    PCOLL_EACH_ALGORITHM (row) {
        struct trial trial =
            trial_of(row->coll, 8, pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) ? 0 : 64);

        trial.hint.algorithm = row->name;
        expect(&trial, row->name, "hint", NULL, row->name);
        tap_ok(row->paths >> trial.choice.params.path & 1 && can_be_made(&trial) &&
                   (trial.choice.params.radix != 0) == row->uses_radix &&
                   (trial.choice.params.segment != 0) == row->uses_segment,
               "%s %s: what it has is filled in", pcoll_coll_name(row->coll), row->name);
    }
}

static void test_hint_unknown(void)
{
    struct trial open = trial_of(PCOLL_ALLGATHER, 4, 65536), trial = open;

    run(&open);
    free(open.message);
    trial.hint.origin = "MPIR_CVAR_X";
    trial.hint.algorithm = "eager";
    expect(&trial, chosen(&open), "model",
           "MPIR_CVAR_X: no allgather algorithm 'eager' (allowed: "
           "auto, direct, butterfly, bruck, ring, mpich); using auto\n",
           "a hint for an unknown name");
    trial.hint.algorithm = "\n\x80";
    expect(&trial, chosen(&open), "model", "algorithm '?\?' (", "a hint for garbage");
    trial.hint.algorithm = "";
    expect(&trial, chosen(&open), "model", "algorithm '' (", "a hint for an empty name");
    trial.hint.algorithm = "auto";
    expect(&trial, chosen(&open), "model", NULL, "a hint for auto");
    tap_ok(trial.choice.predicted_us == open.choice.predicted_us, "which costs the same");
}

static void test_hint_impossible(void)
{
    struct trial trial = trial_of(PCOLL_BCAST, 4, 65536);

    trial.hint.origin = "MPIR_CVAR_X";
    trial.hint.algorithm = "chain";
    trial.caps.provides = NO_RMA;
    expect(&trial, "eager", "model",
           "MPIR_CVAR_X: algorithm 'chain' needs access to the user "
           "buffers",
           "a hint for user buffers out of reach");
    trial = trial_of(PCOLL_BCAST, 4, 65536);
    trial.hint.algorithm = "eager";
    trial.hint.segment = 65536;
    trial.caps.max_temp = 65536;
    run(&trial);
    tap_ok(trial.result == PCOLL_OK && trial.choice.params.path == PCOLL_PATH_USER &&
               strcmp(trial.choice.reason, "model") == 0 &&
               strstr(trial.message, "hint: algorithm 'eager' needs too large a communication"),
           "a hint for a buffer too large");
    free(trial.message);
}

static void test_hint_params(void)
{
    struct trial trial = trial_of(PCOLL_BCAST, 16, 65536);

    trial.hint.algorithm = "eager";
    trial.hint.radix = 5;
    trial.hint.segment = 1000;
    expect(&trial, "eager", "hint", NULL, "radix and segment requested");
    tap_ok(trial.choice.params.radix == 5 && trial.choice.params.segment == 1000, "and had");
    trial.hint.algorithm = "chain";
    expect(&trial, "chain", "hint", "hint: algorithm 'chain' has no radix; ignored\n",
           "radix requested of one that has none");
    tap_ok(trial.choice.params.radix == 0 && trial.choice.params.segment == 1000, "not had");
    trial.hint.algorithm = "knomial_put";
    expect(&trial, "knomial_put", "hint", "algorithm 'knomial_put' has no segment; ignored\n",
           "segment requested of one that has none");
    trial.hint = (struct pcoll_hint){.algorithm = "eager", .radix = 1};
    expect(&trial, "eager", "hint", "no radix 1 (allowed: 2 and more, 0 for auto); ignored\n",
           "radix 1 requested");
    trial.hint.radix = -7;
    expect(&trial, "eager", "hint", "no radix -7 (allowed", "radix -7 requested");
    tap_ok(trial.choice.params.radix >= 2, "not had");
    trial.json = HEAD SLOW_RMA "}";
    trial.hint = (struct pcoll_hint){.radix = 5, .segment = 1000};
    expect(&trial, "shared", "model", NULL, "radix and segment requested, algorithm open");
    tap_ok(trial.choice.params.radix == 0 && trial.choice.params.segment == 1000,
           "and had where the algorithm has them");
    trial = trial_of(PCOLL_BCAST, 4, 1 << 30);
    trial.caps.provides = NO_RMA;
    trial.hint.segment = 1 << 30;
    expect(&trial, "eager", "model",
           "hint: no algorithm can run with radix 0, segment 1073741824; "
           "ignored",
           "a segment with which nothing can run");
}

/* ---- rules ---- */

#define RULES                                                                                      \
    HEAD SLOW_RMA                                                                                  \
        ", \"rules\": ["                                                                           \
        "{\"coll\": \"allgather\", \"algorithm\": \"ring\", \"path\": \"user\"},"                  \
        "{\"coll\": \"bcast\", \"ranks\": [4, 8], \"bytes\": [8192, 65536], \"algorithm\": "       \
        "\"chain\","                                                                               \
        " \"segment\": 8192},"                                                                     \
        "{\"coll\": \"bcast\", \"bytes\": [0, 65536], \"algorithm\": \"eager\", \"radix\": 3},"    \
        "{\"coll\": \"bcast\", \"bytes\": [0, 65536], \"algorithm\": \"knomial_get\"}]}"

static void test_rule_match(void)
{
    static const struct {
        int nranks;
        uint64_t bytes;
        const char *algorithm, *reason;
    } cases[] = {
        {4, 8192, "chain", "rule"}, {8, 65536, "chain", "rule"}, {3, 8192, "eager", "rule"},
        {9, 8192, "eager", "rule"}, {4, 8191, "eager", "rule"},  {4, 65537, "shared", "model"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trial trial = trial_of(PCOLL_BCAST, cases[i].nranks, cases[i].bytes);

        trial.json = RULES;
        expect(&trial, cases[i].algorithm, cases[i].reason, NULL, "the first rule that matches");
        tap_ok(strcmp(trial.choice.reason, "model") == 0 ||
                   (trial.choice.params.segment == 8192 && trial.choice.params.radix == 0) ||
                   (trial.choice.params.segment > 0 && trial.choice.params.radix == 3),
               "its parameters, the rest filled in");
    }
}

static void test_rule_passed_over(void)
{
    struct trial trial = trial_of(PCOLL_BCAST, 4, 8192);

    trial.json = RULES;
    trial.caps.provides = NO_RMA;
    expect(&trial, "eager", "rule", NULL, "a rule that cannot run gives way to the next");
    trial = trial_of(PCOLL_ALLGATHER, 4, 64);
    trial.json = RULES;
    expect(&trial, "ring", "rule", NULL, "a rule goes below the threshold");
    trial.caps.provides = NO_RMA;
    run(&trial);
    tap_ok(trial.result == PCOLL_OK && strcmp(trial.choice.reason, "model") == 0,
           "no rule can run: the model decides");
    free(trial.message);
}

static void test_rule_and_hint(void)
{
    struct trial trial = trial_of(PCOLL_BCAST, 4, 8192);

    trial.json = RULES;
    trial.hint.algorithm = "knomial_put";
    expect(&trial, "knomial_put", "hint", NULL, "a hint is stronger than a rule");
    trial.hint = (struct pcoll_hint){.segment = 1024};
    expect(&trial, "chain", "rule", NULL, "a hint for a segment leaves the rule its algorithm");
    tap_ok(trial.choice.params.segment == 1024, "but not its segment");
    trial.hint = (struct pcoll_hint){.algorithm = "nonsense"};
    expect(&trial, "chain", "rule", "no bcast algorithm 'nonsense'", "no such hint: the rule");
}

static void test_rule_path(void)
{
    struct trial trial = trial_of(PCOLL_ALLGATHER, 4, 64);

    trial.json = HEAD SLOW_RMA ", \"rules\": [{\"coll\": \"allgather\", \"algorithm\": \"direct\","
                               " \"path\": \"user\"}]}";
    expect(&trial, "direct", "rule", NULL, "a rule with a path");
    tap_ok(trial.choice.params.path == PCOLL_PATH_USER, "has it, slow and small as it may be");
}

static void test_rule_slots_and_rails(void)
{
    struct trial trial = trial_of(PCOLL_BCAST, 4, 64);

    trial.json = HEAD EVEN "}, \"rules\": [{\"coll\": \"bcast\", \"algorithm\": \"shared\","
                           " \"slots\": 16, \"bytes\": [0, 64]}, {\"coll\": \"bcast\","
                           " \"algorithm\": \"chain\", \"rails\": 2}]}";
    expect(&trial, "shared", "rule", NULL, "a rule with slots");
    tap_ok(trial.choice.params.slots == 16, "has them");
    trial.caps.max_ring = 8;
    expect(&trial, "chain", "rule", NULL,
           "a rule with more slots than there can be is passed over");
    tap_ok(trial.choice.params.rails == 2, "a rule with rails has them");
}

/* ---- all of it ---- */

static void test_silence(void)
{
    const struct pcoll_hint hint = {.algorithm = "nonsense", .radix = 1};
    struct trial trial = trial_of(PCOLL_BARRIER, 4, 0);
    struct pcoll_table *table;
    int good = pcoll_table_parse("default", pcoll_tuning_default_json, NULL, &table) == PCOLL_OK;

    good =
        good && pcoll_choose(table, &trial.signature, &able, NULL, NULL, &trial.choice) == PCOLL_OK;
    good = good &&
           pcoll_choose(table, &trial.signature, &able, &hint, NULL, &trial.choice) == PCOLL_OK;
    pcoll_table_destroy(table);
    tap_ok(good, "no hint, nobody to report to");
}

static void test_agreement(void)
{
    struct trial one = trial_of(PCOLL_BCAST, 64, 100000), other;
    int same = 1;

    for (int i = 0; i < 20; i++) {
        char *noise = malloc((size_t)4096 << i % 4);

        other = one;
        other.signature.bytes = one.signature.bytes = 1000u << i % 10;
        run(&one);
        free(noise);
        run(&other);
        same = same && one.choice.algorithm == other.choice.algorithm &&
               one.choice.params.radix == other.choice.params.radix &&
               one.choice.params.segment == other.choice.params.segment &&
               one.choice.params.path == other.choice.params.path &&
               one.choice.predicted_us == other.choice.predicted_us;
        free(one.message);
        free(other.message);
    }
    tap_ok(same, "the same question gets the same answer");
}

/* 48 ranks on 6 nodes. */
static void test_nodes(void)
{
    int ids[48];
    struct trial barrier = trial_of(PCOLL_BARRIER, 48, 0);
    struct trial small = trial_of(PCOLL_ALLGATHER, 48, 16);
    struct trial large = trial_of(PCOLL_ALLGATHER, 48, 1 << 20);
    struct pcoll_topology *topology;

    for (int r = 0; r < 48; r++)
        ids[r] = r / 8;
    if (pcoll_topology_create(ids, NULL, 48, &topology) != PCOLL_OK)
        abort();
    barrier.json = small.json = large.json =
        HEAD "{\"L\":2,\"o\":0.2,\"g\":0.5,\"G\":1e-3,\"rma\":1,\"copy\":1e-4,\"call\":0.1,"
             "\"turn\":1}}}";
    barrier.signature.topology = small.signature.topology = large.signature.topology = topology;
    expect(&barrier, "dissemination", "model", NULL, "barrier of 6 nodes");
    expect(&small, "bruck", "model", NULL, "short allgather of 6 nodes");
    expect(&large, "ring", "model", NULL, "long allgather of 6 nodes");
    pcoll_topology_destroy(topology);
}

static struct trial on_rails(enum pcoll_coll coll, const char *algorithm, uint64_t bytes, int rails,
                             const struct pcoll_topology *topology)
{
    struct trial trial = trial_of(coll, 8, bytes);

    trial.signature.topology = topology;
    trial.caps.medium = "ofi_rma";
    trial.caps.rails = rails;
    trial.hint.algorithm = algorithm;
    run(&trial);
    free(trial.message);
    return trial;
}

/* A third of a long message goes by each of 3 links; a short one gains nothing. */
static void test_rails(void)
{
    static const struct {
        enum pcoll_coll coll;
        const char *name;
    } striped[] = {{PCOLL_BCAST, "chain"},        {PCOLL_BCAST, "two_tree"},
                   {PCOLL_BCAST, "trinaryx3"},    {PCOLL_BCAST, "kary"},
                   {PCOLL_BCAST, "scatter_ring"}, {PCOLL_ALLGATHER, "ring"}};
    static const int ids[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct pcoll_topology *topology;

    if (pcoll_topology_create(ids, NULL, 8, &topology) != PCOLL_OK)
        abort();
    for (size_t i = 0; i < sizeof(striped) / sizeof(striped[0]); i++) {
        enum pcoll_coll coll = striped[i].coll;
        struct trial one = on_rails(coll, striped[i].name, 32 << 20, 1, topology);
        struct trial three = on_rails(coll, striped[i].name, 32 << 20, 3, topology);
        struct trial few = on_rails(coll, striped[i].name, 1000, 3, topology);
        double share = three.choice.predicted_us / one.choice.predicted_us;

        tap_ok(three.choice.params.rails == 3 && share > 0.3 && share < 0.45,
               "%s: 3 rails take %.2f of the time of 1 for 32 MiB", striped[i].name, share);
        tap_ok(few.choice.params.rails == 1, "%s: 1000 B are not striped", striped[i].name);
    }
    pcoll_topology_destroy(topology);
}

/* ---- levels ---- */

#define TWO_LEVELS                                                                                 \
    HEAD "{\"L\":1,\"o\":1,\"g\":1,\"G\":1e-4,\"rma\":1e6,\"copy\":1e-4,\"call\":1,\"turn\":1,"    \
         "\"levels\": {\"other_socket\": {\"rma\": 1, \"copy\": 1e6}}}}}"

static void test_level(void)
{
    struct trial trial = trial_of(PCOLL_BCAST, 8, 65536);

    trial.json = TWO_LEVELS;
    run(&trial);
    free(trial.message);
    tap_ok(trial.choice.params.path == PCOLL_PATH_TEMP, "the medium's own parameters count");
    trial.caps.level = PCOLL_LEVEL_OTHER_SOCKET;
    run(&trial);
    free(trial.message);
    tap_ok(trial.choice.params.path == PCOLL_PATH_USER, "and those of the level, where known");
}

/* ---- those that lost ---- */

static int is_listed(const struct pcoll_choice *list, int count, const struct pcoll_choice *choice)
{
    for (int i = 0; i < count; i++)
        if (pcoll_choice_same(&list[i], choice) && list[i].predicted_us == choice->predicted_us)
            return 1;
    return 0;
}

/* The list is in order, holds no algorithm and path twice, and what `choose` takes is its head. */
static int is_good_list(struct trial *trial, const struct pcoll_table *table)
{
    struct pcoll_choice list[PCOLL_MAX_CANDIDATES];
    const int count =
        pcoll_candidates(table, &trial->signature, &trial->caps, list, PCOLL_MAX_CANDIDATES);
    int good = count > 0 && count < PCOLL_MAX_CANDIDATES;

    for (int i = 1; i < count; i++) {
        good = good && list[i - 1].predicted_us <= list[i].predicted_us;
        for (int k = 0; k < i; k++)
            good = good && (list[k].algorithm != list[i].algorithm ||
                            list[k].params.path != list[i].params.path);
    }
    run(trial);
    free(trial->message);
    return good && trial->choice.predicted_us == list[0].predicted_us &&
           is_listed(list, count, &trial->choice);
}

/* Each that a hint for its algorithm would get, is in the list. */
static int has_every_algorithm(struct trial *trial, const struct pcoll_table *table)
{
    struct pcoll_choice list[PCOLL_MAX_CANDIDATES];
    const int count =
        pcoll_candidates(table, &trial->signature, &trial->caps, list, PCOLL_MAX_CANDIDATES);
    int good = 1;

    PCOLL_EACH_ALGORITHM (row) {
        if (row->coll != trial->signature.coll)
            continue;
        trial->hint.algorithm = row->name;
        run(trial);
        free(trial->message);
        if (is(trial, row->name, "hint"))
            good = good && is_listed(list, count, &trial->choice);
    }
    return good;
}

static int has_path(const struct pcoll_choice *list, int count, const char *algorithm,
                    enum pcoll_path path)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].algorithm->name, algorithm) == 0 && list[i].params.path == path)
            return 1;
    return 0;
}

static void test_both_paths(void)
{
    const struct pcoll_signature signature = {.coll = PCOLL_ALLGATHER, .nranks = 8, .bytes = 8192};
    struct pcoll_choice list[PCOLL_MAX_CANDIDATES];
    struct pcoll_table *table;
    int count = 0;

    if (pcoll_table_parse("default", pcoll_tuning_default_json, stdout, &table) == PCOLL_OK)
        count = pcoll_candidates(table, &signature, &able, list, PCOLL_MAX_CANDIDATES);
    pcoll_table_destroy(table);
    tap_ok(has_path(list, count, "direct", PCOLL_PATH_USER) &&
               has_path(list, count, "direct", PCOLL_PATH_TEMP),
           "an algorithm is a candidate by each of its paths");
}

static void test_candidates(void)
{
    static const int nranks[] = {2, 5, 8, 64};
    static const uint64_t bytes[] = {8, 65536, 4 << 20};
    struct pcoll_table *table;
    struct pcoll_choice one;
    int good = pcoll_table_parse("default", pcoll_tuning_default_json, stdout, &table) == PCOLL_OK;
    int complete = good;

    for (int i = 0; i < PCOLL_NUM_COLLS * 4 * 3; i++) {
        struct trial trial =
            trial_of((enum pcoll_coll)(i % PCOLL_NUM_COLLS), nranks[i / 3 % 4], bytes[i / 12]);

        trial.json = HEAD EVEN "}}";
        if (pcoll_coll_has(trial.signature.coll, PCOLL_SYNCHRONIZES))
            trial.signature.bytes = 0;
        pcoll_table_destroy(table);
        if (pcoll_table_parse("t.json", trial.json, stdout, &table) != PCOLL_OK)
            abort();
        good = is_good_list(&trial, table) && good;
        if (trial.signature.bytes == 0 || trial.signature.bytes >= 4096)
            complete = has_every_algorithm(&trial, table) && complete;
    }
    tap_ok(good, "candidates come in order, the choice first");
    tap_ok(complete, "every algorithm that can run is a candidate");
    tap_ok(pcoll_candidates(table, &(struct pcoll_signature){PCOLL_BCAST, 8, 0, 8, 0}, &able, &one,
                            1) == 1,
           "no more than there is room for");
    tap_ok(pcoll_candidates(table, &(struct pcoll_signature){PCOLL_BCAST, 8, 0, 8, 0},
                            &(struct pcoll_caps){.medium = "ofi"}, &one, 1) == 0,
           "none of a medium that the table lacks");
    pcoll_table_destroy(table);
}

/* What was measured on a communicator of that shape counts, there only. */
static void test_correction(void)
{
    static const char json[] =
        HEAD EVEN "}, \"corrections\": [{\"medium\": \"shm\", \"coll\": \"bcast\","
                  " \"algorithm\": \"shared\", \"path\": \"temp\", \"ranks\": 8,"
                  " \"bytes\": [8, 16], \"factor\": [1e3, 1]}]}";
    struct trial trial = trial_of(PCOLL_BCAST, 8, 16);
    double model;

    trial.json = json;
    expect(&trial, "shared", "model", NULL, "a correction of 1");
    model = trial.choice.predicted_us;
    trial.signature.bytes = 8;
    expect(&trial, "eager", "model", NULL, "what is 1000 times slower than predicted");
    trial.hint.algorithm = "shared";
    expect(&trial, "shared", "hint", NULL, "and requested");
    tap_ok(trial.choice.predicted_us > 900 * model, "is said to take so long");
    trial.hint.algorithm = NULL;
    trial.signature.nranks = 7;
    expect(&trial, "shared", "model", NULL, "one rank less");
}

/* One that names slots counts for these only, whatever stands before it. */
static void test_correction_slots(void)
{
    static const char json[] =
        HEAD EVEN "}, \"corrections\": [{\"medium\": \"shm\", \"coll\": \"bcast\","
                  " \"algorithm\": \"shared\", \"path\": \"temp\", \"ranks\": 8,"
                  " \"bytes\": [8], \"factor\": [1e3]}, {\"medium\": \"shm\", \"coll\": \"bcast\","
                  " \"algorithm\": \"shared\", \"path\": \"temp\", \"ranks\": 8, \"slots\": 64,"
                  " \"bytes\": [8], \"factor\": [1e-3]}]}";
    struct trial trial = trial_of(PCOLL_BCAST, 8, 8);

    trial.json = json;
    expect(&trial, "shared", "model", NULL, "a correction that names slots");
    tap_ok(trial.choice.params.slots == 64, "counts for them");
    trial.caps.max_ring = 8;
    expect(&trial, "eager", "model", NULL, "and for no other");
}

static void test_text(void)
{
    struct pcoll_choice choice = {.algorithm = pcoll_algorithm_find(PCOLL_BCAST, "eager"),
                                  .params = {.radix = 4,
                                             .segment = 8192,
                                             .slots = 64,
                                             .path = PCOLL_PATH_TEMP}},
                        other = choice;
    char text[PCOLL_CHOICE_BYTES];

    pcoll_choice_text(&choice, text);
    tap_ok(strcmp(text, "eager, communication buffers, radix 4, segment 8192, slots 64") == 0,
           "a choice in words: %s", text);
    tap_ok(pcoll_choice_same(&choice, &other), "a choice is the same as itself");
    other.params.segment++;
    tap_ok(!pcoll_choice_same(&choice, &other), "not as one with another segment");
    choice.algorithm = pcoll_algorithm_find(PCOLL_BARRIER, "butterfly");
    choice.params = (struct pcoll_params){0};
    pcoll_choice_text(&choice, text);
    tap_ok(strcmp(text, "butterfly") == 0, "a choice without parameters: %s", text);
}

/* ---- what choosing costs ---- */

/* Of 64 ranks and of a million the same. */
static void test_work(void)
{
    static const int nranks[] = {64, 1000, 65536, 1 << 20};
    static const uint64_t bytes[] = {1, 64, 65536, 64 << 20};
    int same = 1;

    for (int i = 0; i < PCOLL_NUM_COLLS * 4; i++) {
        int weighed = -1;

        for (int k = 0; k < 4; k++) {
            struct trial trial =
                trial_of((enum pcoll_coll)(i % PCOLL_NUM_COLLS), nranks[k], bytes[i / 3]);

            if (pcoll_coll_has(trial.signature.coll, PCOLL_SYNCHRONIZES))
                trial.signature.bytes = 0;
            trial.caps.max_temp = UINT64_MAX;
            run(&trial);
            free(trial.message);
            if (weighed >= 0 && trial.choice.weighed > weighed)
                same = 0;
            weighed = trial.choice.weighed;
        }
    }
    tap_ok(same, "more ranks are no more work");
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void show_speed(void)
{
    static const int nranks[] = {64, 1 << 20};
    const int rounds = 1000;
    struct pcoll_table *table;
    int good = pcoll_table_parse("default", pcoll_tuning_default_json, stdout, &table) == PCOLL_OK;

    for (int i = 0; i < PCOLL_NUM_COLLS * 2; i++) {
        struct trial trial =
            trial_of((enum pcoll_coll)(i % PCOLL_NUM_COLLS), nranks[i / 3], 8 << 20);
        const double begin = seconds_now();

        trial.caps.max_temp = UINT64_MAX;
        for (int round = 0; round < rounds; round++)
            good = pcoll_choose(table, &trial.signature, &trial.caps, NULL, NULL, &trial.choice) ==
                       PCOLL_OK &&
                   good;
        printf("# %.2f us for each choice of a long %s on %d ranks, %d candidates\n",
               (seconds_now() - begin) / rounds * 1e6, pcoll_coll_name(trial.signature.coll),
               trial.signature.nranks, trial.choice.weighed);
    }
    pcoll_table_destroy(table);
    tap_ok(good, "choose often");
}

int main(void)
{
    test_best();
    test_ties();
    test_paths();
    test_unsupported();
    test_trivial();
    test_hint_names();
    test_hint_unknown();
    test_hint_impossible();
    test_hint_params();
    test_rule_match();
    test_rule_passed_over();
    test_rule_and_hint();
    test_rule_path();
    test_rule_slots_and_rails();
    test_silence();
    test_agreement();
    test_nodes();
    test_rails();
    test_level();
    test_candidates();
    test_both_paths();
    test_correction();
    test_correction_slots();
    test_text();
    test_work();
    show_speed();
    return tap_done();
}
