/* What follows from a signature and the row of its collective; the contract is in collective.h. */
#include <string.h>

#include "algorithms/plan/collective.h"

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
static int blocks_are_valid(const struct pcoll_signature *signature, uint64_t unit)
{
    const uint64_t *blocks = signature->blocks;
    uint64_t largest = 0;

    for (int r = 0; r < signature->nranks; r++) {
        if (blocks[r + 1] < blocks[r] || pcoll_block_bytes(signature, r) % unit != 0)
            return 0;
        if (pcoll_block_bytes(signature, r) > largest)
            largest = pcoll_block_bytes(signature, r);
    }
    return blocks[0] == 0 && largest == signature->bytes;
}

int pcoll_signature_is_valid(const struct pcoll_signature *signature,
                             const struct pcoll_local *local)
{
    const uint64_t unit = signature->unit ? signature->unit : 1;
    const int has_edges = local != NULL && (local->nin > 0 || local->nout > 0);
    const int is_local = has_edges || signature->degree > 0 || signature->in_volume > 0 ||
                         signature->out_volume > 0 || signature->kept > 0;
    unsigned traits;

    if ((unsigned)signature->coll >= PCOLL_NUM_COLLS)
        return 0;
    traits = pcoll_collectives[signature->coll]->traits;
    return signature->nranks >= 1 && signature->root >= 0 && signature->root < signature->nranks &&
           signature->bytes % unit == 0 && (traits & PCOLL_ROOTED || signature->root == 0) &&
           (traits & PCOLL_IN_PLACE || !signature->in_place) &&
           (traits & PCOLL_VECTOR || signature->blocks == NULL) &&
           (signature->blocks == NULL || blocks_are_valid(signature, unit)) &&
           signature->degree >= 0 &&
           (!is_local || (traits & PCOLL_EDGES && !signature->blocks && !signature->in_place));
}

static int same_crossing(const struct pcoll_crossing *a, const struct pcoll_crossing *b)
{
    return a->degree == b->degree && a->edges == b->edges && a->messages == b->messages &&
           a->led == b->led && a->bytes == b->bytes && a->shared == b->shared && a->temp == b->temp;
}

int pcoll_signature_same(const struct pcoll_signature *a, const struct pcoll_signature *b)
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

int pcoll_expects_same(const struct pcoll_signature *signature,
                       const struct pcoll_local *const *locals, int rank, int other)
{
    const struct pcoll_collective *row = pcoll_collective_of(signature);
    struct pcoll_piece a, b;

    for (int i = 0;; i++) {
        const int has_piece = row->expect(signature, locals, rank, i, &a);

        if (has_piece != row->expect(signature, locals, other, i, &b))
            return 0;
        if (!has_piece)
            return 1;
        if (a.first != b.first || a.bytes != b.bytes || a.rank != b.rank || a.nranks != b.nranks ||
            a.from != b.from || a.is_fold != b.is_fold)
            return 0;
    }
}

int pcoll_is_trivial(const struct pcoll_signature *signature)
{
    if (signature->bytes == 0)
        return signature->nranks == 1 || !pcoll_coll_has(signature->coll, PCOLL_SYNCHRONIZES);
    return signature->nranks == 1 && signature->degree == 0 &&
           !pcoll_coll_has(signature->coll, PCOLL_NEIGHBORS);
}

int pcoll_is_in_place(const struct pcoll_signature *signature, const struct pcoll_local *local,
                      int rank)
{
    if (local != NULL && local->in_place)
        return 1;
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
