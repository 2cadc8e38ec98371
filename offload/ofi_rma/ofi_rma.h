/*
 * The RMA medium (rma/rma.h) on any libfabric provider with RMA. Uses bootstrap->provider and
 * ->interface; the provider is the same on all ranks of a group.
 *
 * Order comes from the provider: FI_ORDER_WAW, or a put that is complete when it has been delivered
 * (FI_DELIVERY_COMPLETE). A put is a stream where the provider works over a byte stream.
 */
#ifndef PCOLL_OFI_RMA_H
#define PCOLL_OFI_RMA_H

#include "offload/medium.h"

extern const struct pcoll_medium pcoll_medium_ofi_rma;

#endif /* PCOLL_OFI_RMA_H */
