/*
 * The state of a group and a bound plan of an RMA medium. Private to offload/rma.
 */
#ifndef PCOLL_RMA_STATE_H
#define PCOLL_RMA_STATE_H

#include "offload/rma/rma.h"
#include "offload/rma/wire.h"
#include "offload/node/binding.h"

/* The signals of one channel, here or on their way. The data of the cell ends at `sum`. */
struct pcoll_rma_line {
    unsigned char cell[PCOLL_CELL_BYTES];
    _Atomic uint64_t sum, check; /* check == ~sum when everything has landed */
};

_Static_assert(sizeof(struct pcoll_rma_line) == PCOLL_LINE_BYTES, "a line fills a cache line");

/* The state of a neighbor, in its first lines, one for each rail. A farewell overtakes nothing on
 * its own rail. */
enum pcoll_rma_farewell { PCOLL_RMA_HERE, PCOLL_RMA_LEFT, PCOLL_RMA_FAILED };

struct pcoll_rma_group {
    struct pcoll_group base;
    struct pcoll_bootstrap bootstrap;
    const struct pcoll_wire *wire;
    struct pcoll_wire_endpoint *endpoints[PCOLL_MAX_RAILS]; /* [nrails] */
    int nrails;                                             /* as many as every rank has */
    size_t name_bytes, key_bytes;                           /* the most of any rank's endpoint */
    struct pcoll_group *node;     /* the shared-memory group of the ranks on this node */
    struct pcoll_topology levels; /* below all nodes; nranks 0: none */
    int *node_ranks;              /* ascending */
    struct pcoll_circle local;    /* of these */
    bool can_cma;                 /* on all nodes */
    unsigned provides;
    enum pcoll_level level; /* of the node whose ranks are farthest apart */
    int refs;               /* the user's, and one for each bound plan */
};

/* A transfer of the wire, which must come first. */
struct pcoll_rma_request {
    struct pcoll_wire_request base;
    struct pcoll_rma_bound *bound;
    struct pcoll_rma_step *step; /* NULL: a farewell */
    bool is_move;
};

/* A rank's memory that entries access. */
enum pcoll_rma_memory { PCOLL_RMA_SEND, PCOLL_RMA_RECV, PCOLL_RMA_AREA, PCOLL_RMA_NMEMORIES };

/* An endpoint, and the handles of the plan's memory there. */
struct pcoll_rma_rail {
    struct pcoll_wire_endpoint *endpoint;
    struct pcoll_wire_region mail, memories[PCOLL_RMA_NMEMORIES];
};

/* What a rank has of a region of a neighbor. */
struct pcoll_rma_key {
    uint64_t key;
    bool is_taken;
};

/* The connection to a neighbor on another node over one rail. */
struct pcoll_rma_way {
    int rank;
    const struct pcoll_rma_rail *rail;
    struct pcoll_wire_way wire;
    uint64_t inbox; /* my lines in the neighbor's inbox */
    struct pcoll_rma_key inbox_key, keys[PCOLL_RMA_NMEMORIES];
    uint64_t farewell;                    /* address for my farewell there */
    const struct pcoll_rma_line *arrived; /* the neighbor's farewell */
    struct pcoll_rma_line *outgoing;      /* my farewell */
    struct pcoll_rma_request bye;
    bool bye_sent;
};

/* A neighbor on another node. */
struct pcoll_rma_link {
    int rank;
    int nchannels;                /* number of channels to it */
    struct pcoll_rma_way *ways;   /* [nrails] */
    struct pcoll_rma_line *lines; /* its lines on this rank: the farewells, then its channels */
};

/* The signals of one rail arrive in order if that is guaranteed: a sum is never less than the
 * previous one. Each rail therefore has channels of its own. */
struct pcoll_rma_channel {
    int link; /* index of the neighbor */
    int rail;
    int counter, cell; /* of the peer, or PCOLL_NONE */
    int offset, bytes; /* within the cell */
    int number;        /* among the channels to the same neighbor: its line there, after the
                        * farewells */
    uint64_t sum;
    bool is_busy; /* without order: the last signal has not arrived yet, and the next must not
                   * overtake it */
};

enum pcoll_rma_stage {
    PCOLL_RMA_READY,  /* the next piece of data can be sent */
    PCOLL_RMA_MOVING, /* the completion of data must be waited for */
    PCOLL_RMA_SIGNAL  /* the data is sent, the signal can follow */
};

/* An entry whose peer is on another node. */
struct pcoll_rma_step {
    struct pcoll_step *step; /* what all media have of it; its `own` points here */
    struct pcoll_rma_way *way;
    struct pcoll_rma_channel *channel; /* NULL: no signal */
    struct pcoll_rma_line *outgoing;   /* what to put into the line */
    uint64_t line;                     /* address of the line at the peer */
    void *copy_to;                     /* where to copy `copy_bytes` first on this rank; 0:
                                        * nothing */
    const void *copy_from;
    size_t copy_bytes;
    bool is_get;
    char *local; /* data to move separately, of `bytes`; 0: nothing */
    void *desc;
    size_t bytes, moved;
    size_t joined; /* if no more is left to move, the signal travels with it */
    uint64_t remote, key;
    enum pcoll_rma_stage stage;
    bool is_queued;                    /* still at the head of its queue */
    struct pcoll_rma_step *next_ready; /* for progress to continue */
    struct pcoll_rma_request move, signal;
};

/* A line that is polled. */
struct pcoll_rma_source {
    struct pcoll_rma_line *line;
    uint64_t seen, sum;
    struct pcoll_target *target; /* NULL: none */
    unsigned char *cell;         /* where the data belongs */
    size_t bytes;
};

struct pcoll_rma_bound {
    struct pcoll_node_bound node; /* what all media with ranks on one node have, and the base */
    struct pcoll_rma_group *group;
    struct pcoll_rma_rail *rails; /* [nrails]: the group's rails that the plan uses */
    int nrails;
    bool ordered; /* the plan requires order */
    int inflight; /* operations not yet completed */
    bool failed;
    int culprit; /* the rank that caused the failure, or PCOLL_NONE */
    struct pcoll_rma_step *ready, **ready_end;

    struct pcoll_rma_source *sources;
    int nsources;
    struct pcoll_rma_step *steps;
    int nsteps;
    struct pcoll_rma_link *links;
    int nlinks;
    struct pcoll_rma_channel *channels;
    int nchannels;
    struct pcoll_rma_way *ways; /* [nlinks * nrails] */
    int nways;
    struct pcoll_rma_line *mailbox; /* the inbox, followed by outgoing lines; registered */
    struct pcoll_rma_bound *next_leaving;
};

static inline struct pcoll_rma_bound *pcoll_rma_bound_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct pcoll_rma_bound, node.base);
}

static inline struct pcoll_rma_bound *pcoll_rma_bound_of_run(struct pcoll_run *run)
{
    return pcoll_container_of(run, struct pcoll_rma_bound, node.run);
}

static inline struct pcoll_rma_group *pcoll_rma_group_of(const struct pcoll_group *group)
{
    return pcoll_container_of(group, struct pcoll_rma_group, base);
}

/* ---- net.c ---- */

/* Continue a step. PCOLL_OK: all its operations are issued; PCOLL_PENDING: not yet. */
enum pcoll_result pcoll_rma_advance(struct pcoll_rma_step *step);

/* Continue the steps that completions have made ready. */
enum pcoll_result pcoll_rma_flush(struct pcoll_rma_bound *bound);

/* Transfer signals from the inbox to the counters. Returns whether there were any. */
bool pcoll_rma_read_inbox(struct pcoll_rma_bound *bound);

/* What the wire calls when a transfer has completed. */
pcoll_wire_event pcoll_rma_event;

/* Read the completion queues of all rails of the plan. */
void pcoll_rma_poll_rails(struct pcoll_rma_bound *bound);

/* Send a farewell, that the plan has failed or that this rank leaves, over every connection that
 * has none yet. Returns whether all have been sent. */
bool pcoll_rma_send_farewells(struct pcoll_rma_bound *bound);

/* The neighbor's farewell on this connection. `culprit_p` may be NULL; it receives the rank that
 * caused a failure, or PCOLL_NONE, unless the neighbor is still here. */
enum pcoll_rma_farewell pcoll_rma_farewell_of(const struct pcoll_rma_way *way, int *culprit_p);

/* ---- unbind.c ---- */

/* This process has, or has had, a plan with neighbors on other nodes. Nobody reads or writes memory
 * of a process without any, and it need not poll. */
extern bool pcoll_rma_has_neighbors;

/* Destroy the unbound plans that no peer uses any more. */
void pcoll_rma_leave_some(void);

/* Destroy a plan that is bound, or that a failed bind left; NULL: nothing. */
void pcoll_rma_bound_destroy(struct pcoll_rma_bound *bound);

/* Drop a reference. */
void pcoll_rma_group_release(struct pcoll_rma_group *group);

#endif /* PCOLL_RMA_STATE_H */
