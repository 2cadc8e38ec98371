/*
 * pcoll-tune --plot: races at several sizes, drawn beside what the model predicts and chooses.
 */
#include "tools/tune.h"

#include "tools/draw.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void draw_size(const struct tune_options *options, const struct tune_stage *stage,
                      enum pcoll_coll coll, int size, struct drawing *drawing)
{
    struct tune_runner runners[TUNE_RUNNERS];
    const int count = tune_race(stage, coll, drawing->sizes[size], options->algorithms, runners);

    drawing->chosen[size] = -1;
    for (int i = 0; i < count; i++) {
        struct draw_series *series = drawing_series(drawing, tune_runner_label(&runners[i]));

        if (!series || runners[i].measured.used == 0)
            continue;
        series->measured[size] = runners[i].measured.value;
        series->predicted[size] = runners[i].predicted;
        if (i == 0)
            drawing->chosen[size] = (int)(series - drawing->series);
    }
}

static bool draw_coll(const struct tune_options *options, const struct tune_stage *stage,
                      enum pcoll_coll coll, bool speaks)
{
    static struct drawing drawing;
    int nranks;

    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    memset(&drawing, 0, sizeof(drawing));
    snprintf(drawing.name, sizeof(drawing.name), "%s", pcoll_coll_name(coll));
    snprintf(drawing.title, sizeof(drawing.title), "%s on %d ranks, %s", pcoll_coll_name(coll),
             nranks, stage->medium->name);
    if (speaks)
        fprintf(stderr, "%-26s [", drawing.title);
    drawing.nsizes = tune_sizes(options, coll, nranks, drawing.sizes);
    for (int i = 0; i < drawing.nsizes; i++) {
        draw_size(options, stage, coll, i, &drawing);
        if (speaks)
            fputs("###", stderr);
    }
    if (!speaks)
        return true;
    fputs("]\n", stderr);
    return drawing_write(&drawing, options->plot) != 0;
}

bool tune_plot(const struct tune_options *options, const struct pcoll_table *table)
{
    struct tune_stage *stage = tune_stage_open(options, table);
    bool good = true;

    if (!stage)
        return false;
    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++)
        if (!pcoll_coll_has((enum pcoll_coll)coll, PCOLL_SYNCHRONIZES))
            good &= draw_coll(options, stage, (enum pcoll_coll)coll, table != NULL);
    tune_stage_close(stage);
    return good;
}
