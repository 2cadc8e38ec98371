/* The medium ofi_rma, over the providers that work on one host. */
#include "offload/ofi_rma/ofi_rma.h"
#include "offload/ofi_rma/wire.h"
#include "test/unit/rma_tests.h"
#include "test/unit/tap.h"

static struct subject over(const char *provider)
{
    return (struct subject){provider, &pcoll_medium_ofi_rma, &pcoll_wire_ofi, provider, 1};
}

/* test_ofi [PROVIDER [rails]] */
int main(int argc, char **argv)
{
    static const char *const usual[] = {"tcp;ofi_rxm", "sockets"};

    for (int i = 0; i < (argc > 1 ? 1 : 2); i++) {
        const struct subject subject = over(argc > 1 ? argv[1] : usual[i]);

        if (argc <= 2)
            rma_check(&subject, i == 0);
        if (i == 0) /* none of this depends on the provider */
            rma_check_rails(&subject);
    }
    return tap_done();
}
