/* Nodes, leaders and teams. */
#include "algorithms/topology.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit/tap.h"

enum { N = 7 };

/* Nodes by lowest rank: {0 3 5} {1 2 6} {4}. */
static const int ids[N] = {40, -7, -7, 40, 12, 40, -7};
static const int distance[N] = {1, 5, 2, 1, 9, 0, 2};

static struct pcoll_topology *make(const int *node_ids, const int *far, int nranks)
{
    struct pcoll_topology *topology;

    if (pcoll_topology_create(node_ids, far, nranks, &topology) != PCOLL_OK)
        abort();
    return topology;
}

static void check_members(const int *far, const int *expected, const char *what)
{
    static const int node[N] = {0, 1, 1, 0, 2, 0, 1}, first[] = {0, 3, 6, 7};
    struct pcoll_topology *t = make(ids, far, N);

    tap_ok(t->nnodes == 3 && memcmp(t->node, node, sizeof(node)) == 0 &&
               memcmp(t->first, first, sizeof(first)) == 0 &&
               memcmp(t->members, expected, sizeof(node)) == 0 &&
               pcoll_topology_check(t, N, stdout) == PCOLL_OK,
           "%s", what);
    pcoll_topology_destroy(t);
}

/* --- what is no topology --- */

static void refuse(struct pcoll_topology topology, const char *message)
{
    char *text = NULL;
    size_t size = 0;
    FILE *why = open_memstream(&text, &size);
    enum pcoll_result result = pcoll_topology_check(&topology, 4, why);

    fclose(why);
    if (!tap_ok(result == PCOLL_ERR_INVALID && strcmp(text, message) == 0 &&
                    pcoll_topology_check(&topology, 4, NULL) == PCOLL_ERR_INVALID,
                "refused: %.*s", (int)strcspn(message, "\n"), message))
        printf("# got %s", text);
    free(text);
}

static void check_refusals(void)
{
    static const int node[] = {0, 0, 1, 1}, first[] = {0, 2, 4}, members[] = {1, 0, 2, 3};
    static const int twice[] = {1, 1, 2, 3}, moved[] = {1, 2, 0, 3}, beyond[] = {0, 1, 2, 4};
    static const int empty[] = {0, 4, 4}, less[] = {0, 2, 3};
    const struct pcoll_topology good = {2, node, first, members};

    tap_ok(pcoll_topology_check(&good, 4, stdout) == PCOLL_OK, "two nodes of two are fine");
    refuse((struct pcoll_topology){2, node, first, twice}, "topology: rank 1 is a member twice\n");
    refuse((struct pcoll_topology){2, node, first, moved},
           "topology: rank 2 is a member of another node\n");
    refuse((struct pcoll_topology){2, node, first, beyond}, "topology: there is no rank 4\n");
    refuse((struct pcoll_topology){2, node, empty, members}, "topology: node 1 is empty\n");
    refuse((struct pcoll_topology){2, node, less, members}, "topology: not of 4 ranks\n");
    refuse((struct pcoll_topology){5, node, first, members}, "topology: 5 nodes\n");
}

/* --- teams --- */

/* Each rank has one place; team, member and rank agree; the root is at place 0. */
static int teams_agree(const struct pcoll_signature *signature)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);
    int place = 0;

    for (int t = 0; t < teams.count; t++) {
        if (pcoll_team_place(&teams, t) != place)
            return 0;
        for (int i = 0; i < pcoll_team_size(&teams, t); i++, place++) {
            int rank = pcoll_team_rank(&teams, t, i);

            if (rank < 0 || rank >= signature->nranks || pcoll_teams_rank(&teams, place) != rank ||
                pcoll_teams_place(&teams, rank) != place || pcoll_team_of(&teams, rank) != t ||
                pcoll_team_member(&teams, rank) != i)
                return 0;
        }
    }
    return place == signature->nranks && pcoll_team_place(&teams, teams.count) == place &&
           (!pcoll_coll_has(signature->coll, PCOLL_ROOTED) ||
            pcoll_teams_rank(&teams, 0) == signature->root);
}

static void check_teams(void)
{
    struct pcoll_topology *t = make(ids, distance, N);
    const int apart[N] = {6, 5, 4, 3, 2, 1, 0}, together[N] = {0};
    struct pcoll_topology *flat = make(apart, NULL, N), *one = make(together, NULL, N);
    const struct pcoll_topology *topologies[] = {NULL, flat, one, t};
    struct pcoll_signature signature = {PCOLL_BCAST, N, 3, 1, 0, t};
    struct pcoll_teams teams = pcoll_teams_of(&signature);

    tap_ok(teams.count == 3 && pcoll_team_rank(&teams, 0, 0) == 3 &&
               pcoll_team_rank(&teams, 0, 1) == 0 && pcoll_team_rank(&teams, 0, 2) == 5,
           "the root changes places with the leader of its node");
    for (int i = 0; i < 4; i++) {
        int agree = 1;

        for (signature.root = 0; signature.root < N; signature.root++) {
            signature.topology = topologies[i];
            agree = agree && teams_agree(&signature);
        }
        signature.root = 0;
        signature.coll = PCOLL_BARRIER;
        tap_ok(agree && teams_agree(&signature), "each rank has one place, the root the first");
        teams = pcoll_teams_of(&signature);
        tap_ok(teams.count == (i < 3 ? N : 3), "%d teams", teams.count);
        signature.coll = PCOLL_BCAST;
    }
    signature.coll = PCOLL_BARRIER;
    teams = pcoll_teams_of(&signature);
    tap_ok(pcoll_team_rank(&teams, 0, 0) == 5, "without a root the nearest leads");
    pcoll_topology_destroy(t);
    pcoll_topology_destroy(flat);
    pcoll_topology_destroy(one);
}

int main(void)
{
    static const int by_rank[N] = {0, 3, 5, 1, 2, 6, 4}, by_distance[N] = {5, 0, 3, 2, 6, 1, 4};

    check_members(NULL, by_rank, "nodes by lowest rank, members by rank");
    check_members(distance, by_distance, "the nearest to the network leads");
    check_refusals();
    check_teams();
    return tap_done();
}
