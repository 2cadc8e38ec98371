/*
 * Blocks that ranks keep: their copies are taken out of plans along edges (plan/user.h), and what
 * no rank reads in SEND holds no data. The explorer runs what is left. Ranks that only send, or
 * only receive, have few entries that tell who accesses their memory.
 */
#include "algorithms/proof/check.h"
#include "offload/explore/explore.h"
#include "test/unit/graph.h"
#include "test/unit/job.h"
#include "test/unit/tap.h"

enum { GRAPHS = 80, INSTANCES = 12, RUNS = 8 };

/* Which links a graph has. */
enum kind { ANY, ONE_SENDER, ONE_RECEIVER, NUM_KINDS };
static const char *const kinds[NUM_KINDS] = {"any", "one sender", "one receiver"};

struct tally {
    int jobs, right, kept, read;
};

static bool is_block(const void *data, enum pcoll_buffer buffer, uint64_t first, uint64_t bytes)
{
    const struct pcoll_local *local = data;
    const struct pcoll_edge *edges = buffer == PCOLL_SEND ? local->out : local->in;
    const int n = buffer == PCOLL_SEND ? local->nout : local->nin;

    for (int i = 0; i < n; i++)
        if (edges[i].first == first && edges[i].bytes == bytes)
            return true;
    return false;
}

static int explore(const struct job *job, const struct pcoll_explore_kept *kept)
{
    const struct pcoll_explore_options options = {
        .instances = INSTANCES, .ahead = INSTANCES, .kept = kept};
    struct pcoll_explore *explorer;
    enum pcoll_result result =
        pcoll_explore_create(job->plans, job->signature.nranks, &options, &explorer);

    if (result != PCOLL_OK)
        return 0;
    result = pcoll_explore_run_inorder(explorer);
    for (uint64_t run = 0; run < RUNS && result == PCOLL_OK; run++)
        result = pcoll_explore_run_random(explorer, run);
    if (result != PCOLL_OK)
        printf("# %s: %s\n", job_name(job), pcoll_explore_why(explorer));
    pcoll_explore_destroy(explorer);
    return result == PCOLL_OK;
}

static void run_job(struct tally *t, struct job *job)
{
    static struct pcoll_kept blocks[GRAPH_MAX_RANKS][GRAPH_MAX_EDGES];
    struct pcoll_explore_kept kept[GRAPH_MAX_RANKS];

    if (job_make(job) != PCOLL_OK)
        return;
    for (int r = 0; r < job->signature.nranks; r++) {
        kept[r].blocks = blocks[r];
        kept[r].n =
            pcoll_plan_keep(job->plans[r], is_block, &job->locals[r], blocks[r], GRAPH_MAX_EDGES);
        t->kept += kept[r].n;
        for (int i = 0; i < kept[r].n; i++)
            t->read += blocks[r][i].is_read;
    }
    t->jobs++;
    t->right += explore(job, kept);
    job_destroy(job);
}

/* All links from rank 0, or all to it, and one from it to itself. */
static void set_links(struct graph *g, enum kind kind)
{
    const uint64_t bytes = g->nlinks > 0 ? g->links[0].bytes + 1 : 1;

    g->nlinks = g->nranks;
    for (int r = 0; r < g->nranks; r++)
        g->links[r] = kind == ONE_SENDER ? (struct link){0, r, bytes} : (struct link){r, 0, bytes};
}

static void run_graph(struct tally *t, struct graph *g)
{
    static const enum pcoll_path paths[] = {PCOLL_PATH_AUTO, PCOLL_PATH_USER, PCOLL_PATH_TEMP};

    PCOLL_EACH_ALGORITHM (row)
        for (int i = 0; i < 3; i++) {
            struct job job = {.algorithm = row,
                              .signature = g->signature,
                              .params.path = paths[i],
                              .locals = g->locals};

            job.signature.crossing = g->crossings[0];
            if (row->coll == g->signature.coll)
                run_job(t, &job);
        }
}

static void test_kind(enum kind kind)
{
    static struct graph g;
    struct tally t = {0};
    int right = 1;

    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        graph_make(&g, seed);
        g.places = GRAPH_APART;
        if (kind != ANY && !pcoll_coll_has(g.signature.coll, PCOLL_ROOTED))
            set_links(&g, kind);
        right &= graph_prepare(&g);
        run_graph(&t, &g);
    }
    graph_end(&g);
    tap_ok(right && t.right == t.jobs && t.kept > t.read && (t.read > 0 || kind == ONE_RECEIVER),
           "%s: %d of %d jobs are right; ranks keep %d blocks, %d of which are also read",
           kinds[kind], t.right, t.jobs, t.kept, t.read);
}

/* The proof refuses plans of ranks that are not told about their peers. */
static void test_unknown(void)
{
    struct job job = {.algorithm = pcoll_algorithm_find(PCOLL_ALLTOALLV, "direct_get"),
                      .signature = {PCOLL_ALLTOALLV, 3, 0, 8}};
    int known, unknown = 0;

    known = job_make(&job) == PCOLL_OK && pcoll_plan_check(job.plans, 3, stdout) == PCOLL_OK;
    for (int r = 0; known && r < 3; r++) {
        job.plans[r]->user_rma = 0;
        unknown += pcoll_plan_check(job.plans, 3, NULL) == PCOLL_ERR_INVALID;
        job.plans[r]->user_rma = 1;
    }
    tap_ok(known && unknown == 3, "a rank's plan says that peers access its user memory");
    job_destroy(&job);
}

int main(void)
{
    test_unknown();

    for (enum kind kind = ANY; kind < NUM_KINDS; kind++)
        test_kind(kind);
    return tap_done();
}
