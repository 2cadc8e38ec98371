/* Ranks over `sockets`; the contract is in party.h. */
#include "test/unit/party.h"

#include <unistd.h>

#include "offload/ofi_trigger/state.h"

_Atomic int *party_shared;

int party_open(struct party *p, struct meeting *meeting, int rank)
{
    p->meeting = meeting;
    p->attendee = (struct attendee){.meeting = meeting, .rank = rank};
    p->bootstrap = meeting_bootstrap(&p->attendee);
    p->bootstrap.provider = "sockets";
    p->bootstrap.interface = "127.0.0.1";
    return pcoll_medium_ofi_trigger.group_create(&p->bootstrap, &p->group) == PCOLL_OK;
}

void party_leave(struct party *p)
{
    while (pcoll_medium_ofi_trigger.lingering() > 0)
        usleep(100);
    meeting_barrier(p->meeting);
}

void party_close(struct party *p)
{
    party_leave(p);
    pcoll_medium_ofi_trigger.group_destroy(p->group);
    pcoll_medium_ofi_trigger.finalize();
}

int party_part(struct part *p, const struct trial *t, struct party *party)
{
    struct pcoll_signature *sig = &party->job.signature;

    *sig = (struct pcoll_signature){
        .coll = t->row->coll, .nranks = party->bootstrap.nranks, .bytes = t->bytes};
    if (pcoll_coll_has(sig->coll, PCOLL_ROOTED))
        sig->root = t->root % sig->nranks;
    (void)job_take_form(&party->job, t->form);
    *p = (struct part){.medium = &pcoll_medium_ofi_trigger,
                       .group = party->group,
                       .signature = *sig,
                       .rank = party->bootstrap.rank,
                       .seed = (unsigned)party->bootstrap.rank + 1,
                       .starts = party_shared};
    return part_init(p, t->row, &t->params) == PCOLL_OK;
}
