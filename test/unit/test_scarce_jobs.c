/*
 * Each allocation, system call and call of libfabric on the way to a bound plan fails once, on one
 * rank or on all. All ranks return the same result, no rank waits forever, nothing is leaked, and a
 * plan that is bound runs. test_scarce does the same to what a rank does alone.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "algorithms/plan/topology.h"
#include "offload/agree.h"
#include "offload/media.h"
#include "test/unit/meeting.h"
#include "test/unit/shortage.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"
#include "tuning/choose.h"

#define LIMIT_SECONDS 300 /* per setup: a hang is a failure */

struct setup {
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
    {PCOLL_BCAST, 100000, "knomial_get"},
    {PCOLL_ALLGATHER, 40, "auto"},
    {PCOLL_BCAST, 3000, "chain"},
    {PCOLL_BARRIER, 0, "auto"},
};

enum { NCALLS = sizeof(calls) / sizeof(calls[0]), ALL_RANKS = -1 };

/* The state of a rank. */
struct rank {
    const struct setup *setup;
    struct meeting *meeting;
    struct pcoll_bootstrap bootstrap;
    struct part part;
    int is_bound;
};

/* Rank 0's proposal; it has no algorithm if rank 0 cannot make one. */
static struct pcoll_choice propose(const struct rank *r, const struct call *call)
{
    const struct pcoll_medium *medium = r->part.medium;
    const struct pcoll_hint hint = {.algorithm = call->algorithm, .algorithm_origin = "the test"};
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
    struct {
        uint64_t row;
        struct pcoll_params params;
    } told = {0};

    if (result != PCOLL_OK)
        return result;
    p->signature = (struct pcoll_signature){.coll = call->coll,
                                            .nranks = r->bootstrap.nranks,
                                            .bytes = call->bytes,
                                            .topology = r->bootstrap.topology};
    if (p->rank == 0)
        choice = propose(r, call);
    if (choice.algorithm != NULL)
        told.row = (uint64_t)pcoll_algorithm_number(choice.algorithm) + 1;
    told.params = choice.params;
    if (pcoll_tell(p->group->bootstrap, PCOLL_ROUND_CALL, PCOLL_OK, p->rank == 0, &told,
                   sizeof(told)) != PCOLL_OK)
        return PCOLL_ERR_INVALID;
    if (told.row == 0)
        return PCOLL_UNSUPPORTED;
    made = part_init(p, pcoll_algorithms[told.row - 1], &told.params);
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
    if (!r->setup->stays_open)
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
    o.wrong |= n != PCOLL_NONE && !r.setup->stays_open &&
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
    const struct setup *setup = argument;
    const int nranks = (int)strlen(setup->nodes);
    struct pcoll_topology *topology = NULL;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct rank r = {.setup = setup,
                     .meeting = meeting,
                     .bootstrap = meeting_bootstrap(&attendee),
                     .part = {.medium = pcoll_media[pcoll_media_find(setup->medium)],
                              .rank = rank,
                              .seed = (unsigned)rank + 1,
                              .starts = setup->starts}};
    struct pcoll_group *open = NULL;
    /* Where ranks share cores, those on a network wait long for each other. */
    const int is_brief = setup->provider != NULL && tap_depth() < TAP_FULL;
    const int ncalls = is_brief ? 1 + (tap_depth() > TAP_BRIEF) : NCALLS;
    int wrong = 0;

    alarm(LIMIT_SECONDS);
    meeting_on_wait = r.part.medium->poll;
    if (setup->provider != NULL)
        topology = topology_of(setup->nodes);
    r.bootstrap.topology = topology;
    r.bootstrap.provider = setup->provider;
    r.bootstrap.interface = setup->provider ? "127.0.0.1" : NULL;
    if (setup->stays_open)
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

static void check_job(struct setup setup)
{
    setup.starts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    tap_ok(meeting_run_processes((int)strlen(setup.nodes), rank_main, &setup) == 0,
           "%s%s%s, nodes of ranks %s", setup.medium, setup.provider ? " on " : "",
           setup.provider ? setup.provider : "", setup.nodes);
    munmap((void *)setup.starts, 4096);
}

static const struct setup setups[] = {
    {"shm", NULL, "000", 0, NULL},
#ifdef PCOLL_HAVE_LIBFABRIC
    {"ofi_rma", "tcp;ofi_rxm", "001", 0, NULL},
    {"ofi_rma", "sockets", "012", 1, NULL},
    {"ofi_trigger", "sockets", "012", 1, NULL},
#endif
};

/* test_scarce_jobs [MEDIUM] */
int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(setups) / sizeof(setups[0]); i++)
        if (argc == 1 || strcmp(argv[1], setups[i].medium) == 0)
            check_job(setups[i]);
    return tap_done();
}
