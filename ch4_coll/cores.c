/* Which cores the ranks of this node may use. Each rank publishes its affinity mask (the launcher's
 * binding, taskset, cpusets), and a setting, in its block of shared memory (that of MPICH's
 * initialization, or our own), and reads those of the others when it needs them. No rank waits for
 * another. */

#include "cores.h"

#include "mpidimpl.h"

#include "mpich_version.h"
#include "node_blocks.h"
#include "report.h"

#include "mpidu_init_shm.h"

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

enum { MASK_BYTES = 56, PUBLISHED = 0x70636f6c };

/* The beginning of a mask, up to 448 CPUs. A mask that does not fit is no binding and stands for
 * the whole machine. */
struct mask {
    _Atomic uint32_t published;
    int16_t first;    /* first byte of the mask; -1: the whole machine */
    uint16_t setting; /* of this rank */
    char bytes[MASK_BYTES];
};

_Static_assert(sizeof(struct mask) <= MPIDU_INIT_SHM_BLOCK_SIZE, "its block holds ours");

static cpu_set_t own;
static bool own_known = false;
static uint16_t own_setting = 0;

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

/* NULL: this process is alone on its node, or the memory does not exist yet. */
static struct mask *mask_of(int local_rank)
{
    void *at = NULL;

    if (!MPIDI_PCOLL_INIT_SHM_STAYS)
        return MPIDI_PCOLL_node_block(local_rank);
#ifndef ENABLE_NO_LOCAL
    if (MPIR_Process.local_size > 1 && MPIR_Process.comm_world)
        MPIDU_Init_shm_query(local_rank, &at);
#endif
    return at;
}

static void pack(struct mask *mask, const cpu_set_t *set)
{
    const char *bytes = (const char *)set;
    int first = 0, end = sizeof(*set);

    while (bytes[first] == 0)
        first += 1;
    while (bytes[end - 1] == 0)
        end -= 1;
    memset(mask->bytes, 0, MASK_BYTES);
    mask->first = (int16_t)(end - first <= MASK_BYTES ? first : -1);
    if (mask->first >= 0)
        memcpy(mask->bytes, bytes + first, end - first);
}

static bool is_published(struct mask *mask)
{
    return mask && atomic_load_explicit(&mask->published, memory_order_acquire) == PUBLISHED;
}

/* Returns false if that rank has not published its mask. */
static bool unpack(struct mask *mask, cpu_set_t *set)
{
    int length;

    if (!is_published(mask))
        return false;
    if (mask->first < 0) {
        whole_machine(set);
        return true;
    }
    length = (int)sizeof(*set) - mask->first;
    CPU_ZERO(set);
    memcpy((char *)set + mask->first, mask->bytes, length < MASK_BYTES ? length : MASK_BYTES);
    return true;
}

void MPIDI_PCOLL_cores_publish(void)
{
    struct mask *mask;

    see_own();
    if (!MPIDI_PCOLL_INIT_SHM_STAYS)
        MPIDI_PCOLL_node_blocks_open();
    mask = mask_of(MPIR_Process.local_rank);
    if (!mask)
        return;
    pack(mask, &own);
    mask->setting = own_setting;
    atomic_store_explicit(&mask->published, PUBLISHED, memory_order_release);
}

bool MPIDI_PCOLL_setting_publish(uint16_t setting)
{
    own_setting = setting;
    MPIDI_PCOLL_cores_publish();
    return is_published(mask_of(MPIR_Process.local_rank));
}

bool MPIDI_PCOLL_setting_of(int local_rank, uint16_t *setting_p)
{
    struct mask *mask = mask_of(local_rank);

    if (!is_published(mask))
        return false;
    *setting_p = mask->setting;
    return true;
}

bool MPIDI_PCOLL_cores_of(int local_rank, cpu_set_t *set)
{
    if (!own_known)
        see_own();
    if (local_rank != MPIR_Process.local_rank)
        return unpack(mask_of(local_rank), set);
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
        } else if (!unpack(mask_of(i), &theirs)) {
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
