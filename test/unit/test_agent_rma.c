/*
 * Agents on the RMA media: ranks on nodes of their own, or partly on the same node, start plans
 * and call nothing until their agents have ended the instance; then with ranks that wait, several
 * plans at a time, and the owner's polls in between.
 */
#include <stdlib.h>
#include <unistd.h>

#include "offload/agent/agent.h"
#include "offload/agree.h"
#include "offload/ofi_rma/ofi_rma.h"
#include "offload/ofi_rma/wire.h"
#include "test/unit/setup.h"
#include "test/unit/tap.h"
#ifdef PCOLL_HAVE_UCX
#include "offload/ucx_rma/ucx_rma.h"
#include "offload/ucx_rma/wire.h"
#endif

enum { INSTANCES = 5, PATIENCE_USEC = 60000000, STEP_USEC = 50 };

static const struct pcoll_medium *medium;
static const struct layout layouts[] = {
    {"each on a node of its own", "012"},
    {"nodes of 2 and 1", "001"},
};

static struct pcoll_agent *agent;

static void poll_beside_agent(void)
{
    if (!pcoll_agent_try_hold(agent))
        return;
    medium->poll();
    pcoll_agent_release(agent);
}

static int has_ended(unsigned long ended)
{
    for (long usec = 0; pcoll_agent_account(agent).ended < ended; usec += STEP_USEC) {
        if (usec > PATIENCE_USEC)
            return 0;
        usleep(STEP_USEC);
    }
    return 1;
}

static int bind_served(struct part *p, bool is_long)
{
    struct pcoll_bound *served;
    enum pcoll_result result;

    pcoll_agent_hold(agent);
    result = part_bind(p);
    pcoll_agent_release(agent);
    if (result != PCOLL_OK || pcoll_agent_serve(agent, p->bound, is_long, &served) != PCOLL_OK)
        return 0;
    p->bound = served;
    return 1;
}

/* Ranks agree after each instance, or some would wait for others. */
static int run_absent(struct part *p, const struct pcoll_bootstrap *bootstrap)
{
    int wrong = 0;

    for (int i = 0; i < INSTANCES; i++) {
        const unsigned long ended = pcoll_agent_account(agent).ended;

        wrong = part_start(p) || !p->active || !has_ended(ended + 1);
        if (wrong)
            printf("# rank %d: the agent has not ended instance %d\n", p->rank, i);
        if (pcoll_agree(bootstrap, PCOLL_ROUND_BOUND, wrong ? PCOLL_ERR_SYSTEM : PCOLL_OK, NULL,
                        0) != PCOLL_OK)
            return 1;
        wrong = p->bound->medium->progress(p->bound) != PCOLL_OK || part_wait(p);
        if (wrong)
            return 1;
    }
    return 0;
}

static int try_row(const struct pcoll_algorithm *row, const struct part *model, uint64_t bytes,
                   const struct pcoll_bootstrap *bootstrap)
{
    const struct pcoll_params params = {.segment = row->uses_segment ? 32768 : 0};
    struct part p = *model;
    enum pcoll_result made;
    int wrong;

    p.signature = (struct pcoll_signature){
        .coll = row->coll, .nranks = bootstrap->nranks, .bytes = bytes, .commutes = 1};
    if (pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES))
        p.signature.bytes = 0;
    made = pcoll_agree(bootstrap, PCOLL_ROUND_BOUND, part_init(&p, row, &params), NULL, 0);
    wrong = made != PCOLL_UNSUPPORTED && made != PCOLL_OK;
    if (made == PCOLL_OK) {
        wrong = !bind_served(&p, 1) || run_absent(&p, bootstrap) || part_run(&p, INSTANCES);
        part_unbind(&p);
    }
    part_fini(&p);
    if (wrong)
        printf("# %s %s, %lu bytes\n", pcoll_coll_name(row->coll), row->name, (unsigned long)bytes);
    return wrong;
}

static int exercise_rows(struct setup *setup, const struct part *part,
                         const struct pcoll_bootstrap *bootstrap)
{
    PCOLL_EACH_ALGORITHM (row)
        for (uint64_t bytes = 8; bytes <= 65544; bytes += 65536)
            if ((setup->all_sizes || bytes > 8) && try_row(row, part, bytes, bootstrap))
                return 1;
    return 0;
}

/* Plans that begin and end in changing order; the third is left to its owner, who now and then
 * binds it again while the others are active. */
static int exercise_several(struct setup *setup, struct meeting *meeting, const struct part *part)
{
    static const struct {
        enum pcoll_coll coll;
        const char *algorithm;
        uint64_t bytes;
    } plans[] = {{PCOLL_BCAST, "chain", 300000},
                 {PCOLL_ALLGATHER, "ring", 40000},
                 {PCOLL_BARRIER, "dissemination", 0}};
    const struct pcoll_params params = {.segment = 32768};
    struct part parts[3];
    int wrong = 0;

    for (int i = 0; i < 3 && !wrong; i++) {
        parts[i] = *part;
        parts[i].starts += 16 * i;
        parts[i].signature = (struct pcoll_signature){
            .coll = plans[i].coll, .nranks = setup->nranks, .bytes = plans[i].bytes};
        wrong = part_init(&parts[i], pcoll_algorithm_find(plans[i].coll, plans[i].algorithm),
                          &params) != PCOLL_OK ||
                !bind_served(&parts[i], i < 2);
    }
    for (int k = 0; k < 60 && !wrong; k++) {
        for (int i = 0; i < 2; i++)
            wrong |= part_start(&parts[(i + k) % 2]);
        if (k % 6 == 5) {
            part_unbind(&parts[2]);
            meeting_barrier(meeting);
            wrong |= !bind_served(&parts[2], 0);
        }
        wrong |= part_start(&parts[2]);
        for (int i = 0; i < 3; i++)
            wrong |= part_wait(&parts[(i + k / 3) % 3]);
    }
    for (int i = 0; i < 3; i++) {
        part_unbind(&parts[i]);
        part_fini(&parts[i]);
    }
    return wrong;
}

static int exercise(struct setup *setup, struct meeting *meeting, struct part *part)
{
    const struct pcoll_agent_options options = {PCOLL_NONE, 1, 50, 0};
    struct attendee attendee = {.meeting = meeting, .rank = part->rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    int wrong;

    medium = setup->subject->medium;
    if (pcoll_agent_create(&options, &agent) != 0)
        return 1;
    meeting_on_wait = poll_beside_agent;
    wrong = exercise_rows(setup, part, &bootstrap) || exercise_several(setup, meeting, part);
    meeting_barrier(meeting);
    meeting_on_wait = medium->poll;
    pcoll_agent_destroy(agent);
    return wrong;
}

static const struct subject subjects[] = {
    {"tcp;ofi_rxm", &pcoll_medium_ofi_rma, &pcoll_wire_ofi, "tcp;ofi_rxm", 1},
    {"sockets", &pcoll_medium_ofi_rma, &pcoll_wire_ofi, "sockets", 1},
#ifdef PCOLL_HAVE_UCX
    {"UCX, tcp", &pcoll_medium_ucx_rma, &pcoll_wire_ucx, NULL, 0},
#endif
};

int main(void)
{
    const size_t nsubjects = sizeof(subjects) / sizeof(subjects[0]);

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t k = 0; k < nsubjects; k++)
        for (size_t i = 0; i < 2; i++) {
            struct setup setup = {.subject = &subjects[k],
                                  .layout = &layouts[i],
                                  .nranks = 3,
                                  .all_sizes = tap_depth() > TAP_BRIEF && k == 0,
                                  .exercise = exercise};

            if (k % 2 == i || tap_depth() == TAP_FULL)
                tap_ok(setup_run(setup) == 0, "%s, %s", setup.subject->name, setup.layout->name);
        }
    return tap_done();
}
