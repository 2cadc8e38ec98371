/*
 * A race: its rounds.
 *
 * A plan is fast only once the pages of its communication buffers have been touched, and a ring has
 * up to 64 slots: before the race each plan is started so many times, or for some milliseconds. In
 * each round all plans run a batch of starts, one plan after the other, so that a change in the
 * machine's speed affects all of them equally. The fastest of its rounds counts for a plan, and the
 * slowest of the ranks for a round.
 *
 * The ranks use their data between the starts. Otherwise all lines of a block that is read from its
 * owner's memory would stay in the reader's cache, and such plans would win
 * (doc/notes/who-copies.md).
 */
#include "offload/race.h"

#include <assert.h>

#include "offload/agree.h"
#include "offload/yield.h"

#define ROUNDS 4
#define BUDGET_NSEC 2e6
#define WARM_STARTS 64
#define WARM_NSEC 8e6
#define POLLS_WITH_CORE 1000
#define LINE_BYTES 64   /* of a cache */
#define LONG_BYTES 4096 /* fewer are used in less time than ranks of a node need to meet */

struct lane {
    struct pcoll_bound *bound; /* NULL: it does not run */
    struct pcoll_race_data data;
    int starts;         /* of a batch */
    double nanoseconds; /* of one start, the fastest so far */
};

struct pcoll_race_data pcoll_race_data_of(const struct pcoll_plan *plan,
                                          const struct pcoll_memory *memory)
{
    const struct pcoll_topology *topology = plan->signature.topology;

    return (struct pcoll_race_data){.send = (char *)(uintptr_t)memory->send,
                                    .recv = memory->recv,
                                    .send_bytes = pcoll_plan_bytes(plan, PCOLL_SEND),
                                    .recv_bytes = pcoll_plan_bytes(plan, PCOLL_RECV),
                                    .is_long = plan->signature.bytes >= LONG_BYTES,
                                    .in_node = topology == NULL || topology->nnodes == 1};
}

/* Elements keep their values, as sums of arbitrary ones can be slow. */
static void write_data(const struct pcoll_race_data *data)
{
    for (uint64_t at = 0; at < data->send_bytes; at += LINE_BYTES)
        data->send[at] = data->send[at];
}

static void read_data(const struct pcoll_race_data *data)
{
    for (uint64_t at = 0; at < data->recv_bytes; at += LINE_BYTES)
        (void)data->recv[at];
}

/* Waits as users' ranks do (ch4_coll/waiting.c): looking at all other communication after each poll
 * would make each wait of a crowded rank several times as long, and so would many polls of the
 * network where ranks of other nodes share this core. */
static enum pcoll_result complete(const struct pcoll_bootstrap *bootstrap,
                                  struct pcoll_bound *bound)
{
    const struct pcoll_medium *medium = bound->medium;
    const bool may_spin = !bootstrap->crowded && !pcoll_is_network(medium);
    const unsigned polls = may_spin             ? POLLS_WITH_CORE
                           : bootstrap->crowded ? PCOLL_POLLS_CROWDED
                                                : PCOLL_POLLS_OF_NETWORK;
    enum pcoll_result result = medium->start(bound);

    for (unsigned round = 1; result == PCOLL_PENDING; round++) {
        result = medium->spin(bound, polls);
        if (result != PCOLL_PENDING)
            break;
        if (may_spin || round % PCOLL_YIELDS_PER_LOOK == 0)
            bootstrap->idle(bootstrap->context);
        medium->rest(bound, 0);
    }
    return result;
}

enum pcoll_result pcoll_race_batch(const struct pcoll_bootstrap *bootstrap,
                                   struct pcoll_bound *bound, const struct pcoll_race_data *data,
                                   int starts, uint64_t *nsec)
{
    uint64_t begin = pcoll_now();

    *nsec = 0;
    for (int i = 0; i < starts; i++) {
        const bool uses_data = i < (starts + 1) / 2, is_apart = uses_data && data->is_long;
        enum pcoll_result result = PCOLL_OK;

        if (uses_data)
            write_data(data);
        if (is_apart && data->in_node)
            result = pcoll_agree(bootstrap, PCOLL_ROUND_RACE, PCOLL_OK, NULL, 0);
        if (is_apart)
            begin = pcoll_now();
        if (result == PCOLL_OK)
            result = complete(bootstrap, bound);
        if (result != PCOLL_OK)
            return result;
        if (is_apart)
            *nsec += pcoll_now() - begin;
        if (uses_data)
            read_data(data);
        if (is_apart)
            begin = pcoll_now();
    }
    *nsec += pcoll_now() - begin;
    return PCOLL_OK;
}

/* Collective: each plan runs its batch. The terms become the nanoseconds of a start. */
static enum pcoll_result run_round(const struct pcoll_bootstrap *bootstrap,
                                   const struct lane *lanes, int n, struct pcoll_term *terms)
{
    for (int i = 0; i < n; i++) {
        enum pcoll_result result;
        uint64_t nsec;

        terms[i] = (struct pcoll_term){.kind = PCOLL_TERM_MAX};
        if (lanes[i].bound == NULL)
            continue;
        result = pcoll_agree(bootstrap, PCOLL_ROUND_RACE, PCOLL_OK, NULL, 0);
        if (result == PCOLL_OK)
            result =
                pcoll_race_batch(bootstrap, lanes[i].bound, &lanes[i].data, lanes[i].starts, &nsec);
        if (result != PCOLL_OK)
            return result;
        terms[i].value = nsec / (uint64_t)lanes[i].starts;
    }
    return pcoll_agree(bootstrap, PCOLL_ROUND_RACE, PCOLL_OK, terms, n);
}

static int between(double starts, int min, int max)
{
    return starts < min ? min : starts > max ? max : (int)starts;
}

/* One with data in use, and one without; between nodes, where a start takes longest, only the
 * first. */
static int fewest(const struct lane *lane)
{
    return lane->data.in_node ? 2 : 1;
}

/* The first starts say how many follow. */
static enum pcoll_result warm_up(const struct pcoll_bootstrap *bootstrap, struct lane *lanes, int n)
{
    struct pcoll_term terms[PCOLL_RACE_PLANS];
    enum pcoll_result result;

    for (int i = 0; i < n; i++)
        lanes[i].starts = fewest(&lanes[i]);
    result = run_round(bootstrap, lanes, n, terms);
    for (int i = 0; i < n && result == PCOLL_OK; i++)
        lanes[i].starts =
            between(WARM_NSEC / ((double)terms[i].value + 1), fewest(&lanes[i]), WARM_STARTS);
    if (result == PCOLL_OK)
        result = run_round(bootstrap, lanes, n, terms);
    for (int i = 0; i < n && result == PCOLL_OK; i++)
        lanes[i].nanoseconds = (double)terms[i].value + 1;
    return result;
}

static enum pcoll_result run_rounds(const struct pcoll_bootstrap *bootstrap, struct lane *lanes,
                                    int n)
{
    struct pcoll_term terms[PCOLL_RACE_PLANS];
    enum pcoll_result result = warm_up(bootstrap, lanes, n);

    for (int round = 0; round < ROUNDS && result == PCOLL_OK; round++) {
        for (int i = 0; i < n; i++)
            lanes[i].starts = between(BUDGET_NSEC / (ROUNDS * n * lanes[i].nanoseconds),
                                      fewest(&lanes[i]), 100 * WARM_STARTS);
        result = run_round(bootstrap, lanes, n, terms);
        for (int i = 0; i < n && result == PCOLL_OK; i++)
            if ((double)terms[i].value + 1 < lanes[i].nanoseconds)
                lanes[i].nanoseconds = (double)terms[i].value + 1;
    }
    return result;
}

enum pcoll_result pcoll_race(struct pcoll_group *group, const struct pcoll_plan *const *plans,
                             int n, const struct pcoll_memory *memory, double *us)
{
    const struct pcoll_medium *medium = group->medium;
    struct lane lanes[PCOLL_RACE_PLANS] = {{.bound = NULL}};
    enum pcoll_result result;

    assert(n >= 1 && n <= PCOLL_RACE_PLANS);
    for (int i = 0; i < n; i++)
        if (medium->bind(group, plans[i], memory, &lanes[i].bound) != PCOLL_OK)
            lanes[i].bound = NULL;
        else
            lanes[i].data = pcoll_race_data_of(plans[i], memory);
    result = run_rounds(group->bootstrap, lanes, n);
    for (int i = 0; i < n; i++) {
        us[i] = lanes[i].bound != NULL ? lanes[i].nanoseconds / 1000 : -1;
        if (lanes[i].bound != NULL)
            medium->unbind(lanes[i].bound);
    }
    return result;
}

int pcoll_race_winner(const double *us, int n)
{
    int best = 0;

    for (int i = 1; i < n; i++)
        if (us[i] >= 0 && (us[best] < 0 || us[i] < us[best]))
            best = i;
    return best;
}
