/*
 * The cost of a row by its closed form beside that of a walk through its plans.
 */
#ifndef PCOLL_TEST_WALKED_H
#define PCOLL_TEST_WALKED_H

#include "algorithms/cost.h"
#include "algorithms/plan/topology.h"

/* Networks like Ethernet and InfiniBand, and shared memory. */
enum { WALKED_NETWORKS = 3, WALKED_MESSAGES = 5 };
extern const struct pcoll_machine walked_networks[WALKED_NETWORKS], walked_memory;

/* Sizes in bytes, from short to long. */
extern const uint64_t walked_messages[WALKED_MESSAGES];

/* Ranks that fill nodes of so many each, in order. */
struct pcoll_topology *walked_spread(int nranks, int members);

/* The least and the largest ratio of a closed form to the walk. */
struct walked_range {
    double least, most;
};

#define WALKED_NOTHING ((struct walked_range){1, 1})

/* Widen the range by one call, or by one on each network. */
void walked_compare(const struct pcoll_algorithm *row, const struct pcoll_signature *signature,
                    const struct pcoll_params *params, const struct pcoll_machine *machine,
                    struct walked_range *range);
void walked_compare_networks(const struct pcoll_algorithm *row,
                             const struct pcoll_signature *signature,
                             const struct pcoll_params *params, struct walked_range *range);

/* A line of TAP: the closed form differs from the walk by less than `allowed`. */
void walked_ok(const struct walked_range *range, double allowed, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif /* PCOLL_TEST_WALKED_H */
