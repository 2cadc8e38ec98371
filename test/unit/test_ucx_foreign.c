/*
 * The medium ucx_rma on a context, worker and endpoints of UCX that it has not opened, as in an MPI
 * that uses UCX: every algorithm; which ranks use them if some cannot; and that it leaves them
 * alone when they have been closed.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/rma/state.h"
#include "offload/ucx_rma/state.h"
#include "offload/ucx_rma/ucx_rma.h"
#include "test/unit/rma_tests.h"
#include "test/unit/tap.h"

#define ADDRESS_BYTES 2000 /* at least those of a worker */

static const struct subject tcp = {"foreign UCX, tcp", &pcoll_medium_ucx_rma, &pcoll_wire_ucx, NULL,
                                   0};
static const struct subject shared = {"foreign UCX, posix and cma, v2", &pcoll_medium_ucx_rma,
                                      &pcoll_wire_ucx, NULL, 0};
static const struct layout apart = {"each on a node of its own", "0123"};

/* ---- the foreign UCX ------------------------------------------------------------------- */

/* What is wrong with that of rank 1. */
static enum { NOTHING, NONE, OTHER_LIBRARY, NO_AM, NO_RMA, OTHER_COPY } fault;

static struct pcoll_ucx_foreign ucx;
static ucp_ep_h endpoints[MEETING_MAX_RANKS];
static int nendpoints;

static ucp_ep_h endpoint_of(int process)
{
    return endpoints[process];
}

static unsigned other_progress(ucp_worker_h worker)
{
    return pcoll_ucx.ucp_worker_progress(worker);
}

static void open_worker(int rank)
{
    const ucp_worker_params_t thread = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AM};
    ucp_config_t *config;

    if (rank == 1 && fault == NO_AM)
        params.features &= ~(uint64_t)UCP_FEATURE_AM;
    if (rank == 1 && fault == NO_RMA)
        params.features &= ~(uint64_t)UCP_FEATURE_RMA;
    if (pcoll_ucx.ucp_config_read(NULL, NULL, &config) != UCS_OK ||
        pcoll_ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &ucx.context) !=
            UCS_OK ||
        pcoll_ucx.ucp_worker_create(ucx.context, &thread, &ucx.worker) != UCS_OK)
        abort();
    pcoll_ucx.ucp_config_release(config);
}

/* Without error handling, as MPICH's. */
static void connect_all(const struct pcoll_bootstrap *bootstrap)
{
    char mine[MEETING_MAX_RANKS][ADDRESS_BYTES], theirs[MEETING_MAX_RANKS][ADDRESS_BYTES];
    int ranks[MEETING_MAX_RANKS], n = 0;
    ucp_address_t *address;
    size_t bytes;

    if (pcoll_ucx.ucp_worker_get_address(ucx.worker, &address, &bytes) != UCS_OK ||
        bytes > ADDRESS_BYTES)
        abort();
    for (int r = 0; r < bootstrap->nranks; r++) {
        memcpy(mine[n], address, bytes);
        if (r != bootstrap->rank)
            ranks[n++] = r;
    }
    if (bootstrap->swap(bootstrap->context, ranks, n, mine, theirs, ADDRESS_BYTES) != PCOLL_OK)
        abort();
    memcpy(theirs[n], address, bytes);
    ranks[n] = bootstrap->rank;
    for (int i = 0; i <= n; i++) {
        const ucp_ep_params_t to = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                                    .address = (const ucp_address_t *)(const void *)theirs[i]};

        if (pcoll_ucx.ucp_ep_create(ucx.worker, &to, &endpoints[ranks[i]]) != UCS_OK)
            abort();
    }
    nendpoints = n + 1;
    pcoll_ucx.ucp_worker_release_address(ucx.worker, address);
}

static __typeof__(ucp_init_version) *init_version;
static int opened; /* contexts by the medium */

static ucs_status_t count_init(unsigned major, unsigned minor, const ucp_params_t *params,
                               const ucp_config_t *config, ucp_context_h *context)
{
    opened++;
    return init_version(major, minor, params, config, context);
}

static const struct pcoll_foreign *open_foreign(const struct pcoll_bootstrap *bootstrap)
{
    if (pcoll_ucx_load(bootstrap) != PCOLL_OK)
        abort();
    open_worker(bootstrap->rank);
    connect_all(bootstrap);
    init_version = pcoll_ucx.ucp_init_version;
    pcoll_ucx.ucp_init_version = count_init;
    ucx.base.library =
        bootstrap->rank == 1 && fault == OTHER_LIBRARY ? "libfabric" : PCOLL_UCX_LIBRARY;
    ucx.owner = "the test";
    ucx.session++;
    ucx.process = bootstrap->rank;
    ucx.endpoint = endpoint_of;
    ucx.progress = bootstrap->rank == 1 && fault == OTHER_COPY ? other_progress
                                                               : pcoll_ucx.ucp_worker_progress;
    return bootstrap->rank == 1 && fault == NONE ? NULL : &ucx.base;
}

static void poll_foreign(void)
{
    pcoll_ucx.ucp_worker_progress(ucx.worker);
}

static void close_foreign(struct meeting *meeting)
{
    const ucp_request_param_t gently = {0};
    void *closing[MEETING_MAX_RANKS];

    for (int i = 0; i < nendpoints; i++)
        closing[i] = pcoll_ucx.ucp_ep_close_nbx(endpoints[i], &gently);
    for (int i = 0; i < nendpoints; i++) {
        if (closing[i] == NULL || UCS_PTR_IS_ERR(closing[i]))
            continue;
        while (pcoll_ucx.ucp_request_check_status(closing[i]) == UCS_INPROGRESS)
            poll_foreign();
        pcoll_ucx.ucp_request_free(closing[i]);
    }
    meeting_barrier(meeting);
    meeting_on_wait = NULL;
    pcoll_ucx.ucp_worker_destroy(ucx.worker);
    pcoll_ucx.ucp_cleanup(ucx.context);
    ucx.worker = NULL; /* whoever uses it now crashes */
    pcoll_ucx.ucp_init_version = init_version;
}

/* ---- who uses it ----------------------------------------------------------------------- */

static int run_some(struct part *part, int nranks)
{
    static const struct pcoll_params params;
    static const uint64_t sizes[] = {8, 5000, 3000000};
    int wrong = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !wrong; i++) {
        struct part p = *part;

        p.signature =
            (struct pcoll_signature){.coll = PCOLL_ALLGATHER, .nranks = nranks, .bytes = sizes[i]};
        wrong = part_init(&p, pcoll_algorithm_find(PCOLL_ALLGATHER, "direct"), &params) ||
                part_bind(&p) || part_run(&p, 5);
        part_unbind(&p);
        part_fini(&p);
    }
    return wrong;
}

/* All ranks use the foreign UCX, or all of them their own; a rank whose UCX is faulty says why. */
static int exercise_fault(struct setup *setup, struct meeting *meeting, struct part *part)
{
    const struct pcoll_rma_group *g = pcoll_rma_group_of(part->group);
    const struct attendee *attendee = g->bootstrap.context;
    const int speaks = fault > OTHER_LIBRARY && part->rank == 1;

    (void)meeting;
    if (g->endpoints[0]->foreign != (fault == NOTHING) || opened != (fault != NOTHING) ||
        (attendee->reports > 0) != speaks ||
        (speaks && strstr(attendee->said, "the test's worker cannot be used") == NULL))
        return 1;
    return run_some(part, setup->nranks);
}

/* A group that is never destroyed outlives the foreign UCX; the next is on a new one. */
static int exercise_sessions(struct setup *setup, struct meeting *meeting, struct part *part)
{
    const struct pcoll_bootstrap bootstrap = pcoll_rma_group_of(part->group)->bootstrap;
    struct part next = *part;
    int wrong = run_some(part, setup->nranks);
    void (*on_wait)(void) = meeting_on_wait;

    while (part->medium->lingering() > 0)
        poll_foreign();
    close_foreign(meeting);
    part->medium->finalize();
    part->medium->poll();
    open_foreign(&bootstrap);
    meeting_on_wait = on_wait;
    if (part->medium->group_create(&bootstrap, &next.group) != PCOLL_OK)
        return 1;
    wrong |= opened || !pcoll_rma_group_of(next.group)->endpoints[0]->foreign ||
             run_some(&next, setup->nranks);
    part->medium->group_destroy(next.group);
    return wrong;
}

/* Rank 0 waits for rank 1, which is dead, and has nothing to send that could fail. */
static int exercise_death(struct setup *setup, struct meeting *meeting, struct part *part)
{
    static const struct pcoll_params params;
    const struct attendee *attendee = pcoll_rma_group_of(part->group)->bootstrap.context;
    struct part p = *part;
    enum pcoll_result result;

    p.signature = (struct pcoll_signature){
        .coll = PCOLL_BCAST, .nranks = setup->nranks, .bytes = 8, .root = 1};
    if (part_init(&p, pcoll_algorithm_find(PCOLL_BCAST, "eager"), &params) || part_bind(&p) ||
        part_run(&p, 2))
        return 1;
    meeting_barrier(meeting);
    if (p.rank == 1)
        kill(getpid(), SIGKILL);
    result = p.medium->start(p.bound);
    while (result == PCOLL_PENDING)
        result = p.medium->progress(p.bound);
    _exit(result != PCOLL_ERR_SYSTEM || strstr(attendee->said, "rank 1 is lost") == NULL);
}

static void check_faults(void)
{
    static const char *const names[] = {
        "all ranks have it",
        "rank 1 has none",
        "rank 1's is another library's",
        "rank 1's has no active messages",
        "rank 1's has no RMA",
        "rank 1's is another copy of the library",
    };
    struct setup setup = {
        .subject = &tcp, .layout = &apart, .nranks = 3, .exercise = exercise_fault};

    for (fault = NOTHING; fault <= OTHER_COPY; fault++)
        tap_ok(setup_run(setup) == 0, "foreign UCX: %s", names[fault]);
    fault = NOTHING;
    setup.exercise = exercise_sessions;
    tap_ok(setup_run(setup) == 0, "foreign UCX: it ends, and another one begins");
    setup.exercise = exercise_death;
    setup.nranks = 2;
    tap_ok(setup_run(setup) == 1, "foreign UCX: a rank dies, which its peer notices");
}

int main(void)
{
    static const struct setup_foreign foreign = {open_foreign, poll_foreign, close_foreign};

    setenv("UCX_LOG_LEVEL", "fatal", 0);
    setenv("UCX_NET_DEVICES", "lo", 1);
    setenv("UCX_TLS", "tcp,self", 1);
    setup_foreign = &foreign;
    check_faults();
    rma_check(&tcp, 0);
    setenv("UCX_PROTO_ENABLE", "y", 1);
    setenv("UCX_TLS", "posix,cma,self", 1);
    rma_check(&shared, 0);
    return tap_done();
}
