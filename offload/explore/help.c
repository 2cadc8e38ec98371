/*
 * The explorer: helpers. Anybody in the node, another rank or an agent, may copy for a rank that
 * does not: the protocol of cooperative copies (offload/shm/coop.h), with any number of helpers.
 *
 * An entry that moves more than a chunk is bulk. When it fires, its rank takes its ticket, of which
 * it has one: it writes there what is to be copied, in how many chunks, and then opens it. A helper
 * looks at the word by which chunks are claimed, then reads what is copied, then claims a chunk by
 * a compare-and-swap of that word; all of these are events of their own, so what it has read may be
 * old. It reads the chunk and writes it. Who brings `left` to 0 lands the entry: the signals
 * follow, and its rank may take the ticket for another entry.
 *
 *     owner     fire - open                                        done - fire - open
 *     helper              look - words - claim - read - write, left = 0: signal
 *     helper                  look - words ----------------------------------- claim: too old
 *
 * A helper here may be late forever and belongs to no rank, so it is the owner, the owner of the
 * other memory, a third rank or an agent: each of these is a helper with fewer freedoms. The chunks
 * of an entry are copied in any order, and other entries of the plan go on meanwhile, except those
 * behind an ordered one. That the kernel refuses a copy is not explored.
 *
 * The claim of a served plan (offload/agent) needs no event: its holder fires, which the explorer
 * lets happen at any time after the start, and the owner sees the end at any time after it.
 *
 * Each enum pcoll_explore_flaw leaves out one precaution of the protocol. Tests see that the
 * explorer finds it.
 */
#include "offload/explore/help.h"

#include <string.h>

static int nhelpers(const struct pcoll_explore *explore)
{
    return explore->options.helpers;
}

static uint32_t nchunks(const struct pcoll_explore *explore, int slot)
{
    const uint64_t chunk = explore->options.chunk;

    return (uint32_t)((explore->slot[slot].entry->bytes + chunk - 1) / chunk);
}

bool pcoll_explore_is_bulk(const struct pcoll_explore *explore, const struct pcoll_entry *entry)
{
    return nhelpers(explore) > 0 && pcoll_explore_moves(entry) && entry->op != PCOLL_OP_REDUCE &&
           entry->bytes > explore->options.chunk;
}

static bool slot_is_bulk(const struct pcoll_explore *explore, int slot)
{
    return pcoll_explore_is_bulk(explore, explore->slot[slot].entry);
}

size_t pcoll_explore_help_events(const struct pcoll_explore *explore)
{
    size_t n = 0;

    for (int i = 0; nhelpers(explore) > 0 && i < explore->nslots; i++)
        if (explore->slot[i].entry && slot_is_bulk(explore, i))
            n += 1 + (size_t)nchunks(explore, i) * HELPER_HOLDS;
    return n;
}

/* ---- states ---- */

/* The comparison of the claim: the word is what it was when the helper looked. */
static bool is_same(const struct pcoll_explore *explore, const struct explore_helper *helper)
{
    const struct explore_ticket *ticket = &explore->copying[helper->rank];

    return ticket->is_open && helper->next == ticket->next &&
           (helper->opening == ticket->opening ||
            explore->options.flaw == PCOLL_EXPLORE_FLAW_NO_EPOCH);
}

static bool is_before(const struct explore_helper *a, const struct explore_helper *b)
{
    return memcmp(a, b, sizeof(*a)) < 0;
}

/* Make states that differ in nothing that matters equal: which helper is which; and a helper whose
 * claim will fail, as a word never comes again, is idle. */
static void normalize(struct pcoll_explore *explore)
{
    for (int h = 0; h < nhelpers(explore); h++) {
        struct explore_helper *helper = &explore->helper[h];

        if ((helper->errand == HELPER_LOOKED || helper->errand == HELPER_READY) &&
            explore->options.flaw != PCOLL_EXPLORE_FLAW_NO_EPOCH && !is_same(explore, helper))
            *helper = (struct explore_helper){0};
    }
    for (int h = 1; h < nhelpers(explore); h++)
        for (int i = h; i > 0 && is_before(&explore->helper[i], &explore->helper[i - 1]); i--) {
            const struct explore_helper moved = explore->helper[i];

            explore->helper[i] = explore->helper[i - 1];
            explore->helper[i - 1] = moved;
        }
}

/* ---- the owner ---- */

bool pcoll_explore_can_take_ticket(const struct pcoll_explore *explore, int slot)
{
    const struct explore_ticket *ticket = &explore->copying[explore->slot[slot].rank];

    return ticket->slot == 0 || pcoll_explore_has(explore, ticket->slot - 1, EXPLORE_DONE);
}

void pcoll_explore_take_ticket(struct pcoll_explore *explore, int slot)
{
    struct explore_ticket *ticket = &explore->copying[explore->slot[slot].rank];

    if (explore->options.flaw != PCOLL_EXPLORE_FLAW_NOT_CLOSED)
        ticket->is_open = 0;
    ticket->is_new = 1;
    ticket->slot = slot + 1;
    ticket->left = nchunks(explore, slot);
    normalize(explore);
}

static void open_ticket(struct explore_ticket *ticket)
{
    ticket->is_new = 0;
    ticket->is_open = 1;
    ticket->opening++;
    ticket->next = 0;
}

bool pcoll_explore_lets_pass(const struct pcoll_explore *explore, int slot)
{
    if (!slot_is_bulk(explore, slot) || explore->options.flaw == PCOLL_EXPLORE_FLAW_OVERTAKES)
        return pcoll_explore_has(explore, slot, EXPLORE_FIRE);
    return pcoll_explore_has(explore, slot, EXPLORE_DONE);
}

bool pcoll_explore_is_copied(const struct pcoll_explore *explore, int slot, enum explore_kind kind)
{
    const struct explore_ticket *ticket = &explore->copying[explore->slot[slot].rank];
    const bool is_current = ticket->slot == slot + 1 && !ticket->is_new;

    if (pcoll_explore_has(explore, slot, EXPLORE_WRITE))
        return true;
    if (explore->options.flaw == PCOLL_EXPLORE_FLAW_EARLY_SIGNAL && kind == EXPLORE_SIGNAL)
        return is_current && ticket->left < nchunks(explore, slot);
    if (explore->options.flaw == PCOLL_EXPLORE_FLAW_EARLY_LANDING && kind == EXPLORE_DONE)
        return is_current && ticket->next >= nchunks(explore, slot);
    return false;
}

/* ---- helpers ---- */

/* In order, what its rank did to the peer before must have arrived before the last chunk has. */
static bool may_write(const struct pcoll_explore *explore, const struct explore_helper *helper)
{
    const int pair = explore->slot[helper->slot].pair;

    return !explore->ordered || pair < 0 || explore->issued[pair] == explore->delivered[pair];
}

bool pcoll_explore_can_help(const struct pcoll_explore *explore, struct explore_event event)
{
    const struct explore_helper *helper = &explore->helper[event.index % nhelpers(explore)];
    const struct explore_ticket *ticket;

    if (event.kind == EXPLORE_OPEN)
        return explore->copying[event.index].is_new;
    if (event.kind == EXPLORE_HELP)
        return helper->errand != HELPER_IDLE &&
               (helper->errand != HELPER_HOLDS || may_write(explore, helper));
    ticket = &explore->copying[event.index / nhelpers(explore)];
    return helper->errand == HELPER_IDLE && ticket->is_open &&
           !pcoll_explore_has(explore, ticket->slot - 1, EXPLORE_DONE);
}

static bool claim(const struct pcoll_explore *explore, const struct explore_helper *helper)
{
    if (helper->next >= nchunks(explore, helper->slot) || !is_same(explore, helper))
        return false;
    explore->copying[helper->rank].next++;
    return true;
}

static bool copy(struct pcoll_explore *explore, const struct explore_helper *helper,
                 enum explore_kind kind)
{
    const struct explore_slot *slot = &explore->slot[helper->slot];
    const struct explore_event event = {kind, helper->slot};
    const uint64_t chunk = explore->options.chunk, at = helper->next * chunk;
    struct explore_access access = pcoll_explore_access(explore, event, 0);
    unsigned char *way = explore->block + slot->data + at;

    access.at += at;
    access.bytes = slot->entry->bytes - at < chunk ? slot->entry->bytes - at : chunk;
    if (kind == EXPLORE_READ) {
        memcpy(way, explore->block + access.at, access.bytes);
    } else {
        memcpy(explore->block + access.at, way, access.bytes);
        memset(way, 0, access.bytes);
    }
    return pcoll_explore_check_access(explore, event, &access);
}

static bool write_chunk(struct pcoll_explore *explore, const struct explore_helper *helper)
{
    struct explore_ticket *ticket = &explore->copying[helper->rank];
    const bool ok = copy(explore, helper, EXPLORE_WRITE);

    if (--ticket->left == 0)
        pcoll_explore_land(explore, ticket->slot - 1);
    return ok;
}

static void look(const struct pcoll_explore *explore, struct explore_helper *helper, int rank)
{
    const struct explore_ticket *ticket = &explore->copying[rank];

    *helper = (struct explore_helper){
        .errand = HELPER_LOOKED,
        .rank = rank,
        .opening = ticket->opening,
        .next = ticket->next,
    };
}

static bool help(struct pcoll_explore *explore, struct explore_helper *helper)
{
    bool ok = true;

    switch ((enum explore_errand)helper->errand++) {
        case HELPER_LOOKED:
            helper->slot = explore->copying[helper->rank].slot - 1;
            return true;
        case HELPER_READY:
            if (!claim(explore, helper))
                *helper = (struct explore_helper){0};
            return true;
        case HELPER_CLAIMED:
            return copy(explore, helper, EXPLORE_READ);
        default:
            ok = write_chunk(explore, helper);
            *helper = (struct explore_helper){0};
            return ok;
    }
}

void pcoll_explore_print_help(const struct pcoll_explore *explore, struct explore_event event)
{
    static const char *const does[] = {"", "reads what is copied", "claims", "reads", "writes"};
    const int number = event.index % nhelpers(explore);
    const struct explore_helper *helper = &explore->helper[number];
    FILE *out = explore->options.trace;

    if (event.kind == EXPLORE_LOOK)
        fprintf(out, "helper %d  looks at the ticket of rank %d\n", number,
                event.index / nhelpers(explore));
    else
        fprintf(out, "helper %d  rank %d  opening %u  chunk %u  %s\n", number, helper->rank,
                helper->opening, helper->next, does[helper->errand]);
}

bool pcoll_explore_apply_help(struct pcoll_explore *explore, struct explore_event event)
{
    struct explore_helper *helper = &explore->helper[event.index % nhelpers(explore)];
    bool ok = true;

    if (event.kind == EXPLORE_HELP)
        ok = help(explore, helper);
    else if (event.kind == EXPLORE_OPEN)
        open_ticket(&explore->copying[event.index]);
    else
        look(explore, helper, event.index / nhelpers(explore));
    normalize(explore);
    return ok;
}
