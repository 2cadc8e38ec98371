/*
 * What direct, direct_get and direct_shared share: messages between user buffers, written by their
 * senders or read by their receivers, and costs.
 */
#ifndef PCOLL_DIRECT_H
#define PCOLL_DIRECT_H

#include <stdbool.h>

#include "algorithms/edges/slots.h"

/* Adds the entries of the only phase. */
typedef void pcoll_edges_build(struct pcoll_plan *plan);

/* Generate a plan between user buffers, which is its own lowered form. */
enum pcoll_result pcoll_edges_generate_user(struct pcoll_plan *plan, int ncounters,
                                            pcoll_edges_build *build) PCOLL_MUST_CHECK;

/* Its cost inside a node, if the senders or the receivers move the blocks. */
double pcoll_edges_cost_user(const struct pcoll_signature *signature,
                             const struct pcoll_machine *machine, bool receivers_move);

/* The cost of slots inside a node. */
double pcoll_edges_cost_slots(const struct pcoll_signature *signature,
                              const struct pcoll_edge_slots *slots,
                              const struct pcoll_machine *machine);

/* The cost of direct. */
double pcoll_edges_cost_direct(const struct pcoll_signature *signature,
                               const struct pcoll_params *params,
                               const struct pcoll_machine *machine);

#endif /* PCOLL_DIRECT_H */
