#include "tools/draw.h"

#include "tools/gnuplot.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct draw_series *drawing_series(struct drawing *drawing, const char *label)
{
    for (int i = 0; i < drawing->nseries; i++)
        if (strcmp(drawing->series[i].label, label) == 0)
            return &drawing->series[i];
    if (drawing->nseries == DRAW_SERIES || strlen(label) >= DRAW_LABEL)
        return NULL;
    strcpy(drawing->series[drawing->nseries].label, label);
    return &drawing->series[drawing->nseries++];
}

/* ---- data ---- */

static void write_series(const struct drawing *drawing, const struct draw_series *series, FILE *out)
{
    fprintf(out, "# %s: bytes, measured us, predicted us\n", series->label);
    for (int i = 0; i < drawing->nsizes; i++)
        if (series->measured[i] > 0)
            fprintf(out, "%llu %.4g %.4g\n", (unsigned long long)drawing->sizes[i],
                    series->measured[i], series->predicted[i]);
    fputs("\n\n", out);
}

static void write_chosen(const struct drawing *drawing, FILE *out)
{
    fputs("# chosen\n", out);
    for (int i = 0; i < drawing->nsizes; i++)
        if (drawing->chosen[i] >= 0)
            fprintf(out, "%llu %.4g %.4g\n", (unsigned long long)drawing->sizes[i],
                    drawing->series[drawing->chosen[i]].measured[i],
                    drawing->series[drawing->chosen[i]].predicted[i]);
}

static void write_data(const void *what, FILE *out)
{
    const struct drawing *drawing = what;

    for (int i = 0; i < drawing->nseries; i++)
        write_series(drawing, &drawing->series[i], out);
    write_chosen(drawing, out);
}

/* ---- script ---- */

static void write_plot(const struct drawing *drawing, FILE *out)
{
    fputs("plot \\\n", out);
    for (int i = 0; i < drawing->nseries; i++)
        fprintf(out,
                "  '%s.dat' index %d using 1:2 with linespoints lt %d lw 2 title '%s', \\\n"
                "  '' index %d using 1:3 with lines lt %d dt 2 notitle, \\\n",
                drawing->name, i, i + 1, drawing->series[i].label, i, i + 1);
    fprintf(out, "  '%s.dat' index %d using 1:2 with points pt 6 ps 2 lc 'black' title 'chosen'\n",
            drawing->name, drawing->nseries);
}

static void write_script(const void *what, FILE *out)
{
    const struct drawing *drawing = what;
    static const char *const terminals[][2] = {{"svg size 960,600 dynamic", "svg"},
                                               {"pngcairo size 960,600", "png"}};

    fprintf(out,
            "set title '%s: measured (solid), predicted (dashed)' noenhanced\n"
            "set logscale x 2\nset logscale y\nset grid\nset key outside right noenhanced\n"
            "set format x '%%.0b %%BB'\nset ylabel 'us'\n",
            drawing->title);
    for (int i = 0; i < 2; i++) {
        fprintf(out, "set terminal %s\nset output '%s.%s'\n", terminals[i][0], drawing->name,
                terminals[i][1]);
        write_plot(drawing, out);
    }
}

/* ---- files ---- */

int drawing_write(const struct drawing *drawing, const char *folder)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        return 0;
    }
    if (!gnuplot_write(folder, drawing->name, "dat", write_data, drawing) ||
        !gnuplot_write(folder, drawing->name, "gp", write_script, drawing))
        return 0;
    return gnuplot_run(folder, drawing->name) ? 1 : 2;
}
