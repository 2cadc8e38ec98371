#include "tools/probes.h"

enum { BELL, COPIED, TWO_COUNTERS };

static int count_of(const struct pcoll_params *params)
{
    return params->radix > 0 ? params->radix : 1;
}

static uint64_t one_block(const struct pcoll_signature *signature,
                          const struct pcoll_params *params)
{
    (void)params;
    return signature->bytes;
}

static double no_cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                      const struct pcoll_machine *machine)
{
    (void)signature;
    (void)params;
    (void)machine;
    return -1;
}

static enum pcoll_result begin(struct pcoll_plan *plan, int ncounters)
{
    if (plan->signature.nranks != 2)
        return PCOLL_UNSUPPORTED;
    if (!pcoll_plan_begin(plan, ncounters, 1))
        return PCOLL_ERR_NOMEM;
    pcoll_plan_open(plan, 0);
    return PCOLL_OK;
}

/* The block of `rank` in RECV. */
static struct pcoll_place block_of(const struct pcoll_plan *plan, int rank)
{
    return pcoll_at(PCOLL_RECV, (uint64_t)rank * plan->signature.bytes);
}

/* Makes an entry that addresses the other rank and signals it. */
typedef struct pcoll_entry make_entry(const struct pcoll_plan *plan, int trigger,
                                      uint64_t threshold);

static struct pcoll_entry add(const struct pcoll_plan *plan, int trigger, uint64_t threshold)
{
    return pcoll_entry_signal(pcoll_entry_add(trigger, threshold), 1 - plan->rank, BELL, 1);
}

static struct pcoll_entry put(const struct pcoll_plan *plan, int trigger, uint64_t threshold)
{
    const int peer = 1 - plan->rank;

    return pcoll_entry_signal(pcoll_entry_put(trigger, threshold, pcoll_at(PCOLL_SEND, 0), peer,
                                              block_of(plan, plan->rank), plan->signature.bytes),
                              peer, BELL, 1);
}

static struct pcoll_entry put_to_temp(const struct pcoll_plan *plan, int trigger,
                                      uint64_t threshold)
{
    const int peer = 1 - plan->rank;

    return pcoll_entry_signal(pcoll_entry_put(trigger, threshold, pcoll_at(PCOLL_SEND, 0), peer,
                                              pcoll_at(PCOLL_TEMP, 0), plan->signature.bytes),
                              peer, BELL, 1);
}

/* ---- ping ---- */

/* The i-th signal from the other rank is answered; rank 0 does not answer the last. */
static enum pcoll_result ping(struct pcoll_plan *plan, const struct pcoll_params *params,
                              make_entry *make)
{
    const int n = count_of(params), answers = plan->rank == 0 ? n - 1 : n;
    const enum pcoll_result result = begin(plan, TWO_COUNTERS);

    if (result != PCOLL_OK)
        return result;
    if (plan->rank == 0) {
        pcoll_plan_add(plan, make(plan, PCOLL_NONE, 0));
        pcoll_plan_add(plan, pcoll_entry_wait(BELL, (uint64_t)n));
    }
    for (int i = 1; i <= answers; i++)
        pcoll_plan_add(plan, make(plan, BELL, (uint64_t)i));
    plan->gain[BELL] = (uint64_t)n;
    return PCOLL_OK;
}

static enum pcoll_result ping_add(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    return ping(plan, params, add);
}

static enum pcoll_result ping_put(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    return ping(plan, params, put);
}

/* As ping, but the data that has arrived is copied before it is answered. */
static enum pcoll_result ping_copy(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const uint64_t bytes = plan->signature.bytes;
    const int n = count_of(params), answers = plan->rank == 0 ? n - 1 : n;
    const enum pcoll_result result = begin(plan, TWO_COUNTERS);

    if (result != PCOLL_OK)
        return result;
    if (plan->rank == 0) {
        pcoll_plan_add(plan, put_to_temp(plan, PCOLL_NONE, 0));
        pcoll_plan_add(plan, pcoll_entry_wait(COPIED, (uint64_t)n));
    }
    for (int i = 1; i <= n; i++) {
        struct pcoll_entry copy = pcoll_entry_copy(BELL, (uint64_t)i, pcoll_at(PCOLL_TEMP, 0),
                                                   block_of(plan, 1 - plan->rank), bytes);

        pcoll_plan_add(plan, pcoll_entry_done(copy, COPIED, 1));
        if (i <= answers)
            pcoll_plan_add(plan, put_to_temp(plan, COPIED, (uint64_t)i));
    }
    plan->gain[BELL] = plan->gain[COPIED] = (uint64_t)n;
    plan->temp_bytes = bytes;
    return PCOLL_OK;
}

/* ---- stream ---- */

static enum pcoll_result stream(struct pcoll_plan *plan, const struct pcoll_params *params,
                                make_entry *make)
{
    const int n = count_of(params);
    const bool is_first = plan->rank == 0;
    const enum pcoll_result result = begin(plan, is_first ? 1 : n);

    if (result != PCOLL_OK)
        return result;
    for (int i = 0; i < n; i++) {
        struct pcoll_entry entry = make(plan, PCOLL_NONE, 0);

        entry.peer_counter = i;
        pcoll_plan_add(plan, is_first ? entry : pcoll_entry_wait(i, 1));
    }
    pcoll_plan_add(plan, is_first ? pcoll_entry_wait(BELL, 1) : add(plan, n - 1, 1));
    for (int i = 0; i < plan->ncounters; i++)
        plan->gain[i] = 1;
    return PCOLL_OK;
}

static enum pcoll_result stream_add(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    return stream(plan, params, add);
}

static enum pcoll_result stream_put(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    return stream(plan, params, put);
}

/* Rank 0 gets the same data each time and signals when it has all of it. */
static void add_gets(struct pcoll_plan *plan, int n)
{
    for (int i = 0; i < n; i++) {
        struct pcoll_entry get = pcoll_entry_get(PCOLL_NONE, 0, 1, pcoll_at(PCOLL_SEND, 0),
                                                 block_of(plan, 1), plan->signature.bytes);

        pcoll_plan_add(plan, pcoll_entry_done(get, COPIED, 1));
    }
    pcoll_plan_add(plan, add(plan, COPIED, (uint64_t)n));
    pcoll_plan_add(plan, pcoll_entry_wait(BELL, 1));
    plan->gain[COPIED] = (uint64_t)n;
}

static enum pcoll_result stream_get(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    const enum pcoll_result result = begin(plan, TWO_COUNTERS);

    if (result != PCOLL_OK)
        return result;
    if (plan->rank == 0)
        add_gets(plan, count_of(params));
    else
        pcoll_plan_add(plan, add(plan, BELL, 1));
    plan->gain[BELL] = 1;
    return PCOLL_OK;
}

/* ---- the table ---- */

#define ROW(number, its_name, its_coll, its_generate, its_temp, text)                              \
    [number] = {                                                                                   \
        .name = its_name,                                                                          \
        .coll = its_coll,                                                                          \
        .description = text,                                                                       \
        .generate = its_generate,                                                                  \
        .cost = no_cost,                                                                           \
        .temp_bytes = its_temp,                                                                    \
        .paths = PCOLL_PATH_BIT_AUTO,                                                              \
        .uses_radix = 1,                                                                           \
    }

const struct pcoll_algorithm probe_rows[NUM_PROBES] = {
    ROW(PROBE_PING, "ping", PCOLL_BARRIER, ping_add, pcoll_no_temp, "rings, one after the other"),
    ROW(PROBE_STREAM, "stream", PCOLL_BARRIER, stream_add, pcoll_no_temp, "rings, all at once"),
    ROW(PROBE_PING_PUT, "ping_put", PCOLL_ALLGATHER, ping_put, pcoll_no_temp,
        "puts between user buffers, one after the other"),
    ROW(PROBE_STREAM_PUT, "stream_put", PCOLL_ALLGATHER, stream_put, pcoll_no_temp,
        "puts between user buffers, all at once"),
    ROW(PROBE_STREAM_GET, "stream_get", PCOLL_ALLGATHER, stream_get, pcoll_no_temp,
        "gets between user buffers, all at once"),
    ROW(PROBE_PING_COPY, "ping_copy", PCOLL_ALLGATHER, ping_copy, one_block,
        "through communication buffers, one after the other"),
};
