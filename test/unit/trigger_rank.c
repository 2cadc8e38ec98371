/* Ranks over `sockets`; the contract is in trigger_rank.h. */
#include "test/unit/trigger_rank.h"

#include <unistd.h>

#include "offload/ofi_trigger/state.h"

_Atomic int *trigger_shared;

int trigger_rank_open(struct trigger_rank *p, struct meeting *meeting, int rank)
{
    p->meeting = meeting;
    p->attendee = (struct attendee){.meeting = meeting, .rank = rank};
    p->bootstrap = meeting_bootstrap(&p->attendee);
    p->bootstrap.provider = "sockets";
    p->bootstrap.interface = "127.0.0.1";
    return pcoll_medium_ofi_trigger.group_create(&p->bootstrap, &p->group) == PCOLL_OK;
}

void trigger_rank_leave(struct trigger_rank *p)
{
    while (pcoll_medium_ofi_trigger.lingering() > 0)
        usleep(100);
    meeting_barrier(p->meeting);
}

void trigger_rank_close(struct trigger_rank *p)
{
    trigger_rank_leave(p);
    pcoll_medium_ofi_trigger.group_destroy(p->group);
    pcoll_medium_ofi_trigger.finalize();
}

int trigger_rank_part(struct part *p, const struct trial *t, struct trigger_rank *self)
{
    struct pcoll_signature *sig = &self->job.signature;

    *sig = (struct pcoll_signature){
        .coll = t->row->coll, .nranks = self->bootstrap.nranks, .bytes = t->bytes};
    if (pcoll_coll_has(sig->coll, PCOLL_ROOTED))
        sig->root = t->root % sig->nranks;
    (void)job_take_form(&self->job, t->form);
    *p = (struct part){.medium = &pcoll_medium_ofi_trigger,
                       .group = self->group,
                       .signature = *sig,
                       .rank = self->bootstrap.rank,
                       .seed = (unsigned)self->bootstrap.rank + 1,
                       .starts = trigger_shared};
    return part_init(p, t->row, &t->params) == PCOLL_OK;
}
