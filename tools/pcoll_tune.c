/*
 * pcoll-tune: measures a machine and writes its tuning table.
 *
 * It is an MPI program that uses MPI, of any implementation, only to bring ranks together; it
 * measures the media of this library, which is linked in. A site is a medium at a level; two ranks
 * measure it while the others sleep.
 */
#include "tools/tune.h"

#include "offload/media.h"

#include <errno.h>
#include <math.h>
#include <rdma/fabric.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SITES = 8 };

#define NOISE 0.25
#define NOISE_US 1e-5 /* smaller noise does not matter */

static int world_rank;

/* ---- measuring ---- */

struct outcome {
    struct tune_site sites[MAX_SITES];
    struct tune_result results[MAX_SITES];
    int ncells;
    struct tune_result networks[MAX_SITES]; /* of the sites between hosts */
    struct tune_result host;
    struct pcoll_identity identity;
};

/* "shm, same_cache" */
static void name_site(const struct tune_site *site, char *text, size_t size)
{
    snprintf(text, size, "%s, %s", site->medium->name,
             site->level == PCOLL_LEVEL_ANY ? "one core" : pcoll_level_names[site->level]);
}

static void measure_here(const struct tune_site *site, MPI_Comm *comm, double seconds,
                         const struct tune_options *options, struct tune_result *result)
{
    const int place = world_rank == site->ranks[1];
    const double begin = tune_now();
    char name[64];
    enum pcoll_result opened;

    name_site(site, name, sizeof(name));
    if (place == 0)
        fprintf(stderr, "%-26s [", name);
    if (site->units[place] >= 0)
        tune_sit(site->units[place]);
    opened = tune_pair(comm, site->medium, options, seconds, result);
    tune_sit_anywhere();
    if (place != 0)
        return;
    if (opened == PCOLL_OK)
        fprintf(stderr, "] %.1f s\n", tune_now() - begin);
    else
        fprintf(stderr, "] %s here\n", pcoll_result_text(opened));
}

/* Two ranks measure, the others sleep; all receive the result. */
static void measure_site(const struct tune_site *site, double seconds,
                         const struct tune_options *options, struct tune_result *result)
{
    const bool takes_part = world_rank == site->ranks[0] || world_rank == site->ranks[1];
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, world_rank, &comm);
    if (takes_part)
        measure_here(site, &comm, seconds, options, result);
    tune_meet(MPI_COMM_WORLD);
    tune_bcast(result, sizeof(*result), site->ranks[0], MPI_COMM_WORLD);
    if (takes_part)
        MPI_Comm_free(&comm);
}

static bool is_network(const struct tune_site *site)
{
    return site->level == PCOLL_LEVEL_OTHER_HOST;
}

static void measure_network(struct outcome *outcome, const struct tune_site *site,
                            const struct tune_options *options, struct tune_result *result)
{
    MPI_Comm self = MPI_COMM_SELF;
    char *provider = outcome->identity.provider;
    const int leader = site->ranks[0];

    if (world_rank == leader)
        tune_network(&self, site->medium, options, result, provider);
    tune_meet(MPI_COMM_WORLD);
    tune_bcast(result, sizeof(*result), leader, MPI_COMM_WORLD);
    tune_bcast(provider, PCOLL_IDENTITY_BYTES, leader, MPI_COMM_WORLD);
}

static void measure_all(struct outcome *outcome, const struct tune_options *options)
{
    outcome->ncells = tune_sites(options, outcome->sites, MAX_SITES);
    if (world_rank == 0)
        tune_host(&outcome->host);
    tune_meet(MPI_COMM_WORLD);
    tune_readers(options, &outcome->host);
    for (int i = 0; i < outcome->ncells; i++)
        if (is_network(&outcome->sites[i]))
            measure_network(outcome, &outcome->sites[i], options, &outcome->networks[i]);
    for (int i = 0; i < outcome->ncells; i++)
        measure_site(&outcome->sites[i], options->seconds / outcome->ncells, options,
                     &outcome->results[i]);
}

/* ---- the table ---- */

static void set_parameter(struct pcoll_estimates *estimates, enum pcoll_parameter parameter,
                          const struct estimate *estimate)
{
    const double value = fmax(0, estimate_round(estimate->value));
    const double low = fmin(value, fmax(0, estimate_round(estimate->low)));
    const double high = fmax(value, estimate_round(estimate->high));

    pcoll_estimates_set(estimates, parameter, value, low, high);
}

static void set_parameters(struct pcoll_estimates *estimates, const struct tune_result *result)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++)
        if (result->given & pcoll_parameter_bit((enum pcoll_parameter)i))
            set_parameter(estimates, (enum pcoll_parameter)i, &result->estimates[i]);
}

/* The medium's own parameters are those of the farthest level, then what one rank measured alone;
 * the base table provides the rest. */
static void set_medium(struct pcoll_table *table, const struct outcome *outcome, const char *name)
{
    struct pcoll_estimates estimates[PCOLL_NUM_LEVELS] = {{.given = 0}}, rest = {.given = 0};
    const struct pcoll_estimates *base = pcoll_table_estimates(table, name, PCOLL_LEVEL_ANY);
    const struct tune_result *network = NULL;
    int level = PCOLL_LEVEL_ANY;

    for (int i = 0; i < outcome->ncells; i++) {
        if (strcmp(outcome->sites[i].medium->name, name) != 0 || outcome->results[i].given == 0)
            continue;
        level = outcome->sites[i].level;
        set_parameters(&estimates[level], &outcome->results[i]);
        network = is_network(&outcome->sites[i]) ? &outcome->networks[i] : network;
    }
    if (estimates[level].given == 0)
        return;
    estimates[PCOLL_LEVEL_ANY] = estimates[level];
    set_parameters(&rest, &outcome->host);
    if (network)
        set_parameters(&rest, network);
    pcoll_estimates_inherit(&estimates[PCOLL_LEVEL_ANY], &rest);
    if (base)
        pcoll_estimates_inherit(&estimates[PCOLL_LEVEL_ANY], base);
    if (pcoll_table_set(table, name, estimates) != PCOLL_OK)
        fprintf(stderr, "pcoll-tune: %s: out of memory\n", name);
}

static void set_identity(struct outcome *outcome)
{
    struct pcoll_identity *identity = &outcome->identity;
    const struct pcoll_identity here = pcoll_identity_here();
    char version[MPI_MAX_LIBRARY_VERSION_STRING], text[PCOLL_IDENTITY_BYTES];
    const uint32_t fabric = fi_version();
    int length;

    memcpy(identity->processor, here.processor, sizeof(identity->processor));
    memcpy(identity->pcoll, here.pcoll, sizeof(identity->pcoll));
    identity->cores = here.cores;
    identity->sockets = tune_sockets();
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    for (char *at = version; *at; at++)
        if (*at == '\t')
            *at = ' ';
    pcoll_identity_text(identity->mpi, version);
    snprintf(text, sizeof(text), "%u.%u", FI_MAJOR(fabric), FI_MINOR(fabric));
    pcoll_identity_text(identity->libfabric, text);
}

/* The built-in rules were measured elsewhere, and would override what is measured here; --judge
 * judges them. */
static enum pcoll_result load_built_in(bool with_rules, struct pcoll_table **table_p)
{
    const enum pcoll_result result =
        pcoll_table_parse("built-in table", pcoll_tuning_default_json, stderr, table_p);

    if (result == PCOLL_OK && !with_rules)
        pcoll_table_drop_rules(*table_p);
    return result;
}

static enum pcoll_result load_base(const struct tune_options *options, struct pcoll_table **table_p)
{
    const char *path = options->base;
    char *text = NULL;
    enum pcoll_result result;

    if (!path)
        return load_built_in(options->judge != NULL, table_p);
    result = pcoll_table_read(path, stderr, &text);
    if (result == PCOLL_OK)
        result = pcoll_table_parse(path, text, stderr, table_p);
    free(text);
    return result;
}

static bool write_table(const struct pcoll_table *table, const char *path)
{
    FILE *out = path ? fopen(path, "w") : stdout;
    bool good = out && pcoll_table_write(table, out) == PCOLL_OK;

    if (out && path)
        good = fclose(out) == 0 && good;
    if (!good)
        fprintf(stderr, "pcoll-tune: %s: %s\n", path ? path : "standard output", strerror(errno));
    return good;
}

/* Remove a file that was made here, and not the link that may lead to it. */
static void remove_target(const char *path)
{
    char *target = realpath(path, NULL);

    if (target)
        unlink(target);
    free(target);
}

/* Checked before a minute of measurements, which leave no empty file if they fail. */
static bool can_write(const char *path)
{
    struct stat status;
    const bool is_new = path && stat(path, &status) != 0;
    FILE *out = path ? fopen(path, "a") : NULL;

    if (path && !out)
        fprintf(stderr, "pcoll-tune: %s: %s\n", path, strerror(errno));
    if (out)
        fclose(out);
    if (out && is_new)
        remove_target(path);
    return !path || out;
}

static bool fill_table(struct outcome *outcome, struct pcoll_table *table)
{
    set_identity(outcome);
    for (int i = 0; i < pcoll_nmedia; i++)
        set_medium(table, outcome, pcoll_media[i]->name);
    *pcoll_table_identity(table) = outcome->identity;
    return pcoll_table_describe(table,
                                "Measured by pcoll-tune. An interval holds the medians of three "
                                "sittings; what has none was not measured.") == PCOLL_OK;
}

/* ---- main ---- */

static void print_estimate(const char *name, const struct estimate *estimate)
{
    fprintf(stderr, "  %-9s %12.5g  %.5g .. %.5g  (%d samples, %d rejected)\n", name,
            estimate->value, estimate->low, estimate->high, estimate->used, estimate->rejected);
}

static void print_result(const char *name, const struct tune_result *result)
{
    if (result->given == 0)
        return;
    fprintf(stderr, "%s\n", name);
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++)
        if (result->given & pcoll_parameter_bit((enum pcoll_parameter)i))
            print_estimate(pcoll_parameters[i].name, &result->estimates[i]);
}

/* Names the parameters whose interval exceeds NOISE of their value. */
static void warn_of_noise(const char *name, const struct tune_result *result)
{
    int count = 0;

    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++) {
        if (!(result->given & pcoll_parameter_bit((enum pcoll_parameter)i)) ||
            estimate_is_tight(&result->estimates[i], NOISE, NOISE_US))
            continue;
        fprintf(stderr, "%s%s", count++ ? ", " : "noisy: ", pcoll_parameters[i].name);
    }
    if (count > 0)
        fprintf(stderr, " of %s: measure again when nothing else is running\n", name);
}

static void print_outcome(const struct outcome *outcome)
{
    char name[64];

    fputs("us, us/byte; interval\n", stderr);
    print_result("host", &outcome->host);
    for (int i = 0; i < outcome->ncells; i++) {
        name_site(&outcome->sites[i], name, sizeof(name));
        if (is_network(&outcome->sites[i]))
            print_result("memory registration", &outcome->networks[i]);
        print_result(name, &outcome->results[i]);
        warn_of_noise(name, &outcome->results[i]);
    }
}

static bool is_anything(const struct outcome *outcome)
{
    for (int i = 0; i < outcome->ncells; i++)
        if (outcome->results[i].given != 0)
            return true;
    fputs("pcoll-tune: nothing could be measured (two ranks are needed, on one node or on two)\n",
          stderr);
    return false;
}

/* All ranks follow the first rank's result. */
static bool agree(int good)
{
    tune_bcast(&good, sizeof(good), 0, MPI_COMM_WORLD);
    return good;
}

static bool measure_parameters(const struct tune_options *options, struct pcoll_table *table)
{
    static struct outcome outcome;
    bool good = true;

    outcome.identity.hosts = tune_nodes();
    measure_all(&outcome, options);
    if (world_rank == 0) {
        print_outcome(&outcome);
        good = is_anything(&outcome) && fill_table(&outcome, table);
    }
    return agree(good);
}

static bool calibrate(const struct tune_options *options, struct pcoll_table *table)
{
    bool good = options->seconds == 0 || measure_parameters(options, table);

    if (good && options->correct)
        good = agree(tune_correct(options, table));
    return agree(good && (world_rank != 0 || write_table(table, options->output)));
}

static bool run(const struct tune_options *options)
{
    struct pcoll_table *table = NULL;
    bool good =
        world_rank != 0 || (load_base(options, &table) == PCOLL_OK && can_write(options->output));

    if (!agree(good))
        return true;
    good = options->judge ? tune_judge(options, table) : calibrate(options, table);
    good = agree(good);
    if (good && options->plot)
        good = agree(tune_plot(options, table));
    pcoll_table_destroy(table);
    tune_meet(MPI_COMM_WORLD);
    pcoll_media_finalize();
    return !good;
}

int main(int argc, char **argv)
{
    struct tune_options options = {0};
    int status;

    setenv("MPIR_CVAR_COLL_OFFLOAD_PROMOTE", "off", 0); /* no plans but those under test */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    status = tune_take_options(&options, argc, argv);
    if (status < 0)
        status = run(&options);
    MPI_Finalize();
    return status;
}
