/* UCX as a wire of the RMA media. Private to offload/ucx_rma and its tests. */
#ifndef PCOLL_UCX_WIRE_H
#define PCOLL_UCX_WIRE_H

#include "offload/rma/wire.h"

/* The longest data that travels in an active message, in bytes. It is copied on both sides, which
 * costs more than the flush of a put where the network moves data by itself. Over TCP, UCX sends
 * puts and gets in such messages, too, and copies as often: with 64 KiB here instead of 256 KiB to
 * 8 MiB, an allgather of 256 KiB took 1.4 to 1.8 times as long, an allreduce of 1 MiB 1.3 to 1.5.
 */
#define PCOLL_UCX_EAGER_TCP (512 * 1024)
#define PCOLL_UCX_EAGER_RDMA (8 * 1024)

extern const struct pcoll_wire pcoll_wire_ucx;

#endif /* PCOLL_UCX_WIRE_H */
