/* The user's settings, the tuning table, and rank 0's proposal based on them. */

#include "settings.h"

#include "cores.h"
#include "forced.h"
#include "hints.h"
#include "known.h"
#include "network.h"
#include "process.h"
#include "report.h"
#include "wisdom.h"

#include "offload/memory/heap.h"
#include "offload/node/sharing.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_COLL_OFFLOAD_MEASURE
      category    : COLLECTIVE
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        What the cost model knows of a node if there is no tuning table. Values: true (two ranks
        measure copies, flags and reductions at the first persistent collective of a process that
        has more than 256 B of data, and four that have a core each readers of one process, which
        takes some milliseconds once),
        false (the parameters of the built-in table). Set it to false where the choices, and so
        the last bits of a reduction, must be the same in every job, and let no race choose
        (..._EFFORT, ..._WISDOM).

    - name        : MPIR_CVAR_COLL_OFFLOAD_TUNING_FILE
      category    : COLLECTIVE
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        JSON tuning table, which rank 0 of a communicator reads. Values: a path; unset, the
        built-in table is used, with what ranks measure (MPIR_CVAR_COLL_OFFLOAD_MEASURE). Set it
        to what pcoll-tune has measured on the machine.

    - name        : MPIR_CVAR_COLL_OFFLOAD_PROMOTE
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Which ordinary blocking calls get plans once they have been repeated often enough:
        barrier, bcast, gather, scatter, allgather, allgatherv, alltoall, reduce, allreduce,
        reduce_scatter_block, scan and exscan, on communicators within a node, if no block is
        longer than 65536 bytes (32768 in an allgather, allgatherv or alltoall, 4096 if
        blocks are unequal, 2048 in a gather or scatter), or 1024 where ranks share
        cores, and if the buffers of a rank have at most 8 MiB, those of calls of up to
        4096 bytes 1 MiB. Values: off, auto (exact where every rank of the communicator
        has a core, otherwise off), exact (those whose results cannot depend on the
        order in which ranks reduce, so that no bit changes when a call gets its plan:
        no sums of floating-point numbers on more than two ranks, and no products; of
        zeros of both signs, a number and a NaN, or two NaNs, the result may be either),
        all. Set it to all where a program spends much time in short sums and may have
        other last bits at each run. Communicators whose ranks have different values are
        left to MPICH, and so are those of a rank that cannot share memory in /dev/shm
        with the others. Where MPICH has a lock for each VCI
        (--enable-thread-cs=per-vci, the default from 4.1 on), so are those of a process with
        MPI_THREAD_MULTIPLE.

    - name        : MPIR_CVAR_COLL_OFFLOAD_VERBOSE
      category    : COLLECTIVE
      type        : int
      default     : 0
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        What rank 0 prints on standard error. Values: 0 (messages about wrong settings only), 1
        (for each communicator what was measured, how ranks reach the memory of others of their
        node, and which of them share a cache, a NUMA domain, a socket; one line for each
        persistent collective, with the choice, its predicted time and its resources), 2 (also the
        candidates that were not chosen, with their predicted times, and the plan, entry by
        entry).
        Set it to find out what runs.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Whatever ranks measure, the choices for so much data of a rank are those of the built-in table
 * (doc/notes/measured-at-init.md). */
enum { FEW_BYTES = 256 };

static struct pcoll_table *table = NULL;
static struct {
    FILE *stream; /* NULL: not open */
    char *text;
    size_t size;
} messages;
static bool provider_compared = false; /* the table's provider has been compared with the one in
                                        * use */

/* What the medium provides to a call. */
static unsigned allowed(const struct MPIDI_PCOLL_comm *state)
{
    unsigned provides = state->medium->group_provides(state->group);

    if (!MPIDI_PCOLL_forced()->cma && !pcoll_is_network(state->medium))
        provides &= ~(unsigned)PCOLL_NEED_USER_RMA;
    return provides;
}

bool MPIDI_PCOLL_measures(void)
{
    const char *path = MPIR_CVAR_COLL_OFFLOAD_TUNING_FILE;

    return MPIR_CVAR_COLL_OFFLOAD_MEASURE && !(path && *path);
}

void MPIDI_PCOLL_show_measured(const struct MPIDI_PCOLL_comm *state)
{
    const struct pcoll_machine *machine = state->medium->group_machine(state->group);

    if (MPIR_CVAR_COLL_OFFLOAD_VERBOSE < 1)
        return;
    fprintf(stderr, "[%d] pcoll: measured in this node:%s", MPIR_Process.rank,
            machine->L > 0 ? "" : " nothing (two ranks with a core each are necessary)");
#define SHOW(member)                                                                               \
    if (machine->member > 0)                                                                       \
        fprintf(stderr, " " #member " %.3g", machine->member);
    PCOLL_MEASURED_MEMBERS(SHOW)
#undef SHOW
    fprintf(stderr, "\n");
}

void MPIDI_PCOLL_show_machine(const struct MPIDI_PCOLL_comm *state)
{
    const struct pcoll_sharing *sharing = state->medium->group_sharing(state->group);
    char text[300];

    if (MPIR_CVAR_COLL_OFFLOAD_VERBOSE < 1)
        return;
    state->medium->group_reach(state->group, text, sizeof(text));
    if (*text)
        fprintf(stderr, "[%d] pcoll: user memory of other ranks of this node: %s\n",
                MPIR_Process.rank, text);
    for (int what = 0; sharing && what < PCOLL_NUM_SHARED; what++) {
        pcoll_sharing_text(sharing, (enum pcoll_shared)what, text, sizeof(text));
        fprintf(stderr, "[%d] pcoll: ranks of this node that share %s: %s\n", MPIR_Process.rank,
                pcoll_shared_names[what], *text ? text : "unknown");
    }
    if (state->levels) {
        pcoll_sharing_levels_text(sharing, text, sizeof(text));
        fprintf(stderr, "[%d] pcoll: levels below %s: %s\n", MPIR_Process.rank,
                state->topology ? "each node" : "the node", text);
    }
}

static const char GOES_ON[] = "used all the same";

/* Communicators of one node use no provider, so it is compared when the first communicator with
 * several nodes is served. */
static void warn_of_other_provider(const struct MPIDI_PCOLL_comm *state, FILE *out)
{
    const char *provider = MPIDI_PCOLL_provider();
    struct pcoll_identity here = {.cores = 0};

    if (provider_compared || !provider || !pcoll_is_network(state->medium))
        return;
    provider_compared = true;
    pcoll_identity_text(here.provider, provider);
    pcoll_identity_compare(pcoll_table_identity(table), &here, "MPIR_CVAR_COLL_OFFLOAD_TUNING_FILE",
                           GOES_ON, out);
}

/* Settings of 0.1 that have become what the program or the tuning table decides. A message for one
 * release. */
static void warn_of_old_names(FILE *out)
{
    static const char *const old[][2] = {
        {"CMA", "the kernel's permission and the tuning table's `rma` decide"},
        {"CMA_THRESHOLD", "the tuning table's `rma` decides (pcoll-tune)"},
        {"COOP_THRESHOLD", "copies of 512 KiB or more are shared"},
        {"SHARE_UCX", "plans have a UCX context of their own if ..._INTERFACE is set"},
        {"AGENT_SPIN", "the agent chooses when to sleep"},
        {"AGENT_THRESHOLD", "the agent progresses plans of 64 KiB or more"},
    };
    char name[80];

    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        snprintf(name, sizeof(name), "MPIR_CVAR_COLL_OFFLOAD_%s", old[i][0]);
        if (getenv(name))
            fprintf(out, "%s is no longer a setting: %s\n", name, old[i][1]);
    }
}

/* The user's table if it is valid, otherwise the one that is compiled in. */
static struct pcoll_table *load_table(FILE *out)
{
    struct pcoll_identity here = pcoll_identity_here();
    const char *path = MPIR_CVAR_COLL_OFFLOAD_TUNING_FILE;
    struct pcoll_table *loaded = NULL;
    char *text = NULL;

    if (path && *path && pcoll_table_read(path, out, &text) == PCOLL_OK) {
        if (pcoll_table_parse(path, text, out, &loaded) == PCOLL_OK) {
            pcoll_identity_compare(pcoll_table_identity(loaded), &here, path, GOES_ON, out);
            free(text);
            return loaded;
        }
        free(text);
    }
    if (path && *path)
        fprintf(out, "MPIR_CVAR_COLL_OFFLOAD_TUNING_FILE: using the built-in table instead\n");
    if (pcoll_table_parse("built-in table", pcoll_tuning_default_json, out, &loaded) != PCOLL_OK)
        return NULL;
    return loaded;
}

static struct pcoll_caps caps_of(const struct MPIDI_PCOLL_comm *state)
{
    const struct pcoll_medium *medium = state->medium;
    struct pcoll_caps caps = {
        .level = state->level,
        .rails = medium->group_rails(state->group),
        .provides = allowed(state),
        .user_rma_threshold = MPIDI_PCOLL_forced()->cma_from,
        .max_temp = MPIDI_PCOLL_max_temp(),
        .measured = medium->group_machine(state->group),
        .cores = MPIDI_PCOLL_cores().count,
    };

    pcoll_caps_of_medium(&caps, medium->name, medium->node_medium, medium->max_slots);
    return caps;
}

/* The communication buffers of a rank. Ordinary calls have many plans, and a rank seldom runs many
 * calls ahead of the others. Those of long calls take what falls to a rank of their node. */
static uint64_t promoted_temp(const struct MPIDI_PCOLL_call *call)
{
    const uint64_t least = UINT64_C(64) << 10, most = UINT64_C(512) << 10, node = UINT64_C(8) << 20,
                   part = node / (uint64_t)call->signature.nranks;

    return call->is_long ? MPL_MAX(least, MPL_MIN(most, part)) : least;
}

static struct pcoll_caps caps_for(const struct MPIDI_PCOLL_call *call)
{
    struct pcoll_caps caps = caps_of(call->state);

    if (call->is_promoted) {
        caps.provides &= ~(unsigned)PCOLL_NEED_USER_RMA;
        caps.max_temp = MPL_MIN(caps.max_temp, promoted_temp(call));
    }
    return caps;
}

/* Prints the model's other candidates. */
static void print_losers(const struct pcoll_signature *signature, const struct pcoll_caps *caps,
                         const struct pcoll_choice *choice)
{
    struct pcoll_choice list[PCOLL_MAX_CANDIDATES];
    const int count = pcoll_candidates(table, signature, caps, list, PCOLL_MAX_CANDIDATES);
    char text[PCOLL_CHOICE_BYTES];

    for (int i = 0; i < count; i++) {
        if (pcoll_choice_same(&list[i], choice))
            continue;
        pcoll_choice_text(&list[i], text);
        fprintf(stderr, "[%d] pcoll: %s %llu B on %d ranks: not chosen: %s, predicted %.2f us\n",
                MPIR_Process.rank, pcoll_coll_name(signature->coll),
                (unsigned long long)signature->bytes, signature->nranks, text,
                list[i].predicted_us);
    }
}

void MPIDI_PCOLL_absolute_path(const char *name, char path[MPIDI_PCOLL_PATH_BYTES])
{
    char folder[PATH_MAX] = "";

    if (name && *name && *name != '/' && getcwd(folder, sizeof(folder) - 1))
        strcat(folder, "/");
    snprintf(path, MPIDI_PCOLL_PATH_BYTES, "%s%s", folder, name ? name : "");
}

/* The stream of messages to the user, empty; NULL: out of memory. */
static FILE *open_messages(void)
{
    if (messages.stream)
        rewind(messages.stream);
    else
        messages.stream = open_memstream(&messages.text, &messages.size);
    return messages.stream;
}

static void show_messages(void)
{
    if (ftell(messages.stream) <= 0)
        return;
    fputc('\0', messages.stream); /* an earlier text may have been longer */
    if (fflush(messages.stream) == 0)
        MPIDI_PCOLL_report_lines(messages.text);
}

bool MPIDI_PCOLL_has_wishes(const struct MPIDI_PCOLL_call *call)
{
    FILE *out = open_messages();
    struct MPIDI_PCOLL_hints hints;

    if (!out)
        return false;
    MPIDI_PCOLL_hints(call->signature.coll, call->info, &hints, out);
    return !MPIDI_PCOLL_is_open(&hints.hint) || hints.hint.radix > 0 || hints.hint.segment > 0 ||
           hints.races;
}

/* Rank 0's operands are, and so, it expects, are those of the other ranks. */
static bool is_in_heap(const struct MPIDI_PCOLL_call *call)
{
    return call->op && !call->in.is_packed &&
           pcoll_heap_find(call->in.user, (uint64_t)call->in.bytes).fd != PCOLL_NONE;
}

/* A choice that was remembered. One that needs mapped operands, and could not be bound, is replaced
 * by the one without them, if that is known. */
static bool recall(const struct MPIDI_PCOLL_comm *state, const struct pcoll_signature *signature,
                   struct pcoll_caps *caps, const struct pcoll_hint *hint, bool races,
                   struct pcoll_choice *choice)
{
    if (!MPIDI_PCOLL_recall(state->known, signature, caps, hint, races, choice))
        return false;
    if (!choice->algorithm->must_map || !MPIDI_PCOLL_is_spared(state->known))
        return true;
    caps->provides &= ~(unsigned)PCOLL_NEED_MAPPED;
    return MPIDI_PCOLL_recall(state->known, signature, caps, hint, races, choice);
}

/* Of the barrier of ordinary calls where ranks share cores, if the user leaves it open: rank 0
 * should leave first, as it leaves MPICH's. It is the root of most calls that follow, in which the
 * other ranks would wait for it (doc/notes/when-to-promote.md). Returns whether the hint says so
 * now. */
static bool prefer_rank_0_first(const struct MPIDI_PCOLL_call *call, struct pcoll_hint *hint)
{
    if (!call->is_promoted || call->signature.coll != PCOLL_BARRIER || !MPIDI_PCOLL_crowded ||
        !MPIDI_PCOLL_is_open(hint))
        return false;
    hint->algorithm = pcoll_barrier_knomial.name;
    return true;
}

/* The most data of a rank; of edges, only their largest block is known. */
static uint64_t most_bytes(const struct MPIDI_PCOLL_call *call)
{
    const struct pcoll_signature *s = &call->signature;
    const struct pcoll_collective *coll = pcoll_collective_of(s);

    if (call->local)
        return s->bytes * (uint64_t)s->nranks;
    return MPL_MAX(coll->send_bytes(s, NULL, s->root), coll->recv_bytes(s, NULL, s->root));
}

/* Short ordinary calls do not wait for the measurement. */
static bool must_measure(const struct MPIDI_PCOLL_call *call, bool races)
{
    if (call->is_promoted)
        return call->state->measures && call->is_long;
    return call->state->measures && (races || most_bytes(call) > FEW_BYTES);
}

static void choose(const struct MPIDI_PCOLL_call *call, bool is_mapped, bool may_race,
                   struct MPIDI_PCOLL_proposal *proposal, FILE *out)
{
    struct MPIDI_PCOLL_comm *state = call->state;
    const struct pcoll_signature *signature = &call->signature;
    struct pcoll_choice *choice = &proposal->choice;
    struct pcoll_caps caps = caps_for(call);
    struct MPIDI_PCOLL_hints hints;
    struct pcoll_hint *hint = &hints.hint;
    bool races, is_rank_0_first;

    MPIDI_PCOLL_hints(signature->coll, call->info, &hints, out);
    /* What wins with parameters that a hint has fixed would be learned for calls without it. */
    races = hints.races && may_race && hint->radix == 0 && hint->segment == 0;
    is_rank_0_first = prefer_rank_0_first(call, hint);
    caps.mapped = is_mapped;
    if (state->medium->traits & PCOLL_LOADS && is_in_heap(call))
        caps.provides |= PCOLL_NEED_MAPPED;
    if (call->is_unmapped)
        caps.provides &= ~(unsigned)PCOLL_NEED_MAPPED;
    if (hint->algorithm && strcmp(hint->algorithm, "mpich") == 0) {
        proposal->refusals = MPIDI_PCOLL_MPICH_IS_ASKED;
        return;
    }
    if (must_measure(call, races)) {
        proposal->refusals = MPIDI_PCOLL_MEASURE_FIRST;
        return;
    }
    if (!table) {
        warn_of_old_names(out);
        table = load_table(out);
        if (table)
            MPIDI_PCOLL_wisdom_read(table, out);
    }
    if (table)
        warn_of_other_provider(state, out);
    if (!table)
        return;
    if (!recall(state, signature, &caps, hint, races, choice)) {
        struct pcoll_choice few[PCOLL_RACE_PLANS];
        int n;

        if (pcoll_choose_few(table, signature, &caps, hint, out, few, races ? PCOLL_RACE_PLANS : 1,
                             &n) != PCOLL_OK) {
            proposal->refusals = pcoll_choose_refusals(table, signature, &caps, hint);
            return;
        }
        *choice = few[0];
        if (is_rank_0_first)
            choice->reason = "rank 0 leaves first";
        if (MPIDI_PCOLL_remember(&state->known, signature, &caps, hint, races, choice)) {
            proposal->nrivals = n - 1;
            memcpy(proposal->rivals, few + 1, (size_t)proposal->nrivals * sizeof(*few));
        }
    }
    if (MPIR_CVAR_COLL_OFFLOAD_VERBOSE > 1)
        print_losers(signature, &caps, choice);
}

void MPIDI_PCOLL_propose(const struct MPIDI_PCOLL_call *call, bool is_mapped, bool may_race,
                         struct MPIDI_PCOLL_proposal *proposal)
{
    FILE *out = open_messages();

    *proposal = (struct MPIDI_PCOLL_proposal){.nrivals = 0};
    if (!out)
        return;
    choose(call, is_mapped, may_race, proposal, out);
    show_messages();
}

/* Where an operator does not commute, fewer candidates have raced than a rule would be for. */
void MPIDI_PCOLL_learn(const struct pcoll_signature *signature, bool is_mapped,
                       const struct MPIDI_PCOLL_comm *state, const struct pcoll_choice *choice)
{
    struct pcoll_caps caps = caps_of(state);
    struct pcoll_rule rule;

    if (pcoll_coll_has(signature->coll, PCOLL_REDUCES) && !signature->commutes)
        return;
    caps.mapped = is_mapped;
    rule = pcoll_rule_of(signature, &caps, choice);
    MPIDI_PCOLL_wisdom_add(table, &rule);
}

void MPIDI_PCOLL_settings_keep(void)
{
    FILE *out = table ? open_messages() : NULL;

    if (!out)
        return;
    MPIDI_PCOLL_wisdom_keep(table, out);
    show_messages();
}

void MPIDI_PCOLL_settings_free(void)
{
    pcoll_table_destroy(table);
    table = NULL;
    if (messages.stream)
        fclose(messages.stream);
    free(messages.text);
    messages.stream = NULL;
    messages.text = NULL;
    provider_compared = false;
}
