/* The choice: the best algorithm where that is obvious, and what every call gets. */
#include "tuning/choose.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "algorithms/plan/levels.h"
#include "test/unit/question.h"
#include "test/unit/tables.h"
#include "test/unit/tap.h"

/* ---- machines that leave no doubt ---- */

static void test_paths(void)
{
    struct pcoll_table *slow_rma = tables_good("slow_rma"), *slow_copy = tables_good("slow_copy");
    struct question q = question_of(slow_rma, PCOLL_BCAST, 8, 65536);

    tap_ok(question_gets(&q, "shared", "model", NULL) && q.choice.params.path == PCOLL_PATH_TEMP,
           "user buffers are not used where RMA is slow");
    q.table = slow_copy;
    question_ask(&q);
    tap_ok(q.choice.params.path == PCOLL_PATH_USER, "user buffers are used where copying is slow");
    q.signature.bytes = 4095;
    tap_ok(question_gets(&q, "shared", "model", NULL),
           "user buffers are not used below the threshold");
    q.signature.bytes = 4096;
    q.caps.provides = NO_RMA;
    tap_ok(question_gets(&q, "shared", "model", NULL),
           "user buffers are not used where they are unreachable");
    pcoll_table_destroy(slow_rma);
    pcoll_table_destroy(slow_copy);
}

/* In a node, a put takes longer than a get. */
static void test_put(const struct pcoll_table *table)
{
    static const struct {
        enum pcoll_coll coll;
        const char *algorithm;
    } calls[] = {{PCOLL_BCAST, "knomial_get"},
                 {PCOLL_SCATTER, "direct_get"},
                 {PCOLL_ALLGATHERV, "direct_get"},
                 {PCOLL_ALLTOALLV, "direct_get"},
                 {PCOLL_NEIGHBOR_ALLTOALLW, "direct_get"}};

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct question q = question_of(table, calls[i].coll, 2, 1 << 20);

        q.caps.level = PCOLL_LEVEL_OTHER_CACHE;
        tap_ok(question_gets(&q, calls[i].algorithm, "model", NULL),
               "receivers of a long %s read it", pcoll_coll_name(calls[i].coll));
    }
}

/* Readers of one process wait for each other: the root of a scatter writes to some of them, unless
 * its memory is mapped, they share cores, or their blocks are 2 MiB apart. */
static void test_readers(const struct pcoll_table *table)
{
    const struct pcoll_machine overlapping = {.exclusive = 0.01};
    struct question q = question_of(table, PCOLL_SCATTER, 128, 65536);

    q.caps.cores = 128;
    tap_ok(question_gets(&q, "direct_get", "model", NULL) && q.choice.params.radix < 128,
           "the root of a scatter writes to some ranks while others read");
    q.signature.bytes = 4 << 20;
    question_ask(&q);
    tap_ok(q.choice.params.radix == 128, "not if readers do not wait for each other");
    q.signature.bytes = 65536;
    q.caps.measured = &overlapping;
    question_ask(&q);
    tap_ok(q.choice.params.radix == 128, "nor if ranks have measured that they overlap");
    q.caps.measured = NULL;
    q.caps.mapped = 1;
    question_ask(&q);
    tap_ok(q.choice.params.radix == 128, "not if its memory is mapped");
    q.caps.mapped = 0;
    q.caps.cores = 2;
    q.hint.algorithm = "direct_get";
    question_ask(&q);
    tap_ok(strcmp(question_chosen(&q), "direct_get") == 0 && q.choice.params.radix == 128,
           "not if they share cores");
}

/* What a call takes at the level whose ranks saturate what they share, by what it takes without. */
static double saturated_by(const struct pcoll_table *table, enum pcoll_coll coll, int cores,
                           const char **chosen, enum pcoll_path *path)
{
    struct question q = question_of(table, coll, 16, 65536);
    double without;

    q.caps.cores = cores;
    question_ask(&q);
    without = q.choice.predicted_us;
    q.caps.level = PCOLL_LEVEL_OTHER_SOCKET;
    question_ask(&q);
    *chosen = question_chosen(&q);
    *path = q.choice.params.path;
    return q.choice.predicted_us / without;
}

/* What node_aware takes over teams of 4 ranks at that distance. */
static double of_teams(const struct pcoll_table *table, enum pcoll_level level)
{
    struct question q = question_of(table, PCOLL_ALLTOALL, 16, 65536);
    int teams[16];
    const struct pcoll_division division = {teams, level};
    struct pcoll_topology levels;

    for (int r = 0; r < 16; r++)
        teams[r] = r / 4;
    if (pcoll_topology_divide(NULL, 16, &division, 1, &levels) != PCOLL_OK)
        abort();
    q.signature.levels = &levels;
    q.hint.algorithm = "node_aware";
    q.hint.teams = 1;
    question_ask(&q);
    pcoll_topology_fini(&levels);
    return q.choice.predicted_us;
}

/* Ranks that copy through a communication buffer save what they do not share, so if copies take
 * long anyway, they copy once. */
static void test_saturated(void)
{
    static const enum pcoll_coll to_all[] = {PCOLL_ALLTOALL, PCOLL_ALLTOALLV, PCOLL_ALLTOALLW},
                                 others[] = {PCOLL_BCAST,      PCOLL_ALLGATHER,
                                             PCOLL_REDUCE,     PCOLL_ALLREDUCE,
                                             PCOLL_GATHERV,    PCOLL_REDUCE_SCATTER,
                                             PCOLL_ALLGATHERV, PCOLL_NEIGHBOR_ALLTOALL};
    struct pcoll_table *table = tables_good("saturated");
    const char *chosen;
    enum pcoll_path path;

    for (size_t i = 0; i < sizeof(to_all) / sizeof(to_all[0]); i++) {
        struct question q = question_of(table, to_all[i], 16, 65536);
        const double more = saturated_by(table, to_all[i], 16, &chosen, &path);

        question_ask(&q);
        tap_ok(q.choice.params.path == PCOLL_PATH_TEMP && path == PCOLL_PATH_USER && more > 1.15 &&
                   more < 1.25,
               "a long %s copies once where all ranks saturate what they share (%s, %.2f)",
               pcoll_coll_name(to_all[i]), chosen, more);
        tap_ok(saturated_by(table, to_all[i], 4, &chosen, &path) == 1,
               "%s: not if only four run at the same time", pcoll_coll_name(to_all[i]));
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        tap_ok(saturated_by(table, others[i], 16, &chosen, &path) == 1, "%s: as without it",
               pcoll_coll_name(others[i]));
    tap_ok(of_teams(table, PCOLL_LEVEL_SAME_CACHE) > 7 * of_teams(table, PCOLL_LEVEL_OTHER_CACHE),
           "ranks of a team saturate what the level of the team shares, before and after they "
           "exchange");
    pcoll_table_destroy(table);
}

/* Ranks that share cores and caches. */
static void test_shared_cores(const struct pcoll_table *table)
{
    struct question q = question_of(table, PCOLL_BCAST, 4, 1 << 20);

    q.caps.cores = 2;
    q.caps.level = PCOLL_LEVEL_SAME_CACHE;
    tap_ok(question_gets(&q, "shared", "model", NULL) &&
               (uint64_t)q.choice.params.slots * q.choice.params.segment >= 2 << 20,
           "a root that shares its core may run ahead by a message");
    q.signature.coll = PCOLL_ALLGATHERV;
    tap_ok(question_gets(&q, "direct_shared", "model", NULL) && q.choice.params.segment == 1 << 19,
           "ranks that share cores copy long segments");
    q.caps.level = PCOLL_LEVEL_OTHER_CACHE;
    tap_ok(question_gets(&q, "direct_get", "model", NULL), "not if the cores share no cache");
    q = question_of(table, PCOLL_GATHERV, 8, 1 << 16);
    q.caps.cores = 2;
    q.caps.level = PCOLL_LEVEL_OTHER_CACHE;
    tap_ok(question_gets(&q, "direct_get", "model", NULL),
           "a root that shares its core copies alone, as the others yield it");
}

static void test_level(void)
{
    struct pcoll_table *table = tables_good("two_levels");
    struct question q = question_of(table, PCOLL_BCAST, 8, 65536);

    question_ask(&q);
    tap_ok(q.choice.params.path == PCOLL_PATH_TEMP, "the medium's own parameters apply");
    q.caps.level = PCOLL_LEVEL_OTHER_SOCKET;
    question_ask(&q);
    tap_ok(q.choice.params.path == PCOLL_PATH_USER,
           "the parameters of the level apply where it is known");
    pcoll_table_destroy(table);
}

/* What ranks have measured replaces the table's parameters of their node, and only those. */
static void test_measured(void)
{
    const struct pcoll_machine nothing = {.L = 0}, fast_copies = {.copy = 1e-6, .cached = 1e-6},
                               slow_copies = {.copy = 1, .cached = 1};
    struct pcoll_table *table = tables_good("slow_copy");
    struct question q = question_of(table, PCOLL_BCAST, 8, 65536);
    double by_table;

    question_ask(&q);
    by_table = q.choice.predicted_us;
    q.caps.measured = &nothing;
    question_ask(&q);
    tap_ok(q.choice.params.path == PCOLL_PATH_USER && q.choice.predicted_us == by_table,
           "without a measurement the table's parameters apply");
    q.caps.measured = &fast_copies;
    question_ask(&q);
    tap_ok(q.choice.params.path == PCOLL_PATH_TEMP && q.choice.predicted_us < by_table,
           "what is measured replaces them");
    q.caps.measured = &slow_copies;
    question_ask(&q);
    tap_ok(q.choice.params.path == PCOLL_PATH_USER && q.choice.predicted_us == by_table,
           "the others stay");
    pcoll_table_destroy(table);
}

/* Copies through communication buffers take the time of cached ones only as long as the users' data
 * stays in a core's own cache. The figures are those of a Xeon whose own cache has 2 MiB. */
static void test_own_cache(void)
{
    static const uint64_t bytes[] = {65536, 1 << 20};
    struct pcoll_machine xeon = {.L = 0.13,
                                 .G = 1.05e-4,
                                 .rma = 0.42,
                                 .copy = 7.3e-5,
                                 .reduce = 4.9e-5,
                                 .cached = 4.9e-5,
                                 .cache = 1440,
                                 .share = 240};
    struct pcoll_table *table = tables_default();
    enum pcoll_path paths[2][2];

    for (int knows_own = 0; knows_own < 2; knows_own++)
        for (int i = 0; i < 2; i++) {
            struct question q = question_of(table, PCOLL_ALLGATHER, 2, bytes[i]);

            xeon.own = knows_own * 2;
            q.caps.measured = &xeon;
            question_ask(&q);
            paths[knows_own][i] = q.choice.params.path;
        }
    tap_ok(paths[0][0] == PCOLL_PATH_TEMP && paths[0][1] == PCOLL_PATH_TEMP,
           "an unknown own cache holds all data");
    tap_ok(paths[1][0] == PCOLL_PATH_TEMP && paths[1][1] == PCOLL_PATH_USER,
           "data that leaves a core's own cache is copied once");
    pcoll_table_destroy(table);
}

/* A long ring costs many first touches, so it must gain a tenth. The figures are those of an EPYC
 * (Zen 5), where four ranks share two cores. */
static void test_long_ring_earns(const struct pcoll_table *table)
{
    struct pcoll_machine epyc = {
        .L = 0.19, .G = 7.35e-5, .rma = 2.1, .copy = 3.87e-5, .reduce = 4.65e-5};
    struct question q = question_of(table, PCOLL_ALLGATHERV, 4, 16384);

    q.caps.cores = 2;
    q.caps.measured = &epyc;
    for (int is_fast = 0; is_fast < 2; is_fast++) {
        epyc.cached = is_fast ? 1e-5 : 3.44e-5;
        tap_ok(question_gets(&q, "direct_shared", "model", NULL), "%s copies through a ring",
               is_fast ? "fast" : "slow");
        tap_ok((q.choice.params.slots > 0) == is_fast, "which is long if these are fast");
    }
}

/* Where a copy by the kernel takes longer a byte than one through communication buffers, both ranks
 * of a broadcast copy half of a long message each. The figures are those of a Xeon. */
static void test_coop(const struct pcoll_table *table)
{
    const struct pcoll_machine xeon = {
        .L = 0.17, .G = 1.1e-4, .rma = 0.9, .copy = 6.6e-5, .cached = 6.5e-5, .own = 2};
    struct question q = question_of(table, PCOLL_BCAST, 2, PCOLL_COOP_FROM);

    q.caps.measured = &xeon;
    tap_ok(question_gets(&q, "knomial_get", "model", NULL), "two ranks share a long copy");
    q.signature.bytes--;
    question_ask(&q);
    tap_ok(q.choice.params.path == PCOLL_PATH_TEMP, "not a shorter one");
    q = question_of(table, PCOLL_BCAST, 3, 1 << 20);
    q.caps.measured = &xeon;
    question_ask(&q);
    tap_ok(q.choice.params.path == PCOLL_PATH_TEMP, "nor one of several");
}

/* Many ranks do not all read one buffer. The figures are those of an EPYC 7742. */
static void test_readers_of_one_buffer(const struct pcoll_table *table)
{
    const struct pcoll_machine epyc = {
        .L = 0.197, .G = 1.4e-4, .rma = 0.84, .copy = 7.1e-5, .reduce = 6.7e-5};
    struct question q = question_of(table, PCOLL_BCAST, 16, 65536);

    q.caps.measured = &epyc;
    q.caps.cores = 128;
    tap_ok(question_gets(&q, "shared", "model", NULL), "16 ranks read the root's buffers");
    q = question_of(table, PCOLL_BCAST, 128, 65536);
    q.caps.measured = &epyc;
    q.caps.cores = 128;
    question_ask(&q);
    tap_ok(strcmp(question_chosen(&q), "shared") != 0, "128 ranks forward what they get");
}

/* 48 ranks on 6 nodes. */
static void test_nodes(void)
{
    struct pcoll_table *table = tables_good("nodes");
    struct question barrier = question_of(table, PCOLL_BARRIER, 48, 0);
    struct question small = question_of(table, PCOLL_ALLGATHER, 48, 16);
    struct question large = question_of(table, PCOLL_ALLGATHER, 48, 1 << 20);
    struct pcoll_topology *topology;
    int ids[48];

    for (int r = 0; r < 48; r++)
        ids[r] = r / 8;
    if (pcoll_topology_create(ids, NULL, 48, &topology) != PCOLL_OK)
        abort();
    barrier.signature.topology = small.signature.topology = large.signature.topology = topology;
    tap_ok(question_gets(&barrier, "dissemination", "model", NULL), "barrier of 6 nodes");
    tap_ok(question_gets(&small, "bruck", "model", NULL), "short allgather of 6 nodes");
    tap_ok(question_gets(&large, "ring", "model", NULL), "long allgather of 6 nodes");
    pcoll_topology_destroy(topology);
    pcoll_table_destroy(table);
}

/* The model knows the medium inside the nodes. */
static void test_inside_nodes(void)
{
    static const int ids[] = {0, 0, 1, 1};
    struct pcoll_table *table = tables_default();
    struct question inside = question_of(table, PCOLL_BARRIER, 4, 0), alone;
    struct pcoll_topology *topology;

    if (pcoll_topology_create(ids, NULL, 4, &topology) != PCOLL_OK)
        abort();
    inside.signature.topology = topology;
    inside.caps.medium = "ofi_rma";
    alone = inside;
    inside.caps.node_medium = "shm";
    question_ask(&inside);
    question_ask(&alone);
    tap_ok(inside.choice.predicted_us < alone.choice.predicted_us,
           "a barrier is cheaper with shared memory inside the nodes: %g < %g",
           inside.choice.predicted_us, alone.choice.predicted_us);
    pcoll_topology_destroy(topology);
    pcoll_table_destroy(table);
}

/* Each half of a ring that is returned takes a message of every child. */
static void test_ring_between_nodes(const struct pcoll_table *table)
{
    static const int ids[] = {0, 1, 2, 3};
    static const enum pcoll_coll colls[] = {PCOLL_BCAST, PCOLL_GATHER, PCOLL_SCATTER};
    struct pcoll_topology *topology;

    if (pcoll_topology_create(ids, NULL, 4, &topology) != PCOLL_OK)
        abort();
    for (size_t i = 0; i < sizeof(colls) / sizeof(colls[0]); i++) {
        struct question q = question_of(table, colls[i], 4, 8);

        q.signature.topology = topology;
        q.caps.medium = "ofi_rma";
        question_ask(&q);
        tap_ok(q.choice.params.slots > 8, "a short %s between nodes has a long ring",
               pcoll_coll_name(colls[i]));
    }
    pcoll_topology_destroy(topology);
}

/* ---- rails ---- */

static struct question on_rails(const struct pcoll_table *table, const struct pcoll_algorithm *row,
                                uint64_t bytes, int rails, const struct pcoll_topology *topology)
{
    struct question q = question_of(table, row->coll, 8, bytes);

    q.signature.topology = topology;
    q.caps.medium = "ofi_rma";
    q.caps.rails = rails;
    q.hint.algorithm = row->name;
    question_ask(&q);
    return q;
}

/* Each of 3 links carries a third of a long message; a short one gains nothing. */
static void test_rails(void)
{
    static const struct {
        enum pcoll_coll coll;
        const char *name;
    } striped[] = {{PCOLL_BCAST, "chain"},
                   {PCOLL_BCAST, "two_tree"},
                   {PCOLL_BCAST, "trinaryx3"},
                   {PCOLL_BCAST, "kary"},
                   {PCOLL_ALLGATHER, "ring"}};
    static const int ids[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct pcoll_table *table = tables_default();
    struct pcoll_topology *topology;

    if (pcoll_topology_create(ids, NULL, 8, &topology) != PCOLL_OK)
        abort();
    for (size_t i = 0; i < sizeof(striped) / sizeof(striped[0]); i++) {
        const struct pcoll_algorithm *row = pcoll_algorithm_find(striped[i].coll, striped[i].name);
        struct question one = on_rails(table, row, 32 << 20, 1, topology);
        struct question three = on_rails(table, row, 32 << 20, 3, topology);
        struct question few = on_rails(table, row, 1000, 3, topology);
        double share = three.choice.predicted_us / one.choice.predicted_us;

        tap_ok(three.choice.params.rails == 3 && share > 0.3 && share < 0.45,
               "%s: 3 rails take %.2f of the time of 1 for 32 MiB", row->name, share);
        tap_ok(few.choice.params.rails == 1, "%s: 1000 B are not striped", row->name);
    }
    pcoll_topology_destroy(topology);
    pcoll_table_destroy(table);
}

/* ---- where there is nothing to choose ---- */

static void test_unsupported(const struct pcoll_table *table)
{
    const struct question possible = question_of(table, PCOLL_ALLGATHER, 8, 65536);
    struct question q = possible;

    q.caps.provides = NO_RMA;
    q.caps.max_temp = 1000;
    question_ask(&q);
    tap_ok(q.result == PCOLL_UNSUPPORTED && !q.choice.algorithm && !q.message[0],
           "no candidate: unsupported");
    tap_ok(pcoll_choose_refusals(table, &q.signature, &q.caps, NULL) ==
                   (PCOLL_REFUSAL_NO_USER_RMA | PCOLL_REFUSAL_TOO_MUCH_TEMP) &&
               pcoll_choose_refusals(table, &possible.signature, &possible.caps, NULL) == 0,
           "why: no access to user buffers, and too little memory for others");
    q = question_of(table, PCOLL_ALLGATHER, 8, 65536);
    q.caps.medium = "ofi";
    q.hint.algorithm_origin = "MPIR_CVAR_X"; /* which nobody has set */
    question_ask(&q);
    tap_ok(q.result == PCOLL_UNSUPPORTED &&
               strcmp(q.message, "the tuning table: medium 'ofi' is missing\n") == 0,
           "unknown medium: unsupported, with a message");
}

static void test_trivial(const struct pcoll_table *table)
{
    static const struct {
        enum pcoll_coll coll;
        int nranks;
        uint64_t bytes;
    } calls[] = {
        {PCOLL_BARRIER, 1, 0},   {PCOLL_BCAST, 1, 1 << 20},     {PCOLL_BCAST, 8, 0},
        {PCOLL_ALLGATHER, 8, 0}, {PCOLL_ALLGATHER, 1, 1 << 20}, {PCOLL_REDUCE, 8, 0},
        {PCOLL_ALLREDUCE, 8, 0}, {PCOLL_ALLREDUCE, 1, 1 << 20},
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct question q = question_of(table, calls[i].coll, calls[i].nranks, calls[i].bytes);

        q.caps.max_temp = 0;
        q.caps.user_rma_threshold = 0;
        question_ask(&q);
        tap_ok(q.result == PCOLL_OK &&
                   q.choice.predicted_us == pcoll_table_machine(table, "shm")->call &&
                   question_plans_fit(&q),
               "%s of %d ranks, %llu bytes", pcoll_coll_name(calls[i].coll), calls[i].nranks,
               (unsigned long long)calls[i].bytes);
    }
}

/* ---- ranks that share cores ---- */

/* A rank that must forward a short message needs its turn on a core first, and those below it wait
 * so long. */
static void test_no_forwarder(const struct pcoll_table *table)
{
    int flat = 1;

    for (int nranks = 3; nranks <= 33; nranks++) {
        struct question q = question_of(table, PCOLL_BCAST, nranks, 8);

        q.caps.cores = 2;
        question_ask(&q);
        if (strcmp(question_chosen(&q), "shared") != 0 && q.choice.params.radix < nranks) {
            printf("# %d ranks: %s of radix %d\n", nranks, question_chosen(&q),
                   q.choice.params.radix);
            flat = 0;
        }
    }
    tap_ok(flat, "on shared cores no rank forwards a short broadcast");
}

/* ---- the choice depends on its arguments only ---- */

static void test_agreement(const struct pcoll_table *table)
{
    int same = 1;

    for (int i = 0; i < 20; i++) {
        struct question one = question_of(table, PCOLL_BCAST, 64, 1000u << i % 10), other = one;
        char *noise = malloc((size_t)4096 << i % 4);

        question_ask(&one);
        free(noise);
        question_ask(&other);
        same = same && pcoll_choice_same(&one.choice, &other.choice) &&
               one.choice.predicted_us == other.choice.predicted_us;
    }
    tap_ok(same, "the same arguments give the same choice");
}

/* The work is limited, however many ranks there are. */
static void test_work(const struct pcoll_table *table)
{
    enum { MOST = 128 };
    static const int nranks[] = {64, 1000, 65536, 1 << 20};
    static const uint64_t bytes[] = {1, 64, 65536, 64 << 20};
    int few = 1;

    for (int i = 0; i < PCOLL_NUM_COLLS * 4; i++) {
        for (int k = 0; k < 4; k++) {
            struct question q = question_of(table, (enum pcoll_coll)(i % PCOLL_NUM_COLLS),
                                            nranks[k], bytes[i / PCOLL_NUM_COLLS]);

            q.caps.max_temp = UINT64_MAX;
            question_ask(&q);
            few = few && q.result == PCOLL_OK && q.choice.weighed <= MOST;
        }
    }
    tap_ok(few, "the work is limited, however many ranks there are");
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void show_speed(const struct pcoll_table *table)
{
    static const int nranks[] = {64, 1 << 20};
    const int rounds = tap_depth() == TAP_BRIEF ? 10 : 1000;
    int good = 1;

    for (int i = 0; i < PCOLL_NUM_COLLS * 2; i++) {
        struct question q = question_of(table, (enum pcoll_coll)(i % PCOLL_NUM_COLLS),
                                        nranks[i / PCOLL_NUM_COLLS], 8 << 20);
        const double begin = seconds_now();

        q.caps.max_temp = UINT64_MAX;
        for (int round = 0; round < rounds; round++)
            good = pcoll_choose(table, &q.signature, &q.caps, NULL, NULL, &q.choice) == PCOLL_OK &&
                   good;
        printf("# %.2f us for each choice of a long %s on %d ranks, %d candidates\n",
               (seconds_now() - begin) / rounds * 1e6, pcoll_coll_name(q.signature.coll),
               q.signature.nranks, q.choice.weighed);
    }
    tap_ok(good, "choose often");
}

int main(void)
{
    struct pcoll_table *table = tables_default();

    test_paths();
    test_put(table);
    test_readers(table);
    test_saturated();
    test_shared_cores(table);
    test_level();
    test_measured();
    test_own_cache();
    test_long_ring_earns(table);
    test_coop(table);
    test_readers_of_one_buffer(table);
    test_nodes();
    test_inside_nodes();
    test_ring_between_nodes(table);
    test_rails();
    test_unsupported(table);
    test_trivial(table);
    test_no_forwarder(table);
    test_agreement(table);
    test_work(table);
    show_speed(table);
    pcoll_table_destroy(table);
    return tap_done();
}
