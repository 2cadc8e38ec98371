/*
 * Every algorithm on the explorer with helpers: whatever is longer than a chunk is copied by
 * whoever comes, chunk by chunk, in every order. Then the same jobs with one precaution of the
 * protocol left out: the explorer must find each such flaw.
 */
#include "offload/explore/explore.h"
#include "test/unit/cover.h"
#include "test/unit/job.h"
#include "test/unit/tap.h"

enum { CHUNK = 2, INSTANCES = 2, LEAST_RANKS = 2, MOST_RANKS = 3 };
enum { NFLAWS = PCOLL_EXPLORE_NUM_FLAWS };

/* Entries of two chunks; a segment of two chunks before one that is no bulk; entries of three and
 * of two chunks in turn. */
static const struct {
    uint64_t bytes, segment;
} sizes[] = {{3, 0}, {5, 4}, {8, 5}};

enum { NSIZES = sizeof(sizes) / sizeof(sizes[0]) };

struct tally {
    int jobs, wrong, whole;
    uint64_t states;
};

static const struct flaw {
    const char *text;
    int percent; /* of the jobs that show it at least; 0: one suffices */
} flaws[NFLAWS] = {
    [PCOLL_EXPLORE_FLAW_NO_EPOCH] = {"claims do not name the opening", 90},
    [PCOLL_EXPLORE_FLAW_NOT_CLOSED] = {"the ticket is not closed before it is written", 0},
    [PCOLL_EXPLORE_FLAW_EARLY_SIGNAL] = {"the signal follows the first chunk", 50},
    [PCOLL_EXPLORE_FLAW_EARLY_LANDING] = {"the entry lands when its chunks are claimed", 90},
    [PCOLL_EXPLORE_FLAW_OVERTAKES] = {"in order, others fire behind an entry that has not landed",
                                      0},
};

static int has_bulk(const struct job *job)
{
    for (int r = 0; r < job->signature.nranks; r++)
        for (int i = 0; i < job->plans[r]->nentries; i++) {
            const struct pcoll_entry *entry = &job->plans[r]->entries[i];

            if (entry->bytes > CHUNK && entry->op != PCOLL_OP_REDUCE && pcoll_entry_has_data(entry))
                return 1;
        }
    return 0;
}

/* A third one repeats what two show. */
static int helpers(void)
{
    return tap_depth() == TAP_FULL ? 3 : 2;
}

static uint64_t most_states(void)
{
    static const uint64_t states[] = {10000, 50000, 100000};

    return states[tap_depth()];
}

static void explore(struct tally *t, const struct job *job, enum pcoll_explore_flaw flaw)
{
    const struct pcoll_explore_options options = {
        .instances = INSTANCES,
        .ahead = INSTANCES,
        .helpers = helpers(),
        .chunk = CHUNK,
        .flaw = flaw,
    };
    const struct pcoll_explore_limits limits = {PCOLL_EXPLORE_STATES, most_states()};
    struct pcoll_explore_stats stats;
    struct pcoll_explore *explore;
    enum pcoll_result result;

    if (pcoll_explore_create(job->plans, job->signature.nranks, &options, &explore) != PCOLL_OK)
        abort();
    result = pcoll_explore_all(explore, &limits, &stats);
    if (result != PCOLL_OK && flaw == PCOLL_EXPLORE_FLAW_NONE)
        printf("# %s: %s\n", job_name(job), pcoll_explore_why(explore));
    t->jobs++;
    t->wrong += result != PCOLL_OK;
    t->whole += result == PCOLL_OK && stats.complete;
    t->states += stats.states;
    pcoll_explore_destroy(explore);
}

/* The fewest ranks show all flaws. */
static void explore_job(struct tally tallies[NFLAWS], struct job *job)
{
    const int nflaws = job->signature.nranks == LEAST_RANKS ? NFLAWS : 1;

    if (job_make(job) != PCOLL_OK)
        abort();
    for (int flaw = 0; flaw < nflaws && has_bulk(job); flaw++)
        explore(&tallies[flaw], job, (enum pcoll_explore_flaw)flaw);
    job_destroy(job);
}

static void explore_params(struct tally tallies[NFLAWS], const struct pcoll_algorithm *algorithm,
                           int nranks, struct pcoll_params params)
{
    const int is_rooted = pcoll_coll_has(algorithm->coll, PCOLL_ROOTED);
    const int nsizes = algorithm->uses_segment ? NSIZES : 1;

    for (int size = 0; size < nsizes; size++) {
        struct job job = {
            .algorithm = algorithm,
            .signature = {algorithm->coll, nranks, is_rooted ? nranks - 1 : 0, sizes[size].bytes},
            .params = params,
        };

        job.params.segment = sizes[size].segment;
        if (job_take_form(&job, 0))
            explore_job(tallies, &job);
    }
}

static void explore_algorithm(struct tally sums[NFLAWS], const struct pcoll_algorithm *algorithm,
                              int nranks)
{
    struct pcoll_params params[JOB_VARIANTS];
    const int nparams = job_variants(algorithm, nranks, params);
    struct tally tallies[NFLAWS] = {0}, *t = &tallies[PCOLL_EXPLORE_FLAW_NONE];
    const double begin = cover_clock();

    for (int i = 0; i < nparams; i++)
        if (params[i].rails <= 1)
            explore_params(tallies, algorithm, nranks, params[i]);
    if (t->jobs == 0) {
        cover_excuse(algorithm, "helpers", "it moves nothing in chunks");
        return;
    }
    tap_ok(t->wrong == 0, "%s/%s N=%d: %d helpers, %d jobs (%d to the end), %llu states",
           pcoll_coll_name(algorithm->coll), algorithm->name, nranks, helpers(), t->jobs, t->whole,
           (unsigned long long)t->states);
    cover_row(algorithm, "helpers", t->wrong ? 0 : t->jobs, begin);
    for (int flaw = 0; flaw < NFLAWS; flaw++) {
        sums[flaw].jobs += tallies[flaw].jobs;
        sums[flaw].wrong += tallies[flaw].wrong;
    }
}

int main(void)
{
    const int most_ranks = tap_depth() == TAP_BRIEF ? LEAST_RANKS : MOST_RANKS;
    struct tally sums[NFLAWS] = {0};

    PCOLL_EACH_ALGORITHM (a)
        for (int n = LEAST_RANKS; n <= most_ranks && !cover_skips(a, "helpers"); n++)
            explore_algorithm(sums, a, n);
    for (int f = PCOLL_EXPLORE_FLAW_NONE + 1; f < NFLAWS && getenv("PCOLL_TEST_ROW") == NULL; f++)
        tap_ok(sums[f].wrong > 0 && 100 * sums[f].wrong >= flaws[f].percent * sums[f].jobs,
               "flaw: %s; found in %d of %d jobs", flaws[f].text, sums[f].wrong, sums[f].jobs);
    return tap_done();
}
