/* MEASURE: candidates run before one is chosen. */

#include "race.h"

#include "agreement.h"
#include "known.h"
#include "media_calls.h"

#include "offload/agree.h"
#include "offload/memory/heap.h"

/* A candidate as rank 0 tells it. */
struct rival {
    uint64_t row; /* its number */
    struct pcoll_params params;
};

_Static_assert(MPIDI_PCOLL_MAX_RIVALS * sizeof(struct rival) <= PCOLL_TERM_WORDS * sizeof(uint64_t),
               "they are told in one round");

/* All ranks hear rank 0's rivals, as candidates[1 .. nrivals]. */
static enum pcoll_result tell_rivals(const struct MPIDI_PCOLL_comm *state,
                                     const struct pcoll_choice *rivals, int nrivals,
                                     struct pcoll_choice *candidates)
{
    struct rival told[MPIDI_PCOLL_MAX_RIVALS];
    enum pcoll_result result;

    memset(told, 0, sizeof(told));
    for (int i = 0; i < nrivals && state->bootstrap.rank == 0; i++) {
        told[i].row = (uint64_t)pcoll_algorithm_number(rivals[i].algorithm);
        told[i].params = rivals[i].params;
    }
    result = pcoll_tell(state->group->bootstrap, PCOLL_ROUND_RIVALS, PCOLL_OK,
                        state->bootstrap.rank == 0, told, sizeof(told));
    for (int i = 0; i < nrivals && result == PCOLL_OK; i++) {
        if (state->bootstrap.rank == 0)
            candidates[i + 1] = rivals[i];
        candidates[i + 1].algorithm = pcoll_algorithms[told[i].row];
        candidates[i + 1].params = told[i].params;
    }
    return result;
}

/* As much memory as the longest of the plans needs, of the kind that the user's is. Unwritten
 * memory would be one page of zeros, which is always in the cache. */
static void *scratch(struct pcoll_plan *const *plans, int n, enum pcoll_buffer buffer,
                     const void *user)
{
    void *memory = NULL;
    uint64_t bytes = 1;

    for (int i = 0; i < n; i++)
        if (plans[i] && pcoll_plan_bytes(plans[i], buffer) > bytes)
            bytes = pcoll_plan_bytes(plans[i], buffer);
    if (pcoll_heap_find(user, 1).fd != PCOLL_NONE)
        memory = pcoll_heap_get(bytes);
    if (!memory)
        memory = MPL_malloc(bytes, MPL_MEM_COLL);
    if (memory)
        memset(memory, 1, bytes);
    return memory;
}

static void free_scratch(void *memory)
{
    if (pcoll_heap_put(memory) == PCOLL_UNSUPPORTED)
        MPL_free(memory);
}

/* A rank without memory takes part without plans, so that no plan can be bound. */
static enum pcoll_result run(const struct MPIDI_PCOLL_call *call,
                             const struct pcoll_choice *candidates, int n, double *us)
{
    struct pcoll_plan *plans[PCOLL_RACE_PLANS] = {NULL};
    const struct pcoll_plan *taking_part[PCOLL_RACE_PLANS] = {NULL};
    struct pcoll_memory memory = {.op = MPIDI_PCOLL_operator_base(call->op)};
    enum pcoll_result result;

    for (int i = 0; i < n; i++)
        if (MPIDI_PCOLL_generate(call, &candidates[i], &plans[i]) != PCOLL_OK)
            plans[i] = NULL;
    memory.send = scratch(plans, n, PCOLL_SEND, call->in.user);
    memory.recv = scratch(plans, n, PCOLL_RECV, call->out.user);
    for (int i = 0; i < n && memory.send && memory.recv; i++)
        taking_part[i] = plans[i];
    result = MPIDI_PCOLL_run_race(call->state->group, taking_part, n, &memory, us);
    for (int i = 0; i < n; i++)
        pcoll_plan_destroy(plans[i]);
    free_scratch(memory.send);
    free_scratch(memory.recv);
    return result;
}

static void print_race(const struct pcoll_choice *candidates, const double *us, int n)
{
    char text[PCOLL_CHOICE_BYTES];

    for (int i = 0; i < n; i++) {
        pcoll_choice_text(&candidates[i], text);
        fprintf(stderr, "[%d] pcoll: race: %s: %.2f us, predicted %.2f\n", MPIR_Process.rank, text,
                us[i], candidates[i].predicted_us);
    }
}

/* A race in which no plan could be bound, for want of memory, has told nothing: the next init of
 * the shape runs another. */
static void keep_winner(const struct MPIDI_PCOLL_call *call, const struct pcoll_choice *choice,
                        bool has_won)
{
    const struct pcoll_choice none = {.algorithm = NULL};

    MPIDI_PCOLL_correct(call->state->known, has_won ? choice : &none);
    if (has_won)
        MPIDI_PCOLL_learn(&call->signature, MPIDI_PCOLL_is_mapped(call), call->state, choice);
}

int MPIDI_PCOLL_race(const struct MPIDI_PCOLL_call *call, const struct pcoll_choice *rivals,
                     int nrivals, struct pcoll_choice *choice)
{
    struct pcoll_choice candidates[PCOLL_RACE_PLANS] = {*choice};
    double us[PCOLL_RACE_PLANS];
    enum pcoll_result result = tell_rivals(call->state, rivals, nrivals, candidates);
    int winner, mpi_errno = MPI_SUCCESS;

    if (result == PCOLL_OK)
        result = run(call, candidates, nrivals + 1, us);
    if (result != PCOLL_OK) {
        MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**coll_fail");
        return mpi_errno;
    }
    winner = pcoll_race_winner(us, nrivals + 1);
    if (us[winner] >= 0) {
        *choice = candidates[winner];
        choice->reason = "race";
    }
    if (call->comm->rank == 0)
        keep_winner(call, choice, us[winner] >= 0);
    if (call->comm->rank == 0 && MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0)
        print_race(candidates, us, nrivals + 1);
    return mpi_errno;
}
