/* Numbers the events, counters and groups of entries of all plans, for order.c. */
#include "algorithms/proof/order.h"

#include <assert.h>
#include <stdlib.h>

/* Allocates a zeroed array of n elements, which is freed with the order; a failure is recorded. */
static void *array(struct pcoll_order *order, int n, size_t size)
{
    void *memory = calloc((size_t)n + 1, size);

    assert(order->nowned < (int)(sizeof(order->owned) / sizeof(order->owned[0])));
    if (memory == NULL)
        order->failed = 1;
    order->owned[order->nowned++] = memory;
    return memory;
}

/* Number the events of one phase and the groups of its entries. */
static int lay_out_phase(struct pcoll_order *order, int rank, int phase, int group)
{
    const struct pcoll_plan *plan = pcoll_order_plan(order, rank);
    int i = plan->phases[phase].first, end = i + plan->phases[phase].count;

    order->event_base[rank * plan->nphases + phase] = order->nevents;
    order->nevents += 2 + 2 * plan->phases[phase].count;
    order->group_base[rank * plan->nphases + phase] = group;
    for (int c = PCOLL_NONE; c <= plan->ncounters; c++) {
        while (i < end && plan->entries[i].trigger < c)
            i++;
        order->groups[group++] = i;
    }
    return group;
}

static int lay_out(struct pcoll_order *order)
{
    const struct pcoll_check *check = order->check;
    int group = 0, counter = 0;

    for (int rank = 0; rank < check->nranks; rank++) {
        order->counter_base[rank] = counter;
        for (int c = 0; c < pcoll_order_plan(order, rank)->ncounters; c++)
            order->counter_rank[counter++] = rank;
        for (int phase = 0; phase < check->nphases; phase++)
            group = lay_out_phase(order, rank, phase, group);
    }
    order->counter_base[check->nranks] = counter;
    order->rows = array(order, order->nevents, sizeof(*order->rows));
    return !order->failed;
}

static int allocate(struct pcoll_order *order)
{
    const struct pcoll_check *check = order->check;
    int nphases = check->nphases, nranks = check->nranks, ncounters = 0;

    for (int rank = 0; rank < nranks; rank++)
        ncounters += pcoll_order_plan(order, rank)->ncounters;
    order->event_base = array(order, nranks * nphases, sizeof(int));
    order->counter_base = array(order, nranks, sizeof(int));
    order->counter_rank = array(order, ncounters, sizeof(int));
    order->group_base = array(order, nranks * nphases, sizeof(int));
    order->groups = array(order, (ncounters + 2 * nranks) * nphases, sizeof(int));
    order->run.instance = array(order, nranks, sizeof(int));
    order->run.left = array(order, nranks, sizeof(int));
    order->run.idle = array(order, nranks, sizeof(int));
    order->run.value = array(order, ncounters, sizeof(int64_t));
    order->run.next = array(order, ncounters, sizeof(int));
    order->run.risen = array(order, ncounters, sizeof(int));
    order->run.is_risen = array(order, ncounters, sizeof(char));
    return !order->failed;
}

enum pcoll_result pcoll_order_create(const struct pcoll_check *check, struct pcoll_order **order_p)
{
    struct pcoll_order *order = calloc(1, sizeof(*order));

    if (order == NULL)
        return PCOLL_ERR_NOMEM;
    order->check = check;
    if (!allocate(order) || !lay_out(order)) {
        pcoll_order_destroy(order);
        return PCOLL_ERR_NOMEM;
    }
    *order_p = order;
    return PCOLL_OK;
}

void pcoll_order_destroy(struct pcoll_order *order)
{
    for (int i = 0; order->rows && i < order->nevents; i++)
        free(order->rows[i]);
    for (int i = 0; i < order->nowned; i++)
        free(order->owned[i]);
    free(order);
}
