/* The faults; the contract is in plan_faults.h. */
#include "test/unit/plan_faults.h"

#include <stdlib.h>
#include <string.h>

static struct pcoll_entry *find(struct pcoll_plan *plan, enum pcoll_op op, int nth)
{
    for (int i = 0; i < plan->nentries; i++)
        if (plan->entries[i].op == op && nth-- == 0)
            return &plan->entries[i];
    abort();
}

static void drop(struct pcoll_plan *plan, struct pcoll_entry *entry)
{
    int at = (int)(entry - plan->entries), phase = plan->nphases - 1;

    while (plan->phases[phase].first > at)
        plan->phases[phase--].first--;
    plan->phases[phase].count--;
    plan->nentries--;
    memmove(entry, entry + 1, (size_t)(plan->nentries - at) * sizeof(*entry));
}

static void drop_last_signal(struct pcoll_plan **plans)
{
    drop(plans[1], find(plans[1], PCOLL_OP_ADD, 1));
}

static void lower_wait(struct pcoll_plan **plans)
{
    find(plans[2], PCOLL_OP_WAIT, 0)->threshold--;
}

static void raise_wait(struct pcoll_plan **plans)
{
    find(plans[2], PCOLL_OP_WAIT, 0)->threshold++;
}

/* The butterfly of 4 ranks with a count of messages, without weights. */
static void unweigh(struct pcoll_plan **plans)
{
    for (int r = 0; r < 4; r++) {
        for (int i = 0; i < plans[r]->nentries; i++) {
            plans[r]->entries[i].peer_add = plans[r]->entries[i].op == PCOLL_OP_ADD;
            if (plans[r]->entries[i].threshold > 0)
                plans[r]->entries[i].threshold--;
        }
    }
}

static void heavier_signal(struct pcoll_plan **plans)
{
    find(plans[3], PCOLL_OP_ADD, 1)->peer_add++;
}

static void nothing(struct pcoll_plan **plans)
{
    (void)plans;
}

static void collapse(struct pcoll_plan **plans)
{
    for (int r = 0; r < plans[0]->signature.nranks; r++) {
        plans[r]->nphases = 1;
        plans[r]->nentries = plans[r]->phases[0].count;
    }
}

static void swap_targets(struct pcoll_plan **plans)
{
    struct pcoll_entry *a = find(plans[0], PCOLL_OP_GET, 0), *b = find(plans[0], PCOLL_OP_GET, 1);
    struct pcoll_place place = a->local;

    a->local = b->local;
    b->local = place;
}

static void same_target(struct pcoll_plan **plans)
{
    find(plans[0], PCOLL_OP_GET, 1)->local = find(plans[0], PCOLL_OP_GET, 0)->local;
}

static void shift_put(struct pcoll_plan **plans)
{
    find(plans[0], PCOLL_OP_PUT, 0)->remote.offset++;
}

static void shorten_put(struct pcoll_plan **plans)
{
    find(plans[0], PCOLL_OP_PUT, 0)->bytes--;
}

static void copy_at_once(struct pcoll_plan **plans)
{
    struct pcoll_entry *copy = find(plans[3], PCOLL_OP_COPY, 0);

    copy->trigger = PCOLL_NONE;
    copy->threshold = 0;
}

/* The root ignores what its gate waits for. */
static void ignore_credit(struct pcoll_plan **plans)
{
    for (int i = 0; i < plans[0]->nentries; i++) {
        plans[0]->entries[i].trigger = PCOLL_NONE;
        plans[0]->entries[i].threshold = 0;
    }
}

static void forget_acknowledge(struct pcoll_plan **plans)
{
    drop(plans[0], find(plans[0], PCOLL_OP_WAIT, 0));
}

static void disorder(struct pcoll_plan **plans)
{
    for (int r = 0; r < plans[0]->signature.nranks; r++)
        plans[r]->ordered = 0;
}

static void unsort(struct pcoll_plan **plans)
{
    struct pcoll_entry first = plans[0]->entries[0];

    plans[0]->entries[0] = plans[0]->entries[1];
    plans[0]->entries[1] = first;
}

static void leave_entry(struct pcoll_plan **plans)
{
    plans[1]->phases[plans[1]->nphases - 1].count--;
}

static void lose_target(struct pcoll_plan **plans)
{
    find(plans[1], PCOLL_OP_ADD, 0)->peer_counter = PCOLL_NONE;
}

static void write_input(struct pcoll_plan **plans)
{
    struct pcoll_entry *copy = find(plans[1], PCOLL_OP_COPY, 0);

    copy->local = copy->remote;
    copy->remote = pcoll_at(PCOLL_SEND, 0);
}

static void other_root(struct pcoll_plan **plans)
{
    plans[2]->signature.root = 1;
}

static void miscount(struct pcoll_plan **plans)
{
    plans[0]->gain[0]++;
}

static void forget_neighbor(struct pcoll_plan **plans)
{
    plans[0]->nneighbors--;
}

static void misname_operand(struct pcoll_plan **plans)
{
    plans[0]->operands[0].rank = 4;
}

/* Rank 3 is in no stage a mate of rank 0. */
static void take_stranger(struct pcoll_plan **plans)
{
    plans[0]->operands[1].rank = 3;
}

static void read_at_once(struct pcoll_plan **plans)
{
    struct pcoll_entry *reduce = find(plans[0], PCOLL_OP_REDUCE, 0);

    reduce->trigger = PCOLL_NONE;
    reduce->threshold = 0;
}

/* When rank 1 begins to read SEND of the others, it already tells them that it has. */
static void tell_before_reading(struct pcoll_plan **plans)
{
    const struct pcoll_entry *reduce = find(plans[1], PCOLL_OP_REDUCE, 0);

    for (int i = 3; i < 6; i++) {
        struct pcoll_entry *add = find(plans[1], PCOLL_OP_ADD, i);

        add->trigger = reduce->trigger;
        add->threshold = reduce->threshold;
    }
}

#define BARRIER PCOLL_BARRIER, "butterfly", 0, 0, PCOLL_PATH_AUTO
#define DISSEMINATION PCOLL_BARRIER, "dissemination", 0, 0, PCOLL_PATH_AUTO
#define EAGER PCOLL_BCAST, "eager", 8, 0, PCOLL_PATH_AUTO
#define CHAIN PCOLL_BCAST, "chain", 8, 2, PCOLL_PATH_AUTO
#define BY_PUT PCOLL_BCAST, "knomial_put", 8, 0, PCOLL_PATH_AUTO
#define BY_GET PCOLL_BCAST, "knomial_get", 8, 0, PCOLL_PATH_AUTO
#define DIRECT PCOLL_ALLGATHER, "direct", 8, 0, PCOLL_PATH_USER
#define GATHER PCOLL_ALLGATHER, "butterfly", 8, 0, PCOLL_PATH_TEMP
#define STAGES PCOLL_ALLREDUCE, "sliced_get", 16, 0, PCOLL_PATH_USER
#define BLOCKS PCOLL_REDUCE_SCATTER_BLOCK, "direct_get", 8, 0, PCOLL_PATH_USER

const struct plan_fault plan_faults[] = {
    {"a signal dropped", drop_last_signal, BARRIER, "has gain", 1},
    {"a signal dropped, gain corrected", drop_last_signal, BARRIER, "never fires", 0},
    {"a threshold lowered", lower_wait, BARRIER, "may complete before rank", 0},
    {"a threshold raised", raise_wait, BARRIER, "never fires", 0},
    {"a signal's weight changed", heavier_signal, BARRIER, "has gain", 1},
    {"a signal's weight changed, gain corrected", heavier_signal, BARRIER, "may complete before",
     0},
    {"no weights", unweigh, BARRIER, "may complete before rank", 0},
    {"one bank", collapse, GATHER, "in no certain order", 0},
    {"one bank for credits", collapse, EAGER, "in no certain order", 0},
    {"two gets swapped", swap_targets, DIRECT, "receives byte 0 of rank", 0},
    {"two gets to one place", same_target, DIRECT, "in the same instance as", 0},
    {"a put beside its place", shift_put, EAGER, "was not written before in this instance", 0},
    {"a put beyond the buffer", shift_put, BY_PUT, "outside RECV", 0},
    {"a put too short", shorten_put, BY_PUT, "was not written before in this instance", 0},
    {"a copy that does not wait", copy_at_once, EAGER, "in no certain order", 0},
    {"no wait for credit", ignore_credit, EAGER, "in no certain order", 0},
    {"no wait for readiness", ignore_credit, BY_PUT, "perhaps before its start", 0},
    {"no wait for readers", forget_acknowledge, BY_GET, "perhaps after its completion", 0},
    {"segments out of order", disorder, CHAIN, "in no certain order", 0},
    {"entries not sorted", unsort, BARRIER, "not sorted", 0},
    {"an entry outside the phases", leave_entry, BARRIER, "entries left", 0},
    {"a signal without target", lose_target, BARRIER, "signals no counter", 0},
    {"input written", write_input, DIRECT, "writes input in SEND", 0},
    {"another signature", other_root, BY_PUT, "signature differs", 0},
    {"a gain miscounted", miscount, BARRIER, "has gain", 1},
    {"an own neighbor forgotten", forget_neighbor, BY_PUT, "no neighbor", 0},
    {"a signaler forgotten", forget_neighbor, DISSEMINATION, "which knows nothing of it", 0},
    {"an operand of no rank", misname_operand, STAGES, "unknown rank 4", 0},
    {"an operand of a stranger", take_stranger, STAGES, "an operand of 3, no neighbor", 0},
    {"an operand read at once", read_at_once, STAGES, "perhaps before its start", 0},
    {"one bank for stages", collapse, STAGES, "perhaps not before a later instance", 0},
    {"no wait for readers of operands", forget_acknowledge, BLOCKS, "after its completion", 0},
    {"told before operands are read", tell_before_reading, BLOCKS, "after its completion", 0},
    {"nothing wrong with it", nothing, GATHER, NULL, 0},
    {.what = NULL},
};
