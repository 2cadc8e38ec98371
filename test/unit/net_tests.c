/* Tests of media whose network runs plans; the contract is in net_tests.h. */
#include "test/unit/net_tests.h"

#include <stdatomic.h>
#include <unistd.h>

#include "test/unit/cover.h"
#include "test/unit/tap.h"

enum { PATIENCE = 300 }; /* seconds: a hang is a failure */

/* --- every algorithm --- */

/* Late signals of the first round may arrive in the second. */
enum { ROUNDS = 2 };

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

/* How the medium treats an entry depends on its length, not on the number of ranks: with 3 of them
 * all sizes. */
static int run_sizes(struct net_rank *self, const struct net_rows *rows, struct trial *t)
{
    const int synchronizes = pcoll_coll_has(t->row->coll, PCOLL_SYNCHRONIZES);
    const int nranks = self->bootstrap.nranks;
    const int all = tap_depth() == TAP_FULL ? nranks <= 3 : tap_depth() == TAP_USUAL && nranks == 3;
    const int nsizes = synchronizes ? 1 : all ? 6 : 2;
    int wrong = 0;

    for (int i = 0; i < nsizes && !wrong; i++) {
        t->bytes = synchronizes ? 0 : rows->sizes[i];
        t->root = i;
        t->instances = rows->instances(nranks, rows->sizes[i]);
        wrong = run_trial(self, t);
    }
    return wrong;
}

static int run_forms(struct net_rank *self, const struct net_rows *rows, struct trial *t)
{
    const int unequal = 2 + pcoll_coll_has(t->row->coll, PCOLL_IN_PLACE);
    int wrong = 0;

    self->job.signature =
        (struct pcoll_signature){.coll = t->row->coll, .nranks = self->bootstrap.nranks};
    for (t->form = 0; t->form < JOB_FORMS; t->form++)
        if ((rows->all_forms || t->form == 0 || t->form == unequal) &&
            job_take_form(&self->job, t->form))
            wrong += run_sizes(self, rows, t);
    return wrong;
}

static int run_row(struct net_rank *self, const struct net_rows *rows,
                   const struct pcoll_algorithm *row)
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
            wrong += run_forms(self, rows, &t);
            jobs++;
        }
    if (self->bootstrap.rank == 0)
        cover_row(row, net_medium->name, wrong ? 0 : jobs, begin);
    return wrong;
}

static int run_rows(struct meeting *meeting, int rank, void *argument)
{
    struct net_rank self;
    int wrong = !net_rank_open(&self, meeting, rank);

    PCOLL_EACH_ALGORITHM (row) {
        if (cover_skips(row, net_medium->name))
            continue;
        alarm(PATIENCE);
        wrong = wrong || run_row(&self, argument, row);
    }
    if (!wrong)
        net_rank_close(&self);
    return wrong;
}

/* 5 ranks have inner ranks that wait for others; 4 and more repeat it with more messages. */
void net_check_rows(const struct net_rows *rows)
{
    for (int nranks = 1; nranks <= 8; nranks++)
        if (tap_depth() == TAP_FULL || nranks == 3 ||
            (tap_depth() == TAP_USUAL && (nranks <= 2 || nranks == 5)))
            tap_ok(meeting_run_processes(nranks, run_rows, (void *)rows) == 0,
                   "every algorithm on %d ranks", nranks);
}

/* --- many starts, several plans --- */

static const struct pcoll_algorithm *row_of(enum pcoll_coll coll, const char *name)
{
    return pcoll_algorithm_find(coll, name);
}

static int run_one(struct meeting *meeting, int rank, void *argument)
{
    struct net_rank self;
    int wrong = !net_rank_open(&self, meeting, rank);

    alarm(PATIENCE);
    if (wrong || run_trial(&self, argument))
        return 1;
    net_rank_close(&self);
    return 0;
}

void net_check_trial(int nranks, const struct trial *t, const char *what)
{
    tap_ok(meeting_run_processes(nranks, run_one, (void *)t) == 0, "%s", what);
}

enum { SIDE_BY_SIDE = 3 };

static int run_side_by_side(struct meeting *meeting, int rank, void *argument)
{
    struct trial *trials = argument;
    struct part parts[SIDE_BY_SIDE];
    struct net_rank self;
    int wrong = !net_rank_open(&self, meeting, rank);

    alarm(PATIENCE);
    for (int i = 0; i < SIDE_BY_SIDE && !wrong; i++)
        wrong = !net_rank_part(&parts[i], &trials[i], &self) || part_bind(&parts[i]) != PCOLL_OK;
    for (int instance = 0; instance < trials[0].instances && !wrong; instance++) {
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

void net_check_side_by_side(int instances)
{
    struct trial trials[SIDE_BY_SIDE] = {
        {.row = row_of(PCOLL_BCAST, "knomial_put"), .bytes = 300, .instances = instances},
        {.row = row_of(PCOLL_BCAST, "eager"), .bytes = 20, .root = 1},
        {.row = row_of(PCOLL_ALLGATHER, "butterfly"), .bytes = 100},
    };

    tap_ok(meeting_run_processes(4, run_side_by_side, trials) == 0, "three plans at a time");
}

/* --- progress without the processor --- */

enum { WITNESS = MEETING_MAX_RANKS }; /* net_shared[WITNESS]: other ranks that have completed */

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

void net_check_absent(enum pcoll_coll coll, const char *name, uint64_t bytes, int absent)
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
