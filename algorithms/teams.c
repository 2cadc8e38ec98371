/* Teams of ranks; the contract is in teams.h. */
#include "algorithms/teams.h"

struct pcoll_teams pcoll_teams_of(const struct pcoll_signature *signature)
{
    const struct pcoll_topology *topology = signature->topology;
    const int nranks = signature->nranks;
    const bool has_levels = topology && topology->nnodes > 1 && topology->nnodes < nranks;

    return (struct pcoll_teams){
        .topology = has_levels ? topology : NULL,
        .nranks = nranks,
        .root = pcoll_coll_has(signature->coll, PCOLL_ROOTED) ? signature->root : PCOLL_NONE,
        .count = has_levels ? topology->nnodes : nranks,
    };
}

struct pcoll_teams pcoll_teams_of_one(int nranks)
{
    return (struct pcoll_teams){.nranks = nranks, .root = PCOLL_NONE, .count = nranks};
}

struct pcoll_teams pcoll_teams_to_reduce(const struct pcoll_signature *signature)
{
    struct pcoll_teams teams = pcoll_teams_of(signature);

    teams.root = PCOLL_NONE;
    if (teams.topology && !signature->commutes && !pcoll_topology_is_consecutive(teams.topology))
        return pcoll_teams_of_one(signature->nranks);
    return teams;
}

int pcoll_team_operand(const struct pcoll_teams *teams, const struct pcoll_signature *signature,
                       int team, int i)
{
    return signature->commutes ? pcoll_team_rank(teams, team, i)
                               : pcoll_team_place(teams, team) + i;
}

/* Ranks are dealt out from node 0 on, so in a formula the first node has most and the last least.
 */
struct pcoll_team_sizes pcoll_teams_sizes(const struct pcoll_teams *teams)
{
    const struct pcoll_topology *topology = teams->topology;
    struct pcoll_team_sizes sizes = {1, 1};

    if (topology == NULL)
        return sizes;
    sizes.max = pcoll_topology_size(topology, 0);
    sizes.min = pcoll_topology_size(topology, topology->nnodes - 1);
    for (int i = 0; topology->run == 0 && i < topology->nnodes; i++) {
        const int size = pcoll_topology_size(topology, i);

        sizes.max = size > sizes.max ? size : sizes.max;
        sizes.min = size < sizes.min ? size : sizes.min;
    }
    return sizes;
}

/* The team (without a topology, the rank) that is number 0. */
static int origin(const struct pcoll_teams *teams)
{
    if (teams->root == PCOLL_NONE)
        return 0;
    return teams->topology ? pcoll_topology_node(teams->topology, teams->root) : teams->root;
}

static int node_of(const struct pcoll_teams *teams, int team)
{
    return (team + origin(teams)) % teams->count;
}

int pcoll_team_size(const struct pcoll_teams *teams, int team)
{
    return teams->topology ? pcoll_topology_size(teams->topology, node_of(teams, team)) : 1;
}

/* The position of the rank among the members of its node. */
static int listed_at(const struct pcoll_topology *topology, int rank)
{
    return pcoll_topology_place(topology, rank) -
           pcoll_topology_first(topology, pcoll_topology_node(topology, rank));
}

/* The root swaps places with the leader of its node. */
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
    return pcoll_topology_rank(teams->topology, pcoll_topology_first(teams->topology, node) +
                                                    exchange(teams, team, member));
}

int pcoll_team_of(const struct pcoll_teams *teams, int rank)
{
    const int node = teams->topology ? pcoll_topology_node(teams->topology, rank) : rank;

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
    int first, place;

    if (teams->topology == NULL)
        return team;
    if (team == teams->count)
        return teams->nranks;
    first = pcoll_topology_first(teams->topology, origin(teams));
    place = pcoll_topology_first(teams->topology, node_of(teams, team));
    return place < first ? place - first + teams->nranks : place - first;
}

int pcoll_teams_rank(const struct pcoll_teams *teams, int place)
{
    int listed, team;

    if (teams->topology == NULL)
        return node_of(teams, place);
    listed = (place + pcoll_topology_first(teams->topology, origin(teams))) % teams->nranks;
    team = pcoll_team_of(teams, pcoll_topology_rank(teams->topology, listed));
    return pcoll_team_rank(teams, team, place - pcoll_team_place(teams, team));
}

int pcoll_teams_place(const struct pcoll_teams *teams, int rank)
{
    return pcoll_team_place(teams, pcoll_team_of(teams, rank)) + pcoll_team_member(teams, rank);
}

struct pcoll_sequence pcoll_teams_sequence(const struct pcoll_teams *teams, int place, int end)
{
    const int rank = pcoll_teams_rank(teams, place);
    int count = 1;

    while (place + count < end && pcoll_teams_rank(teams, place + count) == rank + count)
        count++;
    return (struct pcoll_sequence){place, rank, count};
}

struct pcoll_sequence pcoll_sequence_apart(struct pcoll_sequence run, int rank)
{
    if (run.rank == rank)
        run.count = 1;
    else if (run.rank < rank && rank < run.rank + run.count)
        run.count = rank - run.rank;
    return run;
}
