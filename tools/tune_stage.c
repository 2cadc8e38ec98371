/* The medium that all ranks use in races, as calls of MPI would use it. */
#include "tools/tune.h"

#include "algorithms/plan/topology.h"
#include "offload/media.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int online_cores(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores > 0 ? (int)cores : 1;
}

static void set_caps(struct tune_stage *stage)
{
    stage->caps = (struct pcoll_caps){
        .level = stage->medium->group_level(stage->group),
        .rails = stage->medium->group_rails(stage->group),
        .provides = stage->medium->group_provides(stage->group),
        .max_temp = 4 << 20,
        .measured = stage->medium->group_machine(stage->group),
        .cores = online_cores(),
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

/* If two ranks share a core for a moment, that falsifies a measurement for good, also that of their
 * distance when the group is made: on one node each rank is bound to a core before, if there are
 * enough and the launcher has not bound the ranks. */
static void take_localities(const struct tune_stage *stage)
{
    cpu_set_t all;
    int unit = -1;

    if (stage->bootstrap.crowded || sched_getaffinity(0, sizeof(all), &all) != 0 ||
        CPU_COUNT(&all) < online_cores())
        return;
    for (int i = 0; i <= stage->bootstrap.rank; i++)
        do {
            unit++;
        } while (unit < CPU_SETSIZE && !CPU_ISSET((size_t)unit, &all));
    tune_sit(unit);
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
    stage->bootstrap.coop_from = PCOLL_COOP_FROM;
    stage->bootstrap.crowded = nnodes > 1 || stage->bootstrap.nranks > online_cores();
    take_localities(stage);
    result = open_group(stage, nnodes);
    if (result == PCOLL_OK && options->judge && !options->base)
        result = stage->medium->group_measure(stage->group);
    if (result != PCOLL_OK) {
        if (table)
            fprintf(stderr, "pcoll-tune: %s: %s\n", stage->medium ? stage->medium->name : "media",
                    pcoll_result_text(result));
        tune_stage_close(stage);
        return NULL;
    }
    set_caps(stage);
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

int tune_stage_nnodes(const struct tune_stage *stage)
{
    return stage->topology ? stage->topology->nnodes : 1;
}

void tune_readers(const struct tune_options *options, struct tune_result *result)
{
    struct tune_stage *stage = tune_nodes() == 1 ? tune_stage_open(options, NULL) : NULL;
    double exclusive = 0;

    if (stage == NULL)
        return;
    if (stage->medium->group_measure(stage->group) == PCOLL_OK)
        exclusive = stage->medium->group_machine(stage->group)->exclusive;
    tune_stage_close(stage);
    tune_take(result, PCOLL_PARAMETER_EXCLUSIVE, exclusive);
}
