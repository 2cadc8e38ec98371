/*
 * A node from JSON; tuning/README.md describes the file.
 */
#ifndef PCOLL_SIM_NODE_FILE_H
#define PCOLL_SIM_NODE_FILE_H

#include <stdio.h>

#include "tuning/sim/node.h"

/* The text of a file, as pcoll_table_parse does it. Unless the file says `locked`, a process's
 * memory is locked as pcoll_cost_contend says; arrivals are as it says, at each level. */
enum pcoll_result pcoll_sim_node_parse(const char *name, const char *text, FILE *report,
                                       struct pcoll_sim_node *node_p) PCOLL_MUST_CHECK;

#endif /* PCOLL_SIM_NODE_FILE_H */
