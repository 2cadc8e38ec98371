/* The agent of this process (offload/agent/agent.h): the user's settings, and which plans it
 * serves. All of it is local: ranks of one plan may have different settings. */

#include "agent.h"

#include "mpidimpl.h"

#include "agent_cpu.h"
#include "forced.h"
#include "report.h"

#include "offload/agent/agent.h"
#include "offload/memory/heap.h"
#include "offload/node/node.h"
#include "offload/tally.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_COLL_OFFLOAD_AGENT
      category    : COLLECTIVE
      type        : string
      default     : none
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Who progresses persistent collectives of this process while the application
        computes. Values: none, thread (a thread of each process, on a core that no process
        of the node is bound to, if there is one), node (one such thread for the processes
        of a node, in one of them that has a free core if any has: it copies between buffers
        of MPI_Alloc_mem, buffers of the library, and those of its own process, and reduces
        in these; plans between nodes wait for MPI calls). It progresses plans of 64 KiB or
        more, and none with user-defined operators. Set it if the application computes
        between start and wait, and leaves cores free.

    - name        : MPIR_CVAR_COLL_OFFLOAD_AGENT_CPUS
      category    : COLLECTIVE
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        CPUs for the threads of MPIR_CVAR_COLL_OFFLOAD_AGENT: the process with local rank i
        uses the i-th of them, modulo their number. Values: a list such as 2,4-7; unset, a
        CPU that no rank is bound to is chosen. Set it if nothing else runs on these CPUs,
        but ranks are bound to them too.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

enum { RETIRED_USEC = 100000 };

static struct pcoll_agent *agent = NULL;
static bool is_refused = false; /* no thread is available */

static bool is_named(const char *wish)
{
    const char *name = MPIR_CVAR_COLL_OFFLOAD_AGENT;
    char line[120];

    if (is_refused || !name || !*name || strcmp(name, "none") == 0)
        return false;
    if (strcmp(name, "thread") == 0 || strcmp(name, "node") == 0)
        return strcmp(name, wish) == 0;
    is_refused = true;
    snprintf(line, sizeof(line),
             "MPIR_CVAR_COLL_OFFLOAD_AGENT: no agent '%.30s' (allowed: none, thread, node); using "
             "none",
             name);
    MPIDI_PCOLL_report(line);
    return false;
}

bool MPIDI_PCOLL_agent_is_wanted(void)
{
    return is_named("thread");
}

bool MPIDI_PCOLL_agent_is_for_node(void)
{
    return is_named("node");
}

/* The CPU that the user's list names for this rank, or PCOLL_NONE. */
static int listed_cpu(void)
{
    const char *list = MPIR_CVAR_COLL_OFFLOAD_AGENT_CPUS, *wrong;
    int cpu = PCOLL_NONE;
    char line[200];

    if (!list || !*list || pcoll_agent_cpus(list, MPIR_Process.local_rank, &cpu, &wrong) > 0)
        return cpu;
    snprintf(
        line, sizeof(line),
        "MPIR_CVAR_COLL_OFFLOAD_AGENT_CPUS: '%.60s' is not a list of CPUs, such as 2,4-7, from "
        "'%.20s' on; ignored",
        list, wrong);
    MPIDI_PCOLL_report(line);
    return PCOLL_NONE;
}

static void report_error(const struct pcoll_agent_options *options, int error)
{
    char line[200];

    if (options->cpu != PCOLL_NONE && error == EINVAL)
        snprintf(line, sizeof(line),
                 "MPIR_CVAR_COLL_OFFLOAD_AGENT_CPUS: CPU %d is not available to this process; "
                 "ignored",
                 options->cpu);
    else
        snprintf(line, sizeof(line),
                 "MPIR_CVAR_COLL_OFFLOAD_AGENT: cannot start a thread: %s; using none",
                 strerror(error));
    MPIDI_PCOLL_report(line);
}

/* Without a CPU of its own it runs where the process may, and has a core if there are enough for
 * twice as many ranks. */
static struct pcoll_agent_options chosen_options(void)
{
    struct pcoll_agent_options options = {
        .cpu = listed_cpu(),
        .spin_usec = MPIDI_PCOLL_forced()->agent_spin_usec,
        .retired_usec = RETIRED_USEC,
    };

    options.has_core = options.cpu != PCOLL_NONE;
    if (!options.has_core)
        options.cpu = MPIDI_PCOLL_spare_cpu(MPIDI_PCOLL_agent_is_for_node(), &options.has_core);
    return options;
}

static void start(struct pcoll_agent_options options)
{
    int error = pcoll_agent_create(&options, &agent);

    if (error != 0)
        report_error(&options, error);
    if (error == EINVAL && options.cpu != PCOLL_NONE) {
        options.cpu = MPIDI_PCOLL_spare_cpu(MPIDI_PCOLL_agent_is_for_node(), &options.has_core);
        error = pcoll_agent_create(&options, &agent);
    }
    is_refused = error != 0;
}

static bool is_long(const struct pcoll_plan *plan)
{
    const uint64_t send = pcoll_plan_bytes(plan, PCOLL_SEND);
    const uint64_t recv = pcoll_plan_bytes(plan, PCOLL_RECV);
    const uint64_t min = MPIDI_PCOLL_forced()->agent_from;

    return send >= min || recv >= min;
}

bool MPIDI_PCOLL_agent_wants(const struct pcoll_plan *plan)
{
    return (MPIDI_PCOLL_agent_is_wanted() || MPIDI_PCOLL_agent_is_for_node()) && is_long(plan);
}

/* ---- one for the node ---- */

static uint64_t candidacy = 0;
static bool has_looked = false; /* which takes a millisecond */

uint64_t MPIDI_PCOLL_agent_candidacy(void)
{
    if (!has_looked && MPIDI_PCOLL_agent_is_for_node()) {
        has_looked = true;
        if (chosen_options().has_core)
            candidacy = UINT32_MAX - (uint64_t)MPIR_Process.local_rank;
    }
    return candidacy;
}

void MPIDI_PCOLL_agent_report_no_core(void)
{
    static bool is_told = false;

    if (!is_told && MPIDI_PCOLL_agent_is_for_node())
        MPIDI_PCOLL_report(
            "MPIR_CVAR_COLL_OFFLOAD_AGENT: no core is free for an agent of the node; "
            "using none unless MPIR_CVAR_COLL_OFFLOAD_AGENT_CPUS names one");
    is_told = true;
}

int64_t MPIDI_PCOLL_agent_board_from(void)
{
    return MPIDI_PCOLL_agent_is_for_node() ? (int64_t)MPIDI_PCOLL_forced()->agent_from : PCOLL_NONE;
}

/* The bell stays: other processes may look at it as long as they have groups. */
struct pcoll_bell *MPIDI_PCOLL_agent_start_for_node(void)
{
    static struct pcoll_bell *bell = NULL;
    struct pcoll_agent_options options;

    if (!bell)
        bell = pcoll_heap_get(sizeof(*bell));
    if (!bell)
        return NULL;
    if (!agent && MPIDI_PCOLL_agent_is_for_node()) {
        options = chosen_options();
        options.bell = bell;
        options.visit = pcoll_node_visit_boards;
        start(options);
    }
    return agent && MPIDI_PCOLL_agent_is_for_node() ? bell : NULL;
}

/* ---- one for this process ---- */

/* If there is no memory to serve a plan of the network, the agent must leave all such plans
 * alone. */
struct pcoll_bound *MPIDI_PCOLL_agent_serve(const struct pcoll_plan *plan,
                                            const struct pcoll_memory *memory,
                                            struct pcoll_bound *bound)
{
    const bool is_network = pcoll_is_network(bound->medium);
    const bool can_serve = pcoll_agent_can_serve(bound->medium, memory);
    struct pcoll_bound *served;

    if (!(bound->medium->traits & PCOLL_LENDS) || !MPIDI_PCOLL_agent_is_wanted() ||
        (!is_network && !(can_serve && is_long(plan))))
        return bound;
    MPIDI_PCOLL_agent_start();
    if (!agent)
        return bound;
    if (pcoll_agent_serve(agent, bound, can_serve && is_long(plan), &served) == PCOLL_OK)
        return served;
    if (is_network)
        pcoll_agent_hold(agent);
    return bound;
}

void MPIDI_PCOLL_agent_start(void)
{
    if (!agent && MPIDI_PCOLL_agent_is_wanted())
        start(chosen_options());
}

bool MPIDI_PCOLL_agent_try_hold(void)
{
    return !agent || pcoll_agent_try_hold(agent);
}

void MPIDI_PCOLL_agent_hold(void)
{
    if (agent)
        pcoll_agent_hold(agent);
}

void MPIDI_PCOLL_agent_release(void)
{
    if (agent)
        pcoll_agent_release(agent);
}

void MPIDI_PCOLL_agent_report(void)
{
    char text[PCOLL_AGENT_MESSAGE_BYTES];

    if (agent && pcoll_agent_take_message(agent, text))
        MPIDI_PCOLL_report(text);
}

/* ---- performance variables ---- */

enum figure { CHUNKS, BEGUN = PCOLL_NUM_WORKERS, ENDED, WAKES, RETIREMENTS, NUM_FIGURES };

static struct pcoll_agent_account former; /* of agents that have ended */

static struct pcoll_agent_account account(void)
{
    struct pcoll_agent_account sum = former, now;

    if (agent) {
        now = pcoll_agent_account(agent);
        sum.begun += now.begun;
        sum.ended += now.ended;
        sum.wakes += now.wakes;
        sum.retirements += now.retirements;
    }
    return sum;
}

/* MPICH calls this when the variable is read; `address` is one of figures. */
static void read_figure(void *address, void *object, int count, void *value)
{
    const enum figure figure = *(const enum figure *)address;
    const struct pcoll_agent_account sum = account();

    (void)object;
    (void)count;
    *(unsigned long *)value = figure == BEGUN   ? sum.begun
                              : figure == ENDED ? sum.ended
                              : figure == WAKES ? sum.wakes
                              : figure == RETIREMENTS
                                  ? sum.retirements
                                  : pcoll_tally_chunks((enum pcoll_worker)figure);
}

#define REGISTER(name, which, text)                                                                \
    do {                                                                                           \
        figures[which] = (enum figure)(which);                                                     \
        MPIR_T_PVAR_COUNTER_REGISTER_DYNAMIC_impl(                                                 \
            MPI_UNSIGNED_LONG, name, &figures[which], 1, MPI_T_VERBOSITY_USER_DETAIL,              \
            MPI_T_BIND_NO_OBJECT, MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS,         \
            read_figure, NULL, "COLLECTIVE", text);                                                \
    } while (0)

void MPIDI_PCOLL_agent_pvars_init(void)
{
    static enum figure figures[NUM_FIGURES];

    REGISTER(coll_offload_chunks_opener, CHUNKS + PCOLL_BY_OWNER,
             "chunks of long entries that this process performed for itself");
    REGISTER(coll_offload_chunks_helper, CHUNKS + PCOLL_BY_HELPER,
             "chunks of long entries that this process performed for others");
    REGISTER(coll_offload_chunks_agent, CHUNKS + PCOLL_BY_AGENT,
             "chunks of long entries that its agent performed");
    REGISTER(coll_offload_agent_begun, BEGUN, "instances of plans that the agent has begun");
    REGISTER(coll_offload_agent_ended, ENDED, "instances of plans that the agent has ended");
    REGISTER(coll_offload_agent_wakes, WAKES, "starts that had to wake the agent");
    REGISTER(coll_offload_agent_retirements, RETIREMENTS,
             "how often the agent has retired because others had its core");
}

void MPIDI_PCOLL_agent_end(void)
{
    former = account();
    pcoll_agent_destroy(agent);
    agent = NULL;
    candidacy = 0;
    has_looked = false;
    is_refused = false;
}
