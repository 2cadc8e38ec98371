/*
 * What ranks share of the lines of counters, against what the algorithms say; and what is chosen on
 * 128 ranks has few writers wherever there is such a row.
 */
#include "tools/lines.h"

#include <stdlib.h>

#include "algorithms/plan/topology.h"
#include "test/unit/job.h"
#include "test/unit/question.h"
#include "test/unit/tables.h"
#include "test/unit/tap.h"

enum { RANKS = 128, FEW = 16 };

static struct lines lines_of(struct job *job)
{
    struct lines lines;

    if (job_make(job) != PCOLL_OK ||
        lines_count(job->plans, job->signature.nranks, &lines) != PCOLL_OK)
        abort();
    job_destroy(job);
    return lines;
}

static void check(const char *name, enum pcoll_coll coll, int radix, struct lines expected)
{
    struct job job = {.algorithm = pcoll_algorithm_find(coll, name),
                      .signature = {.coll = coll, .nranks = 8},
                      .params = {.radix = radix}};
    struct lines got;

    job.signature.bytes = coll == PCOLL_BARRIER ? 0 : 8;
    got = lines_of(&job);
    tap_ok(got.writers == expected.writers && got.written == expected.written &&
               got.polled == expected.polled,
           "%s/%s on 8 ranks: %d writers, %d written, %d polled", pcoll_coll_name(coll), name,
           got.writers, got.written, got.polled);
}

/* Members of a team write to each other, and one of each team to an owner. */
static void check_teams(enum pcoll_coll coll)
{
    enum { SIZE = 8 };
    int nodes[RANKS];
    struct pcoll_topology *topology;
    struct job job = {.algorithm = pcoll_algorithm_find(coll, "node_aware"),
                      .signature = {.coll = coll, .nranks = RANKS, .bytes = 8}};
    struct lines got;

    for (int r = 0; r < RANKS; r++)
        nodes[r] = r / SIZE;
    if (pcoll_topology_create(nodes, NULL, RANKS, &topology) != PCOLL_OK)
        abort();
    job.signature.topology = topology;
    got = lines_of(&job);
    tap_ok(got.writers == RANKS / SIZE && got.written == 2 * (SIZE - 1 + RANKS / SIZE),
           "%s/node_aware on %d ranks in teams of %d: %d writers, %d written",
           pcoll_coll_name(coll), RANKS, SIZE, got.writers, got.written);
    pcoll_topology_destroy(topology);
}

static void check_choice(const struct pcoll_table *table, enum pcoll_coll coll)
{
    struct question q = question_of(table, coll, RANKS, coll == PCOLL_BARRIER ? 0 : 8);
    struct job job = {.signature = q.signature};
    struct lines lines;

    q.signature.commutes = pcoll_coll_has(coll, PCOLL_REDUCES);
    question_ask(&q);
    job.signature = q.signature;
    job.algorithm = q.choice.algorithm;
    job.params = q.choice.params;
    lines = lines_of(&job);
    tap_ok(lines.writers <= FEW, "%s of 8 B on %d ranks: %s has %d writers", pcoll_coll_name(coll),
           RANKS, question_chosen(&q), lines.writers);
}

int main(void)
{
    static const enum pcoll_coll few[] = {PCOLL_BARRIER,
                                          PCOLL_BCAST,
                                          PCOLL_ALLGATHER,
                                          PCOLL_ALLGATHERV,
                                          PCOLL_GATHER,
                                          PCOLL_GATHERV,
                                          PCOLL_SCATTER,
                                          PCOLL_SCATTERV,
                                          PCOLL_ALLTOALL,
                                          PCOLL_ALLTOALLV,
                                          PCOLL_ALLTOALLW,
                                          PCOLL_ALLREDUCE,
                                          PCOLL_REDUCE,
                                          PCOLL_SCAN,
                                          PCOLL_EXSCAN,
                                          PCOLL_NEIGHBOR_ALLGATHER,
                                          PCOLL_NEIGHBOR_ALLGATHERV,
                                          PCOLL_NEIGHBOR_ALLTOALL,
                                          PCOLL_NEIGHBOR_ALLTOALLV,
                                          PCOLL_NEIGHBOR_ALLTOALLW};
    struct pcoll_table *table = tables_default();

    /* two banks: a counter in each */
    check("butterfly", PCOLL_BARRIER, 0, (struct lines){3, 6, 2});
    check("dissemination", PCOLL_BARRIER, 8, (struct lines){7, 14, 2});
    /* a ring of 8 slots: the root fills those of its children, which tell it that they are free */
    check("eager", PCOLL_BCAST, 8, (struct lines){7, 56, 8});
    check_teams(PCOLL_REDUCE_SCATTER_BLOCK);
    check_teams(PCOLL_REDUCE_SCATTER);
    for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++)
        check_choice(table, few[i]);
    pcoll_table_destroy(table);
    return tap_done();
}
