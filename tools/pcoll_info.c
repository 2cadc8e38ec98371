/*
 * pcoll-info: shows what the chooser would choose, from a tuning table alone, and shows and proves
 * the plans of the ranks, without MPI. For each collective it prints a map from sizes to choices
 * (info_map.c).
 */
#include "algorithms/plan/levels.h"
#include "offload/media.h"
#include "tools/cli.h"
#include "tools/info.h"

#include <stdlib.h>
#include <string.h>

/* ---- command line ---- */

enum { MAX_RANKS = 1 << 24 };

#define OPTION(name, form, member) CLI_OPTION(struct info, name, form, member)

static const struct cli_option options[] = {
    {OPTION("table", CLI_TEXT, path)},
    {OPTION("ranks", CLI_INT, nranks), .min = 1, .max = MAX_RANKS},
    {OPTION("nodes", CLI_INT, nnodes), .min = 1, .max = MAX_RANKS},
    {OPTION("sockets", CLI_INT, nsockets), .min = 1, .max = MAX_RANKS},
    {OPTION("domains", CLI_INT, ndomains), .min = 1, .max = MAX_RANKS},
    {OPTION("caches", CLI_INT, ncaches), .min = 1, .max = MAX_RANKS},
    {OPTION("cores", CLI_INT, caps.cores), .min = 0, .max = MAX_RANKS},
    {OPTION("rails", CLI_INT, caps.rails), .min = 1, .max = 64},
    {OPTION("medium", CLI_TEXT, caps.medium)},
    {OPTION("level", CLI_NAME, caps.level), .name_of = cli_level},
    {OPTION("no-cma", CLI_FLAG, no_cma)},
    {OPTION("mapped", CLI_FLAG, mapped)},
    {OPTION("this-machine", CLI_FLAG, measures)},
    {OPTION("coll", CLI_NAME, coll), .name_of = cli_coll},
    {OPTION("max-bytes", CLI_NUMBER, max_bytes), .min = 1, .max = INT64_MAX / 4},
    {OPTION("candidates", CLI_NUMBER, candidates), .min = 0, .max = INT64_MAX / 4},
    {OPTION("lines", CLI_FLAG, lines)},
    {OPTION("algorithms", CLI_FLAG, only_names)},
    {OPTION("parameters", CLI_FLAG, only_parameters)},
    {OPTION("check", CLI_FLAG, only_check)},
    {OPTION("plan", CLI_TEXT, plan)},
    {OPTION("prove", CLI_TEXT, prove)},
    {OPTION("without", CLI_TEXT, without)},
    {OPTION("rank", CLI_INT, show.rank), .min = 0, .max = MAX_RANKS},
    {OPTION("root", CLI_INT, signature.root), .min = 0, .max = MAX_RANKS},
    {OPTION("bytes", CLI_NUMBER, signature.bytes), .min = 0, .max = UINT64_C(1) << 40},
    {OPTION("in-place", CLI_FLAG, signature.in_place)},
    {OPTION("radix", CLI_INT, params.radix), .min = 2, .max = MAX_RANKS},
    {OPTION("segment", CLI_NUMBER, params.segment), .min = 1, .max = UINT64_C(1) << 40},
    {OPTION("slots", CLI_POWER, params.slots), .min = 2, .max = 1 << 16},
    {OPTION("teams", CLI_INT, params.teams), .min = 0, .max = PCOLL_MAX_DIVISIONS},
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
static int finish_caps(struct info *info)
{
    struct pcoll_caps *caps = &info->caps;
    const int number =
        caps->medium ? pcoll_media_find(caps->medium) : pcoll_media_auto(info->nnodes <= 1, NULL);
    const struct pcoll_medium *medium = number != PCOLL_NONE ? pcoll_media[number] : NULL;

    if (medium)
        pcoll_caps_of_medium(caps, medium->name, medium->node_medium, medium->max_slots);
    else if (!caps->medium)
        return cli_complain(&cli, "this build has no medium between nodes");
    return CLI_GO_ON;
}

/* Returns what cli_read does. */
static int check_plan(struct info *info)
{
    struct show *show = &info->show;

    if (show->rank >= info->nranks)
        return cli_complain(&cli, "--rank: there is no rank %d of %d", show->rank, info->nranks);
    if (info->signature.root >= info->nranks)
        return cli_complain(&cli, "--root: there is no rank %d of %d", info->signature.root,
                            info->nranks);
    if (info->paper + info->dot + info->json > 1)
        return cli_complain(&cli, "only one of --paper, --dot and --json is allowed");
    if (info->paper && show->lowered)
        return cli_complain(&cli, "--paper: the paper has no lowered plans");
    if (info->paper || info->dot || info->json)
        show->form = info->paper ? SHOW_PAPER : info->dot ? SHOW_DOT : SHOW_JSON;
    info->params.paper = info->paper;
    return CLI_GO_ON;
}

static int take_options(struct info *info, int count, char **values)
{
    int status = cli_read(&cli, info, count, values, NULL);

    if (status == CLI_GO_ON && info->nnodes > info->nranks)
        status = cli_complain(&cli, "--nodes: there are more nodes than ranks");
    if (status == CLI_GO_ON && info->plan && info->prove)
        status = cli_complain(&cli, "only one of --plan and --prove is allowed");
    if (status == CLI_GO_ON && info->without && !info->prove)
        status = cli_complain(&cli, "--without: only --prove takes it");
    if (status == CLI_GO_ON && info->measures && info->path)
        status = cli_complain(&cli, "only one of --table and --this-machine is allowed");
    if (status == CLI_GO_ON && (info->plan || info->prove))
        status = check_plan(info);
    if (info->no_cma)
        info->caps.provides &= ~(unsigned)PCOLL_NEED_USER_RMA;
    if (info->mapped && info->nnodes == 1)
        info->caps.provides |= PCOLL_NEED_MAPPED;
    info->caps.mapped = info->mapped;
    return status == CLI_GO_ON ? finish_caps(info) : status;
}

/* ---- table and shape ---- */

static enum pcoll_result load(struct info *info)
{
    char *text = NULL;
    enum pcoll_result result;

    if (!info->path)
        return pcoll_table_parse("built-in table", pcoll_tuning_default_json, stderr, &info->table);
    result = pcoll_table_read(info->path, stderr, &text);
    if (result == PCOLL_OK)
        result = pcoll_table_parse(info->path, text, stderr, &info->table);
    free(text);
    return result;
}

static enum pcoll_result place(struct info *info)
{
    const int nranks = info->nranks;
    enum pcoll_result result;
    int *ids;

    if (info->nnodes == 1)
        return PCOLL_OK;
    ids = malloc((size_t)nranks * sizeof(*ids));
    if (!ids)
        return PCOLL_ERR_NOMEM;
    for (int i = 0; i < nranks; i++)
        ids[i] = (int)((int64_t)i * info->nnodes / nranks);
    result = pcoll_topology_create(ids, NULL, nranks, &info->topology);
    free(ids);
    return result;
}

/* teams[rank]: the `count` teams of each node. */
static void fill_teams(const struct info *info, int count, int *teams)
{
    for (int r = 0; r < info->nranks; r++) {
        const int node = pcoll_topology_node(info->topology, r);
        const int first = info->topology ? pcoll_topology_first(info->topology, node) : 0;
        const int size = info->topology ? pcoll_topology_size(info->topology, node) : info->nranks;

        teams[r] = node * count + (int)((int64_t)(r - first) * count / size);
    }
}

/* With several nodes the levels are those of the topology. */
static enum pcoll_result divide(struct info *info)
{
    const size_t n = (size_t)info->nranks;
    int *teams = malloc(3 * n * sizeof(*teams));
    struct pcoll_topology *levels = malloc(sizeof(*levels));
    const struct pcoll_division divisions[] = {{teams, PCOLL_LEVEL_OTHER_CACHE},
                                               {teams + n, PCOLL_LEVEL_OTHER_CACHE},
                                               {teams + 2 * n, PCOLL_LEVEL_SAME_CACHE}};
    enum pcoll_result result = PCOLL_ERR_NOMEM;

    if (info->nsockets == 1 && info->ndomains == 1 && info->ncaches == 1) {
        result = PCOLL_UNSUPPORTED;
    } else if (teams && levels) {
        fill_teams(info, info->nsockets, teams);
        fill_teams(info, info->ndomains, teams + n);
        fill_teams(info, info->ncaches, teams + 2 * n);
        result = pcoll_topology_divide(info->topology, info->nranks, divisions, 3, levels);
    }
    free(teams);
    if (result == PCOLL_OK)
        info->levels = levels;
    else
        free(levels);
    return result == PCOLL_UNSUPPORTED ? PCOLL_OK : result;
}

/* ---- lists ---- */

static void print_names(void)
{
    PCOLL_EACH_ALGORITHM (row)
        printf("%-20s %-14s %s%s%s%s. For: %s.\n", pcoll_coll_name(row->coll), row->name,
               row->description, row->alias ? " (or `" : "", row->alias ? row->alias : "",
               row->alias ? "')" : "", row->when);
}

static void print_parameters(void)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++)
        printf("%-10s %-8s %-9s %s\n", pcoll_parameters[i].name, pcoll_parameters[i].unit,
               pcoll_parameters[i].required ? "required" : "optional", pcoll_parameters[i].what);
}

/* ---- a plan ---- */

static const char *option_of_plan(const struct info *info)
{
    return info->prove ? "--prove" : "--plan";
}

/* The model's choice, overridden by what was given. */
static int choose_algorithm(const struct info *info, struct pcoll_job *job)
{
    const struct pcoll_params *given = &info->params;
    const struct info_point point = info_choose(info, job->signature.coll, job->signature.bytes);

    if (!point.choice.algorithm)
        return cli_complain(&cli, "%s: MPICH's own path is chosen for %s", option_of_plan(info),
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
    if (given->teams)
        job->params.teams = given->teams;
    if (given->path != PCOLL_PATH_AUTO)
        job->params.path = given->path;
    return CLI_GO_ON;
}

/* What --plan or --prove names, and its arguments. Returns CLI_GO_ON or CLI_WRONG. */
static int take_job(const struct info *info, struct pcoll_job *job)
{
    const char *option = option_of_plan(info), *what = info->prove ? info->prove : info->plan;
    const char *slash = strchr(what, '/');
    char name[64];
    int coll, status = CLI_GO_ON;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(what, "/"), what);
    coll = cli_name(&cli, option, name, cli_coll);
    if (coll < 0)
        return CLI_WRONG;
    job->signature.coll = (enum pcoll_coll)coll;
    job->signature.nranks = info->nranks;
    job->signature.topology = info->topology;
    job->signature.levels = info->levels;
    if (pcoll_coll_has(job->signature.coll, PCOLL_SYNCHRONIZES))
        job->signature.bytes = 0;
    if (!pcoll_coll_has(job->signature.coll, PCOLL_ROOTED))
        job->signature.root = 0;
    if (job->signature.in_place && !pcoll_coll_has(job->signature.coll, PCOLL_IN_PLACE))
        return cli_complain(&cli, "--in-place: %s is never in place", cli_coll(coll));
    job->params.rails = info->caps.rails;
    if (slash)
        job->algorithm = cli_algorithm(&cli, option, job->signature.coll, slash + 1);
    else
        status = choose_algorithm(info, job);
    if (status != CLI_GO_ON || !job->algorithm)
        return CLI_WRONG;
    job->signature.commutes = job->algorithm->must_commute;
    return CLI_GO_ON;
}

static int print_proof(const struct info *info, const struct pcoll_job *job)
{
    int rank = PCOLL_NONE, entry = PCOLL_NONE, end = 0;

    if (info->without && (sscanf(info->without, "%d:%d%n", &rank, &entry, &end) != 2 ||
                          info->without[end] || rank < 0 || rank >= info->nranks || entry < 0))
        return cli_refuse(&cli, "--without", info->without, "RANK:ENTRY as --plan numbers them");
    return info_prove(job, rank, entry);
}

static int print_plan(const struct info *info)
{
    struct pcoll_job job = {
        .signature = info->signature, .params = info->params, .lowered = info->show.lowered};
    const int status = take_job(info, &job);

    if (status != CLI_GO_ON)
        return status;
    return info->prove ? print_proof(info, &job) : show_plans(&job, &info->show, stdout);
}

static int print_what_is_asked(const struct info *info)
{
    if (!pcoll_table_machine(info->table, info->caps.medium))
        return cli_complain(&cli, "the tuning table lacks medium '%s'", info->caps.medium);
    if (info->plan || info->prove)
        return print_plan(info);
    if (!info->lines || info->candidates >= 0)
        return info_print_choices(info);
    info_print_lines(info);
    return 0;
}

int main(int argc, char **argv)
{
    struct info info = {
        .coll = -1,
        .nranks = 8,
        .nnodes = 1,
        .nsockets = 1,
        .ndomains = 1,
        .ncaches = 1,
        .max_bytes = UINT64_C(64) << 20,
        .candidates = -1,
        .caps = {.provides =
                     PCOLL_NEED_WEIGHTS | PCOLL_NEED_GET | PCOLL_NEED_USER_RMA | PCOLL_NEED_ORDER,
                 .max_temp = 4 << 20},
        .signature = {.bytes = 8},
        .show = {.rank = PCOLL_NONE, .phase = PCOLL_NONE},
    };
    int status = take_options(&info, argc, argv);

    if (status != CLI_GO_ON)
        return status;
    if (info.only_names)
        print_names();
    if (info.only_parameters)
        print_parameters();
    if (info.only_names || info.only_parameters)
        return 0;
    if (info.measures && !info_measure(&info.measured)) {
        fprintf(stderr, "pcoll-info: --this-machine: two processes did not get a core each\n");
        return 1;
    }
    if (info.measures)
        info.caps.measured = &info.measured;
    status = 1;
    if (load(&info) == PCOLL_OK && place(&info) == PCOLL_OK && divide(&info) == PCOLL_OK)
        status = info.only_check ? 0 : print_what_is_asked(&info);
    pcoll_topology_destroy(info.levels);
    pcoll_topology_destroy(info.topology);
    pcoll_table_destroy(info.table);
    return status;
}
