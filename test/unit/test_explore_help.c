/*
 * Every algorithm on the explorer with helpers: an entry longer than a chunk is copied chunk by
 * chunk, in every order, by its owner and by the helpers that its notice admits: one peer, or
 * anybody. The kernel refuses a copy at any time, and a helper dies. Then the same jobs with one
 * precaution of the protocol left out: the explorer must find each such flaw.
 */
#include <stdbool.h>

#include "offload/explore/explore.h"
#include "test/unit/cover.h"
#include "test/unit/job.h"
#include "test/unit/known.h"
#include "test/unit/tap.h"

enum { CHUNK = 2, MIN_RANKS = 2, MAX_RANKS = 3 };

static const struct mode {
    const char *text;
    enum pcoll_explore_admitted admitted;
    int helpers; /* a third helper repeats what two show; of peers, there are as many as ranks */
    int refusals, deaths;
} modes[] = {
    {"one peer", PCOLL_EXPLORE_PEER, 0, 0, 0},
    {"one peer, refused", PCOLL_EXPLORE_PEER, 0, 2, 0},
    {"anybody", PCOLL_EXPLORE_ANYBODY, 2, 0, 0},
    {"anybody, refused", PCOLL_EXPLORE_ANYBODY, 1, 2, 0},
    {"anybody, one dies", PCOLL_EXPLORE_ANYBODY, 2, 0, 1},
};

enum { PEER, PEER_REFUSED, ANYBODY, ANYBODY_REFUSED, ANYBODY_DIES, NMODES };

_Static_assert(sizeof(modes) / sizeof(modes[0]) == NMODES, "they are named in this order");

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
    enum pcoll_explore_flaw flaw;
    int mode;
    int percent; /* of the jobs that show it at least; 0: one suffices */
    const char *text;
} flaws[] = {
    {PCOLL_EXPLORE_FLAW_NO_EPOCH, PEER, 20, "claims do not name the opening"},
    {PCOLL_EXPLORE_FLAW_OPENED_FIRST, PEER, 50, "a notice is opened before it has its threshold"},
    {PCOLL_EXPLORE_FLAW_EARLY_SIGNAL, PEER, 50, "the signal follows the first chunk"},
    {PCOLL_EXPLORE_FLAW_EARLY_LANDING, PEER, 90, "the entry lands when its chunks are claimed"},
    {PCOLL_EXPLORE_FLAW_OVERTAKES, PEER, 0,
     "in order, others fire behind an entry that has not landed"},
    {PCOLL_EXPLORE_FLAW_COUNTS_REFUSED, PEER_REFUSED, 90, "a refused chunk counts as copied"},
    {PCOLL_EXPLORE_FLAW_NOT_AWAITED, PEER_REFUSED, 75,
     "the owner takes back what the helper still holds"},
    {PCOLL_EXPLORE_FLAW_NO_EPOCH, ANYBODY, 0, "claims do not name the opening"},
    {PCOLL_EXPLORE_FLAW_EARLY_SIGNAL, ANYBODY, 50, "the signal follows the first chunk"},
    {PCOLL_EXPLORE_FLAW_EARLY_LANDING, ANYBODY, 90, "the entry lands when its chunks are claimed"},
    {PCOLL_EXPLORE_FLAW_OVERTAKES, ANYBODY, 0,
     "in order, others fire behind an entry that has not landed"},
    {PCOLL_EXPLORE_FLAW_CLOSED_FIRST, ANYBODY, 50, "a notice is closed before its signals"},
    {PCOLL_EXPLORE_FLAW_TRIGGER_FIRST, ANYBODY, 0, "the trigger is looked at before the word"},
    {PCOLL_EXPLORE_FLAW_COUNTS_REFUSED, ANYBODY_REFUSED, 90, "a refused chunk counts as copied"},
    {PCOLL_EXPLORE_FLAW_NOT_COMPARED, ANYBODY_DIES, 40,
     "the owner takes back what another helper has claimed meanwhile"},
};

enum { NFLAWS = sizeof(flaws) / sizeof(flaws[0]) };

struct tallies {
    struct tally right[NMODES], flawed[NFLAWS];
    int known; /* jobs */
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

/* Flaws show in the first of them, and more ranks show little that few do not. */
static uint64_t max_states(int nranks, const struct mode *mode, enum pcoll_explore_flaw flaw)
{
    static const uint64_t least = 10000, states[] = {10000, 50000, 50000};

    if (tap_depth() < TAP_FULL &&
        (flaw != PCOLL_EXPLORE_FLAW_NONE || nranks > MIN_RANKS || mode->deaths > 0))
        return least;
    return states[tap_depth()];
}

/* A notice is opened again when its phase comes again. */
static void explore(struct tally *t, const struct job *job, const struct mode *mode,
                    enum pcoll_explore_flaw flaw)
{
    const int nranks = job->signature.nranks, instances = job->plans[0]->nphases + 1;
    const bool is_peer = mode->admitted == PCOLL_EXPLORE_PEER;
    const struct pcoll_explore_options options = {
        .instances = instances,
        .ahead = instances,
        .helpers = is_peer ? nranks : mode->helpers + (tap_depth() == TAP_FULL),
        .chunk = CHUNK,
        .admitted = mode->admitted,
        .refusals = mode->refusals,
        .deaths = mode->deaths,
        .flaw = flaw,
    };
    const struct pcoll_explore_limits limits = {PCOLL_EXPLORE_STATES,
                                                max_states(nranks, mode, flaw)};
    struct pcoll_explore_stats stats;
    struct pcoll_explore *explore;
    enum pcoll_result result;

    if (pcoll_explore_create(job->plans, nranks, &options, &explore) != PCOLL_OK)
        abort();
    result = pcoll_explore_all(explore, &limits, &stats);
    if (result != PCOLL_OK && flaw == PCOLL_EXPLORE_FLAW_NONE)
        printf("# %s, %s: %s\n", job_name(job), mode->text, pcoll_explore_why(explore));
    t->jobs++;
    t->wrong += result != PCOLL_OK;
    t->whole += result == PCOLL_OK && stats.complete;
    t->states += stats.states;
    pcoll_explore_destroy(explore);
}

/* The fewest ranks show all flaws, and what follows from a death. */
static void explore_modes(struct tallies *t, const struct job *job)
{
    const bool is_smallest = job->signature.nranks == MIN_RANKS;
    const int nflaws = is_smallest ? NFLAWS : 0;
    const int nmodes = is_smallest || tap_depth() == TAP_FULL ? NMODES : ANYBODY_DIES;

    for (int mode = 0; mode < nmodes; mode++)
        explore(&t->right[mode], job, &modes[mode], PCOLL_EXPLORE_FLAW_NONE);
    for (int i = 0; i < nflaws; i++)
        explore(&t->flawed[i], job, &modes[flaws[i].mode], flaws[i].flaw);
}

static void explore_job(struct tallies *t, struct job *job)
{
    if (job_make(job) != PCOLL_OK)
        abort();
    if (has_bulk(job) && job_is_known(job, 0))
        t->known++;
    else if (has_bulk(job))
        explore_modes(t, job);
    job_destroy(job);
}

static void explore_params(struct tallies *t, const struct pcoll_algorithm *algorithm, int nranks,
                           struct pcoll_params params)
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
            explore_job(t, &job);
    }
}

static void explore_algorithm(struct tally sums[NFLAWS], const struct pcoll_algorithm *algorithm,
                              int nranks)
{
    struct pcoll_params params[JOB_VARIANTS];
    const int nparams = job_variants(algorithm, nranks, params);
    struct tallies tallies = {0};
    const double begin = cover_clock();
    int jobs = 0, wrong = 0;

    for (int i = 0; i < nparams; i++)
        if (params[i].rails <= 1)
            explore_params(&tallies, algorithm, nranks, params[i]);
    for (int mode = 0; mode < NMODES; mode++) {
        const struct tally *t = &tallies.right[mode];

        jobs += t->jobs;
        wrong += t->wrong;
        if (t->jobs > 0)
            tap_ok(t->wrong == 0, "%s/%s N=%d: %s, %d jobs (%d to the end), %llu states",
                   pcoll_coll_name(algorithm->coll), algorithm->name, nranks, modes[mode].text,
                   t->jobs, t->whole, (unsigned long long)t->states);
    }
    if (jobs + tallies.known == 0) {
        cover_excuse(algorithm, "helpers", "it moves nothing in chunks");
        return;
    }
    if (tallies.known > 0)
        printf("# %s/%s N=%d: %d known jobs\n", pcoll_coll_name(algorithm->coll), algorithm->name,
               nranks, tallies.known);
    cover_row(algorithm, "helpers", wrong ? 0 : jobs + tallies.known, begin);
    for (int i = 0; i < NFLAWS; i++) {
        sums[i].jobs += tallies.flawed[i].jobs;
        sums[i].wrong += tallies.flawed[i].wrong;
    }
}

int main(void)
{
    const int max_ranks = tap_depth() == TAP_BRIEF ? MIN_RANKS : MAX_RANKS;
    struct tally sums[NFLAWS] = {0};

    PCOLL_EACH_ALGORITHM (a)
        for (int n = MIN_RANKS; n <= max_ranks && !cover_skips(a, "helpers"); n++)
            explore_algorithm(sums, a, n);
    for (int i = 0; i < NFLAWS && getenv("PCOLL_TEST_ROW") == NULL; i++)
        tap_ok(sums[i].wrong > 0 && 100 * sums[i].wrong >= flaws[i].percent * sums[i].jobs,
               "flaw, %s: %s; found in %d of %d jobs", modes[flaws[i].mode].text, flaws[i].text,
               sums[i].wrong, sums[i].jobs);
    return tap_done();
}
