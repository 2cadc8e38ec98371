/* A group of ranks that share memory, and the probe of what the kernel permits. */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "offload/agree.h"
#include "offload/memory/cma.h"
#include "offload/memory/process.h"
#include "offload/node/distance.h"
#include "offload/node/group.h"
#include "offload/node/measure.h"
#include "offload/sysfs.h"
#include "offload/yield.h"

#define ROUNDS_BEFORE_SLEEP 8
#define LOOKS_PER_ROUND 64 /* with a core for each rank; the process progresses once a round */
#define SLEEP_NSEC 100000
#define KEPT_BYTES                                                                                 \
    ((size_t)64 << 10) /* of what is shared: the next init takes them without a round */

/* The addresses that a neighbor probes, and an id that proves that it reached this process: another
 * process may have the same pid in its namespace, and other data at the same address. */
struct probe {
    struct pcoll_process_id id;
    int64_t pid;
    uint64_t id_at, scratch_at; /* addresses in this process: of the id, and of the same number of
                                 * bytes to write to */
};

/* What a rank tells when the ranks of a node look around. */
struct look {
    struct probe probe;
    pcoll_xpmem_id segment; /* PCOLL_NONE: nobody can map its memory */
    uint64_t pid_namespace; /* its inode; 0: unknown */
    struct pcoll_locality locality;
};

static int probe_neighbor(const struct probe *neighbor)
{
    const struct pcoll_process_id *there = (void *)(uintptr_t)neighbor->id_at;
    void *scratch = (void *)(uintptr_t)neighbor->scratch_at;
    struct pcoll_process_id seen;

    return pcoll_cma_read((pid_t)neighbor->pid, &seen, there, sizeof(seen)) == 0 &&
           memcmp(&seen, &neighbor->id, sizeof(seen)) == 0 &&
           pcoll_cma_write((pid_t)neighbor->pid, scratch, &seen, sizeof(seen)) == 0;
}

static uint64_t pid_namespace(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

/* The same by XPMEM. Memory that cannot be attached is reached by pids, so these must mean the same
 * processes to both. */
static bool can_map_neighbor(const struct look *neighbor, uint64_t own_namespace)
{
    const struct probe *probe = &neighbor->probe;
    struct pcoll_attachment *attachment;
    bool can;

    if (neighbor->segment == PCOLL_NONE || own_namespace == 0 ||
        neighbor->pid_namespace != own_namespace)
        return false;
    attachment = pcoll_xpmem_attach(neighbor->segment, probe->id_at, sizeof(probe->id));
    if (attachment == NULL)
        return false;
    can = memcmp(attachment->base + (probe->id_at - pcoll_xpmem_page(probe->id_at)), &probe->id,
                 sizeof(probe->id)) == 0;
    pcoll_detach(attachment);
    return can;
}

static struct pcoll_line *distance_lines(const struct pcoll_node_group *group)
{
    return (void *)(group->meeting->fields +
                    2 * (size_t)group->bootstrap.nranks * PCOLL_NODE_FIELD_BYTES);
}

/* Collective: can every rank access, or map, the memory of its right neighbor, who shares what, and
 * how far apart are neighbors? A refusal is an answer. If all can, all ranks are in one PID
 * namespace: only processes of an outer namespace see those of an inner one, and the ring leads
 * back to its start. */
static enum pcoll_result look_around(struct pcoll_node_group *group)
{
    enum { CMA, XPMEM, FARTHEST, NTERMS };
    const size_t next = (size_t)((group->bootstrap.rank + 1) % group->bootstrap.nranks);
    const struct pcoll_process_id *self = pcoll_process_self();
    struct pcoll_term terms[NTERMS] = {[CMA] = {.kind = PCOLL_TERM_MIN},
                                       [XPMEM] = {.kind = PCOLL_TERM_MIN},
                                       [FARTHEST] = {.kind = PCOLL_TERM_MAX}};
    struct pcoll_distance distance;
    struct pcoll_process_id scratch;
    const struct look own = {
        {*self, getpid(), (uint64_t)(uintptr_t)self, (uint64_t)(uintptr_t)&scratch},
        group->maps && group->bootstrap.nranks > 1 ? pcoll_xpmem_segment() : PCOLL_NONE,
        pid_namespace(),
        group->outer.locality ? *group->outer.locality : pcoll_sysfs_here().locality};
    const char *told = pcoll_node_meet(group, &own, sizeof(own));
    struct look neighbor;
    enum pcoll_result result =
        pcoll_sharing_init(&group->sharing, told + offsetof(struct look, locality),
                           PCOLL_NODE_FIELD_BYTES, group->bootstrap.nranks);

    memcpy(&neighbor, told + next * PCOLL_NODE_FIELD_BYTES, sizeof(neighbor));
    distance = pcoll_node_measure_distance(&group->bootstrap, distance_lines(group));
    terms[FARTHEST].value = distance.nanoseconds << 32 | (uint32_t)distance.rank;
    terms[CMA].value = (uint64_t)probe_neighbor(&neighbor.probe);
    terms[XPMEM].value =
        own.segment != PCOLL_NONE && can_map_neighbor(&neighbor, own.pid_namespace);
    result = pcoll_agree(&group->bootstrap, PCOLL_ROUND_NODE, result, terms, NTERMS);
    group->can_cma = terms[CMA].value != 0;
    group->can_map = terms[XPMEM].value != 0;
    group->farthest =
        (struct pcoll_distance){terms[FARTHEST].value >> 32, (int)(uint32_t)terms[FARTHEST].value};
    return result;
}

/* Collective: all ranks map the bell of the agent. A rank that cannot offers nothing to all. */
static enum pcoll_result find_bell(struct pcoll_node_group *group, struct pcoll_bell *bell)
{
    struct {
        int64_t pid; /* 0: there is no agent */
        struct pcoll_heap_place place;
    } told = {getpid(), pcoll_heap_find(bell, bell != NULL ? sizeof(*bell) : 0)};
    const enum pcoll_result result = pcoll_tell(&group->bootstrap, PCOLL_ROUND_BELL, PCOLL_OK,
                                                bell != NULL, &told, sizeof(told));

    if (result != PCOLL_OK || told.pid == 0)
        return result;
    group->has_agent = bell != NULL;
    if (told.place.fd != PCOLL_NONE)
        group->bell_at = pcoll_attach((pid_t)told.pid, &told.place);
    if (group->bell_at != NULL)
        group->bell = (void *)(group->bell_at->base + told.place.offset);
    return PCOLL_OK;
}

#define COUNT(member) +1
enum { NMEASURED = PCOLL_MEASURED_MEMBERS(COUNT) };
#undef COUNT

/* Numbers that are not negative are in the order of their bits. */
static void put_machine(const struct pcoll_machine *machine, struct pcoll_term *terms)
{
#define PUT(member) memcpy(&(terms++)->value, &machine->member, sizeof(double));
    PCOLL_MEASURED_MEMBERS(PUT)
#undef PUT
}

static void take_machine(struct pcoll_machine *machine, const struct pcoll_term *terms)
{
#define TAKE(member) memcpy(&machine->member, &(terms++)->value, sizeof(double));
    PCOLL_MEASURED_MEMBERS(TAKE)
#undef TAKE
}

/* The two neighbors that are farthest apart, and then those two and the next two. */
static void take_part(struct pcoll_node_group *group, struct pcoll_measure_place *place)
{
    const int nranks = group->bootstrap.nranks;
    const int number = (group->bootstrap.rank - group->farthest.rank + nranks) % nranks;
    const bool reads = nranks >= PCOLL_MEASURE_RANKS && group->can_cma && !group->can_map;
    const uint64_t deadline = pcoll_now() + PCOLL_MEASURE_NSEC;

    if (number <= 1)
        pcoll_node_measure(place, number, group->can_cma, &group->machine);
    if (reads && number < PCOLL_MEASURE_RANKS)
        pcoll_node_measure_readers(place, number, !group->bootstrap.crowded, deadline,
                                   &group->machine);
}

/* Collective: some ranks measure the machine, and all hear what they have measured; nothing, if
 * there is no memory for it. */
static enum pcoll_result measure_machine(struct pcoll_node_group *group)
{
    const struct pcoll_shm_wish wish = {.bytes = sizeof(struct pcoll_measure_place),
                                        .clear = pcoll_node_clear_place};
    struct pcoll_term terms[NMEASURED] = {{.kind = PCOLL_TERM_MAX}};
    struct pcoll_shm_extent *extent;
    enum pcoll_result result;

    if (pcoll_shm_carve(&group->arena, &group->bootstrap, &wish, &extent) != PCOLL_OK)
        return PCOLL_OK;
    take_part(group, (void *)((char *)extent + PCOLL_LINE_BYTES));
    put_machine(&group->machine, terms);
    result = pcoll_agree(&group->bootstrap, PCOLL_ROUND_MACHINE, PCOLL_OK, terms, NMEASURED);
    take_machine(&group->machine, terms);
    pcoll_shm_release(extent);
    return result;
}

/* What the process of rank 0 has measured at this distance before is not measured again; another
 * rank may have joined the node after that. Of two user-level threads of one kernel thread, none
 * could run while the other does. */
enum pcoll_result pcoll_node_group_measure(struct pcoll_group *base)
{
    struct pcoll_node_group *group = pcoll_node_group_of(base);
    const uint64_t distance = group->farthest.nanoseconds;
    struct pcoll_term known = {.kind = PCOLL_TERM_RANK_0, .value = pcoll_machines_known()};
    enum pcoll_result result;

    if (group->bootstrap.nranks == 1 || !pcoll_may_sleep())
        return PCOLL_OK;
    result = pcoll_agree(&group->bootstrap, PCOLL_ROUND_KNOWN, PCOLL_OK, &known, 1);
    if (result == PCOLL_OK && known.value & pcoll_machine_bit(distance)) {
        pcoll_machine_recall(distance, &group->machine);
        return PCOLL_OK;
    }
    if (result == PCOLL_OK)
        result = measure_machine(group);
    if (result == PCOLL_OK)
        pcoll_machine_remember(distance, &group->machine);
    return result;
}

/* Sleeps until the last rank arrives, but only for a moment: MPI may need this rank for something
 * else. */
static void sleep_until(struct pcoll_line *arrived, uint64_t all)
{
    const struct timespec moment = {0, SLEEP_NSEC};
    uint64_t now;

    atomic_fetch_add_explicit(&arrived->sleepers, 1, memory_order_seq_cst);
    now = atomic_load_explicit(&arrived->value, memory_order_seq_cst);
    if (now < all)
        syscall(SYS_futex, pcoll_futex_word(arrived), FUTEX_WAIT, (uint32_t)now, &moment, NULL, 0);
    atomic_fetch_sub_explicit(&arrived->sleepers, 1, memory_order_relaxed);
}

/* Returns whether all have arrived, after so many looks. */
static bool have_arrived(const struct pcoll_line *arrived, uint64_t all, int looks)
{
    while (atomic_load_explicit(&arrived->value, memory_order_acquire) < all) {
        if (--looks == 0)
            return false;
        pcoll_relax();
    }
    return true;
}

/* The ranks meet in fields of shared memory; a waiting rank keeps the rest of its process
 * progressing. With fewer cores than ranks it soon sleeps: otherwise the rank that all wait for,
 * often rank 0, would have to take turns with them. */
const char *pcoll_node_meet(struct pcoll_node_group *group, const void *mine, size_t bytes)
{
    struct pcoll_node_meeting *meeting = group->meeting;
    struct pcoll_line *arrived = &meeting->arrived;
    const size_t nranks = (size_t)group->bootstrap.nranks;
    const uint64_t all = ++group->meetings * nranks;
    char *fields = meeting->fields + group->meetings % 2 * nranks * PCOLL_NODE_FIELD_BYTES;

    assert(bytes <= PCOLL_NODE_FIELD_BYTES);
    memcpy(fields + (size_t)group->bootstrap.rank * PCOLL_NODE_FIELD_BYTES, mine, bytes);
    if (atomic_fetch_add_explicit(&arrived->value, 1, memory_order_seq_cst) + 1 == all &&
        atomic_load_explicit(&arrived->sleepers, memory_order_seq_cst) > 0)
        pcoll_wake(arrived);
    for (int round = 0; !have_arrived(arrived, all, group->bootstrap.crowded ? 1 : LOOKS_PER_ROUND);
         round++) {
        group->outer.idle(group->outer.context);
        if (group->bootstrap.crowded && round >= ROUNDS_BEFORE_SLEEP && pcoll_may_sleep())
            sleep_until(arrived, all);
    }
    return fields;
}

static enum pcoll_result combine_in(void *context, uint64_t *words, int n)
{
    struct pcoll_node_group *group = context;
    const char *fields = pcoll_node_meet(group, words, (size_t)n * sizeof(*words));

    for (int r = 0; r < group->bootstrap.nranks; r++) {
        const uint64_t *theirs = (const void *)(fields + (size_t)r * PCOLL_NODE_FIELD_BYTES);

        for (int i = 0; i < n; i++)
            words[i] = theirs[i] > words[i] ? theirs[i] : words[i];
    }
    return PCOLL_OK;
}

static void release_shared(struct pcoll_node_group *group)
{
    if (group->shared_bytes > 0)
        pcoll_shm_release(group->shared);
    group->shared_bytes = 0;
}

static void clear_nothing(const void *context, char *payload)
{
    (void)context, (void)payload;
}

static char *share_in(void *context, size_t bytes)
{
    struct pcoll_node_group *group = context;
    const struct pcoll_shm_wish wish = {.bytes = bytes, .clear = clear_nothing};

    if (bytes > group->shared_bytes) {
        release_shared(group);
        if (pcoll_shm_carve(&group->arena, &group->bootstrap, &wish, &group->shared) != PCOLL_OK)
            return NULL;
        group->shared_bytes = bytes;
    }
    return (char *)group->shared + PCOLL_LINE_BYTES;
}

static void unshare_in(void *context)
{
    struct pcoll_node_group *group = context;

    if (group->shared_bytes > KEPT_BYTES)
        release_shared(group);
}

static void idle_in(void *context)
{
    const struct pcoll_bootstrap *outer = &((struct pcoll_node_group *)context)->outer;

    outer->idle(outer->context);
}

static void report_in(void *context, const char *message)
{
    const struct pcoll_bootstrap *outer = &((struct pcoll_node_group *)context)->outer;

    outer->report(outer->context, message);
}

static void clear_meeting(const void *context, char *payload)
{
    const size_t *bytes = context;

    memset(payload, 0, *bytes);
}

/* From here on the group is its own bootstrap. */
static enum pcoll_result open_meeting(struct pcoll_node_group *group,
                                      const struct pcoll_bootstrap *bootstrap)
{
    const size_t places =
        2 * (size_t)bootstrap->nranks * (PCOLL_NODE_FIELD_BYTES + PCOLL_LINE_BYTES);
    const size_t bytes = sizeof(*group->meeting) + places;
    const struct pcoll_shm_wish wish = {bytes, clear_meeting, &bytes};
    enum pcoll_result result = pcoll_shm_carve(&group->arena, bootstrap, &wish, &group->extent);

    if (result != PCOLL_OK)
        return result;
    group->meeting = (void *)((char *)group->extent + PCOLL_LINE_BYTES);
    group->outer = *bootstrap;
    group->maps = bootstrap->maps;
    group->coop_from = bootstrap->coop_from;
    group->board_from = bootstrap->board_from;
    group->bootstrap = (struct pcoll_bootstrap){
        .rank = bootstrap->rank,
        .nranks = bootstrap->nranks,
        .crowded = bootstrap->crowded,
        .context = group,
        .combine = combine_in,
        .share = share_in,
        .unshare = unshare_in,
        .idle = idle_in,
        .report = report_in,
    };
    return PCOLL_OK;
}

enum pcoll_result pcoll_node_group_create(const struct pcoll_bootstrap *bootstrap,
                                          struct pcoll_group **group_p)
{
    struct pcoll_node_group *group = calloc(1, sizeof(*group));
    enum pcoll_result result =
        pcoll_agree(bootstrap, PCOLL_ROUND_GROUP, group ? PCOLL_OK : PCOLL_ERR_NOMEM, NULL, 0);

    if (result != PCOLL_OK) {
        free(group);
        return result;
    }
    pcoll_shm_arena_init(&group->arena, bootstrap->rank, bootstrap->nranks);
    result = open_meeting(group, bootstrap);
    if (result == PCOLL_OK)
        result = look_around(group);
    if (result == PCOLL_OK)
        result = find_bell(group, bootstrap->bell);
    if (result != PCOLL_OK) {
        pcoll_node_group_destroy(&group->base);
        return result;
    }
    group->provides = PCOLL_NEED_WEIGHTS | PCOLL_NEED_GET | PCOLL_NEED_ORDER;
    if (group->can_cma || group->can_map)
        group->provides |= PCOLL_NEED_USER_RMA;
    if (group->can_map)
        group->provides |= PCOLL_NEED_MAPPED;
    group->base.bootstrap = &group->bootstrap;
    *group_p = &group->base;
    return PCOLL_OK;
}

void pcoll_node_group_destroy(struct pcoll_group *base)
{
    struct pcoll_node_group *group;

    if (base == NULL)
        return;
    group = pcoll_node_group_of(base);
    pcoll_detach(group->bell_at);
    pcoll_sharing_fini(&group->sharing);
    pcoll_shm_arena_fini(&group->arena);
    free(group);
}

enum pcoll_level pcoll_node_group_level(const struct pcoll_group *group)
{
    const struct pcoll_node_group *g = pcoll_node_group_of(group);

    return pcoll_sharing_distance(&g->sharing, g->farthest.nanoseconds);
}

const struct pcoll_sharing *pcoll_node_group_sharing(const struct pcoll_group *group)
{
    return &pcoll_node_group_of(group)->sharing;
}

const struct pcoll_topology *pcoll_node_group_levels(const struct pcoll_group *group)
{
    return pcoll_sharing_levels(pcoll_node_group_sharing(group));
}

static const char *why_not_mapped(const struct pcoll_node_group *group)
{
    if (!group->maps)
        return "switched off";
    return pcoll_xpmem_segment() == PCOLL_NONE ? pcoll_xpmem_refusal()
                                               : "a rank of the node cannot use it";
}

void pcoll_node_group_reach(const struct pcoll_group *base, char *text, size_t size)
{
    const struct pcoll_node_group *group = pcoll_node_group_of(base);

    if (group->bootstrap.nranks == 1)
        snprintf(text, size, "not needed, there is one rank");
    else if (group->can_map)
        snprintf(text, size, "mapped (XPMEM)");
    else
        snprintf(text, size, "%s; not mapped (XPMEM: %s)",
                 group->can_cma ? "copied by the kernel (CMA)" : "out of reach (CMA is refused)",
                 why_not_mapped(group));
}

const struct pcoll_machine *pcoll_node_group_machine(const struct pcoll_group *group)
{
    return &pcoll_node_group_of(group)->machine;
}

unsigned pcoll_node_group_provides(const struct pcoll_group *group)
{
    const struct pcoll_node_group *g = pcoll_node_group_of(group);
    uint32_t refused = atomic_load_explicit(&g->meeting->refused, memory_order_relaxed);

    return refused ? g->provides & ~(unsigned)PCOLL_NEED_USER_RMA : g->provides;
}
