/*
 * The state of the medium `ofi_trigger`; ofi_trigger.h explains the idea. Only ofi_trigger*.c and
 * their test may use this.
 */
#ifndef PCOLL_OFI_TRIGGER_STATE_H
#define PCOLL_OFI_TRIGGER_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include <rdma/fi_trigger.h>

#include "offload/autonomous/autonomous.h"
#include "offload/ofi/endpoint.h"
#include "offload/ofi_trigger/ofi_trigger.h"

struct trigger_group {
    struct pcoll_autonomous_group base;
    struct pcoll_ofi_endpoint *endpoint;
};

/* A counter of the plan. */
struct trigger_counter {
    struct fid_cntr *cntr;
    uint64_t base; /* its value at the beginning of the current cycle, as far as this rank has
                    * started */
    uint64_t arm;  /* what a start adds when all works are queued; see ofi_trigger.c */
    struct pcoll_ofi_region doorbell; /* if a peer has requested it */
};

/* A buffer of this rank as peers see it: registered with a counter that their puts raise, or with
 * none. */
struct trigger_window {
    int buffer, counter;
    struct pcoll_ofi_region region;
};

/* One entry, ready to be queued. The provider owns it until it is done. */
struct trigger_work {
    struct fi_deferred_work work; /* first, since the completion queue returns its address */
    struct trigger_bound *bound;
    struct fi_op_rma rma;
    struct fi_op_cntr add;
    struct iovec local;
    struct fi_rma_iov remote;
    void *desc;
    bool exists; /* false for WAIT, for REDUCE, and for COPY unless it signals a peer */
};

/* What a rank tells its neighbors when it unbinds a plan. */
enum trigger_farewell { TRIGGER_HERE, TRIGGER_LEFT, TRIGGER_FAILED };

/* Words of a plan that the network reads and writes; the neighbors' farewells come last. */
enum trigger_bell { BELL_OF_PEERS, BELL_FOR_PEERS, BELL_FAREWELL, BELL_FAREWELLS };

/* Memory of a peer, with its address and key. */
struct trigger_target {
    fi_addr_t peer;
    uint64_t key, base;
};

/* A neighbor, as this rank needs it when it leaves. */
struct trigger_neighbor {
    struct trigger_target word; /* where the farewell goes */
    struct trigger_work work;
};

struct trigger_bound {
    struct pcoll_bound base;
    struct trigger_group *group;
    struct trigger_bound *next; /* in the list of lingering plans */
    const struct pcoll_plan *plan;
    struct pcoll_ofi_endpoint *endpoint;
    int nphases, ncounters;

    struct trigger_counter *counters; /* [ncounters + 1]: the last one counts completed works */
    struct trigger_work *works;       /* [nentries] */
    struct trigger_window *windows;
    int nwindows;
    struct pcoll_ofi_region local[PCOLL_NUM_BUFFERS]; /* for this rank's own works */
    struct trigger_neighbor *neighbors;               /* [nneighbors] */
    int nneighbors;
    int told; /* number of neighbors whose farewell has been queued */
    time_t
        left_at; /* when all neighbors were seen to have left, or the plan to have failed; or 0 */
    _Atomic uint64_t *bells; /* [BELL_FAREWELLS + nneighbors] */
    struct pcoll_ofi_region bell_region;
    struct pcoll_autonomous_memory memory;

    /* [nphases * ncounters]: what an instance waits for, and the counter's gain from all ranks,
     * from the start of the cycle to the end of the phase. */
    uint64_t *need, *total;
    int *data;   /* [nphases]: number of works that the last counter counts */
    bool *armed; /* [nphases * ncounters]: whether it is armed while works are queued */
    int *copies; /* COPYs and REDUCEs of this instance, [ncopies] */
    int ncopies;

    uint64_t starts;
    int phase;
    bool active, failed;
    int queued;  /* number of entries of the phase that are queued */
    int waiting; /* the counter that is polled */
    int reserved_counters, reserved_works;
    uint64_t capacity;
};

/* The state of this process. */
struct trigger_process {
    struct pcoll_ofi_endpoint *endpoint; /* kept open until finalize */
    struct trigger_bound *lingering;     /* unbound here, but perhaps not by all neighbors */
    int counters, works;                 /* taken from the budget */
};
extern struct trigger_process pcoll_trigger_process;

static inline struct trigger_group *trigger_group_of(const struct pcoll_group *group)
{
    return pcoll_container_of(group, struct trigger_group, base.base);
}

static inline struct trigger_bound *trigger_bound_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct trigger_bound, base);
}

static inline struct fid_cntr *trigger_data_counter(const struct trigger_bound *bound)
{
    return bound->counters[bound->ncounters].cntr;
}

static inline bool trigger_reached(const struct trigger_counter *counter, uint64_t level)
{
    return (int64_t)(fi_cntr_read(counter->cntr) - (counter->base + level)) >= 0;
}

/* ---- functions of a medium (offload/medium.h): group.c, bind.c, unbind.c ---- */

enum pcoll_result pcoll_trigger_group_create(const struct pcoll_bootstrap *bootstrap,
                                             struct pcoll_group **group_p);
unsigned pcoll_trigger_group_provides(const struct pcoll_group *group);
enum pcoll_result pcoll_trigger_bind(struct pcoll_group *base, const struct pcoll_plan *plan,
                                     const struct pcoll_memory *memory,
                                     struct pcoll_bound **bound_p);
void pcoll_trigger_unbind(struct pcoll_bound *bound);
void pcoll_trigger_poll(void);
int pcoll_trigger_lingering(void);
void pcoll_trigger_finalize(void);

/* ---- unbind.c ---- */

/* Destroy the lingering plans that no neighbor needs any more. */
void pcoll_trigger_sweep(void);

/* ---- open.c ---- */

/* Open what the plan needs on this rank, before the peers are asked. */
enum pcoll_result pcoll_trigger_open(struct trigger_bound *bound, const struct pcoll_plan *plan,
                                     const struct pcoll_memory *memory) PCOLL_MUST_CHECK;

/* Close all of it, also what a failed open left. */
void pcoll_trigger_close(struct trigger_bound *bound);

/* ---- work.c ---- */

/* Set up the work of an entry; the peer's address and key must be known. */
void pcoll_trigger_work(struct trigger_bound *bound, int number,
                        const struct trigger_target *target);

/* Set up the work that writes the farewell to a neighbor. */
void pcoll_trigger_farewell_work(struct trigger_bound *bound, struct trigger_neighbor *neighbor);

#endif /* PCOLL_OFI_TRIGGER_STATE_H */
