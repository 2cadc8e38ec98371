/* UCX as a wire of the RMA media. Private to offload/ucx_rma and its tests. */
#ifndef PCOLL_UCX_WIRE_H
#define PCOLL_UCX_WIRE_H

#include "offload/rma/wire.h"

/* The longest data of one active message, in bytes. It is copied on both sides. Where the network
 * moves data by itself, longer data is put, since the copies cost more than the flush. Over TCP,
 * UCX sends puts in such messages, too, and the flush waits for an answer: there, longer data is
 * sent in several messages. The receiver copies them out of UCX's segments of 256 KiB; it would put
 * longer ones together in memory of their own first. Of 64, 128, 256 and 512 KiB, 128 KiB was the
 * fastest for a broadcast of 1 MiB (doc/notes/packets.md).
 */
#define PCOLL_UCX_MESSAGE_TCP (128 * 1024)
#define PCOLL_UCX_MESSAGE_RDMA (8 * 1024)

extern const struct pcoll_wire pcoll_wire_ucx;

#endif /* PCOLL_UCX_WIRE_H */
