/* The rows of the collectives; the contract is in collective.h. */
#include "algorithms/plan/collective.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "algorithms/plan/edges.h"

/* ---- parts of rows ---- */

#define SIZE_ARGUMENTS                                                                             \
    const struct pcoll_signature *signature, const struct pcoll_local *local, int rank

static uint64_t nothing(SIZE_ARGUMENTS)
{
    (void)signature, (void)local, (void)rank;
    return 0;
}

static uint64_t one_block(SIZE_ARGUMENTS)
{
    (void)local, (void)rank;
    return signature->bytes;
}

static uint64_t all_blocks(SIZE_ARGUMENTS)
{
    (void)local, (void)rank;
    return (uint64_t)signature->nranks * signature->bytes;
}

static uint64_t block_of_root(SIZE_ARGUMENTS)
{
    (void)local;
    return rank == signature->root ? signature->bytes : 0;
}

static uint64_t block_of_others(SIZE_ARGUMENTS)
{
    (void)local;
    return rank == signature->root ? 0 : signature->bytes;
}

static uint64_t all_blocks_of_root(SIZE_ARGUMENTS)
{
    return rank == signature->root ? all_blocks(signature, local, rank) : 0;
}

/* In place, its block stays in SEND. */
static uint64_t one_block_if_moved(SIZE_ARGUMENTS)
{
    return pcoll_is_in_place(signature, local, rank) ? 0 : signature->bytes;
}

static uint64_t all_unequal_blocks(SIZE_ARGUMENTS)
{
    (void)local, (void)rank;
    return pcoll_block_first(signature, signature->nranks);
}

static uint64_t own_block(SIZE_ARGUMENTS)
{
    (void)local;
    return pcoll_block_bytes(signature, rank);
}

/* In place, all blocks of its own are there before. */
static uint64_t one_block_or_input(SIZE_ARGUMENTS)
{
    return pcoll_is_in_place(signature, local, rank) ? all_blocks(signature, local, rank)
                                                     : signature->bytes;
}

static uint64_t block_of_successors(SIZE_ARGUMENTS)
{
    (void)local;
    return rank > 0 ? signature->bytes : 0;
}

static uint64_t at_begin(const struct pcoll_signature *signature, int rank)
{
    (void)signature, (void)rank;
    return 0;
}

static uint64_t at_own_block(const struct pcoll_signature *signature, int rank)
{
    return pcoll_block_first(signature, rank);
}

/* ---- the rows ---- */

/* Without edges: the sizes of SEND and RECV; where SEND begins in RECV if it is in place; and of
 * the piece that RECV must hold, the size of a block, where it begins in SEND, and the ranks that
 * it is from. */
#define WITH_PIECE(identifier, its_traits, send, recv, in_recv, block, from, ranks)                \
    static const struct pcoll_collective identifier = {                                            \
        .name = #identifier,                                                                       \
        .traits = its_traits,                                                                      \
        .send_bytes = send,                                                                        \
        .recv_bytes = recv,                                                                        \
        .send_in_recv = in_recv,                                                                   \
        .block_bytes = block,                                                                      \
        .block_from = from,                                                                        \
        .sources = PCOLL_FROM_##ranks,                                                             \
    }

WITH_PIECE(barrier, PCOLL_SYNCHRONIZES, nothing, nothing, at_begin, nothing, at_begin, ALL);
WITH_PIECE(bcast, PCOLL_ROOTED, block_of_root, block_of_others, at_begin, block_of_others, at_begin,
           ROOT);
WITH_PIECE(allgather, PCOLL_IN_PLACE, one_block, all_blocks, at_own_block, one_block, at_begin,
           ALL);
WITH_PIECE(gather, PCOLL_ROOTED | PCOLL_IN_PLACE, one_block, all_blocks_of_root, at_own_block,
           block_of_root, at_begin, ALL);
WITH_PIECE(scatter, PCOLL_ROOTED | PCOLL_IN_PLACE, all_blocks_of_root, one_block_if_moved, at_begin,
           one_block_if_moved, at_own_block, ROOT);
WITH_PIECE(alltoall, 0, all_blocks, all_blocks, at_begin, one_block, at_own_block, ALL);
WITH_PIECE(allreduce, PCOLL_IN_PLACE | PCOLL_REDUCES, one_block, one_block, at_begin, one_block,
           at_begin, ALL);
WITH_PIECE(reduce, PCOLL_ROOTED | PCOLL_IN_PLACE | PCOLL_REDUCES, one_block, block_of_root,
           at_begin, block_of_root, at_begin, ALL);
WITH_PIECE(reduce_scatter_block, PCOLL_IN_PLACE | PCOLL_REDUCES, all_blocks, one_block_or_input,
           at_begin, own_block, at_own_block, ALL);
WITH_PIECE(reduce_scatter, PCOLL_VECTOR | PCOLL_REDUCES, all_unequal_blocks, own_block, at_begin,
           own_block, at_own_block, ALL);
WITH_PIECE(scan, PCOLL_IN_PLACE | PCOLL_REDUCES, one_block, one_block, at_begin, one_block,
           at_begin, PREFIX);
WITH_PIECE(exscan, PCOLL_IN_PLACE | PCOLL_REDUCES, one_block, block_of_successors, at_begin,
           block_of_successors, at_begin, LOWER);

/* With `local`, nothing is in place: a block that stays where it is has no edge, and SEND is what
 * the out edges name, wherever that lies. */
#define WITH_EDGES(identifier, more_traits, uniform, own_in_recv)                                  \
    static const struct pcoll_collective identifier = {                                            \
        .name = #identifier,                                                                       \
        .traits = PCOLL_EDGES | (more_traits),                                                     \
        .send_bytes = pcoll_edges_send_bytes,                                                      \
        .recv_bytes = pcoll_edges_recv_bytes,                                                      \
        .send_in_recv = own_in_recv,                                                               \
        .pattern = &uniform,                                                                       \
    }

WITH_EDGES(allgatherv, PCOLL_VECTOR | PCOLL_IN_PLACE, pcoll_pattern_spread, at_own_block);
WITH_EDGES(gatherv, PCOLL_ROOTED, pcoll_pattern_to_root, at_begin);
WITH_EDGES(scatterv, PCOLL_ROOTED, pcoll_pattern_from_root, at_begin);
WITH_EDGES(alltoallv, 0, pcoll_pattern_complete, at_begin);
WITH_EDGES(alltoallw, 0, pcoll_pattern_complete, at_begin);
WITH_EDGES(neighbor_allgather, PCOLL_NEIGHBORS, pcoll_pattern_spread_torus, at_begin);
WITH_EDGES(neighbor_allgatherv, PCOLL_NEIGHBORS, pcoll_pattern_spread_torus, at_begin);
WITH_EDGES(neighbor_alltoall, PCOLL_NEIGHBORS, pcoll_pattern_torus, at_begin);
WITH_EDGES(neighbor_alltoallv, PCOLL_NEIGHBORS, pcoll_pattern_torus, at_begin);
WITH_EDGES(neighbor_alltoallw, PCOLL_NEIGHBORS, pcoll_pattern_torus, at_begin);

#define ROW(NAME, name) [PCOLL_##NAME] = &name,
const struct pcoll_collective *const pcoll_collectives[PCOLL_NUM_COLLS] = {PCOLL_COLLECTIVES(ROW)};

/* ---- names ---- */

const char *pcoll_coll_name(enum pcoll_coll coll)
{
    return (unsigned)coll < PCOLL_NUM_COLLS ? pcoll_collectives[coll]->name : "?";
}

int pcoll_coll_find(const char *name)
{
    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++)
        if (strcmp(pcoll_collectives[coll]->name, name) == 0)
            return coll;
    return PCOLL_NONE;
}

void pcoll_coll_names(char *text, size_t size)
{
    size_t used = 0;

    for (int coll = 0; coll < PCOLL_NUM_COLLS && used < size; coll++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", coll > 0 ? ", " : "",
                                 pcoll_collectives[coll]->name);
}

/* ---- what follows from a signature and the row of its collective ---- */

uint64_t pcoll_block_bytes(const struct pcoll_signature *signature, int rank)
{
    const uint64_t *blocks = signature->blocks;

    return blocks ? blocks[rank + 1] - blocks[rank] : signature->bytes;
}

uint64_t pcoll_block_first(const struct pcoll_signature *signature, int rank)
{
    return signature->blocks ? signature->blocks[rank] : (uint64_t)rank * signature->bytes;
}

/* `bytes` is the largest of them, and all are whole units. */
static bool blocks_are_valid(const struct pcoll_signature *signature, uint64_t unit)
{
    const uint64_t *blocks = signature->blocks;
    uint64_t largest = 0;

    for (int r = 0; r < signature->nranks; r++) {
        if (blocks[r + 1] < blocks[r] || pcoll_block_bytes(signature, r) % unit != 0)
            return false;
        if (pcoll_block_bytes(signature, r) > largest)
            largest = pcoll_block_bytes(signature, r);
    }
    return blocks[0] == 0 && largest == signature->bytes;
}

bool pcoll_signature_is_valid(const struct pcoll_signature *signature,
                              const struct pcoll_local *local)
{
    const uint64_t unit = signature->unit ? signature->unit : 1;
    const bool has_edges = local != NULL && (local->nin > 0 || local->nout > 0);
    const bool is_local = has_edges || signature->degree > 0 || signature->in_volume > 0 ||
                          signature->out_volume > 0 || signature->kept > 0;
    unsigned traits;

    if ((unsigned)signature->coll >= PCOLL_NUM_COLLS)
        return false;
    traits = pcoll_collectives[signature->coll]->traits;
    return signature->nranks >= 1 && signature->root >= 0 && signature->root < signature->nranks &&
           signature->bytes % unit == 0 && (traits & PCOLL_ROOTED || signature->root == 0) &&
           (traits & PCOLL_IN_PLACE || !signature->in_place) &&
           (traits & PCOLL_VECTOR || signature->blocks == NULL) &&
           (signature->blocks == NULL || blocks_are_valid(signature, unit)) &&
           signature->degree >= 0 &&
           (!is_local || (traits & PCOLL_EDGES && !signature->blocks && !signature->in_place));
}

static bool same_crossing(const struct pcoll_crossing *a, const struct pcoll_crossing *b)
{
    return a->degree == b->degree && a->edges == b->edges && a->messages == b->messages &&
           a->led == b->led && a->bytes == b->bytes && a->shared == b->shared && a->temp == b->temp;
}

bool pcoll_signature_same(const struct pcoll_signature *a, const struct pcoll_signature *b)
{
    const size_t blocks_bytes = ((size_t)a->nranks + 1) * sizeof(*a->blocks);

    return a->coll == b->coll && a->nranks == b->nranks && a->root == b->root &&
           a->bytes == b->bytes && a->in_place == b->in_place && a->unit == b->unit &&
           a->commutes == b->commutes && a->typed == b->typed && a->degree == b->degree &&
           a->in_volume == b->in_volume && a->out_volume == b->out_volume && a->kept == b->kept &&
           same_crossing(&a->crossing, &b->crossing) &&
           (a->blocks == NULL) == (b->blocks == NULL) &&
           (a->blocks == NULL || memcmp(a->blocks, b->blocks, blocks_bytes) == 0);
}

/* Each block is where its edge ends. */
static bool expect_block(const struct pcoll_signature *signature, const struct pcoll_local *local,
                         int rank, int i, struct pcoll_piece *piece_p)
{
    struct pcoll_edge edge;

    for (int k = 0; pcoll_edge_in(signature, local, rank, k, &edge); k++) {
        if (edge.bytes == 0 || i-- > 0)
            continue;
        *piece_p = (struct pcoll_piece){.first = edge.first,
                                        .bytes = edge.bytes,
                                        .rank = edge.rank,
                                        .nranks = 1,
                                        .from = edge.peer_first};
        return true;
    }
    return false;
}

static struct pcoll_piece only_piece(const struct pcoll_signature *signature,
                                     const struct pcoll_local *local, int rank)
{
    const struct pcoll_collective *row = pcoll_collective_of(signature);
    const int nranks[] = {[PCOLL_FROM_ALL] = signature->nranks,
                          [PCOLL_FROM_ROOT] = 1,
                          [PCOLL_FROM_PREFIX] = rank + 1,
                          [PCOLL_FROM_LOWER] = rank};

    return (struct pcoll_piece){
        .bytes = row->block_bytes(signature, local, rank),
        .rank = row->sources == PCOLL_FROM_ROOT ? signature->root : 0,
        .nranks = nranks[row->sources],
        .from = row->block_from(signature, rank),
        .is_fold = row->traits & PCOLL_REDUCES,
    };
}

bool pcoll_expect(const struct pcoll_signature *signature, const struct pcoll_local *const *locals,
                  int rank, int i, struct pcoll_piece *piece_p)
{
    const struct pcoll_local *local = locals ? locals[rank] : NULL;

    if (pcoll_coll_has(signature->coll, PCOLL_EDGES))
        return expect_block(signature, local, rank, i, piece_p);
    *piece_p = only_piece(signature, local, rank);
    return i == 0 && piece_p->bytes > 0;
}

bool pcoll_expects_same(const struct pcoll_signature *signature,
                        const struct pcoll_local *const *locals, int rank, int other)
{
    struct pcoll_piece a, b;

    for (int i = 0;; i++) {
        const bool has_piece = pcoll_expect(signature, locals, rank, i, &a);

        if (has_piece != pcoll_expect(signature, locals, other, i, &b))
            return false;
        if (!has_piece)
            return true;
        if (a.first != b.first || a.bytes != b.bytes || a.rank != b.rank || a.nranks != b.nranks ||
            a.from != b.from || a.is_fold != b.is_fold)
            return false;
    }
}

bool pcoll_is_trivial(const struct pcoll_signature *signature)
{
    if (signature->bytes == 0)
        return signature->nranks == 1 || !pcoll_coll_has(signature->coll, PCOLL_SYNCHRONIZES);
    return signature->nranks == 1 && signature->degree == 0 &&
           !pcoll_coll_has(signature->coll, PCOLL_NEIGHBORS);
}

bool pcoll_is_in_place(const struct pcoll_signature *signature, const struct pcoll_local *local,
                       int rank)
{
    if (local != NULL && local->in_place)
        return true;
    return signature->in_place &&
           (!pcoll_coll_has(signature->coll, PCOLL_ROOTED) || rank == signature->root);
}

struct pcoll_span pcoll_input_in_recv(const struct pcoll_signature *signature,
                                      const struct pcoll_local *local, int rank)
{
    const struct pcoll_collective *row = pcoll_collective_of(signature);

    if (!pcoll_is_in_place(signature, local, rank) || row->recv_bytes(signature, local, rank) == 0)
        return (struct pcoll_span){0, 0};
    return (struct pcoll_span){row->send_in_recv(signature, rank),
                               row->send_bytes(signature, local, rank)};
}
