/* Plans as JSON; all numbers are integers, and empty members are left out. doc/plan-json.md
 * describes the form. */
#include <inttypes.h>
#include <stdbool.h>

#include "algorithms/plan/topology.h"
#include "tools/show.h"

static void print_counter(const char *name, int counter, const char *add_name, uint64_t add,
                          FILE *out)
{
    if (counter != PCOLL_NONE)
        fprintf(out, ", \"%s\": %d, \"%s\": %" PRIu64, name, counter, add_name, add);
}

static void print_place(const char *name, struct pcoll_place place, FILE *out)
{
    fprintf(out, ", \"%s\": [\"%s\", %" PRIu64 "]", name, pcoll_buffer_name(place.buffer),
            place.offset);
}

static void print_operands(const struct pcoll_plan *plan, const struct pcoll_entry *entry,
                           FILE *out)
{
    fputs(", \"operands\": [", out);
    for (int i = 0; i < entry->noperands; i++) {
        const struct pcoll_operand *operand = &plan->operands[entry->first_operand + i];

        fprintf(out, "%s[\"%s\", %" PRIu64, i ? ", " : "", pcoll_buffer_name(operand->buffer),
                operand->offset);
        if (operand->rank != plan->rank)
            fprintf(out, ", %d", operand->rank);
        fputc(']', out);
    }
    fputc(']', out);
}

static void print_entry(const struct pcoll_plan *plan, const struct pcoll_entry *entry, FILE *out)
{
    const bool reduces = entry->op == PCOLL_OP_REDUCE;

    fprintf(out, "{\"op\": \"%s\"", pcoll_op_name(entry->op));
    if (entry->trigger != PCOLL_NONE)
        fprintf(out, ", \"trigger\": %d, \"threshold\": %" PRIu64, entry->trigger,
                entry->threshold);
    if (entry->peer != PCOLL_NONE)
        fprintf(out, ", \"peer\": %d, \"rail\": %d", entry->peer, entry->rail);
    if (pcoll_entry_has_data(entry) || entry->bytes > 0) {
        fprintf(out, ", \"bytes\": %" PRIu64, entry->bytes);
        print_place("local", entry->local, out);
        if (reduces)
            print_operands(plan, entry, out);
        else
            print_place("remote", entry->remote, out);
    }
    print_counter("done", entry->done, "done_add", entry->done_add, out);
    print_counter("peer_counter", entry->peer_counter, "peer_add", entry->peer_add, out);
    fputc('}', out);
}

static void print_phases(const struct pcoll_plan *plan, FILE *out)
{
    fputs(",\n     \"phases\": [", out);
    for (int p = 0; p < plan->nphases; p++) {
        const struct pcoll_phase *phase = &plan->phases[p];

        fputs(p ? ",\n      [" : "\n      [", out);
        for (int i = 0; i < phase->count; i++) {
            fputs(i ? ",\n       " : "", out);
            print_entry(plan, &plan->entries[phase->first + i], out);
        }
        fputc(']', out);
    }
    fputc(']', out);
}

static void print_needs(unsigned needs, FILE *out)
{
    const char *comma = "";

    fputs("], \"needs\": [", out);
    for (unsigned need = 1; pcoll_need_name((enum pcoll_need)need); need <<= 1)
        if (needs & need) {
            fprintf(out, "%s\"%s\"", comma, pcoll_need_name((enum pcoll_need)need));
            comma = ", ";
        }
    fputc(']', out);
}

static void print_plan(const struct pcoll_plan *plan, FILE *out)
{
    fprintf(out, "    {\"rank\": %d, \"temp_bytes\": %" PRIu64 ", \"gain\": [", plan->rank,
            plan->temp_bytes);
    for (int c = 0; c < plan->ncounters; c++)
        fprintf(out, "%s%" PRIu64, c ? ", " : "", plan->gain[c]);
    fputs("], \"neighbors\": [", out);
    for (int i = 0; i < plan->nneighbors; i++)
        fprintf(out, "%s%d", i ? ", " : "", plan->neighbors[i]);
    print_needs(plan->needs, out);
    print_phases(plan, out);
    fputc('}', out);
}

static void print_nodes(const struct pcoll_signature *signature, FILE *out)
{
    if (!signature->topology)
        return;
    fputs("  \"nodes\": [", out);
    for (int r = 0; r < signature->nranks; r++)
        fprintf(out, "%s%d", r ? ", " : "", pcoll_topology_node(signature->topology, r));
    fputs("],\n", out);
}

void show_json(const struct pcoll_job *job, struct pcoll_plan *const *plans, int count, FILE *out)
{
    const struct pcoll_signature *signature = &job->signature;

    fprintf(out, "{ \"pcoll_plan\": 1, \"collective\": \"%s\", \"algorithm\": \"%s\",\n",
            pcoll_coll_name(signature->coll), plans[0]->algorithm);
    fprintf(out, "  \"ranks\": %d, \"root\": %d, \"bytes\": %" PRIu64 ", \"in_place\": %s, ",
            signature->nranks, signature->root, signature->bytes,
            signature->in_place ? "true" : "false");
    fprintf(out, "%s\"lowered\": %s,\n", signature->commutes ? "\"commutes\": true, " : "",
            job->lowered ? "true" : "false");
    print_nodes(signature, out);
    fputs("  \"plans\": [\n", out);
    for (int i = 0; i < count; i++) {
        print_plan(plans[i], out);
        fputs(i + 1 < count ? ",\n" : "\n", out);
    }
    fputs("  ] }\n", out);
}
