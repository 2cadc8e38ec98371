/*
 * What ranks of a node measure of their machine, for the cost model: ESTIMATE, the default. Two
 * measure most of it; where there are four with a core each, these also measure how far ranks wait
 * for each other that read one process.
 *
 * A figure is the lower quartile of a few samples, so neither a first touch of memory nor a rank
 * that loses its core for a moment changes it.
 */
#ifndef PCOLL_NODE_MEASURE_H
#define PCOLL_NODE_MEASURE_H

#include <stdbool.h>

#include "algorithms/plan/machine.h"
#include "offload/run/line.h"

enum { PCOLL_MEASURE_PAIRS = 16, PCOLL_MEASURE_SLOT_BYTES = 32 << 10, PCOLL_MEASURE_RANKS = 4 };

/* Memory that the ranks share. All except `slots` is zero at first. */
struct pcoll_measure_place {
    struct pcoll_line arrived[2]; /* at which meeting each rank is expected, by the other one */
    struct pcoll_line flags[2];
    struct {
        int64_t pid;
        uint64_t user_at; /* the address of its user memory */
    } ranks[2];
    uint64_t distance; /* in nanoseconds; 0: unknown */
    uint64_t read_at;  /* the address of `slots` in the process that all read */
    char pad[PCOLL_LINE_BYTES - 6 * sizeof(int64_t)];
    struct pcoll_line met;                       /* the number of arrivals of all ranks */
    struct pcoll_line took[PCOLL_MEASURE_RANKS]; /* nanoseconds of the last read of each */
    struct pcoll_machine other;                  /* what rank 1 has measured */
    _Alignas(PCOLL_LINE_BYTES) char slots[PCOLL_MEASURE_PAIRS][2]
                                         [PCOLL_MEASURE_SLOT_BYTES]; /* a pair for each sample */
};

/* The longest time of a measurement in nanoseconds. Usually it takes a tenth of that. */
#define PCOLL_MEASURE_NSEC (UINT64_C(30) * 1000 * 1000)

/* Collective over two ranks, 0 and 1, which are processes if `can_cma`: they can access each
 * other's memory. On rank 0 sets these members of *machine, none of them to 0: L, copy, cached,
 * kept, reduce and, if `can_cma`, rma, G and put; and, as far as they are known (offload/sysfs.h),
 * cache, share and own. All members stay as they are on rank 1, and on rank 0 if it has given up.
 */
void pcoll_node_measure(struct pcoll_measure_place *place, int rank, bool can_cma,
                        struct pcoll_machine *machine);

/* Collective over four ranks: the two of before, after that, and two more. Sets machine->exclusive
 * on rank 0, not to 0; not if a rank has no core to itself (`has_core`), or is late, or if
 * machine->L is 0 on rank 0. Takes less than 1 ms usually, and ends at the deadline (pcoll_now). */
void pcoll_node_measure_readers(struct pcoll_measure_place *place, int rank, bool has_core,
                                uint64_t deadline, struct pcoll_machine *machine);

/* For pcoll_shm_wish. */
void pcoll_node_clear_place(const void *context, char *place);

/* What this process knows about machines, each at a distance in nanoseconds (0: unknown): distances
 * that differ by less than a factor of two may be of one machine. Thread-safe. */
uint64_t pcoll_machine_bit(uint64_t distance);
uint64_t pcoll_machines_known(void); /* the bits of all distances at which one is known, or nothing
                                      * can be */
/* If nothing could be measured (L is 0), only a few times. */
void pcoll_machine_remember(uint64_t distance, const struct pcoll_machine *machine);
void pcoll_machine_recall(uint64_t distance, struct pcoll_machine *machine); /* one is known */

#endif /* PCOLL_NODE_MEASURE_H */
