#include "test/unit/mutate.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/plan/pool.h"

static void *duplicate(const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);

    if (!to)
        return NULL;
    if (bytes > 0)
        memcpy(to, from, bytes);
    return to;
}

static struct pcoll_entry *duplicate_entries(const struct pcoll_plan *plan)
{
    struct pcoll_entry *to = pcoll_pool_get(((size_t)plan->nentries + 1) * sizeof(*to));

    if (to && plan->nentries > 0)
        memcpy(to, plan->entries, (size_t)plan->nentries * sizeof(*to));
    return to;
}

struct pcoll_plan *mutate_copy(const struct pcoll_plan *plan)
{
    struct pcoll_plan *copy = duplicate(plan, sizeof(*plan));

    if (!copy)
        return NULL;
    copy->phases = duplicate(plan->phases, (size_t)plan->nphases * sizeof(*plan->phases));
    copy->gain = duplicate(plan->gain, (size_t)plan->ncounters * sizeof(*plan->gain));
    copy->entries = duplicate_entries(plan);
    copy->operands = duplicate(plan->operands, (size_t)plan->noperands * sizeof(*plan->operands));
    copy->neighbors =
        duplicate(plan->neighbors, (size_t)plan->nneighbors * sizeof(*plan->neighbors));
    copy->capacity = plan->nentries;
    if (copy->phases && copy->gain && copy->entries && copy->operands && copy->neighbors)
        return copy;
    pcoll_plan_destroy(copy);
    return NULL;
}

struct pcoll_plan *mutate_drop(const struct pcoll_plan *plan, int entry)
{
    struct pcoll_plan *copy = mutate_copy(plan);

    if (!copy)
        return NULL;
    copy->nentries--;
    memmove(copy->entries + entry, copy->entries + entry + 1,
            (size_t)(copy->nentries - entry) * sizeof(*copy->entries));
    for (int p = 0; p < copy->nphases; p++) {
        struct pcoll_phase *phase = &copy->phases[p];

        if (entry < phase->first)
            phase->first--;
        else if (entry < phase->first + phase->count)
            phase->count--;
    }
    return copy;
}

int mutate_can_lower(const struct pcoll_plan *plan, int entry)
{
    return plan->entries[entry].trigger != PCOLL_NONE && plan->entries[entry].threshold > 0;
}

struct pcoll_plan *mutate_lower(const struct pcoll_plan *plan, int entry)
{
    struct pcoll_plan *copy = mutate_copy(plan);

    if (copy)
        copy->entries[entry].threshold--;
    return copy;
}

static void add_gain(struct pcoll_plan **plans, int rank, const struct pcoll_entry *entry)
{
    if (entry->done != PCOLL_NONE)
        plans[rank]->gain[entry->done] += entry->done_add;
    if (entry->peer != PCOLL_NONE && entry->peer_counter != PCOLL_NONE)
        plans[entry->peer]->gain[entry->peer_counter] += entry->peer_add;
}

int mutate_collapse(struct pcoll_plan *const *plans, int nranks, struct pcoll_plan **to)
{
    for (int r = 0; r < nranks; r++) {
        to[r] = mutate_copy(plans[r]);
        if (!to[r]) {
            while (r-- > 0)
                pcoll_plan_destroy(to[r]);
            return 0;
        }
        to[r]->nphases = 1;
        to[r]->nentries = to[r]->phases[0].first + to[r]->phases[0].count;
        memset(to[r]->gain, 0, (size_t)to[r]->ncounters * sizeof(*to[r]->gain));
    }
    for (int r = 0; r < nranks; r++)
        for (int i = to[r]->phases[0].first; i < to[r]->nentries; i++)
            add_gain(to, r, &to[r]->entries[i]);
    return 1;
}

/* ---- operands ---- */

/* One unit further, or one back if there is no room. */
static int shift(const struct pcoll_plan *plan, uint64_t bytes, enum pcoll_buffer buffer,
                 uint64_t *offset)
{
    const uint64_t unit = plan->signature.unit ? plan->signature.unit : 1;

    if (*offset + bytes + unit <= pcoll_plan_bytes(plan, buffer))
        *offset += unit;
    else if (*offset >= unit)
        *offset -= unit;
    else
        return 0;
    return 1;
}

static void swap(struct pcoll_operand *a, struct pcoll_operand *b)
{
    const struct pcoll_operand operand = *a;

    *a = *b;
    *b = operand;
}

static void lose(struct pcoll_entry *entry, struct pcoll_operand *operands, int k)
{
    memmove(operands + k, operands + k + 1, (size_t)(entry->noperands - k - 1) * sizeof(*operands));
    entry->noperands--;
}

static void make_copy(struct pcoll_entry *entry, struct pcoll_operand operand, int rank)
{
    entry->noperands = 0;
    if (operand.rank != rank) {
        entry->op = PCOLL_OP_GET;
        entry->peer = operand.rank;
        entry->remote = pcoll_operand_place(&operand);
    } else {
        entry->op = PCOLL_OP_COPY;
        entry->remote = entry->local;
        entry->local = pcoll_operand_place(&operand);
    }
}

/* 0: impossible. */
static int change(struct pcoll_plan *plan, struct pcoll_entry *entry, enum mutate_how how, int k)
{
    struct pcoll_operand *operands = plan->operands + entry->first_operand;
    const int n = entry->noperands;

    switch (how) {
        case MUTATE_SWAP:
            swap(&operands[k], &operands[(k + 1) % n]);
            return k + 1 < n;
        case MUTATE_LOSE:
            lose(entry, operands, k);
            return 1;
        case MUTATE_DOUBLE:
            operands[k] = operands[(k + 1) % n];
            return 1;
        case MUTATE_SHIFT:
            return shift(plan, entry->bytes, operands[k].buffer, &operands[k].offset);
        case MUTATE_TARGET:
            return k == 0 && shift(plan, entry->bytes, entry->local.buffer, &entry->local.offset);
        case MUTATE_TO_COPY:
            make_copy(entry, operands[k], plan->rank);
            return 1;
        case MUTATE_TURN:
            for (int i = 0; i < n / 2; i++)
                swap(&operands[i], &operands[n - 1 - i]);
            return k == 0;
        case MUTATE_NUM_HOW:
            break;
    }
    return 0;
}

struct pcoll_plan *mutate_operands(const struct pcoll_plan *plan, int entry, enum mutate_how how,
                                   int k)
{
    struct pcoll_plan *copy = mutate_copy(plan);

    if (copy == NULL)
        abort();
    if (plan->entries[entry].bytes > 0 && change(copy, &copy->entries[entry], how, k))
        return copy;
    pcoll_plan_destroy(copy);
    return NULL;
}
