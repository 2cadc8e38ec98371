/* Where the agents of the ranks of a node run if the user does not say it: on CPUs that no rank is
 * bound to. All ranks know the same masks (cores.c) and come to the same distribution. */

#include "agent_cpu.h"

#include "mpidimpl.h"

#include "algorithms/plan/plan.h"
#include "cores.h"

#include <sched.h>

#ifdef HAVE_HWLOC
#include <hwloc.h>
#endif

/* The CPUs of the machine, while agents get theirs, one local rank after the other. */
struct cpus {
    cpu_set_t bound; /* CPUs that ranks are bound to */
    cpu_set_t spare; /* CPUs that agents may use */
    cpu_set_t taken; /* those of them that agents of lower ranks use */
#ifdef HAVE_HWLOC
    hwloc_topology_t topology;
#endif
};

#ifdef HAVE_HWLOC

static hwloc_obj_t object_of(const struct cpus *cpus, int cpu, hwloc_obj_type_t type)
{
    hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(cpus->topology, (unsigned)cpu);

    return pu ? hwloc_get_ancestor_obj_by_type(cpus->topology, type, pu) : NULL;
}

static bool load_machine(struct cpus *cpus)
{
    if (hwloc_topology_init(&cpus->topology) != 0)
        return false;
    if (hwloc_topology_load(cpus->topology) == 0)
        return true;
    hwloc_topology_destroy(cpus->topology);
    return false;
}

static void unload_machine(struct cpus *cpus)
{
    hwloc_topology_destroy(cpus->topology);
}

/* Those of this machine that this process' cpuset contains. */
static bool is_allowed(const struct cpus *cpus, int cpu)
{
    return hwloc_bitmap_isset(hwloc_topology_get_allowed_cpuset(cpus->topology), (unsigned)cpu);
}

/* The other thread of a rank's core has only a part of that core, and takes it from the rank. */
static bool is_on_rank_core(const struct cpus *cpus, int cpu)
{
    hwloc_obj_t core = object_of(cpus, cpu, HWLOC_OBJ_CORE);

    for (int other = 0; core && other < CPU_SETSIZE; other++)
        if (CPU_ISSET(other, &cpus->bound) && hwloc_bitmap_isset(core->cpuset, (unsigned)other))
            return true;
    return false;
}

static bool is_near(const struct cpus *cpus, int cpu, int other)
{
    return object_of(cpus, cpu, HWLOC_OBJ_PACKAGE) == object_of(cpus, other, HWLOC_OBJ_PACKAGE);
}

#else

static bool load_machine(struct cpus *cpus)
{
    return false;
}

static void unload_machine(struct cpus *cpus)
{
}

static bool is_allowed(const struct cpus *cpus, int cpu)
{
    return false;
}

static bool is_on_rank_core(const struct cpus *cpus, int cpu)
{
    return false;
}

static bool is_near(const struct cpus *cpus, int cpu, int other)
{
    return true;
}

#endif

/* Other threads of ranks' cores only if there is nothing else. */
static void find_spare(struct cpus *cpus)
{
    cpu_set_t better;

    CPU_ZERO(&better);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!is_allowed(cpus, cpu) || CPU_ISSET(cpu, &cpus->bound))
            continue;
        CPU_SET(cpu, &cpus->spare);
        if (!is_on_rank_core(cpus, cpu))
            CPU_SET(cpu, &better);
    }
    if (CPU_COUNT(&better) > 0)
        cpus->spare = better;
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
static int take(struct cpus *cpus, const cpu_set_t *mask)
{
    const int home = first_of(mask);
    int found = PCOLL_NONE;

    if (CPU_EQUAL(&cpus->taken, &cpus->spare))
        CPU_ZERO(&cpus->taken);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &cpus->spare) || CPU_ISSET(cpu, &cpus->taken))
            continue;
        if (found == PCOLL_NONE)
            found = cpu;
        if (is_near(cpus, cpu, home)) {
            found = cpu;
            break;
        }
    }
    CPU_SET(found, &cpus->taken);
    return found;
}

static int choose(struct cpus *cpus, bool is_alone)
{
    int cpu = PCOLL_NONE;
    cpu_set_t mask;

    find_spare(cpus);
    if (CPU_COUNT(&cpus->spare) == 0)
        return PCOLL_NONE;
    for (int i = is_alone ? MPIR_Process.local_rank : 0; i <= MPIR_Process.local_rank; i++) {
        if (!MPIDI_PCOLL_cores_of(i, &mask))
            return PCOLL_NONE;
        cpu = take(cpus, &mask);
    }
    return cpu;
}

int MPIDI_PCOLL_spare_cpu(bool is_alone, bool *has_core_p)
{
    const struct MPIDI_PCOLL_cores cores = MPIDI_PCOLL_cores();
    const int n = MPIR_Process.local_size, nagents = is_alone ? 1 : n;
    struct cpus cpus;
    cpu_set_t mask;
    int cpu = PCOLL_NONE;

    *has_core_p = cores.all_known && n + nagents <= cores.count;
    memset(&cpus, 0, sizeof(cpus));
    for (int i = 0; i < n; i++) {
        if (!MPIDI_PCOLL_cores_of(i, &mask))
            return PCOLL_NONE;
        CPU_OR(&cpus.bound, &cpus.bound, &mask);
    }
    if (!load_machine(&cpus))
        return PCOLL_NONE;
    cpu = choose(&cpus, is_alone);
    if (cpu != PCOLL_NONE)
        *has_core_p = CPU_COUNT(&cpus.spare) >= nagents;
    unload_machine(&cpus);
    return cpu;
}
