/* Closed forms of cost beside a walk; the contract is in walked.h. */
#include "test/unit/walked.h"

#include <assert.h>
#include <stdlib.h>

#include "test/unit/tap.h"
#include "tuning/sim/walk.h"

const struct pcoll_machine walked_networks[WALKED_NETWORKS] = {
    {.L = 12, .o = 2, .g = 2, .G = 0.0008, .rma = 4, .copy = 0.00008, .kept = 0.00008, .call = 0.2},
    {.L = 1.9,
     .o = 0.23,
     .g = 0,
     .G = 0.000079,
     .rma = 0.5,
     .copy = 0.00008,
     .kept = 0.00008,
     .call = 0.2},
    {.L = 1.3, .o = 0.15, .g = 0.3, .G = 0.000086, .copy = 0.00008, .kept = 0.00008, .call = 0.2},
};
const struct pcoll_machine walked_memory = {.L = 0.1,
                                            .o = 0.02,
                                            .g = 0.02,
                                            .G = 0.0001,
                                            .rma = 1.6,
                                            .copy = 0.00008,
                                            .kept = 0.00008,
                                            .call = 0.1,
                                            .exclusive = 1};

const uint64_t walked_messages[WALKED_MESSAGES] = {8, 1024, 16384, 1 << 18, 4 << 20};

struct pcoll_topology *walked_spread(int nranks, int members)
{
    struct pcoll_topology *topology;
    int *nodes = malloc((size_t)nranks * sizeof(*nodes));

    for (int r = 0; nodes != NULL && r < nranks; r++)
        nodes[r] = r / members;
    if (nodes == NULL || pcoll_topology_create(nodes, NULL, nranks, &topology) != PCOLL_OK)
        abort();
    free(nodes);
    return topology;
}

void walked_compare(const struct pcoll_algorithm *row, const struct pcoll_signature *signature,
                    const struct pcoll_params *params, const struct pcoll_machine *machine,
                    struct walked_range *range)
{
    double walked, ratio;

    assert(row->cost != NULL);
    /* No rank of the walk shares another's copy. */
    if (row == &pcoll_bcast_knomial_get && pcoll_cost_coop(signature) < 1)
        return;
    walked = pcoll_cost_walk(row, signature, params, machine);
    ratio = walked < 0 ? 0 : pcoll_cost_of(row, signature, params, machine) / walked;
    range->least = ratio < range->least ? ratio : range->least;
    range->most = ratio > range->most ? ratio : range->most;
}

/* What a rank does by itself takes the time of its node. */
void walked_compare_networks(const struct pcoll_algorithm *row,
                             const struct pcoll_signature *signature,
                             const struct pcoll_params *params, struct walked_range *range)
{
    for (int i = 0; i < WALKED_NETWORKS; i++) {
        struct pcoll_machine machine = walked_networks[i];

        machine.node = &walked_memory;
        walked_compare(row, signature, params, &machine, range);
    }
}

void walked_ok(const struct walked_range *range, double allowed, const char *format, ...)
{
    char what[200];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    tap_ok(range->least > 1 - allowed && range->most < 1 + allowed,
           "%s: closed form is %.3f to %.3f of the walk", what, range->least, range->most);
}
