/* The glue between MPICH and plans. Private to this folder. */

#ifndef PCOLL_H_INCLUDED
#define PCOLL_H_INCLUDED

#include "mpidimpl.h"

#include "algorithms/algorithm.h"
#include "offload/medium.h"
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
    MPIR_Comm *comm;                /* NULL when the communicator is gone */
    struct pcoll_group *group;      /* NULL: the backend cannot serve this communicator */
    struct MPIDI_PCOLL_plan *plans; /* those whose request names the communicator */
};

extern const struct pcoll_medium *const MPIDI_PCOLL_medium;

/* Collective over comm at its first call. *state_p is NULL when the backend does not serve
 * it, alike on all ranks. */
int MPIDI_PCOLL_comm_get(MPIR_Comm *comm, struct MPIDI_PCOLL_comm **state_p);
void MPIDI_PCOLL_comm_release(struct MPIDI_PCOLL_comm *state);
void MPIDI_PCOLL_comm_free_keyval(void);

/* ---- settings.c: CVARs, info keys, tuning table ---- */

/* What rank 0 proposes for a call: a row of pcoll_algorithms, or PCOLL_NONE for MPICH's path. */
struct MPIDI_PCOLL_proposal {
    int32_t row;
    int32_t radix;
    int32_t slots;
    int32_t path;
    uint64_t segment;
    double predicted_us;
    const char *reason; /* valid on rank 0 only */
};

void MPIDI_PCOLL_propose(const struct pcoll_signature *signature, MPIR_Info *info,
                         unsigned provides, struct MPIDI_PCOLL_proposal *proposal);
void MPIDI_PCOLL_settings_free(void);
/* One line on stderr; what was said lately is left out. */
void MPIDI_PCOLL_report(const char *message);
int MPIDI_PCOLL_cores(void);
/* More ranks on this node than cores: who waits should give its core away. */
bool MPIDI_PCOLL_crowded(void);
/* `provides` less what CVARs forbid. */
unsigned MPIDI_PCOLL_allowed(unsigned provides);

/* ---- run.c: start, progress, completion ---- */

struct MPIDI_PCOLL_plan {
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
/* A new inactive request for a bound plan, which it owns from then on. */
int MPIDI_PCOLL_request_create(struct MPIDI_PCOLL_plan *plan, MPIR_Request **request);
void MPIDI_PCOLL_plan_destroy(struct MPIDI_PCOLL_plan *plan);

#endif /* PCOLL_H_INCLUDED */
