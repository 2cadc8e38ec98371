/* The table of the medium; the contract is in ofi_rma.h. */
#include "offload/ofi_rma/ofi_rma.h"

#include <string.h>

#include "offload/ofi_rma/wire.h"
#include "offload/rma/rma.h"

static int suits(int one_node, const char *provider)
{
    return !one_node && (provider == NULL || strcmp(provider, PCOLL_OVER_UCX) != 0);
}

static void poll_all(void)
{
    pcoll_rma_poll(&pcoll_wire_ofi);
}

static int lingering(void)
{
    return pcoll_rma_lingering(&pcoll_wire_ofi);
}

static void finalize(void)
{
    pcoll_rma_finalize(&pcoll_wire_ofi);
}

static enum pcoll_result group_create(const struct pcoll_bootstrap *bootstrap,
                                      struct pcoll_group **group_p)
{
    return pcoll_rma_group_create(&pcoll_medium_ofi_rma, &pcoll_wire_ofi, bootstrap, group_p);
}

const struct pcoll_medium pcoll_medium_ofi_rma = {
    .name = "ofi_rma",
    .library = "libfabric",
    .wire = &pcoll_wire_ofi,
    .suits = suits,
    .poll = poll_all,
    .lingering = lingering,
    .finalize = finalize,
    .group_create = group_create,
    PCOLL_RMA_SLOTS,
};
