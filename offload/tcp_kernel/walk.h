/*
 * The walk: the plans of all ranks run together, in rounds, without data.
 *
 * In a round a rank fires the entries whose triggers the rounds before have reached, at most one
 * that touches each neighbor. What these signal to others, and what a move raises at its own rank,
 * counts from the next round on. A phase ends when all ranks have fired all of its entries.
 *
 * Every rank walks by itself, with the outlines of all ranks' plans, so all find the same.
 */
#ifndef PCOLL_TCP_KERNEL_WALK_H
#define PCOLL_TCP_KERNEL_WALK_H

#include "algorithms/plan/plan.h"

/* An entry, without the memory of its own rank. */
struct tcp_note {
    int32_t phase;
    int32_t op; /* enum pcoll_op */
    int32_t trigger, done;
    int32_t peer, peer_counter;
    int32_t neighbor; /* index of the peer in plan->neighbors */
    int32_t buffer;   /* of the peer, if the entry moves anything */
    uint64_t threshold, done_add, peer_add;
    uint64_t offset, bytes;
};

/* A plan, as its rank shows it to all others. */
struct tcp_outline {
    int32_t nphases, ncounters, nneighbors, nnotes;
    struct tcp_note notes[]; /* as plan->entries */
};

size_t pcoll_tcp_outline_bytes(const struct pcoll_plan *plan);

/* Writes that many bytes. */
void pcoll_tcp_outline_write(const struct pcoll_plan *plan, struct tcp_outline *outline);

/* An entry has fired. */
struct tcp_event {
    int rank, entry;
    int round;
};

/* All events, in order; those of a phase come before those of the next one, and their rounds have
 * lower numbers. */
struct tcp_walk {
    int nranks;
    const struct tcp_outline **outlines; /* [nranks] */
    uint64_t **counters;                 /* [nranks][ncounters]: their values after a cycle */
    struct tcp_event *events;            /* [nevents] */
    int nevents;
};

/* Outline r is at all + r * bytes, has at most so many bytes, and must outlive the walk.
 * PCOLL_ERR_INVALID: the plans do not fit together. */
enum pcoll_result pcoll_tcp_walk_create(int nranks, const void *all, size_t bytes,
                                        struct tcp_walk **walk_p) PCOLL_MUST_CHECK;
void pcoll_tcp_walk_destroy(struct tcp_walk *walk);

#endif /* PCOLL_TCP_KERNEL_WALK_H */
