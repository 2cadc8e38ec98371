/* Which calls the model sends through communication buffers in the caches, with what `cached` and
 * `cache` of a tuning table say. */
#include "tuning/choose.h"

#include <stdlib.h>

#include "algorithms/cost.h"
#include "test/unit/question.h"
#include "test/unit/tables.h"
#include "test/unit/tap.h"

static enum pcoll_path path_of(struct question *q)
{
    question_ask(q);
    return q->choice.params.path;
}

/* Each condition alone decides: at most 3 MiB of user buffers in all, a core for each rank, one
 * node, a common cache, and few communication buffers. */
static void test_caches(void)
{
    static const int ids[] = {0, 1};
    struct pcoll_table *table = tables_good("cached");
    struct question near = question_of(table, PCOLL_BCAST, 2, 384 << 10), other;
    struct pcoll_topology *topology;

    near.caps.level = PCOLL_LEVEL_SAME_CACHE;
    near.caps.cores = 2;
    other = near;
    tap_ok(path_of(&near) == PCOLL_PATH_TEMP, "ranks with caches copy");
    other.signature.bytes++;
    tap_ok(path_of(&other) == PCOLL_PATH_USER, "not what exceeds the caches");
    other = near;
    other.signature.coll = PCOLL_ALLGATHER;
    tap_ok(path_of(&other) == PCOLL_PATH_TEMP, "also through few buffers that are far");
    other.caps.max_temp = 767 << 10;
    tap_ok(path_of(&other) == PCOLL_PATH_USER, "but not through two that are written again soon");
    other = near;
    other.caps.mapped = 1;
    tap_ok(path_of(&other) == PCOLL_PATH_USER, "nor what is mapped anyway");
    other = near;
    other.caps.cores = 1;
    tap_ok(path_of(&other) == PCOLL_PATH_USER, "nor do ranks that share a core");
    other.caps.cores = 2;
    other.caps.level = PCOLL_LEVEL_OTHER_CACHE;
    tap_ok(path_of(&other) == PCOLL_PATH_USER, "nor without a common cache");
    if (pcoll_topology_create(ids, NULL, 2, &topology) != PCOLL_OK)
        abort();
    other.signature.topology = near.signature.topology = topology;
    near.caps.provides = other.caps.provides = NO_RMA;
    other.caps.level = PCOLL_LEVEL_ANY;
    tap_ok(path_of(&near) == path_of(&other) &&
               near.choice.predicted_us == other.choice.predicted_us,
           "on two nodes the caches make no difference");
    pcoll_topology_destroy(topology);
    pcoll_table_destroy(table);
}

/* What two ranks read and write: M each in a broadcast, M and 2 M in an allgather, 2 M and 2 M in
 * an alltoall, M and M in a reduction, and each of three edges of M twice. Those of roots count
 * four times. */
static void test_touched(void)
{
    static const struct {
        enum pcoll_coll coll;
        int degree;
        uint64_t blocks; /* 3 MiB / blocks are the largest with `cache` 3 */
    } calls[] = {
        {PCOLL_BCAST, 0, 8},     {PCOLL_GATHER, 0, 24},    {PCOLL_SCATTER, 0, 24},
        {PCOLL_ALLGATHER, 0, 6}, {PCOLL_ALLTOALL, 0, 8},   {PCOLL_ALLTOALLV, 0, 8},
        {PCOLL_GATHERV, 0, 32},  {PCOLL_ALLGATHERV, 0, 8}, {PCOLL_NEIGHBOR_ALLTOALL, 3, 12},
        {PCOLL_ALLREDUCE, 0, 4}, {PCOLL_REDUCE, 0, 16}};
    struct pcoll_table *table = tables_good("cached");
    const struct pcoll_machine *machine = pcoll_table_level(table, "shm", PCOLL_LEVEL_SAME_CACHE);

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        const uint64_t most = (3 << 20) / calls[i].blocks;
        struct question q = question_of(table, calls[i].coll, 2, most);

        q.signature.degree = calls[i].degree;
        q.signature.in_volume = q.signature.out_volume = (uint64_t)calls[i].degree * most;
        tap_ok(pcoll_cost_cached(&q.signature, machine).copy == machine->cached,
               "%s of %llu B stays in the caches", pcoll_coll_name(calls[i].coll),
               (unsigned long long)most);
        q.signature.bytes++;
        q.signature.in_volume += (uint64_t)calls[i].degree;
        tap_ok(pcoll_cost_cached(&q.signature, machine).copy == machine->copy, "but no more");
    }
    pcoll_table_destroy(table);
}

/* Ranks of an alltoall of 4 blocks of 256 KiB touch 2 MiB; beside them the cache of a core has to
 * hold a buffer of 768 KiB. */
static void test_kept(void)
{
    const struct pcoll_machine fits = {.copy = 3, .cached = 2, .kept = 1, .own = 2.75},
                               too_long = {.copy = 3, .cached = 2, .kept = 1, .own = 2.74},
                               shared = {.copy = 3,
                                         .cached = 2,
                                         .kept = 1,
                                         .own = 2.75,
                                         .cores = 3},
                               twice = {.copy = 3, .cached = 2, .kept = 1, .own = 4.75, .cores = 2};
    const struct pcoll_signature alltoall = {
        .coll = PCOLL_ALLTOALL, .nranks = 4, .bytes = 256 << 10};

    tap_ok(pcoll_cost_kept(&alltoall, &fits) == 1, "kept blocks in a cache of one core");
    tap_ok(pcoll_cost_kept(&alltoall, &too_long) == 2, "which must be long enough");
    tap_ok(pcoll_cost_kept(&alltoall, &shared) == 2 && pcoll_cost_kept(&alltoall, &twice) == 1,
           "for all ranks of the core");
}

/* A ring has at least eight buffers, which hold a segment. */
static void test_large_buffers(void)
{
    struct pcoll_table *table = tables_good("cached");
    struct question q = question_of(table, PCOLL_BCAST, 2, 1 << 20), slow;

    q.hint.algorithm = "eager";
    q.hint.segment = 128 << 10;
    slow = q;
    q.caps.level = PCOLL_LEVEL_OTHER_SOCKET;
    question_ask(&q);
    question_ask(&slow);
    tap_ok(q.choice.predicted_us < slow.choice.predicted_us / 10, "1 MiB stays in the caches");
    q.hint.segment = slow.hint.segment = 512 << 10;
    question_ask(&q);
    question_ask(&slow);
    tap_ok(q.choice.predicted_us == slow.choice.predicted_us, "4 MiB do not");
    pcoll_table_destroy(table);
}

/* How much longer a call with blocks of 1 MiB takes than one with slightly shorter blocks. */
static double step(struct question q)
{
    struct question shorter = q;

    shorter.signature.bytes -= 64;
    question_ask(&q);
    question_ask(&shorter);
    return q.choice.predicted_us / shorter.choice.predicted_us;
}

/* Blocks in one piece that are as long as a core's own cache have left it when they are copied
 * again. */
static void test_evicted(void)
{
    static const struct pcoll_machine measured = {.own = 1};
    struct pcoll_table *table = tables_good("cached");
    struct question q = question_of(table, PCOLL_ALLTOALL, 2, 1 << 20), other;

    q.caps.provides = NO_RMA;
    q.caps.cores = 2;
    q.caps.measured = &measured;
    q.hint.algorithm = "bruck";
    tap_ok(step(q) > 1.9 && step(q) < 2.1, "a block of 1 MiB leaves a cache of 1 MiB");
    other = q;
    other.caps.measured = NULL;
    tap_ok(step(other) < 1.1, "but not one of unknown size");
    other = q;
    other.caps.cores = 1;
    tap_ok(step(other) < 1.1, "nor where ranks share a core");
    other = q;
    other.hint.algorithm = "direct";
    other.hint.segment = 512 << 10;
    tap_ok(step(other) < 1.1, "nor in segments");
    pcoll_table_destroy(table);
}

int main(void)
{
    test_caches();
    test_touched();
    test_kept();
    test_large_buffers();
    test_evicted();
    return tap_done();
}
