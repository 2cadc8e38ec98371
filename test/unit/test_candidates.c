/* Which parameters are candidates; their list, for users and for pcoll-tune; a choice in words. */
#include <stdlib.h>
#include <string.h>

#include "algorithms/plan/levels.h"
#include "test/unit/question.h"
#include "test/unit/tables.h"
#include "test/unit/tap.h"

struct list {
    struct pcoll_choice choices[PCOLL_MAX_CANDIDATES];
    int count;
};

static struct list candidates_of(const struct question *q)
{
    struct list list;

    list.count =
        pcoll_candidates(q->table, &q->signature, &q->caps, list.choices, PCOLL_MAX_CANDIDATES);
    return list;
}

static int is_listed(const struct list *list, const struct pcoll_choice *choice)
{
    for (int i = 0; i < list->count; i++)
        if (pcoll_choice_same(&list->choices[i], choice) &&
            list->choices[i].predicted_us == choice->predicted_us)
            return 1;
    return 0;
}

/* The list is sorted, holds no pair of algorithm and path twice, and its head is what `choose`
 * takes. */
static int is_good_list(struct question *q)
{
    const struct list list = candidates_of(q);
    const struct pcoll_choice *c = list.choices;
    int good = list.count > 0 && list.count < PCOLL_MAX_CANDIDATES;

    for (int i = 1; i < list.count; i++) {
        good = good && c[i - 1].predicted_us <= c[i].predicted_us;
        for (int k = 0; k < i; k++)
            good =
                good && (c[k].algorithm != c[i].algorithm || c[k].params.path != c[i].params.path);
    }
    question_ask(q);
    return good && q->choice.predicted_us == c[0].predicted_us && is_listed(&list, &q->choice);
}

/* The list holds everything that a hint for its algorithm would get. */
static int has_every_algorithm(struct question q)
{
    const struct list list = candidates_of(&q);
    int good = 1;

    PCOLL_EACH_ALGORITHM (row) {
        if (row->coll != q.signature.coll)
            continue;
        q.hint.algorithm = row->name;
        question_ask(&q);
        if (q.result == PCOLL_OK && strcmp(q.choice.reason, "hint") == 0)
            good = good && is_listed(&list, &q.choice);
    }
    return good;
}

static void test_lists(const struct pcoll_table *table)
{
    static const int nranks[] = {2, 5, 8, 64};
    static const uint64_t bytes[] = {8, 65536, 4 << 20};
    int good = 1, complete = 1;

    for (int i = 0; i < PCOLL_NUM_COLLS * 4 * 3; i++) {
        const int n = i / PCOLL_NUM_COLLS;
        struct question q =
            question_of(table, (enum pcoll_coll)(i % PCOLL_NUM_COLLS), nranks[n % 4], bytes[n / 4]);

        good = is_good_list(&q) && good;
        /* below the threshold a hint reaches user buffers where the model does not */
        if (q.signature.bytes == 0 || q.signature.bytes >= q.caps.user_rma_threshold)
            complete = has_every_algorithm(q) && complete;
    }
    tap_ok(good, "candidates come in order, the choice first");
    tap_ok(complete, "every algorithm that can run is a candidate");
}

static int has_path(const struct list *list, const char *algorithm, enum pcoll_path path)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->choices[i].algorithm->name, algorithm) == 0 &&
            list->choices[i].params.path == path)
            return 1;
    return 0;
}

static void test_both_paths(const struct pcoll_table *table)
{
    const struct question q = question_of(table, PCOLL_ALLGATHER, 8, 8192);
    const struct list list = candidates_of(&q);

    tap_ok(has_path(&list, "direct", PCOLL_PATH_USER) && has_path(&list, "direct", PCOLL_PATH_TEMP),
           "an algorithm is a candidate with each of its paths");
}

static void test_room(const struct pcoll_table *table)
{
    struct question q = question_of(table, PCOLL_BCAST, 8, 8);
    struct pcoll_choice one;

    tap_ok(pcoll_candidates(table, &q.signature, &q.caps, &one, 1) == 1,
           "no more candidates than there is room for");
    q.caps.medium = "ofi";
    tap_ok(pcoll_candidates(table, &q.signature, &q.caps, &one, 1) == 0,
           "no candidate for a medium that the table lacks");
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
    tap_ok(!pcoll_choice_same(&choice, &other), "a choice with another segment differs");
    choice.algorithm = pcoll_algorithm_find(PCOLL_BARRIER, "butterfly");
    choice.params = (struct pcoll_params){0};
    pcoll_choice_text(&choice, text);
    tap_ok(strcmp(text, "butterfly") == 0, "a choice without parameters: %s", text);
}

/* A race is between the choice, if the model made it, and what may be as fast. */
static void test_few(const struct pcoll_table *table)
{
    struct question q = question_of(table, PCOLL_ALLGATHER, 4, 65536);
    struct pcoll_choice few[3], all[PCOLL_MAX_CANDIDATES];
    const int count = pcoll_candidates(table, &q.signature, &q.caps, all, PCOLL_MAX_CANDIDATES);
    bool good;
    int n = 0;

    question_ask(&q);
    good = pcoll_choose_few(table, &q.signature, &q.caps, NULL, NULL, few, 3, &n) == PCOLL_OK &&
           n == 3 && count > 3;
    for (int i = 0; i < n; i++)
        good = good && pcoll_choice_same(&few[i], &all[i]) &&
               few[i].predicted_us <= PCOLL_RACE_WITHIN * few[0].predicted_us;
    tap_ok(good && pcoll_choice_same(&few[0], &q.choice), "the choice races with the cheapest");
    good = pcoll_choose_few(table, &q.signature, &q.caps, NULL, NULL, few, 1, &n) == PCOLL_OK;
    tap_ok(good && n == 1 && pcoll_choice_same(&few[0], &q.choice), "at most so many");
    q.hint.algorithm = all[2].algorithm->name;
    good = pcoll_choose_few(table, &q.signature, &q.caps, &q.hint, NULL, few, 3, &n) == PCOLL_OK;
    tap_ok(good && n == 1 && few[0].algorithm == all[2].algorithm, "a hint does not race");
}

/* Of a machine that tells nothing about its caches. */
static struct pcoll_limits limits;

static int long_ring(const struct pcoll_topology *topology, uint64_t bytes, uint64_t segment,
                     int cores)
{
    const struct pcoll_signature signature = {
        .coll = PCOLL_BCAST, .nranks = 8, .bytes = bytes, .topology = topology};
    const struct pcoll_params params = {.segment = segment};

    return pcoll_long_ring(pcoll_algorithm_find(PCOLL_BCAST, "eager"), &signature, &params, cores,
                           &limits);
}

static void test_long_ring(void)
{
    const struct pcoll_topology four = {.nnodes = 4};
    const struct pcoll_algorithm *eager = pcoll_algorithm_find(PCOLL_BCAST, "eager");
    const struct pcoll_signature many = {.coll = PCOLL_BCAST, .nranks = 32, .bytes = 8};
    const struct pcoll_params params = {.segment = 4096};

    tap_ok(long_ring(NULL, 8, 4096, 0) == 16 && long_ring(NULL, 4032, 4096, 8) == 16,
           "a ring of short messages stays in the first cache");
    tap_ok(long_ring(NULL, 4096, 4096, 8) == 32 && long_ring(NULL, 1 << 20, 16384, 8) == 64 &&
               long_ring(NULL, 1 << 20, 32768, 8) == 64 &&
               long_ring(NULL, 1 << 20, 65536, 8) == 32 &&
               long_ring(NULL, 1 << 20, 1 << 17, 8) == 16,
           "one of longer messages is longer, and leaves the caches if it can");
    tap_ok(long_ring(&four, 8, 4096, 2) == 64 && long_ring(&four, 1 << 20, 1 << 17, 2) == 64,
           "a network has a long one");
    tap_ok(long_ring(&four, 8, 4096, 1) == 128 && long_ring(NULL, 8, 4096, 7) == 64 &&
               long_ring(NULL, 1 << 20, 16384, 7) == 64 &&
               long_ring(NULL, 1 << 20, 1 << 17, 7) == 16,
           "where ranks share cores the ring is the longest that few ranks fill");
    tap_ok(pcoll_long_ring(eager, &many, &params, 7, &limits) == 16,
           "many ranks have a shorter one");
}

static uint64_t min_segment(int nranks, uint64_t bytes, int cores, uint64_t max_temp)
{
    const struct pcoll_signature signature = {
        .coll = PCOLL_BCAST, .nranks = nranks, .bytes = bytes};
    const struct pcoll_caps caps = {.cores = cores, .max_temp = max_temp};

    return pcoll_min_segment(pcoll_algorithm_find(PCOLL_BCAST, "eager"), &signature, &caps,
                             &limits);
}

static void test_least_segment(void)
{
    const uint64_t room = 16 * limits.segment; /* the shortest ring */
    const uint64_t bytes = PCOLL_LONG_MESSAGE;

    tap_ok(min_segment(2, bytes - 1, 2, room) == limits.segment &&
               min_segment(2, bytes, 2, room) == 2 * limits.segment &&
               min_segment(2, 4 * bytes - 1, 2, room) == 2 * limits.segment &&
               min_segment(2, 4 * bytes, 2, room) == 4 * limits.segment &&
               min_segment(8, bytes, 0, room) == limits.segment / 2,
           "far rings have long segments");
    tap_ok(min_segment(3, bytes, 2, room) == 4096 && min_segment(2, bytes, 2, room - 1) == 4096,
           "not where ranks share cores or memory is short");
}

/* ---- levels ---- */

enum { RANKS = 32 };

/* Two sockets, each of which has two caches. */
static struct pcoll_topology make_levels(void)
{
    int sockets[RANKS], caches[RANKS];
    const struct pcoll_division divisions[] = {{sockets, PCOLL_LEVEL_OTHER_CACHE},
                                               {caches, PCOLL_LEVEL_SAME_CACHE}};
    struct pcoll_topology levels;

    for (int r = 0; r < RANKS; r++) {
        sockets[r] = r / (RANKS / 2);
        caches[r] = r / (RANKS / 4);
    }
    if (pcoll_topology_divide(NULL, RANKS, divisions, 2, &levels) != PCOLL_OK)
        abort();
    return levels;
}

/* Without and with levels: is the choice the same? */
static int same_choice(struct question q, const struct pcoll_topology *levels)
{
    struct question with = q;

    with.signature.levels = levels;
    question_ask(&q);
    question_ask(&with);
    return pcoll_choice_same(&q.choice, &with.choice) &&
           q.choice.predicted_us == with.choice.predicted_us;
}

static struct question question_far(const struct pcoll_table *table, enum pcoll_coll coll,
                                    uint64_t bytes)
{
    struct question q = question_of(table, coll, RANKS, bytes);

    q.caps.level = PCOLL_LEVEL_OTHER_SOCKET;
    q.caps.max_temp = UINT64_C(64) << 20;
    q.signature.commutes = pcoll_coll_has(coll, PCOLL_REDUCES);
    return q;
}

static void test_level(const struct pcoll_table *table, const struct pcoll_topology *levels,
                       enum pcoll_coll coll, uint64_t bytes)
{
    struct question flat = question_far(table, coll, bytes), q = flat;
    int good;

    q.signature.levels = levels;
    question_ask(&flat);
    question_ask(&q);
    good = q.choice.params.teams > 0 && q.choice.predicted_us < flat.choice.predicted_us &&
           question_plans_fit(&q);
    tap_ok(good, "%s of %llu bytes goes over teams of level %d", pcoll_coll_name(coll),
           (unsigned long long)bytes, q.choice.params.teams);
    q.caps.cores = flat.caps.cores = RANKS / 2;
    tap_ok(same_choice(flat, levels), "but not if ranks share cores");
}

/* A row without that parameter, and a level that does not exist. */
static void test_no_teams(const struct pcoll_topology *levels)
{
    const struct pcoll_signature signature = {
        .coll = PCOLL_BARRIER, .nranks = RANKS, .levels = levels};
    const struct pcoll_signature bcast = {
        .coll = PCOLL_BCAST, .nranks = RANKS, .bytes = 8, .levels = levels};
    struct pcoll_plan *plan;

    tap_ok(pcoll_generate(pcoll_algorithm_find(PCOLL_BARRIER, "dissemination"), &signature, NULL, 0,
                          &(struct pcoll_params){.teams = 3}, &plan) == PCOLL_UNSUPPORTED &&
               pcoll_generate(pcoll_algorithm_find(PCOLL_BCAST, "kary"), &bcast, NULL, 0,
                              &(struct pcoll_params){.teams = 1}, &plan) == PCOLL_UNSUPPORTED,
           "no teams of a level that does not exist, nor in rows without the parameter");
}

/* A hint names the last level if there are fewer, a rule none; both do so also for ranks that share
 * cores. */
static void test_fixed_teams(struct pcoll_table *table, const struct pcoll_topology *levels)
{
    struct question q = question_far(table, PCOLL_REDUCE, 8);
    struct pcoll_choice choice = {.algorithm = pcoll_algorithm_find(PCOLL_REDUCE, "knomial")};
    struct pcoll_rule rule;

    q.signature.levels = levels;
    q.caps.cores = RANKS / 2;
    q.hint.teams = 3;
    tap_ok(question_gets(&q, "knomial", "model", NULL) && q.choice.params.teams == 2,
           "a hint names the last level");
    q.hint.teams = 0;
    for (int teams = 3; teams >= 0; teams--) {
        choice.params.teams = teams;
        rule = pcoll_rule_of(&q.signature, &q.caps, &choice);
        q.caps.cores = rule.cores = teams == 0 ? RANKS : RANKS / 2;
        if (pcoll_table_prefer(table, &rule) != PCOLL_OK)
            abort();
        question_ask(&q);
        tap_ok(q.result == PCOLL_OK && q.choice.params.teams == (teams < 3 ? teams : 0) &&
                   strcmp(q.choice.reason, teams < 3 ? "rule" : "model") == 0,
               "a rule for level %d", teams);
    }
    q.signature.nranks = 1;
    q.signature.levels = NULL;
    rule.ranks[0] = 1;
    rule.params.teams = 1;
    if (pcoll_table_prefer(table, &rule) != PCOLL_OK)
        abort();
    question_ask(&q);
    tap_ok(q.choice.params.teams == 0, "a rank alone has none");
}

/* What a hint cannot get is ignored; the rest of the hint counts. */
static void test_impossible_segment(const struct pcoll_table *table,
                                    const struct pcoll_topology *levels)
{
    const struct pcoll_machine slow_gets = {.G = 0.1};
    struct question q = question_far(table, PCOLL_BCAST, 1 << 20);

    q.signature.levels = levels;
    q.caps.measured = &slow_gets;
    q.caps.provides = NO_RMA;
    q.caps.max_temp = 1 << 20;
    q.hint = (struct pcoll_hint){.teams = 2, .segment = 1 << 20};
    tap_ok(
        question_gets(&q, "eager", "model", "no algorithm can run with radix 0, segment 1048576") &&
            q.choice.params.teams == 2 && q.choice.params.segment < 1 << 20,
        "a level remains where a segment is ignored");
}

/* All levels of a row race. */
static void test_race(const struct pcoll_table *table, const struct pcoll_topology *levels)
{
    struct question q = question_far(table, PCOLL_BARRIER, 0);
    struct pcoll_choice all[PCOLL_MAX_CANDIDATES];
    int seen = 0, n;

    q.signature.levels = levels;
    n = pcoll_candidates(table, &q.signature, &q.caps, all, PCOLL_MAX_CANDIDATES);
    for (int i = 0; i < n; i++)
        if (strcmp(all[i].algorithm->name, "dissemination") == 0)
            seen |= 1 << all[i].params.teams;
    tap_ok(seen == 7, "a row is a candidate without levels and with each");
}

/* Of the cheapest plan over teams of that level, if the farthest ranks have this latency. */
static double cost_of(const struct pcoll_table *table, const struct pcoll_topology *levels,
                      enum pcoll_coll coll, int teams, double L)
{
    const struct pcoll_machine measured = {.L = L};
    struct question q = question_far(table, coll, coll == PCOLL_BARRIER ? 0 : 8);
    struct pcoll_choice all[PCOLL_MAX_CANDIDATES];
    int n;

    q.caps.measured = &measured;
    q.signature.levels = levels;
    n = pcoll_candidates(table, &q.signature, &q.caps, all, PCOLL_MAX_CANDIDATES);
    for (int i = 0; i < n; i++)
        if (all[i].params.teams == teams)
            return all[i].predicted_us;
    return -1;
}

/* Without teams, too, ranks that are near each other count as near, if they are consecutive. If
 * they are not, the root of a gather or scatter over teams moves each block by itself. */
static void test_near_ranks(const struct pcoll_table *table, const struct pcoll_topology *levels)
{
    int sockets[RANKS];
    const struct pcoll_division division = {sockets, PCOLL_LEVEL_OTHER_CACHE};
    struct pcoll_topology together, dealt;

    for (int r = 0; r < RANKS; r++)
        sockets[r] = r / (RANKS / 2);
    if (pcoll_topology_divide(NULL, RANKS, &division, 1, &together) != PCOLL_OK)
        abort();
    for (int r = 0; r < RANKS; r++)
        sockets[r] = r % 2;
    if (pcoll_topology_divide(NULL, RANKS, &division, 1, &dealt) != PCOLL_OK)
        abort();
    tap_ok(cost_of(table, levels, PCOLL_BARRIER, 0, 1) <
                   cost_of(table, NULL, PCOLL_BARRIER, 0, 1) &&
               cost_of(table, &dealt, PCOLL_BARRIER, 0, 1) ==
                   cost_of(table, NULL, PCOLL_BARRIER, 0, 1),
           "near steps count in flat plans of consecutive ranks");
    tap_ok(cost_of(table, &together, PCOLL_GATHER, 1, 0.01) <
                   cost_of(table, &dealt, PCOLL_GATHER, 1, 0.01) &&
               cost_of(table, &together, PCOLL_SCATTER, 1, 0.01) <
                   cost_of(table, &dealt, PCOLL_SCATTER, 1, 0.01),
           "blocks of ranks that are not consecutive are moved one by one");
    pcoll_topology_fini(&together);
    pcoll_topology_fini(&dealt);
}

/* Four nodes with such levels. Rows that have parts of teams use them, if each rank has a core; for
 * others there is nothing to weigh. */
static void test_nodes(const struct pcoll_table *table, const struct pcoll_topology *levels)
{
    enum { NODES = 4 };
    const struct pcoll_topology nodes = {.nranks = NODES * RANKS, .nnodes = NODES, .run = RANKS};
    struct pcoll_topology nested;

    if (pcoll_topology_repeat(&nodes, levels, &nested) != PCOLL_OK)
        abort();
    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++) {
        const int scatters = coll == PCOLL_REDUCE_SCATTER_BLOCK || coll == PCOLL_REDUCE_SCATTER;
        const int gains = scatters || coll == PCOLL_BARRIER || coll == PCOLL_BCAST ||
                          coll == PCOLL_SCATTER || coll == PCOLL_ALLREDUCE ||
                          coll == PCOLL_ALLTOALL;
        const int has = gains || coll == PCOLL_GATHER || coll == PCOLL_REDUCE;
        struct question q = question_far(table, (enum pcoll_coll)coll, has ? 8 : 4096);

        if (coll == PCOLL_BARRIER)
            q.signature.bytes = 0;
        q.signature.nranks = NODES * RANKS;
        q.signature.topology = &nodes;
        q.signature.levels = &nested;
        q.caps.medium = "ofi_rma";
        q.caps.node_medium = "shm";
        question_ask(&q);
        tap_ok(q.choice.params.teams == gains && question_plans_fit(&q), "%s%s",
               pcoll_coll_name(q.signature.coll),
               gains ? " goes over nodes and the levels below them" : " goes over nodes");
        q.hint.teams = 2;
        question_ask(&q);
        tap_ok(q.choice.params.teams == has && question_plans_fit(&q),
               has ? "over levels if requested, whichever" : "whatever level is requested");
        q.caps.cores = RANKS / 2;
        q.hint.teams = 0;
        question_ask(&q);
        tap_ok(q.choice.params.teams == 0, "but not if ranks share cores");
    }
    pcoll_topology_fini(&nested);
}

static void test_levels(struct pcoll_table *table)
{
    struct pcoll_topology levels = make_levels();

    test_level(table, &levels, PCOLL_BCAST, 8);
    test_level(table, &levels, PCOLL_REDUCE, 8);
    test_level(table, &levels, PCOLL_ALLREDUCE, 65536);
    test_level(table, &levels, PCOLL_ALLTOALL, 192);
    test_nodes(table, &levels);
    test_no_teams(&levels);
    test_race(table, &levels);
    test_near_ranks(table, &levels);
    test_impossible_segment(table, &levels);
    test_fixed_teams(table, &levels);
    pcoll_topology_fini(&levels);
}

int main(void)
{
    static const struct pcoll_machine unknown;
    struct pcoll_table *even = tables_good("even"), *table = tables_default();

    limits = pcoll_limits_of(&unknown);
    test_lists(even);
    test_both_paths(table);
    test_room(even);
    test_text();
    test_few(table);
    test_levels(table);
    test_long_ring();
    test_least_segment();
    pcoll_table_destroy(even);
    pcoll_table_destroy(table);
    return tap_done();
}
