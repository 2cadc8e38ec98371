/* The table of the medium; the contract is in ofi_rma.h. */
#include "offload/ofi_rma/ofi_rma.h"

#include <string.h>

#include "offload/ofi_rma/wire.h"
#include "offload/rma/rma.h"

static bool suits(bool one_node, const char *provider)
{
    return !one_node && (provider == NULL || strcmp(provider, PCOLL_OVER_UCX) != 0);
}

PCOLL_RMA_FUNCTIONS(pcoll_medium_ofi_rma, pcoll_wire_ofi)

const struct pcoll_medium pcoll_medium_ofi_rma = {
    .name = "ofi_rma",
    .library = PCOLL_LIBFABRIC,
    .wire = &pcoll_wire_ofi,
    .suits = suits,
    PCOLL_RMA_MEMBERS,
};
