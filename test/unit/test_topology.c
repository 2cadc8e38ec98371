/* Nodes, leaders and teams. */
#include "algorithms/plan/levels.h"
#include "algorithms/teams.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit/tap.h"
#include "test/unit/topology_check.h"

enum { N = 7 };

/* Nodes in the order of their lowest ranks: {0 3 5} {1 2 6} {4}. */
static const int ids[N] = {40, -7, -7, 40, 12, 40, -7};
static const int distance[N] = {1, 5, 2, 1, 9, 0, 2};

static struct pcoll_topology *make(const int *node_ids, const int *far, int nranks)
{
    struct pcoll_topology *topology;

    if (pcoll_topology_create(node_ids, far, nranks, &topology) != PCOLL_OK)
        abort();
    return topology;
}

/* Is the answer that of the definition?  It must not need the arrays. */
static int knows_consecutive(const struct pcoll_topology *t, const int *node, int nranks)
{
    struct pcoll_topology bare = *t;
    int consecutive = 1;

    for (int i = 1; i < nranks; i++)
        consecutive = consecutive && node[i] >= node[i - 1];
    bare.first = bare.members = bare.places = NULL;
    return pcoll_topology_is_consecutive(&bare) == consecutive;
}

/* Is it a topology with these nodes, and these members in a row? */
static int is(const struct pcoll_topology *t, const int *node, const int *members, int nranks)
{
    if (topology_check(t, nranks, stdout) != PCOLL_OK || !knows_consecutive(t, node, nranks))
        return 0;
    for (int i = 0; i < nranks; i++)
        if (pcoll_topology_node(t, i) != node[i] || pcoll_topology_rank(t, i) != members[i])
            return 0;
    return 1;
}

static void check_members(const int *far, const int *expected, const char *what)
{
    static const int node[N] = {0, 1, 1, 0, 2, 0, 1};
    struct pcoll_topology *t = make(ids, far, N);

    tap_ok(t->nnodes == 3 && t->run == 0 && is(t, node, expected, N), "%s", what);
    pcoll_topology_destroy(t);
}

/* --- formulas --- */

enum { MOST = 40 };

/* Nodes dealt out in runs, and distances that are the same on every node or not. */
struct deal {
    int nranks, nnodes, run, falls;
    int distances; /* 0: none; 1: the same on all nodes; 2: not */
};

static int dealt_id(const void *context, int rank)
{
    const struct deal *deal = context;
    const int node = rank / deal->run % deal->nnodes;

    return deal->falls ? -5 * node : 3 * node + 1;
}

static int dealt_distance(const struct deal *deal, int rank)
{
    const int round = rank / (deal->run * deal->nnodes);
    const int i = round * deal->run + rank % deal->run, node = rank / deal->run % deal->nnodes;

    return deal->distances == 1 ? i * 7 % 4 : (i + node) * 5 % 3;
}

/* By the definition: the members of a node by distance and rank. */
static int naive_place(const struct deal *deal, const int *distance, int rank)
{
    const int node = rank / deal->run % deal->nnodes;
    int place = 0;

    for (int r = 0; r < deal->nranks; r++) {
        const int other = r / deal->run % deal->nnodes;
        const int nearer =
            distance[r] < distance[rank] || (distance[r] == distance[rank] && r < rank);

        place += other < node || (other == node && nearer);
    }
    return place;
}

/* A topology by formula or by table; which one is right, and both say the same. */
static int deal_is_right(const struct deal *deal)
{
    const struct pcoll_node_map map = {dealt_id, deal};
    int id[MOST], distance[MOST], node[MOST], members[MOST], table[3 * MOST + 2], good = 1;
    struct pcoll_topology *made, tabled;

    for (int r = 0; r < deal->nranks; r++) {
        id[r] = dealt_id(deal, r);
        node[r] = r / deal->run % deal->nnodes;
        distance[r] = deal->distances ? dealt_distance(deal, r) : 0;
    }
    for (int r = 0; r < deal->nranks; r++)
        members[naive_place(deal, distance, r)] = r;
    made = make(id, deal->distances ? distance : NULL, deal->nranks);
    if (pcoll_topology_write(&map, distance, deal->nranks, table) != PCOLL_OK)
        abort();
    tabled = pcoll_topology_of_table(table, deal->nranks);
    good = is(made, node, members, deal->nranks) && is(&tabled, node, members, deal->nranks) &&
           made->nnodes == deal->nnodes && tabled.nnodes == deal->nnodes;
    if (deal->distances == 0 ||
        (deal->distances == 1 && deal->nranks % (deal->run * deal->nnodes) == 0))
        good = good && made->run > 0;
    pcoll_topology_destroy(made);
    return good;
}

static void check_formulas(void)
{
    int wrong = 0, count = 0;

    for (int nranks = 1; nranks <= MOST; nranks++)
        for (int nnodes = 1; nnodes <= nranks; nnodes++)
            for (int run = 1; run <= nranks && run * (nnodes - 1) < nranks; run++)
                for (int kind = 0; kind < 6; kind++, count++) {
                    const struct deal deal = {nranks, nnodes, run, kind % 2, kind / 2};

                    if (!deal_is_right(&deal) && wrong++ == 0)
                        printf("# %d ranks, %d nodes, run %d, kind %d\n", nranks, nnodes, run,
                               kind);
                }
    tap_ok(wrong == 0, "%d deals: formula, table and definition agree", count);
}

struct count {
    const int *ids;
    int calls;
};

static int counted_id(const void *context, int rank)
{
    struct count *count = (struct count *)context;

    count->calls++;
    return count->ids[rank];
}

/* Whatever the ids are, a formula is found only where it gives the nodes of the table. */
static void check_no_formula(void)
{
    enum { RANKS = 7, IDS = 4 };
    int wrong = 0, found = 0, most = 0;

    for (int word = 0; word < 1 << 14; word++) { /* 2 bits a rank */
        int id[RANKS], table[3 * RANKS + 2];
        struct count count = {id, 0};
        const struct pcoll_node_map map = {counted_id, &count};
        struct pcoll_topology formula, tabled;

        for (int r = 0; r < RANKS; r++)
            id[r] = word >> 2 * r & (IDS - 1);
        if (pcoll_topology_find(&map, RANKS, &formula) != PCOLL_OK)
            continue;
        most = count.calls > most ? count.calls : most;
        if (pcoll_topology_write(&map, NULL, RANKS, table) != PCOLL_OK)
            abort();
        tabled = pcoll_topology_of_table(table, RANKS);
        for (int r = 0; r < RANKS; r++)
            wrong += pcoll_topology_node(&formula, r) != pcoll_topology_node(&tabled, r) ||
                     pcoll_topology_place(&formula, r) != pcoll_topology_place(&tabled, r);
        found++;
    }
    tap_ok(wrong == 0 && found > 0 && most <= 4 * RANKS,
           "all nodes of %d ranks: %d formulas, all right, asked %d times at most", RANKS, found,
           most);
}

/* --- what is no topology --- */

static void refuse(const int *table, const char *message)
{
    const struct pcoll_topology topology = pcoll_topology_of_table(table, 4);
    char *text = NULL;
    size_t size = 0;
    FILE *why = open_memstream(&text, &size);
    enum pcoll_result result = topology_check(&topology, 4, why);

    fclose(why);
    if (!tap_ok(result == PCOLL_ERR_INVALID && strcmp(text, message) == 0 &&
                    topology_check(&topology, 4, NULL) == PCOLL_ERR_INVALID,
                "refused: %.*s", (int)strcspn(message, "\n"), message))
        printf("# got %s", text);
    free(text);
}

static void check_refusals(void)
{
    /* nnodes, members, places, first */
    static const int good[] = {2, 1, 0, 2, 3, 1, 0, 2, 3, 0, 2, 4};
    static const int twice[] = {2, 1, 1, 2, 3, 1, 0, 2, 3, 0, 2, 4};
    static const int moved[] = {2, 1, 2, 0, 3, 1, 0, 2, 3, 0, 2, 4};
    static const int beyond[] = {2, 0, 1, 2, 4, 0, 1, 2, 3, 0, 2, 4};
    static const int empty[] = {2, 1, 0, 2, 3, 1, 0, 2, 3, 0, 4, 4};
    static const int less[] = {2, 1, 0, 2, 3, 1, 0, 2, 3, 0, 2, 3};
    static const int many[] = {5, 1, 0, 2, 3, 1, 0, 2, 3, 0, 2, 4};
    const struct pcoll_topology two = pcoll_topology_of_table(good, 4);

    tap_ok(topology_check(&two, 4, stdout) == PCOLL_OK, "two nodes of two are fine");
    tap_ok(topology_check(&two, 3, NULL) == PCOLL_ERR_INVALID, "but not of 3 ranks");
    refuse(twice, "topology: rank 1 is a member twice\n");
    refuse(moved, "topology: rank 2 has another place\n");
    refuse(beyond, "topology: there is no rank 4\n");
    refuse(empty, "topology: node 1 is empty\n");
    refuse(less, "topology: not of 4 ranks\n");
    refuse(many, "topology: 5 nodes\n");
}

/* --- teams --- */

/* The longest sequence, also where no walk finds it. */
static bool is_longest(const struct pcoll_teams *teams, int place, int end)
{
    const struct pcoll_sequence run = pcoll_teams_sequence(teams, place, end);
    int count = 1;

    while (place + count < end && pcoll_teams_rank(teams, place + count) == run.rank + count)
        count++;
    return run.place == place && run.rank == pcoll_teams_rank(teams, place) && run.count == count;
}

/* Each rank has one position; team, member and rank agree; the root is at position 0. */
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
    for (place = signature->nranks; place-- > 0;)
        for (int end = place + 1; end <= signature->nranks; end++)
            if (!is_longest(&teams, place, end))
                return 0;
    place = signature->nranks;
    return pcoll_team_place(&teams, teams.count) == place &&
           (!pcoll_coll_has(signature->coll, PCOLL_ROOTED) ||
            pcoll_teams_rank(&teams, 0) == signature->root);
}

static void check_teams(void)
{
    struct pcoll_topology *t = make(ids, distance, N);
    const int apart[N] = {6, 5, 4, 3, 2, 1, 0}, together[N] = {0};
    const int blocks[N] = {4, 4, 4, 5, 5, 5, 6}, round_robin[N] = {1, 2, 3, 1, 2, 3, 1};
    struct pcoll_topology *flat = make(apart, NULL, N), *one = make(together, NULL, N);
    struct pcoll_topology *runs = make(blocks, NULL, N), *dealt = make(round_robin, NULL, N);
    const struct pcoll_topology *topologies[] = {NULL, flat, one, t, runs, dealt};
    struct pcoll_signature signature = {PCOLL_BCAST, N, 3, 1, 0, t};
    struct pcoll_teams teams = pcoll_teams_of(&signature);

    tap_ok(teams.count == 3 && pcoll_team_rank(&teams, 0, 0) == 3 &&
               pcoll_team_rank(&teams, 0, 1) == 0 && pcoll_team_rank(&teams, 0, 2) == 5,
           "the root takes the place of its node's leader");
    for (int i = 0; i < 6; i++) {
        int agree = 1;

        for (signature.root = 0; signature.root < N; signature.root++) {
            signature.topology = topologies[i];
            agree = agree && teams_agree(&signature);
        }
        signature.root = 0;
        signature.coll = PCOLL_BARRIER;
        tap_ok(agree && teams_agree(&signature), "each rank has one position, the root the first");
        teams = pcoll_teams_of(&signature);
        tap_ok(teams.count == (i < 3 ? N : 3), "%d teams", teams.count);
        signature.coll = PCOLL_BCAST;
    }
    signature.coll = PCOLL_BARRIER;
    signature.topology = t;
    teams = pcoll_teams_of(&signature);
    tap_ok(pcoll_team_rank(&teams, 0, 0) == 5, "without a root the nearest rank leads");
    pcoll_topology_destroy(t);
    pcoll_topology_destroy(flat);
    pcoll_topology_destroy(one);
    pcoll_topology_destroy(runs);
    pcoll_topology_destroy(dealt);
}

/* --- levels --- */

enum { L = 12 };

/* Nodes {0 .. 7} {8 .. 11}. In the first, sockets {0 2 4 6} {1 3 5 7}, of which the latter's caches
 * are {1 3 5} {7}; in the second, one socket, and caches {8 10} {9 11}. */
static const int level_node[L] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
static const int level_socket[L] = {5, 6, 5, 6, 5, 6, 5, 6, 9, 9, 9, 9};
static const int level_cache[L] = {1, 2, 1, 2, 1, 2, 1, 3, 4, 5, 4, 5};
static const int level_distance[L] = {3, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2};

static struct pcoll_topology divided(const struct pcoll_topology *base)
{
    const struct pcoll_division divisions[] = {{level_socket, PCOLL_LEVEL_OTHER_CACHE},
                                               {level_cache, PCOLL_LEVEL_SAME_CACHE}};
    struct pcoll_topology levels;

    if (pcoll_topology_divide(base, L, divisions, 2, &levels) != PCOLL_OK)
        abort();
    return levels;
}

/* What mates say of each other, for each rank at each depth, and what teams say. */
static int mates_agree(const struct pcoll_signature *signature)
{
    const struct pcoll_teams teams = pcoll_teams_of(signature);

    for (int rank = 0; rank < signature->nranks; rank++) {
        const int member = pcoll_team_member(&teams, rank);
        int begin = 0, end = pcoll_team_size(&teams, pcoll_team_of(&teams, rank));

        for (int depth = 0; depth < pcoll_teams_depth(&teams); depth++) {
            const struct pcoll_mates mates = pcoll_teams_mates(&teams, rank, depth);

            if (pcoll_mate_place(&mates, 0) != 0 ||
                pcoll_mate_place(&mates, mates.count) != end - begin)
                return 0;
            for (int i = 0; i < mates.count; i++) {
                const int mate = pcoll_mate_rank(&mates, i), at = pcoll_mate_place(&mates, i);

                if (at >= pcoll_mate_place(&mates, i + 1) ||
                    pcoll_team_of(&teams, mate) != pcoll_team_of(&teams, rank) ||
                    pcoll_team_member(&teams, mate) != begin + at ||
                    pcoll_teams_mates(&teams, mate, depth).mine != i)
                    return 0;
            }
            end = begin + pcoll_mate_place(&mates, mates.mine + 1);
            begin += pcoll_mate_place(&mates, mates.mine);
            if (member < begin || member >= end)
                return 0;
        }
        if (end != begin + 1)
            return 0;
    }
    return 1;
}

static void check_mates(const struct pcoll_topology *levels, const char *what)
{
    struct pcoll_signature signature = {PCOLL_BCAST, L, 0, 1, 0, levels};
    int agree = 1;

    for (; signature.root < L; signature.root++)
        agree = agree && teams_agree(&signature) && mates_agree(&signature);
    signature.root = 0;
    signature.coll = PCOLL_BARRIER;
    tap_ok(agree && teams_agree(&signature) && mates_agree(&signature),
           "%s: mates lead the parts of each team, whatever the root", what);
}

static void check_levels(void)
{
    static const int node[L] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
    static const int socket[L] = {1, 0, 1, 0, 1, 0, 1, 0, 2, 2, 2, 2};
    static const int cache[L] = {2, 0, 2, 0, 2, 0, 2, 1, 4, 3, 4, 3};
    static const int row[L] = {1, 3, 5, 7, 0, 2, 4, 6, 11, 9, 8, 10};
    struct pcoll_topology *base = make(level_node, level_distance, L);
    struct pcoll_topology levels = divided(base), inside = divided(NULL);
    const struct pcoll_topology *sockets = levels.below;

    tap_ok(is(&levels, node, row, L) && !levels.in_node && levels.most_parts == 2,
           "levels have the same nodes; each part's members follow each other");
    tap_ok(sockets && is(sockets, socket, row, L) && sockets->level == PCOLL_LEVEL_OTHER_CACHE &&
               sockets->below && is(sockets->below, cache, row, L) &&
               sockets->below->level == PCOLL_LEVEL_SAME_CACHE && !sockets->below->below,
           "sockets and caches, those of leaders first");
    tap_ok(inside.in_node && inside.nnodes == 3 && inside.below && inside.below->nnodes == 5,
           "in a node the first level's teams stand for nodes");
    check_mates(&levels, "nodes, sockets, caches");
    check_mates(&inside, "sockets, caches");
    check_mates(inside.below, "caches");
    pcoll_topology_fini(&levels);
    pcoll_topology_fini(&inside);
    pcoll_topology_destroy(base);
}

/* ---- levels that all nodes have ---- */

/* By the place in the node: two sockets with two caches and one. */
enum { SIZE = 6 };
static const int place_socket[SIZE] = {0, 1, 0, 1, 0, 0}, place_cache[SIZE] = {0, 1, 2, 1, 0, 2};

/* Levels below `nodes` by the definition, with a table; below one node if `nodes` is NULL. */
static struct pcoll_topology divided_alike(const struct pcoll_topology *nodes, int nranks)
{
    int socket[MOST], cache[MOST];
    const struct pcoll_division divisions[] = {{socket, PCOLL_LEVEL_OTHER_CACHE},
                                               {cache, PCOLL_LEVEL_SAME_CACHE}};
    struct pcoll_topology levels;

    for (int r = 0; r < nranks; r++) {
        const int node = pcoll_topology_node(nodes, r);
        const int i =
            nodes ? pcoll_topology_place(nodes, r) - pcoll_topology_first(nodes, node) : r;

        socket[r] = node * SIZE + place_socket[i];
        cache[r] = node * SIZE + place_cache[i];
    }
    if (pcoll_topology_divide(nodes, nranks, divisions, 2, &levels) != PCOLL_OK)
        abort();
    return levels;
}

static int is_same_topology(const struct pcoll_topology *a, const struct pcoll_topology *b)
{
    int same = a->nnodes == b->nnodes && a->most_parts == b->most_parts && a->level == b->level &&
               a->in_node == b->in_node &&
               pcoll_topology_is_consecutive(a) == pcoll_topology_is_consecutive(b);

    for (int r = 0; same && r < a->nranks; r++)
        same = pcoll_topology_node(a, r) == pcoll_topology_node(b, r) &&
               pcoll_topology_place(a, r) == pcoll_topology_place(b, r) &&
               pcoll_topology_rank(a, r) == pcoll_topology_rank(b, r);
    for (int i = 0; same && i <= a->nnodes; i++)
        same = pcoll_topology_first(a, i) == pcoll_topology_first(b, i);
    return same;
}

/* Nodes of SIZE ranks, dealt out in runs; with `far`, the higher ranks of a node come first. */
static int repeats(int nnodes, int run, int far)
{
    static const int falling[SIZE] = {5, 4, 3, 2, 1, 0};
    const int nranks = nnodes * SIZE;
    struct pcoll_topology nodes = {.nranks = nranks, .nnodes = nnodes, .run = run}, nested;
    struct pcoll_topology one = {.nranks = SIZE, .nnodes = 1, .run = SIZE}, levels, wanted;
    const struct pcoll_topology *a = &nested, *b = &wanted;
    int same = 1;

    if (far && (pcoll_topology_arrange(&nodes, falling) != PCOLL_OK ||
                pcoll_topology_arrange(&one, falling) != PCOLL_OK))
        abort();
    wanted = divided_alike(&nodes, nranks);
    levels = divided_alike(&one, SIZE);
    if (pcoll_topology_repeat(&nodes, &levels, &nested) != PCOLL_OK)
        abort();
    pcoll_topology_fini(&levels);
    pcoll_topology_fini(&one);
    pcoll_topology_fini(&nodes);
    for (; same && a && b; a = a->below, b = b->below)
        same = is_same_topology(a, b) && topology_check(a, nranks, stdout) == PCOLL_OK;
    same = same && a == NULL && b == NULL;
    pcoll_topology_fini(&nested);
    pcoll_topology_fini(&wanted);
    return same;
}

static void check_repeated(void)
{
    const struct pcoll_topology uneven = {.nranks = 2 * SIZE - 1, .nnodes = 2, .run = SIZE};
    const struct pcoll_topology small = {.nranks = 2 * SIZE, .nnodes = 4, .run = 3};
    struct pcoll_topology node = divided_alike(NULL, SIZE), tabled = small, nested;
    int wrong = 0;

    for (int nnodes = 2; nnodes * SIZE <= MOST; nnodes++)
        for (int run = 1; run <= SIZE; run++)
            for (int far = 0; SIZE % run == 0 && far < 2; far++)
                wrong += !repeats(nnodes, run, far);
    tap_ok(wrong == 0, "levels that all nodes have are the same by formula as by a table");
    tabled.run = 0;
    tap_ok(pcoll_topology_repeat(&uneven, &node, &nested) == PCOLL_UNSUPPORTED &&
               pcoll_topology_repeat(&small, &node, &nested) == PCOLL_UNSUPPORTED &&
               pcoll_topology_repeat(&tabled, &node, &nested) == PCOLL_UNSUPPORTED,
           "but not below unequal nodes, nodes of other sizes, or a table");
    pcoll_topology_fini(&node);
}

static int levels_of(const int *coarse, const int *fine, int nranks)
{
    const struct pcoll_division divisions[] = {{coarse, PCOLL_LEVEL_ANY}, {fine, PCOLL_LEVEL_ANY}};
    struct pcoll_topology levels;
    int n = 0;

    if (pcoll_topology_divide(NULL, nranks, divisions, 2, &levels) != PCOLL_OK)
        return 0;
    for (const struct pcoll_topology *t = &levels; t != NULL; t = t->below)
        n++;
    pcoll_topology_fini(&levels);
    return n;
}

static void check_no_levels(void)
{
    static const int one[6] = {0}, each[6] = {0, 1, 2, 3, 4, 5}, halves[6] = {0, 0, 0, 1, 1, 1};
    static const int pairs[6] = {0, 0, 1, 1, 2, 2}, four[6] = {0, 0, 1, 2, 3, 3};
    static const int unknown[6] = {0, 0, 0, 1, 1, PCOLL_NONE}, within[6] = {0, 0, 0, 1, 1, 2};

    tap_ok(levels_of(one, one, 6) == 0 && levels_of(each, each, 6) == 0,
           "one team, or a team for each rank, is no level");
    tap_ok(levels_of(halves, halves, 6) == 1 && levels_of(halves, pairs, 6) == 1 &&
               levels_of(halves, within, 6) == 2,
           "a level divides the one above, and keeps its bounds");
    tap_ok(levels_of(four, unknown, 6) == 0 && levels_of(unknown, pairs, 6) == 1,
           "neither teams of less than two members nor unknown ones are a level");
}

int main(void)
{
    static const int by_rank[N] = {0, 3, 5, 1, 2, 6, 4}, by_distance[N] = {5, 0, 3, 2, 6, 1, 4};

    check_members(NULL, by_rank, "nodes by lowest rank, members by rank");
    check_members(distance, by_distance, "the nearest to the network leads");
    check_formulas();
    check_no_formula();
    check_refusals();
    check_teams();
    check_levels();
    check_repeated();
    check_no_levels();
    return tap_done();
}
