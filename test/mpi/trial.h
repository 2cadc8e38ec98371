/* A trial: one persistent collective under test, with its buffers and the knowledge of what it must
 * deliver according to the standard. Every start gets new data and poisoned receive buffers.
 *
 * Blocks of unequal length lie in reverse order with gaps (those of an allgatherv: on all, some or
 * no ranks), and some are empty. Neighbor collectives run on a torus or a graph that the trial
 * makes. Out of place, reductions use a user's operator that does not commute, otherwise a
 * predefined one. */

#ifndef TRIAL_H_INCLUDED
#define TRIAL_H_INCLUDED

#include "messages.h"

/* TRIAL_BCAST, ...; TRIAL_GATHER_IN_PLACE, ...: on all ranks, or on the root if there is one. */
#define TRIAL_PLAIN(NAME, name) TRIAL_##NAME,
#define TRIAL_BOTH(NAME, name) TRIAL_##NAME, TRIAL_##NAME##_IN_PLACE,
enum trial_kind { COLLECTIVES(TRIAL_PLAIN, TRIAL_BOTH) TRIAL_KINDS };
#undef TRIAL_PLAIN
#undef TRIAL_BOTH

struct trial_part {
    struct message message;
    size_t place, bytes; /* in the buffer */
};

struct trial {
    enum trial_kind kind;
    enum coll coll;
    int in_place; /* on this rank */
    size_t bytes; /* of the broadcast message, of a vector, otherwise of the largest block */
    int root;
    uint64_t tag;  /* the same on all ranks; distinguishes trials */
    uint64_t step; /* number of starts so far */
    int rank, size;
    struct roles roles;
    int nsent, nreceived;
    struct trial_part *sent, *received;
    size_t send_span, receive_span;
    char *send, *receive; /* NULL if the rank does not send, or has it in place; does not receive */
    uint32_t *board;      /* for a barrier: the step that each rank has entered */
    struct call call;
    MPI_Request request;
};

/* Blocks have no gaps, as all algorithms of an allgatherv but one require. */
extern int trial_side_by_side;

const char *trial_name(enum trial_kind kind);
enum coll trial_coll(enum trial_kind kind);
int trial_wanted(enum trial_kind kind);    /* by option -only=barrier,bcast,... */
int trial_has_plans(enum trial_kind kind); /* see coll_has_plans */

/* Collective over `comm`, an intracommunicator that may be freed afterwards. */
void trial_init(struct trial *t, enum trial_kind kind, size_t bytes, int root, uint64_t tag,
                MPI_Comm comm, MPI_Info info);
/* The same on a communicator with a topology. */
void trial_init_on(struct trial *t, enum trial_kind kind, size_t bytes, int root, uint64_t tag,
                   MPI_Comm comm, const struct edges *edges, MPI_Info info);
/* The same, but returns what MPI_X_init returned. After an error only trial_free may follow. */
int trial_try_on(struct trial *t, enum trial_kind kind, size_t bytes, int root, uint64_t tag,
                 MPI_Comm comm, const struct edges *edges, MPI_Info info);
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

/* Creates, runs and frees a trial of each wanted kind with the given size and root. */
void trial_all_kinds(size_t bytes, int root, uint64_t tag, int times, MPI_Comm comm, MPI_Info info);

#endif /* TRIAL_H_INCLUDED */
