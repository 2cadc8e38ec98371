#include "random_plan.h"
#include "compose.h"

enum { POISON = 0x5a };

static const struct layout dense = {1, {1}, {0}, 1, 1, 0, 1};

static int draw(uint64_t *state, int n)
{
    return (int)(check_random(state) % (uint64_t)n);
}

/* ---- pieces ---- */

static int has(const struct random_plan *p, enum trait trait)
{
    return coll_has(p->roles.coll, trait);
}

/* MPICH 4.0.2's alltoallw in place is wrong if types differ in size (see types.c). */
static int has_types(const struct random_plan *p)
{
    return has(p, TYPED) && (!p->roles.in_place || coll_has_plans(p->roles.coll));
}

/* Slots are receivers where there is one for each rank; elsewhere a topology decides who receives.
 */
static int is_empty(const struct random_plan *p, int sender, int slot)
{
    const enum blocks sends = collectives[p->roles.coll].sends;
    const int has_receivers = sends == ONE_PER_RANK || sends == ALL_OF_ROOT;

    return (p->form == FROM_ONE && sender != p->center) ||
           (p->form == TO_ONE && has_receivers && slot != p->center);
}

static size_t block_bytes(const struct random_plan *p, int sender, int slot)
{
    const int same = p->form == SAME_FOR_ALL && !has(p, REDUCES) && !p->roles.in_place;
    uint64_t x = check_key(p->seed, 1, same ? sender : (int)message_key(&p->roles, sender, slot));

    if (!has(p, VECTOR))
        return p->bytes;
    if (!has(p, REDUCES) && !p->roles.in_place && is_empty(p, sender, slot))
        return 0;
    return x % 4 == 0 ? 0 : p->bytes / LAYOUT_UNIT * (x % 16) / 15 * LAYOUT_UNIT;
}

static long count_of(const struct piece *piece)
{
    return (long)piece->bytes / piece->layout.size;
}

/* Where byte i of a piece lies, from the address that the library gets. */
static long place(const struct piece *piece, size_t i)
{
    return piece->at + (long)layout_place(&piece->layout, piece->bytes, i) -
           (long)layout_origin(&piece->layout, piece->bytes);
}

/* The distance from one block to the next: 0, or so that they overlap, follow each other, or go
 * backwards. */
static long pitch(const struct random_plan *p, int sender, long length)
{
    const long pitches[] = {0, length / 2, length + 1, -length - 1};

    return p->form == SAME_FOR_ALL ? 0 : pitches[check_key(p->seed, 2, sender) % 4];
}

static struct layout sent_layout(const struct random_plan *p, int sender, int slot)
{
    const int has_own = has_types(p) && p->form != SAME_FOR_ALL;
    uint64_t state = check_key(p->seed, 3, sender * MAX_EDGES + (has_own ? slot : 0));

    return has(p, REDUCES) ? dense : layout_random(&state, 1);
}

static struct piece sent_piece(const struct random_plan *p, int sender, int slot)
{
    struct piece piece = {sent_layout(p, sender, slot), block_bytes(p, sender, slot), 0};
    const long extent = piece.layout.extent, most = (long)p->bytes / piece.layout.size;

    if (has(p, REDUCES))
        for (int k = 0; k < slot; k++)
            piece.at += (long)block_bytes(p, sender, k);
    else if (has(p, TYPED))
        piece.at = slot * pitch(p, sender, 2 * (long)p->bytes + 7);
    else if (has(p, PLACED))
        piece.at = slot * pitch(p, sender, most) * extent;
    else
        piece.at = slot * most * extent;
    return piece;
}

/* How much memory the pieces touch, on both sides of the library's address. */
static void measure(struct memory *m)
{
    long low = 0, high = 0;

    for (int i = 0; i < m->n; i++) {
        const struct piece *piece = &m->pieces[i];
        const long begin = piece->at - (long)layout_origin(&piece->layout, piece->bytes);
        const long end = begin + (long)layout_span(&piece->layout, piece->bytes);

        low = begin < low ? begin : low;
        high = end > high ? end : high;
    }
    m->origin = -low;
    m->span = (size_t)(high - low);
}

static void make_sent(struct random_plan *p)
{
    struct memory *m = &p->sent;

    m->n = messages_sent(&p->roles);
    m->pieces = calloc((size_t)m->n + 1, sizeof(*m->pieces));
    for (int k = 0; k < m->n; k++)
        m->pieces[k] = sent_piece(p, p->roles.rank, k);
    measure(m);
}

/* Received blocks do not overlap. Those with displacements lie in any order, with gaps. */
static void place_received(const struct random_plan *p, uint64_t *local)
{
    const struct memory *m = &p->received;
    const int first = m->n > 0 ? draw(local, m->n) : 0;
    long at = 0;

    for (int i = 0; i < m->n; i++) {
        struct piece *piece = &m->pieces[has(p, PLACED) ? (first + m->n - i) % m->n : i];

        if (has(p, TYPED)) {
            piece->at = at + (long)layout_origin(&piece->layout, piece->bytes);
            at += (long)layout_span(&piece->layout, piece->bytes) + draw(local, 5);
        } else {
            piece->at = at * piece->layout.extent;
            at += count_of(piece) + (has(p, PLACED) ? draw(local, 3) : 0);
        }
    }
}

static void make_received(struct random_plan *p, uint64_t *local)
{
    struct memory *m = &p->received;
    const struct layout shared = has(p, REDUCES) ? dense : layout_random(local, 0);

    m->n = messages_received(&p->roles);
    m->pieces = calloc((size_t)m->n + 1, sizeof(*m->pieces));
    for (int l = 0; l < m->n; l++) {
        struct message from = message_received(&p->roles, l);

        m->pieces[l].layout = has_types(p) ? layout_random(local, 0) : shared;
        m->pieces[l].bytes = block_bytes(p, from.sender, from.slot);
    }
    place_received(p, local);
    measure(m);
    if (has(p, REDUCES) && p->call.in_place && m->span < p->sent.span)
        m->span = p->sent.span;
}

/* ---- data ---- */

/* In place on `rank`, what it sends lies in its receive buffer. */
static int sends_received(const struct random_plan *p, int rank)
{
    return is_in_place(&p->roles, rank) && collectives[p->roles.coll].sends != ALL_OF_ROOT;
}

static unsigned char pattern(const struct random_plan *p, int rank, long position)
{
    uint64_t x = check_key(p->seed, (uint64_t)p->step + 10, rank);

    x += (uint64_t)position * 0x9e3779b97f4a7c15u;
    return (unsigned char)((x ^ x >> 29) * 0xbf58476d1ce4e5b9u >> 56);
}

/* Byte i of what `sender` has in a slot: in place, bytes are numbered by themselves, otherwise by
 * their position, since blocks may overlap. */
static unsigned char sent(const struct random_plan *p, const struct piece *piece, int sender,
                          int slot, size_t i)
{
    if (sends_received(p, sender))
        return pattern(p, sender, slot * 1000003L + (long)i);
    return pattern(p, sender, place(piece, i));
}

static void expect_piece(struct random_plan *p, int l)
{
    const struct message from = message_received(&p->roles, l);
    const struct piece *to = &p->received.pieces[l];

    for (int r = 0; r < from.terms && from.sender != MPI_PROC_NULL; r++) {
        const struct piece piece = sent_piece(p, from.sender + r, from.slot);

        for (size_t i = 0; i < to->bytes; i++) {
            unsigned char *at = &p->expected[p->received.origin + place(to, i)];
            unsigned char next = sent(p, &piece, from.sender + r, from.slot, i);

            *at = r == 0 ? next : compose(*at, next);
        }
    }
}

/* The piece of the receive buffer that holds in place what is sent from `slot`. */
static struct piece own_piece(const struct random_plan *p, int slot)
{
    if (has(p, REDUCES))
        return sent_piece(p, p->roles.rank, slot);
    return p->received.pieces[p->sent.n == p->received.n ? slot : p->roles.rank];
}

static void fill_in_place(struct random_plan *p)
{
    for (int slot = 0; slot < p->sent.n; slot++) {
        const struct piece piece = own_piece(p, slot);

        for (size_t i = 0; i < piece.bytes; i++)
            p->received.bytes[p->received.origin + place(&piece, i)] =
                sent(p, &piece, p->roles.rank, slot, i);
    }
}

void random_plan_prepare(struct random_plan *p)
{
    struct memory *to = &p->received;

    p->step++;
    for (size_t i = 0; i < p->sent.span && p->sent.bytes != NULL; i++)
        p->sent.bytes[i] = pattern(p, p->roles.rank, (long)i - p->sent.origin);
    memset(to->bytes, POISON + p->step % 64, to->span);
    if (sends_received(p, p->roles.rank))
        fill_in_place(p);
    memcpy(p->expected, to->bytes, to->span);
    for (int l = 0; l < to->n; l++)
        expect_piece(p, l);
}

/* MPI leaves open what rank 0 of an exscan receives, and what remains behind the result of a
 * reduce_scatter in place. */
static size_t defined_span(const struct random_plan *p)
{
    if (p->roles.coll == COLL_EXSCAN && p->roles.rank == 0)
        return 0;
    return has(p, REDUCES) && p->received.n > 0 ? p->received.pieces[0].bytes : p->received.span;
}

void random_plan_verify(const struct random_plan *p)
{
    const unsigned char *is = p->received.bytes, *ought = p->expected;
    size_t i = 0;

    if (memcmp(is, ought, defined_span(p)) == 0)
        return;
    while (is[i] == ought[i])
        i++;
    check_fail(__FILE__, __LINE__,
               "%s%s of %zu bytes, root %d, %d ranks, start %d: place %zu of %zu is %02x, not %02x",
               collectives[p->roles.coll].name, p->roles.in_place ? " in place" : "", p->bytes,
               p->roles.root, p->roles.n, p->step, i, p->received.span, is[i], ought[i]);
}

/* ---- init ---- */

static struct side make_side(const struct random_plan *p, struct memory *m)
{
    struct side side = {m->bytes + m->origin, m->n, calloc((size_t)m->n + 1, sizeof(struct block))};

    side.blocks[m->n].type = MPI_BYTE;
    for (int i = 0; i < m->n; i++) {
        const struct piece *piece = &m->pieces[i];
        MPI_Datatype type;

        if (has(p, REDUCES))
            type = MPI_UNSIGNED_CHAR;
        else
            type = i == 0 || has_types(p) ? layout_type(&piece->layout) : side.blocks[0].type;
        side.blocks[i] = (struct block){piece->at, (int)count_of(piece), type};
    }
    return side;
}

static void free_side(const struct random_plan *p, struct side *side)
{
    for (int i = 0; side->blocks != NULL && !has(p, REDUCES) && i < side->n; i++)
        if (i == 0 || has_types(p))
            MPI(MPI_Type_free(&side->blocks[i].type));
    free(side->blocks);
}

static void make_sides(struct random_plan *p)
{
    const int is_neighbor = has(p, NEIGHBOR);

    if (p->sent.bytes != NULL || is_neighbor)
        p->call.send = make_side(p, &p->sent);
    if (p->received.n > 0 || is_neighbor)
        p->call.receive = make_side(p, &p->received);
    if (p->roles.coll == COLL_REDUCE_SCATTER && p->call.in_place) {
        free(p->call.receive.blocks);
        p->call.receive = make_side(p, &p->sent);
        p->call.receive.buffer = p->received.bytes;
    }
}

static size_t random_bytes(uint64_t *state, int n, size_t most)
{
    static const int small[] = {0, 0, 12, 24, 48, 60, 120, 504, 1020, 4092, 8196};
    const int limit = (int)most / (n > 4 ? n / 2 : 1);

    if (draw(state, 3) > 0)
        return (size_t)small[draw(state, 11)];
    return (size_t)draw(state, limit / LAYOUT_UNIT + 1) * LAYOUT_UNIT;
}

static MPI_Comm make_topology(struct random_plan *p, MPI_Comm comm)
{
    if (p->form == FROM_ONE || p->form == TO_ONE)
        return topology_star(comm, p->center, p->form == FROM_ONE, &p->roles.edges);
    return topology_any(comm, p->seed, &p->roles.edges);
}

static void draw_roles(struct random_plan *p, const struct random_row *row, uint64_t *shared,
                       MPI_Comm *comm_p)
{
    struct roles *roles = &p->roles;

    MPI_Comm_rank(*comm_p, &roles->rank);
    MPI_Comm_size(*comm_p, &roles->n);
    roles->coll = row ? row->coll : (enum coll)draw(shared, COLLS);
    roles->root = draw(shared, roles->n);
    roles->in_place = draw(shared, 2) && has(p, IN_PLACE);
    p->seed = check_random(shared);
    p->form = (enum random_form)(p->seed / 8 % (2 * RANDOM_FORMS)) % RANDOM_FORMS;
    p->center = (int)(p->seed / 64 % (uint64_t)roles->n);
    if (has(p, NEIGHBOR))
        *comm_p = make_topology(p, *comm_p);
}

/* The datatypes, the operator and the communicator may be freed as soon as the plan exists. */
void random_plan_init(struct random_plan *p, const struct random_row *row, uint64_t *shared,
                      uint64_t *local, size_t max_bytes, MPI_Comm comm)
{
    MPI_Info info = row ? call_algorithm(row->algorithm) : MPI_INFO_NULL;

    *p = (struct random_plan){.request = MPI_REQUEST_NULL};
    draw_roles(p, row, shared, &comm);
    p->bytes = random_bytes(shared, p->roles.n, max_bytes);
    p->call = (struct call){.coll = p->roles.coll,
                            .in_place = is_in_place(&p->roles, p->roles.rank),
                            .root = p->roles.root,
                            .op = compose_op(),
                            .comm = comm,
                            .info = info};
    make_sent(p);
    make_received(p, local);
    if (p->sent.n > 0 && !sends_received(p, p->roles.rank))
        p->sent.bytes = check_alloc(p->sent.span);
    p->received.bytes = check_alloc(p->received.span);
    p->expected = malloc(p->received.span + 1);
    make_sides(p);
    MPI(call_init(&p->call, &p->request));
    free_side(p, &p->call.send);
    free_side(p, &p->call.receive);
    MPI(MPI_Op_free(&p->call.op));
    if (row)
        MPI(MPI_Info_free(&info));
    if (has(p, NEIGHBOR))
        MPI(MPI_Comm_free(&comm));
}

void random_plan_free(struct random_plan *p)
{
    MPI(MPI_Request_free(&p->request));
    call_free(&p->call);
    check_free(p->sent.bytes);
    check_free(p->received.bytes);
    free(p->sent.pieces);
    free(p->received.pieces);
    free(p->expected);
}
