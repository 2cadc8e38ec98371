/* The glue between MPICH and plans. Private to this folder. */

#ifndef PCOLL_H_INCLUDED
#define PCOLL_H_INCLUDED

#include "mpidimpl.h"

#include "algorithms/algorithm.h"
#include "algorithms/topology.h"
#include "offload/media.h"
#include "tuning/choose.h"

/* ---- data.c: what the user passed, and the contiguous bytes that a plan works on ---- */

/* `count` elements of `type` at `user`. If they are not contiguous, `packed` is the
 * buffer that stands for them. */
struct MPIDI_PCOLL_data {
    void *user;
    MPI_Aint count;
    MPI_Datatype type; /* referenced while packed is set */
    MPI_Aint bytes;
    void *packed; /* or NULL: contiguous, or nothing */
    int owned;    /* packed is to be freed */
};

/* Describe user data; allocates `packed` if `outer` is NULL and the data is not contiguous.
 * `outer` is where the packed bytes lie inside another, already packed, description. */
int MPIDI_PCOLL_data_init(struct MPIDI_PCOLL_data *data, void *user, MPI_Aint count,
                          MPI_Datatype type, void *outer);
void MPIDI_PCOLL_data_fini(struct MPIDI_PCOLL_data *data);
void *MPIDI_PCOLL_data_address(const struct MPIDI_PCOLL_data *data);
int MPIDI_PCOLL_data_pack(const struct MPIDI_PCOLL_data *data);
int MPIDI_PCOLL_data_unpack(const struct MPIDI_PCOLL_data *data);

/* ---- comm.c: what is kept per communicator ---- */

/* Lives as long as the communicator or any of its plans. */
struct MPIDI_PCOLL_comm {
    int refs;
    MPIR_Comm *comm;                      /* NULL when the communicator is gone */
    const struct pcoll_medium *medium;    /* of the group */
    struct pcoll_group *group;            /* NULL: the backend cannot serve this communicator */
    struct pcoll_topology *topology;      /* NULL: all on one node */
    enum pcoll_level level;               /* how far ranks of a node are from each other */
    struct pcoll_bootstrap bootstrap;     /* the group's, valid as long as it */
    struct MPIDI_PCOLL_plan *plans;       /* those whose request was not freed */
    struct MPIDI_PCOLL_comm *prev, *next; /* all there are */
};

/* Collective over comm at its first call. *state_p is NULL when the backend does not serve
 * it, identically on all ranks. */
int MPIDI_PCOLL_comm_get(MPIR_Comm *comm, struct MPIDI_PCOLL_comm **state_p);
void MPIDI_PCOLL_comm_release(struct MPIDI_PCOLL_comm *state);
void MPIDI_PCOLL_comm_free_keyval(void);
/* Before the end: unbind the plans that the user did not free. */
void MPIDI_PCOLL_comm_unbind_all(void);

/* ---- network.c: what MPICH or the user has between nodes ---- */

/* For libfabric; NULL: its own choice.  The interface may be a list. */
const char *MPIDI_PCOLL_provider(void);
const char *MPIDI_PCOLL_interface(void);

/* ---- medium.c: what carries plans ---- */

/* What the settings of this rank ask for, a number of pcoll_media; PCOLL_NONE: MPICH's path. */
int MPIDI_PCOLL_medium_hint(bool one_node);
bool MPIDI_PCOLL_is_network(const struct pcoll_medium *medium);

/* From the first group of a network medium on, its progress must go on whenever this process waits
 * for anything. */
void MPIDI_PCOLL_network_opened(void);
bool MPIDI_PCOLL_network_used(void);
/* Have all plans that were unbound here been left by their peers, too? */
bool MPIDI_PCOLL_network_left(void);
void MPIDI_PCOLL_network_close(void);

/* ---- settings.c: CVARs, info keys, tuning table ---- */

/* What rank 0 proposes for a call; choice->algorithm is NULL for MPICH's path. */
void MPIDI_PCOLL_propose(const struct pcoll_signature *signature, MPIR_Info *info,
                         const struct MPIDI_PCOLL_comm *state, struct pcoll_choice *choice);
void MPIDI_PCOLL_settings_free(void);

/* ---- cores.c: which cores the ranks of this node may use ---- */

struct MPIDI_PCOLL_cores {
    int count;      /* that at least one rank of the node may use */
    bool crowded;   /* this rank may have to share its core: the ranks that may use no cores but
                     * its own outnumber these, or all ranks outnumber all cores */
    bool all_known; /* else some rank has not published; it is taken to use the same cores as this
                     * one */
};

/* Tell the ranks of this node which cores this one may use now. */
void MPIDI_PCOLL_cores_publish(void);
struct MPIDI_PCOLL_cores MPIDI_PCOLL_cores(void);

/* ---- report.c: messages ---- */

/* One line on stderr; what was said lately is left out. */
void MPIDI_PCOLL_report(const char *message);
/* The same for each line of `text`, which is changed. */
void MPIDI_PCOLL_report_lines(char *text);
void MPIDI_PCOLL_report_free(void);

/* ---- run.c: start, progress, completion ---- */

struct MPIDI_PCOLL_plan {
    const struct pcoll_medium *medium;
    struct pcoll_bound *bound;
    MPIR_Request *real;              /* what MPI_Wait looks at; lives as long as the plan */
    struct MPIDI_PCOLL_data in, out; /* packed at start, unpacked at completion */
    bool active;
    bool doomed;                          /* freed while active: ends at completion */
    bool failed;                          /* an instance failed; starts are refused */
    struct MPIDI_PCOLL_plan *prev, *next; /* active plans */

    MPIR_Request *preq;
    struct MPIDI_PCOLL_comm *state;
    struct MPIDI_PCOLL_plan *sibling_prev, *sibling_next; /* state->plans */
    struct pcoll_plan *plan;
};

/* Register what running needs, once per MPI initialisation. */
int MPIDI_PCOLL_run_init(void);
/* Keep the progress hook active, from now on. */
void MPIDI_PCOLL_run_network(void);
/* The ranks of this node have published their cores anew: find out whether they suffice. */
void MPIDI_PCOLL_run_see_cores(void);
/* The requests of a plan, before it is bound, as that takes memory; free them if it cannot be. */
int MPIDI_PCOLL_request_create(struct MPIDI_PCOLL_plan *plan);
void MPIDI_PCOLL_request_discard(struct MPIDI_PCOLL_plan *plan);
/* The inactive request of a bound plan, which it owns from then on. */
MPIR_Request *MPIDI_PCOLL_request_issue(struct MPIDI_PCOLL_plan *plan);
void MPIDI_PCOLL_plan_destroy(struct MPIDI_PCOLL_plan *plan);

#endif /* PCOLL_H_INCLUDED */
