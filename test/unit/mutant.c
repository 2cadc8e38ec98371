/* Why mutants are right all the same; the contract is in mutant.h. */
#include "test/unit/mutant.h"

#include <assert.h>
#include <string.h>

const char *const mutant_kind_names[MUTANT_NUM_KINDS] = {"entry dropped", "threshold lowered",
                                                         "second bank removed", "order withdrawn"};

/* Why a plan is still right without what was removed. Fields that are 0 match everything. */
struct excuse {
    enum mutant_kind kind;
    enum pcoll_coll coll;
    const char *algorithm;
    unsigned paths; /* bits; 0: all */
    unsigned ops;   /* bits */
    int most_ranks;
    int cut;   /* the message is cut into segments */
    int gated; /* each slot of the ring is waited for separately: the message is cut, or the ring
                * has two slots */
    int lowered;
    int pipelined;      /* ordered, with all instances on the same counters */
    int idle;           /* the rank's block is empty */
    int unequal;        /* blocks differ, and some are empty */
    int lanes;          /* that counter triggers several lanes to the peer */
    int edges;          /* of any collective with edges: several of them lead to the peer */
    uint64_t threshold; /* of the entry */
    const char *reason;
};

#define BIT(x) (1u << (x))

static const struct excuse excuses[] = {
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_BARRIER,
     .reason =
         "a rank that signals for the next barrier has completed this one, so all have started it"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_ALLGATHER,
     .paths = BIT(PCOLL_PATH_USER),
     .most_ranks = 3,
     .reason = "with one partner a round, its next 'ready' says that it has all of this instance"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_BCAST,
     .gated = 1,
     .reason = "with a gate at every slot, a ring of the slots of one instance is enough"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_BARRIER,
     .algorithm = "dissemination",
     .ops = BIT(PCOLL_OP_ADD),
     .reason = "N is not a power of the radix: messages of two rounds tell of the same rank"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_BCAST,
     .algorithm = "eager",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the own copy does not need the children's credit"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_BCAST,
     .algorithm = "eager",
     .ops = BIT(PCOLL_OP_ADD),
     .reason = "puts that are done have passed the gate"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_BCAST,
     .ops = BIT(PCOLL_OP_PUT),
     .pipelined = 1,
     .lanes = 1,
     .reason = "a child is ready for all its lanes at once: without one 'ready' there is another"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_BCAST,
     .ops = BIT(PCOLL_OP_GET),
     .cut = 1,
     .pipelined = 1,
     .reason =
         "all reads weigh less than one announcement, and the last is not done before itself"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_BCAST,
     .algorithm = "scatter_ring",
     .ops = BIT(PCOLL_OP_PUT),
     .reason = "v is odd: what its parent, v - 1, scatters comes before what it passes on"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLGATHER,
     .paths = BIT(PCOLL_PATH_USER),
     .ops = BIT(PCOLL_OP_GET) | BIT(PCOLL_OP_PUT),
     .reason =
         "the peer's later message, or its block when it arrives, also says that it is ready"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "butterfly",
     .paths = BIT(PCOLL_PATH_TEMP),
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the copied blocks have arrived in the other rounds"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "bruck",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the copied blocks have arrived in the rounds before the last"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "bruck",
     .ops = BIT(PCOLL_OP_PUT),
     .most_ranks = 3,
     .reason = "N is not a power of two: the last round sends blocks that were there before"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "bruck",
     .ops = BIT(PCOLL_OP_ADD),
     .unequal = 1,
     .reason = "blocks that are all empty only tell that their ranks have started"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "direct",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the copy of the rank's own block waits only to let the messages go first"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "ring",
     .ops = BIT(PCOLL_OP_COPY),
     .reason =
         "the copy of the rank's own block waits only to have its data in the cache for the put"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_BARRIER,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "what the gate waits for, others wait for before the instance can complete"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLGATHER,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "what the gate waits for, others wait for before the instance can complete"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_BCAST,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "the last add by that counter waits for all that this one does"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_GATHER,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "what follows the gate waits for what the gate waits for, or for a later credit"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_SCATTER,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "what follows the gate waits for what the gate waits for, or for a later credit"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLTOALL,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "what the gate waits for, others wait for before the instance can complete"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_ALLGATHER,
     .paths = BIT(PCOLL_PATH_USER),
     .lowered = 1,
     .reason = "signals of different rounds, and so of different ranks, have their own counters"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_GATHER,
     .gated = 1,
     .reason = "with a gate at every slot, a ring of the slots of one instance is enough"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_GATHER,
     .algorithm = "knomial",
     .ops = BIT(PCOLL_OP_ADD),
     .reason = "a put that is done has passed the gate"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_SCATTER,
     .gated = 1,
     .reason = "with a gate at every slot, a ring of the slots of one instance is enough"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_SCATTER,
     .algorithm = "knomial",
     .ops = BIT(PCOLL_OP_ADD),
     .reason = "puts that are done have passed the gate"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_SCATTER,
     .algorithm = "knomial",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the own copy does not need the children's credit"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_SCATTER,
     .algorithm = "direct_put",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the copy of the root's own block waits only to let the messages go first"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLTOALL,
     .paths = BIT(PCOLL_PATH_USER),
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the copy of the rank's own block waits only to let the messages go first"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLTOALL,
     .algorithm = "bruck",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the tank is never one below a round's level; what follows packing lets messages go "
               "first"},
    {.kind = MUTANT_LOWER,
     .edges = 1,
     .paths = BIT(PCOLL_PATH_USER),
     .ops = BIT(PCOLL_OP_PUT),
     .reason = "the peer is ready for all its edges at once: without one 'ready' there is another"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "ring",
     .ops = BIT(PCOLL_OP_ADD) | BIT(PCOLL_OP_WAIT),
     .unequal = 1,
     .reason = "an empty block only tells that a rank has started, which others tell, too"},
    {.kind = MUTANT_DROP,
     .coll = PCOLL_ALLGATHER,
     .algorithm = "ring",
     .ops = BIT(PCOLL_OP_WAIT),
     .unequal = 1,
     .reason = "an empty block only tells that a rank has started, which others tell, too"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_ALLGATHERV,
     .algorithm = "direct",
     .paths = BIT(PCOLL_PATH_TEMP),
     .most_ranks = 2,
     .reason = "one block is empty: no edge is answered, and with credit a single slot is enough"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_GATHERV,
     .reason = "no edge is answered, and with credit a single slot is enough"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_SCATTERV,
     .reason = "no edge is answered, and with credit a single slot is enough"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "sliced",
     .paths = BIT(PCOLL_PATH_TEMP),
     .reason = "a part of the next instance says that its sender has the results of all ranks"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "sliced",
     .lowered = 1,
     .reason = "parts and results have their own counters"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "halving",
     .ops = BIT(PCOLL_OP_PUT) | BIT(PCOLL_OP_REDUCE),
     .reason = "one less takes all parts of the result, of which one needs what this rank gives"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "halving",
     .lowered = 1,
     .reason = "parts and results of each round have their own counters"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "multi_leader",
     .ops = BIT(PCOLL_OP_PUT),
     .most_ranks = 4,
     .reason = "to a rank to whom none is folded nothing comes in the first round"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "multi_leader_halving",
     .ops = BIT(PCOLL_OP_PUT) | BIT(PCOLL_OP_REDUCE),
     .reason = "one less takes all parts of the result, of which one needs what this rank gives"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "multi_leader_halving",
     .ops = BIT(PCOLL_OP_ADD) | BIT(PCOLL_OP_COPY),
     .cut = 1,
     .reason = "of two passes, the next with these counters belongs to the next instance"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "multi_leader_halving",
     .lowered = 1,
     .reason = "parts and results of each round have their own counters"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "multi_leader_sliced",
     .ops = BIT(PCOLL_OP_PUT) | BIT(PCOLL_OP_REDUCE),
     .reason = "one less takes the results of all other leaders, which need this one's share"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "multi_leader_sliced",
     .ops = BIT(PCOLL_OP_ADD) | BIT(PCOLL_OP_COPY),
     .cut = 1,
     .reason = "of two passes, the next with these counters belongs to the next instance"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "multi_leader_sliced",
     .lowered = 1,
     .reason = "shares and results have their own counters"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLREDUCE,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "the last add by that counter waits for all that this one does"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_REDUCE_SCATTER,
     .ops = BIT(PCOLL_OP_PUT) | BIT(PCOLL_OP_REDUCE),
     .cut = 1,
     .idle = 1,
     .reason = "the rank has nothing to reduce, and puts more when it has all parts in any case"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "ring",
     .ops = BIT(PCOLL_OP_ADD) | BIT(PCOLL_OP_PUT),
     .reason = "few ranks: what has arrived, or an earlier put, has waited for the same credit"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "ring",
     .ops = BIT(PCOLL_OP_COPY) | BIT(PCOLL_OP_REDUCE),
     .reason = "the copy waits for the gate only to let the put go first; few gates come early"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_ALLREDUCE,
     .algorithm = "two_tree",
     .ops = BIT(PCOLL_OP_PUT),
     .threshold = 1,
     .reason = "that the segment before has left matters to the time only"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_REDUCE,
     .algorithm = "sliced",
     .paths = BIT(PCOLL_PATH_TEMP),
     .reason = "a part of the next instance says that its sender has been told by all ranks"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_REDUCE,
     .algorithm = "sliced",
     .lowered = 1,
     .reason = "parts and results have their own counters"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_REDUCE,
     .algorithm = "multi_leader_sliced",
     .ops = BIT(PCOLL_OP_PUT) | BIT(PCOLL_OP_REDUCE),
     .reason = "one less takes the results of all other leaders, which need this one's share"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_REDUCE,
     .algorithm = "multi_leader_sliced",
     .ops = BIT(PCOLL_OP_ADD),
     .reason = "who receives nothing needs to know only that its parts have been reduced"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_REDUCE,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "the last add by that counter waits for all that this one does"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_REDUCE,
     .gated = 1,
     .reason = "with a gate at every slot, a ring of the slots of one instance is enough"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_REDUCE,
     .algorithm = "knomial",
     .ops = BIT(PCOLL_OP_ADD),
     .reason = "a put that is done has passed the gate"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_REDUCE,
     .algorithm = "chain",
     .ops = BIT(PCOLL_OP_ADD),
     .reason = "a put that is done has passed the gate"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_REDUCE,
     .algorithm = "two_tree",
     .ops = BIT(PCOLL_OP_ADD),
     .reason = "a put that is done has passed the gate"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_REDUCE,
     .algorithm = "two_tree",
     .ops = BIT(PCOLL_OP_PUT),
     .most_ranks = 4,
     .threshold = 5,
     .reason =
         "the child has from the parent, in the other tree, that it has begun the instance after"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_REDUCE,
     .algorithm = "direct",
     .ops = BIT(PCOLL_OP_ADD),
     .reason = "a put that is done has passed the gate"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_SCAN,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "the last add by that counter waits for all that this one does"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_SCAN,
     .algorithm = "doubling",
     .ops = BIT(PCOLL_OP_PUT),
     .reason = "what has arrived from below has waited for the credit of the same rank above"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_SCAN,
     .algorithm = "columns",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "a rank's own prefix is made before the one that follows"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_SCAN,
     .algorithm = "columns",
     .reason = "a part of the next instance says that its sender has got all its prefixes"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_SCAN,
     .algorithm = "direct",
     .cut = 1,
     .reason = "with a gate at every slot, a ring of the slots of one instance is enough"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_SCAN,
     .algorithm = "direct",
     .ops = BIT(PCOLL_OP_ADD),
     .cut = 1,
     .reason =
         "the slots of the half's earlier instance are free when that has completed; who fills "
         "the later ones again has data of rank 0, which waited for its own credit"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_SCAN,
     .algorithm = "direct",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the copy of the rank's own vector waits only to let the messages go first"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_SCAN,
     .algorithm = "direct",
     .ops = BIT(PCOLL_OP_PUT),
     .reason =
         "a rank that returns a half has received from those below it, which so have passed it"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_EXSCAN,
     .ops = BIT(PCOLL_OP_ADD),
     .lowered = 1,
     .reason = "the last add by that counter waits for all that this one does"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_EXSCAN,
     .algorithm = "doubling",
     .ops = BIT(PCOLL_OP_PUT),
     .reason = "what has arrived from below has waited for the credit of the same rank above"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_EXSCAN,
     .algorithm = "doubling",
     .ops = BIT(PCOLL_OP_COPY),
     .lowered = 1,
     .reason = "the copy of what has arrived waits only to let the message go first"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_EXSCAN,
     .algorithm = "columns",
     .ops = BIT(PCOLL_OP_COPY),
     .reason = "the first prefix is the rank's own part; others are made before those that follow"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_EXSCAN,
     .algorithm = "columns",
     .reason = "a part of the next instance says that its sender has got all its prefixes"},
    {.kind = MUTANT_COLLAPSE,
     .coll = PCOLL_EXSCAN,
     .algorithm = "direct",
     .cut = 1,
     .reason = "with a gate at every slot, a ring of the slots of one instance is enough"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_EXSCAN,
     .algorithm = "direct",
     .ops = BIT(PCOLL_OP_ADD),
     .cut = 1,
     .reason =
         "the slots of the half's earlier instance are free when that has completed; who fills "
         "the later ones again has data of rank 0, which waited for its own credit"},
    {.kind = MUTANT_LOWER,
     .coll = PCOLL_EXSCAN,
     .algorithm = "direct",
     .ops = BIT(PCOLL_OP_PUT),
     .reason =
         "a rank that returns a half has received from those below it, which so have passed it"},
};

enum { NEXCUSES = sizeof(excuses) / sizeof(excuses[0]) };

/* True if that counter triggers another put to the same peer, on another rail or on the same. */
static int has_twin(const struct mutant *m, int on_other_rail)
{
    const struct pcoll_plan *plan = m->job->plans[m->rank];
    const struct pcoll_entry *entry = mutant_entry(m);

    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *other = &plan->entries[i];

        if (other->op == PCOLL_OP_PUT && other->trigger == entry->trigger &&
            other->peer == entry->peer && other != entry &&
            (other->rail != entry->rail) == on_other_rail)
            return 1;
    }
    return 0;
}

/* Algorithms for unequal blocks that do not know edges are those for equal ones. */
static enum pcoll_coll coll_of(const struct mutant *m)
{
    const enum pcoll_coll coll = m->job->signature.coll;

    if (coll == PCOLL_ALLGATHERV && strcmp(m->job->algorithm->name, "direct") != 0)
        return PCOLL_ALLGATHER;
    return coll;
}

static int is_of(const struct excuse *e, const struct mutant *m)
{
    const enum pcoll_coll coll = coll_of(m);

    return e->edges ? pcoll_coll_has(coll, PCOLL_EDGES) && has_twin(m, 0) : e->coll == coll;
}

int mutant_excuse(const struct mutant *m)
{
    const struct pcoll_plan *plan = m->job->plans[0];

    static_assert(NEXCUSES <= (int)MUTANT_MOST_EXCUSES, "more excuses than mutant.h says");
    for (int i = 0; i < NEXCUSES; i++) {
        const struct excuse *e = &excuses[i];

        if (e->kind == m->kind && is_of(e, m) &&
            (!e->algorithm || strcmp(e->algorithm, plan->algorithm) == 0) &&
            (!e->paths || e->paths >> m->job->params.path & 1) &&
            (!e->ops || e->ops >> mutant_entry(m)->op & 1) && (!e->cut || m->job->params.segment) &&
            (!e->gated || m->job->params.segment || m->job->params.slots == 2) &&
            (!e->idle || pcoll_block_bytes(&plan->signature, m->rank) == 0) &&
            (!e->unequal || plan->signature.blocks) && (!e->lowered || m->job->lowered) &&
            (!e->lanes || has_twin(m, 1)) &&
            (!e->threshold || e->threshold == mutant_entry(m)->threshold) &&
            (!e->pipelined || (plan->ordered && plan->nphases == 1)) &&
            (!e->most_ranks || plan->signature.nranks <= e->most_ranks))
            return i;
    }
    return -1;
}

const char *mutant_excuse_text(int excuse)
{
    return excuses[excuse].reason;
}

enum mutant_kind mutant_excuse_kind(int excuse)
{
    return excuses[excuse].kind;
}
