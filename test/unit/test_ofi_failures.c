/* The medium ofi_rma when something fails: see rma_tests.h. */
#include "offload/ofi_rma/ofi_rma.h"
#include "offload/ofi_rma/wire.h"
#include "offload/rma/state.h"
#include "test/unit/refuse.h"
#include "test/unit/rma_tests.h"
#include "test/unit/tap.h"

static struct fid_domain *domain_of(const struct pcoll_group *group)
{
    return pcoll_wire_ofi_endpoint(pcoll_rma_group_of(group)->endpoints[0])->domain;
}

static void begin(const struct pcoll_group *group, int n)
{
    refuse_begin(domain_of(group), n);
}

static int end(const struct pcoll_group *group)
{
    refuse_end(domain_of(group));
    return refused;
}

int main(void)
{
    static const struct refusal refusal = {begin, end};
    static const struct subject tcp = {"tcp;ofi_rxm", &pcoll_medium_ofi_rma, &pcoll_wire_ofi,
                                       "tcp;ofi_rxm", 1};
    static const struct subject sockets = {"sockets", &pcoll_medium_ofi_rma, &pcoll_wire_ofi,
                                           "sockets", 1};

    rma_check_failures(&tcp, &refusal, 1);
    rma_check_failures(&sockets, &refusal, 0);
    return tap_done();
}
