/*
 * What a rank holds: counters of its plan, and those that the same messages take when each is a
 * send matched with a receive.
 *
 * Document 001 gives the pre-matched send and receive of Schneider et al. (2013) one counter for a
 * send and two for a receive, and counts them in two ways.  Section 5.1 counts channels: from a
 * parent in a tree, to a child in a tree; the messages of one channel are told apart by matching,
 * which takes a counter each where hardware does it.  Table 6 counts rounds, each with a send and a
 * receive.  Here all of it is counted in the schedule that schedule.h makes of the plan; messages
 * that only say "ready" are left out, as the matching does that.
 */
#ifndef PCOLL_SIM_RESOURCES_H
#define PCOLL_SIM_RESOURCES_H

#include "tuning/sim/program.h"

struct pcoll_resources {
    int counters, entries;         /* of the plan, all phases */
    int sends, receives;           /* of data, of one instance */
    int channels_out, channels_in; /* different peers and rails of these */
    int rounds;                    /* steps in which it sends or receives */
};

/* Counters of the two formulations above. */
static inline int pcoll_resources_by_channel(const struct pcoll_resources *resources)
{
    return resources->channels_out + 2 * resources->channels_in;
}

static inline int pcoll_resources_by_round(const struct pcoll_resources *resources)
{
    return 3 * resources->rounds;
}

/* Of one rank; makes its plan and those of its neighbors only. */
enum pcoll_result pcoll_resources_of(const struct pcoll_job *job, int rank,
                                     struct pcoll_resources *resources) PCOLL_MUST_CHECK;

/* Raise each member of `most` to that of `one`. */
void pcoll_resources_most(struct pcoll_resources *most, const struct pcoll_resources *one);

#endif /* PCOLL_SIM_RESOURCES_H */
