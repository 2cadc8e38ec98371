/*
 * The medium that lets the provider run plans: every algorithm on processes over `sockets`, ranks
 * that run ahead, ranks that make no progress calls, and several plans at a time.
 */
#include "offload/ofi_trigger/ofi_trigger.h"
#include "test/unit/net_tests.h"
#include "test/unit/tap.h"

/* The provider's threads spin while a message is in flight; if they outnumber the cores, each
 * message costs time slices, so large jobs run few instances. */
static int few_instances(int nranks, uint64_t bytes)
{
    return bytes == 1 && nranks <= 3 ? 12 : 3;
}

/* Many starts; with a small capacity counters are reset again and again. */
static void check_long(void)
{
    struct trial barrier = {.row = pcoll_algorithm_find(PCOLL_BARRIER, "butterfly"),
                            .instances = 100};
    struct trial chain = {.row = pcoll_algorithm_find(PCOLL_BCAST, "chain"),
                          .params = {.segment = 1000},
                          .bytes = 7500,
                          .instances = 30};

    net_check_trial(4, &barrier, "200 starts of a barrier");
    pcoll_ofi_trigger_settings.capacity = 60;
    net_check_trial(4, &barrier, "counters of 60: they are reset again and again");
    pcoll_ofi_trigger_settings.capacity = 400;
    net_check_trial(4, &chain, "the same, in order");
    pcoll_ofi_trigger_settings.capacity = (uint64_t)1 << 30;
}

int main(void)
{
    static const struct net_rows rows = {.sizes = {1, 40000, 0, 48, 49, 5000},
                                         .instances = few_instances};
    struct meeting *page = meeting_create(0); /* any shared page will do */

    net_medium = &pcoll_medium_ofi_trigger;
    net_provider = "sockets";
    net_shared = (_Atomic int *)(void *)page;
    net_check_absent(PCOLL_BARRIER, "butterfly", 0, 1);
    net_check_absent(PCOLL_BARRIER, "dissemination", 0, 2);
    net_check_absent(PCOLL_BCAST, "knomial_put", 200, 2);
    net_check_absent(PCOLL_BCAST, "knomial_get", 200, 2);
    net_check_absent(PCOLL_BCAST, "eager", 200, 2);
    net_check_absent(PCOLL_BCAST, "chain", 200, 2);
    net_check_absent(PCOLL_ALLGATHER, "butterfly", 50, 1);
    net_check_absent(PCOLL_ALLGATHER, "ring", 50, 1);
    check_long();
    net_check_side_by_side(20);
    net_check_rows(&rows);
    meeting_destroy(page);
    return tap_done();
}
