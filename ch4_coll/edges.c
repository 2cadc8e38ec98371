/* The edges of a call: from the blocks that its arguments describe to what a plan needs to know.
 *
 * The k-th edge from a rank to another one, in the order of the sender's slots, meets the k-th edge
 * of the receiver (MPI 4.1, sections 8.6 and 8.7). On a Cartesian communicator what is sent in slot
 * x arrives in slot x ^ 1, so there the receiver orders its slots i by i ^ 1. */

#include "call.h"

#include "offload/pairs.h"

/* ---- neighbors ---- */

/* An edge of the topology: the neighbor, the number of the block, and how many edges with this
 * neighbor are before it. */
struct slot {
    int rank, key, block;
};

/* Those of a communicator, in the order of a call's edges. */
struct MPIDI_PCOLL_slots {
    int nout, nin;
    struct slot list[]; /* [nout + nin] */
};

static int by_rank_and_key(const void *left, const void *right)
{
    const struct slot *a = left, *b = right;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

/* Keys put the edges with a neighbor in order, and then count them. */
static void sort(struct slot *slots, int n)
{
    qsort(slots, n, sizeof(*slots), by_rank_and_key);
    for (int i = 0; i < n; i++)
        slots[i].key = i == 0 || slots[i - 1].rank != slots[i].rank ? 0 : slots[i - 1].key + 1;
}

/* Returns how many slots it has written. */
static int add_slots(const int *ranks, int n, int flip, struct slot *slots)
{
    int used = 0;

    for (int i = 0; i < n; i++)
        if (ranks[i] != MPI_PROC_NULL)
            slots[used++] = (struct slot){ranks[i], i ^ flip, i};
    sort(slots, used);
    return used;
}

/* NULL: out of memory, or a failure of MPICH. */
static struct MPIDI_PCOLL_slots *make_slots(MPIR_Comm *comm)
{
    struct MPIDI_PCOLL_neighbors neighbors;
    struct MPIDI_PCOLL_slots *slots = NULL;

    if (MPIDI_PCOLL_neighbors_init(&neighbors, comm) == MPI_SUCCESS)
        slots = MPL_malloc(sizeof(*slots) + (neighbors.ndestinations + neighbors.nsources) *
                                                sizeof(slots->list[0]),
                           MPL_MEM_COLL);
    if (slots) {
        slots->nout = add_slots(neighbors.destinations, neighbors.ndestinations, 0, slots->list);
        slots->nin = add_slots(neighbors.sources, neighbors.nsources, neighbors.flip,
                               slots->list + slots->nout);
    }
    MPIDI_PCOLL_neighbors_fini(&neighbors);
    return slots;
}

/* The topology of a communicator never changes. */
static const struct MPIDI_PCOLL_slots *find_slots(struct MPIDI_PCOLL_comm *state)
{
    if (!state->slots)
        state->slots = make_slots(state->comm);
    return state->slots;
}

/* ---- who sends to whom ---- */

/* The edges of one direction, in ascending order. */
struct side {
    struct MPIDI_PCOLL_edge *edges; /* [room] */
    int n;
};

static void add(struct side *side, int rank, int key, struct MPIDI_PCOLL_block block)
{
    side->edges[side->n++] =
        (struct MPIDI_PCOLL_edge){.edge = {.rank = rank, .key = key}, .block = block};
}

/* Block i for or from each rank i. */
static void add_all(const struct MPIDI_PCOLL_call *call, const struct MPIDI_PCOLL_blocks *blocks,
                    struct side *side)
{
    for (int i = 0; i < call->comm->local_size; i++)
        if (i != call->comm->rank || call->in_place != MPIDI_PCOLL_KEEPS_OWN)
            add(side, i, 0, MPIDI_PCOLL_block(blocks, i));
}

/* The only block, for or from the root. */
static void add_root(const struct MPIDI_PCOLL_call *call, const struct MPIDI_PCOLL_blocks *blocks,
                     struct side *side)
{
    if (call->in_place != MPIDI_PCOLL_KEEPS_OWN)
        add(side, call->signature.root, 0, MPIDI_PCOLL_block(blocks, 0));
}

static void add_slots_of(const struct MPIDI_PCOLL_blocks *blocks, const struct slot *slots, int n,
                         struct side *side)
{
    for (int i = 0; i < n; i++)
        add(side, slots[i].rank, slots[i].key, MPIDI_PCOLL_block(blocks, slots[i].block));
}

static void add_edges(const struct MPIDI_PCOLL_call *call, const struct MPIDI_PCOLL_slots *slots,
                      struct side *out, struct side *in)
{
    const struct MPIDI_PCOLL_arguments *a = &call->arguments;
    const bool is_root = call->comm->rank == call->signature.root;

    if (slots) {
        add_slots_of(&a->send, slots->list, slots->nout, out);
        add_slots_of(&a->receive, slots->list + slots->nout, slots->nin, in);
    } else if (call->signature.coll == PCOLL_GATHERV) {
        add_root(call, &a->send, out);
        if (is_root)
            add_all(call, &a->receive, in);
    } else if (call->signature.coll == PCOLL_SCATTERV) {
        if (is_root)
            add_all(call, &a->send, out);
        add_root(call, &a->receive, in);
    } else {
        add_all(call, &a->send, out);
        add_all(call, &a->receive, in);
    }
}

/* ---- the description of a call ---- */

static bool is_on_device(const struct side *side)
{
    for (int i = 0; i < side->n; i++)
        if (side->edges[i].block.count > 0 &&
            MPIR_GPU_query_pointer_is_dev(side->edges[i].block.user))
            return true;
    return false;
}

/* NULL: out of memory. */
static struct pcoll_local *make_local(const struct side *out, const struct side *in)
{
    struct pcoll_local *local =
        MPL_calloc(1, sizeof(*local) + (out->n + in->n) * sizeof(struct pcoll_edge), MPL_MEM_COLL);

    if (!local)
        return NULL;
    local->nin = in->n;
    local->nout = out->n;
    local->in = (struct pcoll_edge *)(local + 1);
    local->out = local->in + in->n;
    for (int i = 0; i < in->n; i++)
        local->in[i] = in->edges[i].edge;
    for (int i = 0; i < out->n; i++)
        local->out[i] = out->edges[i].edge;
    return local;
}

/* The largest block, the edges with data to others, and all bytes of this direction; returns what
 * the rank keeps. */
static uint64_t sum_up(const struct pcoll_edge *edges, int n, int rank,
                       struct pcoll_signature *signature, uint64_t *volume_p)
{
    uint64_t kept = 0;
    int degree = 1; /* 0 would mean that edges are uniform */

    for (int i = 0, others = 0; i < n; i++) {
        if (edges[i].rank == rank) {
            kept += edges[i].bytes;
        } else {
            others += edges[i].bytes > 0;
            *volume_p += edges[i].bytes;
        }
        degree = MPL_MAX(degree, others);
        signature->bytes = MPL_MAX(signature->bytes, edges[i].bytes);
    }
    signature->degree = MPL_MAX(signature->degree, degree);
    return kept;
}

static bool describe(struct MPIDI_PCOLL_call *call, struct side *out, struct side *in)
{
    const bool is_copy = call->in_place == MPIDI_PCOLL_SENDS_COPY;
    const int rank = call->comm->rank;
    struct pcoll_signature *signature = &call->signature;
    struct pcoll_local *local;

    if (is_on_device(out) || is_on_device(in))
        return false;
    if (MPIDI_PCOLL_data_init_blocks(&call->in, out->edges, out->n, is_copy) != MPI_SUCCESS ||
        MPIDI_PCOLL_data_init_blocks(&call->out, in->edges, in->n, false) != MPI_SUCCESS)
        return false;
    call->local = local = make_local(out, in);
    if (!local)
        return false;
    signature->typed = call->in.is_packed || call->out.is_packed;
    signature->kept = sum_up(local->in, local->nin, rank, signature, &signature->in_volume);
    sum_up(local->out, local->nout, rank, signature, &signature->out_volume);
    return true;
}

void MPIDI_PCOLL_describe_edges(struct MPIDI_PCOLL_call *call)
{
    const struct MPIDI_PCOLL_slots *slots = NULL;
    int nout = call->comm->local_size, nin = nout;
    struct side out = {.n = 0}, in = {.n = 0};

    call->eligible = false;
    if (pcoll_coll_has(call->signature.coll, PCOLL_NEIGHBORS)) {
        slots = find_slots(call->state);
        if (!slots)
            return;
        nout = slots->nout;
        nin = slots->nin;
    } else if (pcoll_coll_has(call->signature.coll, PCOLL_ROOTED) &&
               call->comm->rank != call->signature.root) {
        nout = nin = 1; /* at most, with the root */
    }
    out.edges = MPL_malloc((nout + nin + 1) * sizeof(*out.edges), MPL_MEM_COLL);
    if (!out.edges)
        return;
    in.edges = out.edges + nout;
    add_edges(call, slots, &out, &in);
    call->eligible = describe(call, &out, &in);
    MPL_free(out.edges);
}
