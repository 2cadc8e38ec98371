/* Turns an entry into a struct fi_deferred_work. */
#include "offload/ofi_trigger/state.h"

static void make_add(struct trigger_bound *bound, struct trigger_work *w,
                     const struct pcoll_entry *entry)
{
    w->add.cntr = bound->counters[entry->done].cntr;
    w->add.value = entry->done_add;
    w->work.op_type = FI_OP_CNTR_ADD;
    w->work.op.cntr = &w->add;
}

static void set_bell(struct trigger_bound *bound, struct trigger_work *w, enum trigger_bell bell)
{
    w->local.iov_base = (void *)&bound->bells[bell];
    w->local.iov_len = sizeof(bound->bells[bell]);
    w->desc = bound->bell_region.desc;
}

/* Where an RMA operation begins on this rank, and the registration that covers it. */
static void set_local(struct trigger_bound *bound, struct trigger_work *w,
                      const struct pcoll_entry *entry)
{
    if (entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET) {
        w->local.iov_base = pcoll_autonomous_at(&bound->memory, entry->local);
        w->local.iov_len = entry->bytes;
        w->desc = bound->local[entry->local.buffer].desc;
    } else {
        set_bell(bound, w, BELL_FOR_PEERS);
    }
}

/* The move between what `local` names and the target, `offset` bytes on. */
static void set_rma(struct trigger_bound *bound, struct trigger_work *w,
                    const struct trigger_target *target, uint64_t offset)
{
    w->remote.addr = target->base + offset;
    w->remote.len = w->local.iov_len;
    w->remote.key = target->key;
    w->rma.ep = bound->endpoint->ep;
    w->rma.msg = (struct fi_msg_rma){.msg_iov = &w->local,
                                     .desc = &w->desc,
                                     .iov_count = 1,
                                     .addr = target->peer,
                                     .rma_iov = &w->remote,
                                     .rma_iov_count = 1,
                                     .context = &w->work};
    w->work.op_type = FI_OP_WRITE;
    w->work.op.rma = &w->rma;
}

static void make_rma(struct trigger_bound *bound, struct trigger_work *w,
                     const struct pcoll_entry *entry, const struct trigger_target *target)
{
    bool is_move = entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET;

    set_local(bound, w, entry);
    set_rma(bound, w, target, is_move ? entry->remote.offset : 0);
    w->work.completion_cntr = is_move && entry->done != PCOLL_NONE
                                  ? bound->counters[entry->done].cntr
                                  : trigger_data_counter(bound);
    if (entry->op == PCOLL_OP_GET)
        w->work.op_type = FI_OP_READ;
}

/* Works without trigger use the counter of completed works, which is never below 0. The signal of a
 * copy is queued when the copy is done. */
void pcoll_trigger_work(struct trigger_bound *bound, int number,
                        const struct trigger_target *target)
{
    const struct pcoll_entry *entry = &bound->plan->entries[number];
    struct trigger_work *w = &bound->works[number];
    bool at_once = entry->trigger == PCOLL_NONE || pcoll_entry_is_own_work(entry);

    w->bound = bound;
    w->exists = true;
    w->work.triggering_cntr =
        at_once ? trigger_data_counter(bound) : bound->counters[entry->trigger].cntr;
    if (target)
        make_rma(bound, w, entry, target);
    else
        make_add(bound, w, entry);
}

/* Triggered and counted by the counter of completed works, as above. */
void pcoll_trigger_farewell_work(struct trigger_bound *bound, struct trigger_neighbor *neighbor)
{
    struct trigger_work *w = &neighbor->work;

    w->bound = bound;
    w->exists = true;
    set_bell(bound, w, BELL_FAREWELL);
    set_rma(bound, w, &neighbor->word, 0);
    w->work.triggering_cntr = trigger_data_counter(bound);
    w->work.completion_cntr = trigger_data_counter(bound);
}
