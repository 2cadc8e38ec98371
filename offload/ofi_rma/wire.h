/* libfabric as a wire of the RMA media. Private to offload/ofi_rma and its tests. */
#ifndef PCOLL_OFI_WIRE_H
#define PCOLL_OFI_WIRE_H

#include "offload/ofi/endpoint.h"

extern const struct pcoll_wire pcoll_wire_ofi;

static inline struct pcoll_ofi_endpoint *
pcoll_wire_ofi_endpoint(const struct pcoll_wire_endpoint *endpoint)
{
    return pcoll_container_of(endpoint, struct pcoll_ofi_endpoint, wire);
}

#endif /* PCOLL_OFI_WIRE_H */
