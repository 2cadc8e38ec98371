#include "tuning/search.h"

#include "algorithms/cost.h"
#include "tuning/sim/walk.h"

#include <math.h>
#include <stdbool.h>

#define MIN_SEGMENT (UINT64_C(4) << 10)
#define MAX_SEGMENT (UINT64_C(1) << 20)
#define MAX_TEMP_SEGMENT (UINT64_C(1) << 17) /* communication buffers should stay in the cache */
#define MAX_FAR_SEGMENT (UINT64_C(1) << 19)  /* in far ones; longer ones are slower */
#define MAX_CANDIDATES 16                    /* values of one parameter */
#define ROUNDING 1e-9 /* relative: rows that do the same compute its cost in different ways */

/* The factor that was measured on communicators of this shape; 1 if there is none. */
static double find_factor(struct pcoll_search *search, const struct pcoll_algorithm *algorithm,
                          const struct pcoll_params *params)
{
    struct pcoll_correction *about = &search->about;

    about->algorithm = algorithm;
    about->path = params->path;
    about->slots = params->slots;
    about->rails = params->rails > 0 ? params->rails : 1;
    return pcoll_table_factor(search->table, about, search->signature->bytes, &search->tells_apart);
}

static bool is_crowded(const struct pcoll_signature *signature, int cores)
{
    return cores > 0 && pcoll_ranks_per_node(signature) > cores;
}

/* In a node where each rank has a core, and thereby caches of its own. */
static bool has_caches(const struct pcoll_signature *signature, int cores)
{
    return !pcoll_is_over_wire(signature) && !is_crowded(signature, cores);
}

/* Banks of messages may be few and long: nobody waits for half a ring of them. */
static int min_slots(const struct pcoll_algorithm *algorithm)
{
    return algorithm->uses_slots == PCOLL_BANKS ? 4 : 16;
}

/* Returns whether communication buffers, with that much TEMP, have left the caches of the ranks
 * that read them before they are written again. Short rings have not. Longer buffers than the
 * limits are too long for the last cache. */
static bool is_far(const struct pcoll_algorithm *algorithm, const struct pcoll_params *params,
                   const struct pcoll_limits *limits, uint64_t temp)
{
    if (algorithm->uses_slots == PCOLL_BANKS)
        return temp >= PCOLL_FAR_BYTES && temp <= limits->banks;
    return temp >= PCOLL_FAR_BYTES && temp <= limits->ring &&
           (params->slots > 0 || params->segment > MAX_TEMP_SEGMENT);
}

/* Returns whether pieces of messages have left the own cache of the rank that has copied them into
 * communication buffers before the next one copies them out. */
static bool is_evicted(const struct pcoll_search *search, const struct pcoll_algorithm *algorithm,
                       const struct pcoll_params *params)
{
    const uint64_t bytes = search->signature->bytes;
    const uint64_t piece = pcoll_has_segments(algorithm, params->path) && params->segment > 0
                               ? params->segment
                               : bytes;

    return has_caches(search->signature, search->caps->cores) &&
           pcoll_is_evicted(&search->machine, piece < bytes ? piece : bytes);
}

/* ---- possible: right, and within the limits of the medium ---- */

static unsigned refusal_of_path(const struct pcoll_caps *caps, enum pcoll_path path)
{
    return path == PCOLL_PATH_USER && !(caps->provides & PCOLL_NEED_USER_RMA)
               ? PCOLL_REFUSAL_NO_USER_RMA
               : 0;
}

static unsigned refusal_of_ring(const struct pcoll_caps *caps, int slots)
{
    return caps->max_ring > 0 && slots > caps->max_ring ? PCOLL_REFUSAL_LONG_RING : 0;
}

static unsigned refusal_of_temp(const struct pcoll_caps *caps, uint64_t temp)
{
    return temp > caps->max_temp ? PCOLL_REFUSAL_TOO_MUCH_TEMP : 0;
}

/* All but the size of TEMP, which takes more work. */
static unsigned refusal_but_temp(const struct pcoll_algorithm *algorithm,
                                 const struct pcoll_params *params,
                                 const struct pcoll_signature *signature,
                                 const struct pcoll_caps *caps)
{
    unsigned refusal = refusal_of_path(caps, params->path);

    if (algorithm->must_commute && !signature->commutes)
        return PCOLL_REFUSAL_MUST_COMMUTE;
    if (algorithm->must_map && !(caps->provides & PCOLL_NEED_MAPPED) &&
        !pcoll_is_trivial(signature))
        return PCOLL_REFUSAL_NOT_MAPPED;
    return refusal ? refusal : refusal_of_ring(caps, params->slots);
}

/* The bytes of TEMP, for teams that exist. */
static uint64_t temp_of(const struct pcoll_algorithm *algorithm,
                        const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    struct pcoll_signature room;
    const struct pcoll_signature *view = pcoll_signature_view(signature, params->teams, &room);

    return view ? algorithm->temp_bytes(view, params) : UINT64_MAX;
}

unsigned pcoll_refusal_of(const struct pcoll_algorithm *algorithm,
                          const struct pcoll_params *params,
                          const struct pcoll_signature *signature, const struct pcoll_caps *caps)
{
    const unsigned refusal = refusal_but_temp(algorithm, params, signature, caps);

    if (refusal || pcoll_is_trivial(signature))
        return refusal;
    return refusal_of_temp(caps, temp_of(algorithm, signature, params));
}

/* ---- weighing one candidate ---- */

/* In microseconds, corrected; negative: not a candidate. Sets *has_far if its communication buffers
 * are far. */
static double cost_of(struct pcoll_search *search, const struct pcoll_algorithm *algorithm,
                      const struct pcoll_params *params, bool *has_far)
{
    const struct pcoll_machine *machine = &search->cached;
    double cost, factor = search->factor;
    unsigned refusal = refusal_but_temp(algorithm, params, search->signature, search->caps);
    uint64_t temp;

    search->refusals |= refusal;
    if (refusal)
        return -1;
    if (pcoll_is_trivial(search->signature))
        return search->machine.call;
    temp = temp_of(algorithm, search->signature, params);
    refusal = refusal_of_temp(search->caps, temp);
    search->refusals |= refusal;
    if (refusal)
        return -1;
    *has_far = params->path != PCOLL_PATH_USER && is_far(algorithm, params, &search->limits, temp);
    if (params->path == PCOLL_PATH_USER)
        machine = &search->direct;
    else if (is_evicted(search, algorithm, params))
        machine = &search->evicted;
    else if (!*has_far)
        machine = &search->machine;
    if (params->teams > 0)
        machine = &search->between[params->teams - 1];
    if (search->tells_apart)
        factor = find_factor(search, algorithm, params);
    cost = factor * pcoll_cost_of(algorithm, search->signature, params, machine);
    if (!isfinite(cost) || cost < 0) {
        search->refusals |= PCOLL_REFUSAL_NO_COST;
        return -1;
    }
    return cost;
}

/* Of equal costs the earlier row's counts, and in one row that of the shorter segment, although
 * longer ones are weighed first. */
static bool is_better(const struct pcoll_choice *candidate, const struct pcoll_choice *other)
{
    const struct pcoll_params *a = &candidate->params, *b = &other->params;
    const bool is_shorter = candidate->algorithm == other->algorithm && a->path == b->path &&
                            a->radix == b->radix && a->teams == b->teams && a->segment < b->segment;

    return candidate->predicted_us <
           other->predicted_us * (is_shorter ? 1 + ROUNDING : 1 - ROUNDING);
}

/* Candidates of one algorithm, path and level follow each other. */
static void list_candidate(struct pcoll_search *search, const struct pcoll_choice *candidate)
{
    struct pcoll_choice *last = search->listed > 0 ? &search->list[search->listed - 1] : NULL;

    if (last && last->algorithm == candidate->algorithm &&
        last->params.path == candidate->params.path &&
        last->params.teams == candidate->params.teams) {
        if (is_better(candidate, last))
            *last = *candidate;
    } else if (search->listed < search->max) {
        search->list[search->listed++] = *candidate;
    }
}

static void take(struct pcoll_search *search, const struct pcoll_choice *candidate)
{
    if (search->list)
        list_candidate(search, candidate);
    if (!search->best.algorithm || is_better(candidate, &search->best))
        search->best = *candidate;
}

/* The cost; negative: not a candidate. Candidates with far buffers wait for take_far. */
static double weigh(struct pcoll_search *search, const struct pcoll_algorithm *algorithm,
                    const struct pcoll_params *params)
{
    struct pcoll_choice candidate = {.algorithm = algorithm, .params = *params, .reason = "model"};
    bool has_far = false;
    const double cost = cost_of(search, algorithm, params, &has_far);

    candidate.predicted_us = cost;
    search->weighed++;
    if (cost < 0)
        return cost;
    if (!has_far) {
        take(search, &candidate);
        search->near_us = pcoll_lesser(search->near_us, cost);
    } else if (!search->far.algorithm || is_better(&candidate, &search->far)) {
        search->far = candidate;
    }
    return cost;
}

/* If they gain enough, of one row, path and level. */
static void take_far(struct pcoll_search *search)
{
    if (search->far.algorithm &&
        search->far.predicted_us < search->near_us * PCOLL_FAR_PERCENT / 100)
        take(search, &search->far);
}

/* ---- sensible: the values of each parameter that are worth weighing ---- */

/* Fills values[0 .. return). */
static int radix_candidates(const struct pcoll_search *search,
                            const struct pcoll_algorithm *algorithm, int *values)
{
    static const int usual[] = {2, 3, 4, 8};
    const int max = search->signature->nranks > 2 ? search->signature->nranks : 2;
    int count = 0;

    values[0] = 0;
    if (!algorithm->uses_radix)
        return 1;
    values[0] = search->fixed.radix;
    if (search->fixed.radix != 0)
        return 1;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]) && usual[i] < max; i++)
        values[count++] = usual[i];
    values[count++] = max;
    return count;
}

uint64_t pcoll_min_segment(const struct pcoll_algorithm *algorithm,
                           const struct pcoll_signature *signature, const struct pcoll_caps *caps,
                           const struct pcoll_limits *limits)
{
    const uint64_t shortest_ring = (uint64_t)min_slots(algorithm) * limits->segment;

    if (!algorithm->uses_slots || !has_caches(signature, caps->cores) ||
        caps->max_temp < shortest_ring || limits->ring < PCOLL_FAR_BYTES)
        return MIN_SEGMENT;
    if (signature->nranks > 2)
        return limits->segment / 2;
    if (signature->bytes < PCOLL_LONG_MESSAGE)
        return limits->segment;
    return (signature->bytes < 4 * PCOLL_LONG_MESSAGE ? 2 : 4) * limits->segment;
}

/* Fills values[0 .. return). Of the segments that hold the whole message, only the smallest is a
 * candidate. */
static int segment_candidates(const struct pcoll_search *search,
                              const struct pcoll_algorithm *algorithm, enum pcoll_path path,
                              uint64_t *values)
{
    const bool has_far =
        algorithm->uses_slots != PCOLL_RING && !pcoll_is_over_wire(search->signature);
    const uint64_t max = path != PCOLL_PATH_TEMP ? MAX_SEGMENT
                         : has_far               ? MAX_FAR_SEGMENT
                                                 : MAX_TEMP_SEGMENT;
    const uint64_t min =
        pcoll_min_segment(algorithm, search->signature, search->caps, &search->limits);
    int count = 0;

    values[0] = 0;
    if (!pcoll_has_segments(algorithm, path))
        return 1;
    values[0] = search->fixed.segment;
    if (search->fixed.segment != 0)
        return 1;
    for (uint64_t segment = min; segment <= max; segment *= 2) {
        values[count++] = segment;
        if (segment >= search->signature->bytes)
            break;
    }
    return count;
}

static uint64_t ring_bytes(const struct pcoll_algorithm *algorithm,
                           const struct pcoll_signature *signature,
                           const struct pcoll_params *params, int slots)
{
    struct pcoll_params own = *params;

    own.slots = slots;
    return temp_of(algorithm, signature, &own);
}

static int crowded_ring(const struct pcoll_algorithm *algorithm,
                        const struct pcoll_signature *signature, const struct pcoll_params *params,
                        const struct pcoll_limits *limits)
{
    enum { LONGEST = 128, MAX_ENTRIES = 512 };
    const int nranks = pcoll_ranks_per_node(signature);
    int slots = LONGEST;

    while (slots > min_slots(algorithm) &&
           (slots * nranks > MAX_ENTRIES ||
            ring_bytes(algorithm, signature, params, slots) > limits->ring))
        slots /= 2;
    return slots;
}

int pcoll_long_ring(const struct pcoll_algorithm *algorithm,
                    const struct pcoll_signature *signature, const struct pcoll_params *params,
                    int cores, const struct pcoll_limits *limits)
{
    enum { SHORTEST = 16, SHORT = 32 };
    uint64_t bytes;
    int slots = PCOLL_MAX_RING_SLOTS;

    if (is_crowded(signature, cores))
        return crowded_ring(algorithm, signature, params, limits);
    if (pcoll_is_over_wire(signature))
        return slots;
    bytes = ring_bytes(algorithm, signature, params, slots);
    if (bytes < PCOLL_FAR_BYTES)
        return bytes < PCOLL_NEAR_RING_BYTES ? SHORTEST : SHORT;
    while (slots > min_slots(algorithm) && bytes > limits->ring)
        bytes = ring_bytes(algorithm, signature, params, slots /= 2);
    return slots;
}

/* A longer ring than by default, as far as TEMP may hold it; 0: there is none. */
static int longer_ring(const struct pcoll_search *search, const struct pcoll_algorithm *algorithm,
                       const struct pcoll_params *params)
{
    const struct pcoll_signature *signature = search->signature;
    const int cores = search->caps->cores;
    int slots = pcoll_long_ring(algorithm, signature, params, cores, &search->limits);
    const uint64_t max =
        pcoll_is_over_wire(signature) ? PCOLL_NEAR_RING_BYTES : search->limits.ring;
    uint64_t bytes;

    while (slots > min_slots(algorithm) &&
           refusal_of_temp(search->caps, ring_bytes(algorithm, signature, params, slots)))
        slots /= 2;
    if (refusal_of_ring(search->caps, slots))
        return 0;
    bytes = ring_bytes(algorithm, signature, params, slots);
    if (bytes > 0 && bytes == ring_bytes(algorithm, signature, params, 0))
        return 0; /* the row limits the ring */
    return bytes <= max ? slots : 0;
}

/* Fills values[0 .. return). Long segments are candidates in far buffers only. */
static int slots_candidates(const struct pcoll_search *search,
                            const struct pcoll_algorithm *algorithm,
                            const struct pcoll_params *params, int *values)
{
    const struct pcoll_signature *signature = search->signature;
    const bool is_long = params->path == PCOLL_PATH_TEMP && search->fixed.segment == 0 &&
                         params->segment > MAX_TEMP_SEGMENT;
    int count = 0, slots;

    if (pcoll_is_trivial(signature)) {
        values[0] = 0;
        return 1;
    }
    if (search->fixed.slots != 0 && algorithm->uses_slots) {
        values[0] = search->fixed.slots;
        return 1;
    }
    slots = algorithm->uses_slots ? longer_ring(search, algorithm, params) : 0;
    if (!is_long || (slots == 0 && is_far(algorithm, params, &search->limits,
                                          ring_bytes(algorithm, signature, params, 0))))
        values[count++] = 0;
    if (slots > 0)
        values[count++] = slots;
    return count;
}

/* PCOLL_PATH_AUTO is a candidate only for an algorithm that has no other path. */
static bool path_suits(struct pcoll_search *search, const struct pcoll_algorithm *algorithm,
                       enum pcoll_path path)
{
    const unsigned named = 1u << PCOLL_PATH_USER | 1u << PCOLL_PATH_TEMP;
    const struct pcoll_caps *caps = search->caps;

    if (path == PCOLL_PATH_AUTO)
        return !(algorithm->paths & named);
    if (!(algorithm->paths >> path & 1))
        return false;
    if (search->fixed.path != PCOLL_PATH_AUTO && search->fixed.path != path)
        return false;
    if (path != PCOLL_PATH_USER)
        return true;
    search->refusals |= refusal_of_path(caps, path);
    if (refusal_of_path(caps, path))
        return false;
    return search->below_threshold || search->signature->bytes >= caps->user_rma_threshold;
}

/* ---- the search ---- */

/* These set the parameters that they go through; `params` has the others. They return the least
 * cost; infinite: there is no candidate. */
static double weigh_rings(struct pcoll_search *search, const struct pcoll_algorithm *algorithm,
                          struct pcoll_params *params)
{
    int slots[2] = {0};
    const int nslots = slots_candidates(search, algorithm, params, slots);
    double min = INFINITY;

    for (int i = 0; i < nslots; i++) {
        double cost;

        params->slots = slots[i];
        cost = weigh(search, algorithm, params);
        if (cost >= 0)
            min = pcoll_lesser(min, cost);
    }
    return min;
}

/* Stripe over all rails or over none: short messages gain nothing from striping. */
static double weigh_rails(struct pcoll_search *search, const struct pcoll_algorithm *algorithm,
                          struct pcoll_params *params)
{
    const int fixed = search->fixed.rails;
    double min;

    params->rails = fixed != 0 ? fixed : search->caps->rails;
    min = weigh_rings(search, algorithm, params);
    if (fixed == 0 && params->rails > 1) {
        params->rails = 1;
        min = pcoll_lesser(min, weigh_rings(search, algorithm, params));
    }
    return min;
}

/* Shorter segments fill a pipeline sooner but cost more messages, so once they have become dearer
 * they hardly ever become the cheapest: from the longest one on, the first rise ends the search
 * (doc/init.md says how often this misses one). */
static void weigh_segments(struct pcoll_search *search, const struct pcoll_algorithm *algorithm,
                           struct pcoll_params *params, const uint64_t *segments, int n)
{
    double min = INFINITY;

    for (int i = n - 1; i >= 0; i--) {
        double cost;

        params->segment = segments[i];
        cost = weigh_rails(search, algorithm, params);
        if (cost > min * (1 + ROUNDING))
            break;
        min = cost;
    }
}

/* The levels that are candidates, from *first to the one that is returned: what is fixed, or none
 * (0) and, if each rank has a core, all. Between nodes, nested ones only: they have teams anyway.
 */
static int find_teams(const struct pcoll_search *search, const struct pcoll_algorithm *algorithm,
                      int *first)
{
    const int fixed = search->fixed.teams;
    const enum pcoll_team_use min_use =
        pcoll_is_over_wire(search->signature) ? PCOLL_NESTED_LEVELS : PCOLL_ONE_LEVEL;

    *first = 0;
    if (algorithm->uses_teams < min_use || pcoll_is_trivial(search->signature) ||
        fixed == PCOLL_NONE)
        return 0;
    if (fixed == 0)
        return is_crowded(search->signature, search->caps->cores) ? 0 : search->nlevels;
    *first = fixed;
    return fixed < search->nlevels ? fixed : search->nlevels;
}

static void weigh_path(struct pcoll_search *search, const struct pcoll_algorithm *algorithm,
                       enum pcoll_path path)
{
    int radixes[MAX_CANDIDATES];
    uint64_t segments[MAX_CANDIDATES];
    const int nradixes = radix_candidates(search, algorithm, radixes);
    const int nsegments = segment_candidates(search, algorithm, path, segments);
    struct pcoll_params params = {.path = path};
    const int last = find_teams(search, algorithm, &params.teams);

    search->factor = find_factor(search, algorithm, &params);
    for (; params.teams <= last; params.teams++) {
        search->near_us = INFINITY;
        search->far = (struct pcoll_choice){0};
        for (int r = 0; r < nradixes; r++) {
            params.radix = radixes[r];
            weigh_segments(search, algorithm, &params, segments, nsegments);
        }
        take_far(search);
    }
}

void pcoll_search_algorithm(struct pcoll_search *search, const struct pcoll_algorithm *algorithm)
{
    static const enum pcoll_path paths[] = {PCOLL_PATH_AUTO, PCOLL_PATH_USER, PCOLL_PATH_TEMP};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (path_suits(search, algorithm, paths[i]))
            weigh_path(search, algorithm, paths[i]);
}
