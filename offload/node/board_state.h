/*
 * The state of a board. Private to node/board*.c.
 */
#ifndef PCOLL_NODE_BOARD_STATE_H
#define PCOLL_NODE_BOARD_STATE_H

#include "offload/node/board.h"
#include "offload/tally.h"

enum { PCOLL_BOARD_OPERANDS = 32 }; /* reductions of more are not on the board */

/* A step of this rank that is on the board. */
struct board_post {
    struct pcoll_step *step;
    struct pcoll_step plain; /* as it would be without a board */
    struct pcoll_notice *notice;
    struct pcoll_step apart; /* a chunk that the owner of the other memory is asked for */
    int is_apart;
    uint64_t word; /* of the notice, when it last changed; the agent had made so many laps */
    uint32_t laps;
};

struct board_member {
    pid_t pid;
    struct pcoll_notice *notices;
    int n;
};

struct pcoll_node_board {
    _Atomic uint32_t *active; /* how many ranks have an active instance */
    size_t block_bytes;
    struct board_post *posts; /* [nposts], in the order of the plan's entries */
    int nposts, room;
    struct pcoll_notice_place *operands; /* of this rank's reductions, in the block */
    int noperands, operand_room;
    const struct pcoll_operator *op;
    int is_reachable[PCOLL_RECV + 1]; /* SEND and RECV of this rank, for an agent */
    int ordered;                      /* the plan is */
    int *first_post;                  /* [nphases + 1]: where the posts of a phase begin */
    int is_active;                    /* this rank's instance is */
    int leaves;                       /* long copies are left to the agent now */
    uint32_t laps;                    /* of the agent when it was last looked at */
    unsigned lap_looks, looks;
    _Atomic int cannot_help; /* the kernel has refused */
    struct pcoll_node_bound *bound;
    struct pcoll_node_board *next; /* of the visited plans */
    int nmembers;
    struct board_member members[]; /* [nmembers]: by number */
};

/* Memory as this process reaches it: at `here`, or, if that is NULL, in that process. */
struct board_end {
    char *here;
    pid_t pid;
};

/* Of a copy; or of a reduction, of which all ends are here, or `to` is not. */
struct board_way {
    struct board_end from, to;
    int noperands; /* 0: a copy */
    const unsigned char *operands[PCOLL_BOARD_OPERANDS];
    const struct pcoll_operator *op; /* of reductions */
};

/* The host begins to visit the plan; it stops, and no visit is under way any more. Both in board.c.
 */
void pcoll_node_board_leave(struct pcoll_node_bound *bound);

#define PCOLL_BULK_BYTES ((uint64_t)16 << 10) /* shorter copies are not worth being left */

static inline int pcoll_node_board_is_bulk(const struct pcoll_notice *notice)
{
    return notice->bytes >= PCOLL_BULK_BYTES;
}

static inline void pcoll_node_board_tally(const struct pcoll_notice *notice,
                                          enum pcoll_worker worker)
{
    if (pcoll_node_board_is_bulk(notice))
        pcoll_tally_chunk(worker);
}

#endif /* PCOLL_NODE_BOARD_STATE_H */
