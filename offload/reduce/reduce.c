/*
 * Reductions: n operands, tile by tile, so that partial results stay in the nearest cache.
 *
 * A tile is folded from the right into the target: t = o_(n-1), t = o_(n-2) * t, ... If the target
 * is an operand that is still needed then, the tile is folded into scratch memory first.
 */
#include "offload/reduce/reduce.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The largest tile: whole units. */
static size_t tile_bytes(uint64_t unit)
{
    return unit < PCOLL_REDUCE_TILE ? PCOLL_REDUCE_TILE / unit * unit : unit;
}

static bool has_reductions(const struct pcoll_plan *plan)
{
    return plan->noperands > 0;
}

static size_t count(const struct pcoll_plan *plan)
{
    size_t n = 0;

    for (int i = 0; i < plan->nentries; i++)
        n += plan->entries[i].op == PCOLL_OP_REDUCE;
    return n;
}

enum pcoll_result pcoll_reductions_init(struct pcoll_reductions *r, const struct pcoll_plan *plan,
                                        const struct pcoll_operator *op)
{
    *r = (struct pcoll_reductions){.count = 0};
    if (!has_reductions(plan))
        return PCOLL_OK;
    if (op == NULL)
        return PCOLL_ERR_INVALID;
    r->list = malloc((count(plan) + 1) * sizeof(*r->list));
    r->operands = malloc((size_t)plan->noperands * sizeof(*r->operands));
    r->scratch = malloc(tile_bytes(op->unit));
    return r->list && r->operands && r->scratch ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

void pcoll_reductions_fini(struct pcoll_reductions *r)
{
    free(r->list);
    free(r->operands);
    free(r->scratch);
}

/* A kernel may write where its operands are, so only those operands count that it has not read by
 * then. */
static bool overwrites_operand(const struct pcoll_reduction *reduction)
{
    const int n = reduction->n - (reduction->op->kernel ? 2 : 1);

    for (int i = 0; i < n; i++)
        if (reduction->operands[i] == reduction->to)
            return true;
    return false;
}

struct pcoll_reduction *pcoll_reductions_add(struct pcoll_reductions *r,
                                             const struct pcoll_plan *plan,
                                             const struct pcoll_entry *entry,
                                             const struct pcoll_operator *op,
                                             pcoll_address_of *address_of, const void *context)
{
    struct pcoll_reduction *reduction = &r->list[r->count++];

    *reduction = (struct pcoll_reduction){
        .op = op,
        .to = (unsigned char *)address_of(context, plan->rank, entry->local, entry->bytes),
        .bytes = (size_t)entry->bytes,
        .operands = r->operands + entry->first_operand,
        .n = entry->noperands,
    };
    for (int i = entry->first_operand; i < entry->first_operand + entry->noperands; i++)
        r->operands[i] = (unsigned char *)address_of(
            context, plan->operands[i].rank, pcoll_operand_place(&plan->operands[i]), entry->bytes);
    if (overwrites_operand(reduction))
        reduction->scratch = r->scratch;
    return reduction;
}

void pcoll_reductions_move(struct pcoll_reductions *r, struct pcoll_reduction *reduction,
                           const struct pcoll_plan *plan, const struct pcoll_entry *entry,
                           pcoll_address_of *address_of, const void *context)
{
    char *address = address_of(context, plan->rank, entry->local, entry->bytes);

    if (address != NULL)
        reduction->to = (unsigned char *)address;
    for (int i = entry->first_operand; i < entry->first_operand + entry->noperands; i++) {
        address = address_of(context, plan->operands[i].rank,
                             pcoll_operand_place(&plan->operands[i]), entry->bytes);
        if (address != NULL)
            r->operands[i] = (unsigned char *)address;
    }
    reduction->scratch = overwrites_operand(reduction) ? r->scratch : NULL;
}

/* Bytes [at, at + bytes) by a kernel. */
static void run_kernel(const struct pcoll_reduction *r, unsigned char *acc, size_t at, size_t bytes)
{
    const size_t units = bytes / (size_t)r->op->unit;

    r->op->kernel(acc, r->operands[r->n - 2] + at, r->operands[r->n - 1] + at, units);
    for (int i = r->n - 3; i >= 0; i--)
        r->op->kernel(acc, r->operands[i] + at, acc, units);
}

/* The same by `apply`. */
static enum pcoll_result run_apply(const struct pcoll_reduction *r, unsigned char *acc, size_t at,
                                   size_t bytes)
{
    const size_t units = bytes / (size_t)r->op->unit;
    enum pcoll_result result = PCOLL_OK;

    if (acc != r->operands[r->n - 1] + at)
        memcpy(acc, r->operands[r->n - 1] + at, bytes);
    for (int i = r->n - 2; i >= 0 && result == PCOLL_OK; i--)
        result = r->op->apply(r->op, r->operands[i] + at, acc, units);
    return result;
}

static enum pcoll_result run_tile(const struct pcoll_reduction *r, size_t at, size_t bytes)
{
    unsigned char *acc = r->scratch ? r->scratch : r->to + at;
    enum pcoll_result result = PCOLL_OK;

    if (r->op->kernel)
        run_kernel(r, acc, at, bytes);
    else
        result = run_apply(r, acc, at, bytes);
    if (r->scratch && result == PCOLL_OK)
        memcpy(r->to + at, acc, bytes);
    return result;
}

/* A single pass needs no tiles. */
static size_t step_of(const struct pcoll_reduction *r)
{
    if (r->n > 2 || r->scratch)
        return tile_bytes(r->op->unit);
    return PCOLL_MAX_UNITS <= SIZE_MAX / r->op->unit ? PCOLL_MAX_UNITS * (size_t)r->op->unit
                                                     : (size_t)r->op->unit;
}

enum pcoll_result pcoll_reduce(const struct pcoll_reduction *r)
{
    const size_t step = step_of(r);
    enum pcoll_result result = PCOLL_OK;

    for (size_t at = 0; at < r->bytes && result == PCOLL_OK; at += step)
        result = run_tile(r, at, r->bytes - at < step ? r->bytes - at : step);
    return result;
}
