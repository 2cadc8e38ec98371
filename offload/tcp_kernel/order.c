/*
 * The order of what a rank sends, receives, copies and reduces in each phase: that of the walk
 * (walk.h). Ranks show each other the outlines of their plans, and each walks by itself. Of what
 * fires in a round it takes its own entries, and the other ends of those that touch it. Within a
 * round its script has
 *
 *     copies and reductions | pieces 0: sends, receives | pieces 1: sends, receives | ...
 *
 * A piece is at most settings.piece bytes of what one rank moves to another in this round. With a
 * get, the neighbor sends.
 *
 * No deadlock. Number what ranks do by (instance, round, piece, send before receive), and assume
 * that none can go on. Take an end with the lowest number. If it is a receive, its send has a lower
 * number: it has been done. If it is a send, the receiver has done everything with lower numbers,
 * so of all that was sent on this connection only this piece is missing, and there is room for it:
 * connect.c makes sure. So an end with the lowest number can go on.
 *
 * A local socket wakes its sender only when three quarters of the room are free, and until the
 * receive the rest of this piece may wait for that. But then the sender met with a connection full
 * of earlier pieces, and its receiver comes to its own sends later. So of the ends with the lowest
 * number, the sender that came last does not wait.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/tcp_kernel/state.h"
#include "offload/tcp_kernel/walk.h"

/* ---- outlines ---- */

struct tcp_outlines {
    size_t bytes; /* of the longest */
    char *all;    /* [nranks] */
    void *room;   /* for pcoll_gather_by_swap */
};

enum pcoll_result pcoll_tcp_outlines_create(const struct tcp_bound *b, size_t bytes,
                                            struct tcp_outlines **outlines_p)
{
    const struct pcoll_bootstrap *boot = &b->group->base.bootstrap;
    const size_t nranks = (size_t)boot->nranks;
    struct tcp_outlines *o;

    if (bytes > pcoll_tcp_kernel_settings.outlines / nranks) {
        if (boot->rank == 0)
            pcoll_tcp_report(boot, "%s %s has too many entries for %d ranks",
                             pcoll_coll_name(b->plan->signature.coll), b->plan->algorithm,
                             boot->nranks);
        return PCOLL_UNSUPPORTED;
    }
    o = calloc(1, sizeof(*o));
    if (o == NULL)
        return PCOLL_ERR_NOMEM;
    o->bytes = bytes;
    o->all = calloc(nranks, bytes);
    o->room = malloc(pcoll_gather_room(boot->nranks, bytes) + 1);
    if (o->all && o->room) {
        pcoll_tcp_outline_write(b->plan, (void *)(o->all + (size_t)boot->rank * bytes));
        *outlines_p = o;
        return PCOLL_OK;
    }
    pcoll_tcp_outlines_destroy(o);
    return PCOLL_ERR_NOMEM;
}

void pcoll_tcp_outlines_destroy(struct tcp_outlines *o)
{
    if (o == NULL)
        return;
    free(o->all);
    free(o->room);
    free(o);
}

/* ---- what fires in a round ---- */

struct stretch {
    char *at;
    uint64_t bytes;
};

/* What moves between this rank and a neighbor in a round: by a PUT of its owner, then by a GET. */
enum { BY_PUT, BY_GET, NWAYS };

struct exchange {
    struct stretch out[NWAYS], in[NWAYS];
};

struct writer {
    struct tcp_bound *b;
    const struct pcoll_plan *plan;
    struct tcp_script *script; /* of this phase */
    bool synchronizes;
    int round;
    bool moves;                 /* something does in this round */
    struct exchange *exchanges; /* [nneighbors] */
    enum pcoll_result result;
};

static void append(struct writer *w, struct tcp_action action)
{
    if (w->result == PCOLL_OK && !pcoll_tcp_script_add(w->script, action))
        w->result = PCOLL_ERR_NOMEM;
}

static void append_own_work(struct writer *w, int i)
{
    const struct pcoll_entry *entry = &w->plan->entries[i];
    const struct pcoll_autonomous_memory *memory = &w->b->memory;

    if (entry->bytes == 0)
        return;
    if (entry->op == PCOLL_OP_COPY)
        append(w, (struct tcp_action){.kind = TCP_COPY,
                                      .from = pcoll_autonomous_at(memory, entry->local),
                                      .to = pcoll_autonomous_at(memory, entry->remote),
                                      .bytes = entry->bytes});
    else
        append(w, (struct tcp_action){.kind = TCP_REDUCE,
                                      .to = pcoll_autonomous_at(memory, entry->local),
                                      .bytes = entry->bytes,
                                      .reduction = memory->reduction_of[i]});
}

/* A signal without data says that its rank has started; where nobody wants to know that, it is left
 * out. */
static struct stretch stretch_of(const struct writer *w, bool is_move, struct stretch moved)
{
    if (is_move)
        return moved;
    return (struct stretch){&w->b->token, w->synchronizes ? sizeof(w->b->token) : 0};
}

/* An entry of this rank has fired. */
static void add_own(struct writer *w, int i)
{
    const struct pcoll_entry *entry = &w->plan->entries[i];
    struct exchange *x;

    if (pcoll_entry_is_own_work(entry))
        append_own_work(w, i);
    if (entry->peer == PCOLL_NONE)
        return;
    x = &w->exchanges[pcoll_autonomous_neighbor(w->plan, entry->peer)];
    *(entry->op == PCOLL_OP_GET ? &x->in[BY_GET] : &x->out[BY_PUT]) = stretch_of(
        w, pcoll_entry_is_remote(entry),
        (struct stretch){pcoll_autonomous_at(&w->b->memory, entry->local), entry->bytes});
    w->moves = true;
}

/* Returns whether the note names memory of this rank. */
static bool is_valid(const struct writer *w, const struct tcp_note *note)
{
    const uint64_t size = note->buffer >= 0 && note->buffer < PCOLL_NUM_BUFFERS
                              ? w->b->memory.sizes[note->buffer]
                              : 0;

    return note->bytes <= size && note->offset <= size - note->bytes;
}

/* An entry of rank `owner` that touches this rank has fired. */
static void add_theirs(struct writer *w, int owner, const struct tcp_note *note)
{
    const bool is_move = note->op == PCOLL_OP_PUT || note->op == PCOLL_OP_GET;
    const int neighbor = pcoll_autonomous_neighbor(w->plan, owner);
    struct stretch here = {.bytes = 0};
    struct exchange *x;

    if (neighbor == PCOLL_NONE || (is_move && !is_valid(w, note))) {
        w->result = PCOLL_ERR_INVALID;
        return;
    }
    x = &w->exchanges[neighbor];
    if (is_move)
        here = (struct stretch){w->b->memory.buffers[note->buffer] + note->offset, note->bytes};
    *(note->op == PCOLL_OP_GET ? &x->out[BY_GET] : &x->in[BY_PUT]) = stretch_of(w, is_move, here);
    w->moves = true;
}

/* ---- the pieces of a round ---- */

static uint64_t count_pieces(uint64_t bytes)
{
    const uint64_t piece = pcoll_tcp_kernel_settings.piece;

    return (bytes + piece - 1) / piece;
}

/* Piece k of what moves in one direction; false: there are fewer. */
static bool piece_of(const struct stretch *ways, uint64_t k, struct stretch *piece_p)
{
    const uint64_t piece = pcoll_tcp_kernel_settings.piece;

    for (int way = 0; way < NWAYS; way++) {
        const uint64_t n = count_pieces(ways[way].bytes);

        if (k < n) {
            const uint64_t rest = ways[way].bytes - k * piece;

            *piece_p = (struct stretch){ways[way].at + k * piece, rest < piece ? rest : piece};
            return true;
        }
        k -= n;
    }
    return false;
}

/* Append pieces k of one direction, with the ranks above this one first, so that not all ranks send
 * to the same one; false: there are none. */
static bool append_pieces(struct writer *w, uint64_t k, enum tcp_action_kind kind)
{
    const int n = w->plan->nneighbors;
    int first = 0;
    bool some = false;

    while (first < n && w->plan->neighbors[first] < w->plan->rank)
        first++;
    for (int j = 0; j < n; j++) {
        const int neighbor = (first + j) % n;
        const struct exchange *x = &w->exchanges[neighbor];
        struct tcp_action action = {.kind = kind, .neighbor = neighbor};
        struct stretch piece;

        if (!piece_of(kind == TCP_SEND ? x->out : x->in, k, &piece))
            continue;
        some = true;
        action.bytes = piece.bytes;
        *(kind == TCP_SEND ? &action.from : &action.to) = piece.at;
        append(w, action);
    }
    return some;
}

static void append_round(struct writer *w)
{
    bool some = true;

    for (uint64_t k = 0; some; k++) {
        some = append_pieces(w, k, TCP_SEND);
        some = append_pieces(w, k, TCP_RECV) || some;
    }
}

/* ---- all of them ---- */

static void end_round(struct writer *w)
{
    if (!w->moves)
        return;
    append_round(w);
    memset(w->exchanges, 0, (size_t)w->plan->nneighbors * sizeof(*w->exchanges));
    w->moves = false;
}

static void add_event(struct writer *w, const struct tcp_walk *walk, const struct tcp_event *event)
{
    const struct tcp_note *note = &walk->outlines[event->rank]->notes[event->entry];

    if (event->round != w->round)
        end_round(w);
    w->round = event->round;
    w->script = &w->b->scripts[note->phase];
    if (event->rank == w->plan->rank)
        add_own(w, event->entry);
    else if (note->peer == w->plan->rank)
        add_theirs(w, event->rank, note);
}

/* After a cycle each counter has its gain: otherwise the next cycle would be another one. */
static bool is_closed(const struct pcoll_plan *plan, const struct tcp_walk *walk)
{
    for (int c = 0; c < plan->ncounters; c++)
        if (walk->counters[plan->rank][c] != plan->gain[c])
            return false;
    return true;
}

enum pcoll_result pcoll_tcp_write_scripts(struct tcp_bound *b, const struct tcp_walk *walk)
{
    struct writer w = {
        .b = b,
        .plan = b->plan,
        .synchronizes = pcoll_coll_has(b->plan->signature.coll, PCOLL_SYNCHRONIZES),
        .exchanges = calloc((size_t)b->nneighbors + 1, sizeof(*w.exchanges)),
    };

    if (w.exchanges == NULL)
        return PCOLL_ERR_NOMEM;
    for (int e = 0; e < walk->nevents && w.result == PCOLL_OK; e++)
        add_event(&w, walk, &walk->events[e]);
    end_round(&w);
    free(w.exchanges);
    for (int p = 0; p < b->nphases; p++)
        pcoll_tcp_script_defer(&b->scripts[p]);
    return w.result == PCOLL_OK && !is_closed(b->plan, walk) ? PCOLL_ERR_INVALID : w.result;
}

enum pcoll_result pcoll_tcp_order(struct tcp_bound *b, struct tcp_outlines *o)
{
    const struct pcoll_bootstrap *boot = &b->group->base.bootstrap;
    struct tcp_walk *walk = NULL;
    enum pcoll_result result = pcoll_gather_by_swap(boot, o->all, o->bytes, o->room);

    if (result == PCOLL_OK)
        result = pcoll_tcp_walk_create(boot->nranks, o->all, o->bytes, &walk);
    if (result == PCOLL_OK)
        result = pcoll_tcp_write_scripts(b, walk);
    if (result == PCOLL_ERR_INVALID)
        pcoll_tcp_report(boot, "the plans of %s %s do not fit together",
                         pcoll_coll_name(b->plan->signature.coll), b->plan->algorithm);
    pcoll_tcp_walk_destroy(walk);
    return result;
}

bool pcoll_tcp_is_possible(const struct pcoll_plan *plan)
{
    for (int i = 0; i < plan->nentries; i++)
        if (pcoll_coll_has(plan->signature.coll, PCOLL_SYNCHRONIZES) &&
            plan->entries[i].op == PCOLL_OP_GET)
            return false;
    return true;
}
