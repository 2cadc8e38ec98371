/* The rows of the collectives; the contract is in collective.h. */
#include "algorithms/plan/collective.h"

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

/* The only piece, unless it is empty. */
static int only(int i, struct pcoll_piece piece, struct pcoll_piece *piece_p)
{
    if (i > 0 || piece.bytes == 0)
        return 0;
    *piece_p = piece;
    return 1;
}

#define EXPECT_ARGUMENTS                                                                           \
    const struct pcoll_signature *signature, const struct pcoll_local *const *locals, int rank,    \
        int i, struct pcoll_piece *piece_p

static int expect_nothing(EXPECT_ARGUMENTS)
{
    (void)signature, (void)locals, (void)rank, (void)i, (void)piece_p;
    return 0;
}

/* ---- the rows ---- */

static const struct pcoll_collective barrier = {
    .name = "barrier",
    .traits = PCOLL_SYNCHRONIZES,
    .send_bytes = nothing,
    .recv_bytes = nothing,
    .send_in_recv = at_begin,
    .expect = expect_nothing,
};

static int expect_bcast(EXPECT_ARGUMENTS)
{
    const struct pcoll_piece message = {
        .bytes = block_of_others(signature, NULL, rank), .rank = signature->root, .nranks = 1};

    (void)locals;
    return only(i, message, piece_p);
}

static const struct pcoll_collective bcast = {
    .name = "bcast",
    .traits = PCOLL_ROOTED,
    .send_bytes = block_of_root,
    .recv_bytes = block_of_others,
    .send_in_recv = at_begin,
    .expect = expect_bcast,
};

static int expect_allgather(EXPECT_ARGUMENTS)
{
    const struct pcoll_piece blocks = {.bytes = signature->bytes, .nranks = signature->nranks};

    (void)locals, (void)rank;
    return only(i, blocks, piece_p);
}

static const struct pcoll_collective allgather = {
    .name = "allgather",
    .traits = PCOLL_IN_PLACE,
    .send_bytes = one_block,
    .recv_bytes = all_blocks,
    .send_in_recv = at_own_block,
    .expect = expect_allgather,
};

static int expect_gather(EXPECT_ARGUMENTS)
{
    const struct pcoll_piece blocks = {.bytes = rank == signature->root ? signature->bytes : 0,
                                       .nranks = signature->nranks};

    (void)locals;
    return only(i, blocks, piece_p);
}

static const struct pcoll_collective gather = {
    .name = "gather",
    .traits = PCOLL_ROOTED | PCOLL_IN_PLACE,
    .send_bytes = one_block,
    .recv_bytes = all_blocks_of_root,
    .send_in_recv = at_own_block,
    .expect = expect_gather,
};

static int expect_scatter(EXPECT_ARGUMENTS)
{
    const struct pcoll_piece block = {
        .bytes = one_block_if_moved(signature, locals ? locals[rank] : NULL, rank),
        .rank = signature->root,
        .nranks = 1,
        .from = (uint64_t)rank * signature->bytes,
    };

    return only(i, block, piece_p);
}

static const struct pcoll_collective scatter = {
    .name = "scatter",
    .traits = PCOLL_ROOTED | PCOLL_IN_PLACE,
    .send_bytes = all_blocks_of_root,
    .recv_bytes = one_block_if_moved,
    .send_in_recv = at_begin,
    .expect = expect_scatter,
};

static int expect_alltoall(EXPECT_ARGUMENTS)
{
    const struct pcoll_piece blocks = {
        .bytes = signature->bytes,
        .nranks = signature->nranks,
        .from = (uint64_t)rank * signature->bytes,
    };

    (void)locals;
    return only(i, blocks, piece_p);
}

static const struct pcoll_collective alltoall = {
    .name = "alltoall",
    .send_bytes = all_blocks,
    .recv_bytes = all_blocks,
    .send_in_recv = at_begin,
    .expect = expect_alltoall,
};

/* Each block is where its edge ends. */
static int expect_edges(EXPECT_ARGUMENTS)
{
    const struct pcoll_local *local = locals ? locals[rank] : NULL;
    struct pcoll_edge edge;

    for (int k = 0; pcoll_edge_in(signature, local, rank, k, &edge); k++) {
        if (edge.bytes == 0 || i-- > 0)
            continue;
        *piece_p = (struct pcoll_piece){.first = edge.first,
                                        .bytes = edge.bytes,
                                        .rank = edge.rank,
                                        .nranks = 1,
                                        .from = edge.peer_first};
        return 1;
    }
    return 0;
}

/* With `local`, nothing is in place: a block that stays where it is has no edge, and SEND is what
 * the out edges name, wherever that lies. */
#define WITH_EDGES(identifier, more_traits, uniform, own_in_recv)                                  \
    static const struct pcoll_collective identifier = {                                            \
        .name = #identifier,                                                                       \
        .traits = PCOLL_EDGES | (more_traits),                                                     \
        .send_bytes = pcoll_edges_send_bytes,                                                      \
        .recv_bytes = pcoll_edges_recv_bytes,                                                      \
        .send_in_recv = own_in_recv,                                                               \
        .expect = expect_edges,                                                                    \
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

static int expect_allreduce(EXPECT_ARGUMENTS)
{
    const struct pcoll_piece result = {
        .bytes = signature->bytes, .nranks = signature->nranks, .is_fold = 1};

    (void)locals, (void)rank;
    return only(i, result, piece_p);
}

static const struct pcoll_collective allreduce = {
    .name = "allreduce",
    .traits = PCOLL_IN_PLACE | PCOLL_REDUCES,
    .send_bytes = one_block,
    .recv_bytes = one_block,
    .send_in_recv = at_begin,
    .expect = expect_allreduce,
};

static int expect_reduce(EXPECT_ARGUMENTS)
{
    const struct pcoll_piece result = {
        .bytes = block_of_root(signature, NULL, rank), .nranks = signature->nranks, .is_fold = 1};

    (void)locals;
    return only(i, result, piece_p);
}

static const struct pcoll_collective reduce = {
    .name = "reduce",
    .traits = PCOLL_ROOTED | PCOLL_IN_PLACE | PCOLL_REDUCES,
    .send_bytes = one_block,
    .recv_bytes = block_of_root,
    .send_in_recv = at_begin,
    .expect = expect_reduce,
};

static int expect_reduce_scatter(EXPECT_ARGUMENTS)
{
    const struct pcoll_piece result = {
        .bytes = pcoll_block_bytes(signature, rank),
        .nranks = signature->nranks,
        .from = pcoll_block_first(signature, rank),
        .is_fold = 1,
    };

    (void)locals;
    return only(i, result, piece_p);
}

static const struct pcoll_collective reduce_scatter_block = {
    .name = "reduce_scatter_block",
    .traits = PCOLL_IN_PLACE | PCOLL_REDUCES,
    .send_bytes = all_blocks,
    .recv_bytes = one_block_or_input,
    .send_in_recv = at_begin,
    .expect = expect_reduce_scatter,
};

static const struct pcoll_collective reduce_scatter = {
    .name = "reduce_scatter",
    .traits = PCOLL_VECTOR | PCOLL_REDUCES,
    .send_bytes = all_unequal_blocks,
    .recv_bytes = own_block,
    .send_in_recv = at_begin,
    .expect = expect_reduce_scatter,
};

/* The fold of `nranks` ranks from rank 0 on. */
static int expect_prefix(const struct pcoll_signature *signature, int nranks, int i,
                         struct pcoll_piece *piece_p)
{
    const struct pcoll_piece prefix = {
        .bytes = nranks > 0 ? signature->bytes : 0, .nranks = nranks, .is_fold = 1};

    return only(i, prefix, piece_p);
}

static int expect_scan(EXPECT_ARGUMENTS)
{
    (void)locals;
    return expect_prefix(signature, rank + 1, i, piece_p);
}

static const struct pcoll_collective scan = {
    .name = "scan",
    .traits = PCOLL_IN_PLACE | PCOLL_REDUCES,
    .send_bytes = one_block,
    .recv_bytes = one_block,
    .send_in_recv = at_begin,
    .expect = expect_scan,
};

static int expect_exscan(EXPECT_ARGUMENTS)
{
    (void)locals;
    return expect_prefix(signature, rank, i, piece_p);
}

static const struct pcoll_collective exscan = {
    .name = "exscan",
    .traits = PCOLL_IN_PLACE | PCOLL_REDUCES,
    .send_bytes = one_block,
    .recv_bytes = block_of_successors,
    .send_in_recv = at_begin,
    .expect = expect_exscan,
};

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
