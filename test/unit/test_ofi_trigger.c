/*
 * The medium that lets the provider run plans: every algorithm on processes over `sockets`, ranks
 * that run ahead and that do not look, plans side by side; and what cannot be is told.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/lower/lower.h"
#include "offload/ofi_trigger/state.h"
#include "test/unit/cover.h"
#include "test/unit/meeting.h"
#include "test/unit/refuse.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"

static const struct pcoll_medium *const medium = &pcoll_medium_ofi_trigger;

enum { PATIENCE = 300 }; /* seconds: a hang is a failure */

struct trial {
    const struct pcoll_algorithm *row;
    struct pcoll_params params;
    uint64_t bytes;
    int root, instances;
};

/* A rank. */
struct party {
    struct meeting *meeting;
    struct attendee attendee;
    struct pcoll_bootstrap bootstrap;
    struct pcoll_group *group;
};

static _Atomic int *shared; /* [rank]: starts, as trial.h wants; [WITNESS], see below */

static int open_party(struct party *p, struct meeting *meeting, int rank)
{
    p->meeting = meeting;
    p->attendee = (struct attendee){.meeting = meeting, .rank = rank};
    p->bootstrap = meeting_bootstrap(&p->attendee);
    p->bootstrap.provider = "sockets";
    p->bootstrap.interface = "127.0.0.1";
    return medium->group_create(&p->bootstrap, &p->group) == PCOLL_OK;
}

/* Until all others have unbound, too. */
static void leave_party(struct party *p)
{
    while (pcoll_medium_ofi_trigger.lingering() > 0)
        usleep(100);
    meeting_barrier(p->meeting);
}

static void close_party(struct party *p)
{
    leave_party(p);
    medium->group_destroy(p->group);
    pcoll_medium_ofi_trigger.finalize();
}

static int make_part(struct part *p, const struct trial *t, const struct party *party)
{
    struct pcoll_signature sig = {.coll = t->row->coll,
                                  .nranks = party->bootstrap.nranks,
                                  .root = t->root % party->bootstrap.nranks,
                                  .bytes = t->bytes};

    if (!pcoll_coll_has(sig.coll, PCOLL_ROOTED))
        sig.root = 0;
    *p = (struct part){.medium = medium,
                       .group = party->group,
                       .signature = sig,
                       .rank = party->bootstrap.rank,
                       .seed = (unsigned)party->bootstrap.rank + 1,
                       .starts = shared};
    return part_init(p, t->row, &t->params) == PCOLL_OK;
}

/* --- every algorithm --- */

/* The provider's threads spin while a message is under way, so with more of them than cores each
 * message costs time slices: few instances of large jobs. */
enum { SMALL_JOB = 3, ROUNDS = 2 };

/* Bind, run, unbind, twice: late signals of the first may come in the second. */
static int run_trial(struct party *party, const struct trial *t)
{
    struct part p;
    int wrong = !make_part(&p, t, party);

    for (int round = 0; round < ROUNDS && !wrong; round++) {
        meeting_barrier(party->meeting); /* nobody looks at the starts of the last round */
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

static int run_sizes(struct party *party, struct trial *t)
{
    static const uint64_t sizes[] = {1, 40000, 0, 48, 49, 5000};
    int is_small = party->bootstrap.nranks <= SMALL_JOB, wrong = 0;
    int nsizes = pcoll_coll_has(t->row->coll, PCOLL_SYNCHRONIZES) ? 1 : is_small ? 6 : 2;

    for (int i = 0; i < nsizes && !wrong; i++) {
        t->bytes = pcoll_coll_has(t->row->coll, PCOLL_SYNCHRONIZES) ? 0 : sizes[i];
        t->root = i;
        t->instances = sizes[i] == 1 && is_small ? 12 : 3;
        wrong = run_trial(party, t);
    }
    return wrong;
}

static int run_row(struct party *party, const struct pcoll_algorithm *row)
{
    double begin = cover_clock();
    int wrong = 0, jobs = 0;

    for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++)
        for (int radix = 0; radix <= (row->uses_radix ? 4 : 0); radix += 4) {
            struct trial t = {.row = row};

            t.params.path = (enum pcoll_path)path;
            t.params.radix = radix;
            t.params.segment = row->uses_segment ? 4096 : 0;
            if (row->paths & 1u << path) {
                wrong += run_sizes(party, &t);
                jobs++;
            }
        }
    if (party->bootstrap.rank == 0)
        cover_row(row, "ofi_trigger", wrong ? 0 : jobs, begin);
    return wrong;
}

static int run_rows(struct meeting *meeting, int rank, void *argument)
{
    struct party party;
    int wrong = !open_party(&party, meeting, rank);

    (void)argument;
    PCOLL_EACH_ALGORITHM (row) {
        alarm(PATIENCE);
        wrong = wrong || run_row(&party, row);
    }
    if (!wrong)
        close_party(&party);
    return wrong;
}

static void check_rows(int nranks)
{
    tap_ok(meeting_run_processes(nranks, run_rows, NULL) == 0, "every algorithm on %d ranks",
           nranks);
}

/* --- many starts, plans side by side --- */

static const struct pcoll_algorithm *row_of(enum pcoll_coll coll, const char *name)
{
    return pcoll_algorithm_find(coll, name);
}

/* Many starts; with a small capacity counters are set back again and again. */
static int run_long(struct meeting *meeting, int rank, void *argument)
{
    struct trial t = *(struct trial *)argument;
    struct party party;
    int wrong = !open_party(&party, meeting, rank);

    alarm(PATIENCE);
    if (wrong || run_trial(&party, &t))
        return 1;
    close_party(&party);
    return 0;
}

static void check_long(void)
{
    struct trial barrier = {.row = row_of(PCOLL_BARRIER, "butterfly"), .instances = 100};
    struct trial chain = {.row = row_of(PCOLL_BCAST, "chain"),
                          .params = {.segment = 1000},
                          .bytes = 7500,
                          .instances = 30};

    tap_ok(meeting_run_processes(4, run_long, &barrier) == 0, "200 starts of a barrier");
    pcoll_ofi_trigger_settings.capacity = 60;
    tap_ok(meeting_run_processes(4, run_long, &barrier) == 0,
           "counters of 60: they are set back again and again");
    pcoll_ofi_trigger_settings.capacity = 400;
    tap_ok(meeting_run_processes(4, run_long, &chain) == 0, "the same, in order");
    pcoll_ofi_trigger_settings.capacity = (uint64_t)1 << 30;
}

enum { SIDE_BY_SIDE = 3 };

/* Three plans, started in one order and waited for in the other. */
static int run_side_by_side(struct meeting *meeting, int rank, void *argument)
{
    struct trial *trials = argument;
    struct part parts[SIDE_BY_SIDE];
    struct party party;
    int wrong = !open_party(&party, meeting, rank);

    alarm(PATIENCE);
    for (int i = 0; i < SIDE_BY_SIDE && !wrong; i++)
        wrong = !make_part(&parts[i], &trials[i], &party) || part_bind(&parts[i]) != PCOLL_OK;
    for (int instance = 0; instance < 20 && !wrong; instance++) {
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
    close_party(&party);
    return 0;
}

static void check_side_by_side(void)
{
    struct trial trials[SIDE_BY_SIDE] = {
        {.row = row_of(PCOLL_BCAST, "binomial_put"), .bytes = 300},
        {.row = row_of(PCOLL_BCAST, "eager"), .bytes = 20, .root = 1},
        {.row = row_of(PCOLL_ALLGATHER, "butterfly"), .bytes = 100},
    };

    tap_ok(meeting_run_processes(4, run_side_by_side, trials) == 0, "three plans side by side");
}

/* --- progress without the processor --- */

enum { WITNESS = MEETING_MAX_RANKS }; /* shared[WITNESS]: neighbors that have completed */

/* Rank 0's child with children, or any rank of a barrier, starts and makes no call until all
 * others have completed the instance. */
static int run_absent(struct meeting *meeting, int rank, void *argument)
{
    const struct trial *t = argument;
    int nranks, absent = t->root; /* the root of the tree is rank 0; `root` names who is absent */
    struct trial own = *t;
    struct part p;
    struct party party;
    int wrong = !open_party(&party, meeting, rank);

    alarm(PATIENCE);
    own.root = 0;
    nranks = party.bootstrap.nranks;
    wrong = wrong || !make_part(&p, &own, &party) || part_bind(&p) != PCOLL_OK;
    for (int i = 0; i < t->instances && !wrong; i++) {
        volatile int *released = (volatile int *)(uintptr_t)&shared[WITNESS];

        wrong = part_start(&p);
        meeting_barrier(meeting); /* all have started */
        while (rank == absent && *released < (i + 1) * (nranks - 1))
            if (i % 2)
                usleep(100);
        wrong = part_wait(&p) || wrong;
        if (rank != absent)
            atomic_fetch_add(&shared[WITNESS], 1);
        meeting_barrier(meeting);
    }
    if (wrong)
        return 1;
    part_unbind(&p);
    part_fini(&p);
    close_party(&party);
    return 0;
}

static void check_absent(enum pcoll_coll coll, const char *name, uint64_t bytes, int absent)
{
    struct trial t = {
        .row = row_of(coll, name),
        .bytes = bytes,
        .root = absent,
        .instances = 6,
        .params = {.segment = bytes / 3},
    };

    for (int r = 0; r <= WITNESS; r++)
        atomic_store(&shared[r], 0);
    tap_ok(meeting_run_processes(5, run_absent, &t) == 0,
           "%s %s: rank %d computes or sleeps, all others complete", pcoll_coll_name(coll), name,
           absent);
}

/* --- what cannot be --- */

static int run_refused(struct meeting *meeting, int rank, void *argument)
{
    struct party party = {.meeting = meeting, .attendee = {.meeting = meeting, .rank = rank}};

    /* One rank alone has the wrong provider: all must be told. */
    party.bootstrap = meeting_bootstrap(&party.attendee);
    party.bootstrap.provider = rank == 1 ? argument : "sockets";
    if (medium->group_create(&party.bootstrap, &party.group) != PCOLL_UNSUPPORTED)
        return 1;
    pcoll_medium_ofi_trigger.finalize();
    return rank == 1 && party.attendee.reports == 0;
}

static int run_budget(struct meeting *meeting, int rank, void *argument)
{
    struct trial t = {.row = row_of(PCOLL_BARRIER, "butterfly"), .instances = 20};
    struct part p, other;
    struct party party;
    int wrong;

    /* Only one rank is short of counters, or of works. */
    if (rank == 2 && argument)
        pcoll_ofi_trigger_settings.counters = 8;
    if (rank == 2 && !argument)
        pcoll_ofi_trigger_settings.works = 7;
    if (!open_party(&party, meeting, rank) || !make_part(&p, &t, &party) ||
        !make_part(&other, &t, &party) || part_bind(&p) != PCOLL_OK)
        return 1;
    wrong = part_bind(&other) != PCOLL_UNSUPPORTED || (rank == 2 && party.attendee.reports == 0) ||
            part_run(&p, t.instances);
    part_unbind(&p);
    /* When all have left, what was taken is there again. */
    leave_party(&party);
    if (wrong || part_bind(&other) != PCOLL_OK)
        return 1;
    part_unbind(&other);
    part_fini(&p);
    part_fini(&other);
    close_party(&party);
    return 0;
}

/* One rank's provider refuses the n-th registration, for every n: no rank has a bound plan, until
 * all are granted. */
static int run_unregistered(struct meeting *meeting, int rank, void *argument)
{
    struct trial t = {.row = row_of(PCOLL_BCAST, "binomial_put"), .bytes = 9000, .instances = 3};
    int is_short = rank == 1, wrong = 0, n = 0;
    enum pcoll_result result = PCOLL_ERR_SYSTEM;
    struct party party;
    struct part p;

    (void)argument;
    alarm(PATIENCE);
    if (!open_party(&party, meeting, rank) || !make_part(&p, &t, &party))
        return 1;
    while (result == PCOLL_ERR_SYSTEM && ++n < 20) {
        if (is_short)
            refuse_begin(trigger_group_of(party.group)->endpoint->domain, n);
        result = part_bind(&p);
        if (is_short)
            refuse_end(trigger_group_of(party.group)->endpoint->domain);
        wrong |= is_short && refused != (result != PCOLL_OK);
    }
    wrong |= is_short && strstr(party.attendee.said, "cannot register") == NULL;
    if (wrong || result != PCOLL_OK || n < 3 || part_run(&p, t.instances))
        return 1;
    part_unbind(&p);
    part_fini(&p);
    close_party(&party);
    return 0;
}

/* A key that nobody has: the error comes back, the plan fails, nobody hangs. */
static int run_bad_key(struct meeting *meeting, int rank, void *argument)
{
    struct trial t = {.row = row_of(PCOLL_BARRIER, "dissemination"), .instances = 1};
    struct part p;
    struct party party;
    int wrong;

    (void)argument;
    alarm(PATIENCE);
    if (!open_party(&party, meeting, rank) || !make_part(&p, &t, &party) ||
        part_bind(&p) != PCOLL_OK)
        return 1;
    for (int i = 0; i < p.plan->nentries; i++)
        trigger_bound_of(p.bound)->works[i].remote.key += 1000000;
    wrong = part_start(&p) || !part_wait(&p) || strstr(party.attendee.said, " rank ") == NULL ||
            medium->start(p.bound) != PCOLL_ERR_SYSTEM;
    part_unbind(&p);
    part_fini(&p);
    close_party(&party);
    return wrong;
}

static int run_not_lowered(struct meeting *meeting, int rank, void *argument)
{
    struct trial t = {.row = row_of(PCOLL_BARRIER, "butterfly")};
    struct part p;
    struct party party;
    int wrong;

    (void)argument;
    if (!open_party(&party, meeting, rank) || !make_part(&p, &t, &party))
        return 1;
    p.plan->lowered = rank != 1;
    wrong = part_bind(&p) != PCOLL_ERR_INVALID;
    if (rank == 0)
        pcoll_plan_destroy(p.plan);
    if (rank == 0)
        p.plan = NULL;
    else
        p.plan->lowered = 1;
    wrong = wrong || part_bind(&p) != PCOLL_ERR_INVALID;
    part_fini(&p);
    close_party(&party);
    return wrong;
}

static void check_refusals(void)
{
    static char without[] = "tcp;ofi_rxm", unknown[] = "carrier pigeon";

    tap_ok(meeting_run_processes(3, run_refused, without) == 0,
           "a provider without deferred work is unsupported on all ranks");
    tap_ok(meeting_run_processes(3, run_refused, unknown) == 0,
           "an unknown provider is unsupported on all ranks");
    tap_ok(meeting_run_processes(4, run_budget, without) == 0,
           "no counters left on one rank is unsupported on all, until some are given back");
    tap_ok(meeting_run_processes(4, run_budget, NULL) == 0, "no works left, likewise");
    tap_ok(meeting_run_processes(4, run_unregistered, NULL) == 0,
           "a refused registration on one rank is an error on all, and the next one works");
    tap_ok(meeting_run_processes(3, run_bad_key, NULL) == 0,
           "a refused write fails the plan and names the peer");
    tap_ok(meeting_run_processes(3, run_not_lowered, NULL) == 0,
           "a plan that is not lowered, or is missing, is an error on all ranks");
}

int main(void)
{
    struct meeting *page = meeting_create(0); /* any shared page will do */

    shared = (_Atomic int *)(void *)page;
    check_refusals();
    check_absent(PCOLL_BARRIER, "butterfly", 0, 1);
    check_absent(PCOLL_BARRIER, "dissemination", 0, 2);
    check_absent(PCOLL_BCAST, "binomial_put", 200, 2);
    check_absent(PCOLL_BCAST, "binomial_get", 200, 2);
    check_absent(PCOLL_BCAST, "eager", 200, 2);
    check_absent(PCOLL_BCAST, "chain", 200, 2);
    check_absent(PCOLL_ALLGATHER, "butterfly", 50, 1);
    check_absent(PCOLL_ALLGATHER, "ring", 50, 1);
    check_long();
    check_side_by_side();
    for (int nranks = 1; nranks <= 8; nranks++)
        if (tap_depth() == TAP_FULL || nranks == 3 ||
            (tap_depth() == TAP_USUAL && nranks != 6 && nranks != 7))
            check_rows(nranks);
    meeting_destroy(page);
    return tap_done();
}
