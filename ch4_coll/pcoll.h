/* The glue between MPICH and plans. Private to this folder. */

#ifndef PCOLL_H_INCLUDED
#define PCOLL_H_INCLUDED

#include "mpidimpl.h"

#include "mpich_version.h"

#include "blocks.h"
#include "spans.h"

#include "algorithms/algorithm.h"
#include "algorithms/plan/topology.h"
#include "offload/media.h"
#include "offload/pieces.h"
#include "offload/reduce/operator.h"
#include "offload/yield.h"
#include "tuning/choose.h"

#include <sched.h>

/* ---- data.c, layout.c, type_pieces.c: the user's data, and the contiguous bytes that a plan works
 * on ---- */

/* `count` elements of `type` at `user`, or several blocks of such. If they are not contiguous, they
 * are packed: a buffer takes their place, with the bytes of their data or with spans, unless a
 * medium packs and unpacks on the way. */
struct MPIDI_PCOLL_data {
    void *user;
    MPI_Aint count;
    MPI_Datatype type; /* referenced if is_packed is set */
    MPI_Aint bytes;
    int is_packed;                         /* 0: the data is contiguous or empty */
    void *packed;                          /* that buffer; NULL: none, or not yet */
    int owned;                             /* packed must be freed */
    int is_copy;                           /* packed has another purpose, too */
    const struct MPIDI_PCOLL_spans *spans; /* those in `packed`, or NULL */
    struct pcoll_user_layout layout;       /* for that medium */
    struct pcoll_pieces pieces;            /* for the layout, of one block; empty: not listed */
    int nparts;                            /* 0: one block; otherwise these follow each other */
    struct MPIDI_PCOLL_data *parts;        /* [nparts] */
    MPI_Aint first;                        /* of a part: its position among the packed bytes */
};

/* An edge, and where its block is. */
struct MPIDI_PCOLL_edge {
    struct pcoll_edge edge;
    struct MPIDI_PCOLL_block block;
};

/* Describe user data; allocates `packed` if `outer` is NULL and the data is not contiguous. `outer`
 * is another, already packed, description that contains these bytes. */
int MPIDI_PCOLL_data_init(struct MPIDI_PCOLL_data *data, void *user, MPI_Aint count,
                          MPI_Datatype type, void *outer);
/* The same, with spans. */
int MPIDI_PCOLL_data_init_spans(struct MPIDI_PCOLL_data *data, void *user, MPI_Aint count,
                                MPI_Datatype type, const struct MPIDI_PCOLL_spans *spans,
                                void *outer);
/* As MPIDI_PCOLL_data_init, with `packed` also for contiguous data. */
int MPIDI_PCOLL_data_init_copy(struct MPIDI_PCOLL_data *data, void *user, MPI_Aint count,
                               MPI_Datatype type);
/* Describe the blocks of n edges; sets `first` and `bytes` of each. They are packed if one of them
 * is not contiguous, if memory far from all of them lies in between, or if `is_copy` is true; only
 * then is there a buffer before it is settled. */
int MPIDI_PCOLL_data_init_blocks(struct MPIDI_PCOLL_data *data, struct MPIDI_PCOLL_edge *edges,
                                 int n, bool is_copy);
void MPIDI_PCOLL_data_fini(struct MPIDI_PCOLL_data *data);
/* The part in which byte `first` of the packed data lies, or the data itself if it has none. */
const struct MPIDI_PCOLL_data *MPIDI_PCOLL_data_part(const struct MPIDI_PCOLL_data *data,
                                                     uint64_t first);
void *MPIDI_PCOLL_data_address(const struct MPIDI_PCOLL_data *data);
/* Free `packed`, if it has no other purpose, and let the medium pack and unpack; the data must not
 * move from then on. NULL: it cannot, or there is nothing to pack; then settle it. */
const struct pcoll_user_layout *MPIDI_PCOLL_data_lay_out(struct MPIDI_PCOLL_data *data);
/* For it: list the pieces of one block, unless they are short and irregular or memory is scarce;
 * the engine packs then. */
void MPIDI_PCOLL_data_find_pieces(struct MPIDI_PCOLL_data *block);
/* Allocate the buffer of packed data, if that has not been done. */
int MPIDI_PCOLL_data_settle(struct MPIDI_PCOLL_data *data);
/* True if an element begins at byte `first` of the packed data, or the data ends there. */
bool MPIDI_PCOLL_data_is_border(const struct MPIDI_PCOLL_data *data, uint64_t first);
int MPIDI_PCOLL_data_pack_blocks(const struct MPIDI_PCOLL_data *data);
int MPIDI_PCOLL_data_unpack_blocks(const struct MPIDI_PCOLL_data *data);

/* Inline, since every start and completion asks. */
static inline int MPIDI_PCOLL_data_pack(const struct MPIDI_PCOLL_data *data)
{
    return data->packed ? MPIDI_PCOLL_data_pack_blocks(data) : MPI_SUCCESS;
}

static inline int MPIDI_PCOLL_data_unpack(const struct MPIDI_PCOLL_data *data)
{
    return data->packed ? MPIDI_PCOLL_data_unpack_blocks(data) : MPI_SUCCESS;
}

/* ---- alloc_mem.c: memory that other processes of the node can map ---- */

/* A buffer of a plan, filled with zeros on request; if it is long, it is such memory. NULL: out of
 * memory. */
void *MPIDI_PCOLL_buffer_get(size_t bytes, bool zeros);
void MPIDI_PCOLL_buffer_put(void *buffer); /* NULL: nothing */

/* ---- operator.c: what reduces ---- */

struct MPIDI_PCOLL_operator;

/* The operator `op` on elements of `type`, with references to both. Returns why there is none,
 * NULL if there is. */
const char *MPIDI_PCOLL_operator_create(MPI_Op op, MPI_Datatype type,
                                        struct MPIDI_PCOLL_operator **op_p);
void MPIDI_PCOLL_operator_destroy(struct MPIDI_PCOLL_operator *op); /* NULL: nothing */
/* As media see it; NULL for NULL. */
const struct pcoll_operator *MPIDI_PCOLL_operator_base(const struct MPIDI_PCOLL_operator *op);
/* What vectors of its elements consist of, valid as long as the operator; NULL: of the elements
 * themselves, or op is NULL. */
const struct MPIDI_PCOLL_spans *MPIDI_PCOLL_operator_spans(const struct MPIDI_PCOLL_operator *op);

/* ---- bootstrap.c: how the ranks of a communicator reach each other before a medium works ---- */

/* Its context is the communicator; its topology and coop_from are not known yet. */
struct pcoll_bootstrap MPIDI_PCOLL_bootstrap(MPIR_Comm *comm);

/* ---- comm.c: the state of a communicator ---- */

struct MPIDI_PCOLL_known;

/* Exists as long as the communicator or any of its plans. */
struct MPIDI_PCOLL_comm {
    int refs;
    MPIR_Comm *comm;                       /* NULL after the communicator has been freed */
    const struct pcoll_medium *medium;     /* of the group */
    struct pcoll_group *group;             /* NULL: the backend cannot serve this communicator */
    struct pcoll_topology *topology;       /* NULL: all ranks are on one node */
    enum pcoll_level level;                /* the distance between the ranks of a node */
    struct pcoll_bootstrap bootstrap;      /* for the group, and valid as long as the group */
    struct MPIDI_PCOLL_known *known;       /* on rank 0, its last proposals; or NULL */
    struct MPIDI_PCOLL_plan *plans;        /* those whose request has not been freed */
    struct MPIDI_PCOLL_comm *next_leaving; /* freed, but not yet released */
    struct MPIDI_PCOLL_comm *prev, *next;  /* the list of all states */
};

/* Collective over comm at its first call. *state_p is NULL, on all ranks, if the backend does not
 * serve the communicator. */
int MPIDI_PCOLL_comm_get(MPIR_Comm *comm, struct MPIDI_PCOLL_comm **state_p);
void MPIDI_PCOLL_comm_release(struct MPIDI_PCOLL_comm *state);
void MPIDI_PCOLL_comm_free_keyval(void);
/* Called before finalization: unbind the plans that the user has not freed. */
void MPIDI_PCOLL_comm_unbind_all(void);

/* ---- network.c: what MPICH or the user uses between nodes ---- */

/* MPICH uses UCX, and the user has named no provider of libfabric. */
bool MPIDI_PCOLL_over_ucx(void);

/* For libfabric; NULL: libfabric's own choice. The interface may be a list. */
const char *MPIDI_PCOLL_provider(void);
const char *MPIDI_PCOLL_interface(void);

/* What MPICH lends to the medium over the library that it uses itself; NULL: nothing. */
const struct pcoll_foreign *MPIDI_PCOLL_foreign(void);
/* MPICH has closed it, or will without another use of it here. */
void MPIDI_PCOLL_foreign_ends(void);

/* ---- medium.c: what carries plans ---- */

/* The medium that this rank's settings ask for, as an index of pcoll_media; PCOLL_NONE: MPICH's
 * path. */
int MPIDI_PCOLL_medium_hint(bool one_node);
bool MPIDI_PCOLL_is_network(const struct pcoll_medium *medium);
/* A network that MPIDI_PCOLL_provider carries. */
bool MPIDI_PCOLL_is_libfabric(const struct pcoll_medium *medium);

/* From the first group of a network medium on, the medium must progress whenever this process waits
 * for anything. */
void MPIDI_PCOLL_network_opened(void);
bool MPIDI_PCOLL_network_used(void);
/* True if peers have also unbound all plans that were unbound here. */
bool MPIDI_PCOLL_network_left(void);
void MPIDI_PCOLL_network_close(void);

/* ---- settings.c: CVARs, info keys, tuning table ---- */

/* Rank 0's proposal for a call; choice->algorithm is NULL for MPICH's path. `is_mapped`: its user
 * buffers lie in memory of MPI_Alloc_mem, and so, it expects, do those of other ranks. */
void MPIDI_PCOLL_propose(const struct pcoll_signature *signature, bool is_mapped, MPIR_Info *info,
                         struct MPIDI_PCOLL_comm *state, struct pcoll_choice *choice);
void MPIDI_PCOLL_settings_free(void);

/* ---- forced.c: what tests force; otherwise what is right in production ---- */

struct MPIDI_PCOLL_forced {
    bool cma;            /* copies between user buffers are possible if the kernel permits them */
    uint64_t cma_from;   /* bytes from which on they are taken; 0: the cost model chooses */
    uint64_t coop_from;  /* as in struct pcoll_bootstrap */
    bool share_ucx;      /* plans may use MPICH's UCX */
    uint64_t agent_from; /* bytes of the smallest plan that an agent progresses; 0: all */
    unsigned agent_spin_usec; /* for which an agent with a core polls in vain before it sleeps */
};

const struct MPIDI_PCOLL_forced *MPIDI_PCOLL_forced(void);

/* ---- known.c: the last proposals ---- */

/* The choice that was remembered for the same arguments, if there is one; `known` may be NULL. */
bool MPIDI_PCOLL_recall(const struct MPIDI_PCOLL_known *known,
                        const struct pcoll_signature *signature, const struct pcoll_caps *caps,
                        const struct pcoll_hint *hint, struct pcoll_choice *choice);
/* *known_p is NULL at first; if memory is scarce, nothing is remembered. MPL_free frees it. */
void MPIDI_PCOLL_remember(struct MPIDI_PCOLL_known **known_p,
                          const struct pcoll_signature *signature, const struct pcoll_caps *caps,
                          const struct pcoll_hint *hint, const struct pcoll_choice *choice);

/* ---- cores.c: which cores the ranks of this node may use ---- */

struct MPIDI_PCOLL_cores {
    int count;      /* cores that at least one rank of the node may use */
    bool crowded;   /* this rank may have to share its core: more ranks are confined to its cores
                     * than there are such cores, or all ranks outnumber all cores */
    bool all_known; /* otherwise some rank has not published, and is assumed to use the same cores
                     * as this one */
};

/* Publish to the ranks of this node which cores this rank may use now. */
void MPIDI_PCOLL_cores_publish(void);
struct MPIDI_PCOLL_cores MPIDI_PCOLL_cores(void);
/* Those of a local rank; false: it has not published them. */
bool MPIDI_PCOLL_cores_of(int local_rank, cpu_set_t *set);

/* ---- agent.c, agent_cpu.c: the thread that progresses plans while the application computes ----
 */

/* True if this process has an agent of its own, or wants one; and if an agent, that of the node or
 * its own, would serve the plan. */
bool MPIDI_PCOLL_agent_is_wanted(void);
bool MPIDI_PCOLL_agent_wants(const struct pcoll_plan *plan);

/* This process' candidacy for the host of the node's agent; 0: it wants none, or has no core for
 * it. The greatest hosts: it has the lowest local rank. */
uint64_t MPIDI_PCOLL_agent_candidacy(void);
/* No process is a candidate: tell the user once, if this one wants an agent of the node. */
void MPIDI_PCOLL_agent_lacks_core(void);
/* The bell of this process' agent, which serves the node from now on; NULL: it cannot. And the
 * fewest bytes of a plan that this process leaves to the node's agent; PCOLL_NONE: it leaves
 * none. */
struct pcoll_bell *MPIDI_PCOLL_agent_host(void);
int64_t MPIDI_PCOLL_agent_board_from(void);
/* What takes the place of the bound plan, with a medium of its own: a served plan, or the same. */
struct pcoll_bound *MPIDI_PCOLL_agent_serve(const struct pcoll_plan *plan,
                                            const struct pcoll_memory *memory,
                                            struct pcoll_bound *bound);
/* Called before the first group of a network medium: an agent that came later would not be kept
 * away from calls that have begun. */
void MPIDI_PCOLL_agent_hire(void);
/* If the medium is a network: keep the agent away from it, around all of its functions except those
 * of served plans, and let it in again. Pairs nest. */
void MPIDI_PCOLL_agent_hold(const struct pcoll_medium *medium);
void MPIDI_PCOLL_agent_release(const struct pcoll_medium *medium);
/* pcoll_media_poll, unless the agent is polling. */
void MPIDI_PCOLL_agent_poll_network(void);
/* Registers the performance variables of agents and chunks; reading them costs, counting does not.
 */
void MPIDI_PCOLL_agent_pvars_init(void);
/* Print the message that the agent has kept. */
void MPIDI_PCOLL_agent_report(void);
/* End it; plans that it served remain usable. */
void MPIDI_PCOLL_agent_dismiss(void);

/* A CPU for this rank's agent; PCOLL_NONE: none is spare, so it runs where the rank may. The second
 * result says whether it can run without taking a core from a rank or another agent. There is one
 * agent for each rank of the node, or, if it is alone, only this one. */
int MPIDI_PCOLL_spare_cpu(bool is_alone, int *has_core_p);

/* ---- node_blocks.c: memory that the ranks of this node share ---- */

/* Differs for different texts, except by accident (FNV-1a); NULL is "". */
uint64_t MPIDI_PCOLL_hash(const char *text);

void MPIDI_PCOLL_node_blocks_open(void);
/* That rank's block, of MPIDU_INIT_SHM_BLOCK_SIZE bytes, zero at first; NULL: not opened, or
 * refused. */
void *MPIDI_PCOLL_node_block(int local_rank);

/* ---- report.c: messages ---- */

/* Prints one line on stderr, unless the same message was printed recently. */
void MPIDI_PCOLL_report(const char *message);
/* The same for each line of `text`, which is modified. */
void MPIDI_PCOLL_report_lines(char *text);
void MPIDI_PCOLL_report_free(void);

/* ---- run.c: start, progress, completion ---- */

struct MPIDI_PCOLL_plan {
    const struct pcoll_medium *medium;
    struct pcoll_bound *bound;
    MPIR_Request *real;              /* the request that MPI_Wait looks at; exists as long as the
                                      * plan */
    struct MPIDI_PCOLL_data in, out; /* packed at start, unpacked at completion */
    struct MPIDI_PCOLL_kept *kept;   /* [nkept]: blocks that are not, as the rank keeps them */
    int nkept;
    struct MPIDI_PCOLL_operator *op; /* of a reduction; otherwise NULL */
    uint64_t *blocks;                /* of plan->signature; owned */
    struct pcoll_local *local;       /* where data moves along edges; otherwise NULL */
    bool active;
    bool busy;   /* a thread is progressing it, perhaps in a user's function without the lock */
    bool doomed; /* freed while active: destroyed at completion */
    bool failed; /* an instance failed; starts are refused */
    struct MPIDI_PCOLL_plan *prev, *next; /* active plans */

    MPIR_Request *preq;
    struct MPIDI_PCOLL_comm *state;
    struct MPIDI_PCOLL_plan *sibling_prev, *sibling_next; /* state->plans */
    struct pcoll_plan *plan;
};

/* True if any persistent collective is directed to the backend. */
bool MPIDI_PCOLL_is_switched_on(void);
/* Register what running plans needs; called once per MPI initialization. */
int MPIDI_PCOLL_run_init(void);
/* Keep the progress hook active from now on. */
void MPIDI_PCOLL_run_network(void);
/* The ranks of this node have published their cores again: find out whether the cores suffice. */
void MPIDI_PCOLL_run_see_cores(void);
/* Let the progress hook run at least once more; needs no lock. */
void MPIDI_PCOLL_run_wake(void);
/* With the lock: the instance has ended, successfully or with an error that the wait call returns.
 * The plan may be gone afterwards. */
void MPIDI_PCOLL_complete(struct MPIDI_PCOLL_plan *plan, enum pcoll_result result);

/* Of what is listed there, in a child of a fork: give plans the child's medium. */
void MPIDI_PCOLL_run_disown(void);      /* active plans */
void MPIDI_PCOLL_comm_disown_all(void); /* communicators and their plans */
void MPIDI_PCOLL_leaving_disown(void);  /* plans that are freed, but not yet torn down */
void MPIDI_PCOLL_network_disown(void);  /* nothing: the child never polls the network */

/* ---- child.c: children of a fork ---- */

extern const struct pcoll_medium MPIDI_PCOLL_medium_of_child;
/* From the first fork after this call on, children have that medium. */
void MPIDI_PCOLL_watch_forks(void);
/* This process is such a child. */
bool MPIDI_PCOLL_is_child(void);
/* Prints a message; returns an MPI error code. */
int MPIDI_PCOLL_refuse_child(void);
/* The child has called MPI_Finalize: end the process. */
void MPIDI_PCOLL_end_child(void);

/* ---- kept.c: blocks of packed data that a rank has for itself ---- */

/* Take their copies out of `raw`; they are neither packed nor unpacked from then on. After the data
 * is settled. */
int MPIDI_PCOLL_keep(struct MPIDI_PCOLL_plan *plan, struct pcoll_plan *raw);
/* The same copies, at start. */
int MPIDI_PCOLL_copy_kept(const struct MPIDI_PCOLL_plan *plan);
void MPIDI_PCOLL_forget_kept(struct MPIDI_PCOLL_plan *plan);

/* ---- wait.c: MPIDI_PCOLL_wait_hint, and ---- */

/* Who has waited for so many yields also sleeps, for so long. */
#define MPIDI_PCOLL_YIELDS_BEFORE_SLEEP 4000
#define MPIDI_PCOLL_SLEEP_USEC 50

/* Rest after a round of a wait in which nothing has happened; in the first rounds, return at once.
 */
void MPIDI_PCOLL_wait_round(unsigned round);

/* ---- edges.c ---- */

/* `local` may be NULL. */
void MPIDI_PCOLL_local_free(struct pcoll_local *local);

/* ---- life.c: the requests of plans, and their end ---- */

/* Create the requests of a plan before it is bound, as that takes memory; free them if binding
 * fails. */
int MPIDI_PCOLL_request_create(struct MPIDI_PCOLL_plan *plan);
void MPIDI_PCOLL_request_discard(struct MPIDI_PCOLL_plan *plan);
/* The inactive request of a bound plan; from then on it owns the plan. */
MPIR_Request *MPIDI_PCOLL_request_issue(struct MPIDI_PCOLL_plan *plan);
/* The plan is not active, and has no request: tear it down, now or in the hook. */
void MPIDI_PCOLL_plan_end(struct MPIDI_PCOLL_plan *plan);
/* The communicator is freed, but its plans may stay; their requests must not name it any more. */
void MPIDI_PCOLL_comm_freed(struct MPIDI_PCOLL_comm *state);
/* What is left to the hook, which unbinds plans and releases states with the lock, and then
 * destroys the plans without it. */
bool MPIDI_PCOLL_anything_leaves(void); /* needs the lock of lists */
struct MPIDI_PCOLL_plan *MPIDI_PCOLL_unbind_leaving(void);
void MPIDI_PCOLL_destroy_list(struct MPIDI_PCOLL_plan *gone);

#endif /* PCOLL_H_INCLUDED */
