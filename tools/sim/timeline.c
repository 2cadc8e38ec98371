#include "tools/sim/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LANES = 8 };

static int ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);

    return length > tail && strcmp(text + length - tail, end) == 0;
}

int pcoll_timeline_is_page(const char *file)
{
    return ends_with(file, ".html");
}

int pcoll_timeline_is_trace(const char *file)
{
    return ends_with(file, ".json");
}

double pcoll_timeline_transfer(const struct pcoll_firing *firing)
{
    return firing->sent < 0 ? firing->end : firing->end + firing->sent - firing->begin;
}

void pcoll_timeline_name(const struct pcoll_trace *trace, const struct pcoll_firing *firing,
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
        const double begin = pcoll_timeline_transfer(firing);

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

static int set_lanes(const struct pcoll_trace *trace, int *lanes)
{
    struct transfer *transfers = malloc((trace->nfirings + 1) * sizeof(*transfers));
    uint64_t first = 0;

    if (!transfers)
        return 0;
    for (uint64_t i = 1; i <= trace->nfirings; i++)
        if (i == trace->nfirings || trace->firings[i].rank != trace->firings[first].rank) {
            set_lanes_of_rank(trace, first, i, transfers, lanes);
            first = i;
        }
    free(transfers);
    return 1;
}

enum pcoll_result pcoll_timeline_write(const struct pcoll_job *job,
                                       const struct pcoll_engine_options *options,
                                       const struct pcoll_trace *trace, const char *file)
{
    int *lanes = malloc((trace->nfirings + 1) * sizeof(*lanes));
    const struct pcoll_timeline timeline = {job, options, trace, lanes};
    FILE *out = lanes && set_lanes(trace, lanes) ? fopen(file, "w") : NULL;
    int good = out != NULL;

    if (good && pcoll_timeline_is_page(file))
        pcoll_timeline_page(&timeline, out);
    else if (good)
        pcoll_timeline_trace(&timeline, out);
    if (good)
        good = !ferror(out);
    if (out)
        good = fclose(out) == 0 && good;
    if (!good)
        fprintf(stderr, "%s: %s\n", file, strerror(errno));
    free(lanes);
    return good ? PCOLL_OK : PCOLL_ERR_SYSTEM;
}
