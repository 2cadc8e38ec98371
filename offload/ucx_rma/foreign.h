/*
 * UCX as MPI has opened it for itself. The medium may use that worker and its endpoints instead of
 * opening its own: then a process has one set of connections, and whoever progresses the worker
 * makes progress for both.
 *
 * The owner's endpoints need not handle errors. Then nothing but an operation that fails tells that
 * a peer is gone, and a rank that waits sends empty messages now and then. Transports of shared
 * memory do not notice even so.
 */
#ifndef PCOLL_UCX_FOREIGN_H
#define PCOLL_UCX_FOREIGN_H

#include <stdlib.h>

#include <ucp/api/ucp.h>

#include "offload/bootstrap.h"

#define PCOLL_UCX_LIBRARY "UCX" /* as in struct pcoll_foreign */

/* The id of the medium's active messages, which the owner must not use. */
#define PCOLL_UCX_AM 24

struct pcoll_ucx_foreign {
    struct pcoll_foreign base;
    const char *owner;     /* for messages */
    unsigned session;      /* another number for each time that the owner opens UCX */
    ucp_context_h context; /* needs UCP_FEATURE_RMA and UCP_FEATURE_AM */
    ucp_worker_h worker;   /* used by one thread at a time, never within its own callbacks */
    unsigned (*progress)(ucp_worker_h worker); /* as the owner calls it */
    int process;                               /* the number of this process */
    ucp_ep_h (*endpoint)(int process);         /* to the process of that number */
};

/* The owner calls this before it reads UCX's configuration: over TCP, UCX's segments of 8 KiB make
 * messages from 8 KiB on 1.3 to 3 times as slow. It sets the environment, except what that sets. */
static inline void pcoll_ucx_set_segments(void)
{
    setenv("UCX_TCP_TX_SEG_SIZE", "256k", 0);
    setenv("UCX_TCP_RX_SEG_SIZE", "256k", 0);
}

#endif /* PCOLL_UCX_FOREIGN_H */
