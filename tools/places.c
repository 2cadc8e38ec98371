#include "tools/places.h"

static enum pcoll_level level_of(hwloc_topology_t topology, hwloc_obj_t a, hwloc_obj_t b)
{
    const hwloc_obj_t socket = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, a);

    if (socket != hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, b))
        return PCOLL_LEVEL_OTHER_SOCKET;
    for (hwloc_obj_t over = hwloc_get_common_ancestor_obj(topology, a, b); over;
         over = over->parent)
        if (hwloc_obj_type_is_dcache(over->type))
            return PCOLL_LEVEL_SAME_CACHE;
    return PCOLL_LEVEL_OTHER_CACHE;
}

bool places_find(hwloc_topology_t topology, enum pcoll_level level, int units[2])
{
    const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);

    for (int i = 0; i < cores; i++) {
        const hwloc_obj_t a = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)i);

        for (int k = i + 1; k < cores; k++) {
            const hwloc_obj_t b = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)k);

            if (level_of(topology, a, b) != level)
                continue;
            units[0] = hwloc_bitmap_first(a->cpuset);
            units[1] = hwloc_bitmap_first(b->cpuset);
            return true;
        }
    }
    return false;
}

struct pcoll_locality places_locality(hwloc_topology_t topology, hwloc_const_cpuset_t units)
{
    struct pcoll_locality locality = {PCOLL_NONE, PCOLL_NONE};

    for (hwloc_obj_t over = hwloc_get_obj_covering_cpuset(topology, units); over;
         over = over->parent) {
        if (over->type == HWLOC_OBJ_PACKAGE)
            locality.package = (int32_t)over->logical_index;
        else if (hwloc_obj_type_is_dcache(over->type))
            locality.cache = (int32_t)(over->depth << 16 | (int)over->logical_index);
    }
    return locality;
}

int places_sockets(hwloc_topology_t topology)
{
    const int sockets = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);

    return sockets > 0 ? sockets : 1;
}

uint64_t places_cache(hwloc_topology_t topology)
{
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                             HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE,
                                             HWLOC_OBJ_L5CACHE};
    uint64_t largest = 0;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        for (hwloc_obj_t one = hwloc_get_next_obj_by_type(topology, types[i], NULL); one;
             one = hwloc_get_next_obj_by_type(topology, types[i], one))
            if (one->attr->cache.size > largest)
                largest = one->attr->cache.size;
    return largest;
}
