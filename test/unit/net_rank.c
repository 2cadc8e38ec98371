/* Ranks over loopback; the contract is in net_rank.h. */
#include "test/unit/net_rank.h"

#include <stdlib.h>
#include <unistd.h>

#include "algorithms/plan/topology.h"
#include "test/unit/tap.h"

enum { PATIENCE = 300 }; /* seconds: a hang is a failure */

const struct pcoll_medium *net_medium;
const char *net_provider;
int net_node_ranks;
_Atomic int *net_shared;

static int has_no_group(struct meeting *meeting, int rank, void *argument)
{
    struct net_rank self;

    (void)argument;
    return !net_rank_open(&self, meeting, rank);
}

int net_is_available(void)
{
    if (meeting_run_processes(1, has_no_group, NULL) == 0)
        return 1;
    tap_ok(1, "%s # SKIP this machine refuses it", net_medium->name);
    return 0;
}

static struct pcoll_topology *make_nodes(int nranks)
{
    struct pcoll_topology *topology;
    int nodes[MEETING_MAX_RANKS];

    for (int r = 0; r < nranks; r++)
        nodes[r] = r / net_node_ranks;
    if (pcoll_topology_create(nodes, NULL, nranks, &topology) != PCOLL_OK)
        abort();
    return topology;
}

int net_rank_open(struct net_rank *p, struct meeting *meeting, int rank)
{
    p->meeting = meeting;
    p->attendee = (struct attendee){.meeting = meeting, .rank = rank};
    p->bootstrap = meeting_bootstrap(&p->attendee);
    p->bootstrap.provider = net_provider;
    p->bootstrap.interface = "127.0.0.1";
    p->topology = net_node_ranks > 0 ? make_nodes(p->bootstrap.nranks) : NULL;
    p->bootstrap.topology = p->topology;
    return net_medium->group_create(&p->bootstrap, &p->group) == PCOLL_OK;
}

void net_rank_leave(struct net_rank *p)
{
    while (net_medium->lingering() > 0)
        usleep(100);
    meeting_barrier(p->meeting);
}

void net_rank_close(struct net_rank *p)
{
    net_rank_leave(p);
    net_medium->group_destroy(p->group);
    net_medium->finalize();
    pcoll_topology_destroy(p->topology);
}

int net_rank_part(struct part *p, const struct trial *t, struct net_rank *self)
{
    struct pcoll_signature *sig = &self->job.signature;

    *sig = (struct pcoll_signature){
        .coll = t->row->coll, .nranks = self->bootstrap.nranks, .bytes = t->bytes};
    if (pcoll_coll_has(sig->coll, PCOLL_ROOTED))
        sig->root = t->root % sig->nranks;
    (void)job_take_form(&self->job, t->form);
    *p = (struct part){.medium = net_medium,
                       .group = self->group,
                       .signature = *sig,
                       .rank = self->bootstrap.rank,
                       .seed = (unsigned)self->bootstrap.rank + 1,
                       .starts = net_shared};
    return part_init(p, t->row, &t->params) == PCOLL_OK;
}

int net_rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct net_play *play = argument;
    struct net_rank self;
    struct part p;

    alarm(PATIENCE);
    if (!net_rank_open(&self, meeting, rank) || !net_rank_part(&p, &play->trial, &self) ||
        play->exercise(&p, &self, play))
        return 1;
    if (p.bound != NULL)
        part_unbind(&p);
    part_fini(&p);
    net_rank_close(&self);
    return 0;
}

struct trial net_long_chain(void)
{
    return (struct trial){.row = pcoll_algorithm_find(PCOLL_BCAST, "chain"),
                          .params = {.segment = 50000},
                          .bytes = 2000000,
                          .instances = 20};
}
