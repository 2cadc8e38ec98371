/* Plans as text for people, and the names of what they consist of. The contract is in plan.h. */
#include <inttypes.h>

#include "algorithms/plan/plan.h"

const char *pcoll_op_name(enum pcoll_op op)
{
    static const char *const names[PCOLL_NUM_OPS] = {"add", "put", "get", "copy", "wait", "reduce"};

    return names[op];
}

const char *pcoll_buffer_name(enum pcoll_buffer buffer)
{
    static const char *const names[PCOLL_NUM_BUFFERS] = {"send", "recv", "temp", "cell"};

    return names[buffer];
}

const char *pcoll_need_name(enum pcoll_need need)
{
    static const char *const names[] = {"weights", "get", "user-rma", "order", "mapped"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if ((unsigned)need == 1u << i)
            return names[i];
    return NULL;
}

static void print_place(FILE *out, const char *before, int peer, struct pcoll_place place)
{
    fprintf(out, "%s", before);
    if (peer != PCOLL_NONE)
        fprintf(out, "%d:", peer);
    fprintf(out, "%s+%" PRIu64, pcoll_buffer_name(place.buffer), place.offset);
}

static void print_move(FILE *out, const struct pcoll_entry *entry)
{
    fprintf(out, " %" PRIu64 " B", entry->bytes);
    if (entry->op == PCOLL_OP_GET)
        print_place(out, " from ", entry->peer, entry->remote);
    else
        print_place(out, " from ", PCOLL_NONE, entry->local);
    if (entry->op == PCOLL_OP_GET)
        print_place(out, " to ", PCOLL_NONE, entry->local);
    else
        print_place(out, " to ", entry->op == PCOLL_OP_PUT ? entry->peer : PCOLL_NONE,
                    entry->remote);
}

static void print_reduce(FILE *out, const struct pcoll_plan *plan, const struct pcoll_entry *entry)
{
    fprintf(out, " %" PRIu64 " B of", entry->bytes);
    for (int i = 0; i < entry->noperands; i++) {
        const struct pcoll_operand *operand = &plan->operands[entry->first_operand + i];

        print_place(out, i ? ", " : " ", operand->rank == plan->rank ? PCOLL_NONE : operand->rank,
                    pcoll_operand_place(operand));
    }
    print_place(out, " to ", PCOLL_NONE, entry->local);
}

static void print_entry(FILE *out, const struct pcoll_plan *plan, int index)
{
    const struct pcoll_entry *entry = &plan->entries[index];

    fprintf(out, "  %3d  ", index);
    if (entry->trigger == PCOLL_NONE)
        fprintf(out, "at start      ");
    else
        fprintf(out, "c%d >= %-8" PRIu64, entry->trigger, entry->threshold);
    fprintf(out, " %-4s", pcoll_op_name(entry->op));
    if (entry->op == PCOLL_OP_REDUCE)
        print_reduce(out, plan, entry);
    else if (pcoll_entry_has_data(entry))
        print_move(out, entry);
    if (entry->done != PCOLL_NONE)
        fprintf(out, ", c%d += %" PRIu64, entry->done, entry->done_add);
    if (entry->peer_counter != PCOLL_NONE)
        fprintf(out, ", %d:c%d += %" PRIu64, entry->peer, entry->peer_counter, entry->peer_add);
    if (entry->rail != 0)
        fprintf(out, ", rail %d", entry->rail);
    fprintf(out, "\n");
}

static void print_needs(FILE *out, unsigned needs)
{
    for (unsigned need = 1; pcoll_need_name((enum pcoll_need)need); need <<= 1)
        if (needs & need)
            fprintf(out, " %s", pcoll_need_name((enum pcoll_need)need));
}

void pcoll_plan_print(const struct pcoll_plan *plan, FILE *out)
{
    const struct pcoll_signature *sig = &plan->signature;
    struct pcoll_account account = pcoll_plan_account(plan);

    fprintf(out, "%s %s: rank %d of %d, root %d, %" PRIu64 " bytes%s\n", pcoll_coll_name(sig->coll),
            plan->algorithm, plan->rank, sig->nranks, sig->root, sig->bytes,
            sig->in_place ? ", in place" : "");
    fprintf(out,
            "  %d counters, %d entries in %d phases, %d messages, %" PRIu64 " B moved, %" PRIu64
            " B copied",
            account.counters, account.entries, account.phases, account.messages,
            account.bytes_moved, account.bytes_copied);
    if (account.bytes_reduced > 0)
        fprintf(out, ", %" PRIu64 " B reduced", account.bytes_reduced);
    fprintf(out, ", %" PRIu64 " B temp, %" PRIu64 " B state; needs:", account.temp_bytes,
            account.state_bytes);
    print_needs(out, plan->needs);
    fprintf(out, "\n  gain per cycle:");
    for (int c = 0; c < plan->ncounters; c++)
        fprintf(out, " c%d %" PRIu64, c, plan->gain[c]);
    fprintf(out, "\n");
    for (int p = 0; p < plan->nphases; p++) {
        fprintf(out, " phase %d\n", p);
        for (int i = 0; i < plan->phases[p].count; i++)
            print_entry(out, plan, plan->phases[p].first + i);
    }
}
