/* UCX as a wire of the RMA media. Private to offload/ucx_rma and its tests. */
#ifndef PCOLL_UCX_WIRE_H
#define PCOLL_UCX_WIRE_H

#include "offload/rma/wire.h"

/* The longest data that travels in an active message, in bytes. */
#define PCOLL_UCX_EAGER 8192

extern const struct pcoll_wire pcoll_wire_ucx;

#endif /* PCOLL_UCX_WIRE_H */
