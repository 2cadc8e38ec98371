#include "trial.h"
#include "board.h"
#include "compose.h"

/* ---- kinds ---- */

static const struct {
    const char *name;
    enum coll coll;
    int in_place;
} kinds[TRIAL_KINDS] = {
#define PLAIN(NAME, name) {#name, COLL_##NAME, 0},
#define BOTH(NAME, name) PLAIN(NAME, name){#name " in place", COLL_##NAME, 1},
    COLLECTIVES(PLAIN, BOTH)
#undef PLAIN
#undef BOTH
};

const char *trial_name(enum trial_kind kind)
{
    return kinds[kind].name;
}

enum coll trial_coll(enum trial_kind kind)
{
    return kinds[kind].coll;
}

int trial_wanted(enum trial_kind kind)
{
    return coll_wanted(kinds[kind].coll);
}

int trial_has_plans(enum trial_kind kind)
{
    return coll_has_plans(kinds[kind].coll);
}

/* ---- which blocks ---- */

/* Behind each block with a displacement. */
enum { GAP = 3, POISON = 0xA5 };

static size_t block_bytes(const struct trial *t, long key)
{
    static const unsigned char eighths[] = {8, 8, 4, 8, 0, 8, 7, 8};
    const uint64_t x = check_key(t->tag, 0, (int)key);

    if (!coll_has(t->coll, VECTOR))
        return t->bytes;
    return (t->bytes * eighths[x % 8] + 7) / 8;
}

static struct trial_part part_of(const struct trial *t, struct message message)
{
    const long key = message_key(&t->roles, message.sender, message.slot);

    return (struct trial_part){.message = message, .bytes = block_bytes(t, key)};
}

int trial_side_by_side = 0;

/* In an allgatherv, the gaps are on all ranks, on none, or on one. */
static int has_gaps(const struct trial *t)
{
    if (!coll_has(t->coll, PLACED) || trial_side_by_side)
        return 0;
    return t->coll != COLL_ALLGATHERV || t->tag % 3 == 0 || (t->tag % 3 == 1 && t->rank == 0);
}

/* Places the blocks, and returns the bytes that they span. */
static size_t place_parts(const struct trial *t, struct trial_part *parts, int n)
{
    const int reverse = has_gaps(t);
    size_t at = 0;

    for (int i = 0; i < n; i++) {
        struct trial_part *part = &parts[reverse ? n - 1 - i : i];

        part->place = at;
        at += part->bytes + (reverse ? GAP : 0);
    }
    return at;
}

static void list_parts(struct trial *t)
{
    t->nsent = messages_sent(&t->roles);
    t->nreceived = messages_received(&t->roles);
    t->sent = calloc((size_t)t->nsent + 1, sizeof(*t->sent));
    t->received = calloc((size_t)t->nreceived + 1, sizeof(*t->received));
    for (int k = 0; k < t->nsent; k++)
        t->sent[k] = part_of(t, (struct message){t->rank, k, 1});
    for (int l = 0; l < t->nreceived; l++)
        t->received[l] = part_of(t, message_received(&t->roles, l));
    t->send_span = place_parts(t, t->sent, t->nsent);
    t->receive_span = place_parts(t, t->received, t->nreceived);
}

/* In place, what the rank sends lies in its receive buffer: one of several blocks, or all. */
static void move_in_place(struct trial *t)
{
    if (t->nreceived == t->nsent && !coll_has(t->coll, REDUCES))
        for (int k = 0; k < t->nsent; k++)
            t->sent[k].place = t->received[k].place;
    else if (!coll_has(t->coll, REDUCES))
        t->sent[0].place = t->received[t->rank].place;
    if (t->receive_span < t->send_span)
        t->receive_span = t->send_span;
}

/* ---- init ---- */

/* Every second block gets a type of its own, which may be empty. In place these are as long as the
 * others: MPICH 4.0.2 takes the size of another block's type for that of a block (see types.c). */
static void make_types(struct block *blocks, int n, int in_place)
{
    for (int i = 0; i < n; i += 2) {
        const int length = in_place ? 1 : blocks[i].count;

        MPI(MPI_Type_contiguous(length, MPI_BYTE, &blocks[i].type));
        MPI(MPI_Type_commit(&blocks[i].type));
        blocks[i].count = in_place ? blocks[i].count : 1;
    }
}

static struct side make_side(const struct trial *t, char *buffer, const struct trial_part *parts,
                             int n)
{
    const MPI_Datatype type = coll_has(t->coll, REDUCES) ? MPI_UNSIGNED_CHAR : MPI_BYTE;
    struct side side = {buffer, n, calloc((size_t)n + 1, sizeof(struct block))};

    side.blocks[n].type = type;
    for (int i = 0; i < n; i++)
        side.blocks[i] = (struct block){(MPI_Aint)parts[i].place, (int)parts[i].bytes, type};
    if (coll_has(t->coll, TYPED))
        make_types(side.blocks, n, t->in_place);
    return side;
}

static void free_side(const struct trial *t, struct side *side)
{
    for (int i = 0; side->blocks != NULL && coll_has(t->coll, TYPED) && i < side->n; i += 2)
        MPI(MPI_Type_free(&side->blocks[i].type));
    free(side->blocks);
}

static void make_sides(struct trial *t)
{
    const int always = coll_has(t->coll, NEIGHBOR);

    if (t->send != NULL || always)
        t->call.send = make_side(t, t->send, t->sent, t->nsent);
    if (t->coll == COLL_REDUCE_SCATTER && t->in_place)
        t->call.receive = make_side(t, t->receive, t->sent, t->nsent);
    else if (t->receive != NULL || always)
        t->call.receive = make_side(t, t->receive, t->received, t->nreceived);
}

/* Types, operator and topology are freed as soon as the plan exists. */
static int init_call(struct trial *t, MPI_Comm comm, MPI_Info info)
{
    const int has_op = coll_has(t->coll, REDUCES) && !kinds[t->kind].in_place;
    int rc;

    t->call = (struct call){.coll = t->coll,
                            .in_place = t->in_place,
                            .root = t->root,
                            .comm = comm,
                            .info = info,
                            .op = has_op ? compose_op() : MPI_SUM};
    make_sides(t);
    rc = call_init(&t->call, &t->request);
    free_side(t, &t->call.send);
    free_side(t, &t->call.receive);
    if (has_op)
        MPI(MPI_Op_free(&t->call.op));
    return rc;
}

static void alloc_buffers(struct trial *t)
{
    const int leaves_send = t->in_place && t->nreceived > 0;

    if (leaves_send)
        move_in_place(t);
    if (t->nsent > 0 && !leaves_send)
        t->send = check_alloc(t->send_span);
    if (t->nreceived > 0)
        t->receive = check_alloc(t->receive_span);
}

int trial_try_on(struct trial *t, enum trial_kind kind, size_t bytes, int root, uint64_t tag,
                 MPI_Comm comm, const struct edges *edges, MPI_Info info)
{
    *t = (struct trial){
        .kind = kind, .coll = kinds[kind].coll, .bytes = bytes, .root = root, .tag = tag};
    MPI_Comm_rank(comm, &t->rank);
    MPI_Comm_size(comm, &t->size);
    t->roles = (struct roles){t->coll, kinds[kind].in_place, t->rank, t->size, root, *edges};
    t->in_place = is_in_place(&t->roles, t->rank);
    t->request = MPI_REQUEST_NULL;
    if (kind == TRIAL_BARRIER)
        t->board = board_map(t->size, comm);
    list_parts(t);
    alloc_buffers(t);
    return init_call(t, comm, info);
}

void trial_init_on(struct trial *t, enum trial_kind kind, size_t bytes, int root, uint64_t tag,
                   MPI_Comm comm, const struct edges *edges, MPI_Info info)
{
    MPI(trial_try_on(t, kind, bytes, root, tag, comm, edges, info));
}

void trial_init(struct trial *t, enum trial_kind kind, size_t bytes, int root, uint64_t tag,
                MPI_Comm comm, MPI_Info info)
{
    struct edges edges = {0};

    if (!coll_has(kinds[kind].coll, NEIGHBOR)) {
        trial_init_on(t, kind, bytes, root, tag, comm, &edges, info);
        return;
    }
    comm = topology_any(comm, tag, &edges);
    trial_init_on(t, kind, bytes, root, tag, comm, &edges, info);
    MPI(MPI_Comm_free(&comm));
}

/* ---- data ---- */

static uint64_t key_of(const struct trial *t, int sender, int slot)
{
    return check_key(t->tag, t->step, sender * MAX_EDGES + slot);
}

void trial_prepare(struct trial *t)
{
    char *from = t->send != NULL ? t->send : t->receive;

    t->step++;
    if (t->kind == TRIAL_BARRIER)
        __atomic_store_n(&t->board[t->rank], (uint32_t)t->step, __ATOMIC_RELEASE);
    if (t->receive != NULL)
        check_poison(t->receive, t->receive_span);
    for (int k = 0; k < t->nsent; k++)
        check_fill(from + t->sent[k].place, t->sent[k].bytes, key_of(t, t->rank, k));
}

void trial_start(struct trial *t)
{
    trial_prepare(t);
    MPI(MPI_Start(&t->request));
}

static void verify_board(const struct trial *t)
{
    for (int r = 0; r < t->size; r++) {
        uint32_t entered = __atomic_load_n(&t->board[r], __ATOMIC_ACQUIRE);

        /* No rank is behind, and none can have left the next barrier without this one. */
        if (entered != (uint32_t)t->step && entered != (uint32_t)t->step + 1)
            check_fail(__FILE__, __LINE__, "rank %d is at barrier %u, this one is %u", r, entered,
                       (uint32_t)t->step);
    }
}

static void compare_bytes(const struct trial *t, const unsigned char *is,
                          const unsigned char *ought, size_t bytes)
{
    size_t i = 0;

    if (bytes == 0 || memcmp(is, ought, bytes) == 0)
        return;
    while (is[i] == ought[i])
        i++;
    check_fail(__FILE__, __LINE__, "%s of %zu bytes: byte %zu is %02x, not %02x",
               trial_name(t->kind), t->bytes, i, is[i], ought[i]);
}

static void verify_reduced(const struct trial *t, const struct trial_part *part)
{
    const struct message *m = &part->message;
    unsigned char *sum = malloc(2 * part->bytes + 1), *operand = sum + part->bytes;

    check_fill(sum, part->bytes, key_of(t, m->sender, m->slot));
    for (int r = 1; r < m->terms; r++) {
        check_fill(operand, part->bytes, key_of(t, m->sender + r, m->slot));
        for (size_t i = 0; i < part->bytes; i++)
            sum[i] = kinds[t->kind].in_place ? (unsigned char)(sum[i] + operand[i])
                                             : compose(sum[i], operand[i]);
    }
    compare_bytes(t, (const unsigned char *)t->receive + part->place, sum, part->bytes);
    free(sum);
}

static void verify_untouched(const struct trial *t, size_t first, size_t bytes)
{
    for (size_t i = first; i < first + bytes; i++)
        if ((unsigned char)t->receive[i] != POISON) {
            check_fail(__FILE__, __LINE__, "%s of %zu bytes: byte %zu of %zu was written",
                       trial_name(t->kind), t->bytes, i, t->receive_span);
            return;
        }
}

static void verify_part(const struct trial *t, const struct trial_part *part)
{
    const struct message *m = &part->message;

    if (m->sender == MPI_PROC_NULL)
        verify_untouched(t, part->place, part->bytes);
    else if (m->terms > 1)
        verify_reduced(t, part);
    else if (m->terms == 1)
        check_compare(t->receive + part->place, part->bytes, key_of(t, m->sender, m->slot));
    if (has_gaps(t))
        verify_untouched(t, part->place + part->bytes, GAP);
}

/* What was sent has not changed. (MPI leaves open what rank 0 receives in an exscan.) */
void trial_verify(const struct trial *t)
{
    if (t->kind == TRIAL_BARRIER)
        verify_board(t);
    for (int l = 0; l < t->nreceived; l++)
        verify_part(t, &t->received[l]);
    for (int k = 0; t->send != NULL && k < t->nsent; k++)
        check_compare(t->send + t->sent[k].place, t->sent[k].bytes, key_of(t, t->rank, k));
}

void trial_wait(struct trial *t)
{
    MPI(MPI_Wait(&t->request, MPI_STATUS_IGNORE));
    CHECK(t->request != MPI_REQUEST_NULL);
    check_progress();
    trial_verify(t);
}

void trial_run(struct trial *t, int times)
{
    for (int i = 0; i < times; i++) {
        check_delay();
        trial_start(t);
        check_delay();
        trial_wait(t);
    }
}

void trial_free(struct trial *t)
{
    if (t->request != MPI_REQUEST_NULL)
        MPI(MPI_Request_free(&t->request));
    CHECK(t->request == MPI_REQUEST_NULL);
    call_free(&t->call);
    check_free(t->send);
    check_free(t->receive);
    free(t->sent);
    free(t->received);
    board_unmap(t->board, t->size);
}

void trial_all_kinds(size_t bytes, int root, uint64_t tag, int times, MPI_Comm comm, MPI_Info info)
{
    for (int kind = 0; kind < TRIAL_KINDS; kind++) {
        struct trial t;

        if (!trial_wanted((enum trial_kind)kind))
            continue;
        trial_init(&t, (enum trial_kind)kind, bytes, root, tag, comm, info);
        trial_run(&t, times);
        trial_free(&t);
    }
}
