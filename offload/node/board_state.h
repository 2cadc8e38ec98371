/*
 * The state of a board. Private to board_bind.c, chunk.c, post.c, help.c and visit.c.
 */
#ifndef PCOLL_NODE_BOARD_STATE_H
#define PCOLL_NODE_BOARD_STATE_H

#include "offload/node/board.h"
#include "offload/node/notice.h"
#include "offload/tally.h"

enum { PCOLL_BOARD_OPERANDS = 32 }; /* reductions of more are not on the board */

/* A step of this rank that is on the board. */
struct board_post {
    struct pcoll_step *step;
    struct pcoll_step plain; /* as it would be without a board */
    struct pcoll_notice *notice;
    bool is_late;            /* its notice is opened when it fires: in order, it is behind a step
                              * that is not on the board */
    bool is_only;            /* the only copy of its instance, and no rank waits for what follows */
    bool is_opened;          /* in this instance */
    bool is_asking;          /* the owner of the other memory for chunks: */
    struct pcoll_step asked; /* those chunks, as a step */
    unsigned nasked;
    uint64_t word; /* of the notice, when it last changed */
    uint32_t laps; /* of the agent, then */
};

struct board_member {
    pid_t pid;
    struct pcoll_notice *notices;
    int n;
};

/* A notice of another rank that this one may perform. */
struct board_other {
    struct pcoll_notice *notice;
    int number; /* of that rank */
};

struct pcoll_node_board {
    _Atomic uint32_t *active; /* how many ranks have an active instance, if it is public */
    size_t extent_bytes;
    struct board_post *posts; /* [nposts], in the order of the plan's entries */
    int nposts, room;
    struct pcoll_notice_place *operands; /* of this rank's reductions, in the extent */
    int noperands, operand_room;
    const struct pcoll_operator *op;
    uint64_t coop_from;                /* as in the bootstrap */
    enum pcoll_node_offer offer;       /* of this rank */
    bool is_public;                    /* some rank offers entries to all */
    bool is_reachable[PCOLL_RECV + 1]; /* SEND and RECV of this rank, for an agent */
    bool ordered;                      /* the plan is */
    int *first_post;                   /* [nphases + 1]: where the posts of a phase begin */
    bool is_starting;                  /* a start leaves the only copy to others */
    bool is_active;                    /* this rank's instance is, if the board is public */
    bool leaves;                       /* long copies are left to the agent now */
    uint32_t laps;                     /* of the agent when it was last looked at */
    unsigned lap_looks, looks;
    _Atomic bool cannot_help; /* the kernel has refused */
    struct pcoll_node_bound *bound;
    struct board_other *others; /* [nothers], from the next rank on */
    int nothers;
    struct pcoll_node_board *next; /* of the visited plans */
    int nmembers;
    struct board_member members[]; /* [nmembers]: by number */
};

#define PCOLL_LONG_BYTES ((uint64_t)16 << 10) /* shorter copies are not worth being left */

/* Returns whether the copy is worth being left to others. */
static inline bool pcoll_node_is_long(const struct pcoll_notice *notice)
{
    return notice->bytes >= PCOLL_LONG_BYTES;
}

/* ---- chunk.c ---- */

/* Memory as this process reaches it: at `here`, or, if that is NULL, in that process. */
struct board_end {
    char *here;
    pid_t pid;
};

/* How this process reaches the ends of a copy; or of a reduction, of which all ends are here, or
 * `to` is not. */
struct board_way {
    struct board_end from, to;
    int noperands; /* 0: a copy */
    const unsigned char *operands[PCOLL_BOARD_OPERANDS];
    const struct pcoll_operator *op; /* of reductions */
};

/* Find out how this process reaches the ends of the notice's copy or reduction. */
void pcoll_node_chunk_find(const struct pcoll_node_bound *bound, const struct pcoll_notice *notice,
                           struct board_way *way);

/* Copy or reduce a chunk that this thread has claimed, as `worker`. Returns 0 or an errno. */
int pcoll_node_chunk_perform(const struct pcoll_notice *notice, const struct board_way *way,
                             struct pcoll_chunk chunk, enum pcoll_worker worker);

/* So many chunks are done, by the owner (helper 0) or a helper. If they were the last, give the
 * signals of the entry and close its notice. */
void pcoll_node_chunk_finish(const struct pcoll_node_bound *bound, struct pcoll_notice *notice,
                             unsigned helper, unsigned count);

/* ---- help.c ---- */

/* Perform a chunk of the notice, if this thread can. Returns whether something moved. */
bool pcoll_node_help_with(struct pcoll_node_bound *bound, struct pcoll_notice *notice,
                          bool is_agent);

/* ---- visit.c ---- */

/* Let the agent of this process visit the plan from now on. */
void pcoll_node_visit(struct pcoll_node_board *board);

/* Let it stop, and wait until no visit is under way. */
void pcoll_node_leave(struct pcoll_node_board *board);

#endif /* PCOLL_NODE_BOARD_STATE_H */
