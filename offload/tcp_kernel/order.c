/*
 * The order of what a rank sends, receives, copies and reduces in each phase.
 *
 * All ranks walk through the phase together, in rounds, without data. In a round a rank fires the
 * entries whose triggers the rounds before have reached, at most one that touches each neighbor. It
 * tells that neighbor in a note, and the neighbor appends the other end to its own script. What the
 * entry signals counts from the next round on. Within a round the script has
 *
 *     copies and reductions | pieces 0: sends, receives | pieces 1: sends, receives | ...
 *
 * A piece is at most settings.piece bytes of what one rank moves to another in this round. With a
 * get, the neighbor sends. When neither of two neighbors has anything left for the other, they stop
 * telling; when a rank has no such neighbor left and all its entries have fired, its phase is
 * known.
 *
 * No deadlock. Number what ranks do by (instance, round, piece, send before receive), and assume
 * that none can go on. Take an end with the lowest number. If it is a receive, its send has a lower
 * number: it has been done. If it is a send, the receiver has done everything with lower numbers,
 * so of all that was sent on this connection only this piece is missing, and there is room for it:
 * connect.c makes sure. So an end with the lowest number can go on.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/tcp_kernel/state.h"

enum note_kind { NOTE_NONE, NOTE_SIGNAL, NOTE_PUT, NOTE_GET };

/* What a rank tells a neighbor in a round. */
struct note {
    int32_t kind;    /* enum note_kind */
    int32_t counter; /* of the reader, which the entry signals; or PCOLL_NONE */
    uint64_t add;
    int32_t buffer;  /* of the reader */
    int32_t is_last; /* the writer has no entry left that touches the reader */
    uint64_t offset, bytes;
};

struct stretch {
    char *at;
    uint64_t bytes;
};

/* What moves between this rank and a neighbor in a round: what the owner of a PUT has told, then
 * what that of a GET has. */
enum { BY_PUT, BY_GET, NWAYS };

struct exchange {
    struct stretch out[NWAYS], in[NWAYS];
};

struct tcp_walk {
    struct tcp_bound *b;
    const struct pcoll_plan *plan;
    struct tcp_script *script; /* of this phase */
    bool synchronizes;
    uint64_t *counters, *coming; /* [ncounters]; what counts from the next round on */
    bool *fired;                 /* [nentries] */
    int *left;                   /* [nneighbors]: entries of this phase that touch it */
    int *active, nactive;        /* neighbors that this rank still tells, ascending */
    int *ranks;                  /* the same as ranks */
    struct note *own, *theirs;   /* [nneighbors]: of active[i] */
    struct exchange *exchanges;  /* [nneighbors] */
    int *place;                  /* [nneighbors]: i, where active[i] is the neighbor */
    enum pcoll_result result;
};

/* ---- firing ---- */

static void append(struct tcp_walk *w, struct tcp_action action)
{
    if (w->result == PCOLL_OK && !pcoll_tcp_script_add(w->script, action))
        w->result = PCOLL_ERR_NOMEM;
}

static void append_own_work(struct tcp_walk *w, const struct pcoll_entry *entry)
{
    const struct tcp_bound *b = w->b;

    if (entry->bytes == 0)
        return;
    if (entry->op == PCOLL_OP_COPY)
        append(w, (struct tcp_action){.kind = TCP_COPY,
                                      .from = pcoll_autonomous_at(&b->memory, entry->local),
                                      .to = pcoll_autonomous_at(&b->memory, entry->remote),
                                      .bytes = entry->bytes});
    else
        append(w,
               (struct tcp_action){.kind = TCP_REDUCE,
                                   .to = pcoll_autonomous_at(&b->memory, entry->local),
                                   .bytes = entry->bytes,
                                   .reduction = b->memory.reduction_of[entry - w->plan->entries]});
}

/* Write the note of an entry that touches a peer, and this rank's end of what it moves. */
static void tell(struct tcp_walk *w, const struct pcoll_entry *entry, int neighbor,
                 struct note *note)
{
    struct exchange *x = &w->exchanges[neighbor];
    struct stretch here = {.bytes = 0};

    *note =
        (struct note){.kind = NOTE_SIGNAL, .counter = entry->peer_counter, .add = entry->peer_add};
    if (pcoll_entry_is_remote(entry)) {
        note->kind = entry->op == PCOLL_OP_PUT ? NOTE_PUT : NOTE_GET;
        note->buffer = (int32_t)entry->remote.buffer;
        note->offset = entry->remote.offset;
        note->bytes = entry->bytes;
        here = (struct stretch){pcoll_autonomous_at(&w->b->memory, entry->local), entry->bytes};
    } else if (w->synchronizes) {
        here = (struct stretch){&w->b->token, sizeof(w->b->token)};
    }
    if (note->kind == NOTE_GET)
        x->in[BY_GET] = here;
    else
        x->out[BY_PUT] = here;
}

static bool is_reached(const struct tcp_walk *w, const struct pcoll_entry *entry)
{
    return entry->trigger == PCOLL_NONE ||
           (int64_t)(w->counters[entry->trigger] - entry->threshold) >= 0;
}

/* Returns whether the entry fires. What a move raises here counts from the next round on, as does
 * what anything raises there. */
static bool fire(struct tcp_walk *w, int i)
{
    const struct pcoll_entry *entry = &w->plan->entries[i];

    if (!is_reached(w, entry))
        return false;
    if (entry->peer != PCOLL_NONE) {
        const int neighbor = pcoll_autonomous_neighbor(w->plan, entry->peer);
        struct note *note = &w->own[w->place[neighbor]];

        if (note->kind != NOTE_NONE)
            return false;
        tell(w, entry, neighbor, note);
        note->is_last = --w->left[neighbor] == 0;
    }
    if (pcoll_entry_is_own_work(entry))
        append_own_work(w, entry);
    if (entry->done != PCOLL_NONE)
        (pcoll_entry_is_remote(entry) ? w->coming : w->counters)[entry->done] += entry->done_add;
    w->fired[i] = true;
    return true;
}

/* Fire what can be fired in this round; returns the number of entries. */
static int fire_all(struct tcp_walk *w, const struct pcoll_phase *phase)
{
    int count = 0, before;

    do {
        before = count;
        for (int i = phase->first; i < phase->first + phase->count; i++)
            if (!w->fired[i])
                count += fire(w, i);
    } while (count > before);
    return count;
}

/* ---- what the neighbors tell ---- */

/* Returns whether the note names memory of this rank. */
static bool is_valid(const struct tcp_walk *w, const struct note *note)
{
    const uint64_t size = note->buffer >= 0 && note->buffer < PCOLL_NUM_BUFFERS
                              ? w->b->memory.sizes[note->buffer]
                              : 0;

    return note->bytes <= size && note->offset <= size - note->bytes;
}

static bool has_counter(const struct tcp_walk *w, const struct note *note)
{
    return note->kind != NOTE_NONE && note->counter >= 0 && note->counter < w->plan->ncounters;
}

static void hear(struct tcp_walk *w, int neighbor, const struct note *note)
{
    struct exchange *x = &w->exchanges[neighbor];
    struct stretch here = {.bytes = 0};

    if (!is_valid(w, note))
        w->result = PCOLL_ERR_INVALID;
    else if (note->kind == NOTE_PUT || note->kind == NOTE_GET)
        here = (struct stretch){w->b->memory.buffers[note->buffer] + note->offset, note->bytes};
    else if (note->kind == NOTE_SIGNAL && w->synchronizes)
        here = (struct stretch){&w->b->token, sizeof(w->b->token)};
    if (note->kind == NOTE_GET)
        x->out[BY_GET] = here;
    else
        x->in[BY_PUT] = here;
    if (has_counter(w, note))
        w->coming[note->counter] += note->add;
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
static bool append_pieces(struct tcp_walk *w, uint64_t k, enum tcp_action_kind kind)
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

static void append_round(struct tcp_walk *w)
{
    bool some = true;

    for (uint64_t k = 0; some; k++) {
        some = append_pieces(w, k, TCP_SEND);
        some = append_pieces(w, k, TCP_RECV) || some;
    }
}

/* ---- rounds ---- */

static void begin_round(struct tcp_walk *w)
{
    memset(w->exchanges, 0, (size_t)w->plan->nneighbors * sizeof(*w->exchanges));
    for (int i = 0; i < w->nactive; i++) {
        w->place[w->active[i]] = i;
        w->ranks[i] = w->plan->neighbors[w->active[i]];
        w->own[i] = (struct note){.counter = PCOLL_NONE, .is_last = w->left[w->active[i]] == 0};
    }
}

/* Tell and hear. The walk ends on this rank if the bootstrap fails. */
static bool swap(struct tcp_walk *w)
{
    const struct pcoll_bootstrap *boot = &w->b->group->base.bootstrap;
    enum pcoll_result result = PCOLL_OK;

    if (w->nactive > 0)
        result =
            boot->swap(boot->context, w->ranks, w->nactive, w->own, w->theirs, sizeof(*w->own));
    if (result != PCOLL_OK)
        w->result = result;
    return result == PCOLL_OK;
}

static void end_round(struct tcp_walk *w)
{
    int n = 0;

    for (int i = 0; i < w->nactive; i++)
        hear(w, w->active[i], &w->theirs[i]);
    append_round(w);
    for (int c = 0; c < w->plan->ncounters; c++) {
        w->counters[c] += w->coming[c];
        w->coming[c] = 0;
    }
    for (int i = 0; i < w->nactive; i++)
        if (!w->own[i].is_last || !w->theirs[i].is_last)
            w->active[n++] = w->active[i];
    w->nactive = n;
}

static void begin_phase(struct tcp_walk *w, int p)
{
    const struct pcoll_phase *phase = &w->plan->phases[p];

    w->script = &w->b->scripts[p];
    w->nactive = w->plan->nneighbors;
    for (int n = 0; n < w->nactive; n++) {
        w->active[n] = n;
        w->left[n] = 0;
    }
    for (int i = phase->first; i < phase->first + phase->count; i++)
        if (w->plan->entries[i].peer != PCOLL_NONE)
            w->left[pcoll_autonomous_neighbor(w->plan, w->plan->entries[i].peer)]++;
}

/* An entry that no signal can reach any more would be a defect of the plan. */
static bool walk_phase(struct tcp_walk *w, int p)
{
    const struct pcoll_phase *phase = &w->plan->phases[p];
    int left = phase->count, fired;

    begin_phase(w, p);
    while (left > 0 || w->nactive > 0) {
        const bool is_alone = w->nactive == 0;

        begin_round(w);
        fired = fire_all(w, phase);
        left -= fired;
        if (!swap(w))
            return false;
        end_round(w);
        if (is_alone && fired == 0 && left > 0) {
            w->result = PCOLL_ERR_INVALID;
            return true;
        }
    }
    pcoll_tcp_script_defer(w->script);
    return true;
}

/* After a cycle each counter has its gain: otherwise the next cycle would be another one. */
static bool is_closed(const struct tcp_walk *w)
{
    for (int c = 0; c < w->plan->ncounters; c++)
        if (w->counters[c] != w->plan->gain[c])
            return false;
    return true;
}

static bool get_tables(struct tcp_walk *w)
{
    const size_t n = (size_t)w->plan->nneighbors + 1, c = (size_t)w->plan->ncounters + 1;

    w->counters = calloc(c, sizeof(*w->counters));
    w->coming = calloc(c, sizeof(*w->coming));
    w->fired = calloc((size_t)w->plan->nentries + 1, sizeof(*w->fired));
    w->left = calloc(n, sizeof(*w->left));
    w->active = calloc(n, sizeof(*w->active));
    w->ranks = calloc(n, sizeof(*w->ranks));
    w->place = calloc(n, sizeof(*w->place));
    w->own = calloc(n, sizeof(*w->own));
    w->theirs = calloc(n, sizeof(*w->theirs));
    w->exchanges = calloc(n, sizeof(*w->exchanges));
    return w->counters && w->coming && w->fired && w->left && w->active && w->ranks && w->place &&
           w->own && w->theirs && w->exchanges;
}

/* Where the result is that all have started, a get would have to wait for its peer's start. */
static bool is_possible(const struct tcp_walk *w)
{
    for (int i = 0; w->synchronizes && i < w->plan->nentries; i++)
        if (w->plan->entries[i].op == PCOLL_OP_GET)
            return false;
    return true;
}

enum pcoll_result pcoll_tcp_walk(struct tcp_walk *w)
{
    bool goes_on = true;

    for (int p = 0; goes_on && p < w->plan->nphases; p++)
        goes_on = walk_phase(w, p);
    if (w->result == PCOLL_OK && !is_closed(w))
        w->result = PCOLL_ERR_INVALID;
    if (w->result == PCOLL_ERR_INVALID)
        pcoll_tcp_report(&w->b->group->base.bootstrap, "the plans of %s %s do not fit together",
                         pcoll_coll_name(w->plan->signature.coll), w->plan->algorithm);
    return w->result;
}

enum pcoll_result pcoll_tcp_walk_create(struct tcp_bound *b, struct tcp_walk **walk_p)
{
    struct tcp_walk *w = calloc(1, sizeof(*w));
    enum pcoll_result result;

    if (w == NULL)
        return PCOLL_ERR_NOMEM;
    w->b = b;
    w->plan = b->plan;
    w->synchronizes = pcoll_coll_has(b->plan->signature.coll, PCOLL_SYNCHRONIZES);
    result = get_tables(w) ? PCOLL_OK : PCOLL_ERR_NOMEM;
    if (result == PCOLL_OK && !is_possible(w))
        result = PCOLL_UNSUPPORTED;
    if (result == PCOLL_OK) {
        *walk_p = w;
        return PCOLL_OK;
    }
    pcoll_tcp_walk_destroy(w);
    return result;
}

void pcoll_tcp_walk_destroy(struct tcp_walk *w)
{
    if (w == NULL)
        return;
    free(w->counters);
    free(w->coming);
    free(w->fired);
    free(w->left);
    free(w->active);
    free(w->ranks);
    free(w->place);
    free(w->own);
    free(w->theirs);
    free(w->exchanges);
    free(w);
}
