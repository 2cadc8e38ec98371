/*
 * Where in their node the ranks of a communicator sit, and so how far they are from each other.
 */
#ifndef PCOLL_SEATS_H
#define PCOLL_SEATS_H

#include "tuning/table/estimates.h"

/* Numbers that are equal where ranks of one node have the same; PCOLL_NONE: not known, or none. */
struct pcoll_locality {
    int32_t package; /* socket */
    int32_t cache;   /* the largest data cache that all its cores share */
};

/* How far the ranks are from those of their own node: of the two that are farthest apart.  Seat i
 * is of rank i; topology NULL: all ranks are on one node.  PCOLL_LEVEL_ANY: not known, or no node
 * has two ranks. */
enum pcoll_level pcoll_level_of(const struct pcoll_locality *localities, int nranks,
                                const struct pcoll_topology *topology);

/* The same for ranks of one node that combine: what each gives, and what the greatest of each word
 * say. */
enum { PCOLL_LOCALITY_WORDS = 5 };
void pcoll_locality_write(struct pcoll_locality locality, uint64_t *words);
enum pcoll_level pcoll_locality_read(const uint64_t *words);

#endif /* PCOLL_SEATS_H */
