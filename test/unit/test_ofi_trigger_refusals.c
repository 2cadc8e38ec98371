/* All ranks refuse, with a message, what the medium whose provider runs plans cannot do. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/ofi_trigger/state.h"
#include "test/unit/net_rank.h"
#include "test/unit/refuse.h"
#include "test/unit/tap.h"

static const struct pcoll_medium *const medium = &pcoll_medium_ofi_trigger;

static int run_refused(struct meeting *meeting, int rank, void *argument)
{
    struct net_rank self = {.meeting = meeting, .attendee = {.meeting = meeting, .rank = rank}};

    /* Only one rank has the wrong provider: all must learn of it. */
    self.bootstrap = meeting_bootstrap(&self.attendee);
    self.bootstrap.provider = rank == 1 ? argument : "sockets";
    if (medium->group_create(&self.bootstrap, &self.group) != PCOLL_UNSUPPORTED)
        return 1;
    pcoll_medium_ofi_trigger.finalize();
    return rank == 1 && self.attendee.reports == 0;
}

static int run_budget(struct meeting *meeting, int rank, void *argument)
{
    struct trial t = {.row = pcoll_algorithm_find(PCOLL_BARRIER, "butterfly"), .instances = 20};
    struct part p, other;
    struct net_rank self;
    int wrong;

    /* Only one rank is short of counters, or of works. */
    if (rank == 2 && argument)
        pcoll_ofi_trigger_settings.counters = 8;
    if (rank == 2 && !argument)
        pcoll_ofi_trigger_settings.works = 7;
    if (!net_rank_open(&self, meeting, rank) || !net_rank_part(&p, &t, &self) ||
        !net_rank_part(&other, &t, &self) || part_bind(&p) != PCOLL_OK)
        return 1;
    wrong = part_bind(&other) != PCOLL_UNSUPPORTED || (rank == 2 && self.attendee.reports == 0) ||
            part_run(&p, t.instances);
    part_unbind(&p);
    /* When all ranks have left, everything that was taken is available again. */
    net_rank_leave(&self);
    if (wrong || part_bind(&other) != PCOLL_OK)
        return 1;
    part_unbind(&other);
    part_fini(&p);
    part_fini(&other);
    net_rank_close(&self);
    return 0;
}

/* One rank's provider refuses the n-th registration, for every n: no rank has a bound plan until
 * all registrations are granted. */
static int exercise_unregistered(struct part *p, struct net_rank *self, const struct net_play *play)
{
    const int is_short = p->rank == 1;
    struct fid_domain *domain = trigger_group_of(self->group)->endpoint->domain;
    enum pcoll_result result = PCOLL_ERR_SYSTEM;
    int wrong = 0, n = 0;

    while (result == PCOLL_ERR_SYSTEM && ++n < 20) {
        if (is_short)
            refuse_begin(domain, n);
        result = part_bind(p);
        if (is_short)
            refuse_end(domain);
        wrong |= is_short && refused != (result != PCOLL_OK);
    }
    wrong |= is_short && strstr(self->attendee.said, "cannot register") == NULL;
    return wrong || result != PCOLL_OK || n < 3 || part_run(p, play->trial.instances);
}

/* A key that no rank has: the provider reports the error, the plan fails, and no rank hangs. */
static int exercise_bad_key(struct part *p, struct net_rank *self, const struct net_play *play)
{
    (void)play;
    if (part_bind(p) != PCOLL_OK)
        return 1;
    for (int i = 0; i < p->plan->nentries; i++)
        trigger_bound_of(p->bound)->works[i].remote.key += 1000000;
    return part_start(p) || !part_wait(p) || strstr(self->attendee.said, " rank ") == NULL ||
           medium->start(p->bound) != PCOLL_ERR_SYSTEM;
}

static int exercise_not_lowered(struct part *p, struct net_rank *self, const struct net_play *play)
{
    int wrong;

    (void)self;
    (void)play;
    p->plan->lowered = p->rank != 1;
    wrong = part_bind(p) != PCOLL_ERR_INVALID;
    if (p->rank == 0)
        pcoll_plan_destroy(p->plan);
    if (p->rank == 0)
        p->plan = NULL;
    else
        p->plan->lowered = 1;
    return wrong || part_bind(p) != PCOLL_ERR_INVALID;
}

static void check_refusals(void)
{
    static char without[] = "tcp;ofi_rxm", unknown[] = "carrier pigeon";
    struct net_play unregistered = {
        {.row = pcoll_algorithm_find(PCOLL_BCAST, "knomial_put"), .bytes = 9000, .instances = 3},
        exercise_unregistered,
        NULL};
    struct net_play bad_key = {
        {.row = pcoll_algorithm_find(PCOLL_BARRIER, "dissemination")}, exercise_bad_key, NULL};
    struct net_play not_lowered = {
        {.row = pcoll_algorithm_find(PCOLL_BARRIER, "butterfly")}, exercise_not_lowered, NULL};

    tap_ok(meeting_run_processes(3, run_refused, without) == 0,
           "a provider without deferred work is unsupported on all ranks");
    tap_ok(meeting_run_processes(3, run_refused, unknown) == 0,
           "an unknown provider is unsupported on all ranks");
    tap_ok(meeting_run_processes(4, run_budget, without) == 0,
           "no counters left on one rank is unsupported on all, until some are given back");
    tap_ok(meeting_run_processes(4, run_budget, NULL) == 0,
           "no works left on one rank is unsupported on all, likewise");
    tap_ok(meeting_run_processes(4, net_rank_main, &unregistered) == 0,
           "a refused registration on one rank is an error on all, and the next one works");
    tap_ok(meeting_run_processes(3, net_rank_main, &bad_key) == 0,
           "a refused write fails the plan and names the peer");
    tap_ok(meeting_run_processes(3, net_rank_main, &not_lowered) == 0,
           "a plan that is not lowered, or is missing, is an error on all ranks");
}

int main(void)
{
    struct meeting *page = meeting_create(0); /* any shared page will do */

    net_medium = &pcoll_medium_ofi_trigger;
    net_provider = "sockets";
    net_shared = (_Atomic int *)(void *)page;
    check_refusals();
    meeting_destroy(page);
    return tap_done();
}
