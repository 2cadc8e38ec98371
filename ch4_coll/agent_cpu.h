/* Where agents run. */

#ifndef AGENT_CPU_H_INCLUDED
#define AGENT_CPU_H_INCLUDED

#include <stdbool.h>

/* A CPU for this rank's agent; PCOLL_NONE: none is spare, so it runs where the rank may. The second
 * result says whether it can run without taking a core from a rank or another agent. There is one
 * agent for each rank of the node, or, if it is alone, only this one. */
int MPIDI_PCOLL_spare_cpu(bool is_alone, bool *has_core_p);

#endif /* AGENT_CPU_H_INCLUDED */
