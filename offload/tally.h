/*
 * The chunks of long entries on boards that the threads of this process have performed are counted
 * for MPI_T. Other entries are not counted, as they may be short.
 */
#ifndef PCOLL_TALLY_H
#define PCOLL_TALLY_H

enum pcoll_worker {
    PCOLL_BY_OWNER,  /* the entry's own rank, in calls of MPI */
    PCOLL_BY_HELPER, /* another rank, in calls of MPI */
    PCOLL_BY_AGENT,  /* for any rank */
    PCOLL_NUM_WORKERS
};

/* The calling thread is an agent, until it ends. */
void pcoll_tally_agent(void);

/* The calling thread has performed a chunk, as that worker unless it is an agent. */
void pcoll_tally_chunk(enum pcoll_worker worker);

unsigned long pcoll_tally_chunks(enum pcoll_worker worker);

#endif /* PCOLL_TALLY_H */
