/* The resources that any rank's plan needs at 8, 64 and 512 ranks: counters, also lowered; entries,
 * state and messages at init (one to each neighbor), which grow at most as log N. */
#include <stdlib.h>

#include "algorithms/lower/lower.h"
#include "test/unit/tap.h"

#define MESSAGE (1 << 20)

enum { SIZES = 3 };

static const int sizes[SIZES] = {8, 64, 512}, log2_of[SIZES] = {3, 6, 9};

static const struct row {
    enum pcoll_coll coll;
    const char *name;
    uint64_t bytes;
    int counters; /* on a medium with weights, for any N; in two banks, except for pipelines */
    int lowered[SIZES]; /* on a medium that can only add 1 */
    int neighbors[SIZES];
} rows[] = {
    {PCOLL_BARRIER, "butterfly", 0, 2, {6, 12, 18}, {3, 6, 9}},
    {PCOLL_BARRIER, "dissemination", 0, 2, {6, 12, 18}, {5, 11, 17}},
    {PCOLL_ALLGATHER, "butterfly", 8, 2, {8, 14, 20}, {3, 6, 9}},
    {PCOLL_ALLGATHER, "bruck", 8, 2, {6, 12, 18}, {5, 11, 17}},
    {PCOLL_BCAST, "knomial_put", MESSAGE, 2, {2, 2, 2}, {3, 6, 9}},
    {PCOLL_BCAST, "two_tree", MESSAGE, 2, {3, 3, 3}, {4, 4, 4}},
    {PCOLL_BCAST, "trinaryx3", MESSAGE, 3, {6, 6, 6}, {3, 6, 6}},
};

/* The maximum over all ranks. */
struct most {
    int counters, lowered, entries, neighbors;
    int state; /* bytes, without communication buffers */
};

static void raise_to(int *most, int value)
{
    *most = value > *most ? value : *most;
}

static void look_at(const struct row *row, int nranks, int rank, struct most *most)
{
    const struct pcoll_algorithm *algorithm = pcoll_algorithm_find(row->coll, row->name);
    const struct pcoll_signature signature = {
        .coll = row->coll, .nranks = nranks, .bytes = row->bytes};
    const struct pcoll_params params = {0};
    struct pcoll_account account;
    struct pcoll_plan *plan;

    if (pcoll_generate(algorithm, &signature, NULL, rank, &params, &plan) != PCOLL_OK)
        abort();
    account = pcoll_plan_account(plan);
    raise_to(&most->counters, plan->ncounters);
    raise_to(&most->entries, plan->nentries);
    raise_to(&most->neighbors, plan->nneighbors);
    raise_to(&most->state, (int)(account.state_bytes - account.temp_bytes));
    if (pcoll_lower(algorithm, &params, &plan) != PCOLL_OK)
        abort();
    raise_to(&most->lowered, plan->ncounters);
    pcoll_plan_destroy(plan);
}

static void check(const struct row *row, int size)
{
    const int rounds = log2_of[size];
    struct most most = {0};

    for (int rank = 0; rank < sizes[size]; rank++)
        look_at(row, sizes[size], rank, &most);
    tap_ok(most.counters == row->counters && most.lowered == row->lowered[size] &&
               most.neighbors == row->neighbors[size] && most.entries <= 4 * rounds + 8 &&
               most.state <= 160 * most.entries + 400,
           "%s %s of %d ranks: %d counters (lowered %d), %d entries, %d neighbors, %d bytes",
           pcoll_coll_name(row->coll), row->name, sizes[size], most.counters, most.lowered,
           most.entries, most.neighbors, most.state);
}

/* However many segments a message has, the counters are the same. */
static void check_segments(void)
{
    const struct pcoll_signature signature = {
        .coll = PCOLL_BCAST, .nranks = 27, .bytes = 128 << 20};

    for (uint64_t segment = 1 << 16; segment <= 1 << 22; segment *= 8) {
        const struct pcoll_params params = {.segment = segment};
        struct pcoll_plan *plan;

        if (pcoll_generate(pcoll_algorithm_find(PCOLL_BCAST, "trinaryx3"), &signature, NULL, 5,
                           &params, &plan) != PCOLL_OK)
            abort();
        tap_ok(plan->ncounters == 3, "trinaryx3: 128 MiB in segments of %d KiB: 3 counters",
               (int)(segment >> 10));
        pcoll_plan_destroy(plan);
    }
}

int main(void)
{
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        for (int size = 0; size < SIZES; size++)
            check(&rows[row], size);
    check_segments();
    return tap_done();
}
