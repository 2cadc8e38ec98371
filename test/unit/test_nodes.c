/* The ranks settle where they are: by a formula, by one order for all nodes, by a table that the
 * ranks of a node share. */
#include "offload/node/nodes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/topology_check.h"

enum { LIMIT_SECONDS = 60, CHANGED = 12345 };

struct setup {
    const char *name;
    const char *nodes, *distances; /* a digit for each rank */
    int is_table, has_order;
    int gather_fails; /* on rank 1 */
};

static const struct setup setups[] = {
    {"blocks", "000011112222", "000000000000", 0, 0, 0},
    {"a short last node", "00001111222", "00000000000", 0, 0, 0},
    {"round robin", "0120120120", "0000000000", 0, 0, 0},
    {"blocks, rank 2 of each node near", "000011112222", "220222022202", 0, 1, 0},
    {"round robin, the last near", "012012012012012", "555555555555111", 0, 1, 0},
    {"eight ranks on a node, each at another distance", "0000000011111111", "7654321076543210", 0,
     1, 0},
    {"blocks, nodes differ", "000011112222", "220222022022", 1, 0, 0},
    {"a short last node, distances differ", "00001111222", "10101010101", 1, 0, 0},
    {"no order", "010021120", "000000000", 1, 0, 0},
    {"no order, distances differ", "0100211203", "3120312031", 1, 0, 0},
    {"one rank cannot gather", "0100211203", "3120312031", 1, 0, 1},
    {"one node", "00000", "00000", 0, 0, 0},
    {"one node, distances differ", "00000000000", "98765432100", 0, 1, 0},
    {"each rank has a node", "01234567", "00000000", 0, 0, 0},
};

struct rank {
    const struct setup *setup;
    struct attendee attendee;
};

static int digit(const void *digits, int rank)
{
    return ((const char *)digits)[rank] - '0';
}

static enum pcoll_result gather(void *context, int own, int *all)
{
    struct attendee *attendee = context;
    struct rank *rank = (struct rank *)((char *)attendee - offsetof(struct rank, attendee));

    meeting_allgather(attendee, &own, all, sizeof(own));
    return rank->setup->gather_fails && attendee->rank == 1 ? PCOLL_ERR_SYSTEM : PCOLL_OK;
}

/* As made from all that is known. */
static int is_right(const struct pcoll_topology *topology, const struct setup *setup, int nranks)
{
    int nodes[MEETING_MAX_RANKS], distances[MEETING_MAX_RANKS], good;
    struct pcoll_topology *expected;

    for (int r = 0; r < nranks; r++) {
        nodes[r] = digit(setup->nodes, r);
        distances[r] = digit(setup->distances, r);
    }
    if (pcoll_topology_create(nodes, distances, nranks, &expected) != PCOLL_OK)
        return 0;
    good = topology_check(topology, nranks, stdout) == PCOLL_OK &&
           topology->nnodes == expected->nnodes;
    for (int r = 0; r < nranks; r++)
        good = good && pcoll_topology_place(topology, r) == pcoll_topology_place(expected, r) &&
               pcoll_topology_node(topology, r) == pcoll_topology_node(expected, r);
    good = good && (topology->run == 0) == setup->is_table &&
           (topology->order != NULL) == setup->has_order;
    pcoll_topology_destroy(expected);
    return good;
}

/* What the lowest rank of a node writes into its table the others of the node see, and only they.
 */
static int is_shared(const struct pcoll_topology *topology, struct meeting *meeting, int rank)
{
    const int node = pcoll_topology_node(topology, rank);
    int *place = (int *)&topology->places[0], lowest = 0, seen;

    while (pcoll_topology_node(topology, lowest) != node)
        lowest++;
    meeting_barrier(meeting);
    if (rank == lowest)
        *place = CHANGED + node;
    meeting_barrier(meeting);
    seen = *place;
    meeting_barrier(meeting);
    return seen == CHANGED + node;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct setup *setup = argument;
    struct rank self = {setup, {.meeting = meeting, .rank = rank}};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&self.attendee);
    const int nranks = bootstrap.nranks;
    const struct pcoll_nodes nodes = {
        .map = {digit, setup->nodes},
        .distance = digit(setup->distances, rank),
        .distances_differ =
            strspn(setup->distances, (char[]){setup->distances[0], '\0'}) < (size_t)nranks,
        .gather = gather,
    };
    struct pcoll_topology topology;
    int wrong;

    alarm(LIMIT_SECONDS);
    if (pcoll_nodes_settle(&bootstrap, &nodes, &topology) != PCOLL_OK)
        return !setup->gather_fails;
    wrong = setup->gather_fails || !is_right(&topology, setup, nranks);
    if (setup->is_table)
        wrong |= !is_shared(&topology, meeting, rank);
    pcoll_topology_fini(&topology);
    return wrong;
}

int main(void)
{
    for (size_t i = 0; i < sizeof(setups) / sizeof(*setups); i++) {
        struct setup setup = setups[i];

        tap_ok(meeting_run_processes((int)strlen(setup.nodes), rank_main, &setup) == 0, "%s",
               setup.name);
    }
    return tap_done();
}
