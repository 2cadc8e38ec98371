/*
 * The medium ucx_rma over transports that work on one host: TCP; and shared memory with CMA under
 * the protocols of later versions (UCX_PROTO_ENABLE), which let a flag overtake the data of a put,
 * with a fence between them, too.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/rma/state.h"
#include "offload/ucx_rma/library.h"
#include "offload/ucx_rma/ucx_rma.h"
#include "offload/ucx_rma/wire.h"
#include "test/unit/rma_tests.h"
#include "test/unit/tap.h"

static const struct subject tcp = {"UCX, tcp", &pcoll_medium_ucx_rma, &pcoll_wire_ucx, NULL, 0};
static const struct subject tcp_v2 = {"UCX, tcp, v2", &pcoll_medium_ucx_rma, &pcoll_wire_ucx, NULL,
                                      0};
static const struct subject shared = {"UCX, posix and cma, v2", &pcoll_medium_ucx_rma,
                                      &pcoll_wire_ucx, NULL, 0};

/* ---- registration is refused --------------------------------------------------------- */

static __typeof__(ucp_mem_map) *granting;
static int granted, refused;

static ucs_status_t refuse_nth(ucp_context_h context, const ucp_mem_map_params_t *params,
                               ucp_mem_h *memory)
{
    if (granted-- == 0) {
        refused++;
        return UCS_ERR_NO_MEMORY;
    }
    return granting(context, params, memory);
}

static void begin(const struct pcoll_group *group, int n)
{
    (void)group;
    granting = pcoll_ucx.ucp_mem_map;
    pcoll_ucx.ucp_mem_map = refuse_nth;
    granted = n - 1;
    refused = 0;
}

static int end(const struct pcoll_group *group)
{
    (void)group;
    pcoll_ucx.ucp_mem_map = granting;
    return refused;
}

/* test_ucx [rails]; UCX reads its environment in the processes of a setup. */
int main(int argc, char **argv)
{
    static const struct refusal refusal = {begin, end};

    setenv("UCX_LOG_LEVEL", "fatal", 0);
    if (argc <= 1) {
        rma_check(&tcp, 1);
        rma_check_failures(&tcp, &refusal, 1);
    }
    rma_check_rails(&tcp);
    if (argc > 1 && strcmp(argv[1], "rails") == 0)
        return tap_done();
    setenv("UCX_PROTO_ENABLE", "y", 1);
    rma_check(&tcp_v2, 0);
    setenv("UCX_TLS", "posix,cma,self", 1);
    rma_check(&shared, 0);
    return tap_done();
}
