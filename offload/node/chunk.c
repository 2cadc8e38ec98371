/* Chunks of entries on a board: how this process reaches their ends, copies or reduces them, and
 * what follows the last one. The contract is in node/board_state.h. */
#include "offload/node/board_state.h"

#include <errno.h>

#include "offload/memory/cma.h"

static struct board_end reach(const struct pcoll_node_bound *bound, struct pcoll_notice_place place,
                              uint64_t bytes)
{
    const struct board_member *members = bound->board->members;
    const pid_t self = members[bound->number].pid;
    struct board_end end = {(char *)bound->extent + place.at, self};

    if (place.number == PCOLL_NONE)
        return end;
    end.here = (char *)(uintptr_t)place.at;
    end.pid = members[place.number].pid;
    if (end.pid != self)
        end.here = pcoll_node_mapped(bound, (int)place.number, place.at, bytes);
    return end;
}

/* All ranks of a plan reduce with the same operator, but this one may not have its kernel. */
static void find_operands(const struct pcoll_node_bound *bound, const struct pcoll_notice *notice,
                          struct board_way *way)
{
    const struct pcoll_notice_place *places = (void *)((char *)bound->extent + notice->operands);

    for (int i = 0; i < way->noperands; i++) {
        way->operands[i] = (const unsigned char *)reach(bound, places[i], notice->bytes).here;
        if (way->operands[i] == NULL || way->op == NULL || way->op->kernel == NULL)
            way->to.here = NULL;
    }
}

void pcoll_node_chunk_find(const struct pcoll_node_bound *bound, const struct pcoll_notice *notice,
                           struct board_way *way)
{
    way->to = reach(bound, notice->to, notice->bytes);
    way->from = (struct board_end){NULL, 0};
    way->noperands = notice->noperands;
    way->op = bound->board->op;
    if (way->noperands > 0)
        find_operands(bound, notice, way);
    else
        way->from = reach(bound, notice->from, notice->bytes);
}

/* A kernel refuses nothing. */
static int reduce(const struct pcoll_notice *notice, const struct board_way *way,
                  struct pcoll_chunk chunk)
{
    const unsigned char *operands[PCOLL_BOARD_OPERANDS];
    unsigned char scratch[PCOLL_REDUCE_TILE];
    const struct pcoll_reduction reduction = {
        .op = way->op,
        .to = (unsigned char *)way->to.here + chunk.first,
        .bytes = (size_t)chunk.bytes,
        .operands = operands,
        .n = way->noperands,
        .scratch = notice->detours ? scratch : NULL,
    };

    for (int i = 0; i < reduction.n; i++)
        operands[i] = way->operands[i] + chunk.first;
    return pcoll_reduce(&reduction) == PCOLL_OK ? 0 : EINVAL;
}

static int copy(const struct pcoll_notice *notice, const struct board_way *way,
                struct pcoll_chunk chunk)
{
    const size_t bytes = (size_t)chunk.bytes;
    const uint64_t first = chunk.first;

    if (way->from.here == NULL)
        return pcoll_cma_read(way->from.pid, way->to.here + first,
                              (void *)(uintptr_t)(notice->from.at + first), bytes);
    if (way->to.here == NULL)
        return pcoll_cma_write(way->to.pid, (void *)(uintptr_t)(notice->to.at + first),
                               way->from.here + first, bytes);
    pcoll_copy(way->to.here + first, way->from.here + first, bytes);
    return 0;
}

int pcoll_node_chunk_perform(const struct pcoll_notice *notice, const struct board_way *way,
                             struct pcoll_chunk chunk, enum pcoll_worker worker)
{
    int error = 0;

    if (chunk.bytes > 0)
        error = way->noperands > 0 ? reduce(notice, way, chunk) : copy(notice, way, chunk);
    if (error == 0 && pcoll_node_is_long(notice))
        pcoll_tally_chunk(worker);
    return error;
}

/* The signals come before the notice is closed, so that those of later steps come after them. The
 * peer's comes first: it precedes whatever the entry's own rank does after its own. */
void pcoll_node_chunk_finish(const struct pcoll_node_bound *bound, struct pcoll_notice *notice,
                             unsigned helper, unsigned count)
{
    if (!pcoll_notice_finish(notice, helper, count))
        return;
    pcoll_node_signal_at(bound, notice->peer, notice->peer_add);
    pcoll_node_signal_at(bound, notice->done, notice->done_add);
    pcoll_notice_close(notice);
}
