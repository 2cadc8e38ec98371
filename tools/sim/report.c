/* The output of pcoll-sim. */
#include <inttypes.h>

#include "tools/sim/options.h"

#include "tuning/table/estimates.h"

void report_head(const struct options *options, FILE *out)
{
    const struct pcoll_machine *machine = &options->engine.machine;

    if (options->resources) {
        fprintf(out, "%-14s %8s %10s %8s | %8s %8s %9s %8s %9s\n", "algorithm", "ranks", "bytes",
                "counters", "sends", "receives", "channels", "rounds", "by round");
        return;
    }
    fprintf(out, "%s: L %g o %g g %g G %g rma %g us; %d ranks a node\n",
            pcoll_coll_name(options->coll), machine->L, machine->o, machine->g, machine->G,
            machine->rma, options->ppn);
    fprintf(out, "%-14s %8s %10s %5s %8s %12s %11s %12s %14s %8s %7s %10s %8s\n", "algorithm",
            "ranks", "bytes", "ports", "segment", "time us", "period us", "messages", "moved B",
            "counters", "entries", "state B", "run s");
}

void report_resources(const struct pcoll_job *job, const struct pcoll_resources *max, FILE *out)
{
    fprintf(out, "%-14s %8d %10" PRIu64 " %8d | %8d %8d %9d %8d %9d\n", job->algorithm->name,
            job->signature.nranks, job->signature.bytes, max->counters, max->sends, max->receives,
            pcoll_resources_by_channel(max), max->rounds, pcoll_resources_by_round(max));
}

void report_row(const struct options *options, const struct row *row, FILE *out)
{
    const struct pcoll_engine_result *result = &row->result;

    fprintf(out,
            "%-14s %8d %10" PRIu64 " %5d %8" PRIu64 " %12.3f %11.3f %12" PRIu64 " %14" PRIu64
            " %8d %7d %10" PRIu64 " %8.2f\n",
            row->algorithm->name, row->nranks, row->bytes, row->ports, row->segment, result->first,
            pcoll_engine_period(result, options->engine.instances), result->messages, result->bytes,
            result->max.counters, result->max.entries, result->max.state_bytes, row->seconds);
    fflush(out);
}

static void json_row(const struct options *options, const struct row *row, FILE *out)
{
    const struct pcoll_engine_result *result = &row->result;

    fprintf(out,
            "    { \"algorithm\": \"%s\", \"ranks\": %d, \"bytes\": %" PRIu64 ", \"ports\": %d, ",
            row->algorithm->name, row->nranks, row->bytes, row->ports);
    fprintf(out, "\"segment\": %" PRIu64 ",\n      \"time_us\": %.9g, \"earliest_us\": %.9g, ",
            row->segment, result->first, result->earliest);
    fprintf(out, "\"last_us\": %.9g, \"period_us\": %.9g,\n", result->last,
            pcoll_engine_period(result, options->engine.instances));
    fprintf(out, "      \"messages\": %" PRIu64 ", \"bytes_moved\": %" PRIu64 ", ",
            result->messages, result->bytes);
    fprintf(out, "\"between_nodes\": { \"messages\": %" PRIu64 ", \"bytes\": %" PRIu64 " },\n",
            result->wire_messages, result->wire_bytes);
    fprintf(out,
            "      \"counters\": %d, \"entries\": %d, \"phases\": %d, \"temp_bytes\": %" PRIu64,
            result->max.counters, result->max.entries, result->max.phases, result->max.temp_bytes);
    fprintf(out,
            ", \"state_bytes\": %" PRIu64 ",\n      \"waited_us\": %.9g, \"fired\": %" PRIu64 ", ",
            result->max.state_bytes, result->waited, result->entries);
    fprintf(out, "\"events\": %" PRIu64 ", \"verified\": %s, \"run_s\": %.3f }", result->events,
            options->engine.verify ? "true" : "false", row->seconds);
}

void report_json(const struct options *options, const struct row *rows, int count, FILE *out)
{
    const struct pcoll_engine_options *engine = &options->engine;
    struct pcoll_machine m = engine->machine;

    fprintf(out, "{ \"collective\": \"%s\",\n", pcoll_coll_name(options->coll));
    fputs("  \"machine\": { ", out);
    for (int i = 0; i < PCOLL_NUM_REQUIRED; i++)
        fprintf(out, "\"%s\": %g, ", pcoll_parameters[i].name,
                *pcoll_machine_parameter(&m, (enum pcoll_parameter)i));
    fprintf(out, "\"cores\": %d },\n", m.cores);
    fprintf(out, "  \"ranks_per_node\": %d, \"instances\": %d, \"skew_us\": %g, ", options->ppn,
            engine->instances > 0 ? engine->instances : 1, engine->skew);
    fprintf(out, "\"noise_us\": %g, \"seed\": %" PRIu64 ", \"host_driven\": %s,\n", engine->noise,
            engine->seed, engine->host_driven ? "true" : "false");
    fprintf(out, "  \"rows\": [\n");
    for (int i = 0; i < count; i++) {
        json_row(options, &rows[i], out);
        fprintf(out, i + 1 < count ? ",\n" : "\n");
    }
    fprintf(out, "  ] }\n");
}
