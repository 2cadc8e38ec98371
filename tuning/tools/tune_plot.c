/*
 * pcoll-tune --plot: all ranks run every candidate at several sizes, to be seen beside what the
 * model predicts and chooses.
 */
#include "tuning/tools/tune.h"

#include "algorithms/lower.h"
#include "algorithms/topology.h"
#include "offload/ofi_rma.h"
#include "offload/shm.h"
#include "tuning/tools/draw.h"
#include "tuning/choose.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCHES = 9, MAX_BATCH = 1000, SPINS = 1000 };

#define BATCH_SECONDS 1e-3

static const uint64_t sizes[] = {8,        64,        512,     4 << 10, 16 << 10,
                                 64 << 10, 256 << 10, 1 << 20, 4 << 20};

#define NSIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

/* What a candidate is, to those ranks that have no table. */
struct candidate {
    int row; /* of pcoll_algorithms; -1: no more */
    struct pcoll_params params;
    double predicted;
};

struct stage {
    MPI_Comm comm;
    const struct pcoll_medium *medium;
    struct pcoll_bootstrap bootstrap;
    struct pcoll_topology *topology;
    struct pcoll_group *group;
    struct pcoll_memory memory;
    struct pcoll_ability ability;
    const struct pcoll_table *table; /* rank 0 */
};

/* ---- one candidate ---- */

static enum pcoll_result make_plan(const struct stage *stage, const struct candidate *candidate,
                                   const struct pcoll_signature *signature,
                                   struct pcoll_plan **plan_p)
{
    const struct pcoll_algorithm *row = &pcoll_algorithms[candidate->row];
    enum pcoll_result result =
        pcoll_generate(row, signature, stage->bootstrap.rank, &candidate->params, plan_p);

    if (result == PCOLL_OK && !(stage->ability.provides & PCOLL_NEED_WEIGHTS))
        result = pcoll_lower(row, &candidate->params, plan_p);
    return result;
}

static void play(const struct stage *stage, struct pcoll_bound *bound, int times)
{
    const int crowded = stage->bootstrap.nranks > stage->ability.cores;

    for (int i = 0; i < times; i++) {
        enum pcoll_result result = stage->medium->start(bound);

        while (result == PCOLL_PENDING) {
            result = stage->medium->spin(bound, crowded ? 1 : SPINS);
            if (result == PCOLL_PENDING)
                stage->medium->rest(bound, 0);
        }
        if (result != PCOLL_OK) {
            fprintf(stderr, "pcoll-tune: %s: %s\n", stage->medium->name, pcoll_result_text(result));
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

/* us of one instance on the rank where it takes longest. */
static double time_batch(const struct stage *stage, struct pcoll_bound *bound, int times)
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

static double time_bound(const struct stage *stage, struct pcoll_bound *bound)
{
    double least = 1e12, samples[BATCHES];
    int times;

    for (int i = 0; i < 3; i++)
        least = fmin(least, time_batch(stage, bound, 1));
    times = (int)fmax(1, fmin(MAX_BATCH, BATCH_SECONDS * 1e6 / fmax(least, 1e-3)));
    for (int i = 0; i < BATCHES; i++)
        samples[i] = time_batch(stage, bound, times);
    return estimate_of(samples, BATCHES).value;
}

/* 0: the medium cannot hold it, on all ranks. */
static double time_candidate(const struct stage *stage, const struct candidate *candidate,
                             const struct pcoll_signature *signature)
{
    struct pcoll_plan *plan = NULL;
    struct pcoll_bound *bound = NULL;
    double measured = 0;
    enum pcoll_result result = make_plan(stage, candidate, signature, &plan);

    result =
        stage->medium->bind(stage->group, result == PCOLL_OK ? plan : NULL, &stage->memory, &bound);
    if (result == PCOLL_OK) {
        measured = time_bound(stage, bound);
        tune_meet(stage->comm);
        stage->medium->unbind(bound);
    }
    pcoll_plan_destroy(plan);
    return measured;
}

/* ---- one size ---- */

static const char *label_of(const struct candidate *candidate)
{
    static char label[DRAW_LABEL];
    static const char *const paths[] = {"", ", user", ", temp"};

    snprintf(label, sizeof(label), "%s%s", pcoll_algorithms[candidate->row].name,
             paths[candidate->params.path]);
    return label;
}

/* Rank 0 lists them, the chosen one first; all get the list. */
static void list_candidates(const struct stage *stage, const struct pcoll_signature *signature,
                            struct candidate *list)
{
    struct pcoll_choice choices[PCOLL_MAX_CANDIDATES];
    int count = 0;

    memset(list, 0, (PCOLL_MAX_CANDIDATES + 1) * sizeof(*list));
    if (stage->bootstrap.rank == 0)
        count = pcoll_candidates(stage->table, signature, &stage->ability, choices,
                                 PCOLL_MAX_CANDIDATES);
    for (int i = 0; i < count; i++) {
        list[i].row = (int)(choices[i].algorithm - pcoll_algorithms);
        list[i].params = choices[i].params;
        list[i].predicted = choices[i].predicted_us;
    }
    list[count].row = -1;
    tune_bcast(list, (PCOLL_MAX_CANDIDATES + 1) * (int)sizeof(*list), 0, stage->comm);
}

/* What `auto` takes, which may be by a rule. */
static void mark_choice(const struct stage *stage, const struct pcoll_signature *signature,
                        int size, struct drawing *drawing)
{
    struct pcoll_choice choice;
    struct candidate candidate;
    const struct draw_series *series;

    drawing->chosen[size] = -1;
    if (stage->bootstrap.rank != 0 ||
        pcoll_choose(stage->table, signature, &stage->ability, NULL, NULL, &choice) != PCOLL_OK)
        return;
    candidate.row = (int)(choice.algorithm - pcoll_algorithms);
    candidate.params = choice.params;
    series = drawing_series(drawing, label_of(&candidate));
    if (series && series->measured[size] > 0)
        drawing->chosen[size] = (int)(series - drawing->series);
}

static void time_size(const struct stage *stage, enum pcoll_coll coll, int size,
                      struct drawing *drawing)
{
    const struct pcoll_signature signature = {.coll = coll,
                                              .nranks = stage->bootstrap.nranks,
                                              .bytes = sizes[size],
                                              .topology = stage->topology};
    struct candidate list[PCOLL_MAX_CANDIDATES + 1];

    list_candidates(stage, &signature, list);
    for (int i = 0; list[i].row >= 0; i++) {
        struct draw_series *series = drawing_series(drawing, label_of(&list[i]));
        const double measured = time_candidate(stage, &list[i], &signature);

        if (!series)
            continue;
        series->measured[size] = measured;
        series->predicted[size] = list[i].predicted;
    }
    mark_choice(stage, &signature, size, drawing);
    if (stage->bootstrap.rank == 0) {
        fputs("###", stderr);
        fflush(stderr);
    }
}

static int draw_coll(const struct stage *stage, enum pcoll_coll coll, const char *folder)
{
    static struct drawing drawing;
    int good = 1;

    memset(&drawing, 0, sizeof(drawing));
    snprintf(drawing.name, sizeof(drawing.name), "%s", pcoll_coll_name(coll));
    snprintf(drawing.title, sizeof(drawing.title), "%s on %d ranks, %s", pcoll_coll_name(coll),
             stage->bootstrap.nranks, stage->medium->name);
    if (stage->bootstrap.rank == 0)
        fprintf(stderr, "%-26s [", drawing.title);
    drawing.nsizes = NSIZES;
    for (int i = 0; i < NSIZES; i++) {
        drawing.sizes[i] = sizes[i];
        time_size(stage, coll, i, &drawing);
    }
    if (stage->bootstrap.rank == 0) {
        fputs("]\n", stderr);
        good = drawing_write(&drawing, folder) != 0;
    }
    tune_meet(stage->comm);
    return good;
}

/* ---- all ---- */

static void set_ability(struct stage *stage)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    stage->ability = (struct pcoll_ability){
        .medium = stage->medium->name,
        .node_medium = stage->topology ? pcoll_medium_shm.name : NULL,
        .rails = stage->medium->group_rails(stage->group),
        .provides = stage->medium->group_provides(stage->group),
        .user_rma_threshold = 4096,
        .max_temp = 4 << 20,
        .cores = cores > 0 ? (int)cores : 1,
    };
}

static enum pcoll_result open_stage(struct stage *stage, const int *nodes)
{
    const uint64_t most = sizes[NSIZES - 1];
    enum pcoll_result result = PCOLL_OK;

    stage->memory.send = calloc(1, most);
    stage->memory.recv = calloc((size_t)stage->bootstrap.nranks, most);
    if (!stage->memory.send || !stage->memory.recv) {
        fprintf(stderr, "pcoll-tune: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (stage->medium != &pcoll_medium_shm)
        result = pcoll_topology_create(nodes, NULL, stage->bootstrap.nranks, &stage->topology);
    stage->bootstrap.topology = stage->topology;
    if (result == PCOLL_OK)
        result = stage->medium->group_create(&stage->bootstrap, &stage->group);
    if (result == PCOLL_OK)
        set_ability(stage);
    return result;
}

int tune_plot(const struct tune_options *options, const struct pcoll_table *table)
{
    const int has_one_node = tune_nodes() == 1;
    struct stage stage = {.comm = MPI_COMM_WORLD, .table = table};
    int *nodes = tune_find_nodes();
    int good;

    stage.medium = has_one_node ? &pcoll_medium_shm : &pcoll_medium_ofi_rma;
    stage.bootstrap = tune_bootstrap(&stage.comm, options);
    good = open_stage(&stage, nodes) == PCOLL_OK;
    if (good) {
        good = draw_coll(&stage, PCOLL_BCAST, options->plot) &
               draw_coll(&stage, PCOLL_ALLGATHER, options->plot);
        stage.medium->group_destroy(stage.group);
    }
    pcoll_topology_destroy(stage.topology);
    free(nodes);
    free(stage.memory.send);
    free(stage.memory.recv);
    return good;
}
