/* The parts of slices; the contract is in parts.h. */
#include "algorithms/shape/parts.h"

#include "algorithms/util.h"

#define DEFAULT_SEGMENT (UINT64_C(128) << 10)

uint64_t pcoll_parts_nsegments(const struct pcoll_signature *signature, uint64_t bytes,
                               const struct pcoll_params *params)
{
    const uint64_t units = bytes / pcoll_unit_of(signature);
    uint64_t n = pcoll_segment_count(bytes, params->segment, DEFAULT_SEGMENT);

    if (n > units)
        n = units;
    return n <= 1 ? 1 : (n + 1) / 2 * 2;
}

void pcoll_parts_open(struct pcoll_parts *parts, int phase)
{
    pcoll_plan_open(parts->plan, phase);
    parts->segment = 0;
    parts->bank = phase;
    parts->trigger = PCOLL_NONE;
    parts->threshold = 0;
}

void pcoll_parts_next(struct pcoll_parts *parts)
{
    parts->segment++;
    parts->bank = !parts->bank;
}

void pcoll_parts_cut(const struct pcoll_parts *parts)
{
    const struct pcoll_signature *signature = &parts->plan->signature;
    const uint64_t unit = pcoll_unit_of(signature), n = (uint64_t)signature->nranks;
    const struct pcoll_segment units =
        pcoll_segment_of(signature->bytes / unit, parts->nsegments, parts->segment);

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t first = units.count * i / n, end = units.count * (i + 1) / n;

        parts->slices[i] =
            (struct pcoll_segment){(units.first + first) * unit, (end - first) * unit};
    }
}

uint64_t pcoll_parts_slice_slot(const struct pcoll_signature *signature, uint64_t nsegments)
{
    const uint64_t unit = pcoll_unit_of(signature), units = signature->bytes / unit;
    const uint64_t segment = pcoll_quotient_up(units, nsegments);
    const uint64_t nranks = (uint64_t)signature->nranks;

    return pcoll_whole_lines(pcoll_quotient_up(segment, nranks) * unit);
}

struct pcoll_place pcoll_parts_at(const struct pcoll_parts *parts, int owner, int sender)
{
    const uint64_t bank = parts->banks > 1 ? (uint64_t)parts->bank : 0;
    const uint64_t number = (uint64_t)(sender - (sender > owner)); /* without the owner */
    const bool has_all = parts->nslots == parts->plan->signature.nranks;

    if (parts->slot_bytes > 0)
        return pcoll_at(PCOLL_TEMP,
                        (bank * (uint64_t)parts->nslots + (has_all ? (uint64_t)sender : number)) *
                            parts->slot_bytes);
    return pcoll_at(PCOLL_CELL,
                    (uint64_t)parts->bank * PCOLL_CELL_BYTES + number * parts->slices[owner].count);
}

int pcoll_parts_peer(const struct pcoll_parts *parts, int i)
{
    return (parts->plan->rank + 1 + i) % parts->plan->signature.nranks;
}

void pcoll_parts_put(const struct pcoll_parts *parts, int told, uint64_t done)
{
    const int rank = parts->plan->rank;

    if (told == PCOLL_NONE)
        told = pcoll_parts_peer(parts, 0);
    for (int i = 0; i < parts->plan->signature.nranks - 1; i++) {
        const int peer = pcoll_parts_peer(parts, i);
        const struct pcoll_segment bytes = parts->slices[peer];
        struct pcoll_entry put =
            pcoll_entry_put(parts->trigger, parts->threshold, pcoll_at(PCOLL_SEND, bytes.first),
                            peer, pcoll_parts_at(parts, peer, rank), bytes.count);

        put = pcoll_entry_signal(put, peer, parts->bank, parts->weight);
        pcoll_plan_add(parts->plan,
                       done > 0 && peer == told ? pcoll_entry_done(put, parts->bank, done) : put);
    }
}

struct pcoll_entry pcoll_parts_reduce(const struct pcoll_parts *parts, uint64_t level,
                                      struct pcoll_place to)
{
    const int rank = parts->plan->rank, nranks = parts->plan->signature.nranks;
    const struct pcoll_segment own = parts->slices[rank];

    for (int r = 0; r < nranks; r++)
        pcoll_plan_operand(parts->plan, r == rank ? pcoll_at(PCOLL_SEND, own.first)
                                                  : pcoll_parts_at(parts, rank, r));
    return pcoll_entry_reduce(parts->plan, parts->bank, level, nranks, to, own.count);
}
