/* Who accesses user memory; the contract is in user.h. */
#include "algorithms/plan/user.h"

#include "algorithms/plan/edges.h"

/* ---- uses ---- */

/* A byte range of a buffer. In place, SEND is named as a part of RECV. */
struct range {
    enum pcoll_buffer buffer;
    uint64_t first, bytes;
};

static struct range range_of(const struct pcoll_plan *plan, enum pcoll_buffer buffer,
                             uint64_t first, uint64_t bytes)
{
    const struct pcoll_span input = pcoll_input_in_recv(&plan->signature, plan->local, plan->rank);

    if (buffer != PCOLL_SEND || input.count == 0)
        return (struct range){buffer, first, bytes};
    return (struct range){PCOLL_RECV, first + input.first, bytes};
}

static bool overlap(struct range a, struct range b)
{
    return a.buffer == b.buffer && a.first < b.first + b.bytes && b.first < a.first + a.bytes;
}

static bool names(const struct pcoll_plan *plan, struct pcoll_place place, uint64_t bytes,
                  struct range range)
{
    return place.buffer <= PCOLL_RECV &&
           overlap(range_of(plan, place.buffer, place.offset, bytes), range);
}

/* Returns whether data that crosses between this rank and others goes from that range of SEND, or
 * to that range of RECV. */
static bool crosses(const struct pcoll_plan *plan, enum pcoll_buffer buffer, struct range range)
{
    const struct pcoll_signature *signature = &plan->signature;
    const bool is_out = buffer == PCOLL_SEND;
    struct pcoll_edge edge;

    if (!pcoll_coll_has(signature->coll, PCOLL_EDGES))
        return names(plan, pcoll_at(buffer, 0), pcoll_plan_bytes(plan, buffer), range);
    for (int i = 0; is_out ? pcoll_edge_out(signature, plan->local, plan->rank, i, &edge)
                           : pcoll_edge_in(signature, plan->local, plan->rank, i, &edge);
         i++)
        if (edge.rank != plan->rank && names(plan, pcoll_at(buffer, edge.first), edge.bytes, range))
            return true;
    return false;
}

static unsigned peers_use(const struct pcoll_plan *plan, struct range range)
{
    unsigned use = 0;

    if (!plan->user_rma)
        return 0;
    if (crosses(plan, PCOLL_SEND, range))
        use |= PCOLL_PEERS_READ;
    if (crosses(plan, PCOLL_RECV, range))
        use |= PCOLL_PEERS_READ | PCOLL_PEERS_WRITE;
    return use;
}

static unsigned own_use(const struct pcoll_plan *plan, const struct pcoll_entry *entry,
                        struct range range)
{
    const bool writes_local = entry->op == PCOLL_OP_GET || entry->op == PCOLL_OP_REDUCE;
    unsigned use = 0;

    if (!pcoll_entry_has_data(entry))
        return 0;
    if (names(plan, entry->local, entry->bytes, range))
        use |= writes_local ? PCOLL_OWN_WRITES : PCOLL_OWN_READS;
    if (entry->op == PCOLL_OP_COPY && names(plan, entry->remote, entry->bytes, range))
        use |= PCOLL_OWN_WRITES;
    for (int k = 0; k < entry->noperands; k++) {
        const struct pcoll_operand *operand = &plan->operands[entry->first_operand + k];

        if (operand->rank == plan->rank &&
            names(plan, pcoll_operand_place(operand), entry->bytes, range))
            use |= PCOLL_OWN_READS;
    }
    return use;
}

unsigned pcoll_plan_peers_use(const struct pcoll_plan *plan, enum pcoll_buffer buffer,
                              uint64_t first, uint64_t bytes)
{
    return peers_use(plan, range_of(plan, buffer, first, bytes));
}

unsigned pcoll_plan_use(const struct pcoll_plan *plan, enum pcoll_buffer buffer, uint64_t first,
                        uint64_t bytes)
{
    const struct range range = range_of(plan, buffer, first, bytes);
    unsigned use = peers_use(plan, range);

    for (int i = 0; i < plan->nentries; i++)
        use |= own_use(plan, &plan->entries[i], range);
    return use;
}

/* ---- packing on the way ---- */

/* Returns whether the entry's end in SEND or RECV, if it is there, cuts no element. */
static bool cuts_none(pcoll_is_border *is_border, const void *data, const struct pcoll_place *place,
                      uint64_t bytes)
{
    return place->buffer > PCOLL_RECV || (is_border(data, place->buffer, place->offset) &&
                                          is_border(data, place->buffer, place->offset + bytes));
}

/* The entries of a phase; `left`: of SEND they read no more bytes. */
static bool can_pack_phase(const struct pcoll_plan *plan, const struct pcoll_phase *phase,
                           uint64_t left, pcoll_is_border *is_border, const void *data)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];
        const bool get = entry->op == PCOLL_OP_GET;
        const struct pcoll_place *from = get ? &entry->remote : &entry->local;
        const struct pcoll_place *to = get ? &entry->local : &entry->remote;

        if (!pcoll_entry_has_data(entry) || entry->bytes == 0)
            continue;
        if (entry->op == PCOLL_OP_REDUCE || from->buffer == PCOLL_RECV ||
            !cuts_none(is_border, data, from, entry->bytes) ||
            !cuts_none(is_border, data, to, entry->bytes))
            return false;
        if (from->buffer != PCOLL_SEND)
            continue;
        if (entry->bytes > left)
            return false;
        left -= entry->bytes;
    }
    return true;
}

bool pcoll_plan_can_pack(const struct pcoll_plan *plan, pcoll_is_border *is_border,
                         const void *data)
{
    const uint64_t bytes = pcoll_plan_bytes(plan, PCOLL_SEND);

    if (plan->user_rma)
        return false;
    for (int p = 0; p < plan->nphases; p++)
        if (!can_pack_phase(plan, &plan->phases[p], bytes, is_border, data))
            return false;
    return true;
}

/* ---- blocks that are kept ---- */

static bool is_own_copy(const struct pcoll_entry *entry)
{
    return entry->op == PCOLL_OP_COPY && entry->bytes > 0 && entry->trigger == PCOLL_NONE &&
           entry->done == PCOLL_NONE && entry->peer_counter == PCOLL_NONE &&
           entry->local.buffer == PCOLL_SEND && entry->remote.buffer == PCOLL_RECV;
}

/* Take the copy out of all phases. */
static void take_out(struct pcoll_plan *plan, const struct pcoll_kept *kept)
{
    for (int i = 0; i < plan->nentries; i++) {
        struct pcoll_entry *entry = &plan->entries[i];

        if (is_own_copy(entry) && entry->local.offset == kept->from &&
            entry->remote.offset == kept->to && entry->bytes == kept->bytes)
            entry->bytes = 0;
    }
}

/* Only the copy itself accesses the block in RECV. */
static bool is_alone(const struct pcoll_plan *plan, const struct pcoll_kept *kept)
{
    return pcoll_plan_use(plan, PCOLL_RECV, kept->to, kept->bytes) == PCOLL_OWN_WRITES;
}

int pcoll_plan_keep(struct pcoll_plan *plan, pcoll_is_block *is_block, const void *data,
                    struct pcoll_kept *kept, int max)
{
    const unsigned reads = PCOLL_OWN_READS | PCOLL_PEERS_READ;
    int n = 0;

    /* The copies of the first phase are those of all. */
    for (int i = 0; i < plan->phases[0].count && n < max; i++) {
        const struct pcoll_entry *entry = &plan->entries[plan->phases[0].first + i];

        kept[n] =
            (struct pcoll_kept){entry->local.offset, entry->remote.offset, entry->bytes, false};
        if (is_own_copy(entry) && is_block(data, PCOLL_SEND, kept[n].from, kept[n].bytes) &&
            is_block(data, PCOLL_RECV, kept[n].to, kept[n].bytes) && is_alone(plan, &kept[n]))
            n++;
    }
    for (int i = 0; i < n; i++)
        take_out(plan, &kept[i]);
    for (int i = 0; i < n; i++)
        kept[i].is_read =
            (pcoll_plan_use(plan, PCOLL_SEND, kept[i].from, kept[i].bytes) & reads) != 0;
    return n;
}
