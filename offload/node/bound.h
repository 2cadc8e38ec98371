/*
 * A bound plan whose ranks, or some of them, are on one node. Private to offload/node and the media
 * on it.
 */
#ifndef PCOLL_NODE_BOUND_H
#define PCOLL_NODE_BOUND_H

#include "offload/node/group.h"
#include "offload/run/run.h"

/* Kinds of steps beside those of run/run.h. */
enum pcoll_node_kind {
    PCOLL_NODE_READ = PCOLL_STEP_OTHER, /* from the memory of process `pid` */
    PCOLL_NODE_WRITE,                   /* to the memory of process `pid` */
    PCOLL_NODE_ASK_READ, /* these replace READ and WRITE when the kernel refuses them: relay.h */
    PCOLL_NODE_ASK_WRITE,
    PCOLL_NODE_POSTED, /* others may have performed it: board.h */
    PCOLL_NODE_PACK,   /* from SEND with a layout to memory that is mapped here */
    PCOLL_NODE_UNPACK, /* from such memory to RECV with a layout */
    PCOLL_NODE_REPACK  /* from SEND to RECV, both with a layout */
};

/* Bits of the alarm of an extent: a rank has failed; a rank asks for a copy. */
#define PCOLL_NODE_FAILED 1u
#define PCOLL_NODE_ASKING 2u

/* SEND or RECV of another rank, as far as it is mapped here. */
struct pcoll_node_view {
    struct pcoll_attachment *attachment; /* NULL: it is not */
    uint64_t there;                      /* the address of its base in the owner's process */
};

struct pcoll_node_bound {
    struct pcoll_bound base;
    struct pcoll_run run;
    struct pcoll_shm_extent *extent;
    struct pcoll_node_group *group;

    char *relays; /* [nrelays], each of relay_bytes, in the extent: one for each rank */
    size_t relay_bytes;
    int nrelays, number;                                       /* this rank's number */
    const struct pcoll_user_layout *send_layout, *recv_layout; /* NULL: contiguous */
    void *scratch;                                             /* for steps between the two */
    /* [nviews]: by number; NULL: nothing is mapped */
    struct pcoll_node_view (*views)[PCOLL_RECV + 1];
    int nviews;
    struct pcoll_step *asking; /* the step that is being relayed for this rank, and its progress */
    size_t relayed;

    uint32_t chunks;                /* that this rank has done, also for others */
    struct pcoll_node_board *board; /* NULL: none */
};

static inline struct pcoll_node_bound *pcoll_node_bound_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct pcoll_node_bound, base);
}

static inline struct pcoll_node_bound *pcoll_node_bound_of_run(struct pcoll_run *run)
{
    return pcoll_container_of(run, struct pcoll_node_bound, run);
}

/* Signal the counter at this offset in the extent of the plan. Several ranks may signal it. */
static inline void pcoll_node_signal_at(const struct pcoll_node_bound *bound, uint64_t at,
                                        uint64_t add)
{
    if (add != 0)
        pcoll_signal_shared((struct pcoll_line *)(void *)((char *)bound->extent + at), add);
}

/* Releases what the bound plan has, also what a failed bind left. */
void pcoll_node_bound_fini(struct pcoll_node_bound *bound);

/* ---- move.c ---- */

/* Functions of a medium whose ranks are all on the node (offload/medium.h). */
void pcoll_node_tell(struct pcoll_bound *base, const struct pcoll_memory *memory);
void pcoll_node_move(struct pcoll_bound *base, const struct pcoll_plan *plan,
                     const struct pcoll_memory *memory);

/* Returns whether a bound plan of such a medium can move. */
bool pcoll_node_can_move(const struct pcoll_node_bound *bound, const struct pcoll_plan *plan);

/* ---- perform.c ---- */

/* Perform a step of any kind but PCOLL_STEP_COPY, without its signals. */
enum pcoll_result pcoll_node_perform(struct pcoll_run *run, struct pcoll_step *step);

/* Functions of a medium (offload/medium.h). */
void pcoll_node_rest(struct pcoll_bound *base, unsigned usec);
uint64_t pcoll_node_position(const struct pcoll_bound *base);

/* Call while an instance is not complete: learn of a failure, serve requests for copies, or help
 * others. Returns PCOLL_PENDING or an error. */
enum pcoll_result pcoll_node_attend(struct pcoll_node_bound *bound);

/* ---- fail.c ---- */

/* Tell the other ranks, which would wait forever, that this one fails. */
void pcoll_node_raise(struct pcoll_node_bound *bound);

/* Report why, and fail. */
enum pcoll_result pcoll_node_give_up(struct pcoll_node_bound *bound, const char *why);

/* Fail because the kernel has answered a READ or WRITE with `error`. */
enum pcoll_result pcoll_node_fail(struct pcoll_node_bound *bound, const struct pcoll_step *step,
                                  int error);

/* Fail because a step has: unless that has been reported, it is one of those that use functions of
 * the user. */
enum pcoll_result pcoll_node_stop(struct pcoll_node_bound *bound);

/* ---- layout.c ---- */

/* Moves between user memory with a layout, where an "address" is the offset in SEND or RECV, and
 * memory that is mapped here: the kind of such an entry's step, or PCOLL_NONE. */
int pcoll_node_layout_kind(const struct pcoll_node_bound *bound, const struct pcoll_entry *entry);

/* Allocates what such steps of the plan need. */
enum pcoll_result pcoll_node_layout_init(struct pcoll_node_bound *bound,
                                         const struct pcoll_plan *plan) PCOLL_MUST_CHECK;

/* Performs such a step. */
enum pcoll_result pcoll_node_repack(const struct pcoll_node_bound *bound,
                                    const struct pcoll_step *step);

/* ---- views.c ---- */

/* Where `bytes` bytes at that address in the process of rank `number` of the group are mapped here;
 * NULL: not all of them are. */
char *pcoll_node_mapped(const struct pcoll_node_bound *bound, int number, uint64_t address,
                        uint64_t bytes);

/* Unmap all of it. */
void pcoll_node_close_views(struct pcoll_node_bound *bound);

#endif /* PCOLL_NODE_BOUND_H */
