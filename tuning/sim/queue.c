/* The queue of events; queue.h holds the idea and the contract. */
#include "tuning/sim/queue.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The bit patterns of non-negative doubles are ordered as the doubles are. */
static uint64_t bits_of(double time)
{
    uint64_t bits;

    time += 0.0; /* -0.0 would become the greatest */
    memcpy(&bits, &time, sizeof(bits));
    return bits;
}

static int bucket_of(const struct pcoll_event_queue *queue, double time)
{
    uint64_t differ = bits_of(time) ^ queue->present;

    return differ == 0 ? 0 : 64 - __builtin_clzll(differ);
}

void pcoll_event_queue_init(struct pcoll_event_queue *queue, bool by_sequence)
{
    memset(queue, 0, sizeof(*queue));
    queue->by_sequence = by_sequence;
}

void pcoll_event_queue_fini(struct pcoll_event_queue *queue)
{
    for (int b = 0; b < 65; b++)
        free(queue->buckets[b].events);
}

static bool grow(struct pcoll_bucket *bucket)
{
    size_t room = bucket->room ? 2 * bucket->room : 64;
    struct pcoll_event *events = realloc(bucket->events, room * sizeof(*events));

    if (events == NULL)
        return false;
    bucket->events = events;
    bucket->room = room;
    return true;
}

void pcoll_event_queue_put(struct pcoll_event_queue *queue, const struct pcoll_event *event)
{
    struct pcoll_bucket *bucket = &queue->buckets[bucket_of(queue, event->time)];

    if (bucket->count == bucket->room && !grow(bucket)) {
        queue->failed = true;
        return;
    }
    bucket->events[bucket->count] = *event;
    if (event->sequence == 0)
        bucket->events[bucket->count].sequence = ++queue->last;
    bucket->count++;
}

/* The first bucket that is not empty; NULL: there is none. */
static struct pcoll_bucket *next_bucket(struct pcoll_event_queue *queue)
{
    for (int b = 1; b < 65; b++)
        if (queue->buckets[b].count > 0)
            return &queue->buckets[b];
    return NULL;
}

/* Make the bucket's earliest time the present; its events move to the buckets before it, in
 * order. */
static void spread(struct pcoll_event_queue *queue, struct pcoll_bucket *bucket)
{
    double min = bucket->events[0].time;
    size_t count = bucket->count;

    for (size_t i = 1; i < count; i++)
        if (bucket->events[i].time < min)
            min = bucket->events[i].time;
    queue->present = bits_of(min);
    bucket->count = 0;
    for (size_t i = 0; i < count; i++)
        pcoll_event_queue_put(queue, &bucket->events[i]);
}

/* Insertion sort: few events are out of order. */
static void sort_by_sequence(struct pcoll_bucket *bucket)
{
    for (size_t i = 1; i < bucket->count; i++) {
        const struct pcoll_event event = bucket->events[i];
        size_t to = i;

        for (; to > 0 && bucket->events[to - 1].sequence > event.sequence; to--)
            bucket->events[to] = bucket->events[to - 1];
        bucket->events[to] = event;
    }
}

bool pcoll_event_queue_take(struct pcoll_event_queue *queue, struct pcoll_event *event_p)
{
    struct pcoll_bucket *first = &queue->buckets[0], *next;

    if (queue->head == first->count) {
        queue->head = first->count = 0;
        next = next_bucket(queue);
        if (next == NULL)
            return false;
        spread(queue, next);
        if (queue->by_sequence)
            sort_by_sequence(first);
    }
    *event_p = first->events[queue->head++];
    return true;
}
