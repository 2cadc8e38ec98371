/* A rank that waits, or the agent, performs entries of others on a board. The contract is in
 * node/board.h. */
#include "offload/node/board_state.h"

/* Returns whether the open notice can be performed. It was opened after the one in front of it. */
static bool is_due(const struct pcoll_node_bound *bound, struct pcoll_notice *notice)
{
    const struct pcoll_line *line = (void *)((char *)bound->extent + notice->trigger);
    const uint64_t threshold = atomic_load_explicit(&notice->threshold, memory_order_relaxed);

    if (notice->is_after && pcoll_notice_is_open(notice - 1))
        return false;
    return notice->trigger == 0 ||
           (int64_t)(atomic_load_explicit(&line->value, memory_order_acquire) - threshold) >= 0;
}

/* Finds the ends of the copy or reduction. Returns false if it is not for this thread. A copy that
 * needs the system is for an agent, or for a rank whose memory is one of the ends. */
static bool find_way(const struct pcoll_node_bound *bound, const struct pcoll_notice *notice,
                     bool is_agent, struct board_way *way)
{
    const int64_t self = bound->number;

    if (notice->bytes == 0)
        return true;
    pcoll_node_chunk_find(bound, notice, way);
    if (way->noperands > 0)
        return way->to.here != NULL;
    if (way->from.here != NULL && way->to.here != NULL)
        return true;
    return (way->from.here != NULL || way->to.here != NULL) && !bound->board->cannot_help &&
           (is_agent || notice->from.number == self || notice->to.number == self);
}

bool pcoll_node_help_with(struct pcoll_node_bound *bound, struct pcoll_notice *notice,
                          bool is_agent)
{
    const uint64_t word = atomic_load_explicit(&notice->word, memory_order_acquire);
    const unsigned self = (unsigned)bound->number + 1;
    struct board_way way;
    struct pcoll_chunk chunk;

    if (!pcoll_notice_read(word).is_open || !is_due(bound, notice) ||
        !find_way(bound, notice, is_agent, &way))
        return false;
    if (!pcoll_notice_claim(notice, word, self, &chunk))
        return false;
    if (pcoll_node_chunk_perform(notice, &way, chunk, PCOLL_BY_HELPER) == 0) {
        pcoll_node_chunk_finish(bound, notice, self, chunk.count);
    } else {
        bound->board->cannot_help = true;
        pcoll_notice_return(notice);
    }
    return true;
}

/* Performs one chunk of each entry of the first rank for which it can do something. */
void pcoll_node_help(struct pcoll_node_bound *bound)
{
    const struct pcoll_node_board *board = bound->board;
    int helped = PCOLL_NONE;

    for (int i = 0; i < board->nothers && !board->leaves; i++) {
        const struct board_other *other = &board->others[i];

        if (helped != PCOLL_NONE && other->number != helped)
            return;
        if (pcoll_node_help_with(bound, other->notice, false)) {
            helped = other->number;
            bound->chunks++;
        }
    }
}
