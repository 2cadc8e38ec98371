/* Plans of freed requests, which later inits take. */

#include "reuse.h"

#include "agreement.h"
#include "hints.h"
#include "mpir_coll_offload_hooks.h"

#include "offload/run/run.h"

/* Of a communicator: programs repeat few shapes. */
enum { MAX_IDLE = 8 };
#define MAX_BYTES ((size_t)8 << 20)      /* of the plans of a communicator, on one rank */
#define MAX_ALL_BYTES ((size_t)64 << 20) /* of all plans of the process */

struct MPIDI_PCOLL_idle {
    struct MPIDI_PCOLL_plan plan;
    size_t bytes;
    struct MPIDI_PCOLL_idle *next;
};

unsigned long MPIDI_PCOLL_reused_count = 0;

static size_t all_bytes = 0; /* of all plans that are kept */

/* What *from owns becomes that of *to. */
static void hand_over(struct MPIDI_PCOLL_data *to, struct MPIDI_PCOLL_data *from)
{
    *to = *from;
    from->is_packed = false;
}

/* ---- what a call asks for ---- */

static bool is_predefined(const struct MPIDI_PCOLL_arguments *a)
{
    return HANDLE_IS_BUILTIN(a->op) && HANDLE_IS_BUILTIN(a->receive.type);
}

static void describe(const struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_shape *shape)
{
    shape->is_known = true;
    shape->signature = call->signature;
    shape->op = call->op ? call->arguments.op : MPI_OP_NULL;
    shape->type = call->op ? call->arguments.receive.type : MPI_DATATYPE_NULL;
    shape->settings = MPIDI_PCOLL_settings_hash(call->signature.coll);
    shape->is_mapped = MPIDI_PCOLL_is_mapped(call);
    shape->is_in_packed = call->in.is_packed;
    shape->is_out_packed = call->out.is_packed;
}

static bool is_same_signature(const struct pcoll_signature *a, const struct pcoll_signature *b)
{
    return a->coll == b->coll && a->root == b->root && a->bytes == b->bytes &&
           a->in_place == b->in_place && a->unit == b->unit && a->commutes == b->commutes &&
           a->typed == b->typed && a->degree == b->degree && a->in_volume == b->in_volume &&
           a->out_volume == b->out_volume && a->kept == b->kept;
}

static bool is_same_shape(const struct MPIDI_PCOLL_shape *a, const struct MPIDI_PCOLL_shape *b)
{
    return is_same_signature(&a->signature, &b->signature) && a->op == b->op &&
           a->type == b->type && a->settings == b->settings && a->is_mapped == b->is_mapped &&
           a->is_in_packed == b->is_in_packed && a->is_out_packed == b->is_out_packed;
}

static bool have_same_blocks(const uint64_t *a, const uint64_t *b, int nranks)
{
    if (!a || !b)
        return a == b;
    return memcmp(a, b, ((size_t)nranks + 1) * sizeof(*a)) == 0;
}

static bool are_same_edges(const struct pcoll_edge *a, const struct pcoll_edge *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i].rank != b[i].rank || a[i].key != b[i].key || a[i].first != b[i].first ||
            a[i].bytes != b[i].bytes)
            return false;
    return true;
}

static bool have_same_edges(const struct pcoll_local *a, const struct pcoll_local *b)
{
    if (!a || !b)
        return a == b;
    return a->nin == b->nin && a->nout == b->nout && are_same_edges(a->in, b->in, a->nin) &&
           are_same_edges(a->out, b->out, a->nout);
}

/* Returns whether the kernel still permits what the plan needs. */
static bool is_permitted(const struct MPIDI_PCOLL_plan *plan)
{
    const struct pcoll_group *group = plan->state->group;

    return !(plan->plan->needs & ~group->medium->group_provides(group));
}

static bool matches(const struct MPIDI_PCOLL_plan *plan, const struct MPIDI_PCOLL_call *call)
{
    return is_same_shape(&plan->shape, &call->shape) &&
           have_same_blocks(plan->blocks, call->blocks, call->signature.nranks) &&
           have_same_edges(plan->local, call->local) && is_permitted(plan);
}

/* ---- the list, from the plan that was freed last ---- */

/* Free the place in the list, whose plan has gone. */
static void forget(struct MPIDI_PCOLL_idle *idle)
{
    all_bytes -= idle->bytes;
    MPL_free(idle);
}

static void destroy(struct MPIDI_PCOLL_idle *idle)
{
    MPIDI_PCOLL_plan_unbind(&idle->plan);
    MPIDI_PCOLL_plan_fini(&idle->plan);
    forget(idle);
}

void MPIDI_PCOLL_idle_destroy(struct MPIDI_PCOLL_idle *list)
{
    for (struct MPIDI_PCOLL_idle *next; list; list = next) {
        next = list->next;
        destroy(list);
    }
}

static void drop_oldest(struct MPIDI_PCOLL_comm *state)
{
    struct MPIDI_PCOLL_idle **link = &state->idle;
    size_t bytes = 0;

    for (int n = 0; n < MAX_IDLE && *link && bytes + (*link)->bytes <= MAX_BYTES; n++) {
        bytes += (*link)->bytes;
        link = &(*link)->next;
    }
    MPIDI_PCOLL_idle_destroy(*link);
    *link = NULL;
}

/* What the plan takes on this rank. */
static size_t bytes_of(const struct pcoll_plan *plan)
{
    return (size_t)plan->temp_bytes + (size_t)plan->ncounters * PCOLL_LINE_BYTES +
           (size_t)plan->nentries * (sizeof(*plan->entries) + sizeof(struct pcoll_step));
}

/* Packed data refers to datatypes, so it stays with the request and ends with that. */
static void leave_packed(struct MPIDI_PCOLL_data *left, struct MPIDI_PCOLL_data *data)
{
    if (data->is_packed)
        hand_over(left, data);
}

bool MPIDI_PCOLL_reuse_keep(struct MPIDI_PCOLL_plan *plan)
{
    struct MPIDI_PCOLL_comm *state = plan->state;
    struct MPIDI_PCOLL_idle *idle;
    size_t bytes;

    if (!plan->shape.is_known || !plan->bound || !state->comm || plan->past == MPIDI_PCOLL_FAILED ||
        !MPIDI_PCOLL_plan_can_move(plan))
        return false;
    bytes = bytes_of(plan->plan);
    if (bytes > MAX_BYTES || all_bytes + bytes > MAX_ALL_BYTES)
        return false;
    idle = MPL_malloc(sizeof(*idle), MPL_MEM_COLL);
    if (!idle)
        return false;
    *idle = (struct MPIDI_PCOLL_idle){.plan = *plan, .bytes = bytes, .next = state->idle};
    *plan = (struct MPIDI_PCOLL_plan){.state = state};
    leave_packed(&plan->in, &idle->plan.in);
    leave_packed(&plan->out, &idle->plan.out);
    state->idle = idle;
    all_bytes += bytes;
    drop_oldest(state);
    return true;
}

void MPIDI_PCOLL_reuse_disown(struct MPIDI_PCOLL_comm *state, const struct pcoll_medium *medium)
{
    for (struct MPIDI_PCOLL_idle *idle = state->idle; idle; idle = idle->next)
        idle->plan.medium = medium;
}

/* ---- at init ---- */

/* Ranks may have freed plans of one shape in different order, so it is the newest one. */
static struct MPIDI_PCOLL_idle **find(const struct MPIDI_PCOLL_call *call)
{
    struct MPIDI_PCOLL_idle **found = NULL;

    for (struct MPIDI_PCOLL_idle **link = &call->state->idle; *link; link = &(*link)->next)
        if (matches(&(*link)->plan, call) &&
            (!found || (*link)->plan.number > (*found)->plan.number))
            found = link;
    return found;
}

static void tell_memory(const struct MPIDI_PCOLL_plan *plan, const struct MPIDI_PCOLL_call *call)
{
    const struct pcoll_memory memory = {.send = MPIDI_PCOLL_data_address(&call->in),
                                        .recv = MPIDI_PCOLL_data_address(&call->out)};

    plan->medium->tell(plan->bound, &memory);
}

/* Returns whether a plan can have this data in the place of what it had. */
static bool fits(struct MPIDI_PCOLL_data *data, const struct MPIDI_PCOLL_data *had)
{
    if (!data->is_packed)
        return true;
    if (had->layout.pack)
        return MPIDI_PCOLL_data_can_be_cut(data);
    return data->owned == had->owned && data->is_copy == had->is_copy &&
           MPIDI_PCOLL_data_settle(data) == MPI_SUCCESS;
}

/* Info keys may say on rank 0 alone how to choose. */
uint64_t MPIDI_PCOLL_reuse_tell(struct MPIDI_PCOLL_call *call)
{
    struct MPIDI_PCOLL_idle **found;

    call->shape.is_known = false;
    if (!call->may_reuse || !call->eligible || call->is_unmapped || call->info ||
        (call->op && !is_predefined(&call->arguments)))
        return 0;
    describe(call, &call->shape);
    found = find(call);
    if (!found || !fits(&call->in, &(*found)->plan.in) || !fits(&call->out, &(*found)->plan.out))
        return 0;
    call->idle = *found;
    *found = call->idle->next;
    if (call->idle->plan.plan->user_rma)
        tell_memory(&call->idle->plan, call);
    return call->idle->plan.number;
}

const struct pcoll_choice *MPIDI_PCOLL_reuse_choice(const struct MPIDI_PCOLL_call *call)
{
    return call->idle ? &call->idle->plan.choice : NULL;
}

void MPIDI_PCOLL_reuse_hear(struct MPIDI_PCOLL_call *call, bool is_same)
{
    if (!call->idle || is_same)
        return;
    destroy(call->idle);
    call->idle = NULL;
}

static void print(const struct MPIDI_PCOLL_plan *plan)
{
    const struct pcoll_signature *signature = &plan->plan->signature;

    fprintf(stderr, "[%d] pcoll: %s %llu B on %d ranks: the plan of a freed request\n",
            MPIR_Process.rank, pcoll_coll_name(signature->coll),
            (unsigned long long)signature->bytes, signature->nranks);
}

static bool is_same_data(const struct MPIDI_PCOLL_data *a, const struct MPIDI_PCOLL_data *b)
{
    return !a->is_packed && a->user == b->user;
}

/* The data becomes the plan's. Returns its layout, or NULL. */
static const struct pcoll_user_layout *replace(struct MPIDI_PCOLL_data *had,
                                               struct MPIDI_PCOLL_data *data)
{
    const bool has_layout = had->layout.pack != NULL;

    hand_over(had, data);
    return has_layout ? MPIDI_PCOLL_data_lay_out(had) : NULL;
}

static void move(struct MPIDI_PCOLL_plan *plan, struct MPIDI_PCOLL_call *call)
{
    const bool is_same = is_same_data(&call->in, &plan->in) && is_same_data(&call->out, &plan->out);
    struct pcoll_memory memory = {.op = MPIDI_PCOLL_operator_base(plan->op)};

    memory.send_layout = replace(&plan->in, &call->in);
    memory.recv_layout = replace(&plan->out, &call->out);
    memory.send = MPIDI_PCOLL_data_address(&plan->in);
    memory.recv = MPIDI_PCOLL_data_address(&plan->out);
    if (!is_same || plan->plan->user_rma)
        plan->medium->move(plan->bound, plan->plan, &memory);
}

void MPIDI_PCOLL_reuse_take(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_plan *plan)
{
    struct MPIDI_PCOLL_idle *idle = call->idle;
    struct MPIDI_PCOLL_plan own = *plan;

    *plan = idle->plan;
    plan->completed = own.completed;
    plan->past = own.past;
    plan->starts = own.starts;
    plan->is_reused = true;
    move(plan, call);
    plan->state->refs++;
    forget(idle);
    MPIDI_PCOLL_reused_count++;
    if (call->comm->rank == 0 && MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 0)
        print(plan);
}
