/*
 * How often this process polls the network.
 *
 * A poll reads memory of the network's library or of its card. Many cores that poll without end
 * keep the card from the memory that it has to move data from and to. A rank that waits therefore
 * looks at words of its own in between, and the longer nothing has happened, the longer it lets
 * the network alone: up to a 32nd of that time, and PCOLL_PACE_MAX_NS. So what arrives is seen
 * later by that much at most. The first polls after an event follow each other without a pause.
 *
 * There is one pace for all plans, media and links of the process. Whoever may call a medium that
 * spans nodes may call these functions.
 */
#ifndef PCOLL_PACE_H
#define PCOLL_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PCOLL_PACE_FREE = 64,     /* polls without a pause */
    PCOLL_PACE_PART = 32,     /* a pause is this part of the time without an event */
    PCOLL_PACE_MAX_NS = 4000, /* at most */
};

struct pcoll_pace {
    unsigned long polls; /* all since the process began */
    unsigned empty;      /* polls since the last event, at most PCOLL_PACE_FREE */
    uint64_t quiet;      /* when these were over; 0: they are not */
    uint64_t polled;     /* when the last poll was, from then on */
};

/* Returns whether to poll at this time, in ns, and counts that. */
bool pcoll_pace_polls_at(struct pcoll_pace *pace, uint64_t now);

/* Something has arrived or begun. */
static inline void pcoll_pace_restart(struct pcoll_pace *pace)
{
    pace->empty = 0;
    pace->quiet = 0;
}

/* ---- that of the process ---- */

extern struct pcoll_pace pcoll_network_pace;

/* Returns whether to poll now, and counts that. */
bool pcoll_network_polls(void);

static inline void pcoll_network_event(void)
{
    pcoll_pace_restart(&pcoll_network_pace);
}

#endif /* PCOLL_PACE_H */
