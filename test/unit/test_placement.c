/*
 * Where communication buffers lie: copies to and from long ones begin half a page behind a page,
 * wherever the extent of the plan is, so that they are fast (offload/copy.h).
 */
#include <stdatomic.h>

#include "algorithms/algorithm.h"
#include "offload/copy.h"
#include "offload/node/bound.h"
#include "offload/shm/shm.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"

enum { RANKS = 3, BOUND = 3, SEGMENT = 8192, BYTES = 2 * SEGMENT, INSTANCES = 4 };

static _Atomic int *starts; /* as trial.h requires */

/* ---- what a rank copies ---- */

static _Thread_local const struct pcoll_node_bound *observed; /* NULL: nothing */
static _Thread_local int nhalfway, nelsewhere;                /* ends of copies in its extent */

void __real_pcoll_copy(void *to, const void *from, size_t bytes);
void __wrap_pcoll_copy(void *to, const void *from, size_t bytes);

static void observe(const char *end)
{
    if (observed == NULL || end < (const char *)observed->extent || end >= observed->relays)
        return;
    if ((uintptr_t)end % PCOLL_COPY_PERIOD == PCOLL_COPY_PERIOD / 2)
        nhalfway++;
    else
        nelsewhere++;
}

void __wrap_pcoll_copy(void *to, const void *from, size_t bytes)
{
    observe(to);
    observe(from);
    __real_pcoll_copy(to, from, bytes);
}

/* ---- trials ---- */

struct setup {
    const char *name;
    enum pcoll_coll coll;
};

/* Several plans are bound at the same time, so each has its extent at another place of a page. */
static int exercise(struct part *p, const struct part_frame *frame)
{
    struct pcoll_bound *bounds[BOUND];
    int wrong = 0, nbound = 0;

    nhalfway = nelsewhere = 0;
    while (nbound < BOUND && !wrong) {
        meeting_barrier(frame->meeting);
        if (part_bind(p) != PCOLL_OK)
            return 1;
        bounds[nbound++] = p->bound;
        observed = pcoll_node_bound_of(p->bound);
        wrong = part_run(p, INSTANCES);
        observed = NULL;
    }
    while (nbound > 0) {
        p->bound = bounds[--nbound];
        part_unbind(p);
    }
    return wrong || nelsewhere > 0 || nhalfway == 0;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct setup *setup = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const struct pcoll_params params = {.path = PCOLL_PATH_TEMP, .segment = SEGMENT};
    const struct part_frame frame = {.meeting = meeting,
                                     .bootstrap = &bootstrap,
                                     .row = pcoll_algorithm_find(setup->coll, setup->name),
                                     .params = &params,
                                     .exercise = exercise};
    struct part p = {.medium = &pcoll_medium_shm,
                     .signature = {setup->coll, RANKS, 0, BYTES},
                     .rank = rank,
                     .seed = (unsigned)rank + 1,
                     .starts = starts};

    return part_perform(&p, &frame);
}

int main(void)
{
    static struct setup setups[] = {{"eager", PCOLL_BCAST},
                                    {"direct", PCOLL_ALLGATHER},
                                    {"direct", PCOLL_ALLTOALL},
                                    {"direct", PCOLL_GATHER}};
    struct meeting *page = meeting_create(0); /* any shared page will do */

    starts = (_Atomic int *)(void *)page;
    for (size_t i = 0; i < sizeof(setups) / sizeof(setups[0]); i++) {
        const char *coll = pcoll_coll_name(setups[i].coll);

        tap_ok(meeting_run_threads(RANKS, rank_main, &setups[i]) == 0, "%s, ranks as threads",
               coll);
        tap_ok(meeting_is_threads_only() ||
                   meeting_run_processes(RANKS, rank_main, &setups[i]) == 0,
               "%s, ranks as processes", coll);
    }
    meeting_destroy(page);
    return tap_done();
}
