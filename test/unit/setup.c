/* Setups on an RMA medium; the contract is in setup.h. */
#include "test/unit/setup.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "offload/rma/state.h"

/* Per setup; if one rank fails, the others keep waiting. In messages of 1000 bytes, all rows with
 * all sizes take 190 s over tcp, and more than 300 s over `sockets`. */
enum { LIMIT_SECONDS = 300, LIMIT_SHORT_MESSAGES_SECONDS = 1800 };

const struct setup_foreign *setup_foreign;
static const struct pcoll_foreign *foreign; /* as this rank has opened it */

void setup_set_network(const struct setup *setup, struct pcoll_bootstrap *bootstrap)
{
    bootstrap->provider = setup->subject->provider;
    bootstrap->foreign = foreign;
    if (bootstrap->rank == 1 && setup->fewer != NULL)
        bootstrap->interface = setup->fewer;
    else if (setup->interfaces != NULL)
        bootstrap->interface = setup->interfaces;
    else
        bootstrap->interface = setup_foreign != NULL ? NULL : "127.0.0.1";
}

struct pcoll_topology *setup_topology(const struct layout *layout, int nranks)
{
    struct pcoll_topology *topology;
    int node[MEETING_MAX_RANKS];

    for (int r = 0; r < nranks; r++)
        node[r] = layout->nodes[r] - '0';
    if (pcoll_topology_create(node, NULL, nranks, &topology) != PCOLL_OK)
        abort();
    return topology;
}

/* A wire that often has no room for a transfer. */
static struct pcoll_wire reluctant;
static const struct pcoll_wire *willing;

static int has_no_room(void)
{
    static unsigned calls;

    return calls++ % 3 != 2;
}

#define TRY(FUNCTION)                                                                              \
    static enum pcoll_result try_##FUNCTION(                                                       \
        struct pcoll_wire_way *way, struct pcoll_wire_request *request,                            \
        const struct pcoll_wire_transfer *transfer, const char **why_p)                            \
    {                                                                                              \
        return has_no_room() ? PCOLL_PENDING : willing->FUNCTION(way, request, transfer, why_p);   \
    }

TRY(put)
TRY(get)
TRY(put_signal)

static enum pcoll_result try_put_joined(struct pcoll_wire_way *way,
                                        struct pcoll_wire_request *request,
                                        const struct pcoll_wire_transfer *data,
                                        const struct pcoll_wire_transfer *signal,
                                        const char **why_p)
{
    return has_no_room() ? PCOLL_PENDING : willing->put_joined(way, request, data, signal, why_p);
}

/* A wire that loses the data of joined messages. */
static struct pcoll_wire careless;

static enum pcoll_result lose_data(struct pcoll_wire_way *way, struct pcoll_wire_request *request,
                                   const struct pcoll_wire_transfer *data,
                                   const struct pcoll_wire_transfer *signal, const char **why_p)
{
    (void)data;
    return careless.put_signal(way, request, signal, why_p);
}

static void limit(size_t *value, size_t most)
{
    *value = *value < most ? *value : most;
}

static void weaken(struct pcoll_wire_endpoint *e, const struct promise *promise)
{
    if (promise->unordered)
        e->ordered = e->joined = 0;
    if (promise->no_stream)
        e->stream = e->joined = 0;
    if (promise->max_ordered != 0 && e->ordered != SIZE_MAX)
        e->ordered = e->keyless = promise->max_ordered;
    if (promise->max_message != 0)
        e->max_put = e->max_get = promise->max_message;
    limit(&e->joined, e->ordered);
    limit(&e->joined, e->max_put);
    if (promise->no_room && e->wire != &reluctant) {
        willing = e->wire;
        reluctant = *willing;
        reluctant.put = try_put;
        reluctant.get = try_get;
        reluctant.put_signal = try_put_signal;
        reluctant.put_joined = try_put_joined;
        e->wire = &reluctant;
    }
    if (promise->loses_data) {
        careless = *e->wire;
        careless.put_joined = lose_data;
        e->wire = &careless;
    }
}

/* Opens the endpoints that the group will use; returns how many could be opened. */
static int open_weakened(const struct setup *setup, const struct pcoll_bootstrap *bootstrap,
                         struct pcoll_wire_endpoint **endpoints)
{
    const struct pcoll_wire *wire = setup->subject->wire;
    struct pcoll_wire_options options = {.provider = setup->subject->provider,
                                         .event = pcoll_rma_event};
    struct pcoll_interfaces interfaces;
    int n = 0;

    if (pcoll_interfaces(bootstrap, &interfaces) != PCOLL_OK)
        return 0;
    for (options.interface = interfaces.names[0];
         n < interfaces.n && wire->open(&options, bootstrap, &endpoints[n]) == PCOLL_OK;
         options.interface = interfaces.names[n]) {
        if (setup->promise != NULL)
            weaken(endpoints[n], setup->promise);
        n++;
    }
    pcoll_interfaces_free(&interfaces);
    return n;
}

static const struct pcoll_medium *polled;

static void poll_both(void)
{
    setup_foreign->poll();
    polled->poll();
}

/* As in MPI_Finalize: the foreign UCX ends before the medium does. */
static void close_foreign(struct meeting *meeting)
{
    while (polled->lingering() > 0)
        poll_both();
    setup_foreign->close(meeting);
    meeting_on_wait = NULL;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    struct setup *setup = argument;
    int wrong = 1;
    struct pcoll_topology *topology = setup_topology(setup->layout, setup->nranks);
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_medium *medium = setup->subject->medium;
    struct pcoll_wire_endpoint *endpoints[PCOLL_MAX_RAILS + 1];
    int nendpoints;
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct part part = {
        .medium = medium,
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = setup->starts,
        .in_heap = rank % 2,
    };

    alarm(setup->all_sizes && setup->promise != NULL && setup->promise->max_message > 0
              ? LIMIT_SHORT_MESSAGES_SECONDS
              : LIMIT_SECONDS);
    meeting_on_wait = medium->poll;
    bootstrap.topology = topology;
    if (setup_foreign != NULL) {
        foreign = setup_foreign->open(&bootstrap);
        meeting_on_wait = poll_both;
        polled = medium;
    }
    setup_set_network(setup, &bootstrap);
    nendpoints = open_weakened(setup, &bootstrap, endpoints);
    if (nendpoints > 0 && medium->group_create(&bootstrap, &part.group) == PCOLL_OK) {
        if (setup->promise != NULL && setup->promise->no_cma)
            pcoll_rma_group_of(part.group)->can_cma = false;
        wrong = setup->exercise(setup, meeting, &part);
    }
    meeting_barrier(meeting);
    medium->group_destroy(part.group);
    meeting_barrier(meeting);
    if (setup_foreign != NULL)
        close_foreign(meeting);
    medium->finalize();
    while (nendpoints > 0)
        setup->subject->wire->close(endpoints[--nendpoints]);
    pcoll_topology_destroy(topology);
    return wrong;
}

int setup_run(struct setup setup)
{
    static _Atomic int *shared;

    if (shared == NULL)
        shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setup.starts = shared;
    return meeting_run_processes(setup.nranks, rank_main, &setup);
}
