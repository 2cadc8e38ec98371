/* libfabric as a wire of the RMA media. Private to offload/ofi_rma and its tests. */
#ifndef PCOLL_OFI_WIRE_H
#define PCOLL_OFI_WIRE_H

#include "offload/ofi/endpoint.h"
#include "offload/rma/wire.h"

extern const struct pcoll_wire pcoll_wire_ofi;

/* The endpoint behind that of the wire. */
struct pcoll_ofi_endpoint *pcoll_wire_ofi_endpoint(const struct pcoll_wire_endpoint *endpoint);

/* What the wire opens for these options, for tests that open it before. */
struct pcoll_ofi_options pcoll_wire_ofi_options(const char *provider, const char *interface);

#endif /* PCOLL_OFI_WIRE_H */
