/* A run as a picture in time; the contract is in timeline.h. */
#include "tools/sim/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/plan/topology.h"

struct timeline {
    const struct pcoll_job *job;
    const struct pcoll_engine_options *options;
    const struct pcoll_trace *trace;
    int *lanes; /* [nfirings]: separates overlapping transfers of a rank in the picture, from 0; -1:
                 * no transfer */
};

enum { MAX_LANES = 8 };

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);

    return length > tail && strcmp(text + length - tail, end) == 0;
}

bool pcoll_timeline_is_page(const char *file)
{
    return ends_with(file, ".html");
}

bool pcoll_timeline_is_trace(const char *file)
{
    return ends_with(file, ".json");
}

/* The time at which the transfer of an entry begins, which lasts until the entry is done: after the
 * processor's work, and after waiting for the port. */
static double begin_of_transfer(const struct pcoll_firing *firing)
{
    return firing->sent < 0 ? firing->end : firing->end + firing->sent - firing->begin;
}

/* "put 8 B to 3". */
enum { PCOLL_TIMELINE_NAME = 64 };
static void name_of(const struct pcoll_trace *trace, const struct pcoll_firing *firing,
                    char name[PCOLL_TIMELINE_NAME])
{
    const struct pcoll_kind *kind = pcoll_firing_kind(trace, firing);
    const enum pcoll_op op = (enum pcoll_op)kind->op;
    const int peer = pcoll_firing_peer(trace, firing);
    char *end = name + PCOLL_TIMELINE_NAME;

    name += snprintf(name, PCOLL_TIMELINE_NAME, "%s", pcoll_op_name(op));
    if (op != PCOLL_OP_ADD && op != PCOLL_OP_WAIT)
        name += snprintf(name, (size_t)(end - name), " %" PRIu64 " B", kind->bytes);
    if (peer != PCOLL_NONE && op != PCOLL_OP_COPY)
        snprintf(name, (size_t)(end - name), " %s %d", op == PCOLL_OP_GET ? "from" : "to", peer);
}

/* The first lane that is free when the transfer begins, or otherwise the one that is free first. */
static int choose_lane(const double *free_at, double begin)
{
    int first = 0;

    for (int lane = 0; lane < MAX_LANES; lane++) {
        if (free_at[lane] <= begin + 1e-9)
            return lane;
        if (free_at[lane] < free_at[first])
            first = lane;
    }
    return first;
}

struct transfer {
    double begin, end;
    uint64_t firing;
};

static int by_begin(const void *a, const void *b)
{
    const struct transfer *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->firing < y->firing ? -1 : x->firing > y->firing;
}

/* Sets the lanes of a rank, whose firings are first .. end - 1; `transfers` has room for all. */
static void set_lanes_of_rank(const struct pcoll_trace *trace, uint64_t first, uint64_t end,
                              struct transfer *transfers, int *lanes)
{
    double free_at[MAX_LANES] = {0};
    size_t count = 0;

    for (uint64_t i = first; i < end; i++) {
        const struct pcoll_firing *firing = &trace->firings[i];
        const double begin = begin_of_transfer(firing);

        lanes[i] = PCOLL_NONE;
        if (firing->done > begin)
            transfers[count++] = (struct transfer){begin, firing->done, i};
    }
    qsort(transfers, count, sizeof(*transfers), by_begin);
    for (size_t i = 0; i < count; i++) {
        const int lane = choose_lane(free_at, transfers[i].begin);

        free_at[lane] = transfers[i].end;
        lanes[transfers[i].firing] = lane;
    }
}

static bool set_lanes(const struct pcoll_trace *trace, int *lanes)
{
    struct transfer *transfers = malloc((trace->nfirings + 1) * sizeof(*transfers));
    uint64_t first = 0;

    if (!transfers)
        return false;
    for (uint64_t i = 1; i <= trace->nfirings; i++)
        if (i == trace->nfirings || trace->firings[i].rank != trace->firings[first].rank) {
            set_lanes_of_rank(trace, first, i, transfers, lanes);
            first = i;
        }
    free(transfers);
    return true;
}

/* ---- a page: timeline.html with the run as JSON in it ----
 *
 * Each property of the entries is a list of numbers, one for each firing; -1: none. */

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

typedef int64_t get_number(const struct timeline *timeline, uint64_t i,
                           const struct pcoll_kind *kind);

static void print_numbers(const struct timeline *timeline, const char *name, get_number *get,
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
    static int64_t name(const struct timeline *timeline, uint64_t i,                               \
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

static void print_firings(const struct timeline *timeline, FILE *out)
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

static void print_job(const struct timeline *timeline, FILE *out)
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

static void print_page(const struct timeline *timeline, FILE *out)
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

/* ---- Perfetto: the JSON of Chrome's traces (ui.perfetto.dev) ----
 *
 * A rank is a process with these threads: 0 shows the work of the processor; 1 and following show
 * transfers; those from FIRST_COUNTER on show one counter each that peers signal, where a slice
 * lasts until the next signal arrives. A signal is a flow from the end of its entry to the slice
 * that it begins. */

enum { FIRST_COUNTER = 100 };

/* A signal that arrives at a counter. */
struct arrival {
    double time;
    uint64_t firing;
    int32_t rank, counter;
    uint64_t add;
};

static int by_place(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->counter != y->counter)
        return x->counter < y->counter ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->firing < y->firing ? -1 : x->firing > y->firing;
}

/* ---- names of ranks and threads ---- */

static void name_process(int rank, FILE *out)
{
    fprintf(
        out,
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}},\n",
        rank, rank);
    fprintf(
        out,
        "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"args\":{\"sort_index\":%d}}",
        rank, rank);
}

static void name_thread(int rank, int thread, FILE *out)
{
    fprintf(out,
            ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"",
            rank, thread);
    if (thread == 0)
        fputs("processor", out);
    else if (thread < FIRST_COUNTER)
        fputs("transfer", out);
    else
        fprintf(out, "counter %d", thread - FIRST_COUNTER);
    fputs("\"}}", out);
}

static void name_threads(const struct timeline *timeline, FILE *out)
{
    const struct pcoll_trace *trace = timeline->trace;
    uint64_t i = 0;

    for (int rank = 0; rank < trace->program.nranks; rank++) {
        int lanes = 0;

        fputs(rank ? ",\n" : "", out);
        name_process(rank, out);
        for (; i < trace->nfirings && trace->firings[i].rank == rank; i++)
            lanes = timeline->lanes[i] >= lanes ? timeline->lanes[i] + 1 : lanes;
        for (int thread = 0; thread <= lanes; thread++)
            name_thread(rank, thread, out);
    }
}

/* ---- slices ---- */

static void begin_slice(const char *name, const char *category, int rank, int thread, double begin,
                        double end, FILE *out)
{
    fprintf(out,
            ",\n{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.6f,"
            "\"dur\":%.6f",
            name, category, rank, thread, begin, end - begin);
}

static void print_arguments(const struct pcoll_trace *trace, const struct pcoll_firing *firing,
                            FILE *out)
{
    const struct pcoll_kind *kind = pcoll_firing_kind(trace, firing);

    fprintf(out, ",\"args\":{\"instance\":%d,\"entry\":%d,\"bytes\":%" PRIu64 ",\"triggered\":%.6f",
            firing->instance, firing->index, kind->bytes, firing->triggered);
    if (kind->trigger != PCOLL_NONE)
        fprintf(out, ",\"trigger\":\"c%d >= %" PRIu64 "\"", kind->trigger,
                pcoll_firing_threshold(trace, firing));
    fprintf(out, ",\"done\":%.6f}}", firing->done);
}

static void print_firing(const struct timeline *timeline, uint64_t i, FILE *out)
{
    const struct pcoll_firing *firing = &timeline->trace->firings[i];
    char name[PCOLL_TIMELINE_NAME];

    name_of(timeline->trace, firing, name);
    begin_slice(name, "entry", firing->rank, 0, firing->begin, firing->end, out);
    print_arguments(timeline->trace, firing, out);
    if (timeline->lanes[i] == PCOLL_NONE)
        return;
    begin_slice(name, "transfer", firing->rank, 1 + timeline->lanes[i], begin_of_transfer(firing),
                firing->done, out);
    fputc('}', out);
}

/* ---- signals ---- */

/* Collects the arrivals; returns their number. */
static uint64_t collect(const struct pcoll_trace *trace, struct arrival *arrivals)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < trace->nfirings; i++) {
        const struct pcoll_firing *firing = &trace->firings[i];
        const struct pcoll_kind *kind = pcoll_firing_kind(trace, firing);

        if (kind->peer_counter != PCOLL_NONE && firing->seen >= 0)
            arrivals[count++] = (struct arrival){firing->seen, i, pcoll_firing_peer(trace, firing),
                                                 kind->peer_counter, kind->peer_add};
    }
    qsort(arrivals, count, sizeof(*arrivals), by_place);
    return count;
}

static bool is_same_counter(const struct arrival *a, const struct arrival *b)
{
    return a->rank == b->rank && a->counter == b->counter;
}

/* A flow begins in a slice of the sender and ends in one of the receiver. */
static void print_flow(const struct timeline *timeline, const struct arrival *arrival, FILE *out)
{
    const struct pcoll_firing *firing = &timeline->trace->firings[arrival->firing];
    const int lane = timeline->lanes[arrival->firing];
    const double leaves = lane == PCOLL_NONE ? firing->begin : begin_of_transfer(firing);

    fprintf(out,
            ",\n{\"ph\":\"s\",\"name\":\"signal\",\"cat\":\"signal\",\"id\":%" PRIu64
            ",\"pid\":%d,\"tid\":%d,\"ts\":%.6f}",
            arrival->firing, firing->rank, lane + 1, leaves);
    fprintf(out,
            ",\n{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"signal\",\"cat\":\"signal\",\"id\":%" PRIu64
            ",\"pid\":%d,\"tid\":%d,\"ts\":%.6f}",
            arrival->firing, arrival->rank, FIRST_COUNTER + arrival->counter, arrival->time);
}

/* Prints all arrivals at one counter at one time; `next` is the following arrival, or none. The
 * slice lasts until then, or until the rank is done. */
static void print_arrivals(const struct timeline *timeline, const struct arrival *first,
                           const struct arrival *behind, bool is_last, FILE *out)
{
    const struct pcoll_trace *trace = timeline->trace;
    const double end =
        is_last ? trace->spans[(first->rank + 1) * trace->instances - 1].end : behind->time;
    uint64_t add = 0;
    char name[32];

    for (const struct arrival *arrival = first; arrival < behind; arrival++)
        add += arrival->add;
    snprintf(name, sizeof(name), "+%" PRIu64, add);
    begin_slice(name, "counter", first->rank, FIRST_COUNTER + first->counter, first->time,
                end > first->time ? end : first->time, out);
    fputc('}', out);
    for (const struct arrival *arrival = first; arrival < behind; arrival++)
        print_flow(timeline, arrival, out);
}

static void print_signals(const struct timeline *timeline, const struct arrival *arrivals,
                          uint64_t count, FILE *out)
{
    for (uint64_t i = 0, next; i < count; i = next) {
        if (i == 0 || !is_same_counter(&arrivals[i], &arrivals[i - 1]))
            name_thread(arrivals[i].rank, FIRST_COUNTER + arrivals[i].counter, out);
        for (next = i + 1; next < count && is_same_counter(&arrivals[i], &arrivals[next]) &&
                           arrivals[next].time <= arrivals[i].time;)
            next++;
        print_arrivals(timeline, &arrivals[i], &arrivals[next],
                       next == count || !is_same_counter(&arrivals[i], &arrivals[next]), out);
    }
}

static void print_trace(const struct timeline *timeline, FILE *out)
{
    const struct pcoll_trace *trace = timeline->trace;
    struct arrival *arrivals = malloc((trace->nfirings + 1) * sizeof(*arrivals));

    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out);
    name_threads(timeline, out);
    for (uint64_t i = 0; i < trace->nfirings; i++)
        print_firing(timeline, i, out);
    if (arrivals)
        print_signals(timeline, arrivals, collect(trace, arrivals), out);
    free(arrivals);
    fputs("\n]}\n", out);
}

/* ---- the file ---- */

enum pcoll_result pcoll_timeline_write(const struct pcoll_job *job,
                                       const struct pcoll_engine_options *options,
                                       const struct pcoll_trace *trace, const char *file)
{
    int *lanes = malloc((trace->nfirings + 1) * sizeof(*lanes));
    const struct timeline timeline = {job, options, trace, lanes};
    FILE *out = lanes && set_lanes(trace, lanes) ? fopen(file, "w") : NULL;
    bool good = out != NULL;

    if (good && pcoll_timeline_is_page(file))
        print_page(&timeline, out);
    else if (good)
        print_trace(&timeline, out);
    if (good)
        good = !ferror(out);
    if (out)
        good = fclose(out) == 0 && good;
    if (!good)
        fprintf(stderr, "%s: %s\n", file, strerror(errno));
    free(lanes);
    return good ? PCOLL_OK : PCOLL_ERR_SYSTEM;
}
