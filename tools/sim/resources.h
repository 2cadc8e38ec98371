/*
 * The resources of a rank: the counters of its plan, and those that the same messages take if each
 * is a send matched with a receive.
 *
 * Document 001 assigns the pre-matched send and receive of Schneider et al. (2013) one counter for
 * a send and two for a receive, and counts them in two ways. Section 5.1 counts channels: from a
 * parent in a tree, and to a child in a tree. Matching distinguishes the messages of one channel,
 * which takes a counter for each message if hardware does it. Table 6 counts rounds, each with a
 * send and a receive. Here all of these are counted in the schedule that schedule.h makes of the
 * plan. Messages that only say "ready" are left out, since matching takes their place.
 */
#ifndef PCOLL_SIM_RESOURCES_H
#define PCOLL_SIM_RESOURCES_H

#include "tuning/sim/program.h"

struct pcoll_resources {
    int counters, entries;         /* of the plan, in all phases */
    int sends, receives;           /* of data, in one instance */
    int channels_out, channels_in; /* number of different pairs of peer and rail */
    int rounds;                    /* steps in which the rank sends or receives */
};

/* The numbers of counters in the two ways above. */
static inline int pcoll_resources_by_channel(const struct pcoll_resources *resources)
{
    return resources->channels_out + 2 * resources->channels_in;
}

static inline int pcoll_resources_by_round(const struct pcoll_resources *resources)
{
    return 3 * resources->rounds;
}

/* The resources of one rank; generates its plan and those of its neighbors only. */
enum pcoll_result pcoll_resources_of(const struct pcoll_job *job, int rank,
                                     struct pcoll_resources *resources) PCOLL_MUST_CHECK;

/* Raise each member of `max` to that of `one` if it is larger. */
void pcoll_resources_max(struct pcoll_resources *max, const struct pcoll_resources *one);

#endif /* PCOLL_SIM_RESOURCES_H */
