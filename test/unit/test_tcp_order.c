/*
 * The scripts of all ranks of a plan on `tcp_kernel`, without a kernel: the ranks of one process
 * perform them by turns, at random, over connections that hold no more than one piece. They must
 * deliver the right data, and no rank may wait forever.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/tcp_kernel/state.h"
#include "offload/tcp_kernel/walk.h"
#include "test/unit/job.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"

enum { PIECE = 16, MOST_RANKS = 17, INSTANCES = 5 };

/* What is on its way from one rank to another. */
struct channel {
    char bytes[PIECE];
    int first, n;
};

/* A rank. Of the bound plan only what a script needs is set. */
struct player {
    struct tcp_bound b;
    struct part part;
    bool is_started;
};

static struct player players[MOST_RANKS];
static struct channel channels[MOST_RANKS][MOST_RANKS]; /* [from][to] */
static _Atomic int starts[MOST_RANKS];

/* ---- a medium that performs scripts ---- */

static size_t send_some(struct channel *c, const char *from, size_t bytes)
{
    size_t n = 0;

    while (n < bytes && c->n < PIECE)
        c->bytes[(c->first + c->n++) % PIECE] = from[n++];
    return n;
}

static size_t receive_some(struct channel *c, char *to, size_t bytes)
{
    size_t n = 0;

    while (n < bytes && c->n > 0) {
        to[n++] = c->bytes[c->first];
        c->first = (c->first + 1) % PIECE;
        c->n--;
    }
    return n;
}

/* Returns the number of bytes of the action that it performs now. */
static size_t act(struct tcp_bound *b, const struct tcp_action *action)
{
    const size_t left = action->bytes - b->done;
    int peer;

    if (action->kind == TCP_COPY)
        memmove(action->to, action->from, action->bytes);
    if (action->kind == TCP_REDUCE && pcoll_reduce(action->reduction) != PCOLL_OK)
        abort();
    if (!tcp_is_kernels(action))
        return left;
    peer = b->plan->neighbors[action->neighbor];
    if (action->kind == TCP_SEND)
        return send_some(&channels[b->plan->rank][peer], action->from + b->done, left);
    return receive_some(&channels[peer][b->plan->rank], action->to + b->done, left);
}

/* A rank goes on as far as it can; returns whether it has. */
static int advance(struct tcp_bound *b)
{
    int some = 0;

    while (b->position < b->script->n) {
        const struct tcp_action *action = &b->script->actions[b->position];
        const size_t n = act(b, action);

        if (n == 0)
            break;
        some = 1;
        b->done += n;
        if (b->done == action->bytes) {
            b->position++;
            b->done = 0;
        }
    }
    return some;
}

static enum pcoll_result play_progress(struct pcoll_bound *bound)
{
    const struct tcp_bound *b = tcp_bound_of(bound);

    return b->position == b->script->n ? PCOLL_OK : PCOLL_PENDING;
}

static enum pcoll_result play_spin(struct pcoll_bound *bound, unsigned spins)
{
    (void)spins;
    return play_progress(bound);
}

static enum pcoll_result play_start(struct pcoll_bound *bound)
{
    struct tcp_bound *b = tcp_bound_of(bound);

    b->script = &b->scripts[b->starts++ % (uint64_t)b->nphases];
    b->position = 0;
    b->done = 0;
    return play_progress(bound);
}

static enum pcoll_result play_bind(struct pcoll_group *group, const struct pcoll_plan *plan,
                                   const struct pcoll_memory *memory, struct pcoll_bound **bound_p)
{
    struct tcp_bound *b = &players[plan->rank].b;

    *b = (struct tcp_bound){.plan = plan, .nphases = plan->nphases, .nneighbors = plan->nneighbors};
    b->base.medium = group->medium;
    b->scripts = calloc((size_t)plan->nphases, sizeof(*b->scripts));
    *bound_p = &b->base;
    return pcoll_autonomous_memory_init(&b->memory, plan, memory);
}

static void play_unbind(struct pcoll_bound *bound)
{
    struct tcp_bound *b = tcp_bound_of(bound);

    for (int p = 0; p < b->nphases; p++)
        free(b->scripts[p].actions);
    free(b->scripts);
    pcoll_autonomous_memory_fini(&b->memory);
}

static const struct pcoll_medium medium = {
    .name = "played",
    .group_provides = pcoll_tcp_group_provides,
    .bind = play_bind,
    .unbind = play_unbind,
    .start = play_start,
    .progress = play_progress,
    .spin = play_spin,
};

/* ---- jobs ---- */

/* What each bind does with the outlines that it has gathered. */
static int write_scripts(int nranks)
{
    size_t bytes = 0;
    struct tcp_walk *walk;
    int wrong = 1;
    char *all;

    for (int r = 0; r < nranks; r++)
        if (pcoll_tcp_outline_bytes(players[r].part.plan) > bytes)
            bytes = pcoll_tcp_outline_bytes(players[r].part.plan);
    all = calloc(MOST_RANKS, bytes);
    for (int r = 0; r < nranks; r++)
        pcoll_tcp_outline_write(players[r].part.plan, (void *)(all + (size_t)r * bytes));
    if (pcoll_tcp_walk_create(nranks, all, bytes, &walk) == PCOLL_OK) {
        wrong = 0;
        for (int r = 0; r < nranks; r++)
            wrong |= pcoll_tcp_write_scripts(&players[r].b, walk) != PCOLL_OK;
        pcoll_tcp_walk_destroy(walk);
    }
    free(all);
    return !wrong;
}

static int begin(const struct job *job)
{
    static struct pcoll_group group = {.medium = &medium};
    int right = 1;

    memset(players, 0, sizeof(players));
    memset(channels, 0, sizeof(channels));
    for (int r = 0; r < job->signature.nranks; r++) {
        struct part *p = &players[r].part;

        *p = (struct part){.medium = &medium,
                           .group = &group,
                           .signature = job->signature,
                           .rank = r,
                           .seed = (unsigned)r + 1,
                           .starts = starts};
        right &= part_init(p, job->algorithm, &job->params) == PCOLL_OK && part_bind(p) == PCOLL_OK;
    }
    return right;
}

static void end(const struct job *job)
{
    for (int r = 0; r < job->signature.nranks; r++) {
        if (players[r].part.bound)
            part_unbind(&players[r].part);
        part_fini(&players[r].part);
    }
}

/* Starts the next instance of a rank, goes on with it, or ends it. Returns whether something has
 * happened. */
static int take_turn(struct player *p, int *wrong)
{
    if (!p->is_started) {
        if (p->part.instance == INSTANCES)
            return 0;
        *wrong |= part_start(&p->part);
        p->is_started = true;
        return 1;
    }
    if (play_progress(&p->b.base) == PCOLL_PENDING)
        return advance(&p->b);
    *wrong |= part_wait(&p->part);
    p->is_started = false;
    return 1;
}

/* Returns whether all instances end, with the right data. A rank often takes several turns, so that
 * it runs ahead. */
static int perform(int nranks)
{
    unsigned seed = 1;
    int wrong = 0, left = 0;

    for (int idle = 0; idle < nranks && !wrong;) {
        const int first = rand_r(&seed) % nranks;
        int some = 0;

        for (int r = 0; r < nranks && !some; r++)
            some = take_turn(&players[(first + r) % nranks], &wrong);
        idle = some ? 0 : nranks;
    }
    for (int r = 0; r < nranks; r++)
        left += players[r].part.instance < INSTANCES;
    for (int i = 0; i < nranks * nranks; i++)
        left += channels[i / nranks][i % nranks].n > 0;
    return !wrong && left == 0;
}

/* ---- mutants ---- */

/* Exchange the first two actions of that kind with one neighbor that differ in memory; returns
 * whether a script has such a pair. */
static int mutate(int nranks, enum tcp_action_kind kind)
{
    for (int r = 0; r < nranks; r++) {
        struct tcp_script *script = &players[r].b.scripts[0];

        for (int i = 0; i < script->n; i++)
            for (int k = i + 1; k < script->n; k++) {
                struct tcp_action *a = &script->actions[i], *b = &script->actions[k];
                const struct tcp_action first = *a;

                if (a->kind != kind || b->kind != kind || a->neighbor != b->neighbor ||
                    (a->from == b->from && a->to == b->to))
                    continue;
                *a = *b;
                *b = first;
                return 1;
            }
    }
    return 0;
}

static int receives_first(const void *left, const void *right)
{
    const struct tcp_action *a = left, *b = right;

    return (b->kind == TCP_RECV) - (a->kind == TCP_RECV);
}

/* Every rank receives all before it sends anything. */
static void turn(int nranks)
{
    for (int r = 0; r < nranks; r++)
        for (int p = 0; p < players[r].b.nphases; p++) {
            struct tcp_script *script = &players[r].b.scripts[p];

            if (script->n > 0)
                qsort(script->actions, (size_t)script->n, sizeof(*script->actions), receives_first);
        }
}

/* ---- all rows ---- */

struct tally {
    int jobs, wrong, mutants, accepted;
};

static void run_job(const struct job *job, struct tally *tally)
{
    int right = begin(job);

    if (right && pcoll_tcp_is_possible(players[0].part.plan)) {
        right = write_scripts(job->signature.nranks) && perform(job->signature.nranks);
        tally->jobs++;
    }
    tally->wrong += !right;
    if (!right)
        printf("# %s: wrong\n", job_name(job));
    end(job);
}

static void run_mutants(const struct job *job, struct tally *tally)
{
    static const enum tcp_action_kind kinds[] = {TCP_SEND, TCP_RECV};
    const int nranks = job->signature.nranks;

    for (int i = 0; i < 2; i++) {
        if (begin(job) && pcoll_tcp_is_possible(players[0].part.plan) && write_scripts(nranks) &&
            mutate(nranks, kinds[i])) {
            const int accepted = perform(nranks);

            tally->mutants++;
            tally->accepted += accepted;
            if (accepted)
                printf("# %s: a mutant is not noticed\n", job_name(job));
        }
        end(job);
    }
}

static void run_row(const struct pcoll_algorithm *row, int nranks, struct tally *tally)
{
    struct pcoll_params params[JOB_VARIANTS];
    const int n = job_variants(row, nranks, params);

    for (int i = 0; i < n; i++)
        for (int form = 0; form < JOB_FORMS; form++) {
            struct job job = {.algorithm = row,
                              .signature = {.coll = row->coll, .nranks = nranks},
                              .params = params[i]};

            if (!pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES))
                job.signature.bytes = 75;
            if (pcoll_coll_has(row->coll, PCOLL_ROOTED))
                job.signature.root = (nranks - 1) / 2;
            job.params.segment = row->uses_segment ? 20 : 0;
            if (!job_take_form(&job, form))
                continue;
            run_job(&job, tally);
            if (nranks == 3 && i == 0 && form == 0)
                run_mutants(&job, tally);
        }
}

static void check_rows(void)
{
    static const int numbers[] = {3, 1, 2, 5, 8, 12, 4, 6, 7, 9, 16, 17}, counts[] = {3, 6, 12};
    const int count = counts[tap_depth() < TAP_FULL ? tap_depth() : TAP_FULL];
    struct tally tally = {0};

    for (int i = 0; i < count; i++)
        PCOLL_EACH_ALGORITHM (row)
            if (!row->must_map) /* the medium reads no memory of other ranks */
                run_row(row, numbers[i], &tally);
    tap_ok(tally.wrong == 0 && tally.jobs > 0,
           "%d jobs: over connections with room for a piece, the data is right and none hangs",
           tally.jobs);
    tap_ok(tally.accepted == 0 && tally.mutants > 0,
           "%d mutants, with two messages of a connection exchanged at one end, are noticed",
           tally.mutants);
}

/* ---- what must be refused ---- */

/* A ring whose ranks all receive first. */
static void check_circle(void)
{
    const struct job job = {.algorithm = pcoll_algorithm_find(PCOLL_ALLGATHER, "ring"),
                            .signature = {.coll = PCOLL_ALLGATHER, .nranks = 4, .bytes = 75},
                            .params = {.path = PCOLL_PATH_USER}};
    int noticed = 0;

    if (begin(&job) && write_scripts(4)) {
        turn(4);
        noticed = !perform(4);
    }
    end(&job);
    tap_ok(noticed, "ranks that wait in a circle are noticed");
}

/* One rank signals too little, or too much. */
static void check_misfits(void)
{
    const struct job job = {.algorithm = pcoll_algorithm_find(PCOLL_BARRIER, "dissemination"),
                            .signature = {.coll = PCOLL_BARRIER, .nranks = 5}};
    int refused = 0;

    for (uint64_t add = 0; add <= 2; add += 2) {
        struct pcoll_plan *plan;

        if (begin(&job)) {
            plan = players[2].part.plan;
            for (int i = 0; i < plan->nentries; i++)
                plan->entries[i].peer_add = add;
            refused += !write_scripts(5);
        }
        end(&job);
    }
    tap_ok(refused == 2, "plans that do not fit together are refused");
}

/* A rank does not know one that signals it, or none at all. */
static void check_strangers(void)
{
    const struct job jobs[] = {{.algorithm = pcoll_algorithm_find(PCOLL_BARRIER, "dissemination"),
                                .signature = {.coll = PCOLL_BARRIER, .nranks = 7}},
                               {.algorithm = pcoll_algorithm_find(PCOLL_BCAST, "knomial_put"),
                                .signature = {.coll = PCOLL_BCAST, .nranks = 2, .bytes = 8}}};
    int refused = 0;

    for (int i = 0; i < 2; i++) {
        if (begin(&jobs[i])) {
            struct pcoll_plan *plan = players[1].part.plan;

            plan->nneighbors = i == 0 ? plan->nneighbors - 1 : 0;
            refused += !write_scripts(jobs[i].signature.nranks);
        }
        end(&jobs[i]);
    }
    tap_ok(refused == 2, "a rank that touches one that does not know it is refused");
}

/* ---- rounds ---- */

/* Rank 0 signals rank 1, which makes its next entry for rank 1 fire; rank 1 waits for both. */
static struct pcoll_plan *chained_plan(int rank)
{
    const struct pcoll_signature signature = {.coll = PCOLL_BCAST, .nranks = 2};
    struct pcoll_entry first = pcoll_entry_add(PCOLL_NONE, 0), second = pcoll_entry_add(0, 1);
    struct pcoll_plan *plan;

    if (pcoll_plan_create(&signature, NULL, rank, &plan) != PCOLL_OK ||
        !pcoll_plan_begin(plan, 1, 1))
        abort();
    pcoll_plan_open(plan, 0);
    if (rank == 0) {
        pcoll_plan_add(plan, pcoll_entry_done(pcoll_entry_signal(first, 1, 0, 1), 0, 1));
        pcoll_plan_add(plan, pcoll_entry_signal(second, 1, 0, 1));
    } else {
        pcoll_plan_neighbor(plan, 0);
        pcoll_plan_add(plan, pcoll_entry_wait(0, 2));
    }
    if (pcoll_plan_seal(plan) != PCOLL_OK)
        abort();
    return plan;
}

/* In one round a rank has at most one entry for a neighbor: order.c has room for one. */
static void check_chained(void)
{
    static const struct tcp_event ought[] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 2}};
    struct pcoll_plan *plans[] = {chained_plan(0), chained_plan(1)};
    const size_t bytes = pcoll_tcp_outline_bytes(plans[0]);
    char *all = calloc(2, bytes);
    struct tcp_walk *walk = NULL;
    int right;

    for (int r = 0; r < 2; r++)
        pcoll_tcp_outline_write(plans[r], (void *)(all + (size_t)r * bytes));
    right = pcoll_tcp_walk_create(2, all, bytes, &walk) == PCOLL_OK && walk->nevents == 3 &&
            memcmp(walk->events, ought, sizeof(ought)) == 0 && walk->counters[1][0] == 2;
    tap_ok(right, "entries for one neighbor fire in different rounds");
    pcoll_tcp_walk_destroy(walk);
    free(all);
    for (int r = 0; r < 2; r++)
        pcoll_plan_destroy(plans[r]);
}

int main(void)
{
    pcoll_tcp_kernel_settings.piece = PIECE;
    check_rows();
    check_circle();
    check_misfits();
    check_strangers();
    check_chained();
    return tap_done();
}
