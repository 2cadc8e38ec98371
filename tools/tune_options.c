/* The command line of pcoll-tune. */
#include "tools/tune.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/media.h"
#include "tools/cli.h"

#define SECONDS 60
#define QUICK_SECONDS 15

static const char help[] =
    "usage: mpiexec -n N pcoll-tune [options]   (two ranks or more)\n"
    "Measure this machine and write its tuning table. Defaults are in parentheses.\n"
    "\n"
    "  -o, --output=FILE   where to write the table (standard output)\n"
    "  --quick             measure for 15 seconds instead of 60\n"
    "  --seconds=S         measure for at most S seconds; 0: keep the base table's parameters\n"
    "  --media=A,B         measure only these media (all)\n"
    "  --provider=NAME     libfabric provider (MPIR_CVAR_COLL_OFFLOAD_PROVIDER, FI_PROVIDER)\n"
    "  --interface=NAME    domain, network interface or address of the provider\n"
    "                      (MPIR_CVAR_COLL_OFFLOAD_INTERFACE)\n"
    "  --base=FILE         table with rules and with what is not measured (built-in, no rules)\n"
    "  --correct           then run every candidate on all ranks, and add to the table how far\n"
    "                      the model is off for this number of ranks and nodes\n"
    "  --judge=FILE        make no table; run every candidate, and write how well the base table\n"
    "                      (without --base: the built-in one, with what ranks measure at\n"
    "                      init) predicts and chooses, and what a race at init would take: a\n"
    "                      line of JSON for each call\n"
    "  --sizes=LIST        ascending sizes in bytes to run them at, with K or M; sizes beyond\n"
    "                      16M (except for bcast: of all blocks together) are left out\n"
    "  --algorithms=LIST   run only these algorithms (all)\n"
    "  --plot=DIR          then draw time over size for every candidate into DIR with gnuplot\n"
    "\n"
    "Exit status: 0; 1 after a failure; 2 for a bad command line.\n";

/* The options as they are given, before they are checked. */
struct given {
    struct tune_options options;
    struct cli_list sizes;
    int quick;
};

#define OPTION(name, form, member) CLI_OPTION(struct given, name, form, member)

static const struct cli_option options_known[] = {
    {OPTION("output", CLI_TEXT, options.output), .letter = 'o'},
    {OPTION("quick", CLI_FLAG, quick)},
    {OPTION("seconds", CLI_REAL, options.seconds), .min = 0, .max = 86400},
    {OPTION("media", CLI_TEXT, options.media)},
    {OPTION("provider", CLI_TEXT, options.provider)},
    {OPTION("interface", CLI_TEXT, options.interface)},
    {OPTION("base", CLI_TEXT, options.base)},
    {OPTION("plot", CLI_TEXT, options.plot)},
    {OPTION("correct", CLI_FLAG, options.correct)},
    {OPTION("judge", CLI_TEXT, options.judge)},
    {OPTION("sizes", CLI_LIST, sizes), .min = 1, .max = UINT64_C(1) << 30},
    {OPTION("algorithms", CLI_TEXT, options.algorithms)},
    {.name = NULL},
};

static const char *medium_name(int number)
{
    return number < pcoll_nmedia ? pcoll_media[number]->name : NULL;
}

static int check_media(const struct cli *cli, const char *list)
{
    char name[64];

    while (cli_next_name(&list, name, sizeof(name)))
        if (cli_name(cli, "--media", name, medium_name) < 0)
            return CLI_WRONG;
    return CLI_GO_ON;
}

/* Returns whether that is an algorithm of any collective. */
static bool is_algorithm(const char *name)
{
    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++)
        if (pcoll_algorithm_find((enum pcoll_coll)coll, name))
            return true;
    return false;
}

static int check_algorithms(const struct cli *cli, const char *list)
{
    char name[64];

    while (cli_next_name(&list, name, sizeof(name)))
        if (!is_algorithm(name))
            return cli_refuse(cli, "--algorithms", name, "see pcoll-info --algorithms");
    return CLI_GO_ON;
}

static int take_sizes(const struct cli *cli, const struct cli_list *sizes,
                      struct tune_options *options)
{
    if (sizes->count > TUNE_SIZES)
        return cli_complain(cli, "--sizes: more than %d sizes are not allowed", TUNE_SIZES);
    for (int i = 0; i < sizes->count; i++) {
        if (i > 0 && sizes->list[i] <= sizes->list[i - 1])
            return cli_complain(cli, "--sizes: '%llu' is not allowed after %llu",
                                (unsigned long long)sizes->list[i],
                                (unsigned long long)sizes->list[i - 1]);
        options->sizes[i] = sizes->list[i];
    }
    options->nsizes = sizes->count;
    return CLI_GO_ON;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static struct given usual(void)
{
    struct given given = {.options = {.seconds = -1}};

    given.options.provider = variable("MPIR_CVAR_COLL_OFFLOAD_PROVIDER");
    if (!given.options.provider)
        given.options.provider = variable("FI_PROVIDER");
    given.options.interface = variable("MPIR_CVAR_COLL_OFFLOAD_INTERFACE");
    return given;
}

int tune_take_options(struct tune_options *options, int count, char **values)
{
    struct cli cli = {.program = "pcoll-tune", .help = help, .options = options_known};
    struct given given = usual();
    int status, world_rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    cli.is_silent = world_rank != 0;
    status = cli_read(&cli, &given, count, values, NULL);
    *options = given.options;
    if (options->seconds < 0)
        options->seconds = given.quick ? QUICK_SECONDS : SECONDS;
    if (status == CLI_GO_ON)
        status = check_media(&cli, options->media);
    if (status == CLI_GO_ON)
        status = check_algorithms(&cli, options->algorithms);
    if (status == CLI_GO_ON && options->judge && options->output)
        status = cli_complain(&cli, "--judge makes no table, so --output is not allowed");
    return status == CLI_GO_ON ? take_sizes(&cli, &given.sizes, options) : status;
}
