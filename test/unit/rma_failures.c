/* An RMA medium when something fails, with a plan of each collective: the wire refuses to register
 * memory, a rank has no plan, a rank dies. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "offload/rma/state.h"
#include "test/unit/rma_tests.h"
#include "test/unit/tap.h"

static const struct refusal *refusal;
static const struct pcoll_params no_params;

/* The first algorithm of each collective. */
static const struct pcoll_algorithm *first_of(int coll)
{
    PCOLL_EACH_ALGORITHM (row)
        if (row->coll == (enum pcoll_coll)coll)
            return row;
    return NULL;
}

static struct pcoll_signature signature_of(int coll, int nranks, uint64_t bytes)
{
    const int moves_data = !pcoll_coll_has((enum pcoll_coll)coll, PCOLL_SYNCHRONIZES);

    return (struct pcoll_signature){
        .coll = (enum pcoll_coll)coll, .nranks = nranks, .bytes = moves_data ? bytes : 0};
}

/* For each n, rank 1's provider refuses its n-th registration. Then no rank gets a bound plan, and
 * rank 1 reports why. Returns the number of registrations, or 0 if something is wrong. */
static int refuse_each(struct part *p)
{
    const struct attendee *attendee = pcoll_rma_group_of(p->group)->bootstrap.context;
    enum pcoll_result result = PCOLL_ERR_SYSTEM;
    int is_short = p->rank == 1, wrong = 0, n = 0;

    while (result == PCOLL_ERR_SYSTEM && ++n < 20) {
        if (is_short)
            refusal->begin(p->group, n);
        result = part_bind(p);
        if (is_short)
            wrong |= refusal->end(p->group) != (result != PCOLL_OK);
    }
    wrong |= result != PCOLL_OK;
    wrong |= is_short && n > 1 && strstr(attendee->said, "cannot register") == NULL;
    return wrong ? 0 : n;
}

/* Rank 1 cannot bind, because it may not register memory or has no plan; the next bind works. */
static int exercise_refused_coll(struct meeting *meeting, struct part *p,
                                 const struct pcoll_algorithm *row, int least, int most)
{
    int wrong, n;

    if (part_init(p, row, &no_params) != PCOLL_OK)
        return 1;
    n = refuse_each(p);
    wrong = n < least || n > most;
    part_unbind(p);
    meeting_barrier(meeting);
    if (p->medium->bind(p->group, p->rank == 1 ? NULL : p->plan,
                        &(struct pcoll_memory){p->send, p->recv, &p->op},
                        &p->bound) != PCOLL_ERR_NOMEM)
        return 1;
    if (wrong || part_bind(p) != PCOLL_OK)
        return 1;
    meeting_barrier(meeting);
    wrong = part_run(p, 3);
    meeting_barrier(meeting); /* no rank reads the starts any more */
    part_unbind(p);
    part_fini(p);
    return wrong;
}

static int exercise_refused(struct setup *setup, struct meeting *meeting, struct part *part)
{
    int wrong = 0;

    for (int coll = 0; coll < PCOLL_NUM_COLLS && setup->all_sizes && !wrong; coll++) {
        struct part p = *part;

        p.signature = signature_of(coll, setup->nranks, 40000);
        wrong = exercise_refused_coll(meeting, &p, first_of(coll), 1, 20);
        if (wrong)
            printf("# rank %d: %s\n", p.rank, pcoll_coll_name(p.signature.coll));
    }
    if (!wrong) {
        struct part p = *part;

        /* gets from communication buffers to the receive buffer, which are both registered */
        p.signature = signature_of(PCOLL_ALLGATHER, setup->nranks, (uint64_t)1 << 20);
        wrong = exercise_refused_coll(meeting, &p, pcoll_algorithm_find(PCOLL_ALLGATHER, "direct"),
                                      3, 20);
    }
    if (!wrong) {
        const int keyless = pcoll_rma_group_of(part->group)->endpoints[0]->keyless >= 1000;
        struct part p = *part;

        /* short puts, for which some wires need no registration */
        p.signature = signature_of(PCOLL_ALLTOALL, setup->nranks, 1000);
        wrong = exercise_refused_coll(meeting, &p, pcoll_algorithm_find(PCOLL_ALLTOALL, "direct"),
                                      1, keyless ? 1 : 20);
    }
    return wrong;
}

/* Starts the plan until it does not complete; returns what became of it. */
static enum pcoll_result start_in_vain(const struct part *p, int polls)
{
    enum pcoll_result result = PCOLL_OK;

    for (int k = 0; k < 10 && result == PCOLL_OK; k++) {
        result = p->medium->start(p->bound);
        for (int i = 0; i < polls && result == PCOLL_PENDING; i++) {
            result = p->medium->progress(p->bound);
            p->medium->rest(p->bound, 100);
        }
    }
    return result;
}

/* Rank 1 dies between two instances of one plan of each collective; the other ranks get an error,
 * or wait for what can never arrive. A root that only sends may complete. */
static int exercise_death(struct setup *setup, struct meeting *meeting, struct part *part)
{
    struct part parts[PCOLL_NUM_COLLS];
    int ends[3] = {0};

    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++) {
        struct part *p = &parts[coll];

        *p = *part;
        p->signature = signature_of(coll, setup->nranks, 1000);
        if (part_init(p, first_of(coll), &no_params) != PCOLL_OK || part_bind(p) != PCOLL_OK ||
            part_run(p, 2))
            return 1;
        meeting_barrier(meeting);
    }
    if (part->rank == 1)
        kill(getpid(), SIGKILL);
    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++) {
        const enum pcoll_result result = start_in_vain(&parts[coll], coll == 0 ? 2000 : 50);

        ends[result == PCOLL_OK ? 0 : result == PCOLL_PENDING ? 1 : 2]++;
    }
    printf("# rank %d after the death of rank 1: %d plans complete, %d wait, %d have failed\n",
           part->rank, ends[0], ends[1], ends[2]);
    fflush(stdout);
    _exit(ends[1] + ends[2] < PCOLL_NUM_COLLS / 2);
}

static enum pcoll_result fail_joined(struct pcoll_wire_way *way, struct pcoll_wire_request *request,
                                     const struct pcoll_wire_transfer *data,
                                     const struct pcoll_wire_transfer *signal, const char **why_p)
{
    (void)way;
    (void)request;
    (void)data;
    (void)signal;
    *why_p = "on purpose";
    return PCOLL_ERR_SYSTEM;
}

/* Rank 1 cannot send data any more; it says so, and no rank completes. */
static int exercise_mute(struct setup *setup, struct meeting *meeting, struct part *part)
{
    const struct attendee *attendee = pcoll_rma_group_of(part->group)->bootstrap.context;
    struct pcoll_wire mute = *setup->subject->wire;
    struct pcoll_wire_endpoint *endpoint = pcoll_rma_group_of(part->group)->endpoints[0];
    struct part p = *part;
    enum pcoll_result result;
    int wrong;

    mute.put_joined = fail_joined;
    p.signature = signature_of(PCOLL_ALLTOALL, setup->nranks, 1000);
    if (part_init(&p, pcoll_algorithm_find(PCOLL_ALLTOALL, "direct"), &no_params) != PCOLL_OK ||
        part_bind(&p) != PCOLL_OK || part_run(&p, 2))
        return 1;
    meeting_barrier(meeting);
    if (p.rank == 1)
        endpoint->wire = &mute;
    result = start_in_vain(&p, 100000);
    wrong = result == PCOLL_OK || result == PCOLL_PENDING;
    if (p.rank == 1)
        wrong |= strstr(attendee->said, "put to rank 2: on purpose") == NULL;
    endpoint->wire = setup->subject->wire;
    meeting_barrier(meeting);
    part_unbind(&p);
    part_fini(&p);
    return wrong;
}

/* Ranks 0 and 1 share a node, and the root cannot write to rank 1. Only the root can tell rank 2.
 */
static int exercise_inaccessible(struct setup *setup, struct meeting *meeting, struct part *part)
{
    const struct pcoll_params params = {.path = PCOLL_PATH_USER};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct part p = *part;
    enum pcoll_result result;

    p.in_heap = 0;
    p.signature = signature_of(PCOLL_SCATTER, setup->nranks, 40000);
    if (part_init(&p, pcoll_algorithm_find(PCOLL_SCATTER, "direct_put"), &params) != PCOLL_OK ||
        part_bind(&p) != PCOLL_OK || part_run(&p, 2))
        return 1;
    meeting_barrier(meeting);
    if (p.rank == 1 && mprotect(p.recv + page - (uintptr_t)p.recv % page, page, PROT_NONE) != 0)
        return 1;
    result = start_in_vain(&p, 10000);
    meeting_barrier(meeting);
    _exit(result == PCOLL_OK || result == PCOLL_PENDING); /* what was sent may still arrive */
}

/* What binding does does not depend on the provider, so only the main one binds all collectives. */
void rma_check_failures(const struct subject *subject, const struct refusal *how, int is_main)
{
    static const struct layout all_away = {"each on a node of its own", "01234567"},
                               two_together = {"two on a node", "00123456"};
    struct setup setup = {
        .subject = subject, .layout = &all_away, .nranks = 4, .all_sizes = is_main};

    refusal = how;
    setup.exercise = exercise_refused;
    tap_ok(setup_run(setup) == 0, "%s, a rank cannot bind", subject->name);
    setup.nranks = 3;
    setup.exercise = exercise_mute;
    tap_ok(setup_run(setup) == 0, "%s, a rank cannot send", subject->name);
    setup.layout = &two_together;
    setup.exercise = exercise_inaccessible;
    tap_ok(setup_run(setup) == 0, "%s, a rank cannot access memory within its node", subject->name);
    setup.layout = &all_away;
    setup.exercise = exercise_death;
    tap_ok(setup_run(setup) == 1, "%s, a rank dies, the others do not hang", subject->name);
}
