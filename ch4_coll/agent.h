/* The thread that progresses plans while the application computes. */

#ifndef AGENT_H_INCLUDED
#define AGENT_H_INCLUDED

#include <stdbool.h>

#include "offload/medium.h"

struct pcoll_bell; /* offload/bell.h */

/* Returns whether the user wants an agent for this process alone. */
bool MPIDI_PCOLL_agent_is_wanted(void);

/* Returns whether the user wants one for all processes of the node. */
bool MPIDI_PCOLL_agent_is_for_node(void);

/* Returns whether an agent, that of the node or this process's own, would progress the plan. */
bool MPIDI_PCOLL_agent_wants(const struct pcoll_plan *plan);

/* Returns what takes the place of the bound plan: a served plan, with a medium of its own, or the
 * plan itself. */
struct pcoll_bound *MPIDI_PCOLL_agent_serve(const struct pcoll_plan *plan,
                                            const struct pcoll_memory *memory,
                                            struct pcoll_bound *bound);

/* Start the agent of this process, if it is wanted. */
void MPIDI_PCOLL_agent_start(void);

/* End it; plans that it served remain usable. */
void MPIDI_PCOLL_agent_end(void);

/* Print the message that the agent has kept. */
void MPIDI_PCOLL_agent_report(void);

/* Register the performance variables of agents and chunks; reading them costs, counting does not.
 */
void MPIDI_PCOLL_agent_pvars_init(void);

/* ---- keeping the agent away from networks, in all functions except those of served plans ---- */

/* Returns false if the agent uses a network now. */
bool MPIDI_PCOLL_agent_try_hold(void);

/* Wait until it has left. */
void MPIDI_PCOLL_agent_hold(void);

/* Let the agent in again, once for each time that it was held. */
void MPIDI_PCOLL_agent_release(void);

/* ---- the agent of the node ---- */

/* This process's candidacy to run it; 0: the process does not want it, or has no core for it. The
 * process with the greatest candidacy, that of the lowest local rank, runs the agent. */
uint64_t MPIDI_PCOLL_agent_candidacy(void);

/* Tell the user once that no process has a core for the agent, if this one wants it. */
void MPIDI_PCOLL_agent_report_no_core(void);

/* Start the agent of the node in this process. Returns its bell; NULL if there is none. */
struct pcoll_bell *MPIDI_PCOLL_agent_start_for_node(void);

/* The fewest bytes of a plan that this process leaves to the node's agent; PCOLL_NONE: it leaves no
 * plan. */
int64_t MPIDI_PCOLL_agent_board_from(void);

#endif /* AGENT_H_INCLUDED */
