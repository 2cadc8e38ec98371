/* What the ranks of a call agree on, from its description to a bound plan, in order:
 *
 *   once a communicator    nodes, medium, group                        comm.c: meet
 *   1  blocks              do those of an allgatherv lie side by       agree_on_call
 *                          side? Then 3 is done; else they are edges
 *   2  edges               the largest of all ranks: bytes, degree,    agree_on_edges
 *                          volumes
 *      letters             the two ranks of an edge, where its bytes   offload/edges.c
 *                          belong; ranks of a node, their pairs        offload/pairs.c
 *   3  call                can all take part, with equal arguments;    agree_on_call
 *                          rank 0's choice
 *      bind                have all ranks a plan, where is its memory  the medium's bind
 *
 * Each round is one combine, of which the maximum of each word counts, or one swap with the peers
 * of edges. All ranks take the same steps, also those that have failed: they are ineligible. What
 * is declined is declined by all ranks identically and goes to MPICH's own path. */

#include "agreement.h"

#include "settings.h"

#include "offload/edges.h"
#include "offload/memory/heap.h"
#include "offload/pairs.h"

static int combine(const struct MPIDI_PCOLL_comm *state, uint64_t *words, int n)
{
    int mpi_errno = MPI_SUCCESS;

    if (state->medium->combine(state->group, words, n) != PCOLL_OK)
        MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    return mpi_errno;
}

/* ---- the call and its algorithm ---- */

/* What must be the same on all ranks takes two words: pcoll_say_same. */
enum {
    INELIGIBLE,
    NOT_COMMUTING,
    APART,
    IN_PLACE,
    UNIT = IN_PLACE + 2,
    BYTES = UNIT + 2,
    BLOCKS = BYTES + 2, /* a hash of all blocks */
    ROW = BLOCKS + 2,   /* from here on, what rank 0 proposes (others contribute 0); 0: nothing */
    PARAMS,             /* struct pcoll_params as it lies in memory */
    NWORDS = PARAMS + sizeof(struct pcoll_params) / sizeof(uint64_t)
};

_Static_assert(sizeof(struct pcoll_params) % sizeof(uint64_t) == 0, "they are whole words");
_Static_assert(NWORDS <= PCOLL_COMBINE_WORDS, "they are combined at once");

/* 0 if there are none (FNV-1a, by words). */
static uint64_t hash_of_blocks(const struct pcoll_signature *signature)
{
    uint64_t hash = signature->blocks ? UINT64_C(0xcbf29ce484222325) : 0;

    for (int r = 0; signature->blocks && r <= signature->nranks; r++)
        hash = (hash ^ signature->blocks[r]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool is_mapped(const struct MPIDI_PCOLL_call *call)
{
    return pcoll_heap_find(call->in.user, 1).fd != PCOLL_NONE ||
           pcoll_heap_find(call->out.user, 1).fd != PCOLL_NONE;
}

static void say_call(const struct MPIDI_PCOLL_call *call, uint64_t *words)
{
    const struct pcoll_signature *signature = &call->signature;

    words[INELIGIBLE] = !call->eligible;
    words[NOT_COMMUTING] = !signature->commutes;
    words[APART] = call->is_apart;
    pcoll_say_same(&words[IN_PLACE], (uint64_t)signature->in_place);
    pcoll_say_same(&words[UNIT], signature->unit);
    pcoll_say_same(&words[BYTES], signature->bytes);
    pcoll_say_same(&words[BLOCKS], hash_of_blocks(signature));
}

/* On rank 0. */
static void say_choice(const struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_comm *state,
                       struct pcoll_choice *choice, uint64_t *words)
{
    MPIDI_PCOLL_propose(&call->signature, is_mapped(call), call->info, state, choice);
    if (!choice->algorithm)
        return;
    words[ROW] = (uint64_t)pcoll_algorithm_number(choice->algorithm) + 1;
    memcpy(&words[PARAMS], &choice->params, sizeof(choice->params));
}

static void hear_call(struct MPIDI_PCOLL_call *call, struct pcoll_choice *choice,
                      const uint64_t *words)
{
    const bool one_place = call->op && !pcoll_coll_has(call->signature.coll, PCOLL_ROOTED);
    const bool same_blocks = pcoll_heard_same(&words[BYTES]) && pcoll_heard_same(&words[BLOCKS]);
    const bool same_place = pcoll_heard_same(&words[IN_PLACE]);

    choice->algorithm = words[ROW] ? pcoll_algorithms[words[ROW] - 1] : NULL;
    memcpy(&choice->params, &words[PARAMS], sizeof(choice->params));
    if (words[INELIGIBLE] || !same_blocks || !pcoll_heard_same(&words[UNIT]) ||
        (one_place && !same_place))
        choice->algorithm = NULL;
    call->is_apart = words[APART] || !same_blocks || !same_place;
    call->signature.in_place = same_place && words[IN_PLACE];
    call->signature.commutes = !words[NOT_COMMUTING];
}

/* *choice becomes rank 0's, of which other ranks get algorithm and parameters; it has no algorithm
 * if the call is declined. */
static int agree_on_call(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_comm *state,
                         struct pcoll_choice *choice)
{
    uint64_t words[NWORDS] = {0};
    int mpi_errno;

    say_call(call, words);
    if (call->comm->rank == 0 && !call->is_apart)
        say_choice(call, state, choice, words);
    mpi_errno = combine(state, words, NWORDS);
    hear_call(call, choice, words);
    return mpi_errno;
}

/* ---- edges ---- */

/* The facts about the edges of all ranks become those of the signature. */
static int agree_on_facts(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_comm *state,
                          struct pcoll_edges_most *most)
{
    enum { INELIGIBLE_EDGES, TYPED, LARGEST, DEGREE, IN, OUT, KEPT, PARALLEL, TRAFFIC, NFACTS };
    struct pcoll_signature *signature = &call->signature;
    uint64_t words[NFACTS] = {
        [INELIGIBLE_EDGES] = !call->eligible,
        [TYPED] = (uint64_t)signature->typed,
        [LARGEST] = signature->bytes,
        [DEGREE] = (uint64_t)signature->degree,
        [IN] = signature->in_volume,
        [OUT] = signature->out_volume,
        [KEPT] = signature->kept,
    };
    int mpi_errno;

    if (call->local)
        words[PARALLEL] = (uint64_t)pcoll_edges_most_parallel(call->local, call->comm->rank);
    if (call->local && pcoll_can_have_pairs(signature))
        words[TRAFFIC] =
            (uint64_t)pcoll_pairs_most_traffic(signature, call->local, call->comm->rank);
    mpi_errno = combine(state, words, NFACTS);
    signature->typed = (int)words[TYPED];
    signature->bytes = words[LARGEST];
    signature->degree = (int)words[DEGREE];
    signature->in_volume = words[IN];
    signature->out_volume = words[OUT];
    signature->kept = words[KEPT];
    call->eligible = !words[INELIGIBLE_EDGES];
    most->parallel = (int)words[PARALLEL];
    most->traffic = signature->bytes <= PCOLL_EDGE_SLOT ? (int)words[TRAFFIC] : 0;
    return mpi_errno;
}

/* What goes wrong makes the call ineligible. */
static int agree_on_edges(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_comm *state)
{
    struct pcoll_edges_most most;
    enum pcoll_result result;
    int mpi_errno = agree_on_facts(call, state, &most);

    if (mpi_errno != MPI_SUCCESS || !call->eligible)
        return mpi_errno;
    pcoll_edges_prepare(&call->signature, call->local, call->comm->rank);
    result = pcoll_edges_swap(&state->bootstrap, state->group, &call->signature, call->local, most);
    call->eligible = result == PCOLL_OK;
    if (result == PCOLL_ERR_INVALID)
        call->why = "a rank receives another number of bytes than was sent to it";
    return MPI_SUCCESS;
}

/* ---- entry point ---- */

/* The blocks do not lie side by side on all ranks: describe them once more, as edges. */
static void describe_again(struct MPIDI_PCOLL_call *call)
{
    MPIDI_PCOLL_drop_data(call);
    call->is_apart = false;
    call->signature.blocks = NULL;
    call->signature.bytes = 0;
    call->signature.in_place = 0;
    MPIDI_PCOLL_describe_edges(call);
}

int MPIDI_PCOLL_agree(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_comm *state,
                      struct pcoll_choice *choice)
{
    const enum pcoll_coll coll = call->signature.coll;
    const bool has_edges = pcoll_coll_has(coll, PCOLL_EDGES);
    int mpi_errno = MPI_SUCCESS;

    if (has_edges && pcoll_coll_has(coll, PCOLL_VECTOR)) {
        mpi_errno = agree_on_call(call, state, choice);
        if (mpi_errno != MPI_SUCCESS || !call->is_apart)
            return mpi_errno;
        describe_again(call);
    }
    if (has_edges)
        mpi_errno = agree_on_edges(call, state);
    return mpi_errno == MPI_SUCCESS ? agree_on_call(call, state, choice) : mpi_errno;
}
