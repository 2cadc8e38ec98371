/*
 * The explorer: helpers. Anybody in the node, another rank or an agent, may copy for a rank that
 * does not. An entry that moves more than a chunk is bulk: a helper looks at the word by which its
 * chunks are claimed, then reads what is copied, then claims a chunk by a compare-and-swap of that
 * word; all of these are events of their own, so what it has read may be old. It reads the chunk
 * and writes it. Who copies the last chunk lands the entry, and the signals follow.
 *
 * Tickets (offload/node/coop.h), with any number of helpers. When the entry fires, its rank takes
 * its ticket, of which it has one: it writes there what is to be copied, in how many chunks, and
 * then opens it. When the entry has landed, it may take the ticket for another one.
 *
 *     owner     fire - open                                        done - fire - open
 *     helper              look - words - claim - read - write, left = 0: signal
 *     helper                  look - words ----------------------------------- claim: too old
 *
 * Boards (offload/node/board.h). Each entry has a notice, whose word also says how many chunks are
 * left, and whether a helper holds one: one helper at a time has a chunk, and the owner another. A
 * rank opens all notices at its start, in order, and what the helper reads is whether the trigger
 * has been reached. (That the start takes time makes no difference: what it opens early can be
 * claimed late.) The notice is closed when the signals have been given.
 *
 *     owner     start: open           claim - read - write                closed - complete
 *     helper         look - trigger - claim - read - - - write, left = 0: signal, close
 *     helper             look - trigger - claim: held
 *
 * A helper here may be late forever and belongs to no rank, so it is the owner of the other memory,
 * a third rank or an agent, and of tickets also the owner: each of these is a helper with fewer
 * freedoms. The chunks of an entry are copied in any order, and other entries of the plan go on
 * meanwhile, except those behind an ordered one.
 *
 * The kernel may refuse a copy in the middle. A helper then returns its chunk, and the owner copies
 * it. On a board the owner itself asks the owner of the other memory for a chunk that it is
 * refused, so that is as if it were late. The owner of a ticket claims all that is left, waits
 * until the helper has finished or returned its chunk, and then moves everything in another way;
 * such tickets have one helper beside the owner, and it claims nothing more once it was refused.
 *
 * The claim of a served plan (offload/agent) needs no event: its holder fires, which the explorer
 * lets happen at any time after the start, and the owner sees the end at any time after it.
 *
 * Each enum pcoll_explore_flaw leaves out one precaution of the protocols. Tests see that the
 * explorer finds it.
 */
#include "offload/explore/help.h"

#include <string.h>

static bool has_flaw(const struct pcoll_explore *explore, enum pcoll_explore_flaw flaw)
{
    return explore->options.flaw == flaw;
}

/* ---- what is copied ---- */

bool pcoll_explore_has_board(const struct pcoll_explore *explore)
{
    return explore->options.helpers > 0 && explore->options.sharing == PCOLL_EXPLORE_BOARD;
}

bool pcoll_explore_is_bulk(const struct pcoll_explore *explore, const struct pcoll_entry *entry)
{
    return explore->options.helpers > 0 && pcoll_explore_moves(entry) &&
           entry->op != PCOLL_OP_REDUCE && entry->bytes > explore->options.chunk;
}

static bool slot_is_bulk(const struct pcoll_explore *explore, int slot)
{
    return pcoll_explore_is_bulk(explore, explore->slot[slot].entry);
}

int pcoll_explore_count_tickets(const struct pcoll_explore *explore, int rank)
{
    int n = 0;

    for (int r = 0; explore->options.helpers > 0 && r < rank; r++)
        n += pcoll_explore_has_board(explore) ? explore->rank[r].plan->nentries : 1;
    return n;
}

/* Without refusals, owners of tickets do nothing that other helpers do not. */
int pcoll_explore_count_helpers(const struct pcoll_explore *explore)
{
    const int n = explore->options.helpers;

    if (n == 0 || (explore->options.refusals == 0 && !pcoll_explore_has_board(explore)))
        return n;
    return n + explore->nranks;
}

static uint32_t chunks_of(const struct pcoll_explore *explore, int slot)
{
    const uint64_t chunk = explore->options.chunk;

    return (uint32_t)((explore->slot[slot].entry->bytes + chunk - 1) / chunk);
}

static struct explore_ticket *ticket_of(const struct pcoll_explore *explore, int slot)
{
    const struct explore_slot *s = &explore->slot[slot];
    const struct explore_rank *rank = &explore->rank[s->rank];

    if (!pcoll_explore_has_board(explore))
        return &explore->copying[s->rank];
    return &explore->copying[rank->first_ticket + (int)(s->entry - rank->plan->entries)];
}

size_t pcoll_explore_help_events(const struct pcoll_explore *explore)
{
    size_t n = (size_t)explore->options.refusals * (HELPER_ALONE + 1);

    for (int i = 0; explore->options.helpers > 0 && i < explore->nslots; i++)
        if (explore->slot[i].entry && slot_is_bulk(explore, i))
            n += 1 + (size_t)chunks_of(explore, i) * HELPER_SIGNALS;
    return n;
}

/* It has looked at one of the tickets, or also read what is copied. */
size_t pcoll_explore_errands(const struct pcoll_explore *explore)
{
    size_t n = 1;

    for (int h = 0; h < explore->options.helpers; h++)
        n *= 2 * (size_t)explore->ntickets + 1;
    return n;
}

static int owner_of(const struct pcoll_explore *explore, int ticket)
{
    int rank = 0;

    while (rank + 1 < explore->nranks && explore->rank[rank + 1].first_ticket <= ticket)
        rank++;
    return rank;
}

/* The helper is the rank whose ticket it is. */
static bool is_owner(const struct pcoll_explore *explore, int helper, int ticket)
{
    return helper - explore->options.helpers == owner_of(explore, ticket);
}

/* ---- claims ---- */

/* The comparison of a claim: the word is what it was when the helper looked. */
static bool is_same(const struct pcoll_explore *explore, const struct explore_helper *helper)
{
    const struct explore_ticket *ticket = &explore->copying[helper->ticket];

    if (pcoll_explore_has_board(explore) && (ticket->is_held || ticket->left != helper->left))
        return false;
    return ticket->is_open && helper->next == ticket->next &&
           (helper->opening == ticket->opening || has_flaw(explore, PCOLL_EXPLORE_FLAW_NO_EPOCH));
}

/* ---- equal states ---- */

static bool is_before(const struct explore_helper *a, const struct explore_helper *b)
{
    return memcmp(a, b, sizeof(*a)) < 0;
}

/* Which of the helpers is which; if tickets are refused, each has its own. */
static void sort_helpers(struct pcoll_explore *explore)
{
    for (int h = 1; h < explore->options.helpers; h++)
        for (int i = h; i > 0 && is_before(&explore->helper[i], &explore->helper[i - 1]); i--) {
            const struct explore_helper moved = explore->helper[i];

            explore->helper[i] = explore->helper[i - 1];
            explore->helper[i - 1] = moved;
        }
}

/* A word never comes again. */
static bool is_too_late(const struct pcoll_explore *explore, const struct explore_helper *helper)
{
    if (helper->errand == HELPER_LOOKED && has_flaw(explore, PCOLL_EXPLORE_FLAW_TRIGGER_FIRST))
        return false;
    return (helper->errand == HELPER_LOOKED || helper->errand == HELPER_READY) &&
           !has_flaw(explore, PCOLL_EXPLORE_FLAW_NO_EPOCH) && !is_same(explore, helper);
}

/* A helper whose claim will fail is idle. */
static void normalize(struct pcoll_explore *explore)
{
    for (int h = 0; h < explore->options.helpers; h++)
        if (is_too_late(explore, &explore->helper[h]))
            explore->helper[h] = (struct explore_helper){0};
    if (pcoll_explore_has_board(explore) || explore->options.refusals == 0)
        sort_helpers(explore);
}

/* ---- the owner ---- */

bool pcoll_explore_can_take_ticket(const struct pcoll_explore *explore, int slot)
{
    const struct explore_ticket *ticket = ticket_of(explore, slot);

    return pcoll_explore_has_board(explore) || ticket->slot == 0 ||
           pcoll_explore_has(explore, ticket->slot - 1, EXPLORE_DONE);
}

static void write_ticket(struct pcoll_explore *explore, int slot)
{
    struct explore_ticket *ticket = ticket_of(explore, slot);

    ticket->slot = slot + 1;
    ticket->left = chunks_of(explore, slot);
    ticket->returned = ticket->given_up = 0;
    ticket->is_left = 0;
}

void pcoll_explore_take_ticket(struct pcoll_explore *explore, int slot)
{
    struct explore_ticket *ticket = ticket_of(explore, slot);

    if (pcoll_explore_has_board(explore))
        return;
    if (!has_flaw(explore, PCOLL_EXPLORE_FLAW_NOT_CLOSED))
        ticket->is_open = 0;
    ticket->is_new = 1;
    write_ticket(explore, slot);
    normalize(explore);
}

void pcoll_explore_open_notices(struct pcoll_explore *explore, int rank)
{
    const int instance = explore->progress[rank].completed;
    const struct pcoll_phase *phase = pcoll_explore_phase(explore, rank, instance);

    for (int i = 0; pcoll_explore_has_board(explore) && i < phase->count; i++) {
        const int slot = pcoll_explore_slot(explore, rank, instance, phase->first + i);
        struct explore_ticket *notice = ticket_of(explore, slot);

        if (!slot_is_bulk(explore, slot))
            continue;
        write_ticket(explore, slot);
        notice->is_open = 1;
        notice->is_held = 0;
        notice->opening++;
        notice->next = 0;
    }
    normalize(explore);
}

bool pcoll_explore_lets_pass(const struct pcoll_explore *explore, int slot)
{
    if (!slot_is_bulk(explore, slot) || has_flaw(explore, PCOLL_EXPLORE_FLAW_OVERTAKES))
        return pcoll_explore_has(explore, slot, EXPLORE_FIRE);
    return pcoll_explore_has(explore, slot, EXPLORE_DONE);
}

/* ---- what follows a copy ---- */

static bool somebody_signals(const struct pcoll_explore *explore, int slot)
{
    for (int h = 0; h < explore->nhelpers; h++)
        if (explore->helper[h].errand == HELPER_SIGNALS && explore->helper[h].slot == slot)
            return true;
    return false;
}

bool pcoll_explore_is_copied(const struct pcoll_explore *explore, int slot, enum explore_kind kind)
{
    const struct explore_ticket *ticket = ticket_of(explore, slot);
    const uint32_t n = chunks_of(explore, slot);
    const bool is_current = ticket->slot == slot + 1 && !ticket->is_new;

    if (pcoll_explore_has(explore, slot, EXPLORE_WRITE))
        return kind != EXPLORE_SIGNAL || !somebody_signals(explore, slot);
    if (has_flaw(explore, PCOLL_EXPLORE_FLAW_EARLY_SIGNAL) && kind == EXPLORE_SIGNAL)
        return is_current && ticket->left < n;
    if (has_flaw(explore, PCOLL_EXPLORE_FLAW_EARLY_LANDING) && kind == EXPLORE_DONE)
        return is_current && ticket->next >= n;
    return false;
}

bool pcoll_explore_check_signals(struct pcoll_explore *explore, int rank)
{
    const int instance = explore->progress[rank].completed;
    const struct pcoll_phase *phase = pcoll_explore_phase(explore, rank, instance);

    for (int i = 0; pcoll_explore_has_board(explore) && i < phase->count; i++) {
        const int slot = pcoll_explore_slot(explore, rank, instance, phase->first + i);

        if (slot_is_bulk(explore, slot) && pcoll_explore_signals(explore->slot[slot].entry) &&
            !pcoll_explore_has(explore, slot, EXPLORE_SIGNAL))
            return pcoll_explore_fail(explore, PCOLL_EXPLORE_FAULT_LEFTOVER,
                                      "rank %d completes instance %d before entry %d has signaled",
                                      rank, instance, phase->first + i);
    }
    return true;
}

/* ---- what may happen ---- */

static uint32_t nchunks(const struct pcoll_explore *explore, const struct explore_ticket *ticket)
{
    return chunks_of(explore, ticket->slot - 1);
}

/* In order, what its rank did to the peer before must have arrived before the last chunk has. */
static bool may_write(const struct pcoll_explore *explore, const struct explore_helper *helper)
{
    const int pair = explore->slot[helper->slot].pair;

    return !explore->ordered || pair < 0 || explore->issued[pair] == explore->delivered[pair];
}

static bool is_due(const struct pcoll_explore *explore, const struct explore_ticket *ticket)
{
    return pcoll_explore_has(explore, ticket->slot - 1, EXPLORE_FIRE);
}

/* The owner claims at once, and tries again if somebody else has changed the word. */
static bool can_own(const struct pcoll_explore *explore, const struct explore_ticket *ticket)
{
    return is_due(explore, ticket) && ticket->given_up == 0 &&
           (ticket->next < nchunks(explore, ticket) || ticket->returned > 0);
}

/* On a board, what cannot be claimed is not even looked at. */
static bool can_look(const struct pcoll_explore *explore, int number, int at)
{
    const struct explore_ticket *ticket = &explore->copying[at];

    if (explore->helper[number].errand != HELPER_IDLE || !ticket->is_open ||
        pcoll_explore_has(explore, ticket->slot - 1, EXPLORE_DONE))
        return false;
    if (number >= explore->options.helpers)
        return is_owner(explore, number, at) && can_own(explore, ticket);
    if (!pcoll_explore_has_board(explore))
        return explore->options.refusals == 0 ||
               (!ticket->is_left && at % explore->options.helpers == number);
    if (has_flaw(explore, PCOLL_EXPLORE_FLAW_TRIGGER_FIRST))
        return is_due(explore, ticket);
    return !ticket->is_held && ticket->next < nchunks(explore, ticket);
}

static bool can_go_on(const struct pcoll_explore *explore, const struct explore_helper *helper)
{
    const struct explore_ticket *ticket = &explore->copying[helper->ticket];

    switch ((enum explore_errand)helper->errand) {
        case HELPER_IDLE:
            return false;
        case HELPER_LOOKED:
            return !pcoll_explore_has_board(explore) ||
                   has_flaw(explore, PCOLL_EXPLORE_FLAW_TRIGGER_FIRST) || is_due(explore, ticket);
        case HELPER_HOLDS:
        case HELPER_ALONE:
            return may_write(explore, helper);
        case HELPER_REFUSED:
            return ticket->left == ticket->given_up + (ticket->returned > 0) ||
                   has_flaw(explore, PCOLL_EXPLORE_FLAW_NOT_AWAITED);
        default:
            return true;
    }
}

static bool can_refuse(const struct pcoll_explore *explore, int number)
{
    const struct explore_helper *helper = &explore->helper[number];

    return *explore->refused < explore->options.refusals && helper->errand == HELPER_HOLDS &&
           may_write(explore, helper) &&
           (number < explore->options.helpers || !pcoll_explore_has_board(explore));
}

bool pcoll_explore_can_help(const struct pcoll_explore *explore, struct explore_event event)
{
    const int n = explore->nhelpers;

    switch (event.kind) {
        case EXPLORE_OPEN:
            return explore->copying[event.index].is_new;
        case EXPLORE_LOOK:
            return can_look(explore, event.index % n, event.index / n);
        case EXPLORE_HELP:
            return can_go_on(explore, &explore->helper[event.index]);
        default:
            return can_refuse(explore, event.index);
    }
}

/* ---- steps ---- */

static void open_ticket(struct explore_ticket *ticket)
{
    ticket->is_new = 0;
    ticket->is_open = 1;
    ticket->opening++;
    ticket->next = 0;
}

/* The next chunk, or what the helper has returned. */
static void own(struct pcoll_explore *explore, struct explore_helper *helper, int at)
{
    struct explore_ticket *ticket = &explore->copying[at];
    const bool is_next = ticket->next < nchunks(explore, ticket);

    *helper = (struct explore_helper){
        .errand = HELPER_CLAIMED,
        .ticket = at,
        .slot = ticket->slot - 1,
        .opening = ticket->opening,
        .next = is_next ? ticket->next++ : ticket->returned - 1,
    };
    if (!is_next)
        ticket->returned = 0, ticket->is_held = 0;
}

static void read_word(const struct pcoll_explore *explore, struct explore_helper *helper, int at)
{
    const struct explore_ticket *ticket = &explore->copying[at];

    *helper = (struct explore_helper){
        .errand = HELPER_LOOKED,
        .ticket = at,
        .opening = ticket->opening,
        .next = ticket->next,
        .left = pcoll_explore_has_board(explore) ? ticket->left : 0,
    };
}

static void look(struct pcoll_explore *explore, int number, int at)
{
    if (number >= explore->options.helpers)
        own(explore, &explore->helper[number], at);
    else
        read_word(explore, &explore->helper[number], at);
}

/* What is copied; or whether the trigger has been reached, which it has. */
static void read_words(const struct pcoll_explore *explore, struct explore_helper *helper)
{
    if (has_flaw(explore, PCOLL_EXPLORE_FLAW_TRIGGER_FIRST))
        read_word(explore, helper, helper->ticket);
    helper->errand = HELPER_READY;
    helper->slot = explore->copying[helper->ticket].slot - 1;
}

static void claim(struct pcoll_explore *explore, struct explore_helper *helper)
{
    struct explore_ticket *ticket = &explore->copying[helper->ticket];

    if (pcoll_explore_has_board(explore))
        helper->slot = ticket->slot - 1;
    if (helper->next >= chunks_of(explore, helper->slot) || !is_same(explore, helper)) {
        *helper = (struct explore_helper){0};
        return;
    }
    helper->errand = HELPER_CLAIMED;
    helper->left = 0;
    ticket->next++;
    ticket->is_held = pcoll_explore_has_board(explore);
}

/* Move the first `bytes` bytes of the entry from position `at` on. */
static bool move(struct pcoll_explore *explore, const struct explore_helper *helper,
                 enum explore_kind kind, uint64_t at, uint64_t bytes)
{
    const struct explore_slot *slot = &explore->slot[helper->slot];
    const struct explore_event event = {kind, helper->slot};
    struct explore_access access = pcoll_explore_access(explore, event, 0);
    unsigned char *way = explore->block + slot->data + at;

    access.at += at;
    access.bytes = bytes;
    if (kind == EXPLORE_READ) {
        memcpy(way, explore->block + access.at, access.bytes);
    } else {
        memcpy(explore->block + access.at, way, access.bytes);
        memset(way, 0, access.bytes);
    }
    return pcoll_explore_check_access(explore, event, &access);
}

static bool copy(struct pcoll_explore *explore, const struct explore_helper *helper,
                 enum explore_kind kind)
{
    const uint64_t chunk = explore->options.chunk, at = helper->next * chunk;
    const uint64_t left = explore->slot[helper->slot].entry->bytes - at;

    return move(explore, helper, kind, at, left < chunk ? left : chunk);
}

static void finish(struct pcoll_explore *explore, struct explore_helper *helper, int number)
{
    struct explore_ticket *ticket = &explore->copying[helper->ticket];
    const bool is_last = --ticket->left == 0;

    if (number < explore->options.helpers)
        ticket->is_held = 0;
    if (is_last && pcoll_explore_has_board(explore) &&
        has_flaw(explore, PCOLL_EXPLORE_FLAW_CLOSED_FIRST))
        helper->errand = HELPER_SIGNALS;
    else
        *helper = (struct explore_helper){0};
    if (is_last)
        pcoll_explore_land(explore, ticket->slot - 1);
}

/* The owner of a ticket moves all of it without the kernel. */
static bool move_all(struct pcoll_explore *explore, struct explore_helper *helper,
                     enum explore_kind kind)
{
    struct explore_ticket *ticket = &explore->copying[helper->ticket];
    const bool ok = move(explore, helper, kind, 0, explore->slot[helper->slot].entry->bytes);

    if (kind == EXPLORE_READ) {
        helper->errand = HELPER_ALONE;
        return ok;
    }
    *helper = (struct explore_helper){0};
    ticket->is_open = 0;
    pcoll_explore_land(explore, ticket->slot - 1);
    return ok;
}

static bool help(struct pcoll_explore *explore, int number)
{
    struct explore_helper *helper = &explore->helper[number];
    bool ok = true;

    switch ((enum explore_errand)helper->errand) {
        case HELPER_LOOKED:
            read_words(explore, helper);
            return true;
        case HELPER_READY:
            claim(explore, helper);
            return true;
        case HELPER_CLAIMED:
            helper->errand = HELPER_HOLDS;
            return copy(explore, helper, EXPLORE_READ);
        case HELPER_HOLDS:
            ok = copy(explore, helper, EXPLORE_WRITE);
            finish(explore, helper, number);
            return ok;
        case HELPER_REFUSED:
            return move_all(explore, helper, EXPLORE_READ);
        case HELPER_ALONE:
            return move_all(explore, helper, EXPLORE_WRITE);
        default:
            *helper = (struct explore_helper){0};
            return true;
    }
}

/* Nobody shall claim what is left. */
static void give_up(struct pcoll_explore *explore, struct explore_helper *helper)
{
    struct explore_ticket *ticket = &explore->copying[helper->ticket];

    helper->errand = HELPER_REFUSED;
    ticket->given_up = 1 + nchunks(explore, ticket) - ticket->next;
    ticket->next = nchunks(explore, ticket);
}

/* The first of its bytes have been moved. */
static bool refuse(struct pcoll_explore *explore, int number)
{
    struct explore_helper *helper = &explore->helper[number];
    struct explore_ticket *ticket = &explore->copying[helper->ticket];
    const bool ok = move(explore, helper, EXPLORE_WRITE, helper->next * explore->options.chunk, 1);

    ++*explore->refused;
    if (has_flaw(explore, PCOLL_EXPLORE_FLAW_COUNTS_REFUSED)) {
        finish(explore, helper, number);
    } else if (number >= explore->options.helpers) {
        give_up(explore, helper);
    } else {
        ticket->returned = helper->next + 1;
        ticket->is_left = 1;
        *helper = (struct explore_helper){0};
    }
    return ok;
}

void pcoll_explore_print_help(const struct pcoll_explore *explore, struct explore_event event)
{
    static const char *const does[] = {
        "",          "reads what is copied", "claims", "reads", "writes", "signals", "reads all",
        "writes all"};
    const bool looks = event.kind == EXPLORE_LOOK;
    const int number = looks ? event.index % explore->nhelpers : event.index;
    const struct explore_helper *helper = &explore->helper[number];
    FILE *out = explore->options.trace;

    if (looks)
        fprintf(out, "helper %d  looks at ticket %d\n", number, event.index / explore->nhelpers);
    else
        fprintf(out, "helper %d  ticket %d  opening %u  chunk %u  %s\n", number, helper->ticket,
                helper->opening, helper->next,
                event.kind == EXPLORE_REFUSE ? "is refused" : does[helper->errand]);
}

bool pcoll_explore_apply_help(struct pcoll_explore *explore, struct explore_event event)
{
    bool ok = true;

    if (event.kind == EXPLORE_HELP)
        ok = help(explore, event.index);
    else if (event.kind == EXPLORE_REFUSE)
        ok = refuse(explore, event.index);
    else if (event.kind == EXPLORE_OPEN)
        open_ticket(&explore->copying[event.index]);
    else
        look(explore, event.index % explore->nhelpers, event.index / explore->nhelpers);
    normalize(explore);
    return ok;
}
