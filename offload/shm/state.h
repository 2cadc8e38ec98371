/*
 * The state of a group and a bound plan of the shared-memory medium. Private to shm*.c, and to
 * media that run their ranks of one node in the same way.
 */
#ifndef PCOLL_SHM_STATE_H
#define PCOLL_SHM_STATE_H

#include "offload/bell.h"
#include "offload/run/run.h"
#include "offload/shm/shm.h"
#include "offload/shm/arena.h"
#include "offload/shm/heap.h"

#define PCOLL_SHM_SLOT (PCOLL_COMBINE_WORDS * sizeof(uint64_t))

/* Where the ranks of a group meet: two sets of slots, used alternately. A rank can be one meeting
 * ahead of another, but not two. */
struct pcoll_shm_meeting {
    struct pcoll_line arrived; /* its value counts the ranks that have arrived, over all meetings so
                                * far */
    _Atomic uint32_t refused;  /* the kernel has refused what it permitted when the group was
                                * created */
    char pad[PCOLL_LINE_BYTES - sizeof(uint32_t)];
    _Atomic uint32_t sleepers; /* ranks that sleep on a counter */
    char more_pad[PCOLL_LINE_BYTES - sizeof(uint32_t)];
    char slots[]; /* [2][nranks][PCOLL_SHM_SLOT], then the lines of distance.c, [2][nranks] */
};

struct pcoll_shm_group {
    struct pcoll_group base;
    struct pcoll_shm_arena arena;
    struct pcoll_bootstrap bootstrap; /* its combine is that of this group */
    void *context;                    /* for idle and report */
    void (*idle)(void *context);
    void (*report)(void *context, const char *message);
    struct pcoll_shm_block *block; /* for the meeting */
    struct pcoll_shm_meeting *meeting;
    uint64_t meetings;                /* number of meetings so far */
    uint64_t coop_from;               /* bootstrap->coop_from */
    int64_t board_from;               /* bootstrap->board_from */
    struct pcoll_bell *bell;          /* of the agent that serves the group; NULL: there is none */
    struct pcoll_attachment *bell_at; /* where it is mapped */
    int is_host;                      /* it is this process' */
    unsigned provides;
    uint64_t distance; /* what group_distance returns */
};

/* Steps that access memory of another process, and steps to another node. */
enum pcoll_shm_kind {
    PCOLL_SHM_READ = PCOLL_STEP_OTHER, /* from the memory of process `pid` */
    PCOLL_SHM_WRITE,                   /* to the memory of process `pid` */
    PCOLL_SHM_ASK_READ, /* these replace READ and WRITE when the kernel refuses them: shm/relay.h */
    PCOLL_SHM_ASK_WRITE,
    PCOLL_SHM_COOP,   /* READ or WRITE with the help of its peer: shm/coop.h */
    PCOLL_SHM_POSTED, /* anybody may have performed it: shm/board.h */
    PCOLL_SHM_AWAY,   /* the peer is not on this node: another medium moves the data and signals */
    PCOLL_SHM_PACK,   /* from SEND with a layout to memory that is mapped here */
    PCOLL_SHM_UNPACK, /* from such memory to RECV with a layout */
    PCOLL_SHM_REPACK  /* from SEND to RECV, both with a layout */
};

/* SEND or RECV of another rank, as far as it is mapped here. */
struct pcoll_shm_view {
    struct pcoll_attachment *attachment; /* NULL: it is not */
    uint64_t there;                      /* the address of its base in the owner's process */
};

struct pcoll_shm_bound {
    struct pcoll_bound base;
    struct pcoll_run run;
    struct pcoll_shm_block *block;
    struct pcoll_shm_group *group;

    char *relays; /* [nrelays], each of relay_bytes, in the block: one for each rank */
    size_t relay_bytes;
    int nrelays, number;                                       /* this rank's number */
    const struct pcoll_user_layout *send_layout, *recv_layout; /* NULL: contiguous */
    void *scratch;                                             /* for steps between the two */
    /* [nviews]: by number; NULL: nothing is mapped */
    struct pcoll_shm_view (*views)[PCOLL_RECV + 1];
    int nviews;
    struct pcoll_step *asking; /* the step that is being relayed for this rank, and its progress */
    size_t relayed;

    struct pcoll_shm_coop *coops; /* of this rank's cooperative steps */
    int ncoops;
    uint64_t coop_from;
    pid_t self;    /* this process */
    char *tickets; /* [nrelays], in the block */
    /* The step whose ticket is open, or NULL; the number of the ticket's last opening. */
    struct pcoll_shm_coop *cooperating;
    uint32_t opening;
    int is_ahead;                  /* it is open, but its step has not fired yet */
    int starting;                  /* in start, which may leave a cooperative copy for later */
    int cannot_help;               /* the kernel has refused */
    uint32_t helped;               /* chunks of other ranks */
    struct pcoll_shm_board *board; /* NULL: none */
};

static inline struct pcoll_shm_group *pcoll_shm_group_of(const struct pcoll_group *group)
{
    return pcoll_container_of(group, struct pcoll_shm_group, base);
}

static inline struct pcoll_shm_bound *pcoll_shm_bound_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct pcoll_shm_bound, base);
}

static inline struct pcoll_shm_bound *pcoll_shm_bound_of_run(struct pcoll_run *run)
{
    return pcoll_container_of(run, struct pcoll_shm_bound, run);
}

/* Signal the counter at this offset in the block of the plan. Several ranks may signal it. */
static inline void pcoll_shm_signal_at(const struct pcoll_shm_bound *bound, uint64_t at,
                                       uint64_t add)
{
    if (add != 0)
        pcoll_signal_shared((struct pcoll_line *)(void *)((char *)bound->block + at), add);
}

static inline struct pcoll_line *pcoll_shm_flags(const struct pcoll_shm_group *group)
{
    return (void *)(group->meeting->slots + 2 * (size_t)group->bootstrap.nranks * PCOLL_SHM_SLOT);
}

/* Where a target's signalers are counted. */
struct pcoll_shm_signaling {
    _Atomic uint64_t *word;
    unsigned shift;
    unsigned count; /* 1, or 2 if another rank may signal in place of this one */
};

/* What each rank tells all others. */
struct pcoll_shm_card {
    int64_t pid;
    uint64_t send, recv; /* addresses in the owner's process */
    uint64_t ncounters, temp_bytes;
    uint64_t longest; /* the longest move of this rank to or from user memory of another rank */
    uint64_t result;  /* this rank's result so far */
    uint32_t nnotices, noperands;                    /* that this rank puts on the board */
    struct pcoll_heap_place in_heap[PCOLL_RECV + 1]; /* of SEND and RECV */
};

_Static_assert(sizeof(struct pcoll_shm_card) <= PCOLL_SHM_SLOT, "it is told at once");

/* The rank's counters and TEMP, as the plan sees them. */
static inline size_t pcoll_shm_plan_bytes(const struct pcoll_shm_card *card)
{
    size_t temp = (size_t)(card->temp_bytes + PCOLL_LINE_BYTES - 1) / PCOLL_LINE_BYTES;

    return ((size_t)card->ncounters + temp) * PCOLL_LINE_BYTES;
}

/* State that exists only while binding. */
struct pcoll_shm_binding {
    const struct pcoll_plan *plan;
    const struct pcoll_memory *memory;
    struct pcoll_shm_bound *bound;
    struct pcoll_shm_card *cards; /* [nlocal] */
    size_t area_bytes;            /* of all ranks */
    size_t *areas;                /* [nlocal]: offset of a rank's counters, which its TEMP
                                   * follows */
    size_t tickets_bytes;         /* of all ranks; 0: no step is cooperative */
    size_t board_bytes;           /* 0: there is no board */
    struct pcoll_target **index;  /* [index_mask + 1]: by counter; NULL: none */
    size_t index_mask;
    struct pcoll_shm_signaling *signalings; /* [most_targets] */
    int nlocal;                             /* number of ranks of the shared-memory group */
    const int *ranks; /* [nlocal], ascending: number i of the group is ranks[i] of the plan; NULL:
                       * both numberings are the same */
    int is_alone;     /* treat all other ranks as if they were not in the group */
};

/* The number of a rank of the plan in the group, or PCOLL_NONE. Each entry asks several times. */
int pcoll_shm_find_number(const struct pcoll_shm_binding *binding, int rank); /* shm/bind.c */
static inline int pcoll_shm_number(const struct pcoll_shm_binding *binding, int rank)
{
    return binding->ranks == NULL ? rank : pcoll_shm_find_number(binding, rank);
}

/* Values of the alarm of a block: a rank has given up; a rank requests a copy; and so often: the
 * number of open tickets. */
#define PCOLL_SHM_FAILED 1u
#define PCOLL_SHM_ASKING 2u
#define PCOLL_SHM_COOPERATING 4u

/* shm.c. The medium's functions that are the same for plans with a board. */
int pcoll_shm_suits(int one_node, const char *provider);
#define PCOLL_SHM_MEDIUM                                                                           \
    .traits = PCOLL_PACKS | PCOLL_LENDS, .suits = pcoll_shm_suits, .poll = pcoll_nothing,          \
    .lingering = pcoll_none_lingers, .finalize = pcoll_nothing,                                    \
    .group_create = pcoll_shm_group_create, .group_destroy = pcoll_shm_group_destroy,              \
    .group_provides = pcoll_shm_group_provides, .group_rails = pcoll_one_rail,                     \
    .group_distance = pcoll_shm_group_distance, .combine = pcoll_shm_combine,                      \
    .bind = pcoll_shm_bind, .unbind = pcoll_shm_unbind, .rest = pcoll_shm_rest,                    \
    .position = pcoll_shm_position

/* Give up, and tell the other ranks, which would wait forever: for that reason; because the kernel
 * has refused a copy; or because a step has failed, unless that has been said. */
enum pcoll_result pcoll_shm_give_up(struct pcoll_shm_bound *bound, const char *why);
enum pcoll_result pcoll_shm_stop(struct pcoll_shm_bound *bound);
enum pcoll_result pcoll_shm_fail(struct pcoll_shm_bound *bound, const struct pcoll_step *step,
                                 int error);
void pcoll_shm_rest(struct pcoll_bound *base, unsigned usec);
uint64_t pcoll_shm_position(const struct pcoll_bound *base);

/* shm/layout.c: moves between user memory with a layout, where an "address" is the offset in SEND
 * or RECV, and memory that is mapped here. The kind of such an entry's step, or PCOLL_NONE. */
int pcoll_shm_layout_kind(const struct pcoll_shm_bound *bound, const struct pcoll_entry *entry);
/* Allocates what such steps of the plan need. */
enum pcoll_result pcoll_shm_layout_init(struct pcoll_shm_bound *bound,
                                        const struct pcoll_plan *plan) PCOLL_MUST_CHECK;
enum pcoll_result pcoll_shm_repack(const struct pcoll_shm_bound *bound,
                                   const struct pcoll_step *step);

/* shm/bind.c */
enum pcoll_result pcoll_shm_bind(struct pcoll_group *base, const struct pcoll_plan *plan,
                                 const struct pcoll_memory *memory, struct pcoll_bound **bound_p);
void pcoll_shm_unbind(struct pcoll_bound *bound);

/* The parts of binding. Fini also releases what a failed init left. */
void pcoll_shm_bound_fini(struct pcoll_shm_bound *bound);
enum pcoll_result pcoll_shm_binding_init(struct pcoll_shm_binding *b);
void pcoll_shm_binding_fini(struct pcoll_shm_binding *b);

/* Collective over the group: make the block of all ranks, or return the worst result that any rank
 * has so far; `mine` is this rank's. Then each rank resolves its entries and publishes what it
 * signals, all ranks agree, and each calls pcoll_shm_find_alone. */
enum pcoll_result pcoll_shm_carve_block(struct pcoll_shm_binding *b, struct pcoll_shm_group *group,
                                        enum pcoll_result mine);

/* shm/resolve.c: the steps of all entries; the longest move to or from user memory of another rank,
 * before that. */
void pcoll_shm_resolve(const struct pcoll_shm_binding *b);
uint64_t pcoll_shm_longest_reach(const struct pcoll_shm_binding *b);

/* An address in this rank's memory, or, with a layout, the offset; this rank's counters, which its
 * TEMP follows, and their size. */
char *pcoll_shm_own_place(const struct pcoll_shm_binding *b, struct pcoll_place place);
char *pcoll_shm_own_area(const struct pcoll_shm_binding *b, size_t *bytes_p);

/* Where that counter of this rank is in the block. */
uint64_t pcoll_shm_counter_at(const struct pcoll_shm_binding *b, int index);

/* The target with which this rank signals a counter of `rank`, which is on this node. */
struct pcoll_target *pcoll_shm_target(const struct pcoll_shm_binding *b, int rank, int index);

/* shm/signalers.c: the size of a rank's counts; a new target for counter `index` of the rank whose
 * counts are at `signalers`; another rank that may signal a target (or NULL) in place of this one;
 * tell the other ranks; find the targets that no other rank signals. */
size_t pcoll_shm_signalers_bytes(uint64_t ncounters);
void pcoll_shm_signalers_add(const struct pcoll_shm_binding *b, const struct pcoll_target *target,
                             char *signalers, int index);
void pcoll_shm_signalers_add_other(const struct pcoll_shm_binding *b,
                                   const struct pcoll_target *target);
void pcoll_shm_signalers_publish(const struct pcoll_shm_binding *b);
void pcoll_shm_find_alone(const struct pcoll_shm_binding *b);

/* shm/views.c: user memory of other ranks that lies in their heaps. Map that of all neighbors, once
 * the cards are known; where that address in the process of rank `number` of the group is mapped
 * here (NULL: it is not); make a READ or WRITE of such memory an ordinary copy. */
void pcoll_shm_open_views(const struct pcoll_shm_binding *b);
void pcoll_shm_close_views(struct pcoll_shm_bound *bound);
char *pcoll_shm_mapped(const struct pcoll_shm_bound *bound, int number, uint64_t address);
void pcoll_shm_map_step(const struct pcoll_shm_binding *b, const struct pcoll_entry *entry,
                        struct pcoll_step *step);

/* shm/group.c */
enum pcoll_result pcoll_shm_group_create(const struct pcoll_bootstrap *bootstrap,
                                         struct pcoll_group **group_p);
void pcoll_shm_group_destroy(struct pcoll_group *base);
unsigned pcoll_shm_group_provides(const struct pcoll_group *group);
enum pcoll_result pcoll_shm_combine(struct pcoll_group *base, uint64_t *words, int n);

/* shm/distance.c. Collective: measure what group_distance returns. */
enum pcoll_result pcoll_shm_measure_distance(struct pcoll_shm_group *group);
uint64_t pcoll_shm_group_distance(const struct pcoll_group *group);

/* shm/group.c. Collective: contribute `bytes` bytes, at most PCOLL_SHM_SLOT. The contribution of
 * rank r is at r
 * * PCOLL_SHM_SLOT from the result, until this rank combines or meets again. */
const char *pcoll_shm_meet(struct pcoll_shm_group *group, const void *mine, size_t bytes);

/* shm/cma.c: move bytes between this process and process `pid`. Return 0 or an errno. */
int pcoll_cma_read(pid_t pid, void *to, const void *from, size_t bytes);
int pcoll_cma_write(pid_t pid, void *to, const void *from, size_t bytes);

#endif /* PCOLL_SHM_STATE_H */
