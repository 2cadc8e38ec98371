/*
 * pcoll-info: shows what the chooser would choose, from a tuning table alone, and the plans of the
 * ranks, without MPI.
 *
 * For each collective it prints a map from sizes to choices. It finds the sizes at which the choice
 * changes by bisection between powers of two.
 */
#include "algorithms/plan/topology.h"
#include "offload/media.h"
#include "tuning/choose.h"
#include "tuning/tools/cli.h"
#include "tuning/tools/show.h"

#include <stdlib.h>
#include <string.h>

struct settings {
    const char *path; /* of the table; NULL: the built-in one */
    int coll;         /* -1: all */
    int nranks, nnodes;
    uint64_t max_bytes;
    int64_t candidates; /* list the candidates for this size; -1: print the map */
    int only_check, only_names, only_parameters, no_cma;
    struct pcoll_caps caps;
    struct pcoll_table *table;
    struct pcoll_topology *topology;

    const char *plan; /* COLLECTIVE/ALGORITHM, or only the collective; NULL: no plan */
    struct pcoll_signature signature; /* of the plan: root, bytes, in_place */
    struct pcoll_params params;
    struct show show;
    int paper, dot, json;
};

/* ---- command line ---- */

enum { MAX_RANKS = 1 << 24 };

#define OPTION(name, form, member) CLI_OPTION(struct settings, name, form, member)

static const struct cli_option options[] = {
    {OPTION("table", CLI_TEXT, path)},
    {OPTION("ranks", CLI_INT, nranks), .min = 1, .max = MAX_RANKS},
    {OPTION("nodes", CLI_INT, nnodes), .min = 1, .max = MAX_RANKS},
    {OPTION("cores", CLI_INT, caps.cores), .min = 0, .max = MAX_RANKS},
    {OPTION("rails", CLI_INT, caps.rails), .min = 1, .max = 64},
    {OPTION("medium", CLI_TEXT, caps.medium)},
    {OPTION("level", CLI_NAME, caps.level), .name_of = cli_level},
    {OPTION("no-cma", CLI_FLAG, no_cma)},
    {OPTION("coll", CLI_NAME, coll), .name_of = cli_coll},
    {OPTION("max-bytes", CLI_NUMBER, max_bytes), .min = 1, .max = INT64_MAX / 4},
    {OPTION("candidates", CLI_NUMBER, candidates), .min = 0, .max = INT64_MAX / 4},
    {OPTION("algorithms", CLI_FLAG, only_names)},
    {OPTION("parameters", CLI_FLAG, only_parameters)},
    {OPTION("check", CLI_FLAG, only_check)},
    {OPTION("plan", CLI_TEXT, plan)},
    {OPTION("rank", CLI_INT, show.rank), .min = 0, .max = MAX_RANKS},
    {OPTION("root", CLI_INT, signature.root), .min = 0, .max = MAX_RANKS},
    {OPTION("bytes", CLI_NUMBER, signature.bytes), .min = 0, .max = UINT64_C(1) << 40},
    {OPTION("in-place", CLI_FLAG, signature.in_place)},
    {OPTION("radix", CLI_INT, params.radix), .min = 2, .max = MAX_RANKS},
    {OPTION("segment", CLI_NUMBER, params.segment), .min = 1, .max = UINT64_C(1) << 40},
    {OPTION("slots", CLI_INT, params.slots), .min = 2, .max = 1 << 16},
    {OPTION("path", CLI_NAME, params.path), .name_of = cli_path},
    {OPTION("lowered", CLI_FLAG, show.lowered)},
    {OPTION("paper", CLI_FLAG, paper)},
    {OPTION("dot", CLI_FLAG, dot)},
    {OPTION("phase", CLI_INT, show.phase), .min = 0, .max = MAX_RANKS},
    {OPTION("json", CLI_FLAG, json)},
    {.name = NULL},
};

static const struct cli cli = {.program = "pcoll-info", .help = info_help, .options = options};

/* Set the medium as ch4_coll does. A table may hold media that this build lacks. */
static int finish_caps(struct settings *settings)
{
    struct pcoll_caps *caps = &settings->caps;
    const int number = caps->medium ? pcoll_media_find(caps->medium)
                                    : pcoll_media_auto(settings->nnodes <= 1, NULL);
    const struct pcoll_medium *medium = number != PCOLL_NONE ? pcoll_media[number] : NULL;

    if (medium)
        pcoll_caps_of_medium(caps, medium->name, medium->node_medium, medium->max_slots);
    else if (!caps->medium)
        return cli_complain(&cli, "this build has no medium between nodes");
    return CLI_GO_ON;
}

/* Returns what cli_read does. */
static int check_plan(struct settings *settings)
{
    struct show *show = &settings->show;

    if (show->rank >= settings->nranks)
        return cli_complain(&cli, "--rank: there is no rank %d of %d", show->rank,
                            settings->nranks);
    if (settings->signature.root >= settings->nranks)
        return cli_complain(&cli, "--root: there is no rank %d of %d", settings->signature.root,
                            settings->nranks);
    if (settings->paper + settings->dot + settings->json > 1)
        return cli_complain(&cli, "only one of --paper, --dot and --json is allowed");
    if (settings->paper && show->lowered)
        return cli_complain(&cli, "--paper: the paper has no lowered plans");
    if (settings->paper || settings->dot || settings->json)
        show->form = settings->paper ? SHOW_PAPER : settings->dot ? SHOW_DOT : SHOW_JSON;
    settings->params.paper = settings->paper;
    return CLI_GO_ON;
}

static int take_options(struct settings *settings, int count, char **values)
{
    int status = cli_read(&cli, settings, count, values, NULL);

    if (status == CLI_GO_ON && settings->nnodes > settings->nranks)
        status = cli_complain(&cli, "--nodes: there are more nodes than ranks");
    if (status == CLI_GO_ON && settings->plan)
        status = check_plan(settings);
    if (settings->no_cma)
        settings->caps.provides &= ~(unsigned)PCOLL_NEED_USER_RMA;
    return status == CLI_GO_ON ? finish_caps(settings) : status;
}

/* ---- table and shape ---- */

static enum pcoll_result load(struct settings *settings)
{
    char *text = NULL;
    enum pcoll_result result;

    if (!settings->path)
        return pcoll_table_parse("built-in table", pcoll_tuning_default_json, stderr,
                                 &settings->table);
    result = pcoll_table_read(settings->path, stderr, &text);
    if (result == PCOLL_OK)
        result = pcoll_table_parse(settings->path, text, stderr, &settings->table);
    free(text);
    return result;
}

static enum pcoll_result place(struct settings *settings)
{
    const int nranks = settings->nranks;
    enum pcoll_result result;
    int *ids;

    if (settings->nnodes == 1)
        return PCOLL_OK;
    ids = malloc((size_t)nranks * sizeof(*ids));
    if (!ids)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < nranks; i++)
        ids[i] = (int)((int64_t)i * settings->nnodes / nranks);
    result = pcoll_topology_create(ids, NULL, nranks, &settings->topology);
    free(ids);
    return result;
}

/* ---- the map ---- */

/* Most operators commute. */
static struct pcoll_signature signature_of(const struct settings *settings, enum pcoll_coll coll,
                                           uint64_t bytes)
{
    const struct pcoll_signature signature = {
        .coll = coll,
        .nranks = settings->nranks,
        .bytes = bytes,
        .topology = settings->topology,
        .commutes = pcoll_coll_has(coll, PCOLL_REDUCES),
    };

    return signature;
}

/* A size and the choice for it; choice.algorithm NULL: MPICH's path. */
struct point {
    uint64_t bytes;
    struct pcoll_choice choice;
};

static struct point choose(const struct settings *settings, enum pcoll_coll coll, uint64_t bytes)
{
    const struct pcoll_signature signature = signature_of(settings, coll, bytes);
    struct point point = {.bytes = bytes};

    if (pcoll_choose(settings->table, &signature, &settings->caps, NULL, NULL, &point.choice) !=
        PCOLL_OK)
        point.choice.algorithm = NULL;
    return point;
}

static int same(const struct point *a, const struct point *b)
{
    return pcoll_choice_same(&a->choice, &b->choice) &&
           (!a->choice.algorithm || strcmp(a->choice.reason, b->choice.reason) == 0);
}

/* The last size with the same choice as `low`; `high` has another. */
static struct point last_like(const struct settings *settings, enum pcoll_coll coll,
                              struct point low, struct point high)
{
    const struct point first = low;

    while (low.bytes + 1 < high.bytes) {
        const struct point middle =
            choose(settings, coll, low.bytes + (high.bytes - low.bytes) / 2);

        if (same(&first, &middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void print_range(const struct point *first, const struct point *last)
{
    char text[PCOLL_CHOICE_BYTES];

    printf("  %12llu %12llu", (unsigned long long)first->bytes, (unsigned long long)last->bytes);
    if (!first->choice.algorithm) {
        puts("            -            -  mpich");
        return;
    }
    pcoll_choice_text(&first->choice, text);
    printf(" %12.2f %12.2f  %s (%s)\n", first->choice.predicted_us, last->choice.predicted_us, text,
           first->choice.reason);
}

/* Prints ranges of sizes from 1 to settings->max_bytes. */
static void print_map(const struct settings *settings, enum pcoll_coll coll)
{
    struct point first = choose(settings, coll, 1), last = first;

    while (last.bytes < settings->max_bytes) {
        const uint64_t next =
            last.bytes * 2 < settings->max_bytes ? last.bytes * 2 : settings->max_bytes;
        const struct point beyond = choose(settings, coll, next);

        if (same(&first, &beyond)) {
            last = beyond;
            continue;
        }
        last = last_like(settings, coll, last, beyond);
        print_range(&first, &last);
        last = first = choose(settings, coll, last.bytes + 1);
    }
    print_range(&first, &last);
}

static void print_candidates(const struct settings *settings, enum pcoll_coll coll)
{
    const uint64_t bytes =
        pcoll_coll_has(coll, PCOLL_SYNCHRONIZES) ? 0 : (uint64_t)settings->candidates;
    const struct pcoll_signature signature = signature_of(settings, coll, bytes);
    struct pcoll_choice list[PCOLL_MAX_CANDIDATES];
    const int count =
        pcoll_candidates(settings->table, &signature, &settings->caps, list, PCOLL_MAX_CANDIDATES);
    char text[PCOLL_CHOICE_BYTES];

    printf("  %12s  %s\n", "predicted us", "candidate");
    for (int i = 0; i < count; i++) {
        pcoll_choice_text(&list[i], text);
        printf("  %12.2f  %s\n", list[i].predicted_us, text);
    }
}

static void print_only(const struct settings *settings, enum pcoll_coll coll)
{
    const struct point point = choose(settings, coll, 0);

    print_range(&point, &point);
}

static void print_coll(const struct settings *settings, enum pcoll_coll coll)
{
    printf("%s on %d ranks of %d node%s: %s, %s\n", pcoll_coll_name(coll), settings->nranks,
           settings->nnodes, settings->nnodes > 1 ? "s" : "", settings->caps.medium,
           settings->path ? settings->path : "built-in table");
    if (settings->candidates >= 0) {
        print_candidates(settings, coll);
        return;
    }
    printf("  %12s %12s %12s %12s  %s\n", "from bytes", "to bytes", "predicted us", "to us",
           "choice");
    if (pcoll_coll_has(coll, PCOLL_SYNCHRONIZES))
        print_only(settings, coll);
    else
        print_map(settings, coll);
}

static void print_names(void)
{
    PCOLL_EACH_ALGORITHM (row)
        printf("%-20s %-14s %s%s%s%s\n", pcoll_coll_name(row->coll), row->name, row->description,
               row->alias ? " (or `" : "", row->alias ? row->alias : "", row->alias ? "')" : "");
}

static void print_parameters(void)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++)
        printf("%-10s %-8s %-9s %s\n", pcoll_parameters[i].name, pcoll_parameters[i].unit,
               pcoll_parameters[i].required ? "required" : "optional", pcoll_parameters[i].what);
}

static int print_choices(const struct settings *settings)
{
    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++)
        if (settings->coll < 0 || settings->coll == coll)
            print_coll(settings, (enum pcoll_coll)coll);
    return 0;
}

/* ---- a plan ---- */

/* The model's choice, overridden by what was given. */
static int choose_algorithm(const struct settings *settings, struct pcoll_job *job)
{
    const struct pcoll_params *given = &settings->params;
    const struct point point = choose(settings, job->signature.coll, job->signature.bytes);

    if (!point.choice.algorithm)
        return cli_complain(&cli, "--plan: MPICH's own path is chosen for %s",
                            pcoll_coll_name(job->signature.coll));
    job->algorithm = point.choice.algorithm;
    job->params = point.choice.params;
    job->params.paper = given->paper;
    if (given->radix)
        job->params.radix = given->radix;
    if (given->segment)
        job->params.segment = given->segment;
    if (given->slots)
        job->params.slots = given->slots;
    if (given->path != PCOLL_PATH_AUTO)
        job->params.path = given->path;
    return CLI_GO_ON;
}

static int print_plan(const struct settings *settings)
{
    struct pcoll_job job = {.signature = settings->signature,
                            .params = settings->params,
                            .lowered = settings->show.lowered};
    const char *slash = strchr(settings->plan, '/');
    char name[64];
    int coll, status = CLI_GO_ON;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(settings->plan, "/"), settings->plan);
    coll = cli_name(&cli, "--plan", name, cli_coll);
    if (coll < 0)
        return CLI_WRONG;
    job.signature.coll = (enum pcoll_coll)coll;
    job.signature.nranks = settings->nranks;
    job.signature.topology = settings->topology;
    if (pcoll_coll_has(job.signature.coll, PCOLL_SYNCHRONIZES))
        job.signature.bytes = 0;
    if (!pcoll_coll_has(job.signature.coll, PCOLL_ROOTED))
        job.signature.root = 0;
    if (job.signature.in_place && !pcoll_coll_has(job.signature.coll, PCOLL_IN_PLACE))
        return cli_complain(&cli, "--in-place: %s is never in place", cli_coll(coll));
    job.params.rails = settings->caps.rails;
    if (slash)
        job.algorithm = cli_algorithm(&cli, "--plan", job.signature.coll, slash + 1);
    else
        status = choose_algorithm(settings, &job);
    if (status != CLI_GO_ON || !job.algorithm)
        return CLI_WRONG;
    job.signature.commutes = job.algorithm->must_commute;
    return show_plans(&job, &settings->show, stdout);
}

static int print_what_is_asked(const struct settings *settings)
{
    if (!pcoll_table_machine(settings->table, settings->caps.medium))
        return cli_complain(&cli, "the tuning table lacks medium '%s'", settings->caps.medium);
    return settings->plan ? print_plan(settings) : print_choices(settings);
}

int main(int argc, char **argv)
{
    struct settings settings = {
        .coll = -1,
        .nranks = 8,
        .nnodes = 1,
        .max_bytes = UINT64_C(64) << 20,
        .candidates = -1,
        .caps = {.provides =
                     PCOLL_NEED_WEIGHTS | PCOLL_NEED_GET | PCOLL_NEED_USER_RMA | PCOLL_NEED_ORDER,
                 .max_temp = 4 << 20},
        .signature = {.bytes = 8},
        .show = {.rank = PCOLL_NONE, .phase = PCOLL_NONE},
    };
    int status = take_options(&settings, argc, argv);

    if (status != CLI_GO_ON)
        return status;
    if (settings.only_names)
        print_names();
    if (settings.only_parameters)
        print_parameters();
    if (settings.only_names || settings.only_parameters)
        return 0;
    status = 1;
    if (load(&settings) == PCOLL_OK && place(&settings) == PCOLL_OK)
        status = settings.only_check ? 0 : print_what_is_asked(&settings);
    pcoll_topology_destroy(settings.topology);
    pcoll_table_destroy(settings.table);
    return status;
}
