/* The pictures of pcoll-sim, drawn by gnuplot: time and counters over ranks, or time over bytes. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "tools/sim/options.h"
#include "tools/gnuplot.h"

struct plot {
    const struct options *options;
    const struct row *rows;
    int count;
    const char *name; /* of the files, without folder and suffix */
};

static bool is_same_line(const struct row *a, const struct row *b)
{
    return a->algorithm == b->algorithm && a->ports == b->ports;
}

/* Writes one block for each curve, with two empty lines between blocks. */
static void write_data(const void *what, FILE *out)
{
    const struct plot *plot = what;
    const struct row *rows = plot->rows;
    int blocks = 0;

    fprintf(out, "# ranks bytes time_us period_us counters entries state_bytes messages\n");
    for (int i = 0; i < plot->count; i++) {
        const struct pcoll_engine_result *result = &rows[i].result;

        if (i == 0 || !is_same_line(&rows[i], &rows[i - 1]))
            fprintf(out, "%s# %s, ports %d\n", blocks++ ? "\n\n" : "", rows[i].algorithm->name,
                    rows[i].ports);
        fprintf(out, "%d %" PRIu64 " %.9g %.9g %d %d %" PRIu64 " %" PRIu64 "\n", rows[i].nranks,
                rows[i].bytes, result->first,
                pcoll_engine_period(result, plot->options->engine.instances), result->max.counters,
                result->max.entries, result->max.state_bytes, result->messages);
    }
}

/* Writes "plot" with one curve for each block: column y over column x. */
static void write_plot(const struct plot *plot, int x, int y, FILE *out)
{
    const struct row *rows = plot->rows;
    int block = 0;

    fprintf(out, "plot");
    for (int i = 0; i < plot->count; i++)
        if (i == 0 || !is_same_line(&rows[i], &rows[i - 1])) {
            fprintf(out, "%s '%s.dat' index %d using %d:%d with linespoints dt %d title '",
                    block ? ", \\\n    " : "", plot->name, block, x, y, rows[i].ports > 1 ? 2 : 1);
            fprintf(out, plot->options->ports.count > 1 ? "%s, ports: %d'" : "%s'",
                    rows[i].algorithm->name, rows[i].ports);
            block++;
        }
    fputc('\n', out);
}

static void write_picture(const struct plot *plot, FILE *out)
{
    const struct options *options = plot->options;
    const struct row *rows = plot->rows;
    const bool over_ranks = options->ranks.count > 1;

    fprintf(out, "set grid\nset key left top noenhanced\nset logscale x 2\n");
    if (over_ranks) {
        fprintf(out, "set multiplot layout 1,2 title '%s, %" PRIu64 " B'\nset xlabel 'ranks'\n",
                pcoll_coll_name(options->coll), rows[0].bytes);
        fprintf(out, "set format x '2^{%%L}'\nset logscale y 10\nset ylabel 'time, us'\n");
        write_plot(plot, 1, 3, out);
        fprintf(out, "unset logscale y\nset yrange [0:*]\nset ylabel 'counters of a rank'\n");
        write_plot(plot, 1, 5, out);
        fprintf(out, "unset multiplot\n");
    } else {
        fprintf(out, "set title '%s, %d ranks'\nset xlabel 'bytes'\n",
                pcoll_coll_name(options->coll), rows[0].nranks);
        fprintf(out, "set format x '%%.0b %%BB'\nset logscale y 10\nset ylabel 'time, us'\n");
        write_plot(plot, 2, 3, out);
    }
    fprintf(out, "unset output\nreset\n");
}

static void write_script(const void *what, FILE *out)
{
    const struct plot *plot = what;

    fprintf(out, "set terminal svg size 1000,500 background 'white'\nset output '%s.svg'\n",
            plot->name);
    write_picture(plot, out);
    fprintf(out, "set terminal pngcairo size 1000,500\nset output '%s.png'\n", plot->name);
    write_picture(plot, out);
}

bool plot_rows(const struct options *options, const struct row *rows, int count)
{
    const char *slash = strrchr(options->plot, '/');
    const struct plot plot = {options, rows, count, slash ? slash + 1 : options->plot};
    char folder[4096] = ".";

    if (slash)
        snprintf(folder, sizeof(folder), "%.*s",
                 slash == options->plot ? 1 : (int)(slash - options->plot), options->plot);
    return count == 0 || !gnuplot_write(folder, plot.name, "dat", write_data, &plot) ||
           !gnuplot_write(folder, plot.name, "gp", write_script, &plot) ||
           !gnuplot_run(folder, plot.name);
}
