/*
 * Each allocation, system call and call of libfabric on the way to a bound plan fails once: first
 * in what a rank does alone, then in a job, where it fails on one rank or on all. All ranks return
 * the same result, no rank waits forever, nothing is leaked, and a plan that is bound runs.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "algorithms/lower/lower.h"
#include "algorithms/proof/check.h"
#include "algorithms/proof/topology.h"
#include "algorithms/plan/topology.h"
#include "offload/explore/explore.h"
#include "offload/media.h"
#include "test/unit/job.h"
#include "test/unit/meeting.h"
#include "test/unit/shortage.h"
#include "test/unit/tables.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"
#include "tuning/choose.h"

#define LIMIT_SECONDS 300 /* per scene: a hang is a failure */

/* ---- work of a single rank ----------------------------------------------------------- */

/* Does its work and releases everything. */
typedef enum pcoll_result work(const void *argument);

static int is_shortage(enum pcoll_result result)
{
    return result == PCOLL_ERR_NOMEM || result == PCOLL_ERR_SYSTEM;
}

/* The number of calls that failed, one after another; -1: something was wrong. */
static int fail_each(work *work, const void *argument)
{
    const enum pcoll_result good = work(argument);

    for (int n = 0;; n++) {
        const int live = shortage_live();
        enum pcoll_result result;
        int hit;

        shortage_begin(n);
        result = work(argument);
        hit = shortage_end();
        if ((hit ? !is_shortage(result) : result != good) || shortage_live() != live) {
            printf("# call %d fails: %s, %d kept\n", n, pcoll_result_text(result),
                   shortage_live() - live);
            return -1;
        }
        if (!hit)
            return n;
    }
}

static enum pcoll_result make_topology(const void *argument)
{
    static const int nodes[] = {3, 1, 1, 3, 0}, distance[] = {1, 0, 0, 1, 0};
    struct pcoll_topology *topology = NULL;
    enum pcoll_result result = pcoll_topology_create(nodes, distance, 5, &topology);

    (void)argument;
    if (result == PCOLL_OK)
        result = pcoll_topology_check(topology, 5, NULL);
    pcoll_topology_destroy(topology);
    return result;
}

static enum pcoll_result read_table(const void *text)
{
    struct pcoll_table *table = NULL;
    enum pcoll_result result = pcoll_table_parse("table", text, NULL, &table);

    pcoll_table_destroy(table);
    return result;
}

static enum pcoll_result read_file(const void *path)
{
    char *text = NULL;
    enum pcoll_result result = pcoll_table_read(path, NULL, &text);

    free(text);
    return result;
}

/* Generates the plan of each rank. */
static enum pcoll_result make_plan(const struct job *job, int rank)
{
    struct pcoll_plan *plan = NULL;
    enum pcoll_result result =
        pcoll_generate(job->algorithm, &job->signature, NULL, rank, &job->params, &plan);

    if (result == PCOLL_OK && job->lowered)
        result = pcoll_lower(job->algorithm, &job->params, &plan);
    if (result == PCOLL_OK)
        pcoll_plan_destroy(plan);
    else if (plan != NULL)
        result = PCOLL_ERR_INVALID;
    return result;
}

static enum pcoll_result make_plans(const void *argument)
{
    const struct job *job = argument;
    enum pcoll_result result = PCOLL_OK;

    for (int rank = 0; rank < job->signature.nranks && result == PCOLL_OK; rank++)
        result = make_plan(job, rank);
    return result;
}

static enum pcoll_result prove(const void *argument)
{
    const struct job *job = argument;

    return pcoll_plan_check(job->plans, job->signature.nranks, NULL);
}

static enum pcoll_result explore(const void *argument)
{
    const struct job *job = argument;
    const struct pcoll_explore_options options = {.instances = 2, .ahead = 1};
    const struct pcoll_explore_limits limits = {.reduction = PCOLL_EXPLORE_TRACES, .states = 200};
    struct pcoll_explore_stats stats;
    struct pcoll_explore *explore = NULL;
    enum pcoll_result result =
        pcoll_explore_create(job->plans, job->signature.nranks, &options, &explore);

    if (result == PCOLL_OK)
        result = pcoll_explore_run_inorder(explore);
    if (result == PCOLL_OK)
        result = pcoll_explore_run_random(explore, 1);
    if (result == PCOLL_OK)
        result = pcoll_explore_all(explore, &limits, &stats);
    pcoll_explore_destroy(explore);
    return result;
}

static void check_tables(void)
{
    static const char *const names[] = {"good/identity.json", "good/levels.json", "good/rules.json",
                                        "good/correction_full.json"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *text = tables_read(names[i]);

        tap_ok(fail_each(read_table, text) > 0, "the table %s", names[i]);
        free(text);
    }
    tap_ok(fail_each(read_table, pcoll_tuning_default_json) > 0, "the table that is compiled in");
}

static void check_file(void)
{
    char path[] = "test_scarce.XXXXXX";
    const int fd = mkstemp(path);
    const size_t bytes = strlen(pcoll_tuning_default_json);

    if (fd < 0 || write(fd, pcoll_tuning_default_json, bytes) != (ssize_t)bytes)
        abort();
    close(fd);
    tap_ok(fail_each(read_file, path) > 0, "the file of a table");
    unlink(path);
}

/* Lowered and not, on one node and on several. */
static int fail_in_plans(const struct pcoll_algorithm *row, int nranks)
{
    struct pcoll_params params[JOB_VARIANTS];
    const int n = job_variants(row, nranks, params);
    int least = 1;

    for (int i = 0; i < 4 * n; i++) {
        const struct job job = {
            .algorithm = row,
            .signature = {.coll = row->coll,
                          .nranks = nranks,
                          .bytes = pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) ? 0 : 100,
                          .topology = i & 1 ? job_topology(JOB_UNEQUAL, nranks) : NULL},
            .params = params[i / 4],
            .lowered = i & 2,
        };
        const int failed = fail_each(make_plans, &job);

        if (failed < 0)
            printf("# %s\n", job_name(&job));
        least = failed < least ? failed : least;
    }
    return least;
}

static void check_plans(const struct pcoll_algorithm *row)
{
    struct job job = {
        .algorithm = row,
        .signature = {.coll = row->coll,
                      .nranks = 3,
                      .bytes = pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) ? 0 : 8},
    };

    tap_ok(fail_in_plans(row, 5) > 0, "plans: %s %s", pcoll_coll_name(row->coll), row->name);
    if (job_make(&job) != PCOLL_OK)
        abort();
    tap_ok(fail_each(prove, &job) > 0, "proof: %s %s", pcoll_coll_name(row->coll), row->name);
    tap_ok(fail_each(explore, &job) > 0, "exploring: %s %s", pcoll_coll_name(row->coll), row->name);
    job_destroy(&job);
}

/* ---- a job --------------------------------------------------------------------------- */

struct scene {
    const char *medium, *provider;
    const char *nodes; /* one digit for each rank */
    int stays_open;    /* the endpoint stays open, as in MPI once a group has been created */
    _Atomic int *starts;
};

/* One call. */
struct call {
    enum pcoll_coll coll;
    uint64_t bytes;
    const char *algorithm;
};

static const struct call calls[] = {
    {PCOLL_BCAST, 100000, "binomial_get"},
    {PCOLL_ALLGATHER, 40, "auto"},
    {PCOLL_BCAST, 3000, "chain"},
    {PCOLL_BARRIER, 0, "auto"},
};

enum { NCALLS = sizeof(calls) / sizeof(calls[0]), ALL_RANKS = -1 };

/* The state of a rank. */
struct rank {
    const struct scene *scene;
    struct meeting *meeting;
    struct pcoll_bootstrap bootstrap;
    struct part part;
    int is_bound;
};

/* Rank 0's proposal; it has no algorithm if rank 0 cannot make one. */
static struct pcoll_choice propose(const struct rank *r, const struct call *call)
{
    const struct pcoll_medium *medium = r->part.medium;
    const struct pcoll_hint hint = {.algorithm = call->algorithm, .origin = "the test"};
    struct pcoll_caps caps = {.provides = medium->group_provides(r->part.group),
                              .max_temp = 1 << 20};
    struct pcoll_choice choice = {.algorithm = NULL};
    struct pcoll_table *table = NULL;

    pcoll_caps_of_medium(&caps, medium->name, medium->node_medium, medium->max_slots);
    if (pcoll_table_parse("table", pcoll_tuning_default_json, NULL, &table) != PCOLL_OK ||
        pcoll_choose(table, &r->part.signature, &caps, &hint, NULL, &choice) != PCOLL_OK)
        choice.algorithm = NULL;
    pcoll_table_destroy(table);
    return choice;
}

/* Follows the steps of MPI_Bcast_init: group, choice, plan, binding. */
static enum pcoll_result make(struct rank *r, const struct call *call)
{
    struct part *p = &r->part;
    const struct pcoll_medium *medium = p->medium;
    enum pcoll_result result = medium->group_create(&r->bootstrap, &p->group), made;
    struct pcoll_choice choice = {.algorithm = NULL};
    uint64_t row = 0;

    if (result != PCOLL_OK)
        return result;
    p->signature = (struct pcoll_signature){.coll = call->coll,
                                            .nranks = r->bootstrap.nranks,
                                            .bytes = call->bytes,
                                            .topology = r->bootstrap.topology};
    if (p->rank == 0)
        choice = propose(r, call);
    if (choice.algorithm != NULL)
        row = (uint64_t)pcoll_algorithm_number(choice.algorithm) + 1;
    if (medium->combine(p->group, &row, 1) != PCOLL_OK ||
        pcoll_tell(&r->bootstrap, &choice.params, sizeof(choice.params)) != PCOLL_OK)
        return PCOLL_ERR_INVALID;
    if (row == 0)
        return PCOLL_UNSUPPORTED;
    made = part_init(p, pcoll_algorithms[row - 1], &choice.params);
    if (made != PCOLL_OK) { /* a rank without memory does the same */
        pcoll_plan_destroy(p->plan);
        p->plan = NULL;
    }
    result = part_bind(p);
    r->is_bound = result == PCOLL_OK;
    return result;
}

/* True if all ranks say the same. */
static int agree(struct rank *r, int word)
{
    int all[MEETING_MAX_RANKS], same = 1;

    meeting_allgather(r->bootstrap.context, &word, all, sizeof(word));
    for (int i = 0; i < r->bootstrap.nranks; i++)
        same &= all[i] == word;
    return same;
}

static int any(struct rank *r, int word)
{
    int all[MEETING_MAX_RANKS], found = 0;

    meeting_allgather(r->bootstrap.context, &word, all, sizeof(word));
    for (int i = 0; i < r->bootstrap.nranks; i++)
        found |= all[i];
    return found;
}

/* Waits until no other rank needs anything of this one. */
static void leave(struct rank *r)
{
    struct part *p = &r->part;

    if (r->is_bound)
        part_unbind(p);
    while (p->medium->lingering() > 0)
        usleep(100);
    meeting_barrier(r->meeting);
    p->medium->group_destroy(p->group);
    meeting_barrier(r->meeting);
    if (!r->scene->stays_open)
        p->medium->finalize();
    part_fini(p);
}

static int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n;
}

struct outcome {
    int hit, wrong; /* on any rank */
};

/* Call n of `who` fails; n is PCOLL_NONE for no failure, the first time, when lasting state is
 * created. */
static struct outcome attempt(const struct rank *model, const struct call *call, int who, int n)
{
    struct rank r = *model;
    const int live = shortage_live(), open = count_descriptors();
    const int meant = who == ALL_RANKS || who == r.part.rank;
    enum pcoll_result result;
    struct outcome o;

    shortage_begin(meant ? n : PCOLL_NONE);
    result = make(&r, call);
    o.hit = any(&r, shortage_end());
    o.wrong = !agree(&r, (int)result) || (!o.hit && result != PCOLL_OK);
    if (result == PCOLL_OK && !o.wrong)
        o.wrong = part_run(&r.part, 3);
    leave(&r);
    o.wrong |= n != PCOLL_NONE && shortage_live() != live;
    o.wrong |= n != PCOLL_NONE && !r.scene->stays_open &&
               count_descriptors() != open; /* connections stay open, too */
    if (o.wrong)
        printf("# rank %d, call %d of rank %d fails: %s, %d blocks and %d descriptors kept\n",
               r.part.rank, n, who, pcoll_result_text(result), shortage_live() - live,
               count_descriptors() - open);
    o.wrong = any(&r, o.wrong);
    return o;
}

/* All calls of `who` fail, one after the other. */
static int attempt_each(const struct rank *r, const struct call *call, int who)
{
    struct outcome o = {.hit = 1};
    int n = 0;

    while (o.hit && !o.wrong)
        o = attempt(r, call, who, n++);
    if (r->part.rank == 0)
        printf("# %s %s, rank %d: %d calls failed\n", pcoll_coll_name(call->coll), call->algorithm,
               who, n - 1);
    return o.wrong;
}

static struct pcoll_topology *topology_of(const char *digits)
{
    struct pcoll_topology *topology = NULL;
    int nodes[MEETING_MAX_RANKS], n = 0;

    for (; digits[n] != '\0'; n++)
        nodes[n] = digits[n] - '0';
    if (pcoll_topology_create(nodes, NULL, n, &topology) != PCOLL_OK)
        abort();
    return topology;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct scene *scene = argument;
    const int nranks = (int)strlen(scene->nodes);
    struct pcoll_topology *topology = NULL;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct rank r = {.scene = scene,
                     .meeting = meeting,
                     .bootstrap = meeting_bootstrap(&attendee),
                     .part = {.medium = pcoll_media[pcoll_media_find(scene->medium)],
                              .rank = rank,
                              .seed = (unsigned)rank + 1,
                              .starts = scene->starts}};
    struct pcoll_group *open = NULL;
    /* Where ranks share cores, those on a network wait long for each other. */
    const int is_brief = scene->provider != NULL && tap_depth() < TAP_FULL;
    const int ncalls = is_brief ? 1 + (tap_depth() > TAP_BRIEF) : NCALLS;
    int wrong = 0;

    alarm(LIMIT_SECONDS);
    meeting_on_wait = r.part.medium->poll;
    if (scene->provider != NULL)
        topology = topology_of(scene->nodes);
    r.bootstrap.topology = topology;
    r.bootstrap.provider = scene->provider;
    r.bootstrap.interface = scene->provider ? "127.0.0.1" : NULL;
    if (scene->stays_open)
        wrong = r.part.medium->group_create(&r.bootstrap, &open) != PCOLL_OK;
    (void)attempt(&r, &calls[1], ALL_RANKS, PCOLL_NONE); /* creates what is created only once */
    for (int call = 0; call < ncalls && !wrong; call++)
        for (int who = ALL_RANKS; who < nranks && !wrong; who += is_brief ? nranks : 1)
            wrong = attempt_each(&r, &calls[call], who);
    meeting_barrier(meeting);
    r.part.medium->group_destroy(open);
    meeting_barrier(meeting);
    r.part.medium->finalize();
    pcoll_topology_destroy(topology);
    return wrong;
}

static void check_job(struct scene scene)
{
    scene.starts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    tap_ok(meeting_run_processes((int)strlen(scene.nodes), rank_main, &scene) == 0,
           "%s%s%s, nodes of ranks %s", scene.medium, scene.provider ? " on " : "",
           scene.provider ? scene.provider : "", scene.nodes);
    munmap((void *)scene.starts, 4096);
}

static const struct scene scenes[] = {
    {"shm", NULL, "000", 0, NULL},
#ifdef PCOLL_HAVE_LIBFABRIC
    {"ofi_rma", "tcp;ofi_rxm", "001", 0, NULL},
    {"ofi_rma", "sockets", "012", 1, NULL},
    {"ofi_trigger", "sockets", "012", 1, NULL},
#endif
};

/* test_scarce [MEDIUM]: with an argument only jobs on that medium. */
int main(int argc, char **argv)
{
    if (argc == 1) {
        tap_ok(fail_each(make_topology, NULL) > 0, "a topology");
        check_tables();
        check_file();
        PCOLL_EACH_ALGORITHM (row)
            check_plans(row);
    }
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
        if (argc == 1 || strcmp(argv[1], scenes[i].medium) == 0)
            check_job(scenes[i]);
    return tap_done();
}
