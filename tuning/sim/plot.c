/* The pictures of pcoll-sim, by gnuplot: time and counters over ranks, or time over bytes. */
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tuning/sim/options.h"

extern char **environ;

enum { NAME_LENGTH = 4096 };

static FILE *open_file(const char *stem, const char *suffix, char name[NAME_LENGTH])
{
    FILE *file;

    snprintf(name, NAME_LENGTH, "%s.%s", stem, suffix);
    file = fopen(name, "w");
    if (file == NULL)
        perror(name);
    return file;
}

static int is_same_line(const struct row *a, const struct row *b)
{
    return a->algorithm == b->algorithm && a->ports == b->ports;
}

/* A block for each line of the picture, two empty lines between them. */
static void write_data(const struct options *options, const struct row *rows, int count, FILE *out)
{
    int blocks = 0;

    fprintf(out, "# ranks bytes time_us period_us counters entries state_bytes messages\n");
    for (int i = 0; i < count; i++) {
        const struct pcoll_engine_result *result = &rows[i].result;

        if (i == 0 || !is_same_line(&rows[i], &rows[i - 1]))
            fprintf(out, "%s# %s, ports %d\n", blocks++ ? "\n\n" : "", rows[i].algorithm->name,
                    rows[i].ports);
        fprintf(out, "%d %" PRIu64 " %.9g %.9g %d %d %" PRIu64 " %" PRIu64 "\n", rows[i].nranks,
                rows[i].bytes, result->first,
                pcoll_engine_period(result, options->engine.instances), result->most.counters,
                result->most.entries, result->most.state_bytes, result->messages);
    }
}

/* "plot" with a line for each block: column y over column x. */
static void write_plot(const struct options *options, const struct row *rows, int count,
                       const char *data, int x, int y, FILE *out)
{
    int block = 0;

    fprintf(out, "plot");
    for (int i = 0; i < count; i++)
        if (i == 0 || !is_same_line(&rows[i], &rows[i - 1])) {
            fprintf(out, "%s '%s' index %d using %d:%d with linespoints dt %d title '",
                    block ? ", \\\n    " : "", data, block, x, y, rows[i].ports > 1 ? 2 : 1);
            fprintf(out, options->ports.count > 1 ? "%s, ports: %d'" : "%s'",
                    rows[i].algorithm->name, rows[i].ports);
            block++;
        }
    fputc('\n', out);
}

static void write_picture(const struct options *options, const struct row *rows, int count,
                          const char *data, FILE *out)
{
    const int over_ranks = options->ranks.count > 1;

    fprintf(out, "set grid\nset key left top noenhanced\nset logscale x 2\n");
    if (over_ranks) {
        fprintf(out, "set multiplot layout 1,2 title '%s, %" PRIu64 " B'\nset xlabel 'ranks'\n",
                pcoll_coll_name(options->coll), rows[0].bytes);
        fprintf(out, "set format x '2^{%%L}'\nset logscale y 10\nset ylabel 'time, us'\n");
        write_plot(options, rows, count, data, 1, 3, out);
        fprintf(out, "unset logscale y\nset yrange [0:*]\nset ylabel 'counters of a rank'\n");
        write_plot(options, rows, count, data, 1, 5, out);
        fprintf(out, "unset multiplot\n");
    } else {
        fprintf(out, "set title '%s, %d ranks'\nset xlabel 'bytes'\n",
                pcoll_coll_name(options->coll), rows[0].nranks);
        fprintf(out, "set format x '%%.0b %%BB'\nset logscale y 10\nset ylabel 'time, us'\n");
        write_plot(options, rows, count, data, 2, 3, out);
    }
    fprintf(out, "unset output\nreset\n");
}

static int run_gnuplot(char *script)
{
    char program[] = "gnuplot";
    char *arguments[] = {program, script, NULL};
    pid_t child;
    int status = 1;

    if (posix_spawnp(&child, program, NULL, NULL, arguments, environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "pcoll-sim: gnuplot did not run; %s is written\n", script);
        return 1;
    }
    return 0;
}

int plot_rows(const struct options *options, const struct row *rows, int count)
{
    char data[NAME_LENGTH], script[NAME_LENGTH];
    FILE *file = open_file(options->plot, "dat", data);

    if (file == NULL || count == 0)
        return 1;
    write_data(options, rows, count, file);
    fclose(file);
    file = open_file(options->plot, "gp", script);
    if (file == NULL)
        return 1;
    fprintf(file, "set terminal svg size 1000,500 background 'white'\nset output '%s.svg'\n",
            options->plot);
    write_picture(options, rows, count, data, file);
    fprintf(file, "set terminal pngcairo size 1000,500\nset output '%s.png'\n", options->plot);
    write_picture(options, rows, count, data, file);
    fclose(file);
    return run_gnuplot(script);
}
