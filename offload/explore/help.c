/*
 * The explorer: helpers. Anybody in the node, another rank or an agent, may copy for a rank that
 * does not. An entry that moves more than a chunk is bulk and has a notice (notice.h). A helper
 * looks at the word of the notice, then whether the trigger has been reached, then it claims a
 * chunk by a compare-and-swap of that word; all of these are events of their own, so what it has
 * read may be old. It reads the chunk and writes it. The copy of the last chunk lands the entry,
 * and the signals follow.
 *
 * One helper at a time has a chunk of a notice, and the owner another. A rank opens all notices at
 * its start, in order. (That the start takes time makes no difference: what it opens early can be
 * claimed late.) The notice is closed when the signals have been given.
 *
 *     owner     start: open           claim - read - write                closed - complete
 *     helper         look - trigger - claim - read - - - write, left = 0: signal, close
 *     helper             look - trigger - claim: held
 *
 * A notice admits all helpers, or the one to which the other end of the copy belongs. A helper here
 * may be late forever and takes no part in the collective, so another rank, which helps only while
 * it waits, and an agent are helpers with fewer freedoms. The chunks of an entry are copied in any
 * order, and other entries of the plan go on meanwhile, except those behind an ordered one.
 *
 * The kernel may refuse a copy in the middle. A helper then returns its chunk, and the owner takes
 * it back. The owner asks the owner of the other memory for a chunk that it is refused, so that it
 * copies the chunk once more, and perhaps late. A helper may also die. The owner reads who holds a
 * chunk, sees that this helper is dead, and then takes back the chunk if the word is still the
 * same:
 *
 *     owner     look: held by 1                             1 is dead - take back: changed
 *     helper 1       write - finish - dies
 *     helper 2                        look - trigger - claim - read - write
 *
 * The claim of a served plan (offload/agent) needs no event: its holder fires, which the explorer
 * lets happen at any time after the start, and the owner sees the end at any time after it.
 *
 * Each enum pcoll_explore_flaw leaves out one precaution of the protocol. Tests see that the
 * explorer finds it.
 */
#include "offload/explore/help.h"

#include <string.h>

int pcoll_explore_count_helpers(const struct pcoll_explore *explore)
{
    const int n = explore->options.helpers;

    return n > 0 ? n + explore->nranks : 0;
}

/* The last helpers are the ranks as owners of their notices. */
static bool is_owner(const struct pcoll_explore *explore, int number)
{
    return number >= explore->options.helpers;
}

static bool owns(const struct pcoll_explore *explore, int number, int at)
{
    const int rank = number - explore->options.helpers;
    const int first = explore->rank[rank].first_notice;

    return at >= first && at < first + explore->rank[rank].plan->nentries;
}

static bool admits(const struct pcoll_explore *explore, const struct explore_notice *notice,
                   int number)
{
    const struct pcoll_entry *entry = explore->task[notice->task - 1].entry;

    return explore->options.admitted == PCOLL_EXPLORE_ANYBODY ||
           (pcoll_entry_is_remote(entry) && entry->peer == number);
}

/* ---- equal states ---- */

/* The order of helpers makes no difference if all are admitted, and no owner asks which one has
 * died. */
static void sort_helpers(struct pcoll_explore *explore)
{
    for (int h = 1; h < explore->options.helpers; h++)
        for (int i = h; i > 0; i--) {
            struct explore_helper *after = &explore->helper[i], *before = after - 1;
            const struct explore_helper moved = *after;

            if (memcmp(before, after, sizeof(*before)) <= 0)
                break;
            *after = *before;
            *before = moved;
        }
}

/* Returns whether the helper will find another word than it has read. */
static bool is_too_late(const struct pcoll_explore *explore, const struct explore_helper *helper)
{
    bool may_come_late;

    switch ((enum explore_errand)helper->errand) {
        case HELPER_LOOKED:
            may_come_late = pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_TRIGGER_FIRST) ||
                            pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_NO_EPOCH);
            break;
        case HELPER_READY:
            may_come_late = pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_NO_EPOCH);
            break;
        case HELPER_DOUBTS:
            may_come_late = pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_NOT_COMPARED);
            break;
        default:
            return false;
    }
    return !may_come_late &&
           !pcoll_explore_is_same(explore, &explore->notice[helper->notice], &helper->word);
}

/* A helper whose claim will fail is idle. */
static void normalize(struct pcoll_explore *explore)
{
    for (int h = 0; h < explore->nhelpers; h++)
        if (is_too_late(explore, &explore->helper[h]))
            explore->helper[h] = (struct explore_helper){0};
    if (explore->options.admitted == PCOLL_EXPLORE_ANYBODY && explore->options.deaths == 0)
        sort_helpers(explore);
}

/* ---- holders of chunks, and dead helpers ---- */

/* The helper that holds a chunk of the notice; there is one. */
static int holder_of(const struct pcoll_explore *explore, int at)
{
    const struct explore_word *word = &explore->notice[at].word;

    for (int h = 0; h < explore->options.helpers; h++) {
        const struct explore_helper *helper = &explore->helper[h];

        if (helper->errand >= HELPER_CLAIMED && helper->notice == at &&
            helper->word.epoch == word->epoch && helper->chunk + 1 == word->held)
            return h;
    }
    return -1;
}

static int count_dead(const struct pcoll_explore *explore)
{
    int n = 0;

    for (int h = 0; h < explore->options.helpers; h++)
        n += explore->helper[h].errand == HELPER_DEAD;
    return n;
}

/* ---- what may happen ---- */

/* In order, what its rank did to the peer before must have arrived before the last chunk has. */
static bool may_write(const struct pcoll_explore *explore, const struct explore_helper *helper)
{
    const int connection = explore->task[helper->task].connection;

    return !explore->ordered || connection < 0 ||
           explore->issued[connection] == explore->delivered[connection];
}

/* The owner claims at once, and tries again if somebody else has changed the word. */
static bool can_own(const struct pcoll_explore *explore, const struct explore_notice *notice)
{
    return pcoll_explore_is_due(explore, notice) &&
           (pcoll_explore_has_chunk(explore, notice, true) ||
            pcoll_explore_has_lost(explore, notice) ||
            (explore->options.deaths > 0 && notice->word.held > 0));
}

/* A notice without a chunk that can be claimed is not even looked at. */
static bool can_look(const struct pcoll_explore *explore, int number, int at)
{
    const struct explore_notice *notice = &explore->notice[at];

    if (explore->helper[number].errand != HELPER_IDLE || !pcoll_explore_is_open(explore, notice))
        return false;
    if (is_owner(explore, number))
        return owns(explore, number, at) && can_own(explore, notice);
    if (!admits(explore, notice, number))
        return false;
    if (pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_TRIGGER_FIRST))
        return pcoll_explore_is_due(explore, notice);
    return pcoll_explore_has_chunk(explore, notice, false);
}

/* The threshold may be that of an earlier instance only if it comes after the word. */
static bool seems_due(const struct pcoll_explore *explore, const struct explore_notice *notice)
{
    return pcoll_explore_is_due(explore, notice) ||
           pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_TRIGGER_FIRST) ||
           (pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_OPENED_FIRST) &&
            notice->word.epoch > 1);
}

static bool can_go_on(const struct pcoll_explore *explore, const struct explore_helper *helper)
{
    switch ((enum explore_errand)helper->errand) {
        case HELPER_IDLE:
        case HELPER_DEAD:
            return false;
        case HELPER_LOOKED:
            return seems_due(explore, &explore->notice[helper->notice]);
        case HELPER_HOLDS:
            return may_write(explore, helper);
        case HELPER_DOUBTS:
            return explore->helper[helper->suspect].errand == HELPER_DEAD;
        default:
            return true;
    }
}

static bool can_refuse(const struct pcoll_explore *explore, const struct explore_helper *helper)
{
    return *explore->refused < explore->options.refusals && helper->errand == HELPER_HOLDS &&
           may_write(explore, helper);
}

static bool can_die(const struct pcoll_explore *explore, int number)
{
    const struct explore_helper *helper = &explore->helper[number];

    return !is_owner(explore, number) && helper->errand != HELPER_DEAD &&
           count_dead(explore) < explore->options.deaths &&
           (helper->errand != HELPER_HOLDS || may_write(explore, helper));
}

bool pcoll_explore_can_help(const struct pcoll_explore *explore, struct explore_event event)
{
    const int n = explore->nhelpers;

    switch (event.kind) {
        case EXPLORE_LOOK:
            return can_look(explore, event.index % n, event.index / n);
        case EXPLORE_HELP:
            return can_go_on(explore, &explore->helper[event.index]);
        case EXPLORE_REFUSE:
            return can_refuse(explore, &explore->helper[event.index]);
        default:
            return can_die(explore, event.index);
    }
}

/* ---- steps ---- */

static void have_chunk(const struct pcoll_explore *explore, struct explore_helper *helper, int at,
                       uint32_t chunk)
{
    const struct explore_notice *notice = &explore->notice[at];

    *helper = (struct explore_helper){
        .errand = HELPER_CLAIMED,
        .notice = at,
        .word.epoch = notice->word.epoch,
        .task = notice->task - 1,
        .chunk = chunk,
    };
}

/* The owner claims a chunk, takes back what was returned, or doubts that a chunk is ever done. */
static void own(struct pcoll_explore *explore, struct explore_helper *helper, int at)
{
    struct explore_notice *notice = &explore->notice[at];

    if (pcoll_explore_has_chunk(explore, notice, true))
        have_chunk(explore, helper, at, pcoll_explore_claim(notice, true));
    else if (pcoll_explore_has_lost(explore, notice))
        have_chunk(explore, helper, at, pcoll_explore_take_back(notice));
    else
        *helper = (struct explore_helper){
            .errand = HELPER_DOUBTS,
            .notice = at,
            .word = notice->word,
            .suspect = holder_of(explore, at),
        };
}

static void look(struct pcoll_explore *explore, int number, int at)
{
    struct explore_helper *helper = &explore->helper[number];

    if (is_owner(explore, number))
        own(explore, helper, at);
    else
        *helper = (struct explore_helper){
            .errand = HELPER_LOOKED,
            .notice = at,
            .word = explore->notice[at].word,
        };
}

/* The trigger has been reached. */
static void get_ready(const struct pcoll_explore *explore, struct explore_helper *helper)
{
    if (pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_TRIGGER_FIRST))
        helper->word = explore->notice[helper->notice].word;
    helper->errand = HELPER_READY;
}

static void claim(struct pcoll_explore *explore, struct explore_helper *helper)
{
    struct explore_notice *notice = &explore->notice[helper->notice];

    if (pcoll_explore_has_chunk(explore, notice, false) &&
        pcoll_explore_is_same(explore, notice, &helper->word))
        have_chunk(explore, helper, helper->notice, pcoll_explore_claim(notice, false));
    else
        *helper = (struct explore_helper){0};
}

/* The suspect is dead. It may have finished its chunk before it died: then that is held no more.
 */
static void take_back(struct pcoll_explore *explore, struct explore_helper *owner)
{
    struct explore_notice *notice = &explore->notice[owner->notice];

    if (notice->word.held == 0) {
        *owner = (struct explore_helper){0};
        return;
    }
    explore->helper[owner->suspect] = (struct explore_helper){.errand = HELPER_DEAD};
    have_chunk(explore, owner, owner->notice, pcoll_explore_take_back(notice));
}

/* Move at most `bytes` bytes of the helper's chunk. */
static bool move(struct pcoll_explore *explore, const struct explore_helper *helper,
                 enum explore_kind kind, uint64_t bytes)
{
    const struct explore_task *task = &explore->task[helper->task];
    const struct explore_event event = {kind, helper->task};
    const uint64_t at = helper->chunk * explore->options.chunk, left = task->entry->bytes - at;
    struct explore_access access = pcoll_explore_access(explore, event, 0);
    unsigned char *way = explore->memory + task->data + at;

    access.at += at;
    access.bytes = left < bytes ? left : bytes;
    if (kind == EXPLORE_READ) {
        memcpy(way, explore->memory + access.at, access.bytes);
    } else {
        memcpy(explore->memory + access.at, way, access.bytes);
        if (explore->options.flaw == PCOLL_EXPLORE_FLAW_NONE) /* or two may have the chunk */
            memset(way, 0, access.bytes);
    }
    return pcoll_explore_check_access(explore, event, &access);
}

/* Returns the task that has landed, or -1. */
static int finish(struct pcoll_explore *explore, int number)
{
    struct explore_helper *helper = &explore->helper[number];
    struct explore_notice *notice = &explore->notice[helper->notice];
    const bool is_last = pcoll_explore_finish(explore, notice, is_owner(explore, number));

    if (is_last && notice->is_unsignaled)
        helper->errand = HELPER_SIGNALS;
    else
        *helper = (struct explore_helper){0};
    return is_last ? notice->task - 1 : -1;
}

static bool help(struct pcoll_explore *explore, int number, int *landed_p)
{
    struct explore_helper *helper = &explore->helper[number];
    bool ok = true;

    switch ((enum explore_errand)helper->errand) {
        case HELPER_LOOKED:
            get_ready(explore, helper);
            return true;
        case HELPER_READY:
            claim(explore, helper);
            return true;
        case HELPER_CLAIMED:
            helper->errand = HELPER_HOLDS;
            return move(explore, helper, EXPLORE_READ, explore->options.chunk);
        case HELPER_HOLDS:
            ok = move(explore, helper, EXPLORE_WRITE, explore->options.chunk);
            *landed_p = finish(explore, number);
            return ok;
        case HELPER_DOUBTS:
            take_back(explore, helper);
            return true;
        default:
            explore->notice[helper->notice].is_unsignaled = 0;
            *helper = (struct explore_helper){0};
            return true;
    }
}

/* The first byte has been moved. The owner asks for the chunk, which is then copied as a whole. */
static bool refuse(struct pcoll_explore *explore, int number, int *landed_p)
{
    struct explore_helper *helper = &explore->helper[number];
    const bool ok = move(explore, helper, EXPLORE_WRITE, 1);

    ++*explore->refused;
    if (pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_COUNTS_REFUSED)) {
        *landed_p = finish(explore, number);
    } else if (is_owner(explore, number)) {
        helper->errand = HELPER_CLAIMED;
    } else {
        explore->notice[helper->notice].word.is_returned = 1;
        *helper = (struct explore_helper){0};
    }
    return ok;
}

/* Nobody needs what the helper has read. But the owner asks which helper holds a chunk. */
static bool die(struct pcoll_explore *explore, struct explore_helper *helper)
{
    const bool ok = helper->errand != HELPER_HOLDS || move(explore, helper, EXPLORE_WRITE, 1);

    if (helper->errand != HELPER_CLAIMED && helper->errand != HELPER_HOLDS)
        *helper = (struct explore_helper){0};
    helper->errand = HELPER_DEAD;
    return ok;
}

void pcoll_explore_print_help(const struct pcoll_explore *explore, struct explore_event event)
{
    static const char *const does[] = {"",       "reads the trigger", "claims",     "reads",
                                       "writes", "signals",           "takes back", ""};
    const bool looks = event.kind == EXPLORE_LOOK;
    const int number = looks ? event.index % explore->nhelpers : event.index;
    const struct explore_helper *helper = &explore->helper[number];
    FILE *out = explore->options.trace;

    if (looks)
        fprintf(out, "helper %d  looks at notice %d\n", number, event.index / explore->nhelpers);
    else
        fprintf(out, "helper %d  notice %d  epoch %u  chunk %u  %s\n", number, helper->notice,
                helper->word.epoch, helper->chunk,
                event.kind == EXPLORE_REFUSE ? "is refused"
                : event.kind == EXPLORE_DIE  ? "dies"
                                             : does[helper->errand]);
}

bool pcoll_explore_apply_help(struct pcoll_explore *explore, struct explore_event event,
                              int *landed_p)
{
    bool ok = true;

    *landed_p = -1;
    if (event.kind == EXPLORE_HELP)
        ok = help(explore, event.index, landed_p);
    else if (event.kind == EXPLORE_REFUSE)
        ok = refuse(explore, event.index, landed_p);
    else if (event.kind == EXPLORE_DIE)
        ok = die(explore, &explore->helper[event.index]);
    else
        look(explore, event.index % explore->nhelpers, event.index / explore->nhelpers);
    normalize(explore);
    return ok;
}
