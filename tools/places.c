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

int places_sockets(hwloc_topology_t topology)
{
    const int sockets = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);

    return sockets > 0 ? sockets : 1;
}
