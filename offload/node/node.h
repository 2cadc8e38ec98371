/*
 * The base of every medium that has ranks on one node: `shm`, whose ranks all are, and the core of
 * the media between nodes, offload/rma.
 *
 *     group     the ranks of a node, and where they meet (group.h)
 *     binding   cards told to all, one extent of shared memory, entries resolved into steps with
 *               addresses and targets (binding.h)
 *     bound     a plan that runs: its steps, and where others' memory is mapped (bound.h)
 *     helping   entries that others perform or help with (board.h, relay.h)
 *
 * A step whose peer is on another node is left to the medium: PCOLL_STEP_REMOTE.
 *
 * This header is what the rest of the process may know.
 */
#ifndef PCOLL_NODE_H
#define PCOLL_NODE_H

#include "offload/bell.h"

/* For the agent of this process, if it serves the ranks of the node (node/board.h): do what can be
 * done for plans on boards of groups that it serves. */
enum pcoll_visit pcoll_node_visit_boards(void);

#endif /* PCOLL_NODE_H */
