/* Groups and memory of media that run plans by themselves; the contract is in autonomous.h. */
#include "offload/autonomous/autonomous.h"

#include <stdlib.h>

#include "algorithms/util.h"
#include "offload/agree.h"
#include "offload/interfaces.h"

/* ---- groups ---- */

static enum pcoll_result open_group(struct pcoll_autonomous_group *group)
{
    struct pcoll_interfaces interfaces;
    enum pcoll_result result = pcoll_interfaces(&group->bootstrap, &interfaces);

    if (result == PCOLL_OK)
        result = group->kind->open(group, interfaces.names[0]);
    pcoll_interfaces_free(&interfaces);
    return result;
}

enum pcoll_result pcoll_autonomous_group_create(const struct pcoll_autonomous *kind,
                                                const struct pcoll_bootstrap *bootstrap,
                                                struct pcoll_group **group_p)
{
    struct pcoll_autonomous_group *group = calloc(1, kind->group_bytes);
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (group) {
        *group = (struct pcoll_autonomous_group){.bootstrap = *bootstrap, .kind = kind, .refs = 1};
        result = open_group(group);
    }
    result = pcoll_agree(bootstrap, PCOLL_ROUND_NETWORK, result, NULL, 0);
    if (result == PCOLL_OK) {
        group->base = (struct pcoll_group){kind->medium, &group->bootstrap};
        *group_p = &group->base;
    } else if (group) {
        pcoll_autonomous_group_release(group);
    }
    return result;
}

void pcoll_autonomous_group_release(struct pcoll_autonomous_group *group)
{
    if (--group->refs > 0)
        return;
    group->kind->close(group);
    free(group);
}

void pcoll_autonomous_group_destroy(struct pcoll_group *base)
{
    if (base == NULL)
        return;
    base->medium->poll();
    pcoll_autonomous_group_release(pcoll_container_of(base, struct pcoll_autonomous_group, base));
}

/* ---- bound plans ---- */

static enum pcoll_result get_buffers(struct pcoll_autonomous_memory *m,
                                     const struct pcoll_plan *plan, const struct pcoll_memory *user)
{
    m->sizes[PCOLL_SEND] = pcoll_plan_bytes(plan, PCOLL_SEND);
    m->sizes[PCOLL_RECV] = pcoll_plan_bytes(plan, PCOLL_RECV);
    m->sizes[PCOLL_TEMP] = plan->temp_bytes;
    m->sizes[PCOLL_CELL] = (uint64_t)plan->ncounters * PCOLL_CELL_BYTES;
    m->buffers[PCOLL_SEND] = user->send;
    m->buffers[PCOLL_RECV] = user->recv;
    m->buffers[PCOLL_TEMP] = malloc(m->sizes[PCOLL_TEMP] + 1);
    m->buffers[PCOLL_CELL] = malloc(m->sizes[PCOLL_CELL] + 1);
    m->reduction_of = calloc((size_t)plan->nentries + 1, sizeof(*m->reduction_of));
    return m->buffers[PCOLL_TEMP] && m->buffers[PCOLL_CELL] && m->reduction_of ? PCOLL_OK
                                                                               : PCOLL_ERR_NOMEM;
}

/* All operands are this rank's own. */
static char *address_of(const void *memory, int rank, struct pcoll_place place, uint64_t bytes)
{
    (void)rank;
    (void)bytes;
    return pcoll_autonomous_at(memory, place);
}

enum pcoll_result pcoll_autonomous_memory_init(struct pcoll_autonomous_memory *m,
                                               const struct pcoll_plan *plan,
                                               const struct pcoll_memory *user)
{
    enum pcoll_result result = get_buffers(m, plan, user);

    if (result == PCOLL_OK)
        result = pcoll_reductions_init(&m->reductions, plan, user->op);
    for (int i = 0; i < plan->nentries && result == PCOLL_OK; i++)
        if (plan->entries[i].op == PCOLL_OP_REDUCE)
            m->reduction_of[i] = pcoll_reductions_add(&m->reductions, plan, &plan->entries[i],
                                                      user->op, address_of, m);
    return result;
}

void pcoll_autonomous_memory_fini(struct pcoll_autonomous_memory *m)
{
    pcoll_reductions_fini(&m->reductions);
    free(m->reduction_of);
    free(m->buffers[PCOLL_TEMP]);
    free(m->buffers[PCOLL_CELL]);
}

int pcoll_autonomous_neighbor(const struct pcoll_plan *plan, int rank)
{
    const int *found =
        bsearch(&rank, plan->neighbors, (size_t)plan->nneighbors, sizeof(rank), pcoll_compare_ints);

    return found ? (int)(found - plan->neighbors) : PCOLL_NONE;
}

enum pcoll_result pcoll_autonomous_spin(struct pcoll_bound *bound, unsigned spins)
{
    enum pcoll_result result = bound->medium->progress(bound);

    while (result == PCOLL_PENDING && spins-- > 0)
        result = bound->medium->progress(bound);
    return result;
}
