/*
 * An endpoint of a libfabric provider, with a fabric, domain, completion queue and address vector
 * of its own: it connects the network media to other hosts.
 *
 * A process opens an endpoint once; opening it again returns the same one. Each network interface
 * ("rail") has its own. Nothing here is thread safe beyond what the caller's lock provides.
 *
 * A provider must have reliable datagram endpoints with RMA. Its other guarantees are recorded in
 * the endpoint: `ordered`, `stream`, `joins`, `inject`, `info`. All modes of memory registration
 * are handled here, and the requests always have room for the provider's context (FI_CONTEXT2).
 *
 * Progress is manual unless requested otherwise: a peer's RMA takes effect while its target polls,
 * but not while it computes.
 */
#ifndef PCOLL_OFI_ENDPOINT_H
#define PCOLL_OFI_ENDPOINT_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>

#include "offload/medium.h"
#include "offload/names.h"
#include "offload/rma/wire.h"

#define PCOLL_OFI_VERSION FI_VERSION(1, 14)

/* pcoll_ofi_poll calls this for each completion: `context` is that of the operation; `error` is
 * NULL or says what failed. `context` NULL: something without a context failed (an inject). */
typedef void pcoll_ofi_event(void *context, const char *error);

struct pcoll_ofi_options {
    const char *provider;  /* as in FI_PROVIDER; NULL: libfabric's first that has what is needed */
    const char *interface; /* domain, network interface or address; NULL: the provider's first */
    uint64_t caps;         /* required in addition to FI_RMA */
    enum fi_progress progress; /* FI_PROGRESS_AUTO: RMA takes effect while the target computes, at
                                * the cost of a thread if the network cannot do it by itself;
                                * FI_PROGRESS_UNSPEC: manual if there is a choice */
    pcoll_ofi_event *event;
};

#define PCOLL_OFI_NAME_BYTES 96 /* enough for all providers with socket or NIC addresses */

/* The address of an endpoint, as its peers need it. */
struct pcoll_ofi_name {
    uint32_t format; /* fi_info's addr_format */
    uint32_t bytes;
    unsigned char name[PCOLL_OFI_NAME_BYTES];
};

struct pcoll_ofi_endpoint {
    struct fi_info *info; /* what the provider granted */
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct pcoll_ofi_name name;
    bool ordered;  /* writes to one peer take effect in the order issued (FI_ORDER_WAW) */
    bool stream;   /* the bytes of a write land from the first to the last (a byte stream) */
    bool joins;    /* so do those of a write to two places; the first place's come first */
    size_t inject; /* largest write with FI_INJECT in bytes */
    struct pcoll_wire_endpoint wire; /* the same for the RMA media: filled in by ofi_rma/wire.c */

    /* Private to ofi/endpoint.c. */
    struct pcoll_ofi_endpoint *next;
    struct pcoll_ofi_options options; /* owns its strings */
    int refs;
    bool kept;
    struct pcoll_names peers;
    struct pcoll_ofi_peer *all_peers;
};

/* A region of registered memory of this process. */
struct pcoll_ofi_region {
    struct fid_mr *mr; /* NULL: none */
    void *desc;        /* for local buffers in the region */
    uint64_t key;      /* for peers */
    uint64_t base;     /* peers add an offset to this */
};

/* Returns whether the provider has reliable datagrams with RMA on this machine. */
bool pcoll_ofi_has(const char *provider);

/* Open the endpoint, or find the open one with equal options. PCOLL_ERR_INVALID: there is no such
 * provider or interface, or it lacks what is required; PCOLL_ERR_SYSTEM. In both cases
 * bootstrap->report has received a message; nothing else of *bootstrap is used.
 *
 * Sets FI_SOCKETS_PE_WAITTIME to 0 unless the environment sets it: the progress thread of `sockets`
 * then sleeps and does not take the core from the ranks that it works for. Libfabric reads the
 * variable when the process first uses it, so a process that uses libfabric earlier should set it,
 * too. */
enum pcoll_result pcoll_ofi_open(const struct pcoll_ofi_options *options,
                                 const struct pcoll_bootstrap *bootstrap,
                                 struct pcoll_ofi_endpoint **endpoint_p) PCOLL_MUST_CHECK;

/* The last close destroys the endpoint. Call it only when no peer will write here any more and
 * everything that this process wrote has arrived (after a barrier of another kind, as in
 * MPI_Finalize). */
void pcoll_ofi_close(struct pcoll_ofi_endpoint *endpoint);

/* End all communication of the endpoint: the provider neither reads nor writes memory of this
 * process any more. The endpoint can still be polled and must still be closed. */
void pcoll_ofi_stop(struct pcoll_ofi_endpoint *endpoint);

/* Postpone the destruction of the endpoint from its last close to pcoll_ofi_close_kept, if that
 * comes later. */
void pcoll_ofi_keep(struct pcoll_ofi_endpoint *endpoint);

/* Destroy the endpoints that were kept and have been closed. */
void pcoll_ofi_close_kept(void);

/* The handle of a peer; the same name has the same handle. It stays valid until the endpoint is
 * destroyed. */
enum pcoll_result pcoll_ofi_peer(struct pcoll_ofi_endpoint *endpoint,
                                 const struct pcoll_bootstrap *bootstrap,
                                 const struct pcoll_ofi_name *name,
                                 fi_addr_t *peer_p) PCOLL_MUST_CHECK;

/* Let peers read and write `bytes` > 0 bytes at `address`. If `counter` is not NULL, it counts
 * their writes (FI_RMA_EVENT must be in the caps). `what` names the memory in messages. */
enum pcoll_result pcoll_ofi_register(struct pcoll_ofi_endpoint *endpoint,
                                     const struct pcoll_bootstrap *bootstrap, const char *what,
                                     void *address, size_t bytes, struct fid_cntr *counter,
                                     struct pcoll_ofi_region *region) PCOLL_MUST_CHECK;

/* Undo that, and zero the region. */
void pcoll_ofi_unregister(struct pcoll_ofi_region *region);

/* Read the completion queue, which also drives the provider's progress. Returns the number of
 * completions. */
int pcoll_ofi_poll(struct pcoll_ofi_endpoint *endpoint);

/* Poll all endpoints of the process. */
void pcoll_ofi_poll_all(void);

/* ---- select.c ---- */

/* Find what the provider offers for the options; the caller releases it with fi_freeinfo. */
enum pcoll_result pcoll_ofi_select(const struct pcoll_ofi_options *options,
                                   const struct pcoll_bootstrap *bootstrap,
                                   struct fi_info **info_p) PCOLL_MUST_CHECK;

#endif /* PCOLL_OFI_ENDPOINT_H */
