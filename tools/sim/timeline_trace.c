/*
 * A run in the JSON of Chrome's traces, which Perfetto reads (ui.perfetto.dev).
 *
 * A rank is a process with these threads: 0 shows the work of the processor; 1 and following show
 * transfers; those from FIRST_COUNTER on show one counter each that peers signal, where a slice
 * lasts until the next signal arrives. A signal is a flow from the end of its entry to the slice
 * that it begins.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/sim/timeline.h"

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

static void name_threads(const struct pcoll_timeline *timeline, FILE *out)
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

static void print_firing(const struct pcoll_timeline *timeline, uint64_t i, FILE *out)
{
    const struct pcoll_firing *firing = &timeline->trace->firings[i];
    char name[PCOLL_TIMELINE_NAME];

    pcoll_timeline_name(timeline->trace, firing, name);
    begin_slice(name, "entry", firing->rank, 0, firing->begin, firing->end, out);
    print_arguments(timeline->trace, firing, out);
    if (timeline->lanes[i] == PCOLL_NONE)
        return;
    begin_slice(name, "transfer", firing->rank, 1 + timeline->lanes[i],
                pcoll_timeline_transfer(firing), firing->done, out);
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

static int is_same_counter(const struct arrival *a, const struct arrival *b)
{
    return a->rank == b->rank && a->counter == b->counter;
}

/* A flow begins in a slice of the sender and ends in one of the receiver. */
static void print_flow(const struct pcoll_timeline *timeline, const struct arrival *arrival,
                       FILE *out)
{
    const struct pcoll_firing *firing = &timeline->trace->firings[arrival->firing];
    const int lane = timeline->lanes[arrival->firing];
    const double leaves = lane == PCOLL_NONE ? firing->begin : pcoll_timeline_transfer(firing);

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
static void print_arrivals(const struct pcoll_timeline *timeline, const struct arrival *first,
                           const struct arrival *behind, int is_last, FILE *out)
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

static void print_signals(const struct pcoll_timeline *timeline, const struct arrival *arrivals,
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

void pcoll_timeline_trace(const struct pcoll_timeline *timeline, FILE *out)
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
