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

/* Places of one team of a level. */
struct range {
    int first, size;
};

static struct range range_of(const struct pcoll_topology *topology, int rank)
{
    const int node = pcoll_topology_node(topology, rank);

    return (struct range){pcoll_topology_first(topology, node),
                          pcoll_topology_size(topology, node)};
}

/* Between i places, and i' of those from `at` on, cyclically. */
static int turned(int i, int at, int n)
{
    return (i - at + n) % n;
}

static int unturned(int i, int at, int n)
{
    return (i + at) % n;
}

/* The root swaps places with the leader of its team on the last level. */
static int swapped(int member, int root)
{
    return member == 0 ? root : member == root ? 0 : member;
}

/* The place of a member: the parts of the root's teams are counted from the root's on. */
static int place_of(const struct pcoll_teams *teams, int team, int member)
{
    const int first = pcoll_topology_first(teams->topology, node_of(teams, team));
    struct range range;

    if (team != 0 || teams->root == PCOLL_NONE)
        return first + member;
    range = range_of(teams->topology, teams->root);
    for (const struct pcoll_topology *t = teams->topology->below; t != NULL; t = t->below) {
        const struct range part = range_of(t, teams->root);

        if (member >= part.size)
            return range.first + unturned(member, part.first - range.first, range.size);
        range = part;
    }
    return range.first +
           swapped(member, pcoll_topology_place(teams->topology, teams->root) - range.first);
}

/* The inverse. */
static int member_at(const struct pcoll_teams *teams, int team, int place)
{
    struct range range;

    if (team != 0 || teams->root == PCOLL_NONE)
        return place - pcoll_topology_first(teams->topology, node_of(teams, team));
    range = range_of(teams->topology, teams->root);
    for (const struct pcoll_topology *t = teams->topology->below; t != NULL; t = t->below) {
        const struct range part = range_of(t, teams->root);
        const int member = turned(place - range.first, part.first - range.first, range.size);

        if (member >= part.size)
            return member;
        range = part;
    }
    return swapped(place - range.first,
                   pcoll_topology_place(teams->topology, teams->root) - range.first);
}

int pcoll_team_rank(const struct pcoll_teams *teams, int team, int member)
{
    const int node = node_of(teams, team);

    if (teams->topology == NULL)
        return node;
    return pcoll_topology_rank(teams->topology, place_of(teams, team, member));
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
    return member_at(teams, pcoll_team_of(teams, rank),
                     pcoll_topology_place(teams->topology, rank));
}

/* ---- parts of teams ---- */

int pcoll_teams_depth(const struct pcoll_teams *teams)
{
    int depth = 0;

    for (const struct pcoll_topology *t = teams->topology; t != NULL; t = t->below)
        depth++;
    return depth;
}

/* With the parts of the team that the other members say. */
static void find_parts(struct pcoll_mates *mates, int rank)
{
    const struct pcoll_topology *row = mates->row, *parts = mates->parts;
    const int last = mates->first + mates->size - 1;

    mates->part = pcoll_topology_node(parts, pcoll_topology_rank(row, mates->first));
    mates->count = pcoll_topology_node(parts, pcoll_topology_rank(row, last)) - mates->part + 1;
    if (mates->root != PCOLL_NONE)
        mates->turn = pcoll_topology_node(parts, mates->root) - mates->part;
    mates->mine = turned(pcoll_topology_node(parts, rank) - mates->part, mates->turn, mates->count);
}

struct pcoll_mates pcoll_teams_mates(const struct pcoll_teams *teams, int rank, int depth)
{
    const struct pcoll_topology *topology = teams->topology;
    struct pcoll_mates mates = {.row = topology, .root = PCOLL_NONE};
    struct range range;

    for (int i = 0; i < depth; i++)
        topology = topology->below;
    range = range_of(topology, rank);
    mates.first = range.first;
    mates.size = range.size;
    mates.parts = topology->below;
    if (teams->root != PCOLL_NONE &&
        pcoll_topology_node(topology, teams->root) == pcoll_topology_node(topology, rank))
        mates.root = teams->root;
    if (mates.parts != NULL) {
        find_parts(&mates, rank);
        return mates;
    }
    mates.count = range.size;
    if (mates.root != PCOLL_NONE)
        mates.turn = pcoll_topology_place(topology, mates.root) - range.first;
    mates.mine = swapped(pcoll_topology_place(topology, rank) - range.first, mates.turn);
    return mates;
}

int pcoll_mate_rank(const struct pcoll_mates *mates, int mate)
{
    int place = mates->first;

    if (mate == 0 && mates->root != PCOLL_NONE)
        return mates->root;
    if (mates->parts != NULL)
        place = pcoll_topology_first(mates->parts,
                                     mates->part + unturned(mate, mates->turn, mates->count));
    else
        place += swapped(mate, mates->turn);
    return pcoll_topology_rank(mates->row, place);
}

int pcoll_mate_place(const struct pcoll_mates *mates, int mate)
{
    int leads, at;

    if (mate == mates->count)
        return mates->size;
    if (mates->parts == NULL)
        return mate;
    leads = pcoll_topology_first(mates->parts, mates->part + mates->turn);
    at =
        pcoll_topology_first(mates->parts, mates->part + unturned(mate, mates->turn, mates->count));
    return turned(at, leads, mates->size);
}

/* ---- the row ---- */

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

/* Returns whether all ranks from that place on follow each other, up to the highest: only the root
 * stands out of the order of its team, which is the first. */
static bool is_in_order(const struct pcoll_teams *teams, int place)
{
    const struct pcoll_topology *topology = teams->topology;

    if (topology == NULL)
        return true;
    return topology->run > 0 && topology->order == NULL && topology->below == NULL &&
           pcoll_topology_is_consecutive(topology) &&
           (teams->root == PCOLL_NONE || place >= pcoll_team_place(teams, 1));
}

struct pcoll_sequence pcoll_teams_sequence(const struct pcoll_teams *teams, int place, int end)
{
    const int rank = pcoll_teams_rank(teams, place), left = teams->nranks - rank;
    int count = 1;

    if (is_in_order(teams, place))
        return (struct pcoll_sequence){place, rank, end - place < left ? end - place : left};
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
