/* Plans as the tables of document 001. The contract is in plan.h. */
#include <inttypes.h>
#include <stdbool.h>

#include "algorithms/plan/plan.h"

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
        bool local = entry->op == PCOLL_OP_ADD && entry->peer == PCOLL_NONE;

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

/* Table 5: message, logical round r, real round R, Th, operation, Iv, Pq. In the table a put takes
 * two rows, for its data and for its signal. */
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
    switch (plan->signature.coll) {
        case PCOLL_BARRIER:
            print_table_barrier(plan, out);
            break;
        case PCOLL_BCAST:
            print_table_bcast(plan, out);
            break;
        case PCOLL_ALLGATHER:
            print_table_allgather(plan, out);
            break;
        default: /* the document has no tables for the others */
            break;
    }
}
