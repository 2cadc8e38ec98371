/* What the ranks of a call agree on, from its description to the choice of an algorithm: the rounds
 * BLOCKS to CALL of offload/agree.h. What is declined is declined by all ranks identically and goes
 * to MPICH's own path. */

#include "agreement.h"

#include "comm.h"
#include "once.h"
#include "reuse.h"
#include "settings.h"

#include "algorithms/util.h"
#include "offload/agree.h"
#include "offload/edges.h"
#include "offload/memory/heap.h"
#include "offload/pairs.h"

/* call->eligible, which becomes that of all ranks, is this rank's result. */
static int agree(struct MPIDI_PCOLL_call *call, enum pcoll_round round, struct pcoll_term *terms,
                 int n)
{
    const enum pcoll_result mine = call->eligible ? PCOLL_OK : PCOLL_UNSUPPORTED;
    const enum pcoll_result all = pcoll_agree(call->state->group->bootstrap, round, mine, terms, n);
    int mpi_errno = MPI_SUCCESS;

    call->eligible = all == PCOLL_OK;
    if (all != PCOLL_OK && all != PCOLL_UNSUPPORTED)
        MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");
    return mpi_errno;
}

/* ---- the call and its algorithm ---- */

enum {
    ORDERED,             /* of a reduction: it does not commute */
    SCATTERED = ORDERED, /* of other calls, in the same word: blocks are scattered */
    WANTED,              /* does a rank want a plan (once.h) */
    REUSED,              /* the number of the plan that this rank has for the call (reuse.h) */
    IN_PLACE,
    BYTES,
    SHAPE, /* a hash of the unit and all blocks */
    ROW,   /* that rank 0 proposes, from 1 on, and from bit 32 on how many rivals; 0: none, and from
            * bit 32 on why */
    PARAMS, /* struct pcoll_params as it lies in memory */
    NTERMS = PARAMS + sizeof(struct pcoll_params) / sizeof(uint64_t)
};

_Static_assert(sizeof(struct pcoll_params) % sizeof(uint64_t) == 0, "they are whole words");
_Static_assert(
    NTERMS + 1 + (ROW - IN_PLACE) <= PCOLL_TERM_WORDS,
    "they fit into a round, in which REUSED and those from IN_PLACE to SHAPE take two words each");

/* Without blocks it differs wherever the unit does. */
static uint64_t hash_of_shape(const struct pcoll_signature *signature)
{
    uint64_t hash = pcoll_hash_add(PCOLL_HASH_START, signature->unit);

    for (int r = 0; signature->blocks && r <= signature->nranks; r++)
        hash = pcoll_hash_add(hash, signature->blocks[r]);
    return hash;
}

bool MPIDI_PCOLL_is_mapped(const struct MPIDI_PCOLL_call *call)
{
    return pcoll_heap_find(call->in.user, 1).fd != PCOLL_NONE ||
           pcoll_heap_find(call->out.user, 1).fd != PCOLL_NONE;
}

static uint64_t wants_plan(const struct MPIDI_PCOLL_call *call)
{
    return call->is_wanted || MPIDI_PCOLL_wants_plan(call);
}

static void say_call(const struct MPIDI_PCOLL_call *call, struct pcoll_term *terms)
{
    const struct pcoll_signature *signature = &call->signature;

    terms[ORDERED] = (struct pcoll_term){.kind = PCOLL_TERM_MAX};
    if (pcoll_coll_has(signature->coll, PCOLL_REDUCES))
        terms[ORDERED].value = !signature->commutes;
    else
        terms[SCATTERED].value = call->is_scattered;
    terms[WANTED] = (struct pcoll_term){.kind = PCOLL_TERM_MAX, .value = wants_plan(call)};
    terms[IN_PLACE] =
        (struct pcoll_term){.kind = PCOLL_TERM_SAME, .value = (uint64_t)signature->in_place};
    terms[BYTES] = (struct pcoll_term){.kind = PCOLL_TERM_SAME, .value = signature->bytes};
    terms[SHAPE] = (struct pcoll_term){.kind = PCOLL_TERM_SAME, .value = hash_of_shape(signature)};
}

static void say_choice(const struct MPIDI_PCOLL_proposal *proposal, struct pcoll_term *terms)
{
    const struct pcoll_choice *choice = &proposal->choice;
    uint64_t params[NTERMS - PARAMS] = {0};

    if (choice->algorithm)
        memcpy(params, &choice->params, sizeof(choice->params));
    terms[ROW] = (struct pcoll_term){
        .kind = PCOLL_TERM_RANK_0,
        .value = choice->algorithm ? (uint64_t)proposal->nrivals << 32 |
                                         (uint64_t)(pcoll_algorithm_number(choice->algorithm) + 1)
                                   : (uint64_t)proposal->refusals << 32};
    for (int i = PARAMS; i < NTERMS; i++)
        terms[i] = (struct pcoll_term){.kind = PCOLL_TERM_RANK_0, .value = params[i - PARAMS]};
}

/* A call that no rank wants a plan for is declined. */
static void hear_wish(struct MPIDI_PCOLL_call *call, bool is_wanted)
{
    call->is_wanted = is_wanted;
    if (!is_wanted && !call->idle)
        MPIDI_PCOLL_stop_asking(call);
}

/* NULL: a message has said so, or the call is not declined yet. */
static const char *why_none(unsigned refusals)
{
    const unsigned buffers = PCOLL_REFUSAL_TOO_MUCH_TEMP | PCOLL_REFUSAL_NO_USER_RMA;

    if (refusals & MPIDI_PCOLL_MPICH_IS_ASKED)
        return "algorithm 'mpich' was asked for";
    if (refusals & MPIDI_PCOLL_MEASURE_FIRST)
        return NULL;
    if ((refusals & buffers) == buffers)
        return "communication buffers would be too large (MPIR_CVAR_COLL_OFFLOAD_MAX_TEMP), and "
               "the user buffers of other ranks cannot be accessed";
    if (refusals & PCOLL_REFUSAL_TOO_MUCH_TEMP)
        return "communication buffers would be too large (MPIR_CVAR_COLL_OFFLOAD_MAX_TEMP)";
    return refusals ? "no algorithm suits this call" : NULL;
}

/* NULL: they do not. */
static const char *why_ranks_differ(bool same_shape, bool same_place)
{
    if (!same_shape)
        return "its bytes, blocks or elements differ between ranks";
    return same_place ? NULL : "some ranks reduce in place, and some do not";
}

static void hear_call(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_proposal *proposal,
                      const struct pcoll_term *terms)
{
    struct pcoll_choice *choice = &proposal->choice;
    const bool one_place = call->op && !pcoll_coll_has(call->signature.coll, PCOLL_ROOTED);
    const bool same_shape = !terms[BYTES].differs && !terms[SHAPE].differs;
    const bool same_place = !terms[IN_PLACE].differs;
    const bool reduces = pcoll_coll_has(call->signature.coll, PCOLL_REDUCES);
    const bool is_scattered = !reduces && terms[SCATTERED].value;
    const char *why = why_ranks_differ(same_shape, same_place || !one_place);
    const uint32_t row = (uint32_t)terms[ROW].value;
    uint64_t params[NTERMS - PARAMS];

    for (int i = PARAMS; i < NTERMS; i++)
        params[i - PARAMS] = terms[i].value;
    memcpy(&choice->params, params, sizeof(choice->params));
    choice->algorithm = row > 0 ? pcoll_algorithms[row - 1] : NULL;
    proposal->nrivals = row > 0 ? (int)(terms[ROW].value >> 32) : 0;
    proposal->refusals = row > 0 ? 0 : (unsigned)(terms[ROW].value >> 32);
    if (row == 0 && call->eligible && same_shape && !call->is_promoted)
        call->why = why_none(proposal->refusals);
    if (why && call->eligible)
        call->why = why;
    if (why || !call->eligible)
        choice->algorithm = NULL;
    call->is_scattered = is_scattered || !same_shape || !same_place;
    call->signature.in_place = same_place && terms[IN_PLACE].value;
    call->signature.commutes = reduces && !terms[ORDERED].value;
}

/* A user's function is called for the user's data only. An ordinary call is no init, which may take
 * milliseconds. */
static bool may_race(const struct MPIDI_PCOLL_call *call)
{
    return !call->is_promoted && (!call->op || MPIDI_PCOLL_operator_base(call->op)->kernel);
}

/* In the first round of an init: the plan that this rank has for the call. */
static struct pcoll_term say_reused(struct MPIDI_PCOLL_call *call)
{
    return (struct pcoll_term){.kind = PCOLL_TERM_SAME, .value = MPIDI_PCOLL_reuse_tell(call)};
}

/* A rank without such a plan has told 0. A rooted collective that no rank wants a plan for does
 * without (once.h). */
static void hear_reused(struct MPIDI_PCOLL_call *call, int mpi_errno, bool is_wanted,
                        const struct pcoll_term *term)
{
    const bool is_rooted = pcoll_coll_has(call->signature.coll, PCOLL_ROOTED);

    MPIDI_PCOLL_reuse_hear(call,
                           mpi_errno == MPI_SUCCESS && !term->differs && (is_wanted || !is_rooted));
}

/* Rank 0's proposal. */
static void propose(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_proposal *proposal)
{
    const struct pcoll_choice *known = MPIDI_PCOLL_reuse_choice(call);

    if (known)
        *proposal = (struct MPIDI_PCOLL_proposal){.choice = *known};
    else
        MPIDI_PCOLL_propose(call, MPIDI_PCOLL_is_mapped(call), may_race(call), proposal);
}

/* *proposal becomes rank 0's, of which other ranks get the number of rivals, and the choice's
 * algorithm and parameters; it has no algorithm if the call is declined. `is_first`: no round of
 * the call was before. */
static int agree_on_call(struct MPIDI_PCOLL_call *call, enum pcoll_round round, bool is_first,
                         struct MPIDI_PCOLL_proposal *proposal)
{
    struct pcoll_term terms[NTERMS];
    int mpi_errno;

    terms[REUSED] = is_first ? say_reused(call) : (struct pcoll_term){.kind = PCOLL_TERM_SAME};
    say_call(call, terms);
    if (call->comm->rank == 0 && !call->is_scattered)
        propose(call, proposal);
    say_choice(proposal, terms);
    mpi_errno = agree(call, round, terms, NTERMS);
    hear_reused(call, mpi_errno, terms[WANTED].value != 0, &terms[REUSED]);
    if (mpi_errno == MPI_SUCCESS)
        hear_wish(call, terms[WANTED].value != 0);
    hear_call(call, proposal, terms);
    return mpi_errno;
}

/* The same, after the ranks have measured their machine if rank 0 needs that for its proposal, and
 * the call gets a plan at all. */
static int agree_on_plan(struct MPIDI_PCOLL_call *call, enum pcoll_round round,
                         struct MPIDI_PCOLL_proposal *proposal)
{
    const bool is_first = round == PCOLL_ROUND_BLOCKS || !call->local;
    const bool is_scattered = call->is_scattered;
    int mpi_errno = agree_on_call(call, round, is_first, proposal);

    if (mpi_errno != MPI_SUCCESS || proposal->refusals != MPIDI_PCOLL_MEASURE_FIRST ||
        !call->eligible || call->why || call->idle ||
        (round == PCOLL_ROUND_BLOCKS && call->is_scattered))
        return mpi_errno;
    mpi_errno = MPIDI_PCOLL_comm_measure(call->state);
    call->is_scattered = is_scattered;
    return mpi_errno == MPI_SUCCESS ? agree_on_call(call, round, false, proposal) : mpi_errno;
}

/* ---- edges ---- */

/* The facts about the edges of all ranks become those of the signature. */
static int agree_on_facts(struct MPIDI_PCOLL_call *call, struct pcoll_edges_max *max)
{
    enum {
        TYPED,
        LARGEST,
        DEGREE,
        IN,
        OUT,
        KEPT,
        PARALLEL,
        TRAFFIC,
        ALL,
        WANTED_HERE,
        REUSED_HERE,
        NFACTS
    };
    struct pcoll_signature *signature = &call->signature;
    const struct pcoll_term reused = say_reused(call);
    struct pcoll_term terms[NFACTS] = {
        [TYPED] = {.kind = PCOLL_TERM_MAX, .value = (uint64_t)signature->typed},
        [LARGEST] = {.kind = PCOLL_TERM_MAX, .value = signature->bytes},
        [DEGREE] = {.kind = PCOLL_TERM_MAX, .value = (uint64_t)signature->degree},
        [IN] = {.kind = PCOLL_TERM_MAX, .value = signature->in_volume},
        [OUT] = {.kind = PCOLL_TERM_MAX, .value = signature->out_volume},
        [KEPT] = {.kind = PCOLL_TERM_MAX, .value = signature->kept},
        [PARALLEL] = {.kind = PCOLL_TERM_MAX},
        [TRAFFIC] = {.kind = PCOLL_TERM_MAX},
        [ALL] = {.kind = PCOLL_TERM_MAX},
        [WANTED_HERE] = {.kind = PCOLL_TERM_MAX, .value = wants_plan(call)},
        [REUSED_HERE] = reused,
    };
    int mpi_errno;

    if (call->local) {
        terms[PARALLEL].value = (uint64_t)pcoll_edges_max_parallel(call->local, call->comm->rank);
        terms[ALL].value = (uint64_t)call->local->nin + (uint64_t)call->local->nout;
    }
    if (call->local && pcoll_can_have_pairs(signature))
        terms[TRAFFIC].value =
            (uint64_t)pcoll_pairs_max_traffic(signature, call->local, call->comm->rank);
    mpi_errno = agree(call, PCOLL_ROUND_EDGES, terms, NFACTS);
    hear_reused(call, mpi_errno, terms[WANTED_HERE].value != 0, &terms[REUSED_HERE]);
    if (mpi_errno == MPI_SUCCESS)
        hear_wish(call, terms[WANTED_HERE].value != 0);
    signature->typed = (int)terms[TYPED].value;
    signature->bytes = terms[LARGEST].value;
    signature->degree = (int)terms[DEGREE].value;
    signature->in_volume = terms[IN].value;
    signature->out_volume = terms[OUT].value;
    signature->kept = terms[KEPT].value;
    max->parallel = (int)terms[PARALLEL].value;
    max->edges = terms[ALL].value;
    max->traffic = signature->bytes <= PCOLL_EDGE_SLOT ? (int)terms[TRAFFIC].value : 0;
    return mpi_errno;
}

static const char *why_not_told(enum pcoll_result result)
{
    if (result == PCOLL_UNSUPPORTED)
        return "some ranks have many edges to the same rank, and some to many ranks: the messages "
               "that match them would be too large";
    if (result == PCOLL_ERR_INVALID)
        return "a rank receives another number of bytes than was sent to it";
    return NULL;
}

/* What goes wrong makes the call ineligible. */
static int agree_on_edges(struct MPIDI_PCOLL_call *call)
{
    struct pcoll_edges_max max;
    enum pcoll_result result;
    int mpi_errno = agree_on_facts(call, &max);

    if (mpi_errno != MPI_SUCCESS || !call->eligible || call->idle)
        return mpi_errno;
    pcoll_edges_prepare(&call->signature, call->local, call->comm->rank);
    result = pcoll_edges_swap(call->state->group->bootstrap, &call->signature, call->local, max);
    call->eligible = result == PCOLL_OK;
    if (result != PCOLL_OK)
        call->why = why_not_told(result);
    return MPI_SUCCESS;
}

/* ---- entry point ---- */

/* The blocks do not lie side by side on all ranks: describe them once more, as edges. */
static void describe_again(struct MPIDI_PCOLL_call *call)
{
    MPIDI_PCOLL_drop_data(call);
    call->is_scattered = false;
    call->why = NULL;
    call->signature.blocks = NULL;
    call->signature.bytes = 0;
    call->signature.in_place = 0;
    MPIDI_PCOLL_describe_edges(call);
}

int MPIDI_PCOLL_agree(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_proposal *proposal)
{
    const enum pcoll_coll coll = call->signature.coll;
    const bool has_edges = pcoll_coll_has(coll, PCOLL_EDGES);
    int mpi_errno = MPI_SUCCESS;

    if (has_edges && pcoll_coll_has(coll, PCOLL_VECTOR)) {
        mpi_errno = agree_on_plan(call, PCOLL_ROUND_BLOCKS, proposal);
        if (mpi_errno != MPI_SUCCESS || !call->is_scattered || call->is_once || call->idle)
            return mpi_errno;
        describe_again(call);
    }
    if (has_edges)
        mpi_errno = agree_on_edges(call);
    if (mpi_errno != MPI_SUCCESS || call->is_once || call->idle)
        return mpi_errno;
    return agree_on_plan(call, PCOLL_ROUND_CALL, proposal);
}
