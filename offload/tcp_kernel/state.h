/*
 * The state of the medium `tcp_kernel`; tcp_kernel.h explains the idea. Only this folder and its
 * tests may use this.
 */
#ifndef PCOLL_TCP_KERNEL_STATE_H
#define PCOLL_TCP_KERNEL_STATE_H

#include <liburing.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "offload/autonomous/autonomous.h"
#include "offload/tcp_kernel/tcp_kernel.h"

/* Where a rank listens. */
struct tcp_address {
    struct sockaddr_storage name;
    socklen_t length;
};

struct tcp_group {
    struct pcoll_autonomous_group base;
    struct tcp_address address; /* of this rank; port 0 */
};

/* The kernel sends and receives; the processor copies and reduces. */
enum tcp_action_kind { TCP_SEND, TCP_RECV, TCP_COPY, TCP_REDUCE };

/* What a rank does at one point of a phase. */
struct tcp_action {
    enum tcp_action_kind kind;
    bool is_free;    /* TCP_COPY, TCP_REDUCE: it may run while the chain before it does */
    int neighbor;    /* TCP_SEND, TCP_RECV: index in plan->neighbors */
    char *from, *to; /* the bytes that it reads and writes, if it does */
    size_t bytes;
    const struct pcoll_reduction *reduction;
};

/* What a rank does in a phase, in order. */
struct tcp_script {
    struct tcp_action *actions; /* [n] */
    int n, room;
};

#define TCP_KEY_BYTES 32

/* What two neighbors need for their connection. */
struct tcp_link {
    int socket;                          /* -1: none */
    size_t bytes;                        /* that a phase sends and receives on it, about */
    unsigned char own[TCP_KEY_BYTES];    /* what the neighbor must show */
    unsigned char theirs[TCP_KEY_BYTES]; /* what it wants to see */
};

struct tcp_bound {
    struct pcoll_bound base;
    struct tcp_group *group;
    struct tcp_bound *next; /* in the list of lingering plans */
    const struct pcoll_plan *plan;
    int nphases, nneighbors;
    struct tcp_link *links;     /* [nneighbors] */
    struct tcp_script *scripts; /* [nphases] */
    struct pcoll_autonomous_memory memory;
    char token; /* a message without data carries it */

    struct io_uring ring;
    bool has_ring;
    int room; /* actions in a chain */

    uint64_t starts;
    bool active, failed;
    const struct tcp_script *script; /* of this instance */
    int position;                    /* number of actions that are done */
    size_t done,
        skipped; /* bytes of the next action that are done, now and when it was submitted */
    int early;   /* number of free actions behind the chain that are done */
    int pending; /* actions whose completions have not been seen */
    int broken;  /* why the chain was cut short: a negative error; 0: it was not */
    int retries; /* chains in a row that achieved nothing */
};

/* The state of this process. */
struct tcp_process {
    struct tcp_bound *lingering; /* unbound here, but perhaps not by all neighbors */
};
extern struct tcp_process pcoll_tcp_process;

static inline struct tcp_group *tcp_group_of(const struct pcoll_group *group)
{
    return pcoll_container_of(group, struct tcp_group, base.base);
}

static inline struct tcp_bound *tcp_bound_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct tcp_bound, base);
}

static inline bool tcp_is_kernels(const struct tcp_action *action)
{
    return action->kind == TCP_SEND || action->kind == TCP_RECV;
}

/* ---- functions of a medium (offload/medium.h): group.c, bind.c, unbind.c ---- */

enum pcoll_result pcoll_tcp_group_create(const struct pcoll_bootstrap *bootstrap,
                                         struct pcoll_group **group_p);
unsigned pcoll_tcp_group_provides(const struct pcoll_group *group);
enum pcoll_result pcoll_tcp_bind(struct pcoll_group *base, const struct pcoll_plan *plan,
                                 const struct pcoll_memory *memory, struct pcoll_bound **bound_p);
void pcoll_tcp_unbind(struct pcoll_bound *bound);
void pcoll_tcp_poll(void);
int pcoll_tcp_lingering(void);
void pcoll_tcp_finalize(void);

/* ---- group.c ---- */

/* Show the user a line that begins with the name of the medium. */
void pcoll_tcp_report(const struct pcoll_bootstrap *bootstrap, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- probe.c ---- */

/* Make a ring for that many requests; PCOLL_UNSUPPORTED with a message if the kernel refuses. */
enum pcoll_result pcoll_tcp_ring(const struct pcoll_bootstrap *bootstrap, unsigned entries,
                                 struct io_uring *ring) PCOLL_MUST_CHECK;

/* Find out whether this process may use io_uring, and whether a chain waits for all its bytes. */
enum pcoll_result pcoll_tcp_probe(const struct pcoll_bootstrap *bootstrap) PCOLL_MUST_CHECK;

/* ---- address.c ---- */

/* The address of this rank: that of the interface that `interface` names, or is; NULL: loopback if
 * all ranks are on one node, otherwise that of the default route. */
enum pcoll_result pcoll_tcp_address(const struct pcoll_bootstrap *bootstrap, const char *interface,
                                    struct tcp_address *address_p) PCOLL_MUST_CHECK;

/* ---- order.c ---- */

/* Where the result is that all have started, a get would have to wait for its peer's start: returns
 * whether this plan has none. */
bool pcoll_tcp_is_possible(const struct pcoll_plan *plan);

struct tcp_walk; /* walk.h */

/* Write the scripts of all phases, which are empty. */
enum pcoll_result pcoll_tcp_write_scripts(struct tcp_bound *b,
                                          const struct tcp_walk *walk) PCOLL_MUST_CHECK;

struct tcp_outlines;

/* Room for the outlines of all ranks' plans, of which the longest has so many bytes (walk.h).
 * PCOLL_UNSUPPORTED, on all ranks: they are too long. */
enum pcoll_result pcoll_tcp_outlines_create(const struct tcp_bound *b, size_t bytes,
                                            struct tcp_outlines **outlines_p) PCOLL_MUST_CHECK;
void pcoll_tcp_outlines_destroy(struct tcp_outlines *outlines);

/* Collective: find the scripts of all phases. A rank that fails still takes part to the end. */
enum pcoll_result pcoll_tcp_order(struct tcp_bound *b,
                                  struct tcp_outlines *outlines) PCOLL_MUST_CHECK;

/* ---- script.c ---- */

/* Append an action, or lengthen the last one. False: out of memory. */
bool pcoll_tcp_script_add(struct tcp_script *script, struct tcp_action action) PCOLL_MUST_CHECK;

/* Move what the processor does behind what the kernel can do before it. */
void pcoll_tcp_script_defer(struct tcp_script *script);

/* ---- unbind.c ---- */

/* Release all that a plan has except its connections. */
void pcoll_tcp_release(struct tcp_bound *b);

/* Close its connections, and free it. */
void pcoll_tcp_close(struct tcp_bound *b);

/* ---- connect.c ---- */

struct tcp_reception;

/* Listen for the neighbors of a plan. PCOLL_UNSUPPORTED: a limit of the system forbids it. */
enum pcoll_result pcoll_tcp_reception_open(struct tcp_bound *b,
                                           struct tcp_reception **reception_p) PCOLL_MUST_CHECK;
void pcoll_tcp_reception_close(struct tcp_reception *reception);

/* Collective: connect to all neighbors. A rank whose result `mine` is not PCOLL_OK tells them, and
 * gets it back. */
enum pcoll_result pcoll_tcp_reception_meet(struct tcp_reception *reception,
                                           enum pcoll_result mine) PCOLL_MUST_CHECK;

/* ---- chain.c ---- */

/* Do all that can be done now; returns as progress does. */
enum pcoll_result pcoll_tcp_advance(struct tcp_bound *b) PCOLL_MUST_CHECK;

/* The plan has failed: end its connections, so that its neighbors learn of it. */
void pcoll_tcp_fail(struct tcp_bound *b);

/* End the ring: from then on the kernel does nothing for this plan. */
void pcoll_tcp_stop(struct tcp_bound *b);

#endif /* PCOLL_TCP_KERNEL_STATE_H */
