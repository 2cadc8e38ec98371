/* The thread that progresses plans while the application computes. */

#ifndef AGENT_H_INCLUDED
#define AGENT_H_INCLUDED

#include <stdbool.h>

#include "offload/medium.h"

struct pcoll_bell; /* offload/bell.h */

/* True if this process has an agent of its own, or wants one. */
bool MPIDI_PCOLL_agent_is_wanted(void);

/* True if an agent, that of the node or this process' own, would serve the plan. */
bool MPIDI_PCOLL_agent_wants(const struct pcoll_plan *plan);

/* What takes the place of the bound plan, with a medium of its own: a served plan, or the same. */
struct pcoll_bound *MPIDI_PCOLL_agent_serve(const struct pcoll_plan *plan,
                                            const struct pcoll_memory *memory,
                                            struct pcoll_bound *bound);

/* Create the agent of this process, if it wants one. */
void MPIDI_PCOLL_agent_hire(void);

/* End it; plans that it served remain usable. */
void MPIDI_PCOLL_agent_dismiss(void);

/* Print the message that the agent has kept. */
void MPIDI_PCOLL_agent_report(void);

/* Register the performance variables of agents and chunks; reading them costs, counting does not.
 */
void MPIDI_PCOLL_agent_pvars_init(void);

/* ---- keep the agent away from networks, in all of their functions except those of served plans
 * ---- */

/* False: the agent is there now. */
bool MPIDI_PCOLL_agent_try_hold(void);

/* Wait until it has left. */
void MPIDI_PCOLL_agent_hold(void);

/* Let the agent in again, once for each time that it was held. */
void MPIDI_PCOLL_agent_release(void);

/* ---- the agent of the node ---- */

/* This process' candidacy for its host; 0: it wants none, or has no core for it. The greatest
 * hosts: it has the lowest local rank. */
uint64_t MPIDI_PCOLL_agent_candidacy(void);

/* No process is a candidate: tell the user once, if this one wants an agent of the node. */
void MPIDI_PCOLL_agent_lacks_core(void);

/* The bell of this process' agent, which serves the node from now on; NULL: it cannot. */
struct pcoll_bell *MPIDI_PCOLL_agent_host(void);

/* The fewest bytes of a plan that this process leaves to the node's agent; PCOLL_NONE: it leaves
 * none. */
int64_t MPIDI_PCOLL_agent_board_from(void);

#endif /* AGENT_H_INCLUDED */
