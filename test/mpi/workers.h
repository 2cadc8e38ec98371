/* Threads of each rank that all do the same at the same time, each on a communicator of its own. */

#ifndef WORKERS_H_INCLUDED
#define WORKERS_H_INCLUDED

#include "check.h"

struct worker {
    MPI_Comm world;  /* of all ranks */
    uint64_t shared; /* random state, the same on all ranks */
    uint64_t local;  /* random state, different on every rank */
};

/* In the place of check_init: initialize everything for the threads of the option -threads=N (1),
 * at most 4. Returns their number. */
int workers_init(int *argc, char ***argv);

/* Collective: have so many threads work, of which the caller is one. */
void workers_run(int nthreads, void (*work)(struct worker *worker));

#endif /* WORKERS_H_INCLUDED */
