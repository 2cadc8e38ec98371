/*
 * The queue of events: those of the least time come first; of equal times those that were put
 * first, or, if asked for, those with the lowest ticket, so that who tries again keeps its place.
 *
 * A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the shortest path problem",
 * 1990): a simulation never schedules anything before the present, so an event need only be sorted
 * as finely as the present tells it apart.  Bucket b holds the times whose highest bit that differs
 * from the present one is bit b - 1; when bucket 0 is empty, the next one is spread over those
 * before it.  Each event moves at most 64 times, a few times in practice, and always from one array
 * to the end of another: no comparisons of far memory, which is what a binary heap of millions of
 * events waits for.
 */
#ifndef PCOLL_SIM_QUEUE_H
#define PCOLL_SIM_QUEUE_H

#include <stddef.h>
#include <stdint.h>

enum pcoll_event_type {
    PCOLL_EVENT_START,    /* the rank starts its next instance */
    PCOLL_EVENT_INJECT,   /* a message asks for a port of its sender's node */
    PCOLL_EVENT_HOP,      /* its head is at a link */
    PCOLL_EVENT_ARRIVE,   /* its head is at the receiver's node */
    PCOLL_EVENT_LAND,     /* all of it has arrived */
    PCOLL_EVENT_DONE,     /* an entry is done: the own counter is raised */
    PCOLL_EVENT_COMPLETE, /* the last entry of the instance is done */
    PCOLL_EVENT_NUM_TYPES
};

/* What a message is. */
enum pcoll_message_type {
    PCOLL_MESSAGE_SIGNAL,  /* a signal, with the data of a PUT */
    PCOLL_MESSAGE_REQUEST, /* of a GET */
    PCOLL_MESSAGE_ANSWER   /* to a GET */
};

struct pcoll_event {
    double time;
    uint32_t kind;    /* of the entry, see program.h */
    int32_t from, to; /* ranks */
    uint32_t load;    /* symbolic data, see symbol.h; 0: none */
    uint32_t ticket;  /* 0: the next one, when it is put */
    uint16_t hop;
    uint8_t type, message;
};

struct pcoll_queue {
    uint64_t present; /* bits of the time of the last event taken */
    size_t head;      /* of bucket 0 */
    struct pcoll_bucket {
        struct pcoll_event *events;
        size_t count, room;
    } buckets[65];
    uint32_t tickets; /* given out */
    int by_ticket;
    int failed; /* out of memory: an event was lost */
};

void pcoll_queue_init(struct pcoll_queue *queue, int by_ticket);
void pcoll_queue_fini(struct pcoll_queue *queue);

/* event.time is not negative, not NaN, and not before the last event taken. */
void pcoll_queue_put(struct pcoll_queue *queue, const struct pcoll_event *event);

/* 0: there is none. */
int pcoll_queue_take(struct pcoll_queue *queue, struct pcoll_event *event_p);

#endif /* PCOLL_SIM_QUEUE_H */
