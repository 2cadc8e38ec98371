/*
 * What a network library does for the RMA media: endpoints, ways to peers, memory that peers may
 * access, and transfers. One table of functions for each library, with every member set; the rest
 * of offload/rma asks for properties of an endpoint, never for its library.
 *
 * A process opens an endpoint once for each network interface ("rail"); opening it again returns
 * the same one or one that shares everything with it. Nothing here is thread safe beyond what the
 * caller's lock provides. Functions that return a result have reported a failure through the
 * bootstrap.
 */
#ifndef PCOLL_RMA_WIRE_H
#define PCOLL_RMA_WIRE_H

#include "offload/interfaces.h"

struct pcoll_wire;

struct pcoll_wire_endpoint {
    const struct pcoll_wire *wire;
    size_t ordered; /* writes of up to so many bytes to one peer take effect in the order issued */
    bool foreign;   /* it belongs to MPI, which progresses it; it reaches such endpoints only */
    bool stream;    /* the bytes of such a write land from the first to the last, or at once */
    size_t max_put, max_get; /* the longest transfers; longer data is moved piece by piece */
    size_t keyless;          /* writes of up to so many bytes need no key */
    size_t joined;     /* data of up to so many bytes and a signal can be one message, which is
                        * ordered; 0: none */
    size_t name_bytes; /* of the address that peers need */
    size_t key_bytes;  /* of the key of a region, as peers need it */
};

/* Memory of this process that peers may access. All zero: none. */
struct pcoll_wire_region {
    void *handle;
    void *desc;    /* for local buffers in the region */
    uint64_t base; /* peers add an offset to this */
};

/* The connection to a peer over an endpoint, for one plan. It must not move while it exists. */
struct pcoll_wire_way {
    struct pcoll_wire_endpoint *endpoint;
    uint64_t peer;                  /* the wire's handle of the peer */
    uint64_t port;                  /* the address of this structure at the peer */
    uint32_t sent, received;        /* writes that keep order, where the wire numbers them */
    struct pcoll_wire_early *early; /* those received out of order */
};

/* A transfer in flight. */
struct pcoll_wire_request {
    void *own[10];  /* the wire's */
    bool is_silent; /* it completes without an event */
};

struct pcoll_wire_transfer {
    void *local, *desc;
    size_t bytes;
    uint64_t remote, key;
};

/* Called when a transfer has completed: a read has arrived; a write beyond `ordered` has taken
 * effect at the peer; of other writes, the local memory may be used again. `error` is NULL or says
 * what failed. No function but poll and poll_all of a wire causes events. */
typedef void pcoll_wire_event(struct pcoll_wire_request *request, const char *error);

#define PCOLL_WIRE_SIGNAL_BYTES 16 /* of a signal that is joined to data */

struct pcoll_wire_options {
    const char *provider, *interface; /* as in the bootstrap, but one interface */
    pcoll_wire_event *event;
};

struct pcoll_wire {
    const char *library; /* for messages */

    enum pcoll_result (*open)(const struct pcoll_wire_options *options,
                              const struct pcoll_bootstrap *bootstrap,
                              struct pcoll_wire_endpoint **endpoint_p);
    /* Close the endpoint. The last close ends it: no peer may write here any more, and everything
     * that this process wrote must have arrived (after a barrier of another kind, as in
     * MPI_Finalize). */
    void (*close)(struct pcoll_wire_endpoint *endpoint);
    /* Postpone the end of the endpoint from its last close to close_kept, if that comes later. */
    void (*keep)(struct pcoll_wire_endpoint *endpoint);
    void (*close_kept)(void);
    /* Write the endpoint's name for messages. */
    void (*describe)(const struct pcoll_wire_endpoint *endpoint, char *text, size_t room);

    /* Reading completions also drives the library's progress. */
    void (*poll)(struct pcoll_wire_endpoint *endpoint);
    void (*poll_all)(void); /* all endpoints of the process; drives those that are not foreign */

    /* Write this process's address, of name_bytes. */
    void (*write_name)(const struct pcoll_wire_endpoint *endpoint, void *name);
    /* Find or connect the peer with that address, which need not answer. */
    enum pcoll_result (*connect)(struct pcoll_wire_endpoint *endpoint,
                                 const struct pcoll_bootstrap *bootstrap, const void *name,
                                 struct pcoll_wire_way *way);
    /* Accepts a zeroed way. */
    void (*disconnect)(struct pcoll_wire_way *way);
    /* Returns whether the library knows that the peer is gone. */
    bool (*is_lost)(const struct pcoll_wire_way *way);

    /* Let peers read and write `bytes` > 0 bytes at `address`; `what` names them in messages. */
    enum pcoll_result (*map)(struct pcoll_wire_endpoint *endpoint,
                             const struct pcoll_bootstrap *bootstrap, const char *what,
                             void *address, size_t bytes, struct pcoll_wire_region *region);
    /* Undo that, and zero the region. Accepts a zeroed one. */
    void (*unmap)(struct pcoll_wire_endpoint *endpoint, struct pcoll_wire_region *region);
    /* Write the key of the region, of key_bytes. */
    void (*write_key)(const struct pcoll_wire_region *region, void *key);

    /* Turn a peer's key into what transfers use. */
    enum pcoll_result (*take_key)(const struct pcoll_wire_way *way,
                                  const struct pcoll_bootstrap *bootstrap, const void *key,
                                  uint64_t *key_p);
    /* Release what take_key has made. */
    void (*drop_key)(uint64_t key);

    /* Transfers return PCOLL_OK: in flight; PCOLL_PENDING: there is no room, try again; otherwise
     * *why_p says what failed. A signal is at most PCOLL_LINE_BYTES long and may complete without
     * an event. */
    enum pcoll_result (*put)(struct pcoll_wire_way *way, struct pcoll_wire_request *request,
                             const struct pcoll_wire_transfer *transfer, const char **why_p);
    enum pcoll_result (*get)(struct pcoll_wire_way *way, struct pcoll_wire_request *request,
                             const struct pcoll_wire_transfer *transfer, const char **why_p);
    enum pcoll_result (*put_signal)(struct pcoll_wire_way *way, struct pcoll_wire_request *request,
                                    const struct pcoll_wire_transfer *transfer, const char **why_p);
    /* One message for data of 1 to `joined` bytes and the signal that follows it: the data is in
     * place when any byte of the signal is. If it completes without an event, the memory of both
     * may be used again at once. */
    enum pcoll_result (*put_joined)(struct pcoll_wire_way *way, struct pcoll_wire_request *request,
                                    const struct pcoll_wire_transfer *data,
                                    const struct pcoll_wire_transfer *signal, const char **why_p);
};

/* Returns whether transfers of `bytes` bytes to or from the peer need a key. */
static inline bool pcoll_wire_needs_key(const struct pcoll_wire_endpoint *endpoint, bool is_get,
                                        size_t bytes)
{
    return is_get || bytes > endpoint->keyless;
}

#endif /* PCOLL_RMA_WIRE_H */
