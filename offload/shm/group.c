/* A group of ranks that share memory, and the probe of what the kernel lets them do. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/shm/state.h"

/* What a rank lets its neighbour read and write as a probe. */
struct probe {
    uint64_t word; /* the address of `word` at its owner: known to the neighbour */
    uint64_t scratch;
};

struct probe_address {
    int64_t pid;
    uint64_t address;
};

static int probe_neighbour(const struct probe_address *neighbour)
{
    struct probe *there = (struct probe *)(uintptr_t)neighbour->address;
    uint64_t seen = 0, mark = neighbour->address;

    return pcoll_cma_read((pid_t)neighbour->pid, &seen, &there->word, sizeof(seen)) == 0 &&
           seen == neighbour->address &&
           pcoll_cma_write((pid_t)neighbour->pid, &there->scratch, &mark, sizeof(mark)) == 0;
}

/* Collective: can every rank reach the memory of its right neighbour?  A refusal is an answer. */
static enum pcoll_result probe_cma(const struct pcoll_bootstrap *bootstrap, int *can_p)
{
    struct probe probe = {0, 0};
    struct probe_address own = {getpid(), (uint64_t)(uintptr_t)&probe};
    struct probe_address *all = malloc((size_t)bootstrap->nranks * sizeof(*all));
    enum pcoll_result result = PCOLL_ERR_NOMEM, agreed;
    int can = 0;

    probe.word = own.address;
    if (all != NULL)
        result = bootstrap->allgather(bootstrap->context, &own, all, sizeof(own));
    if (result == PCOLL_OK)
        can = probe_neighbour(&all[(bootstrap->rank + 1) % bootstrap->nranks]) &&
              probe.word == own.address;
    free(all);
    if (result != PCOLL_OK)
        return result;
    agreed = pcoll_shm_agree(bootstrap, can ? PCOLL_OK : PCOLL_UNSUPPORTED);
    *can_p = agreed == PCOLL_OK;
    return agreed == PCOLL_UNSUPPORTED ? PCOLL_OK : agreed;
}

/* The ranks meet in slots of shared memory; who waits lets the rest of its process go on. */
enum pcoll_result pcoll_shm_exchange(struct pcoll_group *base, const void *mine, void *all,
                                     size_t bytes)
{
    struct pcoll_shm_group *group = pcoll_shm_group_of(base);
    struct pcoll_shm_meeting *meeting = group->meeting;
    size_t nranks = (size_t)group->bootstrap.nranks;
    char *slots = meeting->slots + group->meetings % 2 * nranks * PCOLL_EXCHANGE_BYTES;

    assert(bytes <= PCOLL_EXCHANGE_BYTES);
    memcpy(slots + (size_t)group->bootstrap.rank * PCOLL_EXCHANGE_BYTES, mine, bytes);
    group->meetings++;
    atomic_fetch_add_explicit(&meeting->arrived, 1, memory_order_release);
    while (atomic_load_explicit(&meeting->arrived, memory_order_acquire) < group->meetings * nranks)
        group->idle(group->context);
    for (size_t i = 0; i < nranks; i++)
        memcpy((char *)all + i * bytes, slots + i * PCOLL_EXCHANGE_BYTES, bytes);
    return PCOLL_OK;
}

static enum pcoll_result exchange_in(void *context, const void *mine, void *all, size_t bytes)
{
    struct pcoll_shm_group *group = context;

    return pcoll_shm_exchange(&group->base, mine, all, bytes);
}

static void idle_in(void *context)
{
    struct pcoll_shm_group *group = context;

    group->idle(group->context);
}

static void report_in(void *context, const char *message)
{
    struct pcoll_shm_group *group = context;

    group->report(group->context, message);
}

/* From here on the group is its own bootstrap. */
static enum pcoll_result open_meeting(struct pcoll_shm_group *group,
                                      const struct pcoll_bootstrap *bootstrap)
{
    size_t slots = 2 * (size_t)bootstrap->nranks * PCOLL_EXCHANGE_BYTES;
    enum pcoll_result result =
        pcoll_shm_carve(&group->arena, bootstrap, sizeof(*group->meeting) + slots, &group->block);

    if (result != PCOLL_OK)
        return result;
    group->meeting = (void *)((char *)group->block + PCOLL_SHM_LINE);
    group->context = bootstrap->context;
    group->idle = bootstrap->idle;
    group->report = bootstrap->report;
    group->bootstrap = (struct pcoll_bootstrap){
        .rank = bootstrap->rank,
        .nranks = bootstrap->nranks,
        .context = group,
        .allgather = exchange_in,
        .idle = idle_in,
        .report = report_in,
    };
    return PCOLL_OK;
}

enum pcoll_result pcoll_shm_group_create(const struct pcoll_bootstrap *bootstrap,
                                         struct pcoll_group **group_p)
{
    struct pcoll_shm_group *group = calloc(1, sizeof(*group));
    enum pcoll_result result = pcoll_shm_agree(bootstrap, group ? PCOLL_OK : PCOLL_ERR_NOMEM);
    int can_cma = 0;

    if (result == PCOLL_OK)
        result = probe_cma(bootstrap, &can_cma);
    if (result != PCOLL_OK) {
        free(group);
        return result;
    }
    pcoll_shm_arena_init(&group->arena, bootstrap->rank, bootstrap->nranks);
    group->provides = PCOLL_NEED_WEIGHTS | PCOLL_NEED_GET | PCOLL_NEED_ORDER;
    if (can_cma)
        group->provides |= PCOLL_NEED_USER_RMA;
    result = open_meeting(group, bootstrap);
    if (result != PCOLL_OK) {
        pcoll_shm_group_destroy(&group->base);
        return result;
    }
    group->base.medium = &pcoll_medium_shm;
    *group_p = &group->base;
    return PCOLL_OK;
}

void pcoll_shm_group_destroy(struct pcoll_group *base)
{
    struct pcoll_shm_group *group;

    if (base == NULL)
        return;
    group = pcoll_shm_group_of(base);
    pcoll_shm_arena_fini(&group->arena);
    free(group);
}

unsigned pcoll_shm_group_provides(const struct pcoll_group *group)
{
    return pcoll_shm_group_of(group)->provides;
}
