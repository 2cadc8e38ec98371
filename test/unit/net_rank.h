/*
 * Ranks that meet on a medium whose network runs plans, over loopback.
 */
#ifndef PCOLL_TEST_NET_RANK_H
#define PCOLL_TEST_NET_RANK_H

#include "test/unit/job.h"
#include "test/unit/meeting.h"
#include "test/unit/trial.h"

struct trial {
    const struct pcoll_algorithm *row;
    struct pcoll_params params;
    uint64_t bytes;
    int root, instances;
    int form; /* job_take_form */
};

/* The state of a rank. */
struct net_rank {
    struct meeting *meeting;
    struct attendee attendee;
    struct pcoll_bootstrap bootstrap;
    struct pcoll_topology *topology; /* NULL: one node */
    struct pcoll_group *group;
    struct job job; /* of the last part */
};

/* The program sets these first. */
extern const struct pcoll_medium *net_medium;
extern const char *net_provider; /* NULL: none */
extern int net_node_ranks;       /* how many consecutive ranks say that they share a node; 0: all */
extern _Atomic int *net_shared;  /* [rank]: starts, as trial.h requires; it has the size of a
                                  * page */

/* Returns whether this machine lets the medium have groups; if not, says why as a skipped test. */
int net_is_available(void);

int net_rank_open(struct net_rank *p, struct meeting *meeting, int rank);

/* Waits until all other ranks have unbound, too. */
void net_rank_leave(struct net_rank *p);
void net_rank_close(struct net_rank *p);

/* Makes the rank's part in that trial; returns 0 if it has none. */
int net_rank_part(struct part *p, const struct trial *t, struct net_rank *self);

/* What each rank does with its part in a trial, which is not bound; returns nonzero if something
 * went wrong. */
struct net_play {
    struct trial trial;
    int (*exercise)(struct part *p, struct net_rank *self, const struct net_play *play);
    const void *setup; /* the test's own */
};

/* One rank of a play, for meeting_run_processes. It unbinds the part, unless the exercise has, and
 * leaves. */
int net_rank_main(struct meeting *meeting, int rank, void *play);

/* A broadcast of many segments, in which inner ranks forward. */
struct trial net_long_chain(void);

#endif /* PCOLL_TEST_NET_RANK_H */
