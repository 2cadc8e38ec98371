/* What init costs one rank of N, for N up to 2^20: the messages and bytes of its agreements,
 * counted in the real code, the bytes of its plan, and what it sends and keeps for the places of
 * the ranks, a group and a bound barrier. Its peers are simulated: they say what it says. */
#include "algorithms/algorithm.h"
#include "algorithms/lower/lower.h"
#include "offload/agree.h"
#include "offload/media.h"
#include "offload/node/nodes.h"
#ifdef PCOLL_HAVE_LIBFABRIC
#include "offload/ofi_rma/ofi_rma.h"
#endif
#include "test/unit/tap.h"

#include <malloc.h>
#include <string.h>

struct count {
    uint64_t messages, bytes;
};

static enum pcoll_result count_swap(void *context, const int *ranks, int n, const void *mine,
                                    void *theirs, size_t bytes)
{
    struct count *count = context;

    (void)ranks;
    count->messages += (uint64_t)n;
    count->bytes += (uint64_t)n * bytes;
    memcpy(theirs, mine, (size_t)n * bytes);
    return PCOLL_OK;
}

struct rank {
    struct pcoll_bootstrap bootstrap;
    struct pcoll_circle circle;
    enum pcoll_round last;
    bool is_disordered; /* the rounds were not in the order of agree.h */
};

static enum pcoll_result combine(void *context, uint64_t *words, int n)
{
    struct rank *rank = context;

    rank->is_disordered = rank->is_disordered || pcoll_round_of(words[0]) < rank->last;
    rank->last = pcoll_round_of(words[0]);
    return pcoll_combine_by_swap(&rank->circle, words, n);
}

static enum pcoll_result swap(void *context, const int *ranks, int n, const void *mine,
                              void *theirs, size_t bytes)
{
    struct rank *rank = context;

    return count_swap(rank->bootstrap.context, ranks, n, mine, theirs, bytes);
}

/* As in ch4_coll and ofi_rma: combine the proposal, then whether all ranks can take part, are
 * ready, and are connected. */
static int count_agreements(int nranks, struct count *count)
{
    struct rank rank = {
        .bootstrap = {.rank = nranks / 3, .nranks = nranks, .context = count, .swap = count_swap},
        .circle = {.outer = &rank.bootstrap, .mine = nranks / 3, .nranks = nranks},
    };
    const struct pcoll_bootstrap bootstrap = {
        .rank = nranks / 3, .nranks = nranks, .context = &rank, .combine = combine};
    struct pcoll_term proposal[15] = {{0}}, needs[6] = {{0}};

    return pcoll_agree(&bootstrap, PCOLL_ROUND_CALL, PCOLL_OK, proposal, 15) == PCOLL_OK &&
           pcoll_agree(&bootstrap, PCOLL_ROUND_PLAN, PCOLL_OK, needs, 6) == PCOLL_OK &&
           pcoll_agree(&bootstrap, PCOLL_ROUND_READY, PCOLL_OK, NULL, 0) == PCOLL_OK &&
           pcoll_agree(&bootstrap, PCOLL_ROUND_BOUND, PCOLL_OK, NULL, 0) == PCOLL_OK;
}

/* The bytes of a rank's barrier plan, as generated and lowered, and its number of neighbors. */
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

/* ---- places, group, binding ---- */

enum { PER_NODE = 64 };

static size_t in_use(void)
{
    const struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static void no_idle(void *context)
{
    (void)context;
}

static void print_report(void *context, const char *message)
{
    (void)context;
    printf("# %s\n", message);
}

static struct pcoll_bootstrap bootstrap_of(struct rank *rank, int nranks, struct count *count)
{
    *rank = (struct rank){
        .bootstrap = {.rank = nranks / 3, .nranks = nranks, .context = count, .swap = count_swap},
        .circle = {.outer = &rank->bootstrap, .mine = nranks / 3, .nranks = nranks},
    };
    return (struct pcoll_bootstrap){
        .rank = nranks / 3,
        .nranks = nranks,
        .provider = "tcp",
        .interface = "127.0.0.1",
        .context = rank,
        .combine = combine,
        .swap = swap,
        .idle = no_idle,
        .report = print_report,
    };
}

static int in_blocks(const void *context, int rank)
{
    (void)context;
    return rank / PER_NODE;
}

static int round_robin(const void *nnodes, int rank)
{
    return rank % *(const int *)nnodes;
}

static int apart(const void *context, int rank)
{
    (void)context;
    return rank;
}

/* They take neither messages nor memory, however the ranks were dealt out to their nodes. */
static int places_are_free(int log)
{
    const int nranks = 1 << log, nnodes = nranks / PER_NODE + 1;
    const struct pcoll_node_map maps[] = {{in_blocks, NULL}, {round_robin, &nnodes}, {apart, NULL}};
    int good = 1;

    for (int i = 0; i < 3; i++) {
        const struct pcoll_nodes nodes = {.map = maps[i]};
        struct count count = {0, 0};
        struct rank rank;
        const struct pcoll_bootstrap bootstrap = bootstrap_of(&rank, nranks, &count);
        struct pcoll_topology topology;
        const size_t before = in_use();

        good = good && pcoll_nodes_settle(&bootstrap, &nodes, &topology) == PCOLL_OK &&
               in_use() == before && count.messages == 0;
    }
    return good;
}

#ifdef PCOLL_HAVE_LIBFABRIC
static int bind_barrier(struct pcoll_group *group, const struct pcoll_topology *topology,
                        struct pcoll_bound **bound_p, struct pcoll_plan **plan_p)
{
    const struct pcoll_algorithm *row = pcoll_algorithm_find(PCOLL_BARRIER, "dissemination");
    const struct pcoll_signature signature = {
        .coll = PCOLL_BARRIER, .nranks = topology->nranks, .topology = topology};
    const struct pcoll_params params = {0};
    const struct pcoll_memory memory = {0};

    return pcoll_generate(row, &signature, NULL, topology->nranks / 3, &params, plan_p) ==
               PCOLL_OK &&
           group->medium->bind(group, *plan_p, &memory, bound_p) == PCOLL_OK;
}

struct spent {
    struct count group, bind;
    size_t kept_by_group, kept_by_bind;
};

/* Each rank has a node, so that every peer is one that only sends. */
static int spend(int nranks, struct spent *spent)
{
    const struct pcoll_medium *medium = &pcoll_medium_ofi_rma;
    struct count count = {0, 0};
    struct rank rank;
    struct pcoll_bootstrap bootstrap = bootstrap_of(&rank, nranks, &count);
    const struct pcoll_nodes nodes = {.map = {apart, NULL}};
    struct pcoll_topology topology;
    struct pcoll_group *group = NULL;
    struct pcoll_bound *bound = NULL;
    struct pcoll_plan *plan = NULL;
    size_t before = in_use();
    int good = 0;

    if (pcoll_nodes_settle(&bootstrap, &nodes, &topology) != PCOLL_OK)
        return 0;
    bootstrap.topology = &topology;
    if (medium->group_create(&bootstrap, &group) == PCOLL_OK) {
        spent->kept_by_group = in_use() - before;
        spent->group = count;
        count = (struct count){0, 0};
        before = in_use();
        good = bind_barrier(group, &topology, &bound, &plan) && !rank.is_disordered &&
               rank.last == PCOLL_ROUND_BOUND;
        spent->kept_by_bind = in_use() - before;
        spent->bind = count;
    }
    if (bound)
        medium->unbind(bound);
    pcoll_plan_destroy(plan);
    medium->group_destroy(group);
    medium->finalize();
    return good;
}

static void test_group(void)
{
    static struct spent spent[21];
    int good = spend(2, &spent[0]); /* what the provider makes once */

    printf("# %8s %9s %9s %9s %9s %9s %9s\n", "nodes", "messages", "bytes", "kept", "to bind",
           "bytes", "kept");
    for (int log = 1; log <= 20; log++) {
        const struct spent *s = &spent[log];

        good = spend(1 << log, &spent[log]) && good;
        printf("# %8d %9llu %9llu %9zu %9llu %9llu %9zu\n", 1 << log,
               (unsigned long long)s->group.messages, (unsigned long long)s->group.bytes,
               s->kept_by_group, (unsigned long long)s->bind.messages,
               (unsigned long long)s->bind.bytes, s->kept_by_bind);
        good = good && s->group.messages <= (uint64_t)(8 * log) &&
               s->group.bytes <= (uint64_t)(320 * log) &&
               s->kept_by_group <= spent[1].kept_by_group + 4096 &&
               s->bind.messages <= (uint64_t)(10 * log) &&
               s->bind.bytes <= (uint64_t)(4000 * log) &&
               s->kept_by_bind <= spent[1].kept_by_bind + (size_t)(4000 * log);
    }
    tap_ok(
        good,
        "a group and a barrier of 2^k nodes: rounds in order; what they send and keep grows as k");
}
#else
static void test_group(void)
{
    tap_ok(1, "a group of 2^k nodes # SKIP no libfabric");
}
#endif

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
               count.messages <= (uint64_t)(11 * log) && count.bytes <= (uint64_t)(550 * log) &&
               plain <= (uint64_t)(2000 * log) && lowered <= (uint64_t)(2000 * log);
    }
    tap_ok(good, "a barrier of 2^k ranks: messages, bytes and plan grow as k");
    good = 1;
    for (int log = 1; log <= 20; log++)
        good = good && places_are_free(log);
    tap_ok(good, "the places of 2^k ranks in blocks, round robin, apart: no message, no memory");
    test_group();
    return tap_done();
}
