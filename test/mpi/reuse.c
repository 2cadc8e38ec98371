/* Inits of calls that have been made before: the plan of a freed request serves them, as
 * ch4_coll/reuse.h says. Buffers, data and the order of free differ each time, and other calls
 * must not get such a plan.
 *
 *   -times=N   N cycles of each collective, in which no memory and no descriptor is lost
 *   -idle=N    the same of inits and frees alone, after which MPI has nothing to wait for
 *   -threads   with MPI_THREAD_MULTIPLE
 *   -none      no plan of a freed request may serve any call, since the settings rule it out
 *   -long      also plans with long rings, which the algorithm `direct` has on two ranks
 *   -only=...  without out-of-place reductions and an alltoallv with several arguments */

#include "trial.h"
#include "usage.h"

enum { SHAPES = 3, CYCLES = 12, PAIRS = 6 };

static MPI_Comm comm;
static struct edges edges;
static int none;

static long long reused(void)
{
    return check_pvar("coll_offload_reused_plans");
}

/* So many plans of freed requests ought to have been taken since then. On one rank, calls in place
 * that differ may move nothing, and be the same. */
static void expect(long long before, int count, const char *what)
{
    const long long taken = reused() - before;

    if (check.size > 1 && taken != (none ? 0 : count))
        check_fail(__FILE__, __LINE__, "%s: %lld plans were taken again instead of %d", what, taken,
                   none ? 0 : count);
}

/* Reductions out of place have an operator of the user. */
static int can_reuse(enum trial_kind kind)
{
    switch (kind) {
        case TRIAL_ALLREDUCE_IN_PLACE:
        case TRIAL_REDUCE_IN_PLACE:
        case TRIAL_REDUCE_SCATTER_IN_PLACE:
        case TRIAL_REDUCE_SCATTER_BLOCK_IN_PLACE:
        case TRIAL_SCAN_IN_PLACE:
        case TRIAL_EXSCAN_IN_PLACE:
            return 1;
        default:
            return !coll_has(trial_coll(kind), REDUCES);
    }
}

/* ---- what moves ---- */

static void begin(struct trial *t, enum trial_kind kind, int shape, int cycle)
{
    static const size_t bytes[SHAPES] = {8, 360, 24};

    trial_init_on(t, kind, bytes[shape], shape % check.size, (uint64_t)shape, comm, &edges,
                  MPI_INFO_NULL);
    t->step = (uint64_t)cycle * 100;
}

/* The buffers of one cycle still exist in the next, so these have others. */
static void shapes_in_turn(enum trial_kind kind)
{
    struct trial t[2 * SHAPES];

    for (int i = 0; i < CYCLES * SHAPES; i++) {
        struct trial *now = &t[i % (2 * SHAPES)];
        const long long before = reused();

        if (i >= 2 * SHAPES)
            trial_free(now);
        begin(now, kind, i % SHAPES, i);
        /* a barrier has one shape, and its plan has been freed since the first cycle */
        if (trial_coll(kind) != COLL_BARRIER && can_reuse(kind))
            expect(before, i >= SHAPES, "shapes in turn");
        trial_run(now, i % 5 == 0 ? 3 : i % 5 == 1 ? 0 : 1);
        MPI(MPI_Request_free(&now->request));
    }
    for (int i = 0; i < 2 * SHAPES; i++)
        trial_free(&t[i]);
}

/* Two requests of a shape at once, which ranks free in different order. */
static void pairs(enum trial_kind kind)
{
    struct trial t[2];

    for (int i = 0; i < PAIRS; i++) {
        const long long before = reused();
        const int first = (check.rank + i) % 2;

        begin(&t[0], kind, 0, i);
        begin(&t[1], kind, 0, i);
        t[1].step += 50;
        if (can_reuse(kind))
            expect(before, i == 0 ? 1 : 2, "pairs");
        trial_start(&t[0]);
        trial_start(&t[1]);
        trial_wait(&t[1]);
        trial_wait(&t[0]);
        trial_run(&t[1], 1); /* or else MPICH would serve the next ones of a rooted collective */
        MPI(MPI_Request_free(&t[first].request));
        MPI(MPI_Request_free(&t[1 - first].request));
        trial_free(&t[0]);
        trial_free(&t[1]);
    }
}

/* At the second init some ranks have not freed the first request yet, so there must be a new plan;
 * the third one takes that. */
static void some_too_late(enum trial_kind kind)
{
    struct trial t[3];
    long long before;

    begin(&t[0], kind, 1, 1);
    trial_run(&t[0], 1);
    before = reused();
    if (check.rank % 2 == 0)
        MPI(MPI_Request_free(&t[0].request));
    begin(&t[1], kind, 1, 2);
    trial_run(&t[1], 2);
    if (can_reuse(kind))
        expect(before, 0, "some too late");
    if (check.rank % 2 == 1)
        MPI(MPI_Request_free(&t[0].request));
    MPI(MPI_Request_free(&t[1].request));
    begin(&t[2], kind, 1, 3);
    trial_run(&t[2], 1);
    if (can_reuse(kind))
        expect(before, 1, "some too late, and then none");
    for (int i = 0; i < 3; i++)
        trial_free(&t[i]);
}

static void with_each_kind(void (*cycles)(enum trial_kind kind), const char *how)
{
    for (int i = 0; i < TRIAL_KINDS; i++) {
        const enum trial_kind kind = (enum trial_kind)i;

        if (!trial_wanted(kind))
            continue;
        check_phase("%s, %s", trial_name(kind), how);
        comm = topology_any(MPI_COMM_WORLD, (uint64_t)i, &edges);
        cycles(kind);
        MPI(MPI_Comm_free(&comm));
    }
}

static void all_cycles(enum trial_kind kind)
{
    some_too_late(kind);
    MPI(MPI_Comm_free(&comm));
    comm = topology_any(MPI_COMM_WORLD, (uint64_t)kind, &edges);
    shapes_in_turn(kind);
    pairs(kind);
}

/* ---- what reduces, out of place ---- */

enum { ROOM = 64 };

enum reduction {
    ALLREDUCE,
    REDUCE,
    SCAN,
    EXSCAN,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    REDUCTIONS
};

static void init_reduction(enum reduction which, const int *in, int *out, int count, MPI_Op op,
                           MPI_Datatype type, int root, MPI_Request *request)
{
    int counts[64];

    for (int r = 0; r < check.size; r++)
        counts[r] = count;
    if (which == ALLREDUCE)
        MPI(MPI_Allreduce_init(in, out, count, type, op, comm, MPI_INFO_NULL, request));
    else if (which == REDUCE)
        MPI(MPI_Reduce_init(in, out, count, type, op, root, comm, MPI_INFO_NULL, request));
    else if (which == SCAN)
        MPI(MPI_Scan_init(in, out, count, type, op, comm, MPI_INFO_NULL, request));
    else if (which == EXSCAN)
        MPI(MPI_Exscan_init(in, out, count, type, op, comm, MPI_INFO_NULL, request));
    else if (which == REDUCE_SCATTER)
        MPI(MPI_Reduce_scatter_init(in, out, counts, type, op, comm, MPI_INFO_NULL, request));
    else
        MPI(MPI_Reduce_scatter_block_init(in, out, count, type, op, comm, MPI_INFO_NULL, request));
}

static int value_of(int rank, int i, int cycle)
{
    return rank * 1000 + i * 7 + cycle % 1000 - 500;
}

/* Element i of what ranks 0 .. last contribute. */
static int result_of(MPI_Op op, int last, int i, int cycle)
{
    int result = value_of(0, i, cycle);

    for (int r = 1; r <= last; r++) {
        const int value = value_of(r, i, cycle);

        if (op == MPI_SUM)
            result += value;
        else
            result = value > result ? value : result;
    }
    return result;
}

static void check_reduction(enum reduction which, const int *out, int count, MPI_Op op, int root,
                            int cycle)
{
    const int last = which == SCAN ? check.rank : which == EXSCAN ? check.rank - 1 : check.size - 1;
    const int first = which >= REDUCE_SCATTER ? check.rank * count : 0;

    if (last < 0 || (which == REDUCE && check.rank != root))
        return;
    for (int i = 0; i < count; i++)
        if (out[i] != result_of(op, last, first + i, cycle))
            check_fail(__FILE__, __LINE__, "reduction %d, cycle %d: element %d is %d instead of %d",
                       which, cycle, i, out[i], result_of(op, last, first + i, cycle));
}

/* One cycle at an offset into the memory, which differs from the last one's. */
static void one_reduction(enum reduction which, int count, MPI_Op op, int root, int cycle)
{
    const int sent = which >= REDUCE_SCATTER ? count * check.size : count;
    int *in = check_alloc((size_t)(sent + ROOM) * sizeof(*in)), *mine = in + cycle % ROOM;
    int *out = check_alloc((size_t)(count + ROOM) * sizeof(*out)), *result = out + cycle * 5 % ROOM;
    MPI_Request request;

    init_reduction(which, mine, result, count, op, MPI_INT, root, &request);
    for (int i = 0; i < sent; i++)
        mine[i] = value_of(check.rank, i, cycle);
    check_poison(out, (size_t)(count + ROOM) * sizeof(*out));
    MPI(MPI_Start(&request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_reduction(which, result, count, op, root, cycle);
    MPI(MPI_Request_free(&request));
    check_free(in);
    check_free(out);
}

/* Each differs from all before in one argument. */
static void reductions(void)
{
    comm = MPI_COMM_WORLD;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int k = 0; k < REDUCTIONS; k++) {
        const enum reduction which = (enum reduction)k;
        const int is_rooted = which == REDUCE && check.size > 1;
        long long before = reused();

        check_phase("reduction %d", which);
        one_reduction(which, 5, MPI_SUM, 0, 1);
        one_reduction(which, 5, MPI_MAX, 0, 2);
        one_reduction(which, 6, MPI_SUM, 0, 3);
        if (is_rooted)
            one_reduction(which, 5, MPI_SUM, 1, 4);
        expect(before, 0, "new reductions");
        before = reused();
        one_reduction(which, 6, MPI_SUM, 0, 5);
        one_reduction(which, 5, MPI_MAX, 0, 6);
        one_reduction(which, 5, MPI_SUM, 0, 7);
        if (is_rooted)
            one_reduction(which, 5, MPI_SUM, 1, 8);
        expect(before, 3 + is_rooted, "known reductions");
    }
    MPI(MPI_Comm_free(&comm));
}

/* ---- what must not match, and active requests that are freed ---- */

static int has_arrived(const volatile int *out, int count, int gap)
{
    for (int i = 0; i < check.size * (count + gap); i++)
        if (i % (count + gap) < count && out[i] == -1)
            return 0;
    return 1;
}

static void alltoallv(int count, int gap, int cycle, int frees_active)
{
    enum { ROOMS = 4096 };
    static int send[2][ROOMS], receive[2][ROOMS];
    int counts[64], displs[64], *in = send[cycle % 2], *out = receive[cycle % 2];
    MPI_Request request;

    for (int r = 0; r < check.size; r++) {
        counts[r] = count;
        displs[r] = r * (count + gap);
    }
    for (int i = 0; i < ROOMS; i++) {
        in[i] = check.rank * 100000 + i * 10 + cycle % 10;
        out[i] = -1;
    }
    MPI(MPI_Alltoallv_init(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm,
                           MPI_INFO_NULL, &request));
    MPI(MPI_Start(&request));
    if (frees_active) {
        MPI(MPI_Request_free(&request));
        while (!has_arrived(out, count, gap))
            MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &(int){0},
                           MPI_STATUS_IGNORE));
    } else {
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < check.size * (count + gap) - gap; i++) {
        const int r = i / (count + gap), k = i % (count + gap);
        const int value = r * 100000 + (check.rank * (count + gap) + k) * 10 + cycle % 10;

        if (out[i] != (k < count ? value : -1))
            check_fail(__FILE__, __LINE__, "alltoallv, cycle %d: element %d is %d", cycle, i,
                       out[i]);
    }
    if (!frees_active)
        MPI(MPI_Request_free(&request));
}

static void other_arguments(void)
{
    long long before = reused();

    check_phase("alltoallv with other arguments");
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    alltoallv(10, 0, 0, 0);
    alltoallv(11, 0, 1, 0);
    alltoallv(10, 1, 2, 0);
    expect(before, 0, "other arguments");
    before = reused();
    alltoallv(10, 0, 3, 0);
    alltoallv(10, 1, 4, 0);
    alltoallv(11, 0, 5, 0);
    expect(before, 3, "the same arguments");
    for (int cycle = 6; cycle < 40; cycle++)
        alltoallv(10, cycle % 2, cycle, cycle % 3 == 0);
    MPI(MPI_Comm_free(&comm));
}

/* Ranks and bytes are the same, and yet it is another call. */
static void in_place_or_not(void)
{
    static const enum trial_kind kinds[][2] = {{TRIAL_ALLGATHER, TRIAL_ALLGATHER_IN_PLACE},
                                               {TRIAL_GATHER, TRIAL_GATHER_IN_PLACE},
                                               {TRIAL_SCATTER, TRIAL_SCATTER_IN_PLACE}};

    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (int i = 0; i < 4; i++) {
            struct trial t;

            check_phase("%s, one after the other", trial_name(kinds[k][i % 2]));
            trial_init(&t, kinds[k][i % 2], 40, 0, 1, comm, MPI_INFO_NULL);
            t.step = (uint64_t)i * 100;
            trial_run(&t, 2);
            trial_free(&t);
        }
    MPI(MPI_Comm_free(&comm));
}

static void one_scatter(const int *counts, int cycle)
{
    static int in[64 * 8], out[2][8];
    int *result = out[cycle % 2], first = 0, sum = 0;
    MPI_Request request;

    for (int r = 0; r < check.size; sum += counts[r++])
        first += r < check.rank ? counts[r] : 0;
    MPI(MPI_Reduce_scatter_init(in, result, counts, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                                &request));
    for (int i = 0; i < sum; i++)
        in[i] = value_of(check.rank, i, cycle);
    check_poison(result, sizeof(out[0]));
    MPI(MPI_Start(&request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < counts[check.rank]; i++)
        if (result[i] != result_of(MPI_SUM, check.size - 1, first + i, cycle))
            check_fail(__FILE__, __LINE__, "blocks, cycle %d: element %d is %d", cycle, i,
                       result[i]);
    MPI(MPI_Request_free(&request));
}

/* The largest block is the same, and the others are not. */
static void other_blocks(void)
{
    int counts[2][64];

    check_phase("reduce_scatter with other blocks");
    for (int r = 0; r < check.size; r++) {
        counts[0][r] = 6 - r % 3;
        counts[1][r] = 4 + r % 3;
    }
    counts[0][0] = counts[1][check.size - 1] = 6;
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int cycle = 0; cycle < 6; cycle++)
        one_scatter(counts[cycle % 2], cycle);
    MPI(MPI_Comm_free(&comm));
}

/* Of twenty plans, the first one has not been kept, and all of the last four have. */
static void few_are_kept(void)
{
    enum { PLANS = 20, LAST = 4 };
    long long before;

    check_phase("twenty shapes");
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < PLANS; i++)
        one_reduction(ALLREDUCE, 1 + i, MPI_SUM, 0, i);
    before = reused();
    for (int i = PLANS - LAST; i < PLANS; i++)
        one_reduction(ALLREDUCE, 1 + i, MPI_SUM, 0, i);
    expect(before, LAST, "the last shapes");
    before = reused();
    one_reduction(ALLREDUCE, 1, MPI_SUM, 0, 1);
    expect(before, 0, "the first shape");
    MPI(MPI_Comm_free(&comm));
}

/* On two ranks each of these plans has a ring of 2 MiB. */
static void long_ones(void)
{
    enum { PLANS = 3, COUNT = 16384 };
    long long before;

    check_phase("long rings");
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < PLANS; i++)
        one_reduction(ALLREDUCE, COUNT - i, MPI_SUM, 0, i);
    before = reused();
    for (int i = 0; i < PLANS; i++)
        one_reduction(ALLREDUCE, COUNT - i, MPI_SUM, 0, i + 1);
    expect(before, PLANS, "long rings");
    MPI(MPI_Comm_free(&comm));
}

/* ---- nothing is lost ---- */

enum { WARM_UP = 500, ALLOWED_KIB = 512 };

static long times;

/* Compares with what the process used at the end of the warm-up. */
static void check_usage(int cycle)
{
    static long kib;
    static int descriptors;

    if (cycle == WARM_UP) {
        kib = usage_resident_kib();
        descriptors = usage_descriptors();
    } else if (cycle == times + WARM_UP) {
        CHECK(usage_descriptors() <= descriptors);
        if (usage_resident_kib() > kib + ALLOWED_KIB)
            check_fail(__FILE__, __LINE__, "%ld KiB more after %ld cycles",
                       usage_resident_kib() - kib, times);
    }
}

static void many(enum trial_kind kind)
{
    for (int i = 0; i < times + WARM_UP; i++) {
        struct trial t;

        begin(&t, kind, i % SHAPES, i);
        check_usage(i);
        trial_start(&t);
        trial_wait(&t);
        trial_free(&t);
        check_progress();
    }
    check_usage((int)times + WARM_UP);
}

static void never_started(MPI_Comm parent, const char *name)
{
    const long long before = reused();
    MPI_Request request;
    long long taken;
    int in, out;

    check_phase("inits and frees on %s", name);
    MPI(MPI_Comm_dup(parent, &comm));
    for (int i = 0; i < times + WARM_UP; i++) {
        check_usage(i);
        init_reduction(ALLREDUCE, &in, &out, 1, MPI_SUM, MPI_INT, 0, &request);
        MPI(MPI_Request_free(&request));
    }
    check_usage((int)times + WARM_UP);
    taken = reused() - before;
    if (taken != times + WARM_UP - 1)
        check_fail(__FILE__, __LINE__, "%lld plans were taken again in %ld inits", taken,
                   times + WARM_UP);
    MPI(MPI_Comm_free(&comm));
}

static void all(void)
{
    with_each_kind(all_cycles, "in turn");
    if (!check_option("only")) {
        reductions();
        other_arguments();
        in_place_or_not();
        other_blocks();
        few_are_kept();
    }
    if (check_option("long"))
        long_ones();
}

int main(int argc, char **argv)
{
    int level = MPI_THREAD_SINGLE;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-threads") == 0)
            level = MPI_THREAD_MULTIPLE;
    check_init(&argc, &argv, level);
    none = check_option("none") != NULL;
    times = check_number("idle", 0);
    if (times > 0) {
        never_started(MPI_COMM_SELF, "MPI_COMM_SELF");
        never_started(MPI_COMM_WORLD, "MPI_COMM_WORLD");
        return check_done();
    }
    times = check_number("times", 0);
    if (times > 0)
        with_each_kind(many, "many times");
    else
        all();
    return check_done();
}
