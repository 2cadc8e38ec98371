/* Which ranks share what, by their localities; the distance that follows; and that the ranks of a
 * group find the same. */
#include "offload/node/sharing.h"

#include <stdlib.h>
#include <string.h>

#include "offload/shm/shm.h"
#include "offload/sysfs.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

enum { RANKS = 4 };

static struct pcoll_sharing sharing_of(const struct pcoll_locality *localities, int nranks)
{
    struct pcoll_sharing sharing;

    if (pcoll_sharing_init(&sharing, localities, sizeof(*localities), nranks) != PCOLL_OK)
        abort();
    return sharing;
}

/* Of four ranks: package, cache, NUMA domain. */
static void expect_level(const struct pcoll_locality localities[RANKS], uint64_t nanoseconds,
                         enum pcoll_level level, const char *what)
{
    struct pcoll_sharing sharing = sharing_of(localities, RANKS);
    const enum pcoll_level found = pcoll_sharing_distance(&sharing, nanoseconds);

    if (!tap_ok(found == level, "four ranks, %s: %s", what, pcoll_level_names[level]))
        printf("# got %s\n", pcoll_level_names[found]);
    pcoll_sharing_fini(&sharing);
}

static void test_levels(void)
{
    static const struct pcoll_locality
        near[RANKS] = {{1, 2, 0}, {1, 2, 0}, {1, 2, 0}, {1, 2, 0}},
        last[RANKS] = {{1, 2, 0}, {1, 2, 0}, {1, 2, 0}, {1, 4, 0}},
        some[RANKS] = {{1, 2, 0}, {1, 2, 0}, {1, -1, 0}, {1, 2, 0}},
        none[RANKS] = {{1, -1, 0}, {1, -1, 0}, {1, -1, 0}, {1, -1, 0}},
        sockets[RANKS] = {{1, 2, 0}, {1, 4, 0}, {2, 5, 0}, {1, 2, 0}},
        unknown[RANKS] = {{1, 2, 0}, {2, 3, 0}, {-1, -1, 0}, {1, 2, 0}};

    expect_level(near, 0, PCOLL_LEVEL_SAME_CACHE, "all under one cache");
    expect_level(near, 60, PCOLL_LEVEL_SAME_CACHE, "all under one cache, and near");
    expect_level(near, 240, PCOLL_LEVEL_OTHER_CACHE, "a common cache that is disproved");
    expect_level(last, 60, PCOLL_LEVEL_OTHER_CACHE, "the last under another cache");
    expect_level(some, 0, PCOLL_LEVEL_OTHER_CACHE, "one bound to several caches");
    expect_level(none, 0, PCOLL_LEVEL_OTHER_CACHE, "all bound to several caches");
    expect_level(sockets, 60, PCOLL_LEVEL_OTHER_SOCKET, "one in another socket");
    expect_level(unknown, 240, PCOLL_LEVEL_ANY, "one bound to several sockets");
}

static void test_one(void)
{
    static const struct pcoll_locality alone = {1, 2, 3};
    struct pcoll_sharing sharing = sharing_of(&alone, 1);

    tap_ok(pcoll_sharing_distance(&sharing, 0) == PCOLL_LEVEL_ANY &&
               pcoll_sharing_first(&sharing, PCOLL_SHARED_NUMA, 0) == 0,
           "one rank has no distance, and all for itself");
    pcoll_sharing_fini(&sharing);
}

static void test_first(void)
{
    static const struct pcoll_locality mixed[6] = {{9, 7, 1}, {9, 3, 1},  {9, -1, -1},
                                                   {9, 7, 0}, {9, -1, 0}, {9, 3, 1}};
    static const int caches[6] = {0, 1, -1, 0, -1, 1}, domains[6] = {0, 0, -1, 3, 3, 0};
    struct pcoll_sharing sharing = sharing_of(mixed, 6);
    char text[64], part[9];
    bool right = true;

    for (int r = 0; r < 6; r++)
        right = right && pcoll_sharing_first(&sharing, PCOLL_SHARED_CACHE, r) == caches[r] &&
                pcoll_sharing_first(&sharing, PCOLL_SHARED_NUMA, r) == domains[r] &&
                pcoll_sharing_first(&sharing, PCOLL_SHARED_SOCKET, r) == 0;
    tap_ok(right, "the lowest ranks that share it");
    pcoll_sharing_text(&sharing, PCOLL_SHARED_NUMA, text, sizeof(text));
    tap_ok(strcmp(text, "{0-1,5} {3-4}") == 0, "in words: %s", text);
    pcoll_sharing_text(&sharing, PCOLL_SHARED_NUMA, part, sizeof(part));
    tap_ok(strlen(part) < sizeof(part) && strncmp(part, text, strlen(part)) == 0,
           "as much as fits: %s", part);
    pcoll_sharing_fini(&sharing);
}

/* Two sockets of 4 ranks, of which the first has a NUMA domain for each pair; the caches are those
 * of the domains, or of half of a domain. */
static void test_topology(void)
{
    static const struct pcoll_locality ranks[8] = {{0, 1, 0}, {0, 1, 0}, {0, 2, 1}, {0, 2, 1},
                                                   {9, 4, 5}, {9, 4, 5}, {9, 4, 5}, {9, 4, 5}};
    struct pcoll_sharing sharing = sharing_of(ranks, 8), one = sharing_of(ranks + 4, 4);
    const struct pcoll_topology *levels = pcoll_sharing_levels(&sharing);
    char text[64];

    tap_ok(levels && levels->in_node && levels->nnodes == 2 && levels->below &&
               levels->below->nnodes == 3 && !levels->below->below &&
               levels->level == PCOLL_LEVEL_OTHER_CACHE,
           "sockets, then domains; caches that divide none of them are no level");
    pcoll_sharing_levels_text(&sharing, text, sizeof(text));
    tap_ok(strcmp(text, "1 of 2 teams, 2 of 3 teams") == 0, "in words: %s", text);
    pcoll_sharing_levels_text(&one, text, sizeof(text));
    tap_ok(!pcoll_sharing_levels(&one) && strcmp(text, "none") == 0,
           "ranks that share everything have no levels");
    pcoll_sharing_fini(&sharing);
    pcoll_sharing_fini(&one);
}

/* Below two nodes like this one, on each of which the last rank is the nearest to the network. */
static void test_nest(void)
{
    static const struct pcoll_locality ranks[4] = {{0, 1, 0}, {0, 2, 0}, {0, 1, 0}, {0, 2, 0}};
    static const int distances[4] = {3, 3, 3, 1}, row[8] = {3, 1, 0, 2, 7, 5, 4, 6};
    struct pcoll_topology nodes = {.nranks = 8, .nnodes = 2, .run = 4}, nested;
    struct pcoll_sharing sharing = sharing_of(ranks, 4), one = sharing_of(ranks, 1);
    struct pcoll_sharing other = sharing_of(ranks + 1, 3);
    int good = pcoll_topology_arrange(&nodes, distances) == PCOLL_OK &&
               pcoll_sharing_nest(&sharing, &nodes, &nested) == PCOLL_OK;

    for (int i = 0; good && i < 8; i++)
        good = pcoll_topology_rank(&nested, i) == row[i] &&
               pcoll_topology_node(nested.below, row[i]) == i / 2;
    tap_ok(good, "caches below two nodes: the nearest to the network leads");
    if (good)
        pcoll_topology_fini(&nested);
    nodes.nranks = 2;
    tap_ok(pcoll_sharing_nest(&one, &nodes, &nested) == PCOLL_UNSUPPORTED,
           "nothing is below nodes without levels");
    tap_ok(pcoll_sharing_hash(&sharing) != pcoll_sharing_hash(&other), "nodes that differ");
    pcoll_topology_fini(&nodes);
    pcoll_sharing_fini(&sharing);
    pcoll_sharing_fini(&one);
    pcoll_sharing_fini(&other);
}

/* The ranks of a group know of each other what the kernel tells them of themselves: here the same,
 * as none of them is bound. */
static int see(struct meeting *meeting, int rank, void *argument)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const struct pcoll_locality own = pcoll_sysfs_here().locality;
    const struct pcoll_medium *shm = &pcoll_medium_shm;
    const struct pcoll_sharing *sharing;
    struct pcoll_group *group;
    int wrong = 0;

    (void)argument;
    if (shm->group_create(&bootstrap, &group) != PCOLL_OK)
        return 1;
    sharing = shm->group_sharing(group);
    for (int r = 0; r < bootstrap.nranks; r++)
        wrong += pcoll_sharing_first(sharing, PCOLL_SHARED_SOCKET, r) !=
                     (own.package == PCOLL_NONE ? PCOLL_NONE : 0) ||
                 pcoll_sharing_first(sharing, PCOLL_SHARED_CACHE, r) !=
                     (own.cache == PCOLL_NONE ? PCOLL_NONE : 0);
    wrong += sharing->nranks != bootstrap.nranks;
    shm->group_destroy(group);
    return wrong;
}

/* Ranks of which one says something else, or does not know: all find the same levels, or none. */
static int see_levels(struct meeting *meeting, int rank, void *argument)
{
    static const struct pcoll_locality unknown = {PCOLL_NONE, PCOLL_NONE, PCOLL_NONE};
    const bool *all_know = argument;
    const struct pcoll_locality mine = {0, rank / 3, 0};
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const struct pcoll_topology *levels;
    struct pcoll_group *group;
    int wrong = 0;

    bootstrap.locality = rank < 4 || *all_know ? &mine : &unknown;
    if (pcoll_medium_shm.group_create(&bootstrap, &group) != PCOLL_OK)
        return 1;
    levels = pcoll_sharing_levels(pcoll_medium_shm.group_sharing(group));
    if (*all_know)
        for (int r = 0; r < 5; r++)
            wrong += !levels || pcoll_topology_node(levels, r) != r / 3;
    else
        wrong = levels != NULL;
    pcoll_medium_shm.group_destroy(group);
    return wrong;
}

int main(void)
{
    bool all_know = true, one_does_not = false;

    test_levels();
    test_one();
    test_first();
    test_topology();
    test_nest();
    tap_ok(meeting_run_processes(3, see, NULL) == 0, "3 ranks of a group see what they share");
    tap_ok(meeting_run_processes(5, see_levels, &all_know) == 0, "5 ranks find the same level");
    tap_ok(meeting_run_processes(5, see_levels, &one_does_not) == 0,
           "one that does not know where it is bound: no level");
    tap_ok(meeting_run_processes(1, see, NULL) == 0, "a rank alone sees itself");
    return tap_done();
}
