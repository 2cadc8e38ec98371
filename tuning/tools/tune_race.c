/*
 * A race: all ranks run every candidate for one call, in turns.
 *
 * All candidates are bound at once. Each round gives one sample of each, so that a change in the
 * machine's speed affects all of them equally. A sample is a batch of starts and waits that all
 * ranks begin together; its time is that of the slowest rank. After some rounds all candidates are
 * bound again, to other memory (a sitting), since much depends on where memory happens to lie.
 */
#include "tuning/tools/tune.h"

#include "algorithms/lower/lower.h"
#include "algorithms/plan/topology.h"
#include "offload/media.h"
#include "tuning/choose.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SITTINGS = 3, ROUNDS = 5, FEWEST_ROUNDS = 2, MAX_BATCH = 1000, SPINS = 1000 };

#define BATCH_US 3e3
#define CROWDED_BATCH_US 1e4 /* several of the scheduler's time slices */
#define RUNNER_US 2e5        /* beyond this, FEWEST_ROUNDS of one sitting are enough */
#define HOPELESS 2           /* the same if a candidate takes this many times as long as the best */
#define ALIKE 1.25           /* the slowest sample over the fastest */

struct tune_stage {
    MPI_Comm comm;
    const struct pcoll_medium *medium;
    struct pcoll_bootstrap bootstrap;
    struct pcoll_topology *topology;
    struct pcoll_group *group;
    struct pcoll_caps caps;
    const struct pcoll_table *table; /* on rank 0 */
    int is_crowded;
};

struct lane {
    struct pcoll_plan *plan;
    struct pcoll_bound *bound; /* NULL: the medium cannot hold the plan, on all ranks */
    int times, nsamples, nsittings;
    int is_done; /* in this sitting */
    int is_out;  /* in all later sittings as well */
    double samples[ROUNDS], spent;
    struct estimate sittings[SITTINGS];
};

/* ---- the stage ---- */

static void set_caps(struct tune_stage *stage)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    stage->caps = (struct pcoll_caps){
        .rails = stage->medium->group_rails(stage->group),
        .provides = stage->medium->group_provides(stage->group),
        .max_temp = 4 << 20,
        .cores = cores > 0 ? (int)cores : 1,
    };
    pcoll_caps_of_medium(&stage->caps, stage->medium->name, stage->medium->node_medium,
                         stage->medium->max_slots);
}

/* As MPI_Barrier_init and its counterparts do, but without media that need lowered plans. */
static enum pcoll_result open_group(struct tune_stage *stage, int nnodes)
{
    enum pcoll_result result = PCOLL_OK;
    int *nodes, number = pcoll_media_auto(nnodes == 1, NULL);

    if (number == PCOLL_NONE)
        return PCOLL_UNSUPPORTED;
    stage->medium = pcoll_media[number];
    if (nnodes > 1) {
        nodes = tune_find_nodes();
        result = pcoll_topology_create(nodes, NULL, stage->bootstrap.nranks, &stage->topology);
        free(nodes);
    }
    stage->bootstrap.topology = stage->topology;
    return result == PCOLL_OK ? stage->medium->group_create(&stage->bootstrap, &stage->group)
                              : result;
}

/* If two ranks share a core for a moment, that falsifies a measurement for good: on one node each
 * rank is bound to a core, if there are enough and the launcher has not bound the ranks. */
static void take_localities(const struct tune_stage *stage)
{
    cpu_set_t all;
    int unit = -1;

    if (stage->is_crowded || sched_getaffinity(0, sizeof(all), &all) != 0 ||
        CPU_COUNT(&all) < stage->caps.cores)
        return;
    for (int i = 0; i <= stage->bootstrap.rank; i++)
        do {
            unit++;
        } while (unit < CPU_SETSIZE && !CPU_ISSET((size_t)unit, &all));
    tune_sit(unit);
}

/* The distance between the ranks of a node, as they are bound now. */
static void find_level(struct tune_stage *stage)
{
    const int nranks = stage->bootstrap.nranks;
    const struct pcoll_locality own = tune_locality();
    struct pcoll_locality *localities = malloc((size_t)nranks * sizeof(*localities));

    if (!localities) {
        fputs("pcoll-tune: out of memory\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    MPI_Allgather(&own, sizeof(own), MPI_BYTE, localities, sizeof(own), MPI_BYTE, stage->comm);
    stage->caps.level = pcoll_level_of(localities, nranks, stage->topology);
    free(localities);
}

struct tune_stage *tune_stage_open(const struct tune_options *options,
                                   const struct pcoll_table *table)
{
    struct tune_stage *stage = calloc(1, sizeof(*stage));
    const int nnodes = tune_nodes();
    enum pcoll_result result;

    if (!stage) {
        fputs("pcoll-tune: out of memory\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return NULL;
    }
    stage->comm = MPI_COMM_WORLD;
    stage->table = table;
    stage->bootstrap = tune_bootstrap(&stage->comm, options);
    result = open_group(stage, nnodes);
    if (result != PCOLL_OK) {
        if (table)
            fprintf(stderr, "pcoll-tune: %s: %s\n", stage->medium->name, pcoll_result_text(result));
        tune_stage_close(stage);
        return NULL;
    }
    set_caps(stage);
    stage->is_crowded = nnodes > 1 || stage->bootstrap.nranks > stage->caps.cores;
    take_localities(stage);
    find_level(stage);
    return stage;
}

void tune_stage_close(struct tune_stage *stage)
{
    tune_sit_anywhere();
    if (stage->group)
        stage->medium->group_destroy(stage->group);
    pcoll_topology_destroy(stage->topology);
    free(stage);
}

const char *tune_stage_medium(const struct tune_stage *stage)
{
    return stage->medium->name;
}

int tune_stage_nnodes(const struct tune_stage *stage)
{
    return stage->topology ? stage->topology->nnodes : 1;
}

/* ---- running ---- */

static void play(const struct tune_stage *stage, struct pcoll_bound *bound, int times)
{
    for (int i = 0; i < times; i++) {
        enum pcoll_result result = stage->medium->start(bound);

        while (result == PCOLL_PENDING) {
            result = stage->medium->spin(bound, stage->is_crowded ? 1 : SPINS);
            if (result == PCOLL_PENDING)
                stage->medium->rest(bound, 0);
        }
        if (result != PCOLL_OK) {
            fprintf(stderr, "pcoll-tune: %s: %s\n", stage->medium->name, pcoll_result_text(result));
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

/* us per instance on the slowest rank; the same on all ranks. */
static double time_batch(const struct tune_stage *stage, struct pcoll_bound *bound, int times)
{
    MPI_Request request;
    double mine, longest;

    MPI_Ibarrier(stage->comm, &request);
    tune_wait(&request, 0);
    mine = tune_now();
    play(stage, bound, times);
    mine = tune_now() - mine;
    MPI_Iallreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, stage->comm, &request);
    tune_wait(&request, 0);
    return longest / times * 1e6;
}

static void bind_lane(const struct tune_stage *stage, const struct tune_runner *runner,
                      const struct pcoll_signature *signature, const struct pcoll_memory *memory,
                      struct lane *lane)
{
    const struct pcoll_algorithm *row = pcoll_algorithms[runner->row];
    enum pcoll_result result =
        pcoll_generate(row, signature, NULL, stage->bootstrap.rank, &runner->params, &lane->plan);

    if (result == PCOLL_OK && !(stage->caps.provides & PCOLL_NEED_WEIGHTS))
        result = pcoll_lower(row, &runner->params, &lane->plan);
    result = stage->medium->bind(stage->group, result == PCOLL_OK ? lane->plan : NULL, memory,
                                 &lane->bound);
    lane->is_done = lane->is_out = result != PCOLL_OK;
}

/* Chooses the number of starts per batch. */
static void warm_up(const struct tune_stage *stage, struct lane *lane)
{
    const double batch = stage->is_crowded ? CROWDED_BATCH_US : BATCH_US;
    double one = time_batch(stage, lane->bound, 1);

    if (one < batch / 4)
        one = time_batch(stage, lane->bound, 10);
    lane->times = (int)fmax(1, fmin(MAX_BATCH, batch / fmax(one, 1e-3)));
}

/* All ranks see the same samples, so they agree. A few samples suffice only if they are similar: a
 * network may stall for longer than everything else takes. */
static void judge_lane(struct lane *lane, double best)
{
    double sorted[ROUNDS];
    int is_enough, are_alike;

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
            sample = time_batch(stage, lane->bound, lane->times);
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

/* What `auto` chooses, which may be by a rule, followed by the others. */
static int list_all(const struct tune_stage *stage, const struct pcoll_signature *signature,
                    struct tune_runner *runners)
{
    struct pcoll_choice choices[PCOLL_MAX_CANDIDATES], chosen;
    const int n =
        pcoll_candidates(stage->table, signature, &stage->caps, choices, PCOLL_MAX_CANDIDATES);
    int count = 0;

    if (pcoll_choose(stage->table, signature, &stage->caps, NULL, NULL, &chosen) != PCOLL_OK)
        return 0;
    add_choice(runners, &count, &chosen);
    for (int i = 0; i < n; i++)
        if (!pcoll_choice_same(&chosen, &choices[i]))
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

static void sit(const struct tune_stage *stage, const struct pcoll_signature *signature,
                const struct tune_runner *runners, struct lane *lanes, int count)
{
    const struct pcoll_collective *row = pcoll_collective_of(signature);
    const int rank = stage->bootstrap.rank;
    const struct pcoll_memory memory = {.send = allocate(row->send_bytes(signature, NULL, rank)),
                                        .recv = allocate(row->recv_bytes(signature, NULL, rank))};

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

int tune_race(const struct tune_stage *stage, enum pcoll_coll coll, uint64_t bytes,
              const char *names, struct tune_runner runners[TUNE_RUNNERS])
{
    const struct pcoll_signature signature = {.coll = coll,
                                              .nranks = stage->bootstrap.nranks,
                                              .bytes = bytes,
                                              .topology = stage->topology};
    struct lane lanes[TUNE_RUNNERS] = {{.times = 0}};
    const int count = list_runners(stage, &signature, names, runners);

    for (int i = 0; i < SITTINGS; i++)
        sit(stage, &signature, runners, lanes, count);
    for (int i = 0; i < count; i++)
        if (lanes[i].nsittings > 0)
            runners[i].measured = estimate_join(lanes[i].sittings, lanes[i].nsittings);
    return count;
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
    uint64_t most = 1;

    for (int rank = 0; rank < nranks; rank++) {
        const uint64_t send = row->send_bytes(&one, NULL, rank);
        const uint64_t recv = row->recv_bytes(&one, NULL, rank);

        most = send > most ? send : most;
        most = recv > most ? recv : most;
    }
    return most;
}

int tune_sizes(const struct tune_options *options, enum pcoll_coll coll, int nranks,
               uint64_t sizes[TUNE_SIZES])
{
    static const uint64_t usual[] = {8,        32,        128,     512,      1 << 10,
                                     2 << 10,  4 << 10,   8 << 10, 16 << 10, 32 << 10,
                                     64 << 10, 256 << 10, 1 << 20, 4 << 20,  8 << 20};
    const uint64_t most = (UINT64_C(16) << 20) / blocks_of(coll, nranks);
    const int synchronizes = pcoll_coll_has(coll, PCOLL_SYNCHRONIZES);
    const uint64_t *from = options->nsizes > 0 ? options->sizes : usual;
    const int n = options->nsizes > 0 ? options->nsizes : (int)(sizeof(usual) / sizeof(usual[0]));
    int count = 0;

    if (synchronizes)
        sizes[count++] = 0;
    for (int i = 0; i < n && !synchronizes; i++)
        if (from[i] <= most)
            sizes[count++] = from[i];
    return count;
}
