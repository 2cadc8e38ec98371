/* The explorer: notices; the contract is in explore/notice.h. */
#include "offload/explore/notice.h"

bool pcoll_explore_is_bulk(const struct pcoll_explore *explore, const struct pcoll_entry *entry)
{
    return explore->options.helpers > 0 && pcoll_explore_moves(entry) &&
           entry->op != PCOLL_OP_REDUCE && entry->bytes > explore->options.chunk;
}

static bool task_is_bulk(const struct pcoll_explore *explore, int task)
{
    return pcoll_explore_is_bulk(explore, explore->task[task].entry);
}

uint32_t pcoll_explore_nchunks(const struct pcoll_explore *explore, int task)
{
    const uint64_t chunk = explore->options.chunk;

    return (uint32_t)((explore->task[task].entry->bytes + chunk - 1) / chunk);
}

int pcoll_explore_count_notices(const struct pcoll_explore *explore, int rank)
{
    int n = 0;

    for (int r = 0; explore->options.helpers > 0 && r < rank; r++)
        n += explore->rank[r].plan->nentries;
    return n;
}

static struct explore_notice *notice_of(const struct pcoll_explore *explore, int task)
{
    const struct explore_task *s = &explore->task[task];
    const struct explore_rank *rank = &explore->rank[s->rank];

    return &explore->notice[rank->first_notice + (int)(s->entry - rank->plan->entries)];
}

void pcoll_explore_open_notices(struct pcoll_explore *explore, int rank)
{
    const int instance = explore->progress[rank].completed;
    const struct pcoll_phase *phase = pcoll_explore_phase(explore, rank, instance);

    for (int i = 0; explore->options.helpers > 0 && i < phase->count; i++) {
        const int task = pcoll_explore_task(explore, rank, instance, phase->first + i);
        struct explore_notice *notice = notice_of(explore, task);

        if (!task_is_bulk(explore, task))
            continue;
        notice->task = task + 1;
        notice->word = (struct explore_word){
            .epoch = notice->word.epoch + 1,
            .left = pcoll_explore_nchunks(explore, task),
        };
    }
}

/* ---- what follows a copy ---- */

bool pcoll_explore_lets_pass(const struct pcoll_explore *explore, int task)
{
    if (!task_is_bulk(explore, task) ||
        pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_OVERTAKES))
        return pcoll_explore_has(explore, task, EXPLORE_FIRE);
    return pcoll_explore_has(explore, task, EXPLORE_DONE);
}

bool pcoll_explore_is_copied(const struct pcoll_explore *explore, int task, enum explore_kind kind)
{
    const struct explore_notice *notice = notice_of(explore, task);
    const uint32_t n = pcoll_explore_nchunks(explore, task);
    const bool is_current = notice->task == task + 1;

    if (pcoll_explore_has(explore, task, EXPLORE_WRITE))
        return kind != EXPLORE_SIGNAL || !notice->is_unsignaled;
    if (pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_EARLY_SIGNAL) && kind == EXPLORE_SIGNAL)
        return is_current && notice->word.left < n;
    if (pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_EARLY_LANDING) && kind == EXPLORE_DONE)
        return is_current && notice->word.next >= n;
    return false;
}

bool pcoll_explore_check_signals(struct pcoll_explore *explore, int rank)
{
    const int instance = explore->progress[rank].completed;
    const struct pcoll_phase *phase = pcoll_explore_phase(explore, rank, instance);

    for (int i = 0; explore->options.helpers > 0 && i < phase->count; i++) {
        const int task = pcoll_explore_task(explore, rank, instance, phase->first + i);

        if (task_is_bulk(explore, task) && pcoll_explore_signals(explore->task[task].entry) &&
            !pcoll_explore_has(explore, task, EXPLORE_SIGNAL))
            return pcoll_explore_fail(explore, PCOLL_EXPLORE_FAULT_LEFTOVER,
                                      "rank %d completes instance %d before entry %d has signaled",
                                      rank, instance, phase->first + i);
    }
    return true;
}

/* ---- the word ---- */

bool pcoll_explore_is_due(const struct pcoll_explore *explore, const struct explore_notice *notice)
{
    return pcoll_explore_has(explore, notice->task - 1, EXPLORE_FIRE);
}

bool pcoll_explore_has_chunk(const struct pcoll_explore *explore,
                             const struct explore_notice *notice, bool is_owner)
{
    return notice->word.next < pcoll_explore_nchunks(explore, notice->task - 1) &&
           (is_owner || notice->word.held == 0);
}

bool pcoll_explore_has_lost(const struct pcoll_explore *explore,
                            const struct explore_notice *notice)
{
    return notice->word.held > 0 &&
           (notice->word.is_returned ||
            pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_NOT_AWAITED));
}

bool pcoll_explore_is_same(const struct pcoll_explore *explore, const struct explore_notice *notice,
                           const struct explore_word *word)
{
    const struct explore_word *now = &notice->word;

    return (now->epoch == word->epoch ||
            pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_NO_EPOCH)) &&
           now->next == word->next && now->left == word->left && now->held == word->held &&
           now->is_returned == word->is_returned;
}

uint32_t pcoll_explore_claim(struct explore_notice *notice, bool is_owner)
{
    const uint32_t chunk = notice->word.next++;

    if (!is_owner)
        notice->word.held = chunk + 1;
    return chunk;
}

uint32_t pcoll_explore_take_back(struct explore_notice *notice)
{
    const uint32_t chunk = notice->word.held - 1;

    notice->word.held = 0;
    notice->word.is_returned = 0;
    return chunk;
}

bool pcoll_explore_finish(struct pcoll_explore *explore, struct explore_notice *notice,
                          bool is_owner)
{
    const bool is_last = --notice->word.left == 0;

    if (!is_owner)
        notice->word.held = 0;
    if (is_last && pcoll_explore_has_flaw(explore, PCOLL_EXPLORE_FLAW_CLOSED_FIRST))
        notice->is_unsignaled = 1;
    return is_last;
}
