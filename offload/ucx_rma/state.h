/* Endpoints, peers and regions of the wire over UCX. Private to offload/ucx_rma. */
#ifndef PCOLL_UCX_STATE_H
#define PCOLL_UCX_STATE_H

#include <stdbool.h>
#include <time.h>

#include "offload/names.h"
#include "offload/ucx_rma/foreign.h"
#include "offload/ucx_rma/library.h"
#include "offload/ucx_rma/wire.h"

struct pcoll_ucx_endpoint {
    struct pcoll_wire_endpoint base;
    pcoll_wire_event *event;
    char *interface;                         /* as named by the caller, or NULL */
    char device[64];                         /* as UCX names it; empty: UCX's choice */
    const struct pcoll_ucx_foreign *foreign; /* whose context and worker these are; NULL: its own */
    unsigned session;                        /* of that */
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;
    struct pcoll_names names; /* of peers */
    struct pcoll_ucx_peer *peers;
    struct pcoll_ucx_request *done, **done_end; /* completed, but the event is still to come */
    bool is_stuck; /* an operation does not end, and may still use all of this: it stays */
    int refs;
    bool kept;
    struct pcoll_ucx_endpoint *next;
};

struct pcoll_ucx_peer {
    struct pcoll_ucx_peer *next;
    ucp_ep_h ep;
    bool is_lost;
    time_t asked;   /* when the last message was sent to a foreign peer that has no other purpose */
    bool is_asking; /* that message has not left yet */
    unsigned char address[];
};

/* The header of an active message: all of it if a signal is joined to the data, otherwise
 * PCOLL_UCX_PLAIN_BYTES. */
struct pcoll_ucx_header {
    uint64_t port; /* the way at the receiver */
    uint64_t to;   /* where the data belongs */
    uint32_t number;
    uint32_t unused;
    uint64_t signal_to; /* where the signal belongs, once the data is in place */
    unsigned char signal[PCOLL_WIRE_SIGNAL_BYTES];
};

#define PCOLL_UCX_PLAIN_BYTES offsetof(struct pcoll_ucx_header, signal_to)

/* A transfer in flight, in the wire's own bytes of a request. */
struct pcoll_ucx_request {
    struct pcoll_ucx_request *next;
    struct pcoll_ucx_endpoint *endpoint;
    const char *error;
    struct pcoll_ucx_header header;
};

_Static_assert(sizeof(struct pcoll_ucx_request) <= sizeof(((struct pcoll_wire_request *)0)->own),
               "a request has room for what the wire keeps");

/* A message that came before its turn. */
struct pcoll_wire_early {
    struct pcoll_wire_early *next;
    struct pcoll_ucx_header header;
    size_t header_bytes, bytes;
    unsigned char data[];
};

static inline struct pcoll_ucx_endpoint *
pcoll_ucx_endpoint_of(const struct pcoll_wire_endpoint *base)
{
    return pcoll_container_of(base, struct pcoll_ucx_endpoint, base);
}

static inline struct pcoll_ucx_peer *pcoll_ucx_peer_of(const struct pcoll_wire_way *way)
{
    return (struct pcoll_ucx_peer *)(uintptr_t)way->peer;
}

/* ---- functions of the wire (offload/rma/wire.h): worker.c, memory.c ---- */

enum pcoll_result pcoll_ucx_open(const struct pcoll_wire_options *options,
                                 const struct pcoll_bootstrap *bootstrap,
                                 struct pcoll_wire_endpoint **endpoint_p);
void pcoll_ucx_close(struct pcoll_wire_endpoint *base);
void pcoll_ucx_keep(struct pcoll_wire_endpoint *base);
void pcoll_ucx_close_kept(void);
void pcoll_ucx_poll(struct pcoll_wire_endpoint *base);
void pcoll_ucx_poll_all(void);
void pcoll_ucx_describe(const struct pcoll_wire_endpoint *base, char *text, size_t room);
enum pcoll_result pcoll_ucx_map(struct pcoll_wire_endpoint *base,
                                const struct pcoll_bootstrap *bootstrap, const char *what,
                                void *address, size_t bytes, struct pcoll_wire_region *region);
void pcoll_ucx_unmap(struct pcoll_wire_endpoint *endpoint, struct pcoll_wire_region *region);
void pcoll_ucx_write_key(const struct pcoll_wire_region *region, void *key);
enum pcoll_result pcoll_ucx_take_key(const struct pcoll_wire_way *way,
                                     const struct pcoll_bootstrap *bootstrap, const void *key,
                                     uint64_t *key_p);
void pcoll_ucx_drop_key(uint64_t key);

/* ---- worker.c, memory.c ---- */

/* Receive active messages from now on. */
ucs_status_t pcoll_ucx_listen(struct pcoll_ucx_endpoint *endpoint);

/* Report that `what` has failed with that status. Returns PCOLL_ERR_SYSTEM. */
enum pcoll_result pcoll_ucx_complain(const struct pcoll_ucx_endpoint *endpoint,
                                     const struct pcoll_bootstrap *bootstrap, const char *what,
                                     ucs_status_t status);

/* Find the bytes of a key of this endpoint, by mapping a page. */
enum pcoll_result pcoll_ucx_measure_key(struct pcoll_ucx_endpoint *endpoint,
                                        const struct pcoll_bootstrap *bootstrap);

/* ---- foreign.c ---- */

/* Returns what MPI lends of UCX to the endpoint of that interface; NULL: nothing. */
const struct pcoll_ucx_foreign *pcoll_ucx_foreign_of(const struct pcoll_wire_options *options,
                                                     const struct pcoll_bootstrap *bootstrap);

/* Let the endpoint use the foreign worker. A failure has been reported. */
enum pcoll_result pcoll_ucx_enter_foreign(struct pcoll_ucx_endpoint *endpoint,
                                          const struct pcoll_bootstrap *bootstrap);

/* Find out whether that worker can do what is needed. If not, the reason has been reported. */
enum pcoll_result pcoll_ucx_try_foreign(struct pcoll_ucx_endpoint *endpoint,
                                        const struct pcoll_bootstrap *bootstrap);

/* Returns whether a foreign peer is known to be gone, and asks it now and then. */
bool pcoll_ucx_foreign_is_lost(struct pcoll_ucx_peer *peer);

/* ---- wire.c ---- */

/* The handler of active messages. */
ucs_status_t pcoll_ucx_receive(void *argument, const void *header, size_t header_bytes, void *data,
                               size_t bytes, const ucp_am_recv_param_t *param);

#endif /* PCOLL_UCX_STATE_H */
