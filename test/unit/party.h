/*
 * Ranks that meet on the medium whose provider runs plans, over `sockets`.
 */
#ifndef PCOLL_TEST_PARTY_H
#define PCOLL_TEST_PARTY_H

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
struct party {
    struct meeting *meeting;
    struct attendee attendee;
    struct pcoll_bootstrap bootstrap;
    struct pcoll_group *group;
    struct job job; /* of the last part */
};

extern _Atomic int *party_shared; /* [rank]: starts, as trial.h requires; it has the size of a
                                   * page */

int party_open(struct party *p, struct meeting *meeting, int rank);

/* Waits until all other ranks have unbound, too. */
void party_leave(struct party *p);
void party_close(struct party *p);

/* Makes the rank's part in that trial; returns 0 if it has none. */
int party_part(struct part *p, const struct trial *t, struct party *party);

#endif /* PCOLL_TEST_PARTY_H */
