/* The network between the nodes; the contract is in network.h. */
#include "tuning/sim/network.h"

#include <string.h>

enum { AXES = 3, WAYS = 2 };

enum pcoll_result pcoll_network_parse(const char *text, struct pcoll_network *network)
{
    int *side = network->side, end = 0;

    if (strcmp(text, "flat") == 0) {
        network->kind = PCOLL_FLAT;
        return PCOLL_OK;
    }
    if (sscanf(text, "torus:%dx%dx%d%n", &side[0], &side[1], &side[2], &end) == AXES &&
        text[end] == '\0' && side[0] > 0 && side[1] > 0 && side[2] > 0) {
        network->kind = PCOLL_TORUS;
        return PCOLL_OK;
    }
    if (sscanf(text, "fat_tree:%d:%d%n", &network->down, &network->up, &end) == 2 &&
        text[end] == '\0' && network->down > 0 && network->up > 0) {
        network->kind = PCOLL_FAT_TREE;
        return PCOLL_OK;
    }
    return PCOLL_ERR_INVALID;
}

enum pcoll_result pcoll_network_check(const struct pcoll_network *network, int nnodes, FILE *why)
{
    const int *side = network->side;

    if (network->kind == PCOLL_TORUS && (int64_t)side[0] * side[1] * side[2] != nnodes) {
        if (why)
            fprintf(why, "a torus of %d x %d x %d does not have %d nodes\n", side[0], side[1],
                    side[2], nnodes);
        return PCOLL_ERR_INVALID;
    }
    return PCOLL_OK;
}

static int nleaves(const struct pcoll_network *network, int nnodes)
{
    return (nnodes + network->down - 1) / network->down;
}

int64_t pcoll_network_nlinks(const struct pcoll_network *network, int nnodes)
{
    if (network->kind == PCOLL_TORUS)
        return (int64_t)nnodes * AXES * WAYS;
    if (network->kind == PCOLL_FAT_TREE)
        return (int64_t)nleaves(network, nnodes) * network->up * WAYS;
    return 0;
}

/* Steps from position a to position b on a ring; negative: downwards; exactly half way goes
 * upwards. */
static int ring_steps(int a, int b, int side)
{
    int up = (b - a + side) % side;

    return 2 * up <= side ? up : up - side;
}

/* Routes go along one axis after another; `hop` counts down to the axis of the requested link. */
static int64_t torus_link(const struct pcoll_network *network, int from, int to, int hop)
{
    const int *side = network->side;
    int64_t node = 0;
    int at[AXES], stride = 1, axis, found = PCOLL_NONE, way = 0;

    for (axis = 0; axis < AXES; axis++) {
        int a = from % side[axis], b = to % side[axis], steps = ring_steps(a, b, side[axis]);
        int many = steps < 0 ? -steps : steps;

        from /= side[axis];
        to /= side[axis];
        at[axis] = found == PCOLL_NONE ? b : a;
        if (found == PCOLL_NONE && hop < many) {
            found = axis;
            way = steps < 0;
            at[axis] = (a + (steps < 0 ? -hop : hop) + side[axis]) % side[axis];
        }
        hop -= many;
    }
    for (axis = 0; axis < AXES; stride *= side[axis], axis++)
        node += (int64_t)at[axis] * stride;
    return found == PCOLL_NONE ? PCOLL_NONE : (node * AXES + found) * WAYS + way;
}

static int64_t fat_tree_link(const struct pcoll_network *network, int nnodes, int from, int to,
                             int hop)
{
    const int leaf[WAYS] = {from / network->down, to / network->down};

    if (leaf[0] == leaf[1] || hop >= WAYS)
        return PCOLL_NONE;
    return ((int64_t)hop * nleaves(network, nnodes) + leaf[hop]) * network->up + to % network->up;
}

int64_t pcoll_network_link(const struct pcoll_network *network, int nnodes, int from, int to,
                           int hop)
{
    if (network->kind == PCOLL_TORUS)
        return torus_link(network, from, to, hop);
    if (network->kind == PCOLL_FAT_TREE)
        return fat_tree_link(network, nnodes, from, to, hop);
    return PCOLL_NONE;
}
