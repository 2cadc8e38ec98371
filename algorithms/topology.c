/* Nodes, leaders and teams; the contract is in topology.h. */
#include "algorithms/topology.h"

#include <assert.h>
#include <stdlib.h>

struct locality {
    int node_id, distance, rank;
    int lowest; /* rank of the node */
};

static int by_node(const void *left, const void *right)
{
    const struct locality *a = left, *b = right;

    if (a->node_id != b->node_id)
        return a->node_id < b->node_id ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static int by_member(const void *left, const void *right)
{
    const struct locality *a = left, *b = right;

    if (a->lowest != b->lowest)
        return a->lowest < b->lowest ? -1 : 1;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* The ranks in the order in which the topology lists them. */
static void sort_localities(struct locality *localities, const int *node_ids, const int *distance,
                            int nranks)
{
    for (int r = 0; r < nranks; r++)
        localities[r] = (struct locality){node_ids[r], distance ? distance[r] : 0, r, r};
    qsort(localities, (size_t)nranks, sizeof(*localities), by_node);
    for (int i = 1; i < nranks; i++)
        if (localities[i].node_id == localities[i - 1].node_id)
            localities[i].lowest = localities[i - 1].lowest;
    qsort(localities, (size_t)nranks, sizeof(*localities), by_member);
}

enum pcoll_result pcoll_topology_create(const int *node_ids, const int *distance, int nranks,
                                        struct pcoll_topology **topology_p)
{
    const size_t n = (size_t)nranks;
    struct locality *localities = malloc(n * sizeof(*localities));
    struct pcoll_topology *topology = malloc(sizeof(*topology) + (3 * n + 1) * sizeof(int));
    int *node, *first, *members, nnodes = 0;

    assert(nranks >= 1);
    if (localities == NULL || topology == NULL) {
        free(localities);
        free(topology);
        return PCOLL_ERR_NOMEM;
    }
    node = (int *)(topology + 1);
    members = node + n;
    first = members + n;
    sort_localities(localities, node_ids, distance, nranks);
    for (int i = 0; i < nranks; i++) {
        if (i == 0 || localities[i].node_id != localities[i - 1].node_id)
            first[nnodes++] = i;
        node[localities[i].rank] = nnodes - 1;
        members[i] = localities[i].rank;
    }
    first[nnodes] = nranks;
    free(localities);
    *topology = (struct pcoll_topology){nnodes, node, first, members};
    *topology_p = topology;
    return PCOLL_OK;
}

void pcoll_topology_destroy(struct pcoll_topology *topology)
{
    free(topology);
}

static enum pcoll_result fail(FILE *why, const char *format, int number)
{
    if (why)
        fprintf(why, format, number);
    return PCOLL_ERR_INVALID;
}

/* As many places as ranks, so if none comes twice all are there. */
static enum pcoll_result check_members(const struct pcoll_topology *topology, int nranks,
                                       char *seen, FILE *why)
{
    for (int i = 0; i < topology->nnodes; i++)
        for (int k = topology->first[i]; k < topology->first[i + 1]; k++) {
            int rank = topology->members[k];

            if (rank < 0 || rank >= nranks)
                return fail(why, "topology: there is no rank %d\n", rank);
            if (seen[rank])
                return fail(why, "topology: rank %d is a member twice\n", rank);
            if (topology->node[rank] != i)
                return fail(why, "topology: rank %d is a member of another node\n", rank);
            seen[rank] = 1;
        }
    return PCOLL_OK;
}

enum pcoll_result pcoll_topology_check(const struct pcoll_topology *topology, int nranks, FILE *why)
{
    enum pcoll_result result;
    char *seen;

    if (topology->nnodes < 1 || topology->nnodes > nranks)
        return fail(why, "topology: %d nodes\n", topology->nnodes);
    if (topology->first[0] != 0 || topology->first[topology->nnodes] != nranks)
        return fail(why, "topology: not of %d ranks\n", nranks);
    for (int i = 0; i < topology->nnodes; i++)
        if (topology->first[i + 1] <= topology->first[i])
            return fail(why, "topology: node %d is empty\n", i);
    seen = calloc((size_t)nranks, 1);
    if (seen == NULL)
        return PCOLL_ERR_NOMEM;
    result = check_members(topology, nranks, seen, why);
    free(seen);
    return result;
}

/* ---- teams ---- */

struct pcoll_teams pcoll_teams_of(const struct pcoll_signature *signature)
{
    const struct pcoll_topology *topology = signature->topology;
    const int nranks = signature->nranks;
    const int has_levels = topology && topology->nnodes > 1 && topology->nnodes < nranks;

    return (struct pcoll_teams){
        .topology = has_levels ? topology : NULL,
        .nranks = nranks,
        .root = pcoll_coll_has(signature->coll, PCOLL_ROOTED) ? signature->root : PCOLL_NONE,
        .count = has_levels ? topology->nnodes : nranks,
    };
}

/* The team, or without topology the rank, that is number 0. */
static int origin(const struct pcoll_teams *teams)
{
    if (teams->root == PCOLL_NONE)
        return 0;
    return teams->topology ? teams->topology->node[teams->root] : teams->root;
}

static int node_of(const struct pcoll_teams *teams, int team)
{
    return (team + origin(teams)) % teams->count;
}

int pcoll_team_size(const struct pcoll_teams *teams, int team)
{
    const int node = node_of(teams, team);

    return teams->topology ? teams->topology->first[node + 1] - teams->topology->first[node] : 1;
}

/* Where rank stands among the members of its node. */
static int listed_at(const struct pcoll_topology *topology, int rank)
{
    const int first = topology->first[topology->node[rank]];
    int i = first;

    while (topology->members[i] != rank)
        i++;
    return i - first;
}

/* The root changes places with the listed leader of its node. */
static int exchange(const struct pcoll_teams *teams, int team, int member)
{
    int roots;

    if (team != 0 || teams->root == PCOLL_NONE)
        return member;
    roots = listed_at(teams->topology, teams->root);
    return member == 0 ? roots : member == roots ? 0 : member;
}

int pcoll_team_rank(const struct pcoll_teams *teams, int team, int member)
{
    const int node = node_of(teams, team);

    if (teams->topology == NULL)
        return node;
    return teams->topology->members[teams->topology->first[node] + exchange(teams, team, member)];
}

int pcoll_team_of(const struct pcoll_teams *teams, int rank)
{
    const int node = teams->topology ? teams->topology->node[rank] : rank;

    return (node - origin(teams) + teams->count) % teams->count;
}

int pcoll_team_member(const struct pcoll_teams *teams, int rank)
{
    if (teams->topology == NULL)
        return 0;
    return exchange(teams, pcoll_team_of(teams, rank), listed_at(teams->topology, rank));
}

int pcoll_team_place(const struct pcoll_teams *teams, int team)
{
    const int *first = teams->topology ? teams->topology->first : NULL;

    if (first == NULL)
        return team;
    if (team == teams->count)
        return teams->nranks;
    return (first[node_of(teams, team)] - first[origin(teams)] + teams->nranks) % teams->nranks;
}

int pcoll_teams_rank(const struct pcoll_teams *teams, int place)
{
    int team;

    if (teams->topology == NULL)
        return node_of(teams, place);
    team = (place + teams->topology->first[origin(teams)]) % teams->nranks;
    team = pcoll_team_of(teams, teams->topology->members[team]);
    return pcoll_team_rank(teams, team, place - pcoll_team_place(teams, team));
}

int pcoll_teams_place(const struct pcoll_teams *teams, int rank)
{
    return pcoll_team_place(teams, pcoll_team_of(teams, rank)) + pcoll_team_member(teams, rank);
}

struct pcoll_run pcoll_teams_run(const struct pcoll_teams *teams, int place, int end)
{
    struct pcoll_run run = {place, pcoll_teams_rank(teams, place), 1};

    while (place + run.count < end &&
           pcoll_teams_rank(teams, place + run.count) == run.rank + run.count)
        run.count++;
    return run;
}

struct pcoll_run pcoll_run_apart(struct pcoll_run run, int rank)
{
    if (run.rank == rank)
        run.count = 1;
    else if (run.rank < rank && rank < run.rank + run.count)
        run.count = rank - run.rank;
    return run;
}
