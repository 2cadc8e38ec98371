/*
 * The medium that lets Linux run the plan: every algorithm on processes over loopback and local
 * sockets, ranks that run ahead, ranks that make no calls, and several plans at a time.
 */
#include "offload/tcp_kernel/tcp_kernel.h"
#include "test/unit/net_tests.h"
#include "test/unit/tap.h"

static int many_instances(int nranks, uint64_t bytes)
{
    (void)nranks;
    return bytes > 5000 ? 4 : 12;
}

static void check_long(void)
{
    const struct pcoll_tcp_kernel_settings usual = pcoll_tcp_kernel_settings;
    struct trial barrier = {.row = pcoll_algorithm_find(PCOLL_BARRIER, "dissemination"),
                            .instances = 2000};
    struct trial chain = {.row = pcoll_algorithm_find(PCOLL_BCAST, "chain"),
                          .params = {.segment = 1000},
                          .bytes = 7500,
                          .root = 2,
                          .instances = 2000};
    struct trial ring = {.row = pcoll_algorithm_find(PCOLL_ALLGATHER, "ring"),
                         .params = {.path = PCOLL_PATH_USER},
                         .bytes = 3000000,
                         .instances = 10};

    net_check_trial(5, &barrier, "4000 starts of a barrier");
    net_check_trial(4, &chain, "4000 starts of a broadcast, whose root runs ahead");
    net_check_trial(5, &ring, "a ring of long blocks");
    pcoll_tcp_kernel_settings.piece = 100;
    pcoll_tcp_kernel_settings.chain = 3;
    chain.instances = 100;
    net_check_trial(4, &chain, "short pieces, and chains of 3");
    pcoll_tcp_kernel_settings = usual;
}

/* How often ranks swap at bind, with segments of `segment` bytes. */
static int count_swaps(struct net_rank *self, uint64_t segment)
{
    struct trial t = {.row = pcoll_algorithm_find(PCOLL_BCAST, "chain"),
                      .params = {.segment = segment},
                      .bytes = 100000};
    const int before = self->attendee.swaps;
    struct part p;

    if (!net_rank_part(&p, &t, self) || part_bind(&p) != PCOLL_OK)
        return PCOLL_NONE;
    part_unbind(&p);
    part_fini(&p);
    return self->attendee.swaps - before;
}

static int run_swaps(struct meeting *meeting, int rank, void *argument)
{
    struct net_rank self;
    int wrong;

    (void)argument;
    if (!net_rank_open(&self, meeting, rank))
        return 1;
    wrong = count_swaps(&self, 100) != 2 || count_swaps(&self, 50000) != 2;
    net_rank_close(&self);
    return wrong;
}

/* Ranks that make no calls, and ranks that run ahead. */
static void check_kernel(void)
{
    net_check_absent(PCOLL_BARRIER, "butterfly", 0, 1);
    net_check_absent(PCOLL_BARRIER, "dissemination", 0, 2);
    net_check_absent(PCOLL_BCAST, "knomial_put", 200, 2);
    net_check_absent(PCOLL_BCAST, "knomial_get", 200, 2);
    net_check_absent(PCOLL_BCAST, "eager", 200, 2);
    net_check_absent(PCOLL_BCAST, "chain", 3000000, 2);
    net_check_absent(PCOLL_BCAST, "two_tree", 3000000, 2);
    net_check_absent(PCOLL_BCAST, "trinaryx3", 3000000, 1);
    net_check_absent(PCOLL_ALLGATHER, "butterfly", 50, 1);
    net_check_absent(PCOLL_ALLGATHER, "ring", 300000, 1);
    net_check_absent(PCOLL_ALLTOALL, "direct", 300000, 1);
    check_long();
    net_check_side_by_side(100);
}

int main(void)
{
    /* Messages shorter than a piece, of a few pieces, and of more than the sockets hold. */
    static const struct net_rows rows = {
        .sizes = {1, 40000, 0, 49, 5000, 700001}, .all_forms = 1, .instances = many_instances};
    const size_t usual = pcoll_tcp_kernel_settings.local;
    struct meeting *page = meeting_create(0); /* any shared page will do */

    net_medium = &pcoll_medium_tcp_kernel;
    net_shared = (_Atomic int *)(void *)page;
    if (!net_is_available())
        return tap_done();
    printf("# all ranks on one node, messages of any length by local sockets\n");
    pcoll_tcp_kernel_settings.local = SIZE_MAX;
    check_kernel();
    printf("# each rank on a node of its own\n");
    net_node_ranks = 1;
    check_kernel();
    printf("# two ranks on a node, long messages by TCP\n");
    pcoll_tcp_kernel_settings.local = usual;
    net_node_ranks = 2;
    tap_ok(meeting_run_processes(5, run_swaps, NULL) == 0,
           "ranks swap twice at bind, however many entries a plan has");
    net_check_rows(&rows);
    meeting_destroy(page);
    return tap_done();
}
