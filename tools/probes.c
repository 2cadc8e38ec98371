#include "tools/probes.h"

enum { BELL, COPIED, TWO_COUNTERS };

static int count_of(const struct pcoll_params *params)
{
    return params->radix > 0 ? params->radix : 1;
}

static uint64_t no_temp(const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    (void)signature;
    (void)params;
    return 0;
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

static enum pcoll_result begin(const struct pcoll_signature *signature, int rank, int ncounters,
                               struct pcoll_plan **plan_p)
{
    enum pcoll_result result = PCOLL_UNSUPPORTED;

    if (signature->nranks == 2)
        result = pcoll_plan_create(signature, rank, ncounters, 1, plan_p);
    if (result == PCOLL_OK)
        pcoll_plan_open(*plan_p, 0);
    return result;
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
static enum pcoll_result ping(const struct pcoll_signature *signature, int rank,
                              const struct pcoll_params *params, make_entry *make,
                              struct pcoll_plan **plan_p)
{
    const int n = count_of(params), answers = rank == 0 ? n - 1 : n;
    const enum pcoll_result result = begin(signature, rank, TWO_COUNTERS, plan_p);

    if (result != PCOLL_OK)
        return result;
    if (rank == 0) {
        pcoll_plan_add(*plan_p, make(*plan_p, PCOLL_NONE, 0));
        pcoll_plan_add(*plan_p, pcoll_entry_wait(BELL, (uint64_t)n));
    }
    for (int i = 1; i <= answers; i++)
        pcoll_plan_add(*plan_p, make(*plan_p, BELL, (uint64_t)i));
    (*plan_p)->gain[BELL] = (uint64_t)n;
    return pcoll_plan_seal(plan_p);
}

static enum pcoll_result ping_add(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    (void)local;
    return ping(signature, rank, params, add, plan_p);
}

static enum pcoll_result ping_put(const struct pcoll_signature *signature,
                                  const struct pcoll_local *local, int rank,
                                  const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    (void)local;
    return ping(signature, rank, params, put, plan_p);
}

/* As ping, but the data that has arrived is copied before it is answered. */
static enum pcoll_result ping_copy(const struct pcoll_signature *signature,
                                   const struct pcoll_local *local, int rank,
                                   const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    const int n = count_of(params), answers = rank == 0 ? n - 1 : n;
    const enum pcoll_result result = begin(signature, rank, TWO_COUNTERS, plan_p);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    if (rank == 0) {
        pcoll_plan_add(*plan_p, put_to_temp(*plan_p, PCOLL_NONE, 0));
        pcoll_plan_add(*plan_p, pcoll_entry_wait(COPIED, (uint64_t)n));
    }
    for (int i = 1; i <= n; i++) {
        struct pcoll_entry copy = pcoll_entry_copy(BELL, (uint64_t)i, pcoll_at(PCOLL_TEMP, 0),
                                                   block_of(*plan_p, 1 - rank), signature->bytes);

        pcoll_plan_add(*plan_p, pcoll_entry_done(copy, COPIED, 1));
        if (i <= answers)
            pcoll_plan_add(*plan_p, put_to_temp(*plan_p, COPIED, (uint64_t)i));
    }
    (*plan_p)->gain[BELL] = (*plan_p)->gain[COPIED] = (uint64_t)n;
    (*plan_p)->temp_bytes = signature->bytes;
    return pcoll_plan_seal(plan_p);
}

/* ---- stream ---- */

static enum pcoll_result stream(const struct pcoll_signature *signature, int rank,
                                const struct pcoll_params *params, make_entry *make,
                                struct pcoll_plan **plan_p)
{
    const int n = count_of(params);
    const enum pcoll_result result = begin(signature, rank, rank == 0 ? 1 : n, plan_p);

    if (result != PCOLL_OK)
        return result;
    for (int i = 0; i < n; i++) {
        struct pcoll_entry entry = make(*plan_p, PCOLL_NONE, 0);

        entry.peer_counter = i;
        pcoll_plan_add(*plan_p, rank == 0 ? entry : pcoll_entry_wait(i, 1));
    }
    pcoll_plan_add(*plan_p, rank == 0 ? pcoll_entry_wait(BELL, 1) : add(*plan_p, n - 1, 1));
    for (int i = 0; i < (*plan_p)->ncounters; i++)
        (*plan_p)->gain[i] = 1;
    return pcoll_plan_seal(plan_p);
}

static enum pcoll_result stream_add(const struct pcoll_signature *signature,
                                    const struct pcoll_local *local, int rank,
                                    const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    (void)local;
    return stream(signature, rank, params, add, plan_p);
}

static enum pcoll_result stream_put(const struct pcoll_signature *signature,
                                    const struct pcoll_local *local, int rank,
                                    const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    (void)local;
    return stream(signature, rank, params, put, plan_p);
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

static enum pcoll_result stream_get(const struct pcoll_signature *signature,
                                    const struct pcoll_local *local, int rank,
                                    const struct pcoll_params *params, struct pcoll_plan **plan_p)
{
    const enum pcoll_result result = begin(signature, rank, TWO_COUNTERS, plan_p);

    (void)local;
    if (result != PCOLL_OK)
        return result;
    if (rank == 0)
        add_gets(*plan_p, count_of(params));
    else
        pcoll_plan_add(*plan_p, add(*plan_p, BELL, 1));
    (*plan_p)->gain[BELL] = 1;
    return pcoll_plan_seal(plan_p);
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
    ROW(PROBE_PING, "ping", PCOLL_BARRIER, ping_add, no_temp, "rings, one after the other"),
    ROW(PROBE_STREAM, "stream", PCOLL_BARRIER, stream_add, no_temp, "rings, all at once"),
    ROW(PROBE_PING_PUT, "ping_put", PCOLL_ALLGATHER, ping_put, no_temp,
        "puts between user buffers, one after the other"),
    ROW(PROBE_STREAM_PUT, "stream_put", PCOLL_ALLGATHER, stream_put, no_temp,
        "puts between user buffers, all at once"),
    ROW(PROBE_STREAM_GET, "stream_get", PCOLL_ALLGATHER, stream_get, no_temp,
        "gets between user buffers, all at once"),
    ROW(PROBE_PING_COPY, "ping_copy", PCOLL_ALLGATHER, ping_copy, one_block,
        "through communication buffers, one after the other"),
};
