/* Cores at each level of machines that hwloc synthesizes; the level of ranks by their localities.
 */
#include "tools/places.h"

#include "algorithms/plan/topology.h"
#include "test/unit/tap.h"
#include "tuning/locality.h"

static hwloc_topology_t make(const char *description)
{
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) != 0 ||
        hwloc_topology_set_synthetic(topology, description) != 0 ||
        hwloc_topology_load(topology) != 0)
        return NULL;
    return topology;
}

/* -1, -1: no pair. */
static void expect(hwloc_topology_t topology, enum pcoll_level level, int first, int second,
                   const char *what)
{
    int units[2] = {-1, -1};
    const int found = places_find(topology, level, units);

    if (!tap_ok(found == (first >= 0) && units[0] == first && units[1] == second, "%s: %s", what,
                pcoll_level_names[level]))
        printf("# got %d and %d\n", units[0], units[1]);
}

static void test_big(void)
{
    hwloc_topology_t topology = make("pack:2 l3:2(size=6291456) l2:2 core:1 pu:2");

    tap_ok(topology != NULL, "a machine of two sockets");
    expect(topology, PCOLL_LEVEL_SAME_CACHE, 0, 2, "two sockets");
    expect(topology, PCOLL_LEVEL_OTHER_CACHE, 0, 4, "two sockets");
    expect(topology, PCOLL_LEVEL_OTHER_SOCKET, 0, 8, "two sockets");
    expect(topology, PCOLL_LEVEL_OTHER_HOST, -1, -1, "two sockets");
    tap_ok(places_sockets(topology) == 2, "two sockets: counted");
    hwloc_topology_destroy(topology);
}

static void test_small(void)
{
    hwloc_topology_t shared = make("pack:1 l3:1 core:4 pu:1"), apart = make("pack:1 core:2 pu:1");
    hwloc_topology_t one = make("pack:1 l2:1 core:1 pu:2");

    expect(shared, PCOLL_LEVEL_SAME_CACHE, 0, 1, "one cache");
    expect(shared, PCOLL_LEVEL_OTHER_CACHE, -1, -1, "one cache");
    expect(shared, PCOLL_LEVEL_OTHER_SOCKET, -1, -1, "one cache");
    expect(apart, PCOLL_LEVEL_SAME_CACHE, -1, -1, "no common cache");
    expect(apart, PCOLL_LEVEL_OTHER_CACHE, 0, 1, "no common cache");
    expect(one, PCOLL_LEVEL_SAME_CACHE, -1, -1, "two threads of one core");
    tap_ok(places_sockets(one) == 1, "one socket: counted");
    hwloc_topology_destroy(shared);
    hwloc_topology_destroy(apart);
    hwloc_topology_destroy(one);
}

/* The level that four ranks of one node find by maxima. */
static enum pcoll_level combined(const struct pcoll_locality *localities)
{
    struct pcoll_locality max = localities[0];
    bool packages_differ = false, caches_differ = false;

    for (int r = 1; r < 4; r++) {
        const struct pcoll_locality next = localities[r];

        packages_differ = packages_differ || next.package != localities[0].package;
        caches_differ = caches_differ || next.cache != localities[0].cache;
        max.package = (uint32_t)next.package > (uint32_t)max.package ? next.package : max.package;
        max.cache = (uint32_t)next.cache > (uint32_t)max.cache ? next.cache : max.cache;
    }
    return pcoll_level_of_node(max, packages_differ, caches_differ);
}

/* Four ranks, on two nodes if `topology`. */
static void expect_level(const struct pcoll_topology *topology,
                         const struct pcoll_locality localities[4], enum pcoll_level level,
                         const char *what)
{
    const enum pcoll_level found = pcoll_level_of(localities, 4, topology);

    if (!topology)
        tap_ok(combined(localities) == level, "the same by combining: %s", what);
    if (!tap_ok(found == level, "four ranks, %s: %s", what, pcoll_level_names[level]))
        printf("# got %s\n", pcoll_level_names[found]);
}

static void test_localities(void)
{
    static const int alternating[4] = {7, 3, 7, 3}, apart[4] = {0, 1, 2, 3};
    struct pcoll_topology *two, *four;

    if (!tap_ok(pcoll_topology_create(alternating, NULL, 4, &two) == PCOLL_OK &&
                    pcoll_topology_create(apart, NULL, 4, &four) == PCOLL_OK,
                "two and four nodes"))
        return;
    expect_level(NULL, (struct pcoll_locality[]){{1, 2, 0}, {1, 2, 0}, {1, 2, 0}, {1, 2, 0}},
                 PCOLL_LEVEL_SAME_CACHE, "all under one cache");
    expect_level(NULL, (struct pcoll_locality[]){{1, 2, 0}, {1, 2, 0}, {1, 2, 0}, {1, 4, 0}},
                 PCOLL_LEVEL_OTHER_CACHE, "the last under another cache");
    expect_level(NULL, (struct pcoll_locality[]){{1, 2, 0}, {1, 2, 0}, {1, -1, 0}, {1, 2, 0}},
                 PCOLL_LEVEL_OTHER_CACHE, "one bound to several caches");
    expect_level(NULL, (struct pcoll_locality[]){{1, -1, 0}, {1, -1, 0}, {1, -1, 0}, {1, -1, 0}},
                 PCOLL_LEVEL_OTHER_CACHE, "all bound to several caches");
    expect_level(NULL, (struct pcoll_locality[]){{1, 2, 0}, {1, 4, 0}, {2, 5, 0}, {1, 2, 0}},
                 PCOLL_LEVEL_OTHER_SOCKET, "one in another socket");
    expect_level(NULL, (struct pcoll_locality[]){{1, 2, 0}, {2, 3, 0}, {-1, -1, 0}, {1, 2, 0}},
                 PCOLL_LEVEL_ANY, "one bound to several sockets");
    expect_level(two, (struct pcoll_locality[]){{1, 2, 0}, {2, 3, 0}, {1, 2, 0}, {2, 3, 0}},
                 PCOLL_LEVEL_SAME_CACHE, "each node under one cache");
    expect_level(two, (struct pcoll_locality[]){{1, 2, 0}, {1, 2, 0}, {1, 2, 0}, {2, 3, 0}},
                 PCOLL_LEVEL_OTHER_SOCKET, "the second node in two sockets");
    expect_level(four, (struct pcoll_locality[]){{1, 2, 0}, {2, 3, 0}, {-1, -1, 0}, {2, 3, 0}},
                 PCOLL_LEVEL_ANY, "each on its own node");
    pcoll_topology_destroy(two);
    pcoll_topology_destroy(four);
}

static void test_measured(void)
{
    tap_ok(pcoll_level_measured(PCOLL_LEVEL_SAME_CACHE, 0) == PCOLL_LEVEL_SAME_CACHE &&
               pcoll_level_measured(PCOLL_LEVEL_SAME_CACHE, 60) == PCOLL_LEVEL_SAME_CACHE &&
               pcoll_level_measured(PCOLL_LEVEL_SAME_CACHE, 240) == PCOLL_LEVEL_OTHER_CACHE,
           "a common cache that the time of an exchange disproves");
    tap_ok(pcoll_level_measured(PCOLL_LEVEL_OTHER_SOCKET, 60) == PCOLL_LEVEL_OTHER_SOCKET &&
               pcoll_level_measured(PCOLL_LEVEL_ANY, 240) == PCOLL_LEVEL_ANY,
           "no other level is corrected");
}

int main(void)
{
    test_big();
    test_small();
    test_localities();
    test_measured();
    return tap_done();
}
