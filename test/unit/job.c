#include "test/unit/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lower/lower.h"
#include "algorithms/plan/levels.h"

static enum pcoll_result make_plan(struct job *job, int rank)
{
    const struct pcoll_local *local = job->locals ? &job->locals[rank] : NULL;
    enum pcoll_result result = pcoll_generate(job->algorithm, &job->signature, local, rank,
                                              &job->params, &job->plans[rank]);

    if (result == PCOLL_OK && job->lowered)
        result = pcoll_lower(job->algorithm, &job->params, &job->plans[rank]);
    return result;
}

enum pcoll_result job_make(struct job *job)
{
    const int nranks = job->signature.nranks;
    enum pcoll_result first = PCOLL_OK;

    job->signature.commutes |= job->algorithm->must_commute;
    job->plans = calloc((size_t)nranks, sizeof(*job->plans));
    if (!job->plans)
        return PCOLL_ERR_NOMEM;
    for (int r = 0; r < nranks; r++) {
        enum pcoll_result result = make_plan(job, r);

        if (r == 0)
            first = result;
        else if (result != first)
            first = PCOLL_ERR_INVALID;
    }
    if (first != PCOLL_OK)
        job_destroy(job);
    return first;
}

void job_destroy(struct job *job)
{
    for (int r = 0; job->plans && r < job->signature.nranks; r++)
        pcoll_plan_destroy(job->plans[r]);
    free(job->plans);
    job->plans = NULL;
}

/* " nodes=0,0,1", for the first ranks. */
static void nodes_name(const struct pcoll_signature *s, char *name, size_t size)
{
    size_t used = 0;

    name[0] = '\0';
    for (int r = 0; s->topology && r < s->nranks && used + 16 < size; r++)
        used += (size_t)snprintf(name + used, size - used, "%s%d",
                                 r ? "," : " nodes=", pcoll_topology_node(s->topology, r));
}

const char *job_name(const struct job *job)
{
    static char name[300], nodes[100];
    static const char *const path[] = {"", " path=user", " path=temp"};
    const struct pcoll_signature *s = &job->signature;

    nodes_name(s, nodes, sizeof(nodes));
    snprintf(name, sizeof(name),
             "%s/%s N=%d%s root=%d bytes=%llu%s%s%s radix=%d segment=%llu slots=%d rails=%d%s",
             pcoll_coll_name(s->coll), job->algorithm->name, s->nranks, nodes, s->root,
             (unsigned long long)s->bytes, s->blocks ? " at most" : "",
             s->in_place ? " in place" : "", path[job->params.path], job->params.radix,
             (unsigned long long)job->params.segment, job->params.slots, job->params.rails,
             job->lowered ? " lowered" : "");
    return name;
}

int job_take_form(struct job *job, int form)
{
    struct pcoll_signature *s = &job->signature;
    const uint64_t unit = s->unit ? s->unit : 1;
    const uint64_t sizes[] = {s->bytes, 0, s->bytes / unit / 2 * unit};
    const int in_place = form % 2, has_blocks = form / 2;

    if ((in_place && !pcoll_coll_has(s->coll, PCOLL_IN_PLACE)) ||
        (has_blocks && !pcoll_coll_has(s->coll, PCOLL_VECTOR)) || s->nranks > JOB_MOST_RANKS)
        return form == 0;
    s->in_place = in_place;
    s->blocks = has_blocks ? job->blocks : NULL;
    job->blocks[0] = 0;
    for (int r = 0; has_blocks && r < s->nranks; r++)
        job->blocks[r + 1] = job->blocks[r] + sizes[r % 3];
    return 1;
}

static int is_dealt(enum job_map map)
{
    return map == JOB_ROUND_ROBIN || map == JOB_LEVELS_DEALT;
}

/* That have such levels. */
static int least_ranks(enum job_map map)
{
    switch (map) {
        case JOB_LEVELS:
            return 4;
        case JOB_LEVELS_DEALT:
            return 8;
        case JOB_LEVELS_NODES:
            return 6;
        default:
            return 1;
    }
}

/* The cache of a rank in JOB_LEVELS_NODES. */
static int pair_of(int rank, int nranks)
{
    return (rank == nranks - 1 && nranks % 2 == 1 ? rank - 1 : rank) / 2;
}

static int node_of(enum job_map map, int rank, int nranks)
{
    static const int unequal[] = {0, 1, 1, 1, 1, 2, 2};

    switch (map) {
        case JOB_PAIRS:
            return rank / 2;
        case JOB_LAST_ALONE:
            return rank == nranks - 1;
        case JOB_UNEQUAL:
            return rank / 7 * 3 + unequal[rank % 7];
        case JOB_ROUND_ROBIN:
            return rank % (nranks < 6 ? 2 : 3);
        case JOB_LEVELS:
            return rank / 7;
        case JOB_LEVELS_DEALT:
            return rank % 2;
        case JOB_LEVELS_NODES:
            if (nranks == JOB_EVEN_RANKS)
                return rank / 4;
            return pair_of(rank, nranks) / 3 * 2 + pair_of(rank, nranks) % 3 / 2;
        default:
            return rank;
    }
}

/* Put levels below the nodes of *topology_p. */
static void add_levels(enum job_map map, int nranks, struct pcoll_topology **topology_p)
{
    static const int sockets[] = {0, 0, 0, 0, 0, 1, 1}, caches[] = {0, 0, 0, 1, 1, 2, 2};
    int socket_of[JOB_MOST_RANKS], cache_of[JOB_MOST_RANKS];
    const struct pcoll_division divisions[] = {{socket_of, PCOLL_LEVEL_OTHER_CACHE},
                                               {cache_of, PCOLL_LEVEL_SAME_CACHE}};
    struct pcoll_topology *levels = malloc(sizeof(*levels));

    for (int r = 0; r < nranks; r++) {
        if (map == JOB_LEVELS) {
            socket_of[r] = r / 7 * 7 + sockets[r % 7];
            cache_of[r] = r / 7 * 7 + caches[r % 7];
        } else {
            socket_of[r] = node_of(map, r, nranks);
            cache_of[r] = map == JOB_LEVELS_DEALT ? r % 4 : pair_of(r, nranks);
        }
    }
    if (!levels ||
        pcoll_topology_divide(*topology_p, nranks, divisions, 2, levels) == PCOLL_ERR_NOMEM)
        abort();
    pcoll_topology_destroy(*topology_p);
    *topology_p = levels;
}

const struct pcoll_topology *job_topology(enum job_map map, int nranks)
{
    static struct pcoll_topology *made[JOB_NUM_MAPS][JOB_MOST_RANKS];
    int ids[JOB_MOST_RANKS], distance[JOB_MOST_RANKS];

    if (map == JOB_ONE_NODE || nranks >= JOB_MOST_RANKS || nranks < least_ranks(map))
        return NULL;
    for (int r = 0; r < nranks; r++) {
        ids[r] = node_of(map, r, nranks);
        distance[r] = is_dealt(map) ? -r : 0;
    }
    if (!made[map][nranks]) {
        if (pcoll_topology_create(ids, distance, nranks, &made[map][nranks]) != PCOLL_OK)
            abort();
        if (map >= JOB_LEVELS)
            add_levels(map, nranks, &made[map][nranks]);
    }
    return made[map][nranks];
}

int job_is_even(const struct pcoll_signature *signature)
{
    const struct pcoll_topology *topology = signature->topology;

    return signature->nranks == JOB_EVEN_RANKS && topology != NULL && topology->below != NULL &&
           !topology->in_node;
}

void job_place(struct pcoll_signature *signature, enum job_map map)
{
    signature->topology = job_topology(map, signature->nranks);
    signature->commutes = is_dealt(map) && pcoll_coll_has(signature->coll, PCOLL_REDUCES);
}

/* Compares the printed text, since entries have padding bytes that nothing sets. */
static int same_plan(const struct pcoll_plan *a, const struct pcoll_plan *b)
{
    const struct pcoll_plan *plans[] = {a, b};
    char *text[2];
    size_t size;
    int same;

    for (int i = 0; i < 2; i++) {
        FILE *out = open_memstream(&text[i], &size);

        pcoll_plan_print(plans[i], out);
        fclose(out);
    }
    same = strcmp(text[0], text[1]) == 0;
    free(text[0]);
    free(text[1]);
    return same;
}

/* True if the plans of both jobs are the same. */
static int same_plans(struct job *a, struct job *b)
{
    int same = 1;

    if (job_make(a) != PCOLL_OK || job_make(b) != PCOLL_OK)
        abort();
    for (int r = 0; r < a->signature.nranks; r++)
        same = same && same_plan(a->plans[r], b->plans[r]);
    job_destroy(a);
    job_destroy(b);
    return same;
}

int job_map_matters(const struct pcoll_algorithm *algorithm, enum job_map map, int nranks)
{
    struct job flat = {.algorithm = algorithm, .signature = {algorithm->coll, nranks, 0, 1, 0}};
    struct job job = flat;
    struct pcoll_topology nodes;

    if (map == JOB_ONE_NODE)
        return 1;
    if (map == JOB_LAST_ALONE && nranks <= 3)
        return 0; /* the same as JOB_PAIRS */
    job_place(&job.signature, map);
    if (map >= JOB_LEVELS && job.signature.topology && job.signature.topology->below) {
        nodes = *job.signature.topology;
        nodes.below = NULL;
        flat.signature.topology = &nodes;
        flat.signature.commutes = job.signature.commutes;
    }
    return !same_plans(&flat, &job);
}

static int rails_matter(const struct pcoll_algorithm *algorithm, int nranks, int rails)
{
    struct job one = {.algorithm = algorithm, .signature = {algorithm->coll, nranks, 0, 100, 0}};
    struct job more = one;

    more.params.rails = rails;
    return !same_plans(&one, &more);
}

int job_variants(const struct pcoll_algorithm *algorithm, int nranks, struct pcoll_params *params)
{
    const int radices[] = {2, 3, 4, nranks};
    int count = 0;

    for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++) {
        if (!(algorithm->paths >> path & 1))
            continue;
        for (int i = 0; i < (algorithm->uses_radix ? 4 : 1); i++) {
            if (i == 3 ? nranks <= 4 : i > 0 && radices[i] > nranks)
                continue;
            params[count++] = (struct pcoll_params){
                .radix = algorithm->uses_radix ? radices[i] : 0,
                .path = (enum pcoll_path)path,
            };
        }
        if (algorithm->uses_slots)
            params[count++] = (struct pcoll_params){
                .path = (enum pcoll_path)path,
                .slots = algorithm->uses_slots == PCOLL_BANKS ? 4 : 2, /* banks are at least 2 */
            };
    }
    for (int rails = 2; rails <= 3; rails++)
        if (rails_matter(algorithm, nranks, rails)) {
            params[count] = params[0];
            params[count++].rails = rails;
        }
    return count;
}

int job_is_variation(const struct job *job)
{
    return job->signature.topology != NULL || job->params.rails > 1;
}
