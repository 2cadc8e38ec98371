/*
 * What the plans of the broadcasts load on ranks, rails and links between nodes, for 2 to 200
 * ranks.
 */
#include <stdlib.h>

#include "algorithms/plan/topology.h"
#include "test/unit/job.h"
#include "test/unit/tap.h"

enum { MOST = 200, BYTES = 1000 };

/* ---- ranks ---- */

struct load {
    uint64_t bytes; /* the most that one rank puts */
    int counters, entries, neighbors;
};

static struct load load_of(const char *name, int nranks, uint64_t segment)
{
    const struct pcoll_algorithm *algorithm = pcoll_algorithm_find(PCOLL_BCAST, name);
    struct pcoll_signature signature = {PCOLL_BCAST, nranks, nranks / 2, BYTES, 0};
    struct pcoll_params params = {.segment = segment};
    struct load most = {0};

    for (int rank = 0; rank < nranks; rank++) {
        struct pcoll_plan *plan;
        struct pcoll_account account;

        if (pcoll_generate(algorithm, &signature, NULL, rank, &params, &plan) != PCOLL_OK)
            abort();
        account = pcoll_plan_account(plan);
        most.bytes = account.bytes_moved > most.bytes ? account.bytes_moved : most.bytes;
        most.counters = account.counters > most.counters ? account.counters : most.counters;
        most.entries = account.entries > most.entries ? account.entries : most.entries;
        most.neighbors = plan->nneighbors > most.neighbors ? plan->nneighbors : most.neighbors;
        pcoll_plan_destroy(plan);
    }
    return most;
}

/* A rank forwards at most `trees` shares of ceil(BYTES / trees). Each of its children, and each
 * share that it receives, costs per segment an entry, a "ready" and a wait. */
static int load_is_right(const char *name, int nranks, uint64_t segment, int trees)
{
    const struct load load = load_of(name, nranks, segment);
    const int share = (BYTES - 1) / trees + 1, nsegments = (share - 1) / (int)segment + 1;

    return load.bytes <= (uint64_t)(trees * share) && load.counters == trees &&
           load.entries <= trees * (nsegments + 2) && load.neighbors <= 2 * trees;
}

static void test_loads(void)
{
    static const char *const names[] = {"chain", "two_tree", "trinaryx3"};

    for (int trees = 1; trees <= 3; trees++) {
        int bad = 0;

        for (int n = 2; n <= MOST; n++)
            for (uint64_t segment = 10; segment <= BYTES; segment *= 10)
                bad += !load_is_right(names[trees - 1], n, segment, trees);
        tap_ok(bad == 0,
               "%s: %d counters whatever the segments, no rank puts more than one message, O(1) "
               "neighbors, for 2 to %d",
               names[trees - 1], trees, MOST);
    }
}

/* ---- rails ---- */

/* True if every rank puts the same number of bytes on each rail. */
static int lanes_are_spread(const char *name, int rails, int counters)
{
    const struct pcoll_algorithm *algorithm = pcoll_algorithm_find(PCOLL_BCAST, name);
    struct pcoll_signature signature = {PCOLL_BCAST, 7, 0, 720, 0};
    struct pcoll_params params = {.rails = rails, .segment = 10};
    int most = 0, even = 1;

    for (int rank = 0; rank < 7; rank++) {
        struct pcoll_plan *plan;
        uint64_t bytes[8] = {0};

        if (pcoll_generate(algorithm, &signature, NULL, rank, &params, &plan) != PCOLL_OK)
            abort();
        for (int i = 0; i < plan->nentries; i++)
            bytes[plan->entries[i].rail % rails] += plan->entries[i].bytes;
        for (int rail = 1; rail < rails; rail++)
            even = even && bytes[rail] == bytes[0];
        most = plan->ncounters > most ? plan->ncounters : most;
        pcoll_plan_destroy(plan);
    }
    return even && most == counters;
}

static void test_rails(void)
{
    tap_ok(lanes_are_spread("chain", 2, 2) && lanes_are_spread("chain", 3, 3),
           "chain: a counter per rail, and every rank puts equally on each");
    tap_ok(lanes_are_spread("two_tree", 2, 4) && lanes_are_spread("two_tree", 3, 6),
           "two_tree: 2 counters per rail, and every rank puts equally on each");
    tap_ok(lanes_are_spread("trinaryx3", 2, 6) && lanes_are_spread("trinaryx3", 3, 9),
           "trinaryx3: 3 counters per rail, and every rank puts equally on each");
}

/* ---- nodes ---- */

/* Bytes that cross node boundaries. */
static uint64_t bytes_outside(const struct job *job)
{
    const struct pcoll_topology *t = job->signature.topology;
    uint64_t bytes = 0;

    for (int rank = 0; rank < job->signature.nranks; rank++)
        for (int i = 0; i < job->plans[rank]->nentries; i++) {
            const struct pcoll_entry *entry = &job->plans[rank]->entries[i];

            if ((entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET) &&
                pcoll_topology_node(t, entry->peer) != pcoll_topology_node(t, rank))
                bytes += entry->bytes;
        }
    return bytes;
}

static int crosses_once(const char *name, int nranks, enum job_map map, int root)
{
    struct job job = {
        .algorithm = pcoll_algorithm_find(PCOLL_BCAST, name),
        .signature = {PCOLL_BCAST, nranks, root, BYTES, 0, job_topology(map, nranks)},
        .params = {.segment = BYTES},
    };
    uint64_t bytes;

    if (job_make(&job) != PCOLL_OK)
        abort();
    bytes = bytes_outside(&job) / (uint64_t)job.plans[0]->nphases;
    job_destroy(&job);
    return bytes == (uint64_t)(job.signature.topology->nnodes - 1) * BYTES;
}

static void test_nodes(void)
{
    static const char *const names[] = {"eager", "chain", "kary", "two_tree", "trinaryx3"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int bad = 0;

        for (enum job_map map = JOB_PAIRS; map < JOB_NUM_MAPS; map++)
            for (int n = 3; n < 60; n++)
                bad += job_topology(map, n) && !crosses_once(names[i], n, map, n / 3);
        tap_ok(bad == 0, "%s: the message arrives once at each node", names[i]);
    }
}

int main(void)
{
    test_loads();
    test_rails();
    test_nodes();
    return tap_done();
}
