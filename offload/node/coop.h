/*
 * Cooperative copies: two ranks perform a long copy between their user memories together, as
 * MPICH's XPMEM path does (MPIR_CVAR_CH4_XPMEM_COOP_COPY_CHUNK_SIZE), but without common memory.
 *
 * The rank whose step it is opens its ticket in the plan's block: the copy in chunks, and the
 * signals of the step. It and the owner of the other memory claim chunk after chunk and copy in
 * opposite directions: one reads what the other would write. Whoever finishes the last chunk gives
 * the signals. So both cores copy while both ranks wait. Start only opens the ticket, if that copy
 * is the only one of the instance and nothing follows that other ranks wait for; a rank that waits
 * then does all of it while the opener computes. If the copy may not begin yet, as the other rank
 * has not started, Start opens the ticket ahead, with the counter and the threshold that the step
 * waits for. A helper looks at that counter after it has read the word by which it claims.
 *
 * Each chunk is copied exactly once, and claims are never taken back, so nobody touches user memory
 * after the step has landed. The owner of the other memory may claim chunks as long as its instance
 * is not complete; that is before the step has landed, as its memory is used until then.
 *
 * A rank has one open ticket at a time; its other cooperative steps stay pending. If the kernel
 * refuses a helper what it permits the opener, the helper returns the chunk and never claims
 * another. If it refuses the opener, the step becomes an ordinary one when the helper has finished
 * its chunk.
 */
#ifndef PCOLL_NODE_COOP_H
#define PCOLL_NODE_COOP_H

#include "offload/node/binding.h"

/* A rank's ticket in shared memory: two lines. The bytes of the tickets of a plan in which no move
 * to or from user memory is longer than `longest`; 0 if none is cooperative. */
size_t pcoll_node_tickets_bytes(const struct pcoll_node_group *group, int nlocal, uint64_t longest);

/* Allocates what the cooperative steps of the plan need on this rank. */
enum pcoll_result pcoll_node_coop_init(struct pcoll_node_bound *bound,
                                       const struct pcoll_plan *plan,
                                       uint64_t coop_from) PCOLL_MUST_CHECK;
void pcoll_node_coop_fini(struct pcoll_node_bound *bound);

/* True if a READ or WRITE of that many bytes is long enough for two. */
int pcoll_node_is_for_coop(const struct pcoll_node_bound *bound, uint64_t bytes);

/* Makes such a step of an entry a cooperative one. Its targets count one more rank among their
 * signalers, as both may give its signals. */
void pcoll_node_coop_step(const struct pcoll_node_binding *b, const struct pcoll_entry *entry,
                          struct pcoll_step *step);

/* At the end of Start: open the ticket of the instance's only copy, if that may not begin yet. */
void pcoll_node_coop_ahead(struct pcoll_node_bound *bound);

/* Fire such a step. PCOLL_PENDING: call again. */
enum pcoll_result pcoll_node_coop(struct pcoll_node_bound *bound, struct pcoll_step *step);

/* Claim and copy a chunk of some open ticket whose other memory is this rank's. Called while an
 * instance is not complete. */
void pcoll_node_help(struct pcoll_node_bound *bound);

#endif /* PCOLL_NODE_COOP_H */
