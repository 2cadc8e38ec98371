/* Which cores the ranks of this node may use. Each rank publishes its affinity mask (the launcher's
 * binding, taskset, cpusets), and a setting, in its block of shared memory, and reads those of the
 * others when it needs them. No rank waits for another. */

#include "cores.h"

#include "mpidimpl.h"

#include "node_blocks.h"
#include "report.h"

#include <sched.h>
#include <stdatomic.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_COLL_OFFLOAD_OVERSUBSCRIBED
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Whether a rank of this node may have to share its core, so that it yields the core or
        sleeps, whatever MPI call it waits in, instead of spinning. Values: auto (yes if more
        ranks are bound to this rank's cores than there are, or ranks outnumber all cores), yes,
        no. Set it to yes where ranks have fewer cores than they seem to: several jobs on one
        machine, or a CI machine or container whose limit is a quota of CPU time, which no
        affinity mask shows; to no where every rank has a core although masks overlap.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

enum { MASK_BYTES = 56 };

/* The beginning of a mask, up to 448 CPUs. A mask that does not fit is no binding and stands for
 * the whole machine. */
struct mask {
    int16_t first; /* first byte of the mask; -1: the whole machine */
    char bytes[MASK_BYTES];
};

/* What a rank publishes. */
struct block {
    _Atomic uint32_t version; /* of the mask; 0: there is none, odd: it is being written */
    _Atomic uint16_t setting; /* 0: none */
    struct mask mask;
};

_Static_assert(sizeof(struct block) <= MPIDI_PCOLL_NODE_BLOCK_BYTES, "it fits");

static cpu_set_t own;
static bool own_known = false;

static void whole_machine(cpu_set_t *set)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    CPU_ZERO(set);
    for (long i = 0; i < (n < 1 ? 1 : n) && i < CPU_SETSIZE; i++)
        CPU_SET(i, set);
}

static void see_own(void)
{
    if (sched_getaffinity(0, sizeof(own), &own) != 0 || CPU_COUNT(&own) == 0)
        whole_machine(&own);
    own_known = true;
}

static struct mask pack(const cpu_set_t *set)
{
    const char *bytes = (const char *)set;
    int first = 0, end = sizeof(*set);
    struct mask mask = {.first = -1};

    while (bytes[first] == 0)
        first += 1;
    while (bytes[end - 1] == 0)
        end -= 1;
    if (end - first > MASK_BYTES)
        return mask;
    mask.first = (int16_t)first;
    memcpy(mask.bytes, bytes + first, end - first);
    return mask;
}

static void unpack(const struct mask *mask, cpu_set_t *set)
{
    int length;

    if (mask->first < 0) {
        whole_machine(set);
        return;
    }
    length = (int)sizeof(*set) - mask->first;
    CPU_ZERO(set);
    memcpy((char *)set + mask->first, mask->bytes, length < MASK_BYTES ? length : MASK_BYTES);
}

/* Others may read the block meanwhile, so what has not changed is not written. */
static void write_mask(struct block *block, const struct mask *mask)
{
    const uint32_t version = atomic_load_explicit(&block->version, memory_order_relaxed);

    if (version > 0 && memcmp(&block->mask, mask, sizeof(*mask)) == 0)
        return;
    atomic_store_explicit(&block->version, version + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    block->mask = *mask;
    atomic_store_explicit(&block->version, version + 2, memory_order_release);
}

/* Returns false if that rank has not published its mask, or is doing so. */
static bool read_mask(int local_rank, cpu_set_t *set)
{
    struct block *block = MPIDI_PCOLL_node_block(local_rank);
    uint32_t version;
    struct mask mask;

    if (!block)
        return false;
    version = atomic_load_explicit(&block->version, memory_order_acquire);
    mask = block->mask;
    atomic_thread_fence(memory_order_acquire);
    if (version == 0 || version % 2 == 1 ||
        version != atomic_load_explicit(&block->version, memory_order_relaxed))
        return false;
    unpack(&mask, set);
    return true;
}

int MPIDI_PCOLL_cores_publish(void)
{
    const int error = MPIDI_PCOLL_node_blocks_open();
    struct block *block = MPIDI_PCOLL_node_block(MPIR_Process.local_rank);
    struct mask mask;

    see_own();
    mask = pack(&own);
    if (block)
        write_mask(block, &mask);
    return error;
}

int MPIDI_PCOLL_setting_publish(uint16_t setting)
{
    const int error = MPIDI_PCOLL_cores_publish();
    struct block *block = MPIDI_PCOLL_node_block(MPIR_Process.local_rank);

    if (block)
        atomic_store(&block->setting, setting);
    return error;
}

uint16_t MPIDI_PCOLL_setting_of(int local_rank)
{
    struct block *block = MPIDI_PCOLL_node_block(local_rank);

    return block ? atomic_load(&block->setting) : 0;
}

bool MPIDI_PCOLL_cores_of(int local_rank, cpu_set_t *set)
{
    if (!own_known)
        see_own();
    if (local_rank != MPIR_Process.local_rank)
        return read_mask(local_rank, set);
    *set = own;
    return true;
}

/* Returns whether the user's setting is `wish`. */
static bool is_set_to(const char *wish)
{
    const char *value = MPIR_CVAR_COLL_OFFLOAD_OVERSUBSCRIBED;
    char line[120];

    if (!value || !*value || strcmp(value, "auto") == 0)
        return false;
    if (strcmp(value, "yes") == 0 || strcmp(value, "no") == 0)
        return strcmp(value, wish) == 0;
    snprintf(line, sizeof(line),
             "MPIR_CVAR_COLL_OFFLOAD_OVERSUBSCRIBED: '%.30s' is not allowed (allowed: auto, yes, "
             "no); using auto",
             value);
    MPIDI_PCOLL_report(line);
    return false;
}

static void believe_user(struct MPIDI_PCOLL_cores *cores)
{
    const int n = MPIR_Process.local_size;

    if (is_set_to("yes")) {
        cores->crowded = true;
        cores->count = MPL_MAX(1, MPL_MIN(cores->count, n - 1));
    } else if (is_set_to("no")) {
        cores->crowded = false;
        cores->count = MPL_MAX(cores->count, n);
    }
}

struct MPIDI_PCOLL_cores MPIDI_PCOLL_cores(void)
{
    struct MPIDI_PCOLL_cores cores = {.all_known = true};
    int confined = 0, n = MPIR_Process.local_size;
    cpu_set_t all, theirs, common;

    if (!own_known)
        see_own();
    all = own;
    for (int i = 0; i < n; i++) {
        if (i == MPIR_Process.local_rank) {
            theirs = own;
        } else if (!read_mask(i, &theirs)) {
            theirs = own;
            cores.all_known = false;
        }
        CPU_AND(&common, &theirs, &own);
        confined += CPU_EQUAL(&common, &theirs);
        CPU_OR(&all, &all, &theirs);
    }
    cores.count = CPU_COUNT(&all);
    cores.crowded = confined > CPU_COUNT(&own) || n > cores.count;
    believe_user(&cores);
    return cores;
}
