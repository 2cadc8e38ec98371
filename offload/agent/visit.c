/* The agent's visits to served plans; the contract is in agent/agent.h. */
#include "offload/agent/claim.h"

#define YOUNG UINT64_C(10000000) /* ns, until an agent without a core serves an instance */

/* True if something moved. The position is that of a plan between calls, not of the slot's former
 * one: a new instance counts as a move. */
static int visit_claimed(struct pcoll_agent *agent, struct pcoll_slots *slots,
                         struct pcoll_slot *slot)
{
    const enum pcoll_served_phase phase = pcoll_slot_phase(slot);
    const struct pcoll_medium *medium;
    enum pcoll_result result;
    uint64_t position;

    if (slot->bound == NULL || phase == PCOLL_SERVED_ENDED)
        return 0;
    medium = slot->bound->medium;
    if (phase == PCOLL_SERVED_POSTED)
        pcoll_agent_count(&agent->begun);
    result = pcoll_slot_advance(slots, slot, medium, 0);
    if (result != PCOLL_PENDING) {
        pcoll_agent_count(&agent->ended);
        return 1;
    }
    position = medium->position(slot->bound);
    if (phase == PCOLL_SERVED_RUNNING && position == slot->position)
        return 0;
    slot->position = position;
    return 1;
}

/* Without a core of its own, the agent copies on the core of a rank that computes. Within a node
 * that gains nothing for the rank: what it leaves is copied as fast by ranks that wait. So it
 * leaves an instance to them, unless that has been waiting for long. */
static int is_young(const struct pcoll_agent *agent, const struct pcoll_slots *slots,
                    struct pcoll_slot *slot)
{
    if (agent->options.has_core || slots->shared != NULL)
        return 0;
    if (slot->since == 0)
        slot->since = pcoll_now();
    return pcoll_now() - slot->since < YOUNG;
}

static enum pcoll_visit visit_slot(struct pcoll_agent *agent, struct pcoll_slots *slots,
                                   struct pcoll_slot *slot)
{
    struct pcoll_claim *claim = pcoll_claim_of(slots, slot);
    enum pcoll_visit visit = PCOLL_VISIT_YOUNG;

    if (!pcoll_claim_try(claim, PCOLL_HELD_BY_AGENT))
        return PCOLL_VISIT_IDLE;
    if (!is_young(agent, slots, slot))
        visit = visit_claimed(agent, slots, slot) ? PCOLL_VISIT_MOVED : PCOLL_VISIT_IDLE;
    pcoll_claim_release(claim);
    return visit;
}

enum pcoll_visit pcoll_agent_visit(struct pcoll_agent *agent)
{
    struct pcoll_slots *slots = atomic_load_explicit(&agent->first, memory_order_acquire);
    enum pcoll_visit visit = PCOLL_VISIT_NONE;

    for (; slots != NULL; slots = atomic_load_explicit(&slots->next, memory_order_acquire)) {
        uint64_t bits = atomic_load_explicit(&slots->active, memory_order_seq_cst);

        for (; bits != 0; bits &= bits - 1) {
            const enum pcoll_visit one =
                visit_slot(agent, slots, &slots->slots[__builtin_ctzll(bits)]);

            if (one > visit)
                visit = one;
        }
    }
    return visit;
}

int pcoll_agent_serves_network(const struct pcoll_agent *agent)
{
    const struct pcoll_slots *slots = atomic_load_explicit(&agent->first, memory_order_acquire);

    while (slots != NULL && slots->shared == NULL)
        slots = atomic_load_explicit(&slots->next, memory_order_acquire);
    return slots != NULL;
}
