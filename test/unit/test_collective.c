/*
 * The rows of the collectives against naive loops. The proof, the simulators and the trials trust
 * `expect`, so this test states the same facts once more, as MPI defines them: which byte of which
 * rank each rank receives.
 */
#include "algorithms/plan/collective.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit/tap.h"

enum { MAX_RANKS = 9, MAX_BYTES = 7, ROOM = MAX_RANKS * MAX_BYTES };

/* The byte of SEND at `at`; it differs between ranks and positions. */
static uint16_t byte_of(int rank, uint64_t at)
{
    return (uint16_t)(rank * 2 * ROOM + (int)at);
}

/* An operator that neither commutes nor associates: only a fold in rank order gives its results. */
static unsigned char fold_of(unsigned char left, unsigned char right)
{
    return (unsigned char)(left * 5 + right * 3 + 1);
}

/* What MPI defines: fills `recv` and leaves it untouched where MPI says nothing; returns the sizes
 * of SEND and RECV in bytes. A collective without a case here does not compile. */
struct sizes {
    uint64_t send, recv;
};

/* `bytes` bytes of SEND from `from` on, of ranks [first, end). */
static void naive_fold(int first, int end, uint64_t from, uint64_t bytes, uint16_t recv[ROOM])
{
    for (uint64_t b = 0; b < bytes; b++)
        for (int r = first; r < end; r++)
            recv[b] = r == first ? byte_of(r, from + b) : fold_of(recv[b], byte_of(r, from + b));
}

static uint64_t naive_bytes(const struct pcoll_signature *s, int rank)
{
    return s->blocks ? s->blocks[rank + 1] - s->blocks[rank] : s->bytes;
}

/* The neighbor of a rank in slot `x` of the twisted torus, of which `plan/edges.h` says the rule.
 */
static int neighbor(const struct pcoll_signature *s, int rank, int x)
{
    const int side = s->nranks < 8 ? 1 : 2, strides[] = {1, side, side * side};

    return (rank + s->nranks * 4 + (x % 2 == 0 ? -1 : 1) * strides[x / 2]) % s->nranks;
}

/* What `rank` receives in slot x is block `block` of the neighbor. */
static void receive_slot(const struct pcoll_signature *s, int rank, int x, int block,
                         struct sizes *sizes, uint16_t recv[ROOM])
{
    for (uint64_t b = 0; b < s->bytes; b++)
        recv[sizes->recv++] = byte_of(neighbor(s, rank, x), (uint64_t)block * s->bytes + b);
}

static struct sizes naive(const struct pcoll_signature *s, int rank, uint16_t recv[ROOM])
{
    struct sizes sizes = {0, 0};

    switch (s->coll) {
        case PCOLL_BARRIER:
            break;
        case PCOLL_BCAST:
            if (rank == s->root) {
                sizes.send = s->bytes;
                break;
            }
            sizes.recv = s->bytes;
            for (uint64_t b = 0; b < s->bytes; b++)
                recv[b] = byte_of(s->root, b);
            break;
        case PCOLL_ALLGATHER:
        case PCOLL_ALLGATHERV:
            sizes.send = naive_bytes(s, rank);
            for (int r = 0; r < s->nranks; r++)
                for (uint64_t b = 0; b < naive_bytes(s, r); b++)
                    recv[sizes.recv++] = byte_of(r, b);
            break;
        case PCOLL_GATHER:
        case PCOLL_GATHERV:
            sizes.send = s->bytes;
            for (int r = 0; rank == s->root && r < s->nranks; r++)
                for (uint64_t b = 0; b < s->bytes; b++)
                    recv[sizes.recv++] = byte_of(r, b);
            break;
        case PCOLL_SCATTER:
        case PCOLL_SCATTERV:
            if (rank == s->root)
                sizes.send = (uint64_t)s->nranks * s->bytes;
            if (rank == s->root && s->in_place)
                break;
            sizes.recv = s->bytes;
            for (uint64_t b = 0; b < s->bytes; b++)
                recv[b] = byte_of(s->root, (uint64_t)rank * s->bytes + b);
            break;
        case PCOLL_ALLTOALL:
        case PCOLL_ALLTOALLV:
        case PCOLL_ALLTOALLW:
            sizes.send = (uint64_t)s->nranks * s->bytes;
            for (int r = 0; r < s->nranks; r++)
                for (uint64_t b = 0; b < s->bytes; b++)
                    recv[sizes.recv++] = byte_of(r, (uint64_t)rank * s->bytes + b);
            break;
        case PCOLL_NEIGHBOR_ALLGATHER:
        case PCOLL_NEIGHBOR_ALLGATHERV:
            sizes.send = s->bytes;
            for (int x = 0; x < 6; x++)
                receive_slot(s, rank, x, 0, &sizes, recv);
            break;
        case PCOLL_NEIGHBOR_ALLTOALL:
        case PCOLL_NEIGHBOR_ALLTOALLV:
        case PCOLL_NEIGHBOR_ALLTOALLW:
            sizes.send = 6 * s->bytes;
            for (int x = 0; x < 6; x++)
                receive_slot(s, rank, x, x ^ 1, &sizes, recv);
            break;
        case PCOLL_ALLREDUCE:
            sizes.send = sizes.recv = s->bytes;
            naive_fold(0, s->nranks, 0, s->bytes, recv);
            break;
        case PCOLL_REDUCE:
            sizes.send = s->bytes;
            sizes.recv = rank == s->root ? s->bytes : 0;
            naive_fold(0, s->nranks, 0, sizes.recv, recv);
            break;
        case PCOLL_REDUCE_SCATTER_BLOCK:
            sizes.send = (uint64_t)s->nranks * s->bytes;
            sizes.recv = s->in_place ? sizes.send : s->bytes;
            naive_fold(0, s->nranks, (uint64_t)rank * s->bytes, s->bytes, recv);
            break;
        case PCOLL_REDUCE_SCATTER: {
            uint64_t first = 0;

            for (int r = 0; r < s->nranks; r++) {
                const uint64_t bytes = naive_bytes(s, r);

                sizes.send += bytes;
                first += r < rank ? bytes : 0;
                sizes.recv = r == rank ? bytes : sizes.recv;
            }
            naive_fold(0, s->nranks, first, sizes.recv, recv);
            break;
        }
        case PCOLL_SCAN:
            sizes.send = sizes.recv = s->bytes;
            naive_fold(0, rank + 1, 0, s->bytes, recv);
            break;
        case PCOLL_EXSCAN:
            sizes.send = s->bytes;
            sizes.recv = rank > 0 ? s->bytes : 0;
            naive_fold(0, rank, 0, sizes.recv, recv);
            break;
        case PCOLL_NUM_COLLS:
            abort();
    }
    return sizes;
}

/* RECV according to the row; 0: a piece is empty, lies outside, overlaps another, or reads outside
 * SEND. */
static int expected(const struct pcoll_signature *s, int rank, uint16_t recv[ROOM])
{
    const struct pcoll_collective *row = pcoll_collective_of(s);
    const uint64_t room = row->recv_bytes(s, NULL, rank);
    unsigned char written[ROOM] = {0};
    struct pcoll_piece p;

    for (int i = 0; pcoll_expect(s, NULL, rank, i, &p); i++) {
        if (p.bytes == 0 || p.nranks < 1 || (p.is_fold && !pcoll_coll_has(s->coll, PCOLL_REDUCES)))
            return 0;
        for (uint64_t b = 0; b < (uint64_t)p.nranks * p.bytes; b++) {
            const int source = p.rank + (int)(b / p.bytes);
            const uint64_t from = p.from + b % p.bytes;
            const uint64_t to = p.first + (p.is_fold ? b % p.bytes : b);
            const int is_next = p.is_fold && b >= p.bytes;

            if (to >= room || (!is_next && written[to]++) || source >= s->nranks ||
                from >= row->send_bytes(s, NULL, source))
                return 0;
            recv[to] = is_next ? fold_of(recv[to], byte_of(source, from)) : byte_of(source, from);
        }
    }
    return 1;
}

static int is_right(const struct pcoll_signature *s, int rank)
{
    const struct pcoll_collective *row = pcoll_collective_of(s);
    const struct pcoll_span input = pcoll_input_in_recv(s, NULL, rank);
    uint16_t recv[ROOM], ought[ROOM];
    struct sizes sizes;

    memset(recv, 0xff, sizeof(recv));
    memset(ought, 0xff, sizeof(ought));
    sizes = naive(s, rank, ought);
    if (!expected(s, rank, recv) || memcmp(recv, ought, sizeof(recv)) != 0 ||
        row->send_bytes(s, NULL, rank) != sizes.send ||
        row->recv_bytes(s, NULL, rank) != sizes.recv)
        return 0;
    if (!pcoll_is_in_place(s, NULL, rank) || sizes.recv == 0)
        return input.count == 0;
    /* In place, the rank's own input is at its final position in RECV, unless it is reduced. */
    for (uint64_t b = 0; b < input.count && !pcoll_coll_has(s->coll, PCOLL_REDUCES); b++)
        if (ought[input.first + b] != byte_of(rank, b))
            return 0;
    return input.count == sizes.send;
}

/* Blocks of 0, 1, 2, ... bytes, if they may differ. */
static int test_blocks(struct pcoll_signature s)
{
    uint64_t blocks[MAX_RANKS + 1] = {0};
    int wrong = 0;

    for (int r = 0; r < s.nranks; r++) {
        const uint64_t bytes = (uint64_t)(r + s.nranks) % MAX_BYTES;

        blocks[r + 1] = blocks[r] + bytes;
        s.bytes = bytes > s.bytes ? bytes : s.bytes;
    }
    s.blocks = blocks;
    for (int rank = 0; rank < s.nranks; rank++)
        wrong += !is_right(&s, rank);
    return wrong + !pcoll_signature_is_valid(&s, NULL);
}

static int test_sizes(struct pcoll_signature *s)
{
    int wrong = 0;

    for (s->bytes = 0; s->bytes <= MAX_BYTES; s->bytes++)
        for (s->root = 0; s->root < s->nranks; s->root++)
            for (int rank = 0; rank < s->nranks; rank++)
                if (pcoll_signature_is_valid(s, NULL))
                    wrong += !is_right(s, rank);
    return wrong;
}

static void test_row(enum pcoll_coll coll)
{
    const struct pcoll_collective *row = pcoll_collectives[coll];
    int wrong = 0;

    tap_ok(row->name && row->send_bytes && row->recv_bytes && row->send_in_recv &&
               (row->pattern || (row->block_bytes && row->block_from)) &&
               pcoll_coll_find(row->name) == (int)coll,
           "%s: every slot is filled, and it is found by its name", row->name);
    for (int in_place = 0; in_place <= pcoll_coll_has(coll, PCOLL_IN_PLACE); in_place++)
        for (int nranks = 1; nranks <= MAX_RANKS; nranks++) {
            struct pcoll_signature s = {.coll = coll, .nranks = nranks, .in_place = in_place};

            wrong += test_sizes(&s);
            s = (struct pcoll_signature){.coll = coll, .nranks = nranks, .in_place = in_place};
            if (pcoll_coll_has(coll, PCOLL_VECTOR))
                wrong += test_blocks(s);
        }
    tap_ok(wrong == 0, "%s: sizes and results are those of a naive loop (%d wrong)", row->name,
           wrong);
}

static void test_signatures(void)
{
    const uint64_t blocks[3] = {0, 8, 16}, falling[3] = {0, 8, 7}, late[3] = {1, 9, 17};
    const struct pcoll_signature bad[] = {
        {.coll = PCOLL_NUM_COLLS, .nranks = 2},
        {.coll = PCOLL_BCAST, .nranks = 0},
        {.coll = PCOLL_BCAST, .nranks = 2, .root = 2},
        {.coll = PCOLL_BCAST, .nranks = 2, .root = -1},
        {.coll = PCOLL_BCAST, .nranks = 2, .in_place = 1},
        {.coll = PCOLL_BARRIER, .nranks = 2, .root = 1},
        {.coll = PCOLL_ALLGATHER, .nranks = 2, .bytes = 8, .blocks = blocks},
        {.coll = PCOLL_ALLGATHER, .nranks = 2, .bytes = 12, .unit = 8},
        {.coll = PCOLL_REDUCE_SCATTER, .nranks = 2, .bytes = 16, .blocks = blocks},
        {.coll = PCOLL_REDUCE_SCATTER, .nranks = 2, .bytes = 8, .blocks = blocks, .unit = 3},
        {.coll = PCOLL_REDUCE_SCATTER, .nranks = 2, .bytes = 8, .blocks = falling},
        {.coll = PCOLL_REDUCE_SCATTER, .nranks = 2, .bytes = 8, .blocks = late},
    };
    const struct pcoll_signature good = {
        .coll = PCOLL_ALLGATHER, .nranks = 2, .bytes = 16, .unit = 8, .in_place = 1};
    struct pcoll_signature other = good;
    int refused = 0;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refused += !pcoll_signature_is_valid(&bad[i], NULL);
    tap_ok(refused == (int)(sizeof(bad) / sizeof(bad[0])) && pcoll_signature_is_valid(&good, NULL),
           "signatures of impossible calls are refused");
    other.unit = 4;
    tap_ok(pcoll_signature_same(&good, &good) && !pcoll_signature_same(&good, &other),
           "signatures with different units differ");
    other = good;
    other.blocks = blocks;
    tap_ok(!pcoll_signature_same(&good, &other) && pcoll_signature_same(&other, &other),
           "signatures with and without blocks differ");
}

static void test_expectations(void)
{
    const struct pcoll_signature all = {.coll = PCOLL_ALLREDUCE, .nranks = 3, .bytes = 4};
    const struct pcoll_signature prefix = {.coll = PCOLL_SCAN, .nranks = 3, .bytes = 4};

    tap_ok(pcoll_expects_same(&all, NULL, 0, 2) && !pcoll_expects_same(&prefix, NULL, 0, 2) &&
               pcoll_expects_same(&prefix, NULL, 1, 1),
           "ranks of an allreduce expect the same, and ranks of a scan do not");
}

static void test_local(void)
{
    const struct pcoll_signature s = {.coll = PCOLL_ALLGATHER, .nranks = 3, .bytes = 5};
    const struct pcoll_local root = {.in_place = 1};
    const struct pcoll_span input = pcoll_input_in_recv(&s, &root, 2);

    tap_ok(input.first == 10 && input.count == 5 && pcoll_input_in_recv(&s, NULL, 2).count == 0,
           "a single rank can be in place");
}

int main(void)
{
    char names[12];

    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++)
        test_row((enum pcoll_coll)coll);
    test_signatures();
    test_local();
    test_expectations();
    pcoll_coll_names(names, sizeof(names));
    tap_ok(strcmp(names, "barrier, bc") == 0, "names are cut off where there is no room");
    tap_ok(pcoll_coll_find("bcas") == PCOLL_NONE && pcoll_coll_find("") == PCOLL_NONE,
           "no other name is found");
    return tap_done();
}
