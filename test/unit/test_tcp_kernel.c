/*
 * The medium that lets Linux run the plan: every algorithm on processes over loopback, ranks that
 * run ahead, ranks that make no calls, and several plans at a time.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/tcp_kernel/state.h"
#include "test/unit/cover.h"
#include "test/unit/net_rank.h"
#include "test/unit/tap.h"

enum { PATIENCE = 300 }; /* seconds: a hang is a failure */

static const char kind[] = "tcp_kernel";

static const struct pcoll_algorithm *row_of(enum pcoll_coll coll, const char *name)
{
    return pcoll_algorithm_find(coll, name);
}

/* --- every algorithm --- */

enum { ROUNDS = 2 };

/* Bind, run and unbind twice. */
static int run_trial(struct net_rank *self, const struct trial *t)
{
    struct part p;
    int wrong = !net_rank_part(&p, t, self);

    for (int round = 0; round < ROUNDS && !wrong; round++) {
        meeting_barrier(self->meeting); /* no rank reads the starts of the last round any more */
        wrong = part_bind(&p) != PCOLL_OK || part_run(&p, t->instances);
        if (p.bound)
            part_unbind(&p);
    }
    part_fini(&p);
    if (wrong)
        printf("# rank %d: %s %s, %lu bytes, root %d: wrong\n", p.rank,
               pcoll_coll_name(t->row->coll), t->row->name, (unsigned long)t->bytes, t->root);
    return wrong;
}

/* Messages shorter than a piece, of a few pieces, and of more than the sockets hold. */
static int run_sizes(struct net_rank *self, struct trial *t)
{
    static const uint64_t sizes[] = {1, 40000, 0, 49, 5000, 700001};
    const int synchronizes = pcoll_coll_has(t->row->coll, PCOLL_SYNCHRONIZES);
    const int few = tap_depth() == TAP_BRIEF || self->bootstrap.nranks != 3;
    const int nsizes = synchronizes ? 1 : few ? 2 : 6;
    int wrong = 0;

    for (int i = 0; i < nsizes && !wrong; i++) {
        t->bytes = synchronizes ? 0 : sizes[i];
        t->root = i;
        t->instances = sizes[i] > 5000 ? 4 : 12;
        wrong = run_trial(self, t);
    }
    return wrong;
}

static int run_row(struct net_rank *self, const struct pcoll_algorithm *row)
{
    double begin = cover_clock();
    int wrong = 0, jobs = 0;

    for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++)
        for (int radix = 0; radix <= (row->uses_radix ? 4 : 0); radix += 4) {
            struct trial t = {.row = row};

            t.params.path = (enum pcoll_path)path;
            t.params.radix = radix;
            t.params.segment = row->uses_segment ? 4096 : 0;
            if (!(row->paths & 1u << path))
                continue;
            for (t.form = 0; t.form < JOB_FORMS; t.form++)
                if (job_take_form(&self->job, t.form) || t.form == 0)
                    wrong += run_sizes(self, &t);
            jobs++;
        }
    if (self->bootstrap.rank == 0)
        cover_row(row, kind, wrong ? 0 : jobs, begin);
    return wrong;
}

static int run_rows(struct meeting *meeting, int rank, void *argument)
{
    struct net_rank self;
    int wrong = !net_rank_open(&self, meeting, rank);

    (void)argument;
    PCOLL_EACH_ALGORITHM (row) {
        if (cover_skips(row, kind))
            continue;
        self.job.signature =
            (struct pcoll_signature){.coll = row->coll, .nranks = self.bootstrap.nranks};
        alarm(PATIENCE);
        wrong = wrong || run_row(&self, row);
    }
    if (!wrong)
        net_rank_close(&self);
    return wrong;
}

static void check_rows(int nranks)
{
    tap_ok(meeting_run_processes(nranks, run_rows, NULL) == 0, "every algorithm on %d ranks",
           nranks);
}

/* --- many starts, several plans --- */

static int run_long(struct meeting *meeting, int rank, void *argument)
{
    struct trial t = *(struct trial *)argument;
    struct net_rank self;
    int wrong = !net_rank_open(&self, meeting, rank);

    alarm(PATIENCE);
    if (wrong || run_trial(&self, &t))
        return 1;
    net_rank_close(&self);
    return 0;
}

static void check_long(void)
{
    const struct pcoll_tcp_kernel_settings usual = pcoll_tcp_kernel_settings;
    struct trial barrier = {.row = row_of(PCOLL_BARRIER, "dissemination"), .instances = 2000};
    struct trial chain = {.row = row_of(PCOLL_BCAST, "chain"),
                          .params = {.segment = 1000},
                          .bytes = 7500,
                          .root = 2,
                          .instances = 2000};
    struct trial ring = {.row = row_of(PCOLL_ALLGATHER, "ring"),
                         .params = {.path = PCOLL_PATH_USER},
                         .bytes = 3000000,
                         .instances = 10};

    tap_ok(meeting_run_processes(5, run_long, &barrier) == 0, "4000 starts of a barrier");
    tap_ok(meeting_run_processes(4, run_long, &chain) == 0,
           "4000 starts of a broadcast, whose root runs ahead");
    tap_ok(meeting_run_processes(5, run_long, &ring) == 0, "a ring of long blocks");
    pcoll_tcp_kernel_settings.piece = 100;
    pcoll_tcp_kernel_settings.chain = 3;
    chain.instances = 100;
    tap_ok(meeting_run_processes(4, run_long, &chain) == 0, "short pieces, and chains of 3");
    pcoll_tcp_kernel_settings = usual;
}

enum { SIDE_BY_SIDE = 3 };

/* Three plans, started in one order and waited for in the opposite one. */
static int run_side_by_side(struct meeting *meeting, int rank, void *argument)
{
    struct trial *trials = argument;
    struct part parts[SIDE_BY_SIDE];
    struct net_rank self;
    int wrong = !net_rank_open(&self, meeting, rank);

    alarm(PATIENCE);
    for (int i = 0; i < SIDE_BY_SIDE && !wrong; i++)
        wrong = !net_rank_part(&parts[i], &trials[i], &self) || part_bind(&parts[i]) != PCOLL_OK;
    for (int instance = 0; instance < 100 && !wrong; instance++) {
        for (int i = 0; i < SIDE_BY_SIDE && !wrong; i++)
            wrong = part_start(&parts[i]);
        for (int i = SIDE_BY_SIDE - 1; i >= 0 && !wrong; i--)
            wrong = part_wait(&parts[i]);
    }
    if (wrong)
        return 1;
    for (int i = 0; i < SIDE_BY_SIDE; i++) {
        part_unbind(&parts[i]);
        part_fini(&parts[i]);
    }
    net_rank_close(&self);
    return 0;
}

static void check_side_by_side(void)
{
    struct trial trials[SIDE_BY_SIDE] = {
        {.row = row_of(PCOLL_BCAST, "binomial_put"), .bytes = 300},
        {.row = row_of(PCOLL_BCAST, "eager"), .bytes = 20, .root = 1},
        {.row = row_of(PCOLL_ALLGATHER, "butterfly"), .bytes = 100},
    };

    tap_ok(meeting_run_processes(4, run_side_by_side, trials) == 0, "three plans at a time");
}

/* --- progress without the processor --- */

enum { WITNESS = MEETING_MAX_RANKS }; /* net_shared[WITNESS]: other ranks that have completed */

/* Rank 0's inner child, or any rank of a barrier, starts and makes no call until all other ranks
 * have completed the instance: it computes, or sleeps. */
static int run_absent(struct meeting *meeting, int rank, void *argument)
{
    const struct trial *t = argument;
    const int absent = t->root; /* the root of the tree is rank 0 */
    struct trial own = *t;
    struct part p;
    struct net_rank self;
    int wrong = !net_rank_open(&self, meeting, rank), nranks;

    alarm(PATIENCE);
    own.root = 0;
    nranks = self.bootstrap.nranks;
    wrong = wrong || !net_rank_part(&p, &own, &self) || part_bind(&p) != PCOLL_OK;
    for (int i = 0; i < t->instances && !wrong; i++) {
        volatile int *released = (volatile int *)(uintptr_t)&net_shared[WITNESS];

        wrong = part_start(&p);
        meeting_barrier(meeting); /* all have started */
        while (rank == absent && *released < (i + 1) * (nranks - 1))
            if (i % 2)
                usleep(100);
        wrong = part_wait(&p) || wrong;
        if (rank != absent)
            atomic_fetch_add(&net_shared[WITNESS], 1);
        meeting_barrier(meeting);
    }
    if (wrong)
        return 1;
    part_unbind(&p);
    part_fini(&p);
    net_rank_close(&self);
    return 0;
}

static void check_absent(enum pcoll_coll coll, const char *name, uint64_t bytes, int absent)
{
    struct trial t = {
        .row = row_of(coll, name),
        .bytes = bytes,
        .root = absent,
        .instances = 6,
        .params = {.segment = bytes / 3,
                   .path = coll == PCOLL_ALLTOALL ? PCOLL_PATH_USER : (enum pcoll_path)0},
    };

    for (int r = 0; r <= WITNESS; r++)
        atomic_store(&net_shared[r], 0);
    tap_ok(meeting_run_processes(5, run_absent, &t) == 0,
           "%s %s, %lu bytes: rank %d computes or sleeps, all others complete",
           pcoll_coll_name(coll), name, (unsigned long)bytes, absent);
}

int main(void)
{
    struct meeting *page = meeting_create(0); /* any shared page will do */

    net_medium = &pcoll_medium_tcp_kernel;
    net_shared = (_Atomic int *)(void *)page;
    if (!net_is_available())
        return tap_done();
    check_absent(PCOLL_BARRIER, "butterfly", 0, 1);
    check_absent(PCOLL_BARRIER, "dissemination", 0, 2);
    check_absent(PCOLL_BCAST, "binomial_put", 200, 2);
    check_absent(PCOLL_BCAST, "binomial_get", 200, 2);
    check_absent(PCOLL_BCAST, "eager", 200, 2);
    check_absent(PCOLL_BCAST, "chain", 3000000, 2);
    check_absent(PCOLL_BCAST, "two_tree", 3000000, 2);
    check_absent(PCOLL_BCAST, "trinaryx3", 3000000, 1);
    check_absent(PCOLL_ALLGATHER, "butterfly", 50, 1);
    check_absent(PCOLL_ALLGATHER, "ring", 300000, 1);
    check_absent(PCOLL_ALLTOALL, "direct", 300000, 1);
    check_long();
    check_side_by_side();
    for (int nranks = 1; nranks <= 8; nranks++)
        if (tap_depth() == TAP_FULL || nranks == 3 ||
            (tap_depth() == TAP_USUAL && (nranks <= 2 || nranks == 5)))
            check_rows(nranks);
    meeting_destroy(page);
    return tap_done();
}
