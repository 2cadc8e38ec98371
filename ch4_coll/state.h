/* The state of a communicator: what its plans share. */

#ifndef STATE_H_INCLUDED
#define STATE_H_INCLUDED

#include "mpidimpl.h"

#include "offload/bootstrap.h"
#include "offload/medium.h"
#include "algorithms/plan/topology.h"

/* MPICH's build would only warn. */
#pragma GCC diagnostic error "-Wimplicit-function-declaration"

struct MPIDI_PCOLL_idle;
struct MPIDI_PCOLL_known;
struct MPIDI_PCOLL_request;
struct MPIDI_PCOLL_slots;

/* Of one collective: see once.h. */
struct MPIDI_PCOLL_once {
    int used_once; /* guarded by the lock of lists */
    int unasked;   /* inits that MPICH serves without agreement */
};

/* Exists as long as the communicator or any of its plans. */
struct MPIDI_PCOLL_comm {
    int refs;
    MPIR_Comm *comm;                     /* NULL after the communicator has been freed */
    const struct pcoll_medium *medium;   /* of the group */
    struct pcoll_group *group;           /* NULL: the backend cannot serve this communicator */
    struct pcoll_topology places;        /* owned; zero if all ranks are on one node */
    struct pcoll_topology *topology;     /* that; NULL: all ranks are on one node */
    const struct pcoll_topology *levels; /* as a signature has them, of the group; or NULL */
    enum pcoll_level level;              /* the distance between the ranks of a node */
    bool measures;                       /* the ranks will still measure their machine */
    struct pcoll_bootstrap bootstrap;    /* for the group, and valid as long as the group */
    struct MPIDI_PCOLL_known *known;     /* on rank 0, its last proposals; or NULL */
    struct MPIDI_PCOLL_once once[PCOLL_NUM_COLLS];
    uint64_t nplans;                       /* made so far; the same on all ranks */
    struct MPIDI_PCOLL_slots *slots;       /* of its neighbors (edges.c), once they are known */
    struct MPIDI_PCOLL_idle *idle;         /* plans of freed requests (reuse.h) */
    struct MPIDI_PCOLL_request *requests;  /* those that have not been freed */
    struct MPIDI_PCOLL_comm *next_leaving; /* freed, but not yet released */
    struct MPIDI_PCOLL_comm *prev, *next;  /* the list of all states */
};

/* With one reference, and without a group. NULL: out of memory. */
struct MPIDI_PCOLL_comm *MPIDI_PCOLL_state_create(MPIR_Comm *comm,
                                                  const struct pcoll_bootstrap *bootstrap);
void MPIDI_PCOLL_state_release(struct MPIDI_PCOLL_comm *state);

/* Unbind and free such plans, with the lock. */
void MPIDI_PCOLL_idle_destroy(struct MPIDI_PCOLL_idle *list);

/* The first state of the list of all. */
struct MPIDI_PCOLL_comm *MPIDI_PCOLL_states(void);

#endif /* STATE_H_INCLUDED */
