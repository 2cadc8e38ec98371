/* Where the agents of the ranks of a node run if the user does not say it: on CPUs that no rank is
 * bound to. All ranks know the same masks (cores.c) and come to the same distribution. */

#include "pcoll.h"

#include <sched.h>

#ifdef HAVE_HWLOC
#include <hwloc.h>
#endif

/* For one local rank after the other: the CPU of its agent. */
struct market {
    cpu_set_t bound; /* CPUs that ranks are bound to */
    cpu_set_t spare; /* CPUs that agents may use */
    cpu_set_t taken; /* those of them that agents of lower ranks use */
#ifdef HAVE_HWLOC
    hwloc_topology_t topology;
#endif
};

#ifdef HAVE_HWLOC

static hwloc_obj_t object_of(const struct market *market, int cpu, hwloc_obj_type_t type)
{
    hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(market->topology, (unsigned)cpu);

    return pu ? hwloc_get_ancestor_obj_by_type(market->topology, type, pu) : NULL;
}

static bool open_market(struct market *market)
{
    if (hwloc_topology_init(&market->topology) != 0)
        return false;
    if (hwloc_topology_load(market->topology) == 0)
        return true;
    hwloc_topology_destroy(market->topology);
    return false;
}

static void close_market(struct market *market)
{
    hwloc_topology_destroy(market->topology);
}

/* Those of this machine that this process' cpuset contains. */
static bool is_allowed(const struct market *market, int cpu)
{
    return hwloc_bitmap_isset(hwloc_topology_get_allowed_cpuset(market->topology), (unsigned)cpu);
}

/* The other thread of a rank's core has only a part of that core, and takes it from the rank. */
static bool is_on_rank_core(const struct market *market, int cpu)
{
    hwloc_obj_t core = object_of(market, cpu, HWLOC_OBJ_CORE);

    for (int other = 0; core && other < CPU_SETSIZE; other++)
        if (CPU_ISSET(other, &market->bound) && hwloc_bitmap_isset(core->cpuset, (unsigned)other))
            return true;
    return false;
}

static bool is_near(const struct market *market, int cpu, int other)
{
    return object_of(market, cpu, HWLOC_OBJ_PACKAGE) == object_of(market, other, HWLOC_OBJ_PACKAGE);
}

#else

static bool open_market(struct market *market)
{
    return false;
}

static void close_market(struct market *market)
{
}

static bool is_allowed(const struct market *market, int cpu)
{
    return false;
}

static bool is_on_rank_core(const struct market *market, int cpu)
{
    return false;
}

static bool is_near(const struct market *market, int cpu, int other)
{
    return true;
}

#endif

/* Other threads of ranks' cores only if there is nothing else. */
static void find_spare(struct market *market)
{
    cpu_set_t better;

    CPU_ZERO(&better);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!is_allowed(market, cpu) || CPU_ISSET(cpu, &market->bound))
            continue;
        CPU_SET(cpu, &market->spare);
        if (!is_on_rank_core(market, cpu))
            CPU_SET(cpu, &better);
    }
    if (CPU_COUNT(&better) > 0)
        market->spare = better;
}

static int first_of(const cpu_set_t *set)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, set))
            return cpu;
    return PCOLL_NONE;
}

/* A spare CPU for the agent of a rank with that mask, of the same package if one is left. When none
 * is left, they are distributed once more. */
static int take(struct market *market, const cpu_set_t *mask)
{
    const int home = first_of(mask);
    int found = PCOLL_NONE;

    if (CPU_EQUAL(&market->taken, &market->spare))
        CPU_ZERO(&market->taken);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &market->spare) || CPU_ISSET(cpu, &market->taken))
            continue;
        if (found == PCOLL_NONE)
            found = cpu;
        if (is_near(market, cpu, home)) {
            found = cpu;
            break;
        }
    }
    CPU_SET(found, &market->taken);
    return found;
}

static int buy(struct market *market, bool is_alone)
{
    int cpu = PCOLL_NONE;
    cpu_set_t mask;

    find_spare(market);
    if (CPU_COUNT(&market->spare) == 0)
        return PCOLL_NONE;
    for (int i = is_alone ? MPIR_Process.local_rank : 0; i <= MPIR_Process.local_rank; i++) {
        if (!MPIDI_PCOLL_cores_of(i, &mask))
            return PCOLL_NONE;
        cpu = take(market, &mask);
    }
    return cpu;
}

int MPIDI_PCOLL_spare_cpu(bool is_alone, int *has_core_p)
{
    const struct MPIDI_PCOLL_cores cores = MPIDI_PCOLL_cores();
    const int n = MPIR_Process.local_size, nagents = is_alone ? 1 : n;
    struct market market;
    cpu_set_t mask;
    int cpu = PCOLL_NONE;

    *has_core_p = cores.all_known && n + nagents <= cores.count;
    memset(&market, 0, sizeof(market));
    for (int i = 0; i < n; i++) {
        if (!MPIDI_PCOLL_cores_of(i, &mask))
            return PCOLL_NONE;
        CPU_OR(&market.bound, &market.bound, &mask);
    }
    if (!open_market(&market))
        return PCOLL_NONE;
    cpu = buy(&market, is_alone);
    if (cpu != PCOLL_NONE)
        *has_core_p = CPU_COUNT(&market.spare) >= nagents;
    close_market(&market);
    return cpu;
}
