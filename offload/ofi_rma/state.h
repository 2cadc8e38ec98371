/*
 * The state of a group and a bound plan of the RMA medium. Private to ofi_rma*.c.
 */
#ifndef PCOLL_OFI_RMA_STATE_H
#define PCOLL_OFI_RMA_STATE_H

#include "offload/ofi/endpoint.h"
#include "offload/ofi_rma/ofi_rma.h"
#include "offload/shm/state.h"

/* Where the signals of one channel arrive. The data of the cell ends at `sum`. */
struct pcoll_ofi_slot {
    unsigned char cell[PCOLL_CELL_BYTES];
    _Atomic uint64_t sum, check; /* check == ~sum when everything has landed */
};

_Static_assert(sizeof(struct pcoll_ofi_slot) == PCOLL_LINE_BYTES, "a slot fills a cache line");

/* The state of a neighbor, in its first slots, one for each rail. A farewell overtakes nothing on
 * its own rail. */
enum pcoll_ofi_farewell { PCOLL_OFI_HERE, PCOLL_OFI_LEFT, PCOLL_OFI_FAILED };

struct pcoll_ofi_group {
    struct pcoll_group base;
    struct pcoll_bootstrap bootstrap;
    struct pcoll_ofi_endpoint *endpoints[PCOLL_OFI_MAX_RAILS]; /* [nrails] */
    int nrails;                                                /* as many as every rank has */
    struct pcoll_group *node; /* the shared-memory group of the ranks on this node */
    int *node_ranks;          /* [nnode], ascending */
    int nnode;
    int mine;    /* number of this rank in node_ranks */
    int can_cma; /* on all nodes */
    unsigned provides;
    int refs; /* the user's, and one for each bound plan */
};

/* An operation of the provider; the context must come first. */
struct pcoll_ofi_request {
    struct fi_context2 context;
    struct pcoll_ofi_bound *bound;
    struct pcoll_ofi_step *step; /* NULL: a farewell */
    int is_move;
    int is_injected; /* completes without an event */
};

/* An endpoint, and the handles of the plan's memory there. */
struct pcoll_ofi_rail {
    struct pcoll_ofi_endpoint *endpoint;
    struct pcoll_ofi_region mail, area, send, recv;
};

/* The connection to a neighbor on another node over one rail. */
struct pcoll_ofi_way {
    int rank;
    const struct pcoll_ofi_rail *rail;
    fi_addr_t address;
    uint64_t inbox, inbox_key;            /* my slots in the neighbor's inbox */
    uint64_t farewell;                    /* address for my farewell there */
    const struct pcoll_ofi_slot *arrived; /* the neighbor's farewell */
    struct pcoll_ofi_slot *outgoing;      /* my farewell */
    struct pcoll_ofi_request bye;
    int bye_sent;
};

/* A neighbor on another node. */
struct pcoll_ofi_link {
    int rank;
    int nchannels;                /* number of channels to it */
    struct pcoll_ofi_way *ways;   /* [nrails] */
    struct pcoll_ofi_slot *slots; /* its slots on this rank: the farewells, then its channels */
};

/* The signals of one rail arrive in order if that is guaranteed: a sum is never less than the
 * previous one. Each rail therefore has channels of its own. */
struct pcoll_ofi_channel {
    int link; /* index of the neighbor */
    int rail;
    int counter, cell; /* of the peer, or PCOLL_NONE */
    int offset, bytes; /* within the cell */
    int number;        /* among the channels to the same neighbor: its slot there, after the
                        * farewells */
    uint64_t sum;
    int is_busy; /* without order: the last signal has not arrived yet, and the next must not
                  * overtake it */
};

enum pcoll_ofi_stage {
    PCOLL_OFI_READY,  /* the next piece of data can be sent */
    PCOLL_OFI_MOVING, /* the completion of data must be waited for */
    PCOLL_OFI_SIGNAL  /* the data is sent, the signal can follow */
};

/* An entry whose peer is on another node. */
struct pcoll_ofi_step {
    struct pcoll_step *step; /* the part common to all media; its `own` points here */
    const struct pcoll_ofi_way *way;
    struct pcoll_ofi_channel *channel; /* NULL: no signal */
    struct pcoll_ofi_slot *outgoing;   /* the slot's content to put */
    uint64_t slot;                     /* address of the slot at the peer */
    void *copy_to;                     /* where to copy `copy_bytes` first on this rank; 0:
                                        * nothing */
    const void *copy_from;
    size_t copy_bytes;
    int get;
    char *local; /* data to move separately, of `bytes`; 0: nothing */
    void *desc;
    size_t bytes, moved;
    uint64_t remote, key;
    enum pcoll_ofi_stage stage;
    int is_queued;                     /* still at the head of its queue */
    struct pcoll_ofi_step *next_ready; /* for progress to continue */
    struct pcoll_ofi_request move, signal;
};

/* A slot that is polled. */
struct pcoll_ofi_source {
    struct pcoll_ofi_slot *slot;
    uint64_t seen, sum;
    struct pcoll_target *target; /* NULL: none */
    unsigned char *cell;         /* where the data belongs */
    size_t bytes;
};

struct pcoll_ofi_bound {
    struct pcoll_shm_bound shm; /* the parts shared with the shared-memory medium, and the base */
    struct pcoll_ofi_group *group;
    struct pcoll_ofi_rail *rails; /* [nrails]: the group's rails that the plan uses */
    int nrails;
    int ordered;  /* the plan requires order */
    int inflight; /* operations not yet completed */
    int failed;
    struct pcoll_ofi_step *ready, **ready_end;

    struct pcoll_ofi_source *sources;
    int nsources;
    struct pcoll_ofi_step *steps;
    int nsteps;
    struct pcoll_ofi_link *links;
    int nlinks;
    struct pcoll_ofi_channel *channels;
    int nchannels;
    struct pcoll_ofi_way *ways; /* [nlinks * nrails] */
    int nways;
    struct pcoll_ofi_slot *mailbox; /* the inbox, followed by outgoing slots; registered */
    struct pcoll_ofi_bound *next_leaving;
};

static inline struct pcoll_ofi_bound *pcoll_ofi_bound_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct pcoll_ofi_bound, shm.base);
}

static inline struct pcoll_ofi_bound *pcoll_ofi_bound_of_run(struct pcoll_run *run)
{
    return pcoll_container_of(run, struct pcoll_ofi_bound, shm.run);
}

static inline struct pcoll_ofi_group *pcoll_ofi_group_of(const struct pcoll_group *group)
{
    return pcoll_container_of(group, struct pcoll_ofi_group, base);
}

/* ofi_rma/group.c */
enum pcoll_result pcoll_ofi_rma_group_create(const struct pcoll_bootstrap *bootstrap,
                                             struct pcoll_group **group_p);
void pcoll_ofi_rma_group_destroy(struct pcoll_group *group);
unsigned pcoll_ofi_rma_group_provides(const struct pcoll_group *group);
int pcoll_ofi_rma_group_rails(const struct pcoll_group *group);
enum pcoll_result pcoll_ofi_rma_combine(struct pcoll_group *group, uint64_t *words, int n);
void pcoll_ofi_group_release(struct pcoll_ofi_group *group);

/* ofi_rma/bind.c */
enum pcoll_result pcoll_ofi_rma_bind(struct pcoll_group *group, const struct pcoll_plan *plan,
                                     const struct pcoll_memory *memory,
                                     struct pcoll_bound **bound_p);
void pcoll_ofi_bound_destroy(struct pcoll_ofi_bound *bound);

/* ofi_rma/net.c */

/* Continue a step. PCOLL_OK: all its operations are issued; PCOLL_PENDING: not yet. */
enum pcoll_result pcoll_ofi_advance(struct pcoll_ofi_step *step);
/* Continue the steps that completions have made ready. */
enum pcoll_result pcoll_ofi_flush(struct pcoll_ofi_bound *bound);
/* Transfer signals from the inbox to the counters; true if there were any. */
int pcoll_ofi_read_inbox(struct pcoll_ofi_bound *bound);
pcoll_ofi_event pcoll_ofi_rma_event;
/* Read the completion queues of all rails of the plan. */
void pcoll_ofi_poll_rails(struct pcoll_ofi_bound *bound);
/* Send a farewell over every connection that has none yet; true if all have been sent. */
int pcoll_ofi_say_farewell(struct pcoll_ofi_bound *bound, enum pcoll_ofi_farewell farewell);
enum pcoll_ofi_farewell pcoll_ofi_farewell_of(const struct pcoll_ofi_way *way);

/* ofi_rma/unbind.c */
void pcoll_ofi_rma_unbind(struct pcoll_bound *base);
void pcoll_ofi_rma_poll(void);
int pcoll_ofi_rma_lingering(void);
void pcoll_ofi_rma_finalize(void);
void pcoll_ofi_leave_some(void); /* destroy the unbound plans that no peer uses any more */

#endif /* PCOLL_OFI_RMA_STATE_H */
