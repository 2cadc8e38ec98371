/*
 * The set of states that the explorer has visited.
 *
 * A state is recorded as a 128-bit hash of its whole memory, so with 10^7 states the chance to take
 * a new one for another is below 10^-24.
 */
#ifndef PCOLL_EXPLORE_VISITED_H
#define PCOLL_EXPLORE_VISITED_H

#include "algorithms/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

struct pcoll_hash {
    uint64_t a, b;
};

/* All zeros is the empty set. */
struct pcoll_visited {
    struct pcoll_hash *table; /* empty: {0, 0} */
    uint64_t mask, count;
};

/* Add a state, a multiple of 8 bytes; *is_new_p says whether the set lacked it. PCOLL_ERR_NOMEM. */
enum pcoll_result pcoll_visited_add(struct pcoll_visited *visited, const unsigned char *memory,
                                    size_t bytes, bool *is_new_p) PCOLL_MUST_CHECK;
void pcoll_visited_fini(struct pcoll_visited *visited);

#endif /* PCOLL_EXPLORE_VISITED_H */
