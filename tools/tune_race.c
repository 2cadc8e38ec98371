/*
 * A race: all ranks run every candidate for one call, in turns.
 *
 * All candidates are bound at once. Each round gives one sample of each, so that a change in the
 * machine's speed affects all of them equally. A sample is a batch of starts and waits that all
 * ranks begin together (offload/race.h); its time is that of the slowest rank. After some rounds
 * all candidates are bound again, to other memory (a sitting), since much depends on where memory
 * happens to lie.
 *
 * Blocks are equal and contiguous; reductions sum doubles.
 */
#include "tools/tune.h"

#include "algorithms/lower/lower.h"
#include "offload/race.h"
#include "offload/reduce/kernels.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITTINGS = 3, ROUNDS = 5, FEWEST_ROUNDS = 2, MAX_BATCH = 1000, WARM_STARTS = 64 };

#define BATCH_US 3e3
#define WARM_US 2e4
#define CROWDED_BATCH_US 1e4 /* several of the scheduler's time slices */
#define RUNNER_US 2e5        /* beyond this, FEWEST_ROUNDS of one sitting are enough */
#define HOPELESS 2           /* the same if a candidate takes this many times as long as the best */
#define ALIKE 1.25           /* the slowest sample over the fastest */
#define UNIT sizeof(double)

struct lane {
    struct pcoll_plan *plan;
    struct pcoll_bound *bound; /* NULL: the medium cannot hold the plan, on all ranks */
    struct pcoll_race_data data;
    int times, nsamples, nsittings;
    bool is_done; /* in this sitting */
    bool is_out;  /* in all later sittings as well */
    double samples[ROUNDS], spent;
    struct estimate sittings[SITTINGS];
};

/* ---- running ---- */

static void expect(const struct tune_stage *stage, enum pcoll_result result)
{
    if (result == PCOLL_OK)
        return;
    fprintf(stderr, "pcoll-tune: %s: %s\n", stage->medium->name, pcoll_result_text(result));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* us per instance on the slowest rank; the same on all ranks. */
static double time_batch(const struct tune_stage *stage, const struct lane *lane, int times)
{
    MPI_Request request;
    uint64_t nsec, longest;

    MPI_Ibarrier(stage->comm, &request);
    tune_wait(&request, false);
    expect(stage, pcoll_race_batch(&stage->bootstrap, lane->bound, &lane->data, times, &nsec));
    MPI_Iallreduce(&nsec, &longest, 1, MPI_UINT64_T, MPI_MAX, stage->comm, &request);
    tune_wait(&request, false);
    return (double)longest / times / 1e3;
}

/* NULL: this rank cannot. */
static struct pcoll_plan *generate(const struct tune_stage *stage, const struct tune_runner *runner,
                                   const struct pcoll_signature *signature)
{
    const struct pcoll_algorithm *row = pcoll_algorithms[runner->row];
    struct pcoll_plan *plan = NULL;
    enum pcoll_result result =
        pcoll_generate(row, signature, NULL, stage->bootstrap.rank, &runner->params, &plan);

    if (result == PCOLL_OK && !(stage->caps.provides & PCOLL_NEED_WEIGHTS))
        result = pcoll_lower(row, &runner->params, &plan);
    if (result == PCOLL_OK)
        return plan;
    pcoll_plan_destroy(plan);
    return NULL;
}

static void bind_lane(const struct tune_stage *stage, const struct tune_runner *runner,
                      const struct pcoll_signature *signature, const struct pcoll_memory *memory,
                      struct lane *lane)
{
    enum pcoll_result result;

    lane->plan = generate(stage, runner, signature);
    result = stage->medium->bind(stage->group, lane->plan, memory, &lane->bound);
    lane->is_done = lane->is_out = result != PCOLL_OK;
    if (result == PCOLL_OK)
        lane->data = pcoll_race_data_of(lane->plan, memory);
}

/* Touches all slots of a ring, and then chooses the number of starts per batch: a batch of few
 * starts would find the ring in no cache. Slots that nobody has used yet make a start so slow that
 * a limited time does not suffice for all of them. */
static void warm_up(const struct tune_stage *stage, struct lane *lane)
{
    const double batch = stage->bootstrap.crowded ? CROWDED_BATCH_US : BATCH_US;
    double one = 0, spent = 0;

    for (int times = 1; times <= WARM_STARTS && (spent < WARM_US || times <= lane->plan->nphases);
         times *= 2) {
        one = time_batch(stage, lane, times);
        spent += times * one;
    }
    lane->times = (int)fmax(2, fmin(MAX_BATCH, batch / fmax(one, 1e-3)));
}

/* All ranks see the same samples, so they agree. A few samples suffice only if they are similar: a
 * network may stall for longer than everything else takes. */
static void judge_lane(struct lane *lane, double best)
{
    double sorted[ROUNDS];
    bool are_alike, is_enough;

    if (lane->is_done || lane->nsamples < FEWEST_ROUNDS)
        return;
    memcpy(sorted, lane->samples, sizeof(sorted));
    lane->sittings[lane->nsittings] = estimate_of(sorted, lane->nsamples);
    is_enough = lane->spent > RUNNER_US || sorted[0] > HOPELESS * best;
    are_alike = sorted[lane->nsamples - 1] <= ALIKE * sorted[0];
    lane->is_done = lane->nsamples == ROUNDS || (is_enough && are_alike);
    lane->is_out = lane->is_done && is_enough;
}

static void run_rounds(const struct tune_stage *stage, struct lane *lanes, int count)
{
    double best = 1e12;

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < count; i++) {
            struct lane *lane = &lanes[i];
            double sample;

            if (lane->is_done)
                continue;
            sample = time_batch(stage, lane, lane->times);
            lane->samples[lane->nsamples++] = sample;
            lane->spent += sample * lane->times;
            best = fmin(best, sample);
        }
        for (int i = 0; i < count; i++)
            judge_lane(&lanes[i], best);
    }
}

/* ---- the candidates that run ---- */

static void add_choice(struct tune_runner *runners, int *count, const struct pcoll_choice *choice)
{
    if (*count == TUNE_RUNNERS)
        return;
    runners[*count].row = (int)pcoll_algorithm_number(choice->algorithm);
    runners[*count].params = choice->params;
    runners[(*count)++].predicted = choice->predicted_us;
}

/* The candidates in a list of names. */
static int list_named(const struct tune_stage *stage, const struct pcoll_signature *signature,
                      const char *names, struct tune_runner runners[TUNE_RUNNERS])
{
    int count = 0;

    for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',') {
        char name[64];
        const struct pcoll_hint hint = {.algorithm = name};
        struct pcoll_choice choice;

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
        if (pcoll_algorithm_find(signature->coll, name) &&
            pcoll_choose(stage->table, signature, &stage->caps, &hint, NULL, &choice) == PCOLL_OK &&
            strcmp(choice.reason, "hint") == 0)
            add_choice(runners, &count, &choice);
    }
    for (int i = 1; i < count; i++)
        if (runners[i].predicted < runners[0].predicted) {
            const struct tune_runner best = runners[i];

            runners[i] = runners[0];
            runners[0] = best;
        }
    return count;
}

static bool is_among(const struct pcoll_choice *few, int n, const struct pcoll_choice *choice)
{
    for (int i = 0; i < n; i++)
        if (pcoll_choice_same(&few[i], choice))
            return true;
    return false;
}

/* What `auto` chooses, which may be by a rule, what the table alone chooses if that differs, and
 * the others. */
static int list_all(const struct tune_stage *stage, const struct pcoll_signature *signature,
                    struct tune_runner *runners)
{
    struct pcoll_choice choices[PCOLL_MAX_CANDIDATES], few[PCOLL_RACE_PLANS], by_table;
    const int n =
        pcoll_candidates(stage->table, signature, &stage->caps, choices, PCOLL_MAX_CANDIDATES);
    struct pcoll_caps unmeasured = stage->caps;
    int nfew, count = 0;

    unmeasured.measured = NULL;
    if (pcoll_choose_few(stage->table, signature, &stage->caps, NULL, NULL, few, PCOLL_RACE_PLANS,
                         &nfew) != PCOLL_OK ||
        pcoll_choose(stage->table, signature, &unmeasured, NULL, NULL, &by_table) != PCOLL_OK)
        return 0;
    for (int i = 0; i < nfew; i++) {
        add_choice(runners, &count, &few[i]);
        runners[i].races = true;
        runners[i].by_table = pcoll_choice_same(&few[i], &by_table);
    }
    if (!is_among(few, nfew, &by_table)) {
        add_choice(runners, &count, &by_table);
        runners[count - 1].by_table = true;
    }
    for (int i = 0; i < n; i++)
        if (!is_among(few, nfew, &choices[i]) && !pcoll_choice_same(&by_table, &choices[i]))
            add_choice(runners, &count, &choices[i]);
    return count;
}

static int list_runners(const struct tune_stage *stage, const struct pcoll_signature *signature,
                        const char *names, struct tune_runner runners[TUNE_RUNNERS])
{
    int count = 0;

    memset(runners, 0, TUNE_RUNNERS * sizeof(*runners));
    if (stage->bootstrap.rank == 0)
        count = names ? list_named(stage, signature, names, runners)
                      : list_all(stage, signature, runners);
    tune_bcast(&count, sizeof(count), 0, stage->comm);
    tune_bcast(runners, TUNE_RUNNERS * (int)sizeof(*runners), 0, stage->comm);
    return count;
}

/* ---- the race ---- */

/* The memory is written, since unwritten memory is one page of zeros, which is always in the
 * cache. */
static void *allocate(uint64_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);

    if (!memory) {
        fputs("pcoll-tune: out of memory\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memset(memory, 1, bytes);
}

/* `sum` becomes the operator of a reduction. */
static struct pcoll_memory make_memory(const struct tune_stage *stage,
                                       const struct pcoll_signature *signature,
                                       struct pcoll_operator *sum)
{
    const struct pcoll_collective *row = pcoll_collective_of(signature);
    const int rank = stage->bootstrap.rank;

    *sum = (struct pcoll_operator){
        .unit = UNIT, .kernel = pcoll_kernel_of(PCOLL_OPERATOR_SUM, PCOLL_ELEMENT_DOUBLE)};
    return (struct pcoll_memory){.send = allocate(row->send_bytes(signature, NULL, rank)),
                                 .recv = allocate(row->recv_bytes(signature, NULL, rank)),
                                 .op = row->traits & PCOLL_REDUCES ? sum : NULL};
}

static void sit(const struct tune_stage *stage, const struct pcoll_signature *signature,
                const struct tune_runner *runners, struct lane *lanes, int count)
{
    struct pcoll_operator sum;
    const struct pcoll_memory memory = make_memory(stage, signature, &sum);

    for (int i = 0; i < count; i++) {
        lanes[i].is_done = lanes[i].is_out;
        lanes[i].nsamples = 0;
        if (!lanes[i].is_out)
            bind_lane(stage, &runners[i], signature, &memory, &lanes[i]);
        if (!lanes[i].is_done)
            warm_up(stage, &lanes[i]);
    }
    run_rounds(stage, lanes, count);
    tune_meet(stage->comm);
    for (int i = 0; i < count; i++) {
        if (lanes[i].bound)
            stage->medium->unbind(lanes[i].bound);
        pcoll_plan_destroy(lanes[i].plan);
        lanes[i].nsittings += lanes[i].nsamples > 0;
        lanes[i].bound = NULL;
        lanes[i].plan = NULL;
    }
    free((void *)memory.send);
    free(memory.recv);
}

static struct pcoll_signature signature_of(const struct tune_stage *stage, enum pcoll_coll coll,
                                           uint64_t bytes)
{
    const bool reduces = pcoll_coll_has(coll, PCOLL_REDUCES);

    return (struct pcoll_signature){.coll = coll,
                                    .nranks = stage->bootstrap.nranks,
                                    .bytes = bytes,
                                    .topology = stage->topology,
                                    .unit = reduces ? UNIT : 0,
                                    .commutes = reduces};
}

int tune_race(const struct tune_stage *stage, enum pcoll_coll coll, uint64_t bytes,
              const char *names, struct tune_runner runners[TUNE_RUNNERS])
{
    const struct pcoll_signature signature = signature_of(stage, coll, bytes);
    struct lane lanes[TUNE_RUNNERS] = {{.times = 0}};
    const int count = list_runners(stage, &signature, names, runners);

    for (int i = 0; i < SITTINGS; i++)
        sit(stage, &signature, runners, lanes, count);
    for (int i = 0; i < count; i++)
        if (lanes[i].nsittings > 0)
            runners[i].measured = estimate_join(lanes[i].sittings, lanes[i].nsittings);
    return count;
}

void tune_mark_winner(const struct tune_stage *stage, enum pcoll_coll coll, uint64_t bytes,
                      struct tune_runner *runners, int count)
{
    const struct pcoll_signature signature = signature_of(stage, coll, bytes);
    struct pcoll_operator sum;
    const struct pcoll_memory memory = make_memory(stage, &signature, &sum);
    const struct pcoll_plan *plans[PCOLL_RACE_PLANS];
    double us[PCOLL_RACE_PLANS];
    int n = 0;

    for (int i = 0; i < count && runners[i].races; i++)
        plans[n++] = generate(stage, &runners[i], &signature);
    if (n > 0) {
        expect(stage, pcoll_race(stage->group, plans, n, &memory, us));
        runners[pcoll_race_winner(us, n)].by_race = true;
    }
    for (int i = 0; i < n; i++)
        pcoll_plan_destroy((struct pcoll_plan *)plans[i]);
    free((void *)memory.send);
    free(memory.recv);
}

const char *tune_runner_label(const struct tune_runner *runner)
{
    static char label[96];
    static const char *const paths[] = {"", ", user", ", temp"};

    snprintf(label, sizeof(label), "%s%s", pcoll_algorithms[runner->row]->name,
             paths[runner->params.path]);
    return label;
}

/* The number of blocks in the longest buffer of any rank. */
static uint64_t blocks_of(enum pcoll_coll coll, int nranks)
{
    const struct pcoll_signature one = {.coll = coll, .nranks = nranks, .bytes = 1};
    const struct pcoll_collective *row = pcoll_collectives[coll];
    uint64_t max = 1;

    for (int rank = 0; rank < nranks; rank++) {
        const uint64_t send = row->send_bytes(&one, NULL, rank);
        const uint64_t recv = row->recv_bytes(&one, NULL, rank);

        max = send > max ? send : max;
        max = recv > max ? recv : max;
    }
    return max;
}

int tune_sizes(const struct tune_options *options, enum pcoll_coll coll, int nranks,
               uint64_t sizes[TUNE_SIZES])
{
    static const uint64_t usual[] = {8,        32,        128,     512,      1 << 10,
                                     2 << 10,  4 << 10,   8 << 10, 16 << 10, 32 << 10,
                                     64 << 10, 256 << 10, 1 << 20, 4 << 20,  8 << 20};
    const uint64_t max = (UINT64_C(16) << 20) / blocks_of(coll, nranks);
    const bool synchronizes = pcoll_coll_has(coll, PCOLL_SYNCHRONIZES);
    const uint64_t unit = pcoll_coll_has(coll, PCOLL_REDUCES) ? UNIT : 1;
    const uint64_t *from = options->nsizes > 0 ? options->sizes : usual;
    const int n = options->nsizes > 0 ? options->nsizes : (int)(sizeof(usual) / sizeof(usual[0]));
    int count = 0;

    if (synchronizes)
        sizes[count++] = 0;
    for (int i = 0; i < n && !synchronizes; i++) {
        const uint64_t size = (from[i] + unit - 1) / unit * unit;

        if (size <= max && (count == 0 || size > sizes[count - 1]))
            sizes[count++] = size;
    }
    return count;
}
