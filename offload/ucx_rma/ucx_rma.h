/*
 * The RMA medium (rma/rma.h) over UCX. Uses bootstrap->interface, whose names are network devices
 * of UCX, network interfaces, or addresses of these; transports are UCX's choice (UCX_TLS). Without
 * a name, it uses bootstrap->foreign on all ranks if that is usable on all (foreign.h).
 *
 * Signals and short data (wire.h) travel as active messages, whose handler writes them where they
 * belong. They need no key, and take effect in the order sent: UCX does not promise that, so each
 * carries a number, and one that comes early waits for those before it. A signal that follows such
 * data travels in the header of its message. Longer data is got, or sent in several such messages;
 * where there is RDMA it is put, and a put is complete when a flush of the endpoint says that it
 * has arrived: ucp_worker_fence does not order a put before what follows (UCX 1.13 with
 * UCX_PROTO_ENABLE=y; test_ucx_wire).
 *
 * UCX is loaded when a process first needs it, so a process that does not pays nothing. Unless the
 * environment sets them, UCX_HANDLE_ERRORS, UCX_MEM_EVENTS and UCX_WARN_UNUSED_ENV_VARS are then
 * set to leave signals, malloc and the terminal to the application, and UCX_TCP_TX_SEG_SIZE and
 * UCX_TCP_RX_SEG_SIZE to 256 KiB.
 */
#ifndef PCOLL_UCX_RMA_H
#define PCOLL_UCX_RMA_H

#include "offload/medium.h"

extern const struct pcoll_medium pcoll_medium_ucx_rma;

#endif /* PCOLL_UCX_RMA_H */
