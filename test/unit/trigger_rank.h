/*
 * Ranks that meet on the medium whose provider runs plans, over `sockets`.
 */
#ifndef PCOLL_TEST_TRIGGER_RANK_H
#define PCOLL_TEST_TRIGGER_RANK_H

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
struct trigger_rank {
    struct meeting *meeting;
    struct attendee attendee;
    struct pcoll_bootstrap bootstrap;
    struct pcoll_group *group;
    struct job job; /* of the last part */
};

extern _Atomic int *trigger_shared; /* [rank]: starts, as trial.h requires; it has the size of a
                                     * page */

int trigger_rank_open(struct trigger_rank *p, struct meeting *meeting, int rank);

/* Waits until all other ranks have unbound, too. */
void trigger_rank_leave(struct trigger_rank *p);
void trigger_rank_close(struct trigger_rank *p);

/* Makes the rank's part in that trial; returns 0 if it has none. */
int trigger_rank_part(struct part *p, const struct trial *t, struct trigger_rank *self);

#endif /* PCOLL_TEST_TRIGGER_RANK_H */
