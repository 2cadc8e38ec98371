/*
 * The board of a plan: entries that others of the node may perform while their own rank computes,
 * or beside it.
 *
 * Such an entry has a notice (node/notice.h) in the plan's extent, which its rank writes at bind.
 * Start opens the notices with their thresholds. Once the trigger of an entry has been reached, its
 * own rank and helpers claim and perform it chunk by chunk. The rank's executor finds the notice
 * closed, or takes part. So a rank that waits never depends on a helper, except for the chunk that
 * the helper holds. The last chunk is followed by the signals, and only then is the notice closed.
 *
 *     rank 1   Start: opens - - - - - computes - - - - - - - - - - - Wait: all are closed
 *     rank 0        Start - Wait: trigger reached? claims, copies . . . signals, closes
 *
 * A rank offers a long copy from or to user memory of a peer to that peer, as MPICH's XPMEM path
 * shares one (MPIR_CVAR_CH4_XPMEM_COOP_COPY_CHUNK_SIZE). Both ranks have a core to copy with: one
 * reads what the other would write. The peer claims chunks only while its own instance is not
 * complete, that is, before the entry has landed, as its memory is used until then. Where the peer
 * has long copies of its own, except in a tree, the owner claims all that are left at once
 * (pcoll_notice.is_whole), so the peer takes only what the owner has not begun.
 *
 * If the node has an agent, a thread of one of its processes, and the plan is long, a rank offers
 * every entry to all, also one without data, since others wait for its signals. (But a rank reduces
 * by itself with functions of the user, and in memory that no agent reaches.) The ranks that wait
 * and the agent perform what they can.
 *
 * Memory of the extent, of the helper's process, and in heaps that it has mapped is copied with
 * memcpy. If one end is none of these, an agent, or the rank whose memory the other end is, copies
 * by one call of CMA; if neither is, the entry is left to its owner. If the kernel refuses a
 * helper, it returns the chunk and claims no more such chunks; if it refuses the owner, the owner
 * of the other memory is asked for that chunk (node/relay.h). A reduction needs all its operands in
 * such memory; each helper reduces with its own kernel, which is the same for all ranks.
 *
 * The agent's rank is one of the group. It maps the heaps of all ranks of a plan that is offered to
 * all, and visits it from bind to unbind, whether its own instance is active or not. The agent
 * sleeps while no plan is active, on a bell (offload/bell.h) that each Start looks at.
 *
 * If the process of a helper dies while it holds a chunk, the rank whose entry it is copies that
 * chunk; if it dies between the signals of an entry, or in a chunk of a reduction that overwrites
 * an operand, the plan fails.
 */
#ifndef PCOLL_NODE_BOARD_H
#define PCOLL_NODE_BOARD_H

#include <stdbool.h>

#include "offload/node/binding.h"

/* ---- board_bind.c ---- */

/* Allocate what this rank needs of a board. bound->board stays NULL where no entry can be offered.
 */
enum pcoll_result pcoll_node_board_init(const struct pcoll_node_binding *b,
                                        const struct pcoll_node_group *group) PCOLL_MUST_CHECK;

/* Waits until a visit of the agent has ended. Accepts what a failed init left. */
void pcoll_node_board_fini(struct pcoll_node_bound *bound);

/* Write on this rank's card what it will put on the board. */
void pcoll_node_board_tell(const struct pcoll_node_binding *b, struct pcoll_node_card *card);

/* The bytes of the boards of all ranks, once the cards are known. 0: no rank offers anything. */
size_t pcoll_node_board_bytes(const struct pcoll_node_binding *b);

/* Place the board at `memory`, which is zero, in the extent of `bytes` bytes. */
void pcoll_node_board_place(const struct pcoll_node_binding *b, char *memory, size_t bytes);

/* Returns whether the plan has a board on which some rank offers entries to all. */
bool pcoll_node_board_is_public(const struct pcoll_node_bound *bound);

/* Returns whether this rank offers the entry. */
bool pcoll_node_is_offered(const struct pcoll_node_binding *b, const struct pcoll_entry *entry);

/* Put the step of entry `i`, which has been resolved and is offered, on the board. */
void pcoll_node_board_step(const struct pcoll_node_binding *b, int i, struct pcoll_step *step);

/* The step of an entry that is on the board, as it would be without one. */
struct pcoll_step *pcoll_node_board_plain(const struct pcoll_step *step);

/* The plain step, of a copy, has got other ends in user memory: they become those of the notice. */
void pcoll_node_board_move(const struct pcoll_step *step);

/* Let this rank help, and the agent, if it is this rank's, once all ranks have resolved their
 * entries. */
void pcoll_node_board_open(const struct pcoll_node_binding *b);

/* ---- post.c: for the entries' own rank ---- */

/* Open the notices of the next phase, at start. */
void pcoll_node_post(struct pcoll_node_bound *bound);

/* Fire a step that is on the board. PCOLL_PENDING: call again. */
enum pcoll_result pcoll_node_post_fire(struct pcoll_node_bound *bound, struct pcoll_step *step);

/* As pcoll_node_post, for a start that leaves copies to others: to the agent, which it wakes; or a
 * copy to its peer, if it is the only one of the instance and no rank waits for what follows. Fires
 * short entries if it can. Returns PCOLL_OK or an error. */
enum pcoll_result pcoll_node_board_begin(struct pcoll_node_bound *bound);

/* Call this before each further call that progresses the instance. A waiting rank (`waits`) leaves
 * nothing to others. */
void pcoll_node_board_go_on(struct pcoll_node_bound *bound, bool waits);

/* Call this when the instance has ended. */
void pcoll_node_board_end(struct pcoll_node_bound *bound);

/* ---- help.c: for others ---- */

/* Perform what can be done for one other rank, while the instance is not complete. */
void pcoll_node_help(struct pcoll_node_bound *bound);

#endif /* PCOLL_NODE_BOARD_H */
