/* The table of the medium; the contract is in ucx_rma.h. */
#include "offload/ucx_rma/ucx_rma.h"

#include <stdbool.h>
#include <string.h>

#include "offload/rma/rma.h"
#include "offload/ucx_rma/wire.h"

static bool suits(bool one_node, const char *provider)
{
    return !one_node && provider != NULL && strcmp(provider, PCOLL_OVER_UCX) == 0;
}

PCOLL_RMA_FUNCTIONS(pcoll_medium_ucx_rma, pcoll_wire_ucx)

const struct pcoll_medium pcoll_medium_ucx_rma = {
    .name = "ucx_rma",
    .library = "UCX",
    .wire = &pcoll_wire_ucx,
    .suits = suits,
    PCOLL_RMA_MEMBERS,
};
