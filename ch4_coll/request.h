/* The MPI requests of plans, from init to their end. */

#ifndef REQUEST_H_INCLUDED
#define REQUEST_H_INCLUDED

#include "plan.h"

/* A plan that the user starts by a request. */
struct MPIDI_PCOLL_request {
    struct MPIDI_PCOLL_plan plan; /* first, as every start goes from the request to its plan */
    MPIR_Request *preq;           /* what the user has; NULL: freed */
    MPIR_Request *real;           /* what MPI_Wait looks at; exists as long as the plan */
    struct MPIDI_PCOLL_request *prev, *next; /* state->requests, or those that leave */
};

/* Those that have been issued since MPI was first initialized. */
extern unsigned long MPIDI_PCOLL_request_count;

/* With an empty plan, before that is bound, as it takes memory. NULL: out of memory. */
struct MPIDI_PCOLL_request *MPIDI_PCOLL_request_create(void);

/* Free it, if its plan could not be bound; the plan's data stays. NULL: nothing. */
void MPIDI_PCOLL_request_discard(struct MPIDI_PCOLL_request *request);

/* The inactive MPI request of a bound plan; from then on MPI_Request_free frees both. */
MPIR_Request *MPIDI_PCOLL_request_issue(struct MPIDI_PCOLL_request *request);

/* ---- the end ---- */

/* The communicator is freed, but its plans may stay; their requests must not name it any more. */
void MPIDI_PCOLL_comm_freed(struct MPIDI_PCOLL_comm *state);

/* With the lock: unbind what has been freed and is inactive, and release the states of freed
 * communicators. The result is a list for MPIDI_PCOLL_requests_destroy. */
struct MPIDI_PCOLL_request *MPIDI_PCOLL_unbind_leaving(void);

/* Without the lock, as the last reference to a type calls functions of the user. */
void MPIDI_PCOLL_requests_destroy(struct MPIDI_PCOLL_request *gone);

/* Called before finalization: unbind the plans that the user has not freed. */
void MPIDI_PCOLL_unbind_all(void);

/* In a child of a fork: communicators and their plans, also those that leave, get the child's
 * medium.
 */
void MPIDI_PCOLL_requests_disown(const struct pcoll_medium *medium);

#endif /* REQUEST_H_INCLUDED */
