/*
 * What the algorithm files define for the table in algorithm.c.  The contracts are those of the
 * slots of struct pcoll_algorithm.
 */
#ifndef PCOLL_ALGORITHM_FILES_H
#define PCOLL_ALGORITHM_FILES_H

#include "algorithms/algorithm.h"

#define PCOLL_DECLARE_ALGORITHM(name)                                                              \
    enum pcoll_result name(const struct pcoll_signature *signature,                                \
                           const struct pcoll_local *local, int rank,                              \
                           const struct pcoll_params *params, struct pcoll_plan **plan_p);         \
    double name##_cost(const struct pcoll_signature *signature, const struct pcoll_params *params, \
                       const struct pcoll_machine *machine);                                       \
    uint64_t name##_temp(const struct pcoll_signature *signature, const struct pcoll_params *params)

PCOLL_DECLARE_ALGORITHM(pcoll_barrier_butterfly);
PCOLL_DECLARE_ALGORITHM(pcoll_barrier_dissemination);
PCOLL_DECLARE_ALGORITHM(pcoll_bcast_eager);
PCOLL_DECLARE_ALGORITHM(pcoll_bcast_shared);
PCOLL_DECLARE_ALGORITHM(pcoll_bcast_knomial_put);
PCOLL_DECLARE_ALGORITHM(pcoll_bcast_knomial_get);
PCOLL_DECLARE_ALGORITHM(pcoll_bcast_chain);
PCOLL_DECLARE_ALGORITHM(pcoll_bcast_kary);
PCOLL_DECLARE_ALGORITHM(pcoll_bcast_two_tree);
PCOLL_DECLARE_ALGORITHM(pcoll_bcast_trinaryx3);
PCOLL_DECLARE_ALGORITHM(pcoll_bcast_scatter_ring);
PCOLL_DECLARE_ALGORITHM(pcoll_allgather_butterfly);
PCOLL_DECLARE_ALGORITHM(pcoll_allgather_bruck);
PCOLL_DECLARE_ALGORITHM(pcoll_allgather_ring);
PCOLL_DECLARE_ALGORITHM(pcoll_allgather_direct);

#endif /* PCOLL_ALGORITHM_FILES_H */
