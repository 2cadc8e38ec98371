/*
 * The queue of events: the event with the least time comes first. Among equal times the order is
 * that of insertion or, if requested, of the events' sequence numbers, so that an event that is put
 * again keeps its place.
 *
 * It is a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the shortest path
 * problem", 1990): a simulation never schedules anything before the present, so events need only be
 * sorted as finely as the present distinguishes them. Bucket b holds the times whose highest bit
 * that differs from the present is bit b - 1. When bucket 0 is empty, the next bucket is spread
 * over those before it. Each event moves at most 64 times, in practice a few times, and always from
 * one array to the end of another. There are no comparisons with distant memory, which dominate a
 * binary heap of millions of events.
 */
#ifndef PCOLL_SIM_QUEUE_H
#define PCOLL_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pcoll_event_type {
    PCOLL_EVENT_START,    /* the rank starts its next instance */
    PCOLL_EVENT_INJECT,   /* a message requests a port of its sender's node */
    PCOLL_EVENT_HOP,      /* the head of the message is at a link */
    PCOLL_EVENT_ARRIVE,   /* the head of the message is at the receiver's node */
    PCOLL_EVENT_LAND,     /* the whole message has arrived */
    PCOLL_EVENT_TURN,     /* the rank's processor turns to the next entry that waits for it */
    PCOLL_EVENT_DONE,     /* an entry is done: the rank's own counter rises */
    PCOLL_EVENT_COMPLETE, /* the last entry of the instance is done */
    PCOLL_EVENT_NUM_TYPES
};

/* The role of a message. */
enum pcoll_message_type {
    PCOLL_MESSAGE_SIGNAL,  /* a signal, with the data of a PUT */
    PCOLL_MESSAGE_REQUEST, /* from a GET */
    PCOLL_MESSAGE_ANSWER   /* to a GET */
};

struct pcoll_event {
    double time;
    uint32_t kind;     /* of the entry; see program.h */
    int32_t from, to;  /* ranks */
    uint32_t load;     /* symbolic data, see symbol.h; 0: none */
    uint32_t sequence; /* its number in order; 0: the queue assigns the next one */
    uint16_t hop;
    uint8_t type, message;
};

struct pcoll_event_queue {
    uint64_t present; /* bit pattern of the time of the last event taken */
    size_t head;      /* of bucket 0 */
    struct pcoll_bucket {
        struct pcoll_event *events;
        size_t count, room;
    } buckets[65];
    uint32_t last; /* the number that was assigned last */
    bool by_sequence;
    bool failed; /* out of memory: an event has been lost */
};

/* An empty queue; `by_sequence`: order equal times by the sequence numbers. */
void pcoll_event_queue_init(struct pcoll_event_queue *queue, bool by_sequence);
void pcoll_event_queue_fini(struct pcoll_event_queue *queue);

/* event.time is not NaN, not negative, and not before the last event taken. */
void pcoll_event_queue_put(struct pcoll_event_queue *queue, const struct pcoll_event *event);

/* Returns false if the queue is empty. */
bool pcoll_event_queue_take(struct pcoll_event_queue *queue, struct pcoll_event *event_p);

#endif /* PCOLL_SIM_QUEUE_H */
