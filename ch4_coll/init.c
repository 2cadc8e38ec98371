/* From the description of a call to a bound plan: describe, agree (agreement.c), generate, find the
 * memory, bind. */

#include "agreement.h"

#include "agent.h"
#include "child.h"
#include "comm.h"
#include "forced.h"
#include "job_report.h"
#include "known.h"
#include "lock.h"
#include "media_calls.h"
#include "network.h"
#include "once.h"
#include "report.h"
#include "request.h"
#include "reuse.h"
#include "session.h"
#include "settings.h"

#include "algorithms/lower/lower.h"
#include "algorithms/plan/user.h"

unsigned long MPIDI_PCOLL_vain_binds = 0;

enum pcoll_result MPIDI_PCOLL_generate(const struct MPIDI_PCOLL_call *call,
                                       const struct pcoll_choice *choice,
                                       struct pcoll_plan **plan_p)
{
    const struct MPIDI_PCOLL_comm *state = call->state;
    enum pcoll_result result = pcoll_generate(choice->algorithm, &call->signature, call->local,
                                              call->comm->rank, &choice->params, plan_p);

    if (result == PCOLL_OK && !(state->medium->group_provides(state->group) & PCOLL_NEED_WEIGHTS))
        result = pcoll_lower(choice->algorithm, &choice->params, plan_p);
    return result;
}

static void print_choice(const struct MPIDI_PCOLL_plan *plan, const struct pcoll_choice *choice,
                         bool is_promoted)
{
    const char *provider = MPIDI_PCOLL_is_libfabric(plan->medium) ? MPIDI_PCOLL_provider() : NULL;
    const struct pcoll_signature *sig = &plan->plan->signature;
    struct pcoll_account account = pcoll_plan_account(plan->plan);
    char text[PCOLL_CHOICE_BYTES], nodes[24] = "";

    pcoll_choice_text(choice, text);
    if (sig->topology && !sig->topology->in_node)
        snprintf(nodes, sizeof(nodes), " of %d nodes", sig->topology->nnodes);
    fprintf(stderr,
            "[%d] pcoll: %s%s %llu B on %d ranks%s: %s on %s%s%s (%s), predicted %.2f us; "
            "%d counters, %d entries, %d messages, %llu B of state; ranks of a node: %s\n",
            MPIR_Process.rank, is_promoted ? "promoted " : "", pcoll_coll_name(sig->coll),
            (unsigned long long)sig->bytes, sig->nranks, nodes, text, plan->medium->name,
            provider ? " over " : "", provider ? provider : "", choice->reason,
            choice->predicted_us, account.counters, account.entries, account.messages,
            (unsigned long long)account.state_bytes,
            plan->state->level == PCOLL_LEVEL_ANY ? "distance unknown"
                                                  : pcoll_level_names[plan->state->level]);
    if (MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 1)
        pcoll_plan_print(plan->plan, stderr);
}

/* MPICH regards a short message as sent once libfabric has it, but a provider with manual progress
 * may keep it until it is polled again: `sockets` sends one message of its queue at each poll. A
 * rank that starts the plan and computes must not leave the others waiting in this call. The queue
 * holds no more than what was sent to the neighbors and in the last agreement. */
static void flush_messages(const struct pcoll_plan *plan)
{
    enum { OF_AGREEMENT = 8, SWAPS = 2 };

    for (int i = 0; i < SWAPS * plan->nneighbors + OF_AGREEMENT; i++)
        MPID_Progress_test(NULL);
}

static bool is_border(const void *plan, enum pcoll_buffer buffer, uint64_t at)
{
    const struct MPIDI_PCOLL_plan *p = plan;

    return MPIDI_PCOLL_data_is_border(buffer == PCOLL_SEND ? &p->in : &p->out, at);
}

/* Where the plan finds the user's data. Data that is not contiguous is packed on its way to the
 * others if medium and plan can do that, otherwise at start. An agent cannot pack. */
static enum pcoll_result find_memory(struct MPIDI_PCOLL_plan *plan, struct pcoll_plan *raw,
                                     const struct pcoll_medium *medium, struct pcoll_memory *memory)
{
    const bool is_distinct = !plan->in.is_packed || plan->in.owned; /* SEND and RECV are */
    const bool is_packed = plan->in.is_packed || plan->out.is_packed;

    if (is_packed && is_distinct && medium->traits & PCOLL_PACKS && !MPIDI_PCOLL_agent_wants(raw) &&
        pcoll_plan_can_pack(raw, is_border, plan)) {
        memory->send_layout = MPIDI_PCOLL_data_lay_out(&plan->in);
        memory->recv_layout = MPIDI_PCOLL_data_lay_out(&plan->out);
    }
    if ((!memory->send_layout && MPIDI_PCOLL_data_settle(&plan->in) != MPI_SUCCESS) ||
        (!memory->recv_layout && MPIDI_PCOLL_data_settle(&plan->out) != MPI_SUCCESS))
        return PCOLL_ERR_NOMEM;
    if (!memory->send_layout && !memory->recv_layout && MPIDI_PCOLL_keep(plan, raw) != MPI_SUCCESS)
        return PCOLL_ERR_NOMEM;
    memory->op = MPIDI_PCOLL_operator_base(plan->op);
    memory->send = MPIDI_PCOLL_data_address(&plan->in);
    memory->recv = MPIDI_PCOLL_data_address(&plan->out);
    return PCOLL_OK;
}

/* The call's data and operator become the plan's, or the reverse. */
static void hand_over(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_plan *plan)
{
    plan->in = call->in;
    plan->out = call->out;
    plan->op = call->op;
    plan->blocks = call->blocks;
    plan->local = call->local;
}

static void take_back(struct MPIDI_PCOLL_call *call, const struct MPIDI_PCOLL_plan *plan)
{
    call->in = plan->in;
    call->out = plan->out;
}

/* Generate and bind the plan; NULL: memory ran out. Returns false, on all ranks, if that is
 * declined. A rank that has run out of memory, or cannot even generate the plan, still takes part
 * in the steps that all others wait for. */
static bool make_plan(struct MPIDI_PCOLL_call *call, const struct pcoll_choice *choice,
                      struct MPIDI_PCOLL_plan *plan)
{
    struct MPIDI_PCOLL_comm *state = call->state;
    struct pcoll_memory memory = {.op = NULL};
    enum pcoll_result result = PCOLL_ERR_NOMEM;
    struct pcoll_bound *bound = NULL;
    struct pcoll_plan *raw = NULL;

    if (plan)
        result = MPIDI_PCOLL_generate(call, choice, &raw);
    if (result == PCOLL_OK) {
        hand_over(call, plan);
        result = find_memory(plan, raw, state->medium, &memory);
    }
    result = MPIDI_PCOLL_bind(state->group, result == PCOLL_OK ? raw : NULL, &memory, &bound);
    if (result != PCOLL_OK) {
        if (raw)
            take_back(call, plan);
        pcoll_plan_destroy(raw);
        return false;
    }
    if (pcoll_is_network(state->medium))
        flush_messages(raw);
    plan->bound = call->is_promoted ? bound : MPIDI_PCOLL_agent_serve(raw, &memory, bound);
    plan->medium = plan->bound->medium;
    plan->plan = raw;
    plan->state = state;
    plan->number = ++state->nplans;
    plan->shape = call->shape;
    plan->choice = *choice;
    state->refs++;
    MPIDI_PCOLL_job_add_plan(call, plan, choice);
    if (call->comm->rank == 0 && MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0)
        print_choice(plan, choice, call->is_promoted);
    return true;
}

bool MPIDI_PCOLL_tells_of_declined(void)
{
    return MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0 || MPIDI_PCOLL_job_wants_report();
}

static void report_declined(const struct MPIDI_PCOLL_call *call)
{
    MPIDI_PCOLL_job_add_declined(call);
    if ((call->why || !call->is_promoted) && call->comm->rank == 0 &&
        MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0)
        fprintf(stderr, "[%d] pcoll: %s%s goes to MPICH's path%s%s\n", MPIR_Process.rank,
                call->is_promoted ? "promoted " : "", pcoll_coll_name(call->signature.coll),
                call->why ? ": " : "", call->why ? call->why : "");
}

/* As plan_on, once a plan could not be bound because a rank has not mapped operands of others: rank
 * 0 proposes one that does not need that. */
static int plan_unmapped(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_plan *plan, bool *made_p)
{
    struct MPIDI_PCOLL_proposal proposal = {.nrivals = 0};
    int mpi_errno;

    call->is_unmapped = true;
    call->is_scattered = false;
    MPIDI_PCOLL_bound_in_vain(call->state->known);
    MPIDI_PCOLL_vain_binds++;
    mpi_errno = MPIDI_PCOLL_agree(call, &proposal);
    if (mpi_errno == MPI_SUCCESS && proposal.choice.algorithm)
        *made_p = make_plan(call, &proposal.choice, plan);
    return mpi_errno;
}

static int plan_on(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_plan *plan, bool *made_p)
{
    struct MPIDI_PCOLL_proposal proposal = {.nrivals = 0};
    struct pcoll_choice *choice = &proposal.choice;
    int mpi_errno = MPIDI_PCOLL_agree(call, &proposal);

    if (call->idle)
        choice->algorithm = NULL;
    if (proposal.nrivals > 0 && !choice->algorithm && call->comm->rank == 0)
        MPIDI_PCOLL_correct(call->state->known, choice); /* the next init of the shape races */
    if (mpi_errno == MPI_SUCCESS && choice->algorithm && proposal.nrivals > 0)
        mpi_errno = MPIDI_PCOLL_race(call, proposal.rivals, proposal.nrivals, choice);
    if (mpi_errno == MPI_SUCCESS && choice->algorithm)
        *made_p = make_plan(call, choice, plan);
    if (mpi_errno == MPI_SUCCESS && !*made_p && choice->algorithm && choice->algorithm->must_map)
        mpi_errno = plan_unmapped(call, plan, made_p);
    if (call->idle)
        MPIDI_PCOLL_reuse_take(call, plan);
    if (!*made_p) {
        MPIDI_PCOLL_drop_data(call);
        MPIDI_PCOLL_operator_destroy(call->op);
        MPIDI_PCOLL_local_free(call->local);
    }
    *made_p = *made_p || call->idle;
    return mpi_errno;
}

/* call->state is that of the communicator; NULL if the backend does not serve it. Without a free
 * slot for the progress hook it serves no communicator; that is the same on all ranks, as they run
 * the same build. */
static int find_state(struct MPIDI_PCOLL_call *call)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIDI_PCOLL_is_child())
        return MPIDI_PCOLL_refuse_child();
    if (MPIDI_PCOLL_session_open() == MPI_SUCCESS)
        mpi_errno = MPIDI_PCOLL_comm_get(call->comm, &call->state);
    else
        MPIDI_PCOLL_report("no progress hook is free; persistent collectives go to MPICH's path");
    if (call->state) {
        call->signature.topology = call->state->topology;
        call->signature.levels = call->state->levels;
    } else {
        call->why = "no medium serves the communicator";
    }
    return mpi_errno;
}

static int plan_with_data(struct MPIDI_PCOLL_call *call, MPIDI_PCOLL_describe *describe,
                          struct MPIDI_PCOLL_plan *plan, bool *made_p)
{
    int mpi_errno;

    if (describe)
        describe(call);
    mpi_errno = plan_on(call, plan, made_p);
    if (!*made_p && plan)
        MPIDI_PCOLL_free_kept(plan);
    return mpi_errno;
}

int MPIDI_PCOLL_call_plan(struct MPIDI_PCOLL_call *call, MPIDI_PCOLL_describe *describe,
                          struct MPIDI_PCOLL_plan *plan, bool *made_p)
{
    int mpi_errno = find_state(call);

    *made_p = false;
    if (mpi_errno == MPI_SUCCESS && call->state)
        mpi_errno = plan_with_data(call, describe, plan, made_p);
    if (mpi_errno == MPI_SUCCESS && !*made_p)
        report_declined(call);
    return mpi_errno;
}

static int plan_with_request(struct MPIDI_PCOLL_call *call, MPIDI_PCOLL_describe *describe,
                             MPIR_Request **request)
{
    struct MPIDI_PCOLL_request *own = MPIDI_PCOLL_request_create();
    bool made = false;
    int mpi_errno;

    call->may_reuse = own && MPIDI_PCOLL_forced()->reuse;
    mpi_errno = plan_with_data(call, describe, own ? &own->plan : NULL, &made);
    if (made)
        *request = MPIDI_PCOLL_request_issue(own);
    else
        MPIDI_PCOLL_request_discard(own);
    return mpi_errno;
}

int MPIDI_PCOLL_call_init(struct MPIDI_PCOLL_call *call, MPIDI_PCOLL_describe *describe,
                          MPIR_Request **request)
{
    struct MPIDI_PCOLL_request *gone;
    int mpi_errno;

    *request = NULL;
    MPIDI_PCOLL_lock();
    gone = MPIDI_PCOLL_unbind_leaving();
    mpi_errno = find_state(call);
    if (call->is_once)
        MPIDI_PCOLL_leave_unasked(call);
    else if (mpi_errno == MPI_SUCCESS && call->state)
        mpi_errno = plan_with_request(call, describe, request);
    if (mpi_errno == MPI_SUCCESS && !*request)
        report_declined(call);
    MPIDI_PCOLL_unlock();
    MPIDI_PCOLL_requests_destroy(gone);
    return mpi_errno;
}
