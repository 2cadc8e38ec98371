/* A trial: one persistent collective under test, with its buffers and the knowledge of what it must
 * deliver. Every start gets new data and poisoned receive buffers. */

#ifndef TRIAL_H_INCLUDED
#define TRIAL_H_INCLUDED

#include "check.h"

enum trial_kind {
    TRIAL_BARRIER,
    TRIAL_BCAST,
    TRIAL_ALLGATHER,
    TRIAL_ALLGATHER_IN_PLACE,
    TRIAL_GATHER,
    TRIAL_GATHER_IN_PLACE, /* the root */
    TRIAL_SCATTER,
    TRIAL_SCATTER_IN_PLACE, /* the root */
    TRIAL_ALLTOALL,
    TRIAL_ALLTOALL_IN_PLACE,
    TRIAL_ALLREDUCE,          /* by a user's operator that does not commute */
    TRIAL_ALLREDUCE_IN_PLACE, /* by a predefined one */
    TRIAL_KINDS
};

struct trial {
    enum trial_kind kind;
    size_t bytes; /* of the broadcast message, of a vector, otherwise of one block */
    int root;
    uint64_t tag;  /* the same on all ranks; distinguishes trials */
    uint64_t step; /* number of starts so far */
    int rank, size;
    char *send, *receive; /* NULL if the rank does not send, or has it in place; does not receive */
    uint32_t *board;      /* for a barrier: the step that each rank has entered */
    MPI_Request request;
};

const char *trial_name(enum trial_kind kind);
int trial_wanted(enum trial_kind kind); /* by option -only=barrier,bcast,... */

/* Words that all ranks of `comm` share, initially 0; all ranks must be on one machine.
 * Collective. */
uint32_t *trial_board(int words, MPI_Comm comm);
void trial_board_free(uint32_t *board, int words); /* local */

/* Collective over `comm`, an intracommunicator that may be freed afterwards. */
void trial_init(struct trial *t, enum trial_kind kind, size_t bytes, int root, uint64_t tag,
                MPI_Comm comm, MPI_Info info);
/* trial_prepare sets new data, and MPI_Start[all] must follow; trial_start does both. */
void trial_prepare(struct trial *t);
void trial_start(struct trial *t);
/* trial_verify must follow completion and precede the next prepare; trial_wait waits and
 * verifies. */
void trial_verify(const struct trial *t);
void trial_wait(struct trial *t);
/* Starts and waits `times` times, with random delays on random ranks. */
void trial_run(struct trial *t, int times);
/* Local; the request must be inactive. */
void trial_free(struct trial *t);

/* Creates, runs and frees a trial of each kind with the given size and root. */
void trial_all_kinds(size_t bytes, int root, uint64_t tag, int times, MPI_Comm comm, MPI_Info info);

#endif /* TRIAL_H_INCLUDED */
