/* Reduction in slices, the first half; the contract is in slices.h. */
#include "algorithms/shape/slices.h"

#include "algorithms/util.h"

#define DEFAULT_SEGMENT (UINT64_C(128) << 10)

uint64_t pcoll_slices_nsegments(const struct pcoll_signature *signature, uint64_t bytes,
                                const struct pcoll_params *params)
{
    const uint64_t units = bytes / pcoll_unit_of(signature);
    uint64_t n = pcoll_segment_count(bytes, params->segment, DEFAULT_SEGMENT);

    if (n > units)
        n = units;
    return n <= 1 ? 1 : (n + 1) / 2 * 2;
}

void pcoll_slices_open(struct pcoll_slices *slices, int phase)
{
    pcoll_plan_open(slices->plan, phase);
    slices->segment = 0;
    slices->bank = phase;
    slices->trigger = PCOLL_NONE;
    slices->threshold = 0;
}

void pcoll_slices_next(struct pcoll_slices *slices)
{
    slices->segment++;
    slices->bank = !slices->bank;
}

void pcoll_slices_cut(const struct pcoll_slices *slices)
{
    const struct pcoll_signature *signature = &slices->plan->signature;
    const uint64_t unit = pcoll_unit_of(signature), n = (uint64_t)signature->nranks;
    const struct pcoll_segment units =
        pcoll_segment_of(signature->bytes / unit, slices->nsegments, slices->segment);

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t first = units.count * i / n, end = units.count * (i + 1) / n;

        slices->cut[i] = (struct pcoll_segment){(units.first + first) * unit, (end - first) * unit};
    }
}

uint64_t pcoll_slices_slot_bytes(const struct pcoll_signature *signature, uint64_t nsegments)
{
    const uint64_t unit = pcoll_unit_of(signature), units = signature->bytes / unit;
    const uint64_t segment = pcoll_quotient_up(units, nsegments);
    const uint64_t nranks = (uint64_t)signature->nranks;

    return pcoll_whole_lines(pcoll_quotient_up(segment, nranks) * unit);
}

struct pcoll_place pcoll_slices_at(const struct pcoll_slices *slices, int owner, int sender)
{
    const uint64_t bank = slices->banks > 1 ? (uint64_t)slices->bank : 0;
    const uint64_t number = (uint64_t)(sender - (sender > owner)); /* without the owner */
    const bool has_all = slices->nslots == slices->plan->signature.nranks;

    if (slices->slot_bytes > 0)
        return pcoll_at(PCOLL_TEMP,
                        (bank * (uint64_t)slices->nslots + (has_all ? (uint64_t)sender : number)) *
                            slices->slot_bytes);
    return pcoll_at(PCOLL_CELL,
                    (uint64_t)slices->bank * PCOLL_CELL_BYTES + number * slices->cut[owner].count);
}

int pcoll_slices_peer(const struct pcoll_slices *slices, int i)
{
    return (slices->plan->rank + 1 + i) % slices->plan->signature.nranks;
}

void pcoll_slices_put(const struct pcoll_slices *slices, int told, uint64_t done)
{
    const int rank = slices->plan->rank;

    if (told == PCOLL_NONE)
        told = pcoll_slices_peer(slices, 0);
    for (int i = 0; i < slices->plan->signature.nranks - 1; i++) {
        const int peer = pcoll_slices_peer(slices, i);
        const struct pcoll_segment bytes = slices->cut[peer];
        struct pcoll_entry put =
            pcoll_entry_put(slices->trigger, slices->threshold, pcoll_at(PCOLL_SEND, bytes.first),
                            peer, pcoll_slices_at(slices, peer, rank), bytes.count);

        put = pcoll_entry_signal(put, peer, slices->bank, slices->weight);
        pcoll_plan_add(slices->plan,
                       done > 0 && peer == told ? pcoll_entry_done(put, slices->bank, done) : put);
    }
}

struct pcoll_entry pcoll_slices_reduce(const struct pcoll_slices *slices, uint64_t level,
                                       struct pcoll_place to)
{
    const int rank = slices->plan->rank, nranks = slices->plan->signature.nranks;
    const struct pcoll_segment own = slices->cut[rank];

    for (int r = 0; r < nranks; r++)
        pcoll_plan_operand(slices->plan, r == rank ? pcoll_at(PCOLL_SEND, own.first)
                                                   : pcoll_slices_at(slices, rank, r));
    return pcoll_entry_reduce(slices->plan, slices->bank, level, nranks, to, own.count);
}
