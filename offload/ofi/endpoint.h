/*
 * An endpoint of a libfabric provider, with fabric, domain, completion queue and address vector of
 * its own: the way of the network media to other hosts.
 *
 * A process opens an endpoint once; who opens it again gets the same one.  Each network interface
 * ("rail") has its own.  Nothing here is thread safe beyond what the lock of the caller gives.
 *
 * A provider must have reliable datagram endpoints with RMA.  What else it promises stands in the
 * endpoint: `ordered`, `stream`, `inject`, `info`.  All modes of memory registration are handled
 * here, and the caller's requests always have room for the provider's context (FI_CONTEXT2).
 *
 * Progress is manual unless asked for otherwise: a peer's RMA takes effect while its target polls,
 * and not while it computes.
 */
#ifndef PCOLL_OFI_ENDPOINT_H
#define PCOLL_OFI_ENDPOINT_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include "offload/medium.h"

#define PCOLL_OFI_VERSION FI_VERSION(1, 14)

/* Called by pcoll_ofi_poll for each completion: `context` is that of the operation, `error` NULL or
 * what went wrong.  `context` NULL: something without a context went wrong (an inject). */
typedef void pcoll_ofi_event(void *context, const char *error);

struct pcoll_ofi_options {
    const char *provider;  /* as FI_PROVIDER names it; NULL: libfabric's first that can */
    const char *interface; /* domain, network interface or address; NULL: the provider's first */
    uint64_t caps;         /* needed beside FI_RMA */
    enum fi_progress progress; /* FI_PROGRESS_AUTO: RMA takes effect while the target computes, at
                                * the cost of a thread where the network cannot do it by itself;
                                * FI_PROGRESS_UNSPEC: manual where there is a choice */
    pcoll_ofi_event *event;
};

#define PCOLL_OFI_NAME_BYTES 96 /* no provider with sockets or NIC addresses needs more */

/* The address of an endpoint, for its peers. */
struct pcoll_ofi_name {
    uint32_t format; /* enum of fi_info's addr_format */
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
    int ordered;   /* writes to one peer take effect in the order issued (FI_ORDER_WAW) */
    int stream;    /* the bytes of a write land from the first to the last (a byte stream) */
    size_t inject; /* most bytes of a write with FI_INJECT */

    /* Private to ofi/endpoint.c. */
    struct pcoll_ofi_endpoint *next;
    struct pcoll_ofi_options options; /* its strings are owned */
    int refs, kept;
    uint64_t next_key;
    struct pcoll_ofi_peer *peers;
    int npeers;
};

/* Registered memory of this process. */
struct pcoll_ofi_region {
    struct fid_mr *mr; /* NULL: none */
    void *desc;        /* for local buffers in it */
    uint64_t key;      /* for peers */
    uint64_t base;     /* what peers add an offset to */
};

/* Open the endpoint, or find the one that is open with equal options.  PCOLL_ERR_INVALID: no such
 * provider or interface, or it has not what is asked for; PCOLL_ERR_SYSTEM.  A message was given to
 * bootstrap->report; nothing else of *bootstrap is used.
 *
 * Sets FI_SOCKETS_PE_WAITTIME to 0 if the environment has it not: the progress thread of `sockets`
 * then sleeps instead of taking the core from those it works for.  Libfabric reads it when it is
 * first used in the process, so who uses it earlier should set it too. */
enum pcoll_result pcoll_ofi_open(const struct pcoll_ofi_options *options,
                                 const struct pcoll_bootstrap *bootstrap,
                                 struct pcoll_ofi_endpoint **endpoint_p) PCOLL_MUST_CHECK;

/* The last close ends the endpoint: only when no peer will write here any more, and all that this
 * process wrote has arrived (behind a barrier of another kind, as in MPI_Finalize). */
void pcoll_ofi_close(struct pcoll_ofi_endpoint *endpoint);

/* Do not end the endpoint at its last close but at pcoll_ofi_close_kept, if that is later. */
void pcoll_ofi_keep(struct pcoll_ofi_endpoint *endpoint);
void pcoll_ofi_close_kept(void);

/* The handle of a peer; the same name has the same handle.  It stays until the endpoint ends. */
enum pcoll_result pcoll_ofi_peer(struct pcoll_ofi_endpoint *endpoint,
                                 const struct pcoll_bootstrap *bootstrap,
                                 const struct pcoll_ofi_name *name,
                                 fi_addr_t *peer_p) PCOLL_MUST_CHECK;

/* Let peers read and write `bytes` > 0 bytes at `address`.  `counter`, if not NULL, counts what
 * they write (FI_RMA_EVENT must be in the caps).  `what` names the memory in the message. */
enum pcoll_result pcoll_ofi_register(struct pcoll_ofi_endpoint *endpoint,
                                     const struct pcoll_bootstrap *bootstrap, const char *what,
                                     void *address, size_t bytes, struct fid_cntr *counter,
                                     struct pcoll_ofi_region *region) PCOLL_MUST_CHECK;
void pcoll_ofi_unregister(struct pcoll_ofi_region *region); /* zeroes it */

/* Read the completion queue, which also drives the provider; the number of completions. */
int pcoll_ofi_poll(struct pcoll_ofi_endpoint *endpoint);

void pcoll_ofi_poll_all(void); /* all endpoints of the process */

#define PCOLL_OFI_MAX_RAILS 8

/* What the list `a,b,c` in bootstrap->interface names. */
struct pcoll_ofi_interfaces {
    int n;                                  /* at least 1 */
    const char *names[PCOLL_OFI_MAX_RAILS]; /* [n]; NULL, the only one: the provider's choice */
    char *text;                             /* that they point into */
};

/* ofi/select.c: take the list apart.  A name that is empty, or was there already, or is one too
 * many is left out, with a message.  Ended by pcoll_ofi_interfaces_free. */
enum pcoll_result pcoll_ofi_interfaces(const struct pcoll_bootstrap *bootstrap,
                                       struct pcoll_ofi_interfaces *list) PCOLL_MUST_CHECK;
void pcoll_ofi_interfaces_free(struct pcoll_ofi_interfaces *list);

/* ofi/select.c: what the provider offers for the options; the caller frees it by fi_freeinfo. */
enum pcoll_result pcoll_ofi_select(const struct pcoll_ofi_options *options,
                                   const struct pcoll_bootstrap *bootstrap,
                                   struct fi_info **info_p) PCOLL_MUST_CHECK;

#endif /* PCOLL_OFI_ENDPOINT_H */
