/* What init costs one rank of N, N up to 2^20: the messages and bytes of its agreements, by the
 * code that makes them, and the bytes of its plan.  Its peers are made up: they send zeros. */
#include "algorithms/algorithm.h"
#include "algorithms/lower/lower.h"
#include "offload/bootstrap.h"
#include "test/unit/tap.h"

#include <string.h>

struct count {
    uint64_t messages, bytes;
};

static enum pcoll_result count_swap(void *context, const int *ranks, int n, const void *mine,
                                    void *theirs, size_t bytes)
{
    struct count *count = context;

    (void)ranks, (void)mine;
    count->messages += (uint64_t)n;
    count->bytes += (uint64_t)n * bytes;
    memset(theirs, 0, (size_t)n * bytes);
    return PCOLL_OK;
}

struct rank {
    struct pcoll_bootstrap bootstrap;
    struct pcoll_circle circle;
};

static enum pcoll_result combine(void *context, uint64_t *words, int n)
{
    struct rank *rank = context;

    return pcoll_combine_by_swap(&rank->bootstrap, &rank->circle, words, n);
}

/* The proposal, then whether all can, are ready, are connected: as ch4_coll and ofi_rma do. */
static int count_agreements(int nranks, struct count *count)
{
    struct rank rank = {
        .bootstrap = {.rank = nranks / 3, .nranks = nranks, .context = count, .swap = count_swap},
        .circle = {.mine = nranks / 3, .nranks = nranks},
    };
    const struct pcoll_bootstrap bootstrap = {
        .rank = nranks / 3, .nranks = nranks, .context = &rank, .combine = combine};
    uint64_t proposal[10] = {0}, needs[3] = {0};

    return combine(&rank, proposal, 10) == PCOLL_OK &&
           pcoll_agree(&bootstrap, PCOLL_OK, needs, 3) == PCOLL_OK &&
           pcoll_agree(&bootstrap, PCOLL_OK, NULL, 0) == PCOLL_OK &&
           pcoll_agree(&bootstrap, PCOLL_OK, NULL, 0) == PCOLL_OK;
}

/* Bytes of the barrier plan of a rank, lowered too, and its neighbors. */
static uint64_t plan_bytes(int nranks, int lowered, int *neighbors)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(PCOLL_BARRIER, "dissemination");
    const struct pcoll_signature signature = {.coll = PCOLL_BARRIER, .nranks = nranks};
    const struct pcoll_params params = {0};
    struct pcoll_plan *plan = NULL;
    uint64_t bytes = 0;

    if (pcoll_generate(row, &signature, NULL, nranks / 3, &params, &plan) == PCOLL_OK &&
        (!lowered || pcoll_lower(row, &params, &plan) == PCOLL_OK)) {
        bytes = pcoll_plan_account(plan).state_bytes;
        *neighbors = plan->nneighbors;
    }
    pcoll_plan_destroy(plan);
    return bytes;
}

int main(void)
{
    int good = 1;

    printf("# %8s %9s %9s %10s %10s %10s\n", "ranks", "messages", "bytes", "neighbors", "plan",
           "lowered");
    for (int log = 1; log <= 20; log++) {
        const int nranks = 1 << log;
        struct count count = {0, 0};
        int neighbors = 0;
        const int done = count_agreements(nranks, &count);
        const uint64_t lowered = plan_bytes(nranks, 1, &neighbors);
        const uint64_t plain = plan_bytes(nranks, 0, &neighbors);

        printf("# %8d %9llu %9llu %10d %10llu %10llu\n", nranks, (unsigned long long)count.messages,
               (unsigned long long)count.bytes, neighbors, (unsigned long long)plain,
               (unsigned long long)lowered);
        good = good && done && plain > 0 && lowered > 0 && neighbors <= 2 * log &&
               count.messages <= (uint64_t)(8 * log) && count.bytes <= (uint64_t)(320 * log) &&
               plain <= (uint64_t)(2000 * log) && lowered <= (uint64_t)(2000 * log);
    }
    tap_ok(good, "a barrier of 2^k ranks: messages, bytes and plan grow as k");
    return tap_done();
}
