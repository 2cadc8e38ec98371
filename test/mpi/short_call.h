/* A short collective of any of the kinds that may be promoted, blocking, nonblocking or persistent:
 * random length, root, type and operator, perhaps in place. Every rank checks all of its data. */

#ifndef SHORT_CALL_H_INCLUDED
#define SHORT_CALL_H_INCLUDED

#include "elements.h"
#include "layout.h"

enum what {
    BARRIER,
    BCAST,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    REDUCE, /* the first that reduces */
    ALLREDUCE,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    WHATS
};
enum way { BLOCKING, NONBLOCKING, PERSISTENT };

/* A call and its memory. */
struct short_call {
    enum what what;
    const struct elements *e; /* of a reduction */
    MPI_Comm comm;
    int rank, n, root, in_place, step;
    long count;           /* of a block: elements if it is reduced, otherwise bytes */
    struct layout layout; /* of this rank's buffers, if nothing is reduced */
    MPI_Datatype type;
    char *send, *receive; /* NULL: there is no such buffer */
    int *counts, *displs; /* of an allgatherv */
    uint32_t *board;      /* [ranks of MPI_COMM_WORLD] the last barrier that each has reached */
    MPI_Request request;
    enum way way;
};

/* What every program does once, before and after its calls. */
void short_calls_init(void);
void short_calls_free(void);

/* All ranks of `comm` pass the same `step`, which is greater than that of their last call, the same
 * `round`, calls of which resemble each other, and the same `shared`; `local` differs. */
void short_call_make(struct short_call *c, MPI_Comm comm, uint32_t *board, int step, int round,
                     uint64_t *shared, uint64_t *local);
/* Fill and poison its memory, and make the call; a blocking one is complete then. */
void short_call_begin(struct short_call *c);
/* Complete the call, verify what it has delivered, and free all. */
void short_call_finish(struct short_call *c);

/* From 0 to n - 1. */
int short_calls_draw(uint64_t *state, int n);

#endif /* SHORT_CALL_H_INCLUDED */
