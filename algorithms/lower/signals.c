/* Who signals a rank, from the plans of its neighbors; the contract is in lower/private.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lower/private.h"

/* The index of the first plan whose rank is not below `rank`. */
static int place_of(const struct pcoll_family *family, int rank)
{
    int low = 0, high = family->nplans;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (family->plans[middle]->rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum pcoll_result make_room(struct pcoll_family *family)
{
    const int room = family->room ? 2 * family->room : 16;
    struct pcoll_plan **plans;

    if (family->nplans < family->room)
        return PCOLL_OK;
    plans = realloc(family->plans, (size_t)room * sizeof(struct pcoll_plan *));
    if (plans == NULL)
        return PCOLL_ERR_NOMEM;
    family->plans = plans;
    family->room = room;
    return PCOLL_OK;
}

enum pcoll_result pcoll_family_plan(struct pcoll_family *family, int rank,
                                    const struct pcoll_plan **plan_p)
{
    const int place = place_of(family, rank);
    struct pcoll_plan *plan, **at;
    enum pcoll_result result;

    if (place < family->nplans && family->plans[place]->rank == rank) {
        *plan_p = family->plans[place];
        return PCOLL_OK;
    }
    result = make_room(family);
    if (result == PCOLL_OK)
        result = pcoll_generate(family->algorithm, &family->signature, NULL, rank, family->params,
                                &plan);
    if (result == PCOLL_OK)
        result = pcoll_lower_split(&plan);
    if (result != PCOLL_OK)
        return result;
    at = family->plans + place;
    memmove(at + 1, at, (size_t)(family->nplans++ - place) * sizeof(*at));
    *plan_p = *at = plan;
    return PCOLL_OK;
}

struct list {
    struct pcoll_signal *signals;
    int n, room;
    bool failed;
};

static void append(struct list *list, struct pcoll_signal signal)
{
    if (list->n == list->room) {
        int room = list->room ? 2 * list->room : 16;
        struct pcoll_signal *signals = realloc(list->signals, (size_t)room * sizeof(*signals));

        list->failed |= signals == NULL;
        if (signals == NULL)
            return;
        list->signals = signals;
        list->room = room;
    }
    list->signals[list->n++] = signal;
}

/* Appends what the entries of `plan` signal to `rank`. */
static void append_of(struct list *list, const struct pcoll_plan *plan, int rank)
{
    for (int phase = 0; phase < plan->nphases; phase++)
        for (int i = 0; i < plan->phases[phase].count; i++) {
            int index = plan->phases[phase].first + i;
            const struct pcoll_entry *entry = &plan->entries[index];
            struct pcoll_signal signal = {.source = plan->rank, .entry = index, .phase = phase};

            if (entry->peer == rank && entry->peer_counter != PCOLL_NONE) {
                signal.counter = entry->peer_counter;
                signal.add = entry->peer_add;
                append(list, signal);
            }
            if (plan->rank == rank && entry->done != PCOLL_NONE) {
                signal.counter = entry->done;
                signal.add = entry->done_add;
                signal.is_done = true;
                append(list, signal);
            }
        }
}

static int rank_order(int a, int b)
{
    return (a > b) - (a < b);
}

static int compare_signals(const void *left, const void *right)
{
    const struct pcoll_signal *a = left, *b = right;

    if (a->counter != b->counter)
        return rank_order(a->counter, b->counter);
    if (a->phase != b->phase)
        return rank_order(a->phase, b->phase);
    if (a->source != b->source)
        return rank_order(a->source, b->source);
    return a->entry != b->entry ? rank_order(a->entry, b->entry)
                                : rank_order(a->is_done, b->is_done);
}

enum pcoll_result pcoll_signals(struct pcoll_family *family, int rank,
                                struct pcoll_signal **signals_p, int *nsignals_p)
{
    const struct pcoll_plan *own, *plan;
    struct list list = {0};
    enum pcoll_result result = pcoll_family_plan(family, rank, &own);

    if (result == PCOLL_OK)
        append_of(&list, own, rank);
    for (int i = 0; result == PCOLL_OK && i < own->nneighbors; i++) {
        if (own->neighbors[i] == rank)
            continue;
        result = pcoll_family_plan(family, own->neighbors[i], &plan);
        if (result == PCOLL_OK)
            append_of(&list, plan, rank);
    }
    if (result == PCOLL_OK && list.failed)
        result = PCOLL_ERR_NOMEM;
    if (result != PCOLL_OK) {
        free(list.signals);
        return result;
    }
    if (list.n > 0)
        qsort(list.signals, (size_t)list.n, sizeof(*list.signals), compare_signals);
    *signals_p = list.signals;
    *nsignals_p = list.n;
    return PCOLL_OK;
}
