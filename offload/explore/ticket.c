/*
 * The explorer: what helpers copy. help.c describes the protocols.
 */
#include "offload/explore/help.h"

#include <string.h>

static bool has_flaw(const struct pcoll_explore *explore, enum pcoll_explore_flaw flaw)
{
    return explore->options.flaw == flaw;
}

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

uint32_t pcoll_explore_nchunks(const struct pcoll_explore *explore, int slot)
{
    const uint64_t chunk = explore->options.chunk;

    return (uint32_t)((explore->slot[slot].entry->bytes + chunk - 1) / chunk);
}

struct explore_ticket *pcoll_explore_ticket_of(const struct pcoll_explore *explore, int slot)
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
            n += 1 + (size_t)pcoll_explore_nchunks(explore, i) * HELPER_SIGNALS;
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

int pcoll_explore_owner(const struct pcoll_explore *explore, int ticket)
{
    int rank = 0;

    while (rank + 1 < explore->nranks && explore->rank[rank + 1].first_ticket <= ticket)
        rank++;
    return rank;
}

bool pcoll_explore_is_owner(const struct pcoll_explore *explore, int helper, int ticket)
{
    return helper - explore->options.helpers == pcoll_explore_owner(explore, ticket);
}

/* ---- the owner ---- */

bool pcoll_explore_can_take_ticket(const struct pcoll_explore *explore, int slot)
{
    const struct explore_ticket *ticket = pcoll_explore_ticket_of(explore, slot);

    return pcoll_explore_has_board(explore) || ticket->slot == 0 ||
           pcoll_explore_has(explore, ticket->slot - 1, EXPLORE_DONE);
}

static void write_ticket(struct pcoll_explore *explore, int slot)
{
    struct explore_ticket *ticket = pcoll_explore_ticket_of(explore, slot);

    ticket->slot = slot + 1;
    ticket->left = pcoll_explore_nchunks(explore, slot);
    ticket->returned = ticket->given_up = 0;
    ticket->is_left = 0;
}

void pcoll_explore_take_ticket(struct pcoll_explore *explore, int slot)
{
    struct explore_ticket *ticket = pcoll_explore_ticket_of(explore, slot);

    if (pcoll_explore_has_board(explore))
        return;
    if (!has_flaw(explore, PCOLL_EXPLORE_FLAW_NOT_CLOSED))
        ticket->is_open = 0;
    ticket->is_new = 1;
    write_ticket(explore, slot);
    pcoll_explore_normalize(explore);
}

void pcoll_explore_open_notices(struct pcoll_explore *explore, int rank)
{
    const int instance = explore->progress[rank].completed;
    const struct pcoll_phase *phase = pcoll_explore_phase(explore, rank, instance);

    for (int i = 0; pcoll_explore_has_board(explore) && i < phase->count; i++) {
        const int slot = pcoll_explore_slot(explore, rank, instance, phase->first + i);
        struct explore_ticket *notice = pcoll_explore_ticket_of(explore, slot);

        if (!slot_is_bulk(explore, slot))
            continue;
        write_ticket(explore, slot);
        notice->is_open = 1;
        notice->is_held = 0;
        notice->opening++;
        notice->next = 0;
    }
    pcoll_explore_normalize(explore);
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
    const struct explore_ticket *ticket = pcoll_explore_ticket_of(explore, slot);
    const uint32_t n = pcoll_explore_nchunks(explore, slot);
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

/* ---- claims ---- */

bool pcoll_explore_is_same(const struct pcoll_explore *explore, const struct explore_helper *helper)
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
           !has_flaw(explore, PCOLL_EXPLORE_FLAW_NO_EPOCH) &&
           !pcoll_explore_is_same(explore, helper);
}

/* A helper whose claim will fail is idle. */
void pcoll_explore_normalize(struct pcoll_explore *explore)
{
    for (int h = 0; h < explore->options.helpers; h++)
        if (is_too_late(explore, &explore->helper[h]))
            explore->helper[h] = (struct explore_helper){0};
    if (pcoll_explore_has_board(explore) || explore->options.refusals == 0)
        sort_helpers(explore);
}
