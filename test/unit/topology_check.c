/* Checks that a topology is valid; the contract is in topology_check.h. */
#include "test/unit/topology_check.h"

#include <stdlib.h>

static enum pcoll_result fail(FILE *why, const char *format, int number)
{
    if (why)
        fprintf(why, format, number);
    return PCOLL_ERR_INVALID;
}

/* There are as many positions as ranks, so if no rank occurs twice, all of them occur. */
static enum pcoll_result check_members(const struct pcoll_topology *topology, int nranks,
                                       char *seen, FILE *why)
{
    for (int i = 0, place = 0; i < topology->nnodes; i++)
        for (; place < pcoll_topology_first(topology, i + 1); place++) {
            const int rank = pcoll_topology_rank(topology, place);

            if (rank < 0 || rank >= nranks)
                return fail(why, "topology: there is no rank %d\n", rank);
            if (seen[rank])
                return fail(why, "topology: rank %d is a member twice\n", rank);
            if (pcoll_topology_place(topology, rank) != place)
                return fail(why, "topology: rank %d has another place\n", rank);
            if (pcoll_topology_node(topology, rank) != i)
                return fail(why, "topology: rank %d is a member of another node\n", rank);
            seen[rank] = 1;
        }
    return PCOLL_OK;
}

enum pcoll_result topology_check(const struct pcoll_topology *topology, int nranks, FILE *why)
{
    enum pcoll_result result;
    char *seen;

    if (topology->nnodes < 1 || topology->nnodes > nranks)
        return fail(why, "topology: %d nodes\n", topology->nnodes);
    if (topology->nranks != nranks || pcoll_topology_first(topology, 0) != 0 ||
        pcoll_topology_first(topology, topology->nnodes) != nranks)
        return fail(why, "topology: not of %d ranks\n", nranks);
    for (int i = 0; i < topology->nnodes; i++)
        if (pcoll_topology_size(topology, i) <= 0)
            return fail(why, "topology: node %d is empty\n", i);
    seen = calloc((size_t)nranks, 1);
    if (seen == NULL)
        return PCOLL_ERR_NOMEM;
    result = check_members(topology, nranks, seen, why);
    free(seen);
    return result;
}
