/* Requests that are used once: init, start, wait, free with other lengths, roots and memory each
 * time. Plans, MPICH's schedules and plans again serve them, as ch4_coll/once.h says; the data is
 * right all the time.
 *
 *   -times=N   N cycles of each collective, in which no memory and no descriptor is lost
 *   -plans     only plans ought to serve them
 *   -info      those that ought to be MPICH's without any agreement have info keys */

#include "trial.h"
#include "usage.h"

enum { ENOUGH = 8, UNASKED = 63, CYCLES = 150, IN_FLIGHT = 4, MAX_BYTES = 3000 };

/* What serves a request. */
enum service { BY_MPICH, NEW_PLAN, KNOWN_PLAN };

/* ---- what ought to serve the next request ---- */

static struct {
    int has_plans, used_once, unasked;
} rule;

static int rule_says_mpich(void)
{
    if (rule.has_plans || (rule.unasked == 0 && rule.used_once < ENOUGH))
        return 0;
    rule.unasked = rule.unasked == 0 ? UNASKED : rule.unasked - 1;
    return 1;
}

/* A request that took the plan of a freed one counts only if the collective is rooted. */
static void rule_learns(enum trial_kind kind, int starts, enum service service)
{
    if (starts > 1)
        rule.used_once = 0;
    else if (service == NEW_PLAN || (service == KNOWN_PLAN && coll_has(trial_coll(kind), ROOTED)))
        rule.used_once++;
}

/* ---- one cycle ---- */

static MPI_Comm comm;
static struct edges edges;
static MPI_Info info = MPI_INFO_NULL;

/* A plan that ranks can take again serves a call although MPICH ought to. */
static enum service begin(struct trial *t, enum trial_kind kind, int cycle)
{
    const size_t bytes = check_random(&check.shared) % MAX_BYTES;
    const long long before = check_pvar("coll_offload_fallbacks");
    const long long reused = check_pvar("coll_offload_reused_plans");
    const int unasked = rule.unasked;
    enum service service;
    int ought_to_be_mpich;

    trial_init_on(t, kind, bytes, cycle % check.size, (uint64_t)cycle, comm, &edges,
                  rule.unasked > 0 ? info : MPI_INFO_NULL);
    service = check_pvar("coll_offload_fallbacks") > before      ? BY_MPICH
              : check_pvar("coll_offload_reused_plans") > reused ? KNOWN_PLAN
                                                                 : NEW_PLAN;
    if (service == KNOWN_PLAN && unasked == 0 && !coll_has(trial_coll(kind), ROOTED))
        return service;
    ought_to_be_mpich = rule_says_mpich();
    if ((service == BY_MPICH) != ought_to_be_mpich)
        check_fail(__FILE__, __LINE__, "cycle %d of %s: %s serves it", cycle, trial_name(kind),
                   service == BY_MPICH ? "MPICH" : "a plan");
    return service;
}

static void end(struct trial *t, int starts, enum service service)
{
    rule_learns(t->kind, starts, service);
    trial_free(t);
}

/* A plan, and later a request of MPICH's, is started several times; some are not started. */
static void one_by_one(enum trial_kind kind)
{
    for (int i = 0; i < CYCLES; i++) {
        const int starts = i == 5 || i == 40 ? 3 : i % 7 == 3 ? 0 : 1;
        struct trial t;
        const enum service service = begin(&t, kind, i);

        trial_run(&t, starts);
        end(&t, starts, service);
    }
}

/* Ranks start them in different orders. */
static void in_flight(enum trial_kind kind)
{
    for (int i = 0; i < CYCLES; i += IN_FLIGHT) {
        struct trial t[IN_FLIGHT];
        enum service service[IN_FLIGHT];

        for (int k = 0; k < IN_FLIGHT; k++)
            service[k] = begin(&t[k], kind, i + k);
        for (int k = 0; k < IN_FLIGHT; k++)
            trial_start(&t[(k + check.rank) % IN_FLIGHT]);
        check_delay();
        for (int k = 0; k < IN_FLIGHT; k++)
            trial_wait(&t[k]);
        for (int k = 0; k < IN_FLIGHT; k++)
            end(&t[k], 1, service[k]);
    }
}

static void with_each_kind(void (*cycles)(enum trial_kind kind), const char *how)
{
    for (int i = 0; i < TRIAL_KINDS; i++) {
        const enum trial_kind kind = (enum trial_kind)i;

        if (!trial_wanted(kind))
            continue;
        check_phase("%s, %s", trial_name(kind), how);
        comm = topology_any(MPI_COMM_WORLD, (uint64_t)i, &edges);
        rule.has_plans = check_option("plans") != NULL || coll_has(trial_coll(kind), REDUCES);
        rule.used_once = rule.unasked = 0;
        cycles(kind);
        MPI(MPI_Comm_free(&comm));
    }
}

/* ---- nothing is lost ---- */

static long times;

static void many(enum trial_kind kind)
{
    enum { WARM_UP = 500, ALLOWED = 1024 };
    long kib = 0;
    int descriptors = 0;

    for (int i = 0; i < times + WARM_UP; i++) {
        struct trial t;
        const int starts = i % 1000 == 999 ? 2 : 1;
        const enum service service = begin(&t, kind, i);

        if (i == WARM_UP) {
            kib = usage_resident_kib();
            descriptors = usage_descriptors();
        }
        for (int k = 0; k < starts; k++) {
            trial_start(&t);
            trial_wait(&t);
        }
        end(&t, starts, service);
        check_progress();
    }
    CHECK(usage_descriptors() <= descriptors);
    if (usage_resident_kib() > kib + ALLOWED)
        check_fail(__FILE__, __LINE__, "%ld KiB more after %ld cycles", usage_resident_kib() - kib,
                   times);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    times = check_number("times", 0);
    if (check_option("info")) {
        MPI(MPI_Info_create(&info));
        MPI(MPI_Info_set(info, "coll_offload_algorithm", "bruck"));
    }
    if (times > 0) {
        with_each_kind(many, "many times");
    } else {
        with_each_kind(one_by_one, "one by one");
        with_each_kind(in_flight, "several in flight");
    }
    if (info != MPI_INFO_NULL)
        MPI(MPI_Info_free(&info));
    return check_done();
}
