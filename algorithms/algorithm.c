/* The table of algorithms; the contract is in algorithm.h. */
#include "algorithms/algorithm.h"

#include "algorithms/plan/topology.h"

#include <stdbool.h>
#include <string.h>

#define ROW(name) &pcoll_##name,
const struct pcoll_algorithm *const pcoll_algorithms[] = {PCOLL_ALGORITHMS(ROW) NULL};
#undef ROW

const struct pcoll_algorithm *pcoll_algorithm_find(enum pcoll_coll coll, const char *name)
{
    PCOLL_EACH_ALGORITHM (row)
        if (row->coll == coll &&
            (strcmp(row->name, name) == 0 || (row->alias && strcmp(row->alias, name) == 0)))
            return row;
    return NULL;
}

int pcoll_algorithm_number(const struct pcoll_algorithm *algorithm)
{
    int number = 0;

    while (pcoll_algorithms[number] != algorithm)
        number++;
    return number;
}

const struct pcoll_signature *pcoll_signature_of_teams(const struct pcoll_signature *signature,
                                                       int teams, struct pcoll_signature *room)
{
    const struct pcoll_topology *level = signature->levels;

    for (int i = 1; level != NULL && i < teams; i++)
        level = level->in_node ? level->below : NULL;
    *room = *signature;
    room->topology = level;
    return level != NULL ? room : NULL;
}

static enum pcoll_result check(const struct pcoll_algorithm *algorithm,
                               const struct pcoll_signature *signature,
                               const struct pcoll_local *local, int rank,
                               const struct pcoll_params *params)
{
    if (!pcoll_signature_is_valid(signature, local) || rank < 0 || rank >= signature->nranks ||
        signature->coll != algorithm->coll || params->radix < 0 || params->radix == 1 ||
        params->rails < 0 || params->teams < 0 || params->slots < 0 || params->slots == 1 ||
        (params->slots & (params->slots - 1)) != 0)
        return PCOLL_ERR_INVALID;
    if (algorithm->must_commute && !signature->commutes)
        return PCOLL_UNSUPPORTED;
    if (params->teams > 0 && !algorithm->uses_teams)
        return PCOLL_UNSUPPORTED;
    if (params->path != PCOLL_PATH_AUTO && !(algorithm->paths & 1u << params->path))
        return PCOLL_UNSUPPORTED;
    return PCOLL_OK;
}

/* For a group of one, or nothing to move: copies what a rank expects of itself, unless it is there
 * already. */
static enum pcoll_result generate_trivial(struct pcoll_plan *plan)
{
    const struct pcoll_signature *signature = &plan->signature;
    struct pcoll_piece piece;

    if (!pcoll_plan_begin(plan, 0, 1))
        return PCOLL_ERR_NOMEM;
    plan->lowered = true;
    pcoll_plan_open(plan, 0);
    for (int i = 0;
         signature->nranks == 1 && !pcoll_is_in_place(signature, plan->local, plan->rank) &&
         pcoll_expect(signature, &plan->local, plan->rank, i, &piece);
         i++)
        pcoll_plan_add(plan, pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, piece.from),
                                              pcoll_at(PCOLL_RECV, piece.first), piece.bytes));
    return PCOLL_OK;
}

/* Returns whether the plan of some rank may access user memory of another. */
static bool can_reach_users(const struct pcoll_algorithm *algorithm,
                            const struct pcoll_signature *signature,
                            const struct pcoll_params *params)
{
    return algorithm->paths & PCOLL_PATH_BIT_USER && params->path != PCOLL_PATH_TEMP &&
           !pcoll_is_trivial(signature);
}

enum pcoll_result pcoll_generate(const struct pcoll_algorithm *algorithm,
                                 const struct pcoll_signature *signature,
                                 const struct pcoll_local *local, int rank,
                                 const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    struct pcoll_params own = *params;
    struct pcoll_signature room;
    const struct pcoll_signature *view;
    struct pcoll_plan *plan;
    enum pcoll_result result = check(algorithm, signature, local, rank, params);

    if (result != PCOLL_OK)
        return result;
    view = pcoll_signature_view(signature, params->teams, &room);
    result = view ? pcoll_plan_create(view, local, rank, &plan) : PCOLL_UNSUPPORTED;
    if (result != PCOLL_OK)
        return result;
    if (!algorithm->uses_radix)
        own.radix = 0;
    plan->algorithm = algorithm->name;
    plan->user_rma = can_reach_users(algorithm, signature, params);
    result = pcoll_is_trivial(signature) ? generate_trivial(plan) : algorithm->generate(plan, &own);
    if (result == PCOLL_OK)
        result = pcoll_plan_seal(plan);
    if (result == PCOLL_OK)
        *plan_p = plan;
    else
        pcoll_plan_destroy(plan);
    return result;
}

uint64_t pcoll_no_temp(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    (void)signature;
    (void)params;
    return 0;
}
