/* Served plans: what the owner calls in place of a medium's functions, and the agent's visits. The
 * contract is in agent/agent.h. */
#include <stdbool.h>
#include <stdlib.h>

#include "offload/agent/claim.h"
#include "offload/reduce/operator.h"
#include "offload/run/line.h"
#include "offload/yield.h"

struct served {
    struct pcoll_bound base;
    struct pcoll_medium medium; /* of `base`: the plan's, with the functions below */
    const struct pcoll_medium *own;
    struct pcoll_agent *agent;
    struct pcoll_served_table *table;
    struct pcoll_served_row *row;
    uint64_t bit; /* of the row */
    bool is_long;
    uint32_t laps;  /* of the agent, at the last progress */
    unsigned looks; /* since they changed */
};

/* So often the owner finds the agent in the same lap before it progresses the plan itself. */
#define LOOKS 16

#define YOUNG UINT64_C(10000000) /* ns, until an agent without a core serves an instance */

#define REST_USEC 50 /* nothing wakes an owner that sleeps */

static struct served *served_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct served, base);
}

/* ---- the network's claim ---- */

bool pcoll_agent_try_hold(struct pcoll_agent *agent)
{
    return !pcoll_agent_is_gone(agent) && pcoll_claim_try_own(&agent->network);
}

void pcoll_agent_hold(struct pcoll_agent *agent)
{
    if (!pcoll_agent_is_gone(agent))
        pcoll_claim_own(&agent->network);
}

void pcoll_agent_release(struct pcoll_agent *agent)
{
    if (!pcoll_agent_is_gone(agent))
        pcoll_claim_disown(&agent->network);
}

/* ---- instances; all under the claim ---- */

static enum pcoll_served_phase phase_of(const struct pcoll_served_row *row)
{
    return (enum pcoll_served_phase)atomic_load_explicit(&row->phase, memory_order_seq_cst);
}

static void set_phase(struct pcoll_served_row *row, enum pcoll_served_phase phase)
{
    atomic_store_explicit(&row->phase, (uint32_t)phase, memory_order_release);
}

/* The bit goes first: once the phase says so, the owner may start again. */
static enum pcoll_result judge(struct pcoll_served_table *table, struct pcoll_served_row *row,
                               enum pcoll_result result)
{
    if (result == PCOLL_PENDING) {
        set_phase(row, PCOLL_SERVED_RUNNING);
        return result;
    }
    row->result = result;
    atomic_fetch_and_explicit(&table->active, ~(UINT64_C(1) << (row - table->rows)),
                              memory_order_relaxed);
    set_phase(row, PCOLL_SERVED_ENDED);
    return result;
}

/* With the claim: begin what is posted; otherwise poll `spins` times, or progress if that is 0. */
static enum pcoll_result advance(struct pcoll_served_table *table, struct pcoll_served_row *row,
                                 const struct pcoll_medium *medium, unsigned spins)
{
    switch (phase_of(row)) {
        case PCOLL_SERVED_POSTED:
            return judge(table, row, medium->start(row->bound));
        case PCOLL_SERVED_RUNNING:
            return judge(table, row,
                         spins > 0 ? medium->spin(row->bound, spins)
                                   : medium->progress(row->bound));
        default:
            return row->result;
    }
}

/* ---- the owner ---- */

static void activate(const struct served *served)
{
    atomic_fetch_or_explicit(&served->table->active, served->bit, memory_order_seq_cst);
}

/* The owner begins the instance, unless the agent has. */
static enum pcoll_result begin(struct served *served)
{
    struct pcoll_claim *claim = pcoll_claim_of(served->table, served->row);
    enum pcoll_result result;

    pcoll_claim_own(claim);
    result = advance(served->table, served->row, served->own, 0);
    pcoll_claim_disown(claim);
    return result;
}

/* Between instances nobody else changes the phase. A plan becomes active last, so the agent sees
 * what the owner has begun; one that has been completed meanwhile is not active any more. */
static enum pcoll_result begin_alone(struct served *served)
{
    struct pcoll_claim *claim = pcoll_claim_of(served->table, served->row);
    enum pcoll_result result;

    pcoll_claim_own(claim);
    served->row->since = 0;
    set_phase(served->row, PCOLL_SERVED_POSTED);
    result = advance(served->table, served->row, served->own, 0);
    if (result == PCOLL_PENDING && served->is_long)
        activate(served);
    pcoll_claim_disown(claim);
    if (result == PCOLL_PENDING && served->is_long)
        pcoll_bell_ring(served->agent->bell);
    return result;
}

/* The plan becomes active before it is posted, as the agent deactivates it when it has ended it. */
static enum pcoll_result served_start(struct pcoll_bound *base)
{
    struct served *served = served_of(base);

    if (pcoll_agent_is_gone(served->agent))
        return PCOLL_ERR_SYSTEM;
    if (!served->is_long || !served->agent->options.has_core)
        return begin_alone(served);
    activate(served);
    atomic_store_explicit(&served->row->phase, PCOLL_SERVED_POSTED, memory_order_seq_cst);
    return pcoll_bell_ring(served->agent->bell) ? PCOLL_PENDING : begin(served);
}

/* The owner polls `spins` times, or progresses if that is 0. */
static enum pcoll_result poll(struct served *served, unsigned spins)
{
    struct pcoll_claim *claim = pcoll_claim_of(served->table, served->row);
    enum pcoll_result result;

    if (pcoll_agent_is_gone(served->agent))
        return PCOLL_ERR_SYSTEM;
    for (unsigned left = spins;; left--) {
        if (phase_of(served->row) == PCOLL_SERVED_ENDED)
            return served->row->result;
        if (pcoll_claim_try_own(claim))
            break;
        if (left == 0)
            return PCOLL_PENDING;
        pcoll_relax();
    }
    result = advance(served->table, served->row, served->own, spins);
    pcoll_claim_disown(claim);
    return result;
}

/* Returns whether the agent has a core, is at work, and nobody keeps it away. An application that
 * tests now and then must not do that work: what its computation costs must not depend on how often
 * it tests. */
static bool is_in_good_hands(struct served *served)
{
    const struct pcoll_agent *agent = served->agent;
    uint32_t laps;

    if (!served->is_long || !agent->options.has_core ||
        pcoll_claim_of(served->table, served->row)->depth > 0 ||
        atomic_load_explicit(&agent->bell->sleep, memory_order_relaxed) == PCOLL_RETIRED)
        return false;
    laps = atomic_load_explicit(&agent->bell->laps, memory_order_relaxed);
    if (laps != served->laps)
        served->looks = 0;
    served->laps = laps;
    return served->looks++ < LOOKS;
}

static enum pcoll_result served_progress(struct pcoll_bound *base)
{
    struct served *served = served_of(base);

    if (phase_of(served->row) != PCOLL_SERVED_ENDED && is_in_good_hands(served) &&
        !pcoll_agent_is_gone(served->agent))
        return PCOLL_PENDING;
    return poll(served, 0);
}

static enum pcoll_result served_spin(struct pcoll_bound *base, unsigned spins)
{
    return poll(served_of(base), spins);
}

/* Not the medium's: the agent could not get the claim meanwhile. */
static void served_rest(struct pcoll_bound *base, unsigned usec)
{
    (void)base;
    pcoll_rest_usec(usec < REST_USEC ? usec : REST_USEC);
}

static uint64_t served_position(const struct pcoll_bound *base)
{
    (void)base;
    return 0;
}

/* ---- lifetime ---- */

static struct pcoll_served_table *new_table(struct pcoll_agent *agent, struct pcoll_claim *shared)
{
    struct pcoll_served_table *table = NULL, *last;
    void *memory = NULL;

    if (posix_memalign(&memory, sizeof(struct pcoll_served_row), sizeof(*table)) != 0)
        return NULL;
    table = memory;
    *table = (struct pcoll_served_table){.shared = shared};
    last = atomic_load_explicit(&agent->first, memory_order_relaxed);
    while (last != NULL && atomic_load_explicit(&last->next, memory_order_relaxed) != NULL)
        last = atomic_load_explicit(&last->next, memory_order_relaxed);
    atomic_store_explicit(last ? &last->next : &agent->first, table, memory_order_release);
    return table;
}

/* Returns false if there is no memory. */
static bool take_row(struct served *served)
{
    struct pcoll_agent *agent = served->agent;
    const bool is_network = (served->own->traits & PCOLL_SPANS_NODES) != 0;
    struct pcoll_claim *shared = is_network ? &agent->network : NULL;
    struct pcoll_served_table *table = atomic_load_explicit(&agent->first, memory_order_relaxed);
    int i;

    while (table != NULL && (table->shared != shared || table->used == UINT64_MAX))
        table = atomic_load_explicit(&table->next, memory_order_relaxed);
    if (table == NULL)
        table = new_table(agent, shared);
    if (table == NULL)
        return false;
    i = __builtin_ctzll(~table->used);
    served->table = table;
    served->row = &table->rows[i];
    served->bit = UINT64_C(1) << i;
    table->used |= served->bit;
    return true;
}

/* The agent may be looking at the row. */
static void set_bound(struct served *served, struct pcoll_bound *bound)
{
    struct pcoll_claim *claim = pcoll_claim_of(served->table, served->row);

    pcoll_claim_own(claim);
    served->row->bound = bound;
    pcoll_claim_disown(claim);
}

static void served_unbind(struct pcoll_bound *base)
{
    struct served *served = base ? served_of(base) : NULL;
    struct pcoll_agent *agent;
    struct pcoll_bound *bound;

    if (served == NULL || pcoll_agent_is_gone(served->agent))
        return;
    agent = served->agent;
    bound = served->row->bound;
    set_bound(served, NULL);
    served->table->used &= ~served->bit;
    if (served->table->shared != NULL)
        pcoll_claim_own(served->table->shared);
    served->own->unbind(bound);
    if (served->table->shared != NULL)
        pcoll_claim_disown(served->table->shared);
    free(served);
    pcoll_agent_put(agent);
}

bool pcoll_agent_can_serve(const struct pcoll_medium *medium, const struct pcoll_memory *memory)
{
    return (medium->traits & PCOLL_LENDS) && (memory->op == NULL || memory->op->kernel != NULL) &&
           memory->send_layout == NULL && memory->recv_layout == NULL;
}

enum pcoll_result pcoll_agent_serve(struct pcoll_agent *agent, struct pcoll_bound *bound,
                                    bool is_long, struct pcoll_bound **served_p)
{
    struct served *served = calloc(1, sizeof(*served));

    if (served == NULL)
        return PCOLL_ERR_NOMEM;
    served->agent = agent;
    served->own = bound->medium;
    served->is_long = is_long;
    if (!take_row(served)) {
        free(served);
        return PCOLL_ERR_NOMEM;
    }
    set_bound(served, bound);
    served->medium = *bound->medium;
    served->medium.start = served_start;
    served->medium.progress = served_progress;
    served->medium.spin = served_spin;
    served->medium.rest = served_rest;
    served->medium.position = served_position;
    served->medium.unbind = served_unbind;
    served->base.medium = &served->medium;
    agent->refs++;
    *served_p = &served->base;
    return PCOLL_OK;
}

/* ---- the agent's visits ---- */

/* Returns whether something moved. The position is that of a plan between calls, not of the row's
 * former one: a new instance counts as a move. */
static bool visit_claimed(struct pcoll_agent *agent, struct pcoll_served_table *table,
                          struct pcoll_served_row *row)
{
    const enum pcoll_served_phase phase = phase_of(row);
    const struct pcoll_medium *medium;
    enum pcoll_result result;
    uint64_t position;

    if (row->bound == NULL || phase == PCOLL_SERVED_ENDED)
        return false;
    medium = row->bound->medium;
    if (phase == PCOLL_SERVED_POSTED)
        pcoll_agent_count(&agent->begun);
    result = advance(table, row, medium, 0);
    if (result != PCOLL_PENDING) {
        pcoll_agent_count(&agent->ended);
        return true;
    }
    position = medium->position(row->bound);
    if (phase == PCOLL_SERVED_RUNNING && position == row->position)
        return false;
    row->position = position;
    return true;
}

/* Without a core of its own, the agent copies on the core of a rank that computes. Within a node
 * that gains nothing for the rank: waiting ranks copy as fast what the agent leaves. So it leaves
 * an instance to them, unless that has been waiting for long. */
static bool is_young(const struct pcoll_agent *agent, const struct pcoll_served_table *table,
                     struct pcoll_served_row *row)
{
    if (agent->options.has_core || table->shared != NULL)
        return false;
    if (row->since == 0)
        row->since = pcoll_now();
    return pcoll_now() - row->since < YOUNG;
}

static enum pcoll_visit visit_row(struct pcoll_agent *agent, struct pcoll_served_table *table,
                                  struct pcoll_served_row *row)
{
    struct pcoll_claim *claim = pcoll_claim_of(table, row);
    enum pcoll_visit visit = PCOLL_VISIT_YOUNG;

    if (!pcoll_claim_try(claim, PCOLL_HELD_BY_AGENT))
        return PCOLL_VISIT_IDLE;
    if (!is_young(agent, table, row))
        visit = visit_claimed(agent, table, row) ? PCOLL_VISIT_MOVED : PCOLL_VISIT_IDLE;
    pcoll_claim_release(claim);
    return visit;
}

enum pcoll_visit pcoll_agent_visit(struct pcoll_agent *agent)
{
    struct pcoll_served_table *table = atomic_load_explicit(&agent->first, memory_order_acquire);
    enum pcoll_visit visit = PCOLL_VISIT_NONE;

    for (; table != NULL; table = atomic_load_explicit(&table->next, memory_order_acquire)) {
        uint64_t bits = atomic_load_explicit(&table->active, memory_order_seq_cst);

        for (; bits != 0; bits &= bits - 1) {
            const enum pcoll_visit one =
                visit_row(agent, table, &table->rows[__builtin_ctzll(bits)]);

            if (one > visit)
                visit = one;
        }
    }
    return visit;
}

bool pcoll_agent_serves_network(const struct pcoll_agent *agent)
{
    const struct pcoll_served_table *table =
        atomic_load_explicit(&agent->first, memory_order_acquire);

    while (table != NULL && table->shared == NULL)
        table = atomic_load_explicit(&table->next, memory_order_acquire);
    return table != NULL;
}
