/* Edges of a rank, from `local` or uniform; the contract is in edges.h. */
#include "algorithms/plan/edges.h"

/* ---- uniform edges ---- */

/* One end of a uniform edge. */
struct end {
    int rank; /* at the other end */
    int key;
    int block; /* in SEND or RECV */
    int match; /* the number of the edge among those of the peer, in the other direction */
    int slot;  /* of an in edge */
};

struct pcoll_pattern {
    /* Edge i of the rank in one direction; false: there are no more. */
    bool (*end)(const struct pcoll_signature *signature, int rank, bool is_out, int i,
                struct end *end_p);
    bool is_mutual; /* each edge between two ranks is answered */
};

/* The number of ranks before `i` without this rank, which needs no slot for itself. */
static int others_before(int i, int rank)
{
    return i > rank ? i - 1 : i;
}

/* A rank that has an edge with every rank. */
static struct end end_at_hub(int rank, int i, int match)
{
    return (struct end){.rank = i, .block = i, .match = match, .slot = others_before(i, rank)};
}

static bool star(const struct pcoll_signature *signature, int rank, bool at_hub, int i,
                 struct end *end_p)
{
    if (at_hub) {
        *end_p = end_at_hub(rank, i, 0);
        return rank == signature->root && i < signature->nranks;
    }
    *end_p = (struct end){.rank = signature->root, .match = rank};
    return i == 0;
}

static bool to_root(const struct pcoll_signature *signature, int rank, bool is_out, int i,
                    struct end *end_p)
{
    return star(signature, rank, !is_out, i, end_p);
}

static bool from_root(const struct pcoll_signature *signature, int rank, bool is_out, int i,
                      struct end *end_p)
{
    return star(signature, rank, is_out, i, end_p);
}

static bool complete(const struct pcoll_signature *signature, int rank, bool is_out, int i,
                     struct end *end_p)
{
    (void)is_out;
    *end_p = end_at_hub(rank, i, rank);
    return i < signature->nranks;
}

/* The same block goes to all. */
static void spread_block(bool is_out, struct end *end_p)
{
    if (is_out)
        end_p->block = 0;
}

static bool spread(const struct pcoll_signature *signature, int rank, bool is_out, int i,
                   struct end *end_p)
{
    const bool is_edge = complete(signature, rank, is_out, i, end_p);

    spread_block(is_out, end_p);
    return is_edge;
}

static int64_t stride(int nranks, int dimension)
{
    int64_t side = 1;

    while ((side + 1) * (side + 1) * (side + 1) <= nranks)
        side++;
    return dimension == 0 ? 1 : dimension == 1 ? side : side * side;
}

static bool torus(const struct pcoll_signature *signature, int rank, bool is_out, int i,
                  struct end *end_p)
{
    const int64_t step = stride(signature->nranks, i / 2), n = signature->nranks;
    const int64_t peer = i % 2 == 0 ? rank - step : rank + step;

    *end_p = (struct end){.rank = (int)((peer % n + n) % n),
                          .key = is_out ? i : i ^ 1,
                          .block = i,
                          .match = i ^ 1,
                          .slot = i};
    return i < PCOLL_TORUS_DEGREE;
}

static bool spread_torus(const struct pcoll_signature *signature, int rank, bool is_out, int i,
                         struct end *end_p)
{
    const bool is_edge = torus(signature, rank, is_out, i, end_p);

    spread_block(is_out, end_p);
    return is_edge;
}

const struct pcoll_pattern pcoll_pattern_to_root = {to_root, false};
const struct pcoll_pattern pcoll_pattern_from_root = {from_root, false};
const struct pcoll_pattern pcoll_pattern_complete = {complete, true};
const struct pcoll_pattern pcoll_pattern_spread = {spread, true};
const struct pcoll_pattern pcoll_pattern_torus = {torus, true};
const struct pcoll_pattern pcoll_pattern_spread_torus = {spread_torus, true};

/* ---- slots ---- */

uint64_t pcoll_edges_slot_bytes(const struct pcoll_signature *signature)
{
    enum { BANKS = 2, MAX_PACKED = 3 << 20, MAX = 2 << 20 }; /* of a rank */
    const uint64_t max = signature->typed ? MAX_PACKED : MAX;
    const uint64_t degree = (uint64_t)pcoll_edges_degree(signature);
    uint64_t bytes = PCOLL_EDGE_SLOT;

    while (bytes < signature->bytes && bytes * degree * 2 * BANKS <= max)
        bytes *= 2;
    return bytes;
}

uint64_t pcoll_edge_room(uint64_t slot_bytes, uint64_t bytes)
{
    return pcoll_whole_lines(bytes < slot_bytes ? bytes : slot_bytes);
}

/* The most slots of any rank in a bank. */
static uint64_t max_slots(const struct pcoll_signature *signature)
{
    if (!pcoll_coll_has(signature->coll, PCOLL_ROOTED))
        return (uint64_t)pcoll_edges_degree(signature);
    return pcoll_collective_of(signature)->pattern == &pcoll_pattern_from_root
               ? 1
               : (uint64_t)signature->nranks - 1;
}

int pcoll_edges_banks(const struct pcoll_signature *signature, int slots)
{
    enum { DEFAULT = 16, MAX_BANKS = 16, MAX_SLOTS = 1024 };
    enum { MAX_BYTES = 512 << 10, MAX_ASKED = 2 << 20 }; /* of a rank */
    const bool is_rooted = pcoll_coll_has(signature->coll, PCOLL_ROOTED);
    const uint64_t wanted = slots > 0 ? (uint64_t)slots : is_rooted ? DEFAULT : 2;
    const uint64_t max = slots > 0 ? MAX_ASKED : MAX_BYTES;
    const uint64_t room = pcoll_edge_room(pcoll_edges_slot_bytes(signature), signature->bytes);
    const uint64_t all = max_slots(signature) * room;
    const uint64_t degree = (uint64_t)pcoll_edges_degree(signature);
    uint64_t banks = 2;

    if (signature->bytes > pcoll_edges_slot_bytes(signature))
        return 2;
    while (banks < wanted && (is_rooted || banks < MAX_BANKS) && 2 * banks * degree <= MAX_SLOTS &&
           2 * banks * all <= max)
        banks *= 2;
    return (int)banks;
}

static uint64_t slot_room(const struct pcoll_signature *signature, uint64_t bytes)
{
    return pcoll_edge_room(pcoll_edges_slot_bytes(signature), bytes);
}

/* Slots for blocks of the signature, of which the receiver's own has none: each begins in its own
 * cache lines, beyond the blocks before it, unless it takes less memory if all are as long as that
 * of the largest block. */
static uint64_t equal_slot(const struct pcoll_signature *signature, int number)
{
    return (uint64_t)number * slot_room(signature, signature->bytes);
}

static uint64_t packed_slot(uint64_t before, int number)
{
    return (before / PCOLL_CACHE_LINE + (uint64_t)number) * PCOLL_CACHE_LINE;
}

/* Slot `number`, if the blocks before it have `before` bytes. */
static uint64_t slot_of_block(const struct pcoll_signature *signature, uint64_t before, int number)
{
    const int nranks = signature->nranks;
    const uint64_t all = pcoll_block_first(signature, nranks);

    if (packed_slot(all, nranks - 1) < equal_slot(signature, nranks - 1))
        return packed_slot(before, number);
    return equal_slot(signature, number);
}

static void set_slot_of_block(const struct pcoll_signature *signature, struct pcoll_edge *edge,
                              int sender, int receiver)
{
    const uint64_t own = pcoll_block_bytes(signature, receiver);
    const bool is_after = sender > receiver;
    const uint64_t before = pcoll_block_first(signature, sender) - (is_after ? own : 0);

    edge->in_cell = pcoll_block_first(signature, signature->nranks) - own <= PCOLL_CELL_BYTES;
    edge->slot = edge->in_cell ? before : slot_of_block(signature, before, sender - is_after);
}

/* Slots of equal size for `nslots` uniform blocks. */
static void set_uniform_slot(const struct pcoll_signature *signature, struct pcoll_edge *edge,
                             int nslots, int slot)
{
    const uint64_t bytes = edge->bytes;

    edge->in_cell = (uint64_t)nslots * bytes <= PCOLL_CELL_BYTES;
    edge->slot = (uint64_t)slot * (edge->in_cell ? bytes : slot_room(signature, bytes));
}

static int nslots_of(const struct pcoll_signature *signature, int rank)
{
    const struct pcoll_pattern *pattern = pcoll_collective_of(signature)->pattern;

    if (pcoll_coll_has(signature->coll, PCOLL_NEIGHBORS))
        return PCOLL_TORUS_DEGREE;
    if (pattern == &pcoll_pattern_from_root)
        return 1;
    if (pattern == &pcoll_pattern_to_root && rank != signature->root)
        return 0;
    return signature->nranks - 1;
}

static bool uniform_edge(const struct pcoll_signature *signature, int rank, bool is_out, int i,
                         struct pcoll_edge *edge_p)
{
    const struct pcoll_pattern *pattern = pcoll_collective_of(signature)->pattern;
    struct end end, far;
    int sender, receiver;

    if (!pattern->end(signature, rank, is_out, i, &end))
        return false;
    pattern->end(signature, end.rank, !is_out, end.match, &far);
    sender = is_out ? rank : end.rank;
    receiver = is_out ? end.rank : rank;
    *edge_p = (struct pcoll_edge){
        .rank = end.rank,
        .key = end.key,
        .first = pcoll_block_first(signature, end.block),
        .bytes = pcoll_block_bytes(signature, sender),
        .peer_first = pcoll_block_first(signature, far.block),
        .is_answered = pattern->is_mutual && pcoll_block_bytes(signature, receiver) > 0,
    };
    if (signature->blocks)
        set_slot_of_block(signature, edge_p, sender, receiver);
    else
        set_uniform_slot(signature, edge_p, nslots_of(signature, receiver),
                         is_out ? far.slot : end.slot);
    return true;
}

struct pcoll_place pcoll_edge_slot(const struct pcoll_edge *edge, int bank, int nbanks,
                                   uint64_t slot_bytes)
{
    if (edge->in_cell)
        return pcoll_at(PCOLL_CELL, (uint64_t)bank * PCOLL_CELL_BYTES + edge->slot);
    return pcoll_at(PCOLL_TEMP, (uint64_t)nbanks * edge->slot +
                                    (uint64_t)bank * pcoll_edge_room(slot_bytes, edge->bytes));
}

static bool needs_slot(const struct pcoll_edge *edge, int rank)
{
    return edge->bytes > 0 && edge->rank != rank;
}

static void give_slots(const struct pcoll_signature *signature, struct pcoll_edge *in, int nin,
                       int rank)
{
    uint64_t all = 0, next = 0;

    for (int i = 0; i < nin; i++)
        all += needs_slot(&in[i], rank) ? in[i].bytes : 0;
    for (int i = 0; i < nin; i++) {
        if (!needs_slot(&in[i], rank))
            continue;
        in[i].in_cell = all <= PCOLL_CELL_BYTES;
        in[i].slot = next;
        next += in[i].in_cell ? in[i].bytes : slot_room(signature, in[i].bytes);
    }
}

/* Of two lists in ascending order, `edges` and `back`: find the edges that one leads back for. */
static void find_answered(struct pcoll_edge *edges, int n, const struct pcoll_edge *back, int nback)
{
    int k = 0;

    for (int i = 0; i < n; i++) {
        while (k < nback && (back[k].rank < edges[i].rank || back[k].bytes == 0))
            k++;
        edges[i].is_answered = k < nback && back[k].rank == edges[i].rank;
    }
}

void pcoll_edges_prepare(const struct pcoll_signature *signature, struct pcoll_local *local,
                         int rank)
{
    give_slots(signature, local->in, local->nin, rank);
    find_answered(local->in, local->nin, local->out, local->nout);
    find_answered(local->out, local->nout, local->in, local->nin);
}

/* ---- edges ---- */

bool pcoll_edge_out(const struct pcoll_signature *signature, const struct pcoll_local *local,
                    int rank, int i, struct pcoll_edge *edge_p)
{
    if (local == NULL)
        return uniform_edge(signature, rank, true, i, edge_p);
    if (i >= local->nout)
        return false;
    *edge_p = local->out[i];
    return true;
}

bool pcoll_edge_in(const struct pcoll_signature *signature, const struct pcoll_local *local,
                   int rank, int i, struct pcoll_edge *edge_p)
{
    if (local == NULL)
        return uniform_edge(signature, rank, false, i, edge_p);
    if (i >= local->nin)
        return false;
    *edge_p = local->in[i];
    return true;
}

static uint64_t farther(uint64_t end, const struct pcoll_edge *edge)
{
    return edge->bytes > 0 && edge->first + edge->bytes > end ? edge->first + edge->bytes : end;
}

uint64_t pcoll_edges_send_bytes(const struct pcoll_signature *signature,
                                const struct pcoll_local *local, int rank)
{
    struct pcoll_edge edge;
    uint64_t end = 0;

    for (int i = 0; pcoll_edge_out(signature, local, rank, i, &edge); i++)
        end = farther(end, &edge);
    return end;
}

uint64_t pcoll_edges_recv_bytes(const struct pcoll_signature *signature,
                                const struct pcoll_local *local, int rank)
{
    struct pcoll_edge edge;
    uint64_t end = 0;

    for (int i = 0; pcoll_edge_in(signature, local, rank, i, &edge); i++)
        end = farther(end, &edge);
    return end;
}

uint64_t pcoll_edges_temp(const struct pcoll_signature *signature, const struct pcoll_local *local,
                          int rank, int nbanks)
{
    struct pcoll_edge edge;
    uint64_t end = 0;

    for (int i = 0; pcoll_edge_in(signature, local, rank, i, &edge); i++) {
        const uint64_t after = edge.slot + slot_room(signature, edge.bytes);

        if (edge.bytes > 0 && edge.rank != rank && !edge.in_cell && after > end)
            end = after;
    }
    return (uint64_t)nbanks * end;
}

uint64_t pcoll_edges_max_temp(const struct pcoll_signature *signature, int nbanks)
{
    const uint64_t slots = max_slots(signature);
    const uint64_t volume = pcoll_edges_volume(signature) + slots * (PCOLL_CACHE_LINE - 1);
    const uint64_t max =
        slots * pcoll_edge_room(pcoll_edges_slot_bytes(signature), signature->bytes);
    const int nranks = signature->nranks;

    if (signature->blocks)
        return (uint64_t)nbanks *
               slot_of_block(signature, pcoll_block_first(signature, nranks), nranks - 1);
    return (uint64_t)nbanks * (volume < max ? volume : max);
}

/* ---- how much the ranks of a call move along their edges ---- */

/* Every rank has an edge with every rank, also with itself. */
static bool is_complete(const struct pcoll_signature *signature)
{
    const struct pcoll_pattern *pattern = pcoll_collective_of(signature)->pattern;

    return pattern == &pcoll_pattern_spread || pattern == &pcoll_pattern_complete;
}

/* The most edges of any rank in one direction; in complete patterns, those to other ranks. */
static int uniform_degree(const struct pcoll_signature *signature)
{
    if (pcoll_coll_has(signature->coll, PCOLL_NEIGHBORS))
        return PCOLL_TORUS_DEGREE;
    return is_complete(signature) && signature->nranks > 1 ? signature->nranks - 1
                                                           : signature->nranks;
}

int pcoll_edges_degree(const struct pcoll_signature *signature)
{
    return signature->degree > 0 ? signature->degree : uniform_degree(signature);
}

/* Of blocks side by side, the rank that receives least keeps most: together that is all blocks.
 */
static uint64_t uniform_volume(const struct pcoll_signature *signature, bool is_out)
{
    const struct pcoll_pattern *pattern = pcoll_collective_of(signature)->pattern;
    const uint64_t max = (uint64_t)uniform_degree(signature) * signature->bytes;
    uint64_t others;

    if (pattern == (is_out ? &pcoll_pattern_to_root : &pcoll_pattern_from_root))
        return signature->bytes;
    if (is_out || !signature->blocks)
        return max;
    others = signature->blocks[signature->nranks] - pcoll_edges_kept(signature);
    return others < max ? others : max;
}

uint64_t pcoll_edges_volume_of(const struct pcoll_signature *signature, bool is_out)
{
    if (signature->degree > 0)
        return is_out ? signature->out_volume : signature->in_volume;
    return uniform_volume(signature, is_out);
}

uint64_t pcoll_edges_volume(const struct pcoll_signature *signature)
{
    const uint64_t in = pcoll_edges_volume_of(signature, false);
    const uint64_t out = pcoll_edges_volume_of(signature, true);

    return in > out ? in : out;
}

uint64_t pcoll_edges_kept(const struct pcoll_signature *signature)
{
    if (signature->degree > 0)
        return signature->kept;
    return is_complete(signature) && !signature->in_place ? signature->bytes : 0;
}
