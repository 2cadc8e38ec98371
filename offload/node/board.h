/*
 * The board of a plan: entries that others of the node may perform, while the rank whose entries
 * they are computes: the agent of the node, a thread of one of its processes, and ranks that wait.
 *
 *     rank 1   Start: opens its notices, rings - - - - computes - - - - - - - Wait: all are closed
 *     rank 2   Start: opens its notices, rings - - - - - - computes - - - - - Wait: all are closed
 *     agent    of rank 0's process:  trigger reached? claims, copies, signals . . . sleeps
 *
 * A rank puts all entries of a long plan on the board: also those without data, since others wait
 * for their signals. (But it reduces by itself with functions of the user, and in memory that no
 * agent reaches.) Start opens their notices (node/notice.h) with their
 * thresholds. From then on the entry is performed by whoever claims it once its trigger has been
 * reached, chunk by chunk; the rank's own executor finds it closed or takes part. So a rank that
 * waits never depends on an agent, except for the chunk that an agent holds.
 *
 * Who may perform what: memory of the block, of its own process, and in heaps that it has mapped is
 * copied with memcpy; if one end is none of these, an agent, or the rank whose memory the other end
 * is, copies by one call of CMA; if neither is, the entry is left to its owner. A
 * reduction needs all its operands in such memory; each helper reduces with its own kernel, which
 * is the same for all ranks.
 *
 * The host of the agent is a rank of the group. It maps the heaps of all ranks of such a plan, and
 * visits it from bind to unbind, whether its own instance is active or not. It sleeps while no
 * plan is active, on a bell (offload/bell.h) that each Start looks at.
 *
 * If the process of a helper dies while it holds a chunk, the rank whose entry it is copies that
 * chunk; if it dies between the signals of an entry, or in a chunk of a reduction that overwrites
 * an operand, the plan fails.
 */
#ifndef PCOLL_NODE_BOARD_H
#define PCOLL_NODE_BOARD_H

#include "offload/node/notice.h"
#include "offload/node/binding.h"

/* Allocates what this rank needs of a board. If its group has no agent, or it does not find the
 * bell, it takes no part in boards, and bound->board is NULL. Fini waits for the agent's visit. */
enum pcoll_result pcoll_node_board_init(const struct pcoll_node_binding *b,
                                        const struct pcoll_node_group *group) PCOLL_MUST_CHECK;
void pcoll_node_board_fini(struct pcoll_node_bound *bound);

/* How many notices and operands this rank will put on the board; the bytes of the boards of all
 * ranks, once the cards are known; the board is at `memory`, which is zero, in the block of `bytes`
 * bytes. 0 bytes: no rank puts anything there. */
uint32_t pcoll_node_board_count(const struct pcoll_node_binding *b, uint32_t *noperands_p);
size_t pcoll_node_board_bytes(const struct pcoll_node_binding *b);
void pcoll_node_board_place(const struct pcoll_node_binding *b, char *memory, size_t bytes);

/* True if the plan has a board to which this rank adds, and others can perform the entry. */
int pcoll_node_is_for_board(const struct pcoll_node_binding *b, const struct pcoll_entry *entry);

/* Put the step of entry `i`, which has been resolved and is for the board, there. */
void pcoll_node_board_step(const struct pcoll_node_binding *b, int i, struct pcoll_step *step);

/* All ranks have resolved their entries: the host begins to visit the plan. */
void pcoll_node_board_open(struct pcoll_node_bound *bound);

/* Fire such a step. PCOLL_PENDING: call again. */
enum pcoll_result pcoll_node_board_fire(struct pcoll_node_bound *bound, struct pcoll_step *step);

/* Functions of the medium for plans with a board (offload/medium.h). */
enum pcoll_result pcoll_node_board_start(struct pcoll_bound *base);
enum pcoll_result pcoll_node_board_progress(struct pcoll_bound *base);
enum pcoll_result pcoll_node_board_spin(struct pcoll_bound *base, unsigned spins);

#endif /* PCOLL_NODE_BOARD_H */
