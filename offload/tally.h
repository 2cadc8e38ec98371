/*
 * How many chunks of long entries on boards the threads of this process have performed, for MPI_T.
 * Nothing else is counted, as all else may be short.
 */
#ifndef PCOLL_TALLY_H
#define PCOLL_TALLY_H

enum pcoll_worker {
    PCOLL_BY_OPENER, /* whose step it is, in calls of MPI */
    PCOLL_BY_HELPER, /* the owner of the other memory, in calls of MPI */
    PCOLL_BY_AGENT,  /* for either */
    PCOLL_NUM_WORKERS
};

/* The calling thread is an agent, until it ends. */
void pcoll_tally_agent(void);

/* The calling thread has copied a chunk: for the worker named, unless it is an agent. */
void pcoll_tally_chunk(enum pcoll_worker worker);

unsigned long pcoll_tally_chunks(enum pcoll_worker worker);

#endif /* PCOLL_TALLY_H */
