/*
 * A run as a page: timeline.html with the run as JSON in it. Each property of the entries is a list
 * of numbers, one for each firing; -1: none.
 */
#include <inttypes.h>
#include <string.h>

#include "algorithms/plan/topology.h"
#include "tools/sim/timeline.h"

/* Times to a tenth of a nanosecond, without trailing zeros. */
static void print_time(double time, FILE *out)
{
    char text[48];
    int length = snprintf(text, sizeof(text), "%.4f", time);

    while (text[length - 1] == '0')
        length--;
    if (text[length - 1] == '.')
        length--;
    fprintf(out, "%.*s", length, text);
}

/* A property of all firings: a time, or a number of up to 64 bits. */
static void print_times(const struct pcoll_trace *trace, const char *name, size_t offset, FILE *out)
{
    fprintf(out, ",\n\"%s\":[", name);
    for (uint64_t i = 0; i < trace->nfirings; i++) {
        fputs(i ? "," : "", out);
        print_time(*(const double *)((const char *)&trace->firings[i] + offset), out);
    }
    fputc(']', out);
}

typedef int64_t get_number(const struct pcoll_timeline *timeline, uint64_t i,
                           const struct pcoll_kind *kind);

static void print_numbers(const struct pcoll_timeline *timeline, const char *name, get_number *get,
                          FILE *out)
{
    const struct pcoll_trace *trace = timeline->trace;

    fprintf(out, ",\n\"%s\":[", name);
    for (uint64_t i = 0; i < trace->nfirings; i++)
        fprintf(out, "%s%" PRId64, i ? "," : "",
                get(timeline, i, pcoll_firing_kind(trace, &trace->firings[i])));
    fputc(']', out);
}

#define NUMBER(name, value)                                                                        \
    static int64_t name(const struct pcoll_timeline *timeline, uint64_t i,                         \
                        const struct pcoll_kind *kind)                                             \
    {                                                                                              \
        (void)timeline, (void)i, (void)kind;                                                       \
        return (int64_t)(value);                                                                   \
    }

#define FIRING (&timeline->trace->firings[i])

NUMBER(get_rank, FIRING->rank)
NUMBER(get_instance, FIRING->instance)
NUMBER(get_index, FIRING->index)
NUMBER(get_lane, timeline->lanes[i])
NUMBER(get_op, kind->op)
NUMBER(get_trigger, kind->trigger)
NUMBER(get_threshold, pcoll_firing_threshold(timeline->trace, FIRING))
NUMBER(get_peer, pcoll_firing_peer(timeline->trace, FIRING))
NUMBER(get_bytes, kind->bytes)
NUMBER(get_rail, kind->rail)
NUMBER(get_local, pcoll_kind_local(kind))
NUMBER(get_local_at, kind->local_at)
NUMBER(get_remote, pcoll_kind_remote(kind))
NUMBER(get_remote_at, kind->remote_at)
NUMBER(get_done_counter, kind->done)
NUMBER(get_done_add, kind->done_add)
NUMBER(get_peer_counter, kind->peer_counter)
NUMBER(get_peer_add, kind->peer_add)

static void print_firings(const struct pcoll_timeline *timeline, FILE *out)
{
    static const struct {
        const char *name;
        get_number *get;
    } numbers[] = {
        {"rank", get_rank},
        {"instance", get_instance},
        {"index", get_index},
        {"lane", get_lane},
        {"op", get_op},
        {"trigger", get_trigger},
        {"threshold", get_threshold},
        {"peer", get_peer},
        {"bytes", get_bytes},
        {"rail", get_rail},
        {"local", get_local},
        {"localAt", get_local_at},
        {"remote", get_remote},
        {"remoteAt", get_remote_at},
        {"doneCounter", get_done_counter},
        {"doneAdd", get_done_add},
        {"peerCounter", get_peer_counter},
        {"peerAdd", get_peer_add},
    };
    const struct pcoll_trace *trace = timeline->trace;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        print_numbers(timeline, numbers[i].name, numbers[i].get, out);
    print_times(trace, "triggered", offsetof(struct pcoll_firing, triggered), out);
    print_times(trace, "begin", offsetof(struct pcoll_firing, begin), out);
    print_times(trace, "end", offsetof(struct pcoll_firing, end), out);
    print_times(trace, "sent", offsetof(struct pcoll_firing, sent), out);
    print_times(trace, "done", offsetof(struct pcoll_firing, done), out);
    print_times(trace, "seen", offsetof(struct pcoll_firing, seen), out);
}

static void print_names(FILE *out)
{
    fputs(",\n\"ops\":[", out);
    for (int op = 0; op < PCOLL_NUM_OPS; op++)
        fprintf(out, "%s\"%s\"", op ? "," : "", pcoll_op_name((enum pcoll_op)op));
    fputs("],\"buffers\":[", out);
    for (int buffer = 0; buffer < PCOLL_NUM_BUFFERS; buffer++)
        fprintf(out, "%s\"%s\"", buffer ? "," : "", pcoll_buffer_name((enum pcoll_buffer)buffer));
    fputc(']', out);
}

static void print_job(const struct pcoll_timeline *timeline, FILE *out)
{
    const struct pcoll_signature *signature = &timeline->job->signature;
    const struct pcoll_params *params = &timeline->job->params;

    fprintf(out, "\"collective\":\"%s\",\"algorithm\":\"%s\",\"ranks\":%d,\"size\":%" PRIu64 ",",
            pcoll_coll_name(signature->coll), timeline->job->algorithm->name, signature->nranks,
            signature->bytes);
    fprintf(out, "\"root\":%d,\"instances\":%d,\"lowered\":%s,", signature->root,
            timeline->trace->instances, timeline->job->lowered ? "true" : "false");
    fprintf(out, "\"radix\":%d,\"segment\":%" PRIu64 ",", params->radix, params->segment);
    fputs("\"nodes\":[", out);
    for (int r = 0; r < signature->nranks; r++)
        fprintf(out, "%s%d", r ? "," : "", pcoll_topology_node(signature->topology, r));
    fputs("],\n", out);
}

static void print_machine(const struct pcoll_engine_options *options, FILE *out)
{
    const struct pcoll_machine *m = &options->machine;

    fprintf(out, "\"machine\":{\"L\":%g,\"o\":%g,\"g\":%g,\"G\":%g,\"rma\":%g},", m->L, m->o, m->g,
            m->G, m->rma);
    fprintf(out, "\"ports\":%d,\"skew\":%g,\"noise\":%g,\"hostDriven\":%s",
            options->ports > 0 ? options->ports : 1, options->skew, options->noise,
            options->host_driven ? "true" : "false");
}

static void print_spans(const struct pcoll_trace *trace, FILE *out)
{
    const int count = trace->program.nranks * trace->instances;

    fputs(",\n\"spans\":[", out);
    for (int i = 0; i < count; i++) {
        const struct pcoll_instance *span = &trace->spans[i];

        fputs(i ? "," : "", out);
        print_time(span->begin, out);
        fputc(',', out);
        print_time(span->ready, out);
        fputc(',', out);
        print_time(span->end, out);
    }
    fputc(']', out);
}

void pcoll_timeline_page(const struct pcoll_timeline *timeline, FILE *out)
{
    static const char mark[] = "@RUN@";
    const char *at = strstr(pcoll_timeline_html, mark);

    fwrite(pcoll_timeline_html, 1, (size_t)(at - pcoll_timeline_html), out);
    fputc('{', out);
    print_job(timeline, out);
    print_machine(timeline->options, out);
    print_names(out);
    print_spans(timeline->trace, out);
    print_firings(timeline, out);
    fputc('}', out);
    fputs(at + sizeof(mark) - 1, out);
}
