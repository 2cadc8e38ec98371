/*
 * What a group and a bound plan of the shared-memory medium consist of.  Private to shm*.c, and to
 * media that run their ranks of one node in the same way.
 */
#ifndef PCOLL_SHM_STATE_H
#define PCOLL_SHM_STATE_H

#include <sys/types.h>

#include "offload/shm/shm.h"
#include "offload/shm/arena.h"

/* A counter and its cell.  `value` is all that the polling rank looks at. */
struct pcoll_shm_line {
    _Atomic uint64_t value;
    _Atomic uint32_t signalers; /* ranks whose plans signal here; fixed when bound */
    _Atomic uint32_t sleepers;  /* ranks asleep on value (futex) */
    unsigned char cell[PCOLL_CELL_BYTES];
};

_Static_assert(sizeof(struct pcoll_shm_line) == PCOLL_SHM_LINE, "a counter fills its cache line");

#define PCOLL_SHM_SLOT (PCOLL_COMBINE_WORDS * sizeof(uint64_t))

/* Where the ranks of a group meet: two sets of slots, used in turn.  A rank can be one meeting
 * ahead of another, not two. */
struct pcoll_shm_meeting {
    struct pcoll_shm_line arrived; /* its value: ranks, in all meetings so far */
    _Atomic uint32_t refused; /* the kernel has refused what it allowed when the group was made */
    char pad[PCOLL_SHM_LINE - sizeof(uint32_t)];
    char slots[]; /* [2][nranks][PCOLL_SHM_SLOT] */
};

struct pcoll_shm_group {
    struct pcoll_group base;
    struct pcoll_shm_arena arena;
    struct pcoll_bootstrap bootstrap; /* its combine is that of this group */
    void *context;                    /* what idle and report want */
    void (*idle)(void *context);
    void (*report)(void *context, const char *message);
    struct pcoll_shm_block *block; /* of the meeting */
    struct pcoll_shm_meeting *meeting;
    uint64_t meetings; /* so far */
    unsigned provides;
};

/* A counter that this rank signals. */
struct pcoll_shm_target {
    struct pcoll_shm_line *line;
    uint64_t signaled; /* its value, as long as nobody else signals */
    int alone;
};

enum pcoll_shm_kind {
    PCOLL_SHM_NOTHING,
    PCOLL_SHM_COPY,     /* memory to memory, both mapped here */
    PCOLL_SHM_READ,     /* from the memory of process `pid` */
    PCOLL_SHM_WRITE,    /* to the memory of process `pid` */
    PCOLL_SHM_ASK_READ, /* what these were, when the kernel refuses them: shm/relay.h */
    PCOLL_SHM_ASK_WRITE,
    PCOLL_SHM_AWAY /* the peer is not on this node: move and signal are another medium's */
};

/* An entry with all addresses resolved. */
struct pcoll_shm_step {
    uint64_t threshold; /* absolute, for the next use; raised by gain at each */
    uint64_t gain;
    struct pcoll_shm_target *done, *peer; /* or NULL */
    uint64_t done_add, peer_add;
    enum pcoll_shm_kind kind;
    pid_t pid;
    void *to;
    const void *from;
    size_t bytes;
};

/* Steps of a phase that wait for the same counter, by rising threshold. */
struct pcoll_shm_queue {
    struct pcoll_shm_line *line; /* NULL: fire at start */
    struct pcoll_shm_step *first, *end;
};

struct pcoll_shm_phase {
    struct pcoll_shm_queue *queues;
    int nqueues;
};

struct pcoll_shm_bound {
    struct pcoll_bound base;
    /* What every start and poll touches comes first. */
    struct pcoll_shm_queue *pending; /* [npending]: what is left of the running phase */
    int npending;
    int phase, nphases;
    struct pcoll_shm_phase *phases;
    struct pcoll_shm_block *block;
    int rank;

    struct pcoll_shm_step *steps;
    struct pcoll_shm_queue *queues; /* of all phases, then room for `pending` */
    struct pcoll_shm_target *targets;
    int ntargets;
    struct pcoll_shm_group *group;

    char *relays; /* [nrelays], each of relay_bytes: in the block, of all ranks */
    size_t relay_bytes;
    int nrelays, number;           /* of this rank */
    struct pcoll_shm_step *asking; /* what is being relayed for this rank, and how far it is */
    size_t relayed;
};

static inline struct pcoll_shm_group *pcoll_shm_group_of(const struct pcoll_group *group)
{
    return pcoll_container_of(group, struct pcoll_shm_group, base);
}

static inline struct pcoll_shm_bound *pcoll_shm_bound_of(const struct pcoll_bound *bound)
{
    return pcoll_container_of(bound, struct pcoll_shm_bound, base);
}

/* While binding. */
struct pcoll_shm_binding {
    const struct pcoll_plan *plan;
    const struct pcoll_memory *memory;
    struct pcoll_shm_bound *bound;
    struct pcoll_shm_card *cards;    /* [nlocal] */
    size_t *areas;                   /* [nlocal]: offset of a rank's counters, then its TEMP */
    struct pcoll_shm_target **index; /* [index_mask + 1]: by counter, NULL where none is */
    size_t index_mask;
    int nlocal;       /* ranks of the shared-memory group */
    const int *local; /* [rank of the plan]: its number in the group, or PCOLL_NONE;
                       * NULL: the ranks of the plan are those of the group */
};

/* In the alarm of a block: a rank has given up; a rank asks others to copy. */
#define PCOLL_SHM_FAILED 1u
#define PCOLL_SHM_ASKING 2u

/* shm.c */
void pcoll_shm_wake(struct pcoll_shm_line *line);
void pcoll_shm_put_first(struct pcoll_shm_bound *bound, int i);
enum pcoll_result pcoll_shm_fail(struct pcoll_shm_bound *bound, const struct pcoll_shm_step *step,
                                 int error);
void pcoll_shm_rest(struct pcoll_bound *bound, unsigned usec);

/* shm/bind.c */
enum pcoll_result pcoll_shm_bind(struct pcoll_group *group, const struct pcoll_plan *plan,
                                 const struct pcoll_memory *memory, struct pcoll_bound **bound_p);
void pcoll_shm_unbind(struct pcoll_bound *bound);

/* Its parts.  Fini takes what init left, also when it failed. */
enum pcoll_result pcoll_shm_bound_init(struct pcoll_shm_bound *bound,
                                       const struct pcoll_plan *plan);
void pcoll_shm_bound_fini(struct pcoll_shm_bound *bound);
enum pcoll_result pcoll_shm_binding_init(struct pcoll_shm_binding *b);
void pcoll_shm_binding_fini(struct pcoll_shm_binding *b);

/* Collective over `bootstrap`: make the block of all ranks; then resolve, each for itself; then
 * agree; then see where a rank signals alone. */
enum pcoll_result pcoll_shm_carve_block(struct pcoll_shm_binding *b, struct pcoll_shm_group *group);
void pcoll_shm_resolve(const struct pcoll_shm_binding *b);
void pcoll_shm_find_alone(struct pcoll_shm_bound *bound);

/* An address in this rank's memory; this rank's counters, then its TEMP, and how many bytes. */
char *pcoll_shm_own_place(const struct pcoll_shm_binding *b, struct pcoll_place place);
char *pcoll_shm_own_area(const struct pcoll_shm_binding *b, size_t *bytes_p);

/* What signals a counter of `rank`, which is on this node: for this rank to use. */
struct pcoll_shm_target *pcoll_shm_target(const struct pcoll_shm_binding *b, int rank, int index);

/* shm/group.c */
enum pcoll_result pcoll_shm_group_create(const struct pcoll_bootstrap *bootstrap,
                                         struct pcoll_group **group_p);
void pcoll_shm_group_destroy(struct pcoll_group *group);
unsigned pcoll_shm_group_provides(const struct pcoll_group *group);
enum pcoll_result pcoll_shm_combine(struct pcoll_group *group, uint64_t *words, int n);

/* Collective: give `bytes` bytes, at most PCOLL_SHM_SLOT.  What rank r gave is at r *
 * PCOLL_SHM_SLOT from what is returned, until this rank combines or meets again. */
const char *pcoll_shm_meet(struct pcoll_shm_group *group, const void *mine, size_t bytes);

/* shm/copy.c: memory that does not overlap, both mapped here */
void pcoll_shm_copy(void *to, const void *from, size_t bytes);

/* shm/cma.c: move bytes between this process and process `pid`.  0, or an errno. */
int pcoll_cma_read(pid_t pid, void *to, const void *from, size_t bytes);
int pcoll_cma_write(pid_t pid, void *to, const void *from, size_t bytes);

#endif /* PCOLL_SHM_STATE_H */
