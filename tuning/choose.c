#include "tuning/choose.h"

#include "algorithms/cost.h"
#include "algorithms/plan/edges.h"
#include "algorithms/plan/topology.h"
#include "tuning/search.h"
#include "tuning/table/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- hint, rule, model ---- */

static bool found(struct pcoll_search *search, const char *reason)
{
    search->best.reason = reason;
    return search->best.algorithm != NULL;
}

/* A requested algorithm may use user buffers below the threshold if it has no other path. */
static bool search_within(struct pcoll_search *search, const struct pcoll_algorithm *algorithm,
                          const char *reason)
{
    search->refusals = 0;
    search->below_threshold = search->fixed.path == PCOLL_PATH_USER;
    pcoll_search_algorithm(search, algorithm);
    if (!search->best.algorithm) {
        search->below_threshold = true;
        pcoll_search_algorithm(search, algorithm);
    }
    search->below_threshold = false;
    return found(search, reason);
}

static bool search_model(struct pcoll_search *search)
{
    search->listed = 0;
    PCOLL_EACH_ALGORITHM (row)
        if (row->coll == search->signature->coll)
            pcoll_search_algorithm(search, row);
    return found(search, "model");
}

struct pcoll_rule pcoll_rule_of(const struct pcoll_signature *signature,
                                const struct pcoll_caps *caps, const struct pcoll_choice *choice)
{
    const uint64_t nranks = (uint64_t)signature->nranks;
    struct pcoll_rule rule = {
        .coll = signature->coll,
        .ranks = {nranks, nranks},
        .bytes = {signature->bytes, signature->bytes},
        .nodes = signature->topology ? signature->topology->nnodes : 1,
        .level = caps->level,
        .cores = caps->cores,
        .memory = caps->mapped ? PCOLL_MEMORY_MAPPED : PCOLL_MEMORY_PRIVATE,
        .algorithm = choice->algorithm,
        .params = choice->params,
    };

    if (choice->algorithm && choice->algorithm->uses_teams && signature->levels &&
        choice->params.teams == 0)
        rule.params.teams = PCOLL_NONE;
    if (pcoll_coll_has(signature->coll, PCOLL_EDGES))
        rule.degree = pcoll_edges_degree(signature);
    snprintf(rule.medium, sizeof(rule.medium), "%s", caps->medium);
    return rule;
}

static bool is_within(const uint64_t range[2], uint64_t value)
{
    return value >= range[0] && value <= range[1];
}

/* What a rule leaves open, or nobody knows of the call, matches. */
static bool matches(int of_rule, int of_call)
{
    return of_rule == 0 || of_call == 0 || of_rule == of_call;
}

static bool rule_matches(const struct pcoll_rule *rule, const struct pcoll_rule *call)
{
    return is_within(rule->ranks, call->ranks[0]) && is_within(rule->bytes, call->bytes[0]) &&
           (rule->medium[0] == '\0' || strcmp(rule->medium, call->medium) == 0) &&
           matches(rule->nodes, call->nodes) && matches(rule->degree, call->degree) &&
           matches((int)rule->level, (int)call->level) && matches(rule->cores, call->cores) &&
           matches((int)rule->memory, (int)call->memory);
}

static bool search_rules(struct pcoll_search *search, const struct pcoll_table *table)
{
    const struct pcoll_params requested = search->fixed;
    struct pcoll_rule call = {.coll = PCOLL_NUM_COLLS}; /* made if a rule is of its collective */
    size_t count;
    const struct pcoll_rule *rules = pcoll_table_rules(table, &count);
    bool done = false;

    for (size_t i = 0; i < count && !done; i++) {
        if (rules[i].coll != search->signature->coll)
            continue;
        if (call.coll == PCOLL_NUM_COLLS)
            call = pcoll_rule_of(search->signature, search->caps,
                                 &(struct pcoll_choice){.algorithm = NULL});
        if (!rule_matches(&rules[i], &call))
            continue;
        search->fixed = rules[i].params;
        if (requested.radix != 0)
            search->fixed.radix = requested.radix;
        if (requested.segment != 0)
            search->fixed.segment = requested.segment;
        if (requested.teams != 0)
            search->fixed.teams = requested.teams;
        done = search_within(search, rules[i].algorithm, "rule");
    }
    search->fixed = requested;
    return done;
}

static void report_unsuitable(const struct pcoll_search *search, const struct pcoll_hint *hint,
                              FILE *report)
{
    const char *reason = "does not suit this call";

    if (search->refusals & PCOLL_REFUSAL_NO_USER_RMA)
        reason = "needs access to the user buffers of other ranks, which is unavailable here";
    else if (search->refusals & PCOLL_REFUSAL_TOO_MUCH_TEMP)
        reason = "needs too large a communication buffer";
    else if (search->refusals & PCOLL_REFUSAL_NOT_MAPPED)
        reason = "needs user buffers of all ranks in memory of MPI_Alloc_mem, or XPMEM";
    else if (search->refusals & PCOLL_REFUSAL_MUST_COMMUTE)
        reason = "needs an operator that commutes";
    say(report, hint->algorithm_origin, "algorithm '%s' %s; using auto", hint->algorithm, reason);
}

static void report_unused(const struct pcoll_search *search,
                          const struct pcoll_algorithm *algorithm, const struct pcoll_hint *hint,
                          FILE *report)
{
    if (search->fixed.radix != 0 && !algorithm->uses_radix)
        say(report, hint->radix_origin, "algorithm '%s' has no radix; ignored", algorithm->name);
    if (search->fixed.segment != 0 && !algorithm->uses_segment)
        say(report, hint->segment_origin, "algorithm '%s' has no segment; ignored",
            algorithm->name);
}

/* The path of the choice has no segments, although the algorithm has. */
static void report_whole(const struct pcoll_search *search, const struct pcoll_hint *hint,
                         FILE *report)
{
    const struct pcoll_algorithm *algorithm = search->best.algorithm;

    if (search->fixed.segment != 0 && algorithm->uses_segment &&
        !pcoll_has_segments(algorithm, search->best.params.path))
        say(report, hint->segment_origin,
            "algorithm '%s' has no segment between user buffers; ignored", algorithm->name);
}

static bool search_hint(struct pcoll_search *search, const struct pcoll_hint *hint, FILE *report)
{
    const enum pcoll_coll coll = search->signature->coll;
    const struct pcoll_algorithm *algorithm;
    char name[64], names[256];

    if (!hint->algorithm || strcmp(hint->algorithm, "auto") == 0)
        return false;
    algorithm = pcoll_algorithm_find(coll, hint->algorithm);
    if (!algorithm) {
        pcoll_text_quote(name, sizeof(name), hint->algorithm, sizeof(name));
        pcoll_text_names(coll, names, sizeof(names));
        say(report, hint->algorithm_origin,
            "no %s algorithm '%s' (allowed: auto, %s%smpich); using auto", pcoll_coll_name(coll),
            name, names, names[0] ? ", " : "");
        return false;
    }
    report_unused(search, algorithm, hint, report);
    if (search_within(search, algorithm, "hint")) {
        report_whole(search, hint, report);
        return true;
    }
    report_unsuitable(search, hint, report);
    return false;
}

static void take_params(struct pcoll_search *search, const struct pcoll_hint *hint, FILE *report)
{
    search->fixed.segment = hint->segment;
    search->fixed.teams = hint->teams < search->nlevels ? hint->teams : search->nlevels;
    if (hint->radix >= 2)
        search->fixed.radix = hint->radix;
    else if (hint->radix != 0)
        say(report, hint->radix_origin, "no radix %d (allowed: 2 and more, 0 for auto); ignored",
            hint->radix);
}

static bool search_without_params(struct pcoll_search *search, const struct pcoll_hint *hint,
                                  FILE *report)
{
    if (search->fixed.radix == 0 && search->fixed.segment == 0)
        return false;
    say(report, search->fixed.segment != 0 ? hint->segment_origin : hint->radix_origin,
        "no algorithm can run with radix %d, segment %llu; ignored", search->fixed.radix,
        (unsigned long long)search->fixed.segment);
    search->fixed.radix = 0;
    search->fixed.segment = 0;
    return search_model(search);
}

void pcoll_caps_of_medium(struct pcoll_caps *caps, const char *name, const char *node_medium,
                          int max_slots)
{
    caps->medium = name;
    caps->node_medium = node_medium;
    caps->max_ring = max_slots;
}

static void take_measured(struct pcoll_machine *machine, const struct pcoll_machine *measured)
{
    if (measured == NULL)
        return;
#define TAKE(member)                                                                               \
    if (measured->member > 0)                                                                      \
        machine->member = measured->member;
    PCOLL_MEASURED_MEMBERS(TAKE)
#undef TAKE
}

/* The machine of ranks of one team, which are no farther from each other than those of all teams
 * are, whatever was measured between the farthest. */
static struct pcoll_machine machine_in_team(const struct pcoll_machine *above,
                                            const struct pcoll_machine *near)
{
    struct pcoll_machine within = *above;

    if (near == NULL)
        return within;
    within.L = pcoll_lesser(above->L, near->L);
    within.copy = pcoll_lesser(above->copy, near->copy);
    within.reduce = pcoll_lesser(above->reduce, near->reduce);
    within.saturated = near->saturated;
    return within;
}

/* Fills search->between, search->within and search->nlevels. The teams of the first level may be
 * nodes: then it is the only one that takes their place. */
static void find_levels(struct pcoll_search *search)
{
    const struct pcoll_caps *caps = search->caps;
    const struct pcoll_topology *level = search->signature->levels;
    const bool has_nodes = level && !level->in_node;
    const char *medium = has_nodes ? caps->node_medium : caps->medium;
    const struct pcoll_machine *above = &search->machine;

    if (has_nodes && search->machine.node == NULL)
        return;
    for (int i = 0; level != NULL; level = level->below, i++) {
        struct pcoll_machine *between = &search->between[i], *within = &search->within[i];

        *within =
            has_nodes && i == 0
                ? *search->machine.node
                : machine_in_team(above, pcoll_table_level(search->table, medium, level->level));
        within->arrival = pcoll_cost_arrival(within, pcoll_cost_mates(level));
        within->node = level->below ? within + 1 : NULL;
        *between = search->machine;
        if (!has_nodes)
            between->arrival = pcoll_cost_arrival(between, level->nnodes);
        between->node = within;
        above = within;
        search->nlevels = has_nodes ? 1 : i + 1;
    }
}

/* Consecutive ranks of a plan without teams are near each other, too, if teams are consecutive
 * ranks: of its steps, each twice as far as the one before, those within a team are as fast as
 * there. */
static double mean_latency(const struct pcoll_search *search)
{
    const struct pcoll_topology *level = search->signature->levels;
    double steps = log2(level->nnodes), sum = steps * search->machine.L;

    for (int i = 0; level != NULL; level = level->below, i++) {
        const double within = log2(pcoll_cost_mates(level));

        steps += within;
        sum += within * search->within[i].L;
    }
    return sum / steps;
}

static void come_nearer(struct pcoll_search *search)
{
    struct pcoll_machine *const machines[] = {&search->machine, &search->cached, &search->direct};
    const double latency = mean_latency(search);

    for (int i = 0; i < 3; i++) {
        machines[i]->L = latency;
        machines[i]->arrival = pcoll_cost_arrival(machines[i], search->signature->nranks);
    }
}

static bool are_consecutive(const struct pcoll_topology *level)
{
    for (int rank = 0; rank < level->nranks; rank++)
        if (pcoll_topology_place(level, rank) != rank)
            return false;
    return true;
}

/* Reductions between user buffers copy slices into buffers of other ranks. */
static struct pcoll_machine direct(const struct pcoll_search *search)
{
    struct pcoll_machine machine = search->machine;

    if (!pcoll_is_over_wire(search->signature) &&
        pcoll_coll_has(search->signature->coll, PCOLL_REDUCES))
        machine.copy = pcoll_lesser(machine.copy, machine.cached);
    return machine;
}

/* Fills the machines of *search, search->about, and *node, which search->machine may point to.
 * Returns false if the table lacks the medium. */
static bool find_machine(struct pcoll_search *search, const struct pcoll_table *table,
                         struct pcoll_machine *node)
{
    const struct pcoll_topology *topology = search->signature->topology;
    const struct pcoll_caps *caps = search->caps;
    const enum pcoll_level between = caps->node_medium ? PCOLL_LEVEL_ANY : caps->level;
    const struct pcoll_machine *machine = pcoll_table_level(table, caps->medium, between);

    if (!machine)
        return false;
    search->machine = *machine;
    search->machine.cores = caps->cores;
    if (!caps->node_medium)
        take_measured(&search->machine, caps->measured);
    machine = caps->node_medium ? pcoll_table_level(table, caps->node_medium, caps->level) : NULL;
    if (machine) {
        *node = *machine;
        node->cores = caps->cores;
        take_measured(node, caps->measured);
        if (search->signature->levels) /* the same for all candidates, with and without levels */
            pcoll_cost_contend_in_node(pcoll_ranks_per_node(search->signature), caps->mapped, node);
        search->machine.node = node;
    }
    search->limits =
        pcoll_limits_of(search->machine.node ? search->machine.node : &search->machine);
    pcoll_cost_contend(search->signature, caps->mapped, &search->machine);
    search->machine.kept = pcoll_cost_kept(search->signature, &search->machine);
    search->cached =
        caps->mapped ? search->machine : pcoll_cost_cached(search->signature, &search->machine);
    search->evicted = search->machine;
    search->evicted.copy *= PCOLL_EVICTED_COPY;
    search->direct = direct(search);
    find_levels(search);
    if (search->nlevels > 0 && search->signature->levels->in_node &&
        are_consecutive(search->signature->levels))
        come_nearer(search);
    snprintf(search->about.medium, sizeof(search->about.medium), "%s", caps->medium);
    search->about.nranks = search->signature->nranks;
    search->about.nnodes = topology ? topology->nnodes : 1;
    return true;
}

static enum pcoll_result choose(struct pcoll_search *search, const struct pcoll_hint *hint,
                                FILE *report)
{
    static const struct pcoll_hint open = {0};
    struct pcoll_machine node;

    if (!hint)
        hint = &open;
    if (!find_machine(search, search->table, &node)) {
        say(report, "the tuning table", "medium '%s' is missing", search->caps->medium);
        return PCOLL_UNSUPPORTED;
    }
    take_params(search, hint, report);
    if (!search_hint(search, hint, report) && !search_rules(search, search->table) &&
        !search_model(search) && !search_without_params(search, hint, report))
        return PCOLL_UNSUPPORTED;
    search->best.weighed = search->weighed;
    return PCOLL_OK;
}

enum pcoll_result pcoll_choose(const struct pcoll_table *table,
                               const struct pcoll_signature *signature,
                               const struct pcoll_caps *caps, const struct pcoll_hint *hint,
                               FILE *report, struct pcoll_choice *choice_p)
{
    int n;

    return pcoll_choose_few(table, signature, caps, hint, report, choice_p, 1, &n);
}

unsigned pcoll_choose_refusals(const struct pcoll_table *table,
                               const struct pcoll_signature *signature,
                               const struct pcoll_caps *caps, const struct pcoll_hint *hint)
{
    struct pcoll_search search = {.signature = signature, .caps = caps, .table = table};

    return choose(&search, hint, NULL) == PCOLL_OK ? 0 : search.refusals;
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
                     const struct pcoll_caps *caps, struct pcoll_choice *list, int max)
{
    struct pcoll_search search = {
        .signature = signature, .caps = caps, .table = table, .list = list, .max = max};
    struct pcoll_machine node;

    if (find_machine(&search, table, &node))
        search_model(&search);
    qsort(list, (size_t)search.listed, sizeof(*list), by_cost);
    return search.listed;
}

enum pcoll_result pcoll_choose_few(const struct pcoll_table *table,
                                   const struct pcoll_signature *signature,
                                   const struct pcoll_caps *caps, const struct pcoll_hint *hint,
                                   FILE *report, struct pcoll_choice *few, int max, int *n_p)
{
    struct pcoll_choice list[PCOLL_MAX_CANDIDATES];
    struct pcoll_search search = {.signature = signature,
                                  .caps = caps,
                                  .table = table,
                                  .list = max > 1 ? list : NULL,
                                  .max = PCOLL_MAX_CANDIDATES};
    const enum pcoll_result result = choose(&search, hint, report);
    int n = 0;

    if (result != PCOLL_OK)
        return result;
    few[n++] = search.best;
    if (strcmp(search.best.reason, "model") != 0)
        search.listed = 0;
    if (search.listed > 0)
        qsort(list, (size_t)search.listed, sizeof(*list), by_cost);
    for (int i = 0; i < search.listed && n < max; i++)
        if (!pcoll_choice_same(&list[i], &few[0]) &&
            list[i].predicted_us <= PCOLL_RACE_WITHIN * few[0].predicted_us)
            few[n++] = list[i];
    *n_p = n;
    return PCOLL_OK;
}

/* ---- a choice in words ---- */

static void append(char text[PCOLL_CHOICE_BYTES], const char *what, unsigned long long number)
{
    const size_t used = strlen(text);

    if (number != 0)
        snprintf(text + used, PCOLL_CHOICE_BYTES - used, ", %s %llu", what, number);
}

void pcoll_choice_text(const struct pcoll_choice *choice, char text[PCOLL_CHOICE_BYTES])
{
    static const char *const paths[] = {
        [PCOLL_PATH_AUTO] = "",
        [PCOLL_PATH_USER] = ", user buffers",
        [PCOLL_PATH_TEMP] = ", communication buffers",
    };
    const struct pcoll_algorithm *algorithm = choice->algorithm;
    const struct pcoll_params *params = &choice->params;

    snprintf(text, PCOLL_CHOICE_BYTES, "%s%s", algorithm->name, paths[params->path]);
    if (algorithm->uses_radix)
        append(text, "radix", (unsigned long long)params->radix);
    if (algorithm->uses_segment)
        append(text, "segment", params->segment);
    if (algorithm->uses_slots)
        append(text, "slots", (unsigned long long)params->slots);
    append(text, "teams of level", (unsigned long long)params->teams);
    if (params->rails > 1)
        append(text, "rails", (unsigned long long)params->rails);
}

bool pcoll_choice_same(const struct pcoll_choice *a, const struct pcoll_choice *b)
{
    return a->algorithm == b->algorithm && a->params.path == b->params.path &&
           a->params.radix == b->params.radix && a->params.segment == b->params.segment &&
           a->params.slots == b->params.slots && a->params.teams == b->params.teams &&
           a->params.rails == b->params.rails;
}
