/* Why mutants are right all the same; the contract is in mutant.h. */
#include "test/unit/mutant.h"

#include <string.h>

#include "test/unit/excuse.h"

const char *const mutant_kind_names[MUTANT_NUM_KINDS] = {"entry dropped", "threshold lowered",
                                                         "second bank removed", "order withdrawn"};

/* True if that counter triggers another entry of this kind with the same peer, on another rail or
 * on the same. */
static int has_twin(const struct mutant *m, int on_other_rail)
{
    const struct pcoll_plan *plan = m->job->plans[m->rank];
    const struct pcoll_entry *entry = mutant_entry(m);

    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *other = &plan->entries[i];

        if (other->op == entry->op && other->trigger == entry->trigger &&
            other->peer == entry->peer && other != entry &&
            (other->rail != entry->rail) == on_other_rail)
            return 1;
    }
    return 0;
}

/* Algorithms for unequal blocks that do not know edges (direct and direct_get do) are those for
 * equal ones. */
static enum pcoll_coll coll_of(const struct mutant *m)
{
    const enum pcoll_coll coll = m->job->signature.coll;

    if (coll == PCOLL_ALLGATHERV && strncmp(m->job->algorithm->name, "direct", 6) != 0)
        return PCOLL_ALLGATHER;
    return coll;
}

/* The conditions of excuses that hold for the mutant. */
static unsigned facts_of(const struct mutant *m)
{
    const struct pcoll_plan *plan = m->job->plans[0];
    const struct pcoll_params *params = &m->job->params;
    unsigned facts = 0;

    facts |= params->segment ? EXCUSE_CUT : 0;
    facts |= params->segment || params->slots == 2 ? EXCUSE_GATED : 0;
    facts |= params->slots > 2 && m->job->algorithm->uses_slots == PCOLL_BANKS ? EXCUSE_BANKS : 0;
    facts |= m->job->lowered ? EXCUSE_LOWERED : 0;
    facts |= plan->ordered && plan->nphases == 1 ? EXCUSE_PIPELINED : 0;
    facts |= pcoll_block_bytes(&plan->signature, m->rank) == 0 ? EXCUSE_IDLE : 0;
    facts |= plan->signature.blocks ? EXCUSE_UNEQUAL : 0;
    facts |= has_twin(m, 1) ? EXCUSE_LANES : 0;
    facts |= pcoll_coll_has(coll_of(m), PCOLL_EDGES) && has_twin(m, 0) ? EXCUSE_EDGES : 0;
    return facts;
}

static int excuses(const struct excuse *e, const struct mutant *m, unsigned facts)
{
    const struct pcoll_plan *plan = m->job->plans[0];

    return e->kind == m->kind && (e->coll == PCOLL_NONE || e->coll == (int)coll_of(m)) &&
           (!e->algorithm || strcmp(e->algorithm, plan->algorithm) == 0) &&
           (!e->ops || e->ops >> mutant_entry(m)->op & 1) &&
           (!e->paths || e->paths >> m->job->params.path & 1) && (e->conditions & ~facts) == 0 &&
           (!e->max_ranks || plan->signature.nranks <= e->max_ranks) &&
           (!e->threshold || e->threshold == mutant_entry(m)->threshold);
}

int mutant_excuse(const struct mutant *m)
{
    const unsigned facts = facts_of(m);
    const struct excuse *e;

    for (int i = 0; (e = excuse_number(i)) != NULL; i++)
        if (excuses(e, m, facts))
            return i;
    return -1;
}

const char *mutant_excuse_text(int excuse)
{
    return excuse_number(excuse)->reason;
}

enum mutant_kind mutant_excuse_kind(int excuse)
{
    return excuse_number(excuse)->kind;
}
