/*
 * Plans as a picture for Graphviz. A counter is an ellipse, an entry a box. An arrow into an entry
 * says at which value of the counter it fires. An arrow out of it says what it adds to which
 * counter, and is green if the counter belongs to another rank. Counters of ranks outside the
 * picture are dashed.
 */
#include <inttypes.h>
#include <stdbool.h>

#include "tools/show.h"

static const char *const colors[PCOLL_NUM_OPS] = {
    [PCOLL_OP_ADD] = "#b9e4d3",  [PCOLL_OP_PUT] = "#b5d5f0",  [PCOLL_OP_GET] = "#ffd9a0",
    [PCOLL_OP_COPY] = "#ecc6de", [PCOLL_OP_WAIT] = "#e4e4e4", [PCOLL_OP_REDUCE] = "#efe6a8",
};

static void print_move(const struct pcoll_entry *entry, FILE *out)
{
    const bool is_get = entry->op == PCOLL_OP_GET;
    const struct pcoll_place from = is_get ? entry->remote : entry->local;
    const struct pcoll_place to = is_get ? entry->local : entry->remote;

    fprintf(out, " %" PRIu64 " B\\n", entry->bytes);
    if (is_get)
        fprintf(out, "%d:", entry->peer);
    fprintf(out, "%s+%" PRIu64 " to ", pcoll_buffer_name(from.buffer), from.offset);
    if (entry->op == PCOLL_OP_PUT)
        fprintf(out, "%d:", entry->peer);
    fprintf(out, "%s+%" PRIu64, pcoll_buffer_name(to.buffer), to.offset);
}

static void print_reduce(const struct pcoll_plan *plan, const struct pcoll_entry *entry, FILE *out)
{
    fprintf(out, " %" PRIu64 " B of\\n", entry->bytes);
    for (int i = 0; i < entry->noperands; i++) {
        const struct pcoll_operand *operand = &plan->operands[entry->first_operand + i];

        fputs(i ? ", " : "", out);
        if (operand->rank != plan->rank)
            fprintf(out, "%d:", operand->rank);
        fprintf(out, "%s+%" PRIu64, pcoll_buffer_name(operand->buffer), operand->offset);
    }
    fprintf(out, "\\nto %s+%" PRIu64, pcoll_buffer_name(entry->local.buffer), entry->local.offset);
}

static void print_entry(const struct pcoll_plan *plan, int index, FILE *out)
{
    const struct pcoll_entry *entry = &plan->entries[index];

    fprintf(out, "      r%de%d [fillcolor=\"%s\", label=\"%s", plan->rank, index, colors[entry->op],
            pcoll_op_name(entry->op));
    if (entry->op == PCOLL_OP_REDUCE)
        print_reduce(plan, entry, out);
    else if (pcoll_entry_has_data(entry))
        print_move(entry, out);
    if (entry->trigger == PCOLL_NONE)
        fputs("\\nat start\", penwidth=2.5];\n", out);
    else
        fputs("\"];\n", out);
}

/* Returns whether entry `index` of the plan is in the picture. */
static bool is_shown(const struct pcoll_plan *plan, int phase, int index)
{
    return phase == PCOLL_NONE || (phase < plan->nphases && index >= plan->phases[phase].first &&
                                   index < plan->phases[phase].first + plan->phases[phase].count);
}

/* Returns whether such an entry uses counter c of `rank`, which is the rank of one of the plans or
 * a peer. */
static bool is_used(struct pcoll_plan *const *plans, int count, int phase, int rank, int c)
{
    if (phase == PCOLL_NONE)
        return true;
    for (int p = 0; p < count; p++)
        for (int i = 0; i < plans[p]->nentries; i++) {
            const struct pcoll_entry *entry = &plans[p]->entries[i];
            const bool own = plans[p]->rank == rank && (entry->trigger == c || entry->done == c);

            if ((own || (entry->peer == rank && entry->peer_counter == c)) &&
                is_shown(plans[p], phase, i))
                return true;
        }
    return false;
}

static void print_phase(const struct pcoll_plan *plan, int phase, FILE *out)
{
    const int first = plan->phases[phase].first;

    if (plan->phases[phase].count == 0)
        return;
    fprintf(out, "    subgraph cluster_r%dp%d {\n", plan->rank, phase);
    fprintf(out, "      label=\"phase %d\"; style=\"rounded,dashed\"; color=\"#999999\";\n", phase);
    for (int i = 0; i < plan->phases[phase].count; i++)
        print_entry(plan, first + i, out);
    fputs("    }\n", out);
}

static void print_rank(struct pcoll_plan *const *plans, int count, int number, int phase, FILE *out)
{
    const struct pcoll_plan *plan = plans[number];
    const int r = plan->rank;

    fprintf(out,
            "  subgraph cluster_r%d {\n    label=\"rank %d\"; style=rounded; color=\"#555555\";\n",
            r, r);
    for (int c = 0; c < plan->ncounters; c++)
        if (is_used(plans, count, phase, r, c))
            fprintf(out, "    r%dc%d [shape=ellipse, fillcolor=white, label=\"c%d\"];\n", r, c, c);
    for (int p = 0; p < plan->nphases; p++)
        if (phase == PCOLL_NONE || phase == p)
            print_phase(plan, p, out);
    fputs("  }\n", out);
}

/* The counters of ranks that are not shown. */
static void print_foreign(const struct pcoll_plan *plan, int phase, FILE *out)
{
    for (int i = 0; i < plan->nentries; i++) {
        const struct pcoll_entry *entry = &plan->entries[i];

        if (entry->peer_counter != PCOLL_NONE && entry->peer != plan->rank &&
            is_shown(plan, phase, i))
            fprintf(
                out,
                "  r%dc%d [shape=ellipse, style=dashed, color=\"#555555\", label=\"%d:c%d\"];\n",
                entry->peer, entry->peer_counter, entry->peer, entry->peer_counter);
    }
}

static void print_arrows(const struct pcoll_plan *plan, int index, FILE *out)
{
    const struct pcoll_entry *entry = &plan->entries[index];
    const int r = plan->rank, i = index;

    if (entry->trigger != PCOLL_NONE)
        fprintf(out, "  r%dc%d -> r%de%d [label=\">= %" PRIu64 "\"];\n", r, entry->trigger, r, i,
                entry->threshold);
    if (entry->done != PCOLL_NONE)
        fprintf(out, "  r%de%d -> r%dc%d [label=\"+%" PRIu64 "\", color=\"#888888\"];\n", r, i, r,
                entry->done, entry->done_add);
    if (entry->peer_counter != PCOLL_NONE)
        fprintf(out,
                "  r%de%d -> r%dc%d [label=\"+%" PRIu64
                "\", color=\"#00785a\", fontcolor=\"#00785a\", penwidth=1.5];\n",
                r, i, entry->peer, entry->peer_counter, entry->peer_add);
}

static void print_head(const struct pcoll_plan *plan, FILE *out)
{
    const struct pcoll_signature *signature = &plan->signature;

    fprintf(out, "digraph plan {\n  label=\"%s %s, %d ranks", pcoll_coll_name(signature->coll),
            plan->algorithm, signature->nranks);
    if (signature->bytes > 0)
        fprintf(out, ", %" PRIu64 " B", signature->bytes);
    fputs("\";\n"
          "  labelloc=t; rankdir=LR; fontname=\"Helvetica\"; nodesep=0.15;\n"
          "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=10, "
          "height=0.3];\n"
          "  edge [fontname=\"Helvetica\", fontsize=9, arrowsize=0.6];\n",
          out);
}

void show_dot(struct pcoll_plan *const *plans, int count, int phase, FILE *out)
{
    print_head(plans[0], out);
    for (int i = 0; i < count; i++)
        print_rank(plans, count, i, phase, out);
    for (int i = 0; i < count; i++) {
        if (count == 1)
            print_foreign(plans[i], phase, out);
        for (int e = 0; e < plans[i]->nentries; e++)
            if (is_shown(plans[i], phase, e))
                print_arrows(plans[i], e, out);
    }
    fputs("}\n", out);
}
