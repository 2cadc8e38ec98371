/* Plans as text: for people, and as the tables of document 001.  The contract is in plan.h. */
#include <inttypes.h>

#include "algorithms/plan/plan.h"

static const char *const op_names[PCOLL_NUM_OPS] = {"add", "put", "get", "copy", "wait"};
static const char *const buffer_names[PCOLL_NUM_BUFFERS] = {"send", "recv", "temp", "cell"};

static void print_place(FILE *out, const char *before, int peer, struct pcoll_place place)
{
    fprintf(out, "%s", before);
    if (peer != PCOLL_NONE)
        fprintf(out, "%d:", peer);
    fprintf(out, "%s+%" PRIu64, buffer_names[place.buffer], place.offset);
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

static void print_entry(FILE *out, int index, const struct pcoll_entry *entry)
{
    fprintf(out, "  %3d  ", index);
    if (entry->trigger == PCOLL_NONE)
        fprintf(out, "at start      ");
    else
        fprintf(out, "c%d >= %-8" PRIu64, entry->trigger, entry->threshold);
    fprintf(out, " %-4s", op_names[entry->op]);
    if (entry->op == PCOLL_OP_PUT || entry->op == PCOLL_OP_GET || entry->op == PCOLL_OP_COPY)
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
    static const char *const names[] = {"weights", "get", "user-rma", "order"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (needs & 1u << i)
            fprintf(out, " %s", names[i]);
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
            " B copied, %" PRIu64 " B temp, %" PRIu64 " B state; needs:",
            account.counters, account.entries, account.phases, account.messages,
            account.bytes_moved, account.bytes_copied, account.temp_bytes, account.state_bytes);
    print_needs(out, plan->needs);
    fprintf(out, "\n  gain per cycle:");
    for (int c = 0; c < plan->ncounters; c++)
        fprintf(out, " c%d %" PRIu64, c, plan->gain[c]);
    fprintf(out, "\n");
    for (int p = 0; p < plan->nphases; p++) {
        fprintf(out, " phase %d\n", p);
        for (int i = 0; i < plan->phases[p].count; i++)
            print_entry(out, i, &plan->entries[plan->phases[p].first + i]);
    }
}

static const struct pcoll_entry *phase_entry(const struct pcoll_plan *plan, int i)
{
    return &plan->entries[plan->phases[0].first + i];
}

/* Table 2: Rq, Th, operation, Cl (own counter), Cr (peer's counter). */
static void print_table_bcast(const struct pcoll_plan *plan, FILE *out)
{
    fprintf(out, "Rq\tTh\tOt\tCl\tCr\n");
    for (int i = 0; i < plan->phases[0].count; i++) {
        const struct pcoll_entry *entry = phase_entry(plan, i);
        int local = entry->op == PCOLL_OP_ADD && entry->peer == PCOLL_NONE;

        if (entry->op == PCOLL_OP_WAIT)
            continue;
        fprintf(out, "%d\t%" PRIu64 "\t%s\t", i, entry->threshold,
                local ? "FI_OP_CNTR_ADD" : "FI_OP_WRITE");
        if (entry->done != PCOLL_NONE)
            fprintf(out, "%" PRIu64 "\t", entry->done_add);
        else
            fprintf(out, "-\t");
        if (entry->peer_counter != PCOLL_NONE)
            fprintf(out, "%" PRIu64 "\n", entry->peer_add);
        else
            fprintf(out, "-\n");
    }
}

/* Table 4: round, Th, operation, Iv (increment), Pq (peer), Ci (counter). */
static void print_table_barrier(const struct pcoll_plan *plan, FILE *out)
{
    int round = 0;

    fprintf(out, "r\tTh\tOt\tIv\tPq\tCi\n");
    for (int i = 0; i < plan->phases[0].count; i++) {
        const struct pcoll_entry *entry = phase_entry(plan, i);

        if (entry->op == PCOLL_OP_WAIT)
            fprintf(out, "C\t%" PRIu64 "\tFI_OP_REMOTE_CNTR_ADD\t-%" PRIu64 "\t%d\tC_bb\n",
                    entry->threshold, plan->gain[entry->trigger], plan->rank);
        else
            fprintf(out, "%d\t%" PRIu64 "\tFI_OP_REMOTE_CNTR_ADD\t%" PRIu64 "\t%d\tC_bb\n", ++round,
                    entry->threshold, entry->peer_add, entry->peer);
    }
}

/* Table 5: message, logical round r, real round R, Th, operation, Iv, Pq.  A put is two rows there,
 * its data and its signal. */
static void print_table_allgather(const struct pcoll_plan *plan, FILE *out)
{
    int round = 0, real = 0;

    fprintf(out, "Mn\tr\tR\tTh\tOt\tIv\tPq\n");
    for (int i = 0; i < plan->phases[0].count; i++) {
        const struct pcoll_entry *entry = phase_entry(plan, i);

        real++;
        if (entry->op == PCOLL_OP_ADD) {
            round++;
            fprintf(out, "RTR_%d\t%d\t%d\t%" PRIu64 "\tot1\t%" PRIu64 "\t%d\n", round, round, real,
                    entry->threshold, entry->peer_add, entry->peer);
        } else if (entry->op == PCOLL_OP_PUT) {
            fprintf(out, "DAT_%d\t%d\t%d\t%" PRIu64 "\tot2\t0\t%d\n", round, round, real,
                    entry->threshold, entry->peer);
            fprintf(out, "RTE_%d\t%d\t%d\t%" PRIu64 "\tot1\t%" PRIu64 "\t%d\n", round, round, real,
                    entry->threshold, entry->peer_add, entry->peer);
        } else if (entry->op == PCOLL_OP_WAIT) {
            fprintf(out, "FIN_C\tC\t%d\t%" PRIu64 "\tot1\t-%" PRIu64 "\t%d\n", real,
                    entry->threshold, plan->gain[entry->trigger], plan->rank);
        }
    }
}

void pcoll_plan_print_paper(const struct pcoll_plan *plan, FILE *out)
{
    static void (*const print[PCOLL_NUM_COLLS])(const struct pcoll_plan *, FILE *) = {
        [PCOLL_BARRIER] = print_table_barrier,
        [PCOLL_BCAST] = print_table_bcast,
        [PCOLL_ALLGATHER] = print_table_allgather,
    };

    print[plan->signature.coll](plan, out);
}
