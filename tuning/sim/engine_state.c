/* The state of a run, from its options to its end; the contract is in engine_state.h. */
#include "tuning/sim/engine_state.h"

#include <stdlib.h>

struct pcoll_engine pcoll_engine_of(const struct pcoll_job *job,
                                    const struct pcoll_engine_options *options,
                                    struct pcoll_engine_result *result)
{
    const struct pcoll_topology *given = job->signature.topology;
    const struct pcoll_topology *topology = given && given->in_node ? NULL : given;
    const struct pcoll_machine *machine = &options->machine;
    const bool is_flat = options->network.kind == PCOLL_FLAT;

    return (struct pcoll_engine){
        .job = job,
        .options = options,
        .result = result,
        .node = machine->node ? *machine->node : *machine,
        .tail_G = is_flat ? machine->G : pcoll_larger(machine->G, options->network.G),
        .ports = options->ports > 0 ? options->ports : 1,
        .instances = options->instances > 0 ? options->instances : 1,
        .nnodes = topology ? topology->nnodes : 1,
        .topology = topology,
        .random = options->seed,
    };
}

static int most_ranks_of_a_node(const struct pcoll_topology *topology, int nranks)
{
    int most = topology ? 0 : nranks;

    for (int node = 0; topology && node < topology->nnodes; node++) {
        const int size = pcoll_topology_size(topology, node);

        most = size > most ? size : most;
    }
    return most;
}

/* Assigns a core to each rank where a node has fewer cores than ranks. */
static bool share_cores(struct pcoll_engine *e, int nranks)
{
    const struct pcoll_topology *topology = e->topology;
    const int cores = e->options->machine.cores;

    if (cores <= 0 || most_ranks_of_a_node(topology, nranks) <= cores)
        return true;
    e->core_of = calloc((size_t)nranks, sizeof(*e->core_of));
    if (e->core_of == NULL)
        return false;
    for (int i = 0; i < nranks; i++) {
        const int rank = topology ? pcoll_topology_rank(topology, i) : i;
        const int node = pcoll_topology_node(topology, rank);
        const int member = topology ? i - pcoll_topology_first(topology, node) : i;

        e->core_of[rank] = node * cores + member % cores;
    }
    return true;
}

static void *zeroed(int64_t n, size_t size)
{
    return calloc((size_t)n + 1, size);
}

enum pcoll_result pcoll_engine_allocate(struct pcoll_engine *e)
{
    const int nranks = e->program.nranks, cores = e->options->machine.cores;
    const int64_t nports = (int64_t)e->nnodes * e->ports;

    if (!share_cores(e, nranks))
        return PCOLL_ERR_NOMEM;
    e->ranks = zeroed(nranks, sizeof(*e->ranks));
    e->counters = zeroed((int64_t)e->program.ncounters, sizeof(*e->counters));
    e->cores = zeroed(e->core_of ? (int64_t)e->nnodes * cores : nranks, sizeof(*e->cores));
    e->out = zeroed(nports, sizeof(*e->out));
    e->in = zeroed(nports, sizeof(*e->in));
    e->links = zeroed(pcoll_network_nlinks(&e->options->network, e->nnodes), sizeof(*e->links));
    if (!e->ranks || !e->counters || !e->cores || !e->out || !e->in || !e->links ||
        !pcoll_engine_share(e))
        return PCOLL_ERR_NOMEM;
    for (uint64_t c = 0; c < e->program.ncounters; c++)
        e->counters[c].next = PCOLL_NO_STEP;
    return e->options->verify ? pcoll_symbols_create(&e->job->signature, &e->symbols) : PCOLL_OK;
}

void pcoll_engine_free(struct pcoll_engine *e)
{
    pcoll_symbols_destroy(e->symbols);
    pcoll_event_queue_fini(&e->queue);
    if (!e->trace)
        pcoll_program_destroy(&e->program);
    free(e->tasks);
    free(e->locks);
    free(e->domains);
    free(e->links);
    free(e->in);
    free(e->out);
    free(e->cores);
    free(e->core_of);
    free(e->counters);
    free(e->ranks);
}
