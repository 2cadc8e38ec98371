/*
 * Accumulation (PCOLL_OP_ACCUMULATE): which operators the provider has, and how it calls them.
 *
 * The provider's answer counts (fi_query_atomic), for one operator on one type, if the probe of the
 * group has seen an FI_OP_ATOMIC take effect and be counted (group.c). All operators here are
 * exact.
 */
#include <string.h>

#include <rdma/fi_atomic.h>

#include "offload/ofi_trigger/state.h"
#include "offload/reduce/kernels.h"

/* Longer vectors take a network longer than a processor, and `sockets` of libfabric 1.17 ends the
 * process when an operation exceeds 4 KiB. */
enum { MOST_BYTES = 16 };

static const enum fi_op ops[PCOLL_NUM_OPERATORS] = {
    [PCOLL_OPERATOR_SUM] = FI_SUM,   [PCOLL_OPERATOR_PROD] = FI_PROD, [PCOLL_OPERATOR_MAX] = FI_MAX,
    [PCOLL_OPERATOR_MIN] = FI_MIN,   [PCOLL_OPERATOR_LAND] = FI_LAND, [PCOLL_OPERATOR_LOR] = FI_LOR,
    [PCOLL_OPERATOR_LXOR] = FI_LXOR, [PCOLL_OPERATOR_BAND] = FI_BAND, [PCOLL_OPERATOR_BOR] = FI_BOR,
    [PCOLL_OPERATOR_BXOR] = FI_BXOR,
};

static const enum fi_datatype types[PCOLL_NUM_ELEMENTS] = {
#define ROW(NAME, name, type) [PCOLL_ELEMENT_##NAME] = FI_##NAME,
    PCOLL_ELEMENTS_OF_INTEGERS(ROW)
#undef ROW
};

uint64_t pcoll_trigger_accumulates(const struct pcoll_group *base, const struct pcoll_operator *op)
{
    const struct trigger_group *group = trigger_group_of(base);
    struct fi_atomic_attr attr = {.count = 0};
    uint64_t most;

    if (!group->accumulates || op == NULL || op->exact == NULL ||
        fi_query_atomic(group->endpoint->domain, types[op->exact->element], ops[op->exact->op],
                        &attr, 0) != 0 ||
        attr.size != op->unit)
        return 0;
    most = MOST_BYTES / op->unit;
    return (attr.count < most ? attr.count : most) * op->unit;
}

void pcoll_trigger_make_atomic(struct trigger_work *w, const struct pcoll_exact *exact,
                               size_t count)
{
    w->operand = (struct fi_ioc){.addr = w->local.iov_base, .count = count};
    w->accumulator =
        (struct fi_rma_ioc){.addr = w->remote.addr, .count = count, .key = w->remote.key};
    w->atomic.ep = w->rma.ep;
    w->atomic.msg = (struct fi_msg_atomic){.msg_iov = &w->operand,
                                           .desc = &w->desc,
                                           .iov_count = 1,
                                           .addr = w->rma.msg.addr,
                                           .rma_iov = &w->accumulator,
                                           .rma_iov_count = 1,
                                           .datatype = types[exact->element],
                                           .op = ops[exact->op],
                                           .context = &w->work};
    w->work.op_type = FI_OP_ATOMIC;
    w->work.op.atomic = &w->atomic;
}

/* True if all that the plan accumulates is short enough. */
static int takes(const struct trigger_bound *b, const struct pcoll_operator *op)
{
    const uint64_t most = pcoll_trigger_accumulates(&b->group->base, op);

    for (int i = 0; i < b->plan->nentries; i++)
        if (b->plan->entries[i].op == PCOLL_OP_ACCUMULATE && b->plan->entries[i].bytes > most)
            return 0;
    return 1;
}

enum pcoll_result pcoll_trigger_prepare_accumulators(struct trigger_bound *b,
                                                     const struct pcoll_operator *op)
{
    if (!(b->plan->needs & PCOLL_NEED_ACCUMULATE))
        return PCOLL_OK;
    if (!takes(b, op)) {
        b->group->bootstrap.report(b->group->bootstrap.context,
                                   "ofi_trigger: the provider cannot accumulate so many bytes with "
                                   "this operator");
        return PCOLL_UNSUPPORTED;
    }
    b->op = op;
    for (uint64_t at = 0; at + op->unit <= b->sizes[PCOLL_TEMP]; at += op->unit)
        memcpy(b->buffers[PCOLL_TEMP] + at, op->exact->identity, op->unit);
    return PCOLL_OK;
}
