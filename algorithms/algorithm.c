/* The table of algorithms; the contract is in algorithm.h. */
#include "algorithms/algorithm.h"

#include <string.h>

#include "algorithms/algorithm_files.h"
#include "algorithms/private.h"

#define USER (1u << PCOLL_PATH_USER)
#define TEMP (1u << PCOLL_PATH_TEMP)

/* name, collective, description, generate, cost, temp_bytes, paths, radix, segment, slots */
const struct pcoll_algorithm pcoll_algorithms[] = {
    {"butterfly", PCOLL_BARRIER, "weighted butterfly of node leaders", pcoll_barrier_butterfly,
     pcoll_barrier_butterfly_cost, pcoll_no_temp, TEMP, 0, 0, 0},
    {"dissemination", PCOLL_BARRIER, "weighted dissemination in base radix by node leaders",
     pcoll_barrier_dissemination, pcoll_barrier_dissemination_cost, pcoll_no_temp, TEMP, 1, 0, 0},

    {"eager", PCOLL_BCAST, "k-nomial tree through communication buffers, no rendezvous",
     pcoll_bcast_eager, pcoll_bcast_eager_cost, pcoll_bcast_eager_temp, TEMP, 1, 1, 1},
    {"shared", PCOLL_BCAST, "all read the root's communication buffers", pcoll_bcast_shared,
     pcoll_bcast_shared_cost, pcoll_bcast_shared_temp, TEMP, 0, 1, 1},
    {"binomial_get", PCOLL_BCAST, "binomial tree, children read from the user buffer",
     pcoll_bcast_knomial_get, pcoll_bcast_knomial_get_cost, pcoll_no_temp, USER, 0, 0, 0},
    {"binomial_put", PCOLL_BCAST, "binomial tree, parents write to the user buffer",
     pcoll_bcast_knomial_put, pcoll_bcast_knomial_put_cost, pcoll_no_temp, USER, 0, 0, 0},
    {"knomial_get", PCOLL_BCAST, "k-nomial tree, children read from the user buffer",
     pcoll_bcast_knomial_get, pcoll_bcast_knomial_get_cost, pcoll_no_temp, USER, 1, 0, 0},
    {"knomial_put", PCOLL_BCAST, "k-nomial tree, parents write to the user buffer",
     pcoll_bcast_knomial_put, pcoll_bcast_knomial_put_cost, pcoll_no_temp, USER, 1, 0, 0},
    {"chain", PCOLL_BCAST, "pipelined chain between user buffers", pcoll_bcast_chain,
     pcoll_bcast_chain_cost, pcoll_no_temp, USER, 0, 1, 0},
    {"binary", PCOLL_BCAST, "pipelined binary tree between user buffers", pcoll_bcast_kary,
     pcoll_bcast_kary_cost, pcoll_no_temp, USER, 0, 1, 0},
    {"kary", PCOLL_BCAST, "pipelined k-ary tree between user buffers", pcoll_bcast_kary,
     pcoll_bcast_kary_cost, pcoll_no_temp, USER, 1, 1, 0},
    {"two_tree", PCOLL_BCAST, "two pipelined binary trees, half the message in each",
     pcoll_bcast_two_tree, pcoll_bcast_two_tree_cost, pcoll_no_temp, USER, 0, 1, 0},
    {"trinaryx3", PCOLL_BCAST, "three pipelined ternary trees, a third of the message in each",
     pcoll_bcast_trinaryx3, pcoll_bcast_trinaryx3_cost, pcoll_no_temp, USER, 0, 1, 0},
    {"scatter_ring", PCOLL_BCAST, "parts scattered, then passed round a ring",
     pcoll_bcast_scatter_ring, pcoll_bcast_scatter_ring_cost, pcoll_no_temp, USER, 0, 0, 0},

    {"direct", PCOLL_ALLGATHER, "everybody reaches everybody", pcoll_allgather_direct,
     pcoll_allgather_direct_cost, pcoll_allgather_direct_temp, USER | TEMP, 0, 1, 0},
    {"butterfly", PCOLL_ALLGATHER, "recursive doubling on a weighted butterfly",
     pcoll_allgather_butterfly, pcoll_allgather_butterfly_cost, pcoll_allgather_butterfly_temp,
     USER | TEMP, 0, 0, 0},
    {"bruck", PCOLL_ALLGATHER, "Bruck, between node leaders", pcoll_allgather_bruck,
     pcoll_allgather_bruck_cost, pcoll_allgather_bruck_temp, TEMP, 0, 0, 0},
    {"ring", PCOLL_ALLGATHER, "blocks passed round a ring of node leaders", pcoll_allgather_ring,
     pcoll_allgather_ring_cost, pcoll_allgather_ring_temp, USER | TEMP, 0, 1, 0},
    {0}};

const struct pcoll_algorithm *pcoll_algorithm_find(enum pcoll_coll coll, const char *name)
{
    for (const struct pcoll_algorithm *row = pcoll_algorithms; row->name; row++)
        if (row->coll == coll && strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

static enum pcoll_result check(const struct pcoll_algorithm *algorithm,
                               const struct pcoll_signature *signature,
                               const struct pcoll_local *local, int rank,
                               const struct pcoll_params *params)
{
    if (!pcoll_signature_is_valid(signature, local) || rank < 0 || rank >= signature->nranks ||
        signature->coll != algorithm->coll || params->radix < 0 || params->radix == 1 ||
        params->rails < 0 || params->slots < 0 || params->slots == 1 ||
        (params->slots & (params->slots - 1)) != 0)
        return PCOLL_ERR_INVALID;
    if (params->path != PCOLL_PATH_AUTO && !(algorithm->paths & 1u << params->path))
        return PCOLL_UNSUPPORTED;
    return PCOLL_OK;
}

/* A group of one, or nothing to move: what a rank expects of itself, unless it is there already. */
static enum pcoll_result generate_trivial(const struct pcoll_algorithm *algorithm,
                                          const struct pcoll_signature *signature,
                                          const struct pcoll_local *local, int rank,
                                          struct pcoll_plan **plan_p)
{
    enum pcoll_result result = pcoll_plan_create(signature, rank, algorithm->name, 0, 1, plan_p);
    const struct pcoll_collective *row = pcoll_collective_of(signature);
    struct pcoll_piece piece;

    if (result != PCOLL_OK)
        return result;
    pcoll_plan_open(*plan_p, 0);
    for (int i = 0; signature->nranks == 1 && !pcoll_is_in_place(signature, local) &&
                    row->expect(signature, &local, rank, i, &piece);
         i++)
        pcoll_plan_add(*plan_p, pcoll_entry_copy(PCOLL_NONE, 0, pcoll_at(PCOLL_SEND, piece.from),
                                                 pcoll_at(PCOLL_RECV, piece.first), piece.bytes));
    return pcoll_plan_seal(plan_p);
}

enum pcoll_result pcoll_generate(const struct pcoll_algorithm *algorithm,
                                 const struct pcoll_signature *signature,
                                 const struct pcoll_local *local, int rank,
                                 const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    struct pcoll_params own = *params;
    enum pcoll_result result = check(algorithm, signature, local, rank, params);

    if (result != PCOLL_OK)
        return result;
    if (!algorithm->uses_radix)
        own.radix = 0;
    if (pcoll_is_trivial(signature))
        result = generate_trivial(algorithm, signature, local, rank, plan_p);
    else
        result = algorithm->generate(signature, local, rank, &own, plan_p);
    if (result != PCOLL_OK)
        return result;
    (*plan_p)->algorithm = algorithm->name;
    (*plan_p)->local = local;
    return PCOLL_OK;
}
