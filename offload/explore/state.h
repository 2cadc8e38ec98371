/*
 * The inside of the explorer: the state of a job and its events.
 *
 * Everything that changes lies in one block of memory, so that the explorer can save, restore and
 * hash it: first the control part (counters, flags), then the data. A slot is one entry in one
 * instance of one rank.
 */
#ifndef PCOLL_EXPLORE_STATE_H
#define PCOLL_EXPLORE_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "offload/explore/explore.h"

/* The index of START and COMPLETE is a rank, that of HELP, REFUSE and DIE a helper, that of LOOK is
 * notice * nhelpers + helper; that of the others is a slot. */
enum explore_kind {
    EXPLORE_START,
    EXPLORE_FIRE,
    EXPLORE_READ,   /* of the source, into the slot */
    EXPLORE_WRITE,  /* of the slot, to the target */
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

struct explore_slot {
    int rank, instance;
    const struct pcoll_entry *entry;
    size_t data;        /* offset in the block of the bytes in flight */
    int previous, next; /* on the same trigger and instance, or -1 */
    int pair;           /* (rank * nranks + peer) * nrails + rail, or -1 */
};

struct explore_region { /* in place, SEND is a part of RECV */
    size_t at, bytes;   /* in the block */
};

struct explore_rank {
    const struct pcoll_plan *plan;
    int first_slot;
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
    bool dry; /* move no data and check nothing: control only */
    struct explore_rank *rank;
    const struct pcoll_local **locals; /* [nranks], for pcoll_expect */
    bool synchronizes;                 /* PCOLL_SYNCHRONIZES */
    size_t ncounters;                  /* of all ranks */
    int nslots, nnotices, nhelpers;
    struct explore_slot *slot;
    uint8_t *all; /* events of a slot that are to happen: bits 1 << kind */
    int *turn;    /* the slots of each pair in the order of their turns, as far as they have been
                   * issued, also before a state is restored; from first_turn[pair] on */
    int *first_turn;

    unsigned char *block;
    size_t block_bytes, control_bytes;
    /* in the block */
    uint64_t *counter;
    struct explore_progress *progress;
    uint32_t *position;            /* of a slot: its turn in its pair, from 1 */
    uint32_t *issued, *delivered;  /* turns for each pair */
    uint8_t *happened;             /* events of a slot: bits 1 << kind */
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

/* At completion: true if RECV is right. */
bool pcoll_explore_verify(struct pcoll_explore *explore, int rank, int instance);
void pcoll_explore_scribble(struct pcoll_explore *explore, int rank);

/* True if this event may happen now. It stays possible until it happens. */
bool pcoll_explore_can(const struct pcoll_explore *explore, struct explore_event event);

/* Let the event happen. False: a check failed. */
bool pcoll_explore_apply(struct pcoll_explore *explore, struct explore_event event);

/* No event is possible any more: true if this is the proper end. False: deadlock, or something is
 * left over. */
bool pcoll_explore_end(struct pcoll_explore *explore);

/* The slot of entry number `entry` of the plan in that instance. */
int pcoll_explore_slot(const struct pcoll_explore *explore, int rank, int instance, int entry);

/* The slot of the first entry of the running phase of `rank` on counter `trigger`, or -1. The
 * others follow by `next`: in an ordered plan in list order, otherwise by threshold; each can fire
 * only if those before it can. */
int pcoll_explore_first_on(const struct pcoll_explore *explore, int rank, int trigger);

const struct pcoll_phase *pcoll_explore_phase(const struct pcoll_explore *explore, int rank,
                                              int instance);

/* The slot whose effects on the peer are to arrive next, or -1: it has not been issued. Only if the
 * plans are ordered. */
int pcoll_explore_next_turn(const struct pcoll_explore *explore, int pair);

/* True if the entry moves bytes. */
bool pcoll_explore_moves(const struct pcoll_entry *entry);

/* True if it signals a peer. */
bool pcoll_explore_signals(const struct pcoll_entry *entry);

/* True if it takes its turn among its rank's effects on the peer at an event of that kind: already
 * when it fires, or only when its data has landed. */
bool pcoll_explore_queues_at(const struct pcoll_entry *entry, enum explore_kind kind);

/* The memory that the READ or WRITE of a slot touches, of which there is one range, or one for each
 * operand that a REDUCE reads. */
struct explore_access {
    int owner;
    enum pcoll_buffer buffer;
    size_t at, bytes; /* in the block */
};
int pcoll_explore_naccesses(const struct pcoll_explore *explore, struct explore_event event);
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

/* True if the rank is between start and completion. */
static inline bool pcoll_explore_is_active(const struct pcoll_explore *explore, int rank)
{
    return explore->progress[rank].started > explore->progress[rank].completed;
}

static inline bool pcoll_explore_has(const struct pcoll_explore *explore, int slot,
                                     enum explore_kind kind)
{
    return explore->happened[slot] >> kind & 1;
}

#endif /* PCOLL_EXPLORE_STATE_H */
