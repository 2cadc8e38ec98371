#include "tuning/choose.h"

#include "algorithms/plan/topology.h"
#include "tuning/table/correction.h"
#include "tuning/table/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MIN_SEGMENT (UINT64_C(4) << 10)
#define MAX_SEGMENT (UINT64_C(1) << 20)
#define MAX_TEMP_SEGMENT (UINT64_C(1) << 17) /* communication buffers should stay in the cache */
#define MAX_CANDIDATES 16                    /* values of one parameter */

/* Why a candidate was refused. */
enum { NO_USER_RMA = 1 << 0, TOO_MUCH_TEMP = 1 << 1, NO_COST = 1 << 2 };

struct search {
    const struct pcoll_signature *signature;
    const struct pcoll_caps *caps;
    const struct pcoll_table *table;
    struct pcoll_machine machine;
    struct pcoll_correction about; /* what is weighed: see find_factor */
    double factor;                 /* correction of the algorithm and path being weighed */
    int tells_apart;           /* corrections of that path name slots or rails, so `factor` is not
                                * the same for all candidates */
    struct pcoll_params fixed; /* a nonzero parameter allows only that value */
    int below_threshold;       /* PCOLL_PATH_USER may be used at any size */
    unsigned refusals;
    struct pcoll_choice best; /* algorithm NULL: none yet */
    int weighed;
    struct pcoll_choice *list; /* the cheapest of each algorithm and path; NULL: not requested */
    int listed, most;
};

__attribute__((format(printf, 3, 4))) static void say(FILE *report, const char *origin,
                                                      const char *format, ...)
{
    va_list arguments;

    if (!report)
        return;
    fprintf(report, "%s: ", origin ? origin : "hint");
    va_start(arguments, format);
    vfprintf(report, format, arguments);
    va_end(arguments);
    fputc('\n', report);
}

/* ---- candidates ---- */

/* The factor that was measured on communicators of this shape; 1 if there is none. */
static double find_factor(struct search *search, const struct pcoll_algorithm *algorithm,
                          const struct pcoll_params *params)
{
    struct pcoll_correction *about = &search->about;

    about->algorithm = algorithm;
    about->path = params->path;
    about->slots = params->slots;
    about->rails = params->rails > 0 ? params->rails : 1;
    return pcoll_table_factor(search->table, about, search->signature->bytes, &search->tells_apart);
}

/* In microseconds, corrected; negative: not a candidate. */
static double cost_of(struct search *search, const struct pcoll_algorithm *algorithm,
                      const struct pcoll_params *params)
{
    double cost, factor = search->factor;

    if (pcoll_is_trivial(search->signature))
        return search->machine.call;
    if (algorithm->temp_bytes(search->signature, params) > search->caps->max_temp) {
        search->refusals |= TOO_MUCH_TEMP;
        return -1;
    }
    if (search->tells_apart)
        factor = find_factor(search, algorithm, params);
    cost = factor * algorithm->cost(search->signature, params, &search->machine);
    if (!isfinite(cost) || cost < 0) {
        search->refusals |= NO_COST;
        return -1;
    }
    return cost;
}

/* Candidates of one algorithm and path follow each other. */
static void list_candidate(struct search *search, const struct pcoll_choice *candidate)
{
    struct pcoll_choice *last = search->listed > 0 ? &search->list[search->listed - 1] : NULL;

    if (last && last->algorithm == candidate->algorithm &&
        last->params.path == candidate->params.path) {
        if (candidate->predicted_us < last->predicted_us)
            *last = *candidate;
    } else if (search->listed < search->most) {
        search->list[search->listed++] = *candidate;
    }
}

static void weigh(struct search *search, const struct pcoll_algorithm *algorithm,
                  const struct pcoll_params *params)
{
    const double cost = cost_of(search, algorithm, params);
    const int is_best = !search->best.algorithm || cost < search->best.predicted_us;
    struct pcoll_choice candidate;

    search->weighed++;
    if (cost < 0 || (!is_best && !search->list))
        return;
    candidate = (struct pcoll_choice){
        .algorithm = algorithm, .params = *params, .predicted_us = cost, .reason = "model"};
    if (search->list)
        list_candidate(search, &candidate);
    if (is_best)
        search->best = candidate;
}

/* Fills values[0 .. return). */
static int radix_candidates(const struct search *search, const struct pcoll_algorithm *algorithm,
                            int *values)
{
    static const int usual[] = {2, 3, 4, 8};
    const int most = search->signature->nranks > 2 ? search->signature->nranks : 2;
    int count = 0;

    values[0] = 0;
    if (!algorithm->uses_radix)
        return 1;
    values[0] = search->fixed.radix;
    if (search->fixed.radix != 0)
        return 1;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]) && usual[i] < most; i++)
        values[count++] = usual[i];
    values[count++] = most;
    return count;
}

/* Fills values[0 .. return). Of the segments that hold the whole message, only the smallest is a
 * candidate. */
static int segment_candidates(const struct search *search, const struct pcoll_algorithm *algorithm,
                              enum pcoll_path path, uint64_t *values)
{
    const uint64_t most = path == PCOLL_PATH_TEMP ? MAX_TEMP_SEGMENT : MAX_SEGMENT;
    int count = 0;

    values[0] = 0;
    if (!algorithm->uses_segment)
        return 1;
    values[0] = search->fixed.segment;
    if (search->fixed.segment != 0)
        return 1;
    for (uint64_t segment = MIN_SEGMENT; segment <= most; segment *= 2) {
        values[count++] = segment;
        if (segment >= search->signature->bytes)
            break;
    }
    return count;
}

int pcoll_long_ring(int nranks, int cores)
{
    return cores > 0 && nranks > cores ? 128 : 64;
}

/* Fills values[0 .. return); leaves any value in params->slots. */
static int slots_candidates(const struct search *search, const struct pcoll_algorithm *algorithm,
                            struct pcoll_params *params, int *values)
{
    const struct pcoll_topology *topology = search->signature->topology;
    const int nranks = search->signature->nranks / (topology ? topology->nnodes : 1);

    values[0] = 0;
    if (!algorithm->uses_slots)
        return 1;
    if (search->fixed.slots != 0) {
        values[0] = search->fixed.slots;
        return search->caps->max_ring == 0 || values[0] <= search->caps->max_ring;
    }
    values[1] = pcoll_long_ring(nranks, search->caps->cores);
    if (search->caps->max_ring > 0 && values[1] > search->caps->max_ring)
        return 1;
    params->slots = values[1];
    return algorithm->temp_bytes(search->signature, params) <= PCOLL_LONG_RING_BYTES ? 2 : 1;
}

/* PCOLL_PATH_AUTO is a candidate only for an algorithm that has no other path. */
static int path_suits(struct search *search, const struct pcoll_algorithm *algorithm,
                      enum pcoll_path path)
{
    const unsigned named = 1u << PCOLL_PATH_USER | 1u << PCOLL_PATH_TEMP;
    const struct pcoll_caps *caps = search->caps;

    if (path == PCOLL_PATH_AUTO)
        return !(algorithm->paths & named);
    if (!(algorithm->paths >> path & 1))
        return 0;
    if (search->fixed.path != PCOLL_PATH_AUTO && search->fixed.path != path)
        return 0;
    if (path != PCOLL_PATH_USER)
        return 1;
    if (!(caps->provides & PCOLL_NEED_USER_RMA)) {
        search->refusals |= NO_USER_RMA;
        return 0;
    }
    return search->below_threshold || search->signature->bytes >= caps->user_rma_threshold;
}

/* These set the parameters that they go through; `params` has the others. */
static void weigh_rings(struct search *search, const struct pcoll_algorithm *algorithm,
                        struct pcoll_params *params)
{
    int slots[2];
    const int nslots = slots_candidates(search, algorithm, params, slots);

    for (int i = 0; i < nslots; i++) {
        params->slots = slots[i];
        weigh(search, algorithm, params);
    }
}

/* Stripe over all rails or over none: short messages gain nothing from striping. */
static void weigh_rails(struct search *search, const struct pcoll_algorithm *algorithm,
                        struct pcoll_params *params)
{
    const int fixed = search->fixed.rails;

    params->rails = fixed != 0 ? fixed : search->caps->rails;
    weigh_rings(search, algorithm, params);
    if (fixed == 0 && params->rails > 1) {
        params->rails = 1;
        weigh_rings(search, algorithm, params);
    }
}

static void weigh_path(struct search *search, const struct pcoll_algorithm *algorithm,
                       enum pcoll_path path)
{
    int radixes[MAX_CANDIDATES];
    uint64_t segments[MAX_CANDIDATES];
    const int nradixes = radix_candidates(search, algorithm, radixes);
    const int nsegments = segment_candidates(search, algorithm, path, segments);
    struct pcoll_params params = {.path = path};

    search->factor = find_factor(search, algorithm, &params);
    for (int r = 0; r < nradixes; r++) {
        for (int s = 0; s < nsegments; s++) {
            params.radix = radixes[r];
            params.segment = segments[s];
            weigh_rails(search, algorithm, &params);
        }
    }
}

static void weigh_algorithm(struct search *search, const struct pcoll_algorithm *algorithm)
{
    static const enum pcoll_path paths[] = {PCOLL_PATH_AUTO, PCOLL_PATH_USER, PCOLL_PATH_TEMP};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (path_suits(search, algorithm, paths[i]))
            weigh_path(search, algorithm, paths[i]);
}

/* ---- hint, rule, model ---- */

static int found(struct search *search, const char *reason)
{
    search->best.reason = reason;
    return search->best.algorithm != NULL;
}

/* A requested algorithm may use user buffers below the threshold if it has no other path. */
static int search_within(struct search *search, const struct pcoll_algorithm *algorithm,
                         const char *reason)
{
    search->refusals = 0;
    search->below_threshold = search->fixed.path == PCOLL_PATH_USER;
    weigh_algorithm(search, algorithm);
    if (!search->best.algorithm) {
        search->below_threshold = 1;
        weigh_algorithm(search, algorithm);
    }
    search->below_threshold = 0;
    return found(search, reason);
}

static int search_model(struct search *search)
{
    PCOLL_EACH_ALGORITHM (row)
        if (row->coll == search->signature->coll)
            weigh_algorithm(search, row);
    return found(search, "model");
}

static int rule_matches(const struct pcoll_rule *rule, const struct pcoll_signature *signature)
{
    const uint64_t nranks = (uint64_t)signature->nranks;

    return rule->coll == signature->coll && nranks >= rule->ranks[0] && nranks <= rule->ranks[1] &&
           signature->bytes >= rule->bytes[0] && signature->bytes <= rule->bytes[1];
}

static int search_rules(struct search *search, const struct pcoll_table *table)
{
    const struct pcoll_params requested = search->fixed;
    size_t count;
    const struct pcoll_rule *rules = pcoll_table_rules(table, &count);
    int done = 0;

    for (size_t i = 0; i < count && !done; i++) {
        if (!rule_matches(&rules[i], search->signature))
            continue;
        search->fixed = rules[i].params;
        if (requested.radix != 0)
            search->fixed.radix = requested.radix;
        if (requested.segment != 0)
            search->fixed.segment = requested.segment;
        done = search_within(search, rules[i].algorithm, "rule");
    }
    search->fixed = requested;
    return done;
}

static void report_unsuitable(const struct search *search, const struct pcoll_hint *hint,
                              FILE *report)
{
    const char *reason = "does not suit this call";

    if (search->refusals & NO_USER_RMA)
        reason = "needs access to the user buffers of other ranks, which is unavailable here";
    else if (search->refusals & TOO_MUCH_TEMP)
        reason = "needs too large a communication buffer";
    say(report, hint->origin, "algorithm '%s' %s; using auto", hint->algorithm, reason);
}

static void report_unused(const struct search *search, const struct pcoll_algorithm *algorithm,
                          const char *origin, FILE *report)
{
    if (search->fixed.radix != 0 && !algorithm->uses_radix)
        say(report, origin, "algorithm '%s' has no radix; ignored", algorithm->name);
    if (search->fixed.segment != 0 && !algorithm->uses_segment)
        say(report, origin, "algorithm '%s' has no segment; ignored", algorithm->name);
}

static int search_hint(struct search *search, const struct pcoll_hint *hint, FILE *report)
{
    const enum pcoll_coll coll = search->signature->coll;
    const struct pcoll_algorithm *algorithm;
    char name[64], names[256];

    if (!hint->algorithm || strcmp(hint->algorithm, "auto") == 0)
        return 0;
    algorithm = pcoll_algorithm_find(coll, hint->algorithm);
    if (!algorithm) {
        pcoll_text_quote(name, sizeof(name), hint->algorithm, sizeof(name));
        pcoll_text_names(coll, names, sizeof(names));
        say(report, hint->origin, "no %s algorithm '%s' (allowed: auto, %s%smpich); using auto",
            pcoll_coll_name(coll), name, names, names[0] ? ", " : "");
        return 0;
    }
    report_unused(search, algorithm, hint->origin, report);
    if (search_within(search, algorithm, "hint"))
        return 1;
    report_unsuitable(search, hint, report);
    return 0;
}

static void take_params(struct search *search, const struct pcoll_hint *hint, FILE *report)
{
    search->fixed.segment = hint->segment;
    if (hint->radix >= 2)
        search->fixed.radix = hint->radix;
    else if (hint->radix != 0)
        say(report, hint->origin, "no radix %d (allowed: 2 and more, 0 for auto); ignored",
            hint->radix);
}

static int search_without_params(struct search *search, const struct pcoll_hint *hint, FILE *report)
{
    if (search->fixed.radix == 0 && search->fixed.segment == 0)
        return 0;
    say(report, hint->origin, "no algorithm can run with radix %d, segment %llu; ignored",
        search->fixed.radix, (unsigned long long)search->fixed.segment);
    search->fixed = (struct pcoll_params){0};
    return search_model(search);
}

void pcoll_caps_of_medium(struct pcoll_caps *caps, const char *name, const char *node_medium,
                          int max_slots)
{
    caps->medium = name;
    caps->node_medium = node_medium;
    caps->max_ring = max_slots;
}

/* Fills search->machine and search->about, and *node, which search->machine may point to. Returns 0
 * if the table lacks the medium. */
static int find_machine(struct search *search, const struct pcoll_table *table,
                        struct pcoll_machine *node)
{
    const struct pcoll_topology *topology = search->signature->topology;
    const struct pcoll_caps *caps = search->caps;
    const enum pcoll_level between = caps->node_medium ? PCOLL_LEVEL_ANY : caps->level;
    const struct pcoll_machine *machine = pcoll_table_level(table, caps->medium, between);

    if (!machine)
        return 0;
    search->machine = *machine;
    search->machine.cores = caps->cores;
    machine = caps->node_medium ? pcoll_table_level(table, caps->node_medium, caps->level) : NULL;
    if (machine) {
        *node = *machine;
        node->cores = caps->cores;
        search->machine.node = node;
    }
    snprintf(search->about.medium, sizeof(search->about.medium), "%s", caps->medium);
    search->about.nranks = search->signature->nranks;
    search->about.nnodes = topology ? topology->nnodes : 1;
    return 1;
}

enum pcoll_result pcoll_choose(const struct pcoll_table *table,
                               const struct pcoll_signature *signature,
                               const struct pcoll_caps *caps, const struct pcoll_hint *hint,
                               FILE *report, struct pcoll_choice *choice_p)
{
    static const struct pcoll_hint open = {0};
    struct search search = {.signature = signature, .caps = caps, .table = table};
    struct pcoll_machine node;

    if (!hint)
        hint = &open;
    if (!find_machine(&search, table, &node)) {
        say(report, hint->origin, "the tuning table lacks medium '%s'", caps->medium);
        return PCOLL_UNSUPPORTED;
    }
    take_params(&search, hint, report);
    if (!search_hint(&search, hint, report) && !search_rules(&search, table) &&
        !search_model(&search) && !search_without_params(&search, hint, report))
        return PCOLL_UNSUPPORTED;
    *choice_p = search.best;
    choice_p->weighed = search.weighed;
    return PCOLL_OK;
}

/* ---- all candidates ---- */

static int by_cost(const void *left, const void *right)
{
    const struct pcoll_choice *a = left, *b = right;

    if (a->predicted_us == b->predicted_us)
        return pcoll_algorithm_number(a->algorithm) - pcoll_algorithm_number(b->algorithm);
    return a->predicted_us < b->predicted_us ? -1 : 1;
}

int pcoll_candidates(const struct pcoll_table *table, const struct pcoll_signature *signature,
                     const struct pcoll_caps *caps, struct pcoll_choice *list, int most)
{
    struct search search = {
        .signature = signature, .caps = caps, .table = table, .list = list, .most = most};
    struct pcoll_machine node;

    if (find_machine(&search, table, &node))
        search_model(&search);
    qsort(list, (size_t)search.listed, sizeof(*list), by_cost);
    return search.listed;
}
