/* Cores at each level of machines that hwloc synthesizes; the level of ranks by their localities.
 */
#include "tools/places.h"

#include "algorithms/plan/topology.h"
#include "test/unit/tap.h"

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

int main(void)
{
    test_big();
    test_small();
    return tap_done();
}
