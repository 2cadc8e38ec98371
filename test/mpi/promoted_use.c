/* What ordinary calls that plans serve use: memory, shared memory, descriptors.
 *
 *   -comms=N (0)      communicators, created, used and freed one after the other, and 240 calls for
 *                     each of them: nothing may grow
 *   -times=N (0)      calls on one communicator: nothing may grow
 *   -many=N (0)       communicators that are used in turn, each until it has plans
 *   -after=N (0)      plans must come at the first barrier after N calls, which is
 *                     PCOLL_TEST_PROMOTE_AFTER, or, without one, after as many calls again
 *   -rare             calls of many lengths must leave room for those of one that come later
 *   -none             nothing must be promoted
 */

#include "check.h"
#include "usage.h"

/* Six calls; `i` tells what they deliver. */
static void call_each(MPI_Comm comm, int i)
{
    enum { LONGS = 1024 };
    static char bytes[1024];
    static long vectors[2][LONGS], sums[LONGS];
    long *const vector = vectors[i % 2]; /* a plan of its length works on it */
    const int root = i % 2 % check.size, n = check.size, length = i % 3 == 0 ? 1024 : 64;
    long in = check.rank + i, out = -1, all = -1;
    double largest = -1, own = check.rank == root ? i : -2;

    memset(bytes, check.rank == root ? i : ~i, (size_t)length);
    MPI(MPI_Barrier(comm));
    MPI(MPI_Bcast(bytes, length, MPI_BYTE, root, comm));
    MPI(MPI_Reduce(&in, &out, 1, MPI_LONG, MPI_SUM, root, comm));
    MPI(MPI_Allreduce(&in, &all, 1, MPI_LONG, MPI_SUM, comm));
    MPI(MPI_Allreduce(&own, &largest, 1, MPI_DOUBLE, MPI_MAX, comm));
    vector[0] = vector[LONGS - 1] = in;
    sums[0] = sums[LONGS - 1] = -1;
    MPI(MPI_Allreduce(vector, sums, LONGS, MPI_LONG, MPI_SUM, comm));
    CHECK(sums[0] == all && sums[LONGS - 1] == all);
    CHECK(bytes[0] == (char)i && bytes[length - 1] == (char)i);
    CHECK(all == (long)n * i + n * (n - 1) / 2 && (check.rank != root || out == all));
    CHECK(largest == i);
}

struct usage {
    long resident_kib, shared_kib;
    int descriptors;
};

static struct usage usage_now(void)
{
    return (struct usage){usage_resident_kib(), (long)(usage_shared_bytes() / 1024),
                          usage_descriptors()};
}

/* `extra`: KiB that may come on top. */
static void must_be_flat(const struct usage *before, int extra)
{
    const struct usage after = usage_now();

    check_note("resident, shared KiB, descriptors: %ld, %ld, %d, then %ld, %ld, %d",
               before->resident_kib, before->shared_kib, before->descriptors, after.resident_kib,
               after.shared_kib, after.descriptors);
    CHECK(after.resident_kib <= before->resident_kib + 2048 + extra);
    CHECK(after.shared_kib <= before->shared_kib + 2048);
    CHECK(after.descriptors <= before->descriptors + 2);
}

/* After a quarter of the communicators everything has reached its final size. */
static void stay_flat(int comms)
{
    enum { OF_EACH = 20 };
    struct usage before = usage_now();
    MPI_Comm lasting;

    check_phase("%d communicators, one after the other", comms);
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &lasting));
    for (int i = 0; i < comms && check.errors == 0; i++) {
        MPI_Comm comm;

        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int k = 0; k < OF_EACH; k++) {
            call_each(comm, i + k);
            call_each(lasting, i + k);
        }
        MPI(MPI_Comm_free(&comm));
        if (i == comms / 4)
            before = usage_now();
        check_progress();
    }
    MPI(MPI_Comm_free(&lasting));
    must_be_flat(&before, comms / 8);
}

/* After half of the calls all plans exist. */
static void call_often(long times)
{
    enum { CALLS = 6 };
    struct usage before = usage_now();
    const long long promoted = check_pvar("coll_offload_promoted_calls");

    check_phase("%ld calls on a communicator", times);
    for (long i = 0; i < times / CALLS && check.errors == 0; i++) {
        call_each(MPI_COMM_WORLD, (int)i);
        if (i == times / CALLS / 2)
            before = usage_now();
        check_progress();
    }
    check_note("of %ld calls, %lld were promoted", times,
               check_pvar("coll_offload_promoted_calls") - promoted);
    must_be_flat(&before, 0);
}

/* The handles of the same communicator differ: how often each rank finds the count of another one
 * in its place does, too. */
static void use_many(int comms)
{
    enum { TIMES = 30 };
    MPI_Comm *own = calloc((size_t)check.rank + 1, sizeof(*own)),
             *shared = calloc((size_t)comms, sizeof(*shared));
    const long long promoted = check_pvar("coll_offload_promoted_calls");

    check_phase("%d communicators in turn", comms);
    for (int i = 0; i < check.rank; i++)
        MPI(MPI_Comm_dup(MPI_COMM_SELF, &own[i]));
    for (int i = 0; i < comms; i++)
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &shared[i]));
    for (int k = 0; k < TIMES && check.errors == 0; k++)
        for (int i = 0; i < comms; i++) {
            call_each(shared[i], i + k);
            check_progress();
        }
    for (int i = 0; i < comms; i++)
        MPI(MPI_Comm_free(&shared[i]));
    for (int i = 0; i < check.rank; i++)
        MPI(MPI_Comm_free(&own[i]));
    free(own);
    free(shared);
    check_note("%lld calls have been promoted",
               check_pvar("coll_offload_promoted_calls") - promoted);
}

/* How many of `times` calls that are no barriers are promoted. */
static long long promoted_of(int times, MPI_Comm comm)
{
    const long long before = check_pvar("coll_offload_promoted_calls");

    for (int i = 0; i < times; i++) {
        int in = check.rank + i, out = -1;

        MPI(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MAX, comm));
        CHECK(out == check.size - 1 + i);
    }
    return check_pvar("coll_offload_promoted_calls") - before;
}

static void await_barrier(int after)
{
    MPI_Comm comm;

    check_phase("a barrier after %d calls", after);
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK(promoted_of(after + 1, comm) == 0);
    MPI(MPI_Barrier(comm));
    CHECK(promoted_of(2, comm) == 2);
    MPI(MPI_Comm_free(&comm));

    check_phase("no barrier after %d calls", after);
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Barrier(comm));
    CHECK(promoted_of(2 * after - 1, comm) == 0);
    CHECK(promoted_of(2, comm) == 2);
    MPI(MPI_Comm_free(&comm));
}

static void call_rarely(void)
{
    enum { TIMES = 20000, LENGTHS = 90, FIRST = 600, HOT = 2048 };
    static long in[HOT], out[HOT];
    long long before;
    MPI_Comm comm;

    check_phase("%d calls of %d lengths, then of one", TIMES, LENGTHS);
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK(promoted_of(TIMES, comm) > 0);
    for (int i = 0; i < TIMES; i++)
        MPI(MPI_Allreduce(in, out, FIRST + i % LENGTHS, MPI_LONG, MPI_MAX, comm));
    before = check_pvar("coll_offload_promoted_calls");
    for (int i = 0; i < TIMES; i++) {
        in[0] = in[HOT - 1] = check.rank + i;
        MPI(MPI_Allreduce(in, out, HOT, MPI_LONG, MPI_MAX, comm));
        CHECK(out[0] == check.size - 1 + i && out[HOT - 1] == out[0]);
        if (i % 1000 == 0)
            check_progress();
    }
    CHECK(check_pvar("coll_offload_promoted_calls") - before > TIMES / 2);
    MPI(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (check_option("comms"))
        stay_flat((int)check_number("comms", 0));
    if (check_option("times"))
        call_often(check_number("times", 0));
    if (check_option("many"))
        use_many((int)check_number("many", 0));
    if (check_option("after"))
        await_barrier((int)check_number("after", 0));
    if (check_option("rare"))
        call_rarely();
    check_note("%lld calls have been promoted", check_pvar("coll_offload_promoted_calls"));
    if (check_option("none"))
        CHECK(check_pvar("coll_offload_promoted_calls") == 0);
    return check_done();
}
