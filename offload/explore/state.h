/*
 * The inside of the explorer: the state of a job and its events.
 *
 * Everything that changes lies in one piece of memory, so that the explorer can save, restore and
 * hash it: first the control part (counters, flags), then the data. A task is one entry in one
 * instance of one rank.
 */
#ifndef PCOLL_EXPLORE_STATE_H
#define PCOLL_EXPLORE_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "offload/explore/explore.h"

/* The index of START and COMPLETE is a rank, that of HELP, REFUSE and DIE a helper, that of LOOK is
 * notice * nhelpers + helper; that of the others is a task. */
enum explore_kind {
    EXPLORE_START,
    EXPLORE_FIRE,
    EXPLORE_READ,   /* of the source; its bytes are in flight then */
    EXPLORE_WRITE,  /* of these, to the target */
    EXPLORE_DONE,   /* local completion, and the add to the own counter */
    EXPLORE_SIGNAL, /* the add to the peer's counter */
    EXPLORE_COMPLETE,
    EXPLORE_LOOK,   /* of a helper, at a notice: help.c */
    EXPLORE_HELP,   /* its next step */
    EXPLORE_REFUSE, /* the kernel does not let it finish its chunk */
    EXPLORE_DIE,    /* its process does */
    EXPLORE_NUM_KINDS
};

struct explore_event {
    enum explore_kind kind;
    int index;
};

struct explore_task {
    int rank, instance;
    const struct pcoll_entry *entry;
    size_t data;        /* offset in the memory of the bytes in flight */
    int previous, next; /* on the same trigger and instance, or -1 */
    int connection;     /* (rank * nranks + peer) * nrails + rail, or -1 */
};

struct explore_region { /* in place, SEND is a part of RECV */
    size_t at, bytes;   /* in the memory */
};

struct explore_rank {
    const struct pcoll_plan *plan;
    int first_task;
    int first_notice;
    size_t first_counter;
    int *head; /* first entry for each phase and trigger, see pcoll_explore_first_on */
    struct explore_region buffer[PCOLL_NUM_BUFFERS];
};

struct explore_progress {
    int32_t started, completed; /* number of instances */
    int32_t left;               /* entries of the running instance that are not done */
};

struct pcoll_explore {
    struct pcoll_explore_options options;
    int nranks, nrails;
    bool ordered;
    bool dry;      /* move no data and check nothing: control only */
    bool compares; /* equal states have equal memory: bytes in flight are 0 before and after */
    struct explore_rank *rank;
    const struct pcoll_local **locals; /* [nranks], for pcoll_expect */
    bool synchronizes;                 /* PCOLL_SYNCHRONIZES */
    size_t ncounters;                  /* of all ranks */
    int ntasks, nnotices, nhelpers;
    struct explore_task *task;
    uint8_t *all; /* events of a task that are to happen: bits 1 << kind */
    int *turn; /* the tasks of each connection in the order of their turns, as far as they have been
                * issued, also before a state is restored; from first_turn[connection] on */
    int *first_turn;

    unsigned char *memory;
    size_t memory_bytes, control_bytes;
    /* in the memory */
    uint64_t *counter;
    struct explore_progress *progress;
    uint32_t *position;            /* of a task: its turn on its connection, from 1 */
    uint32_t *issued, *delivered;  /* turns for each connection */
    uint8_t *happened;             /* events of a task: bits 1 << kind */
    struct explore_notice *notice; /* [nnotices]: of each entry of each rank's plan */
    struct explore_helper *helper; /* [nhelpers]: those of the options, then the owners */
    int32_t *refused;              /* how often the kernel has refused a copy */

    unsigned char **results; /* [instances][nranks]: with PCOLL_EXPLORE_TREE, what the first of the
                              * ranks that expect the same got that completed the instance, in any
                              * run; in the element of the lowest of them. NULL: none has */

    enum pcoll_explore_fault fault;
    char why[320];
};

/* Reset the job to its beginning. */
void pcoll_explore_reset(struct pcoll_explore *explore);

/* At start: fill SEND, and poison RECV. */
void pcoll_explore_fill(struct pcoll_explore *explore, int rank, int instance);

/* Returns whether RECV is right, at completion. */
bool pcoll_explore_verify(struct pcoll_explore *explore, int rank, int instance);

/* Overwrite the rank's user memory, after completion. */
void pcoll_explore_scribble(struct pcoll_explore *explore, int rank);

/* Returns whether this event may happen now. It stays possible until it happens. */
bool pcoll_explore_can(const struct pcoll_explore *explore, struct explore_event event);

/* Let the event happen. Returns false if a check failed. */
bool pcoll_explore_apply(struct pcoll_explore *explore, struct explore_event event);

/* Returns whether this is the proper end, when no event is possible any more: false means deadlock,
 * or something is left over. */
bool pcoll_explore_end(struct pcoll_explore *explore);

/* The task of entry number `entry` of the plan in that instance. */
int pcoll_explore_task(const struct pcoll_explore *explore, int rank, int instance, int entry);

/* The task of the first entry of the running phase of `rank` on counter `trigger`, or -1. The
 * others follow by `next`: in an ordered plan in list order, otherwise by threshold; each can fire
 * only if those before it can. */
int pcoll_explore_first_on(const struct pcoll_explore *explore, int rank, int trigger);

const struct pcoll_phase *pcoll_explore_phase(const struct pcoll_explore *explore, int rank,
                                              int instance);

/* The task whose effects on the peer are to arrive next, or -1: it has not been issued. Only if the
 * plans are ordered. */
int pcoll_explore_next_turn(const struct pcoll_explore *explore, int connection);

/* Returns whether the entry moves bytes. */
bool pcoll_explore_moves(const struct pcoll_entry *entry);

/* Returns whether it signals a peer. */
bool pcoll_explore_signals(const struct pcoll_entry *entry);

/* Returns whether it takes its turn among its rank's effects on the peer at an event of that kind:
 * already when it fires, or only when its data has landed. */
bool pcoll_explore_queues_at(const struct pcoll_entry *entry, enum explore_kind kind);

/* A range of memory that the READ or WRITE of a task touches. */
struct explore_access {
    int owner;
    enum pcoll_buffer buffer;
    size_t at, bytes; /* in the memory */
};

/* The number of these ranges: one, or one for each operand that a REDUCE reads. */
int pcoll_explore_naccesses(const struct pcoll_explore *explore, struct explore_event event);

/* Range number i of them. */
struct explore_access pcoll_explore_access(const struct pcoll_explore *explore,
                                           struct explore_event event, int i);

/* to = left * right with the operator of the job; `to` may be one of them. */
void pcoll_explore_operate(const struct pcoll_explore *explore, unsigned char *to,
                           const unsigned char *left, const unsigned char *right, size_t bytes);

/* The plan may use user memory only while its owner is in the same instance. */
bool pcoll_explore_check_access(struct pcoll_explore *explore, struct explore_event event,
                                const struct explore_access *access);

/* Fail a check; returns false. */
bool pcoll_explore_fail(struct pcoll_explore *explore, enum pcoll_explore_fault fault,
                        const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Returns whether the rank is between start and completion. */
static inline bool pcoll_explore_is_active(const struct pcoll_explore *explore, int rank)
{
    return explore->progress[rank].started > explore->progress[rank].completed;
}

static inline bool pcoll_explore_has(const struct pcoll_explore *explore, int task,
                                     enum explore_kind kind)
{
    return explore->happened[task] >> kind & 1;
}

#endif /* PCOLL_EXPLORE_STATE_H */
