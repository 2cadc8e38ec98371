/*
 * The host-driven form of the plans as a GOAL schedule, the text that LogGOPSim's txt2bin reads
 * (Hoefler, Schneider, Lumsdaine, "LogGOPSim: simulating large-scale applications in the LogGOPS
 * model", 2010):
 *
 *      num_ranks 2
 *      rank 0 {
 *      l0: send 8b to 1 tag 0 cpu 0 nic 0
 *      l1: calc 500 cpu 0
 *      l1 requires l0
 *      }
 *
 * It describes one instance, with one processor and one port for each rank and all ranks on nodes
 * of their own; LogGOPSim cannot express more. Messages without bytes have one byte; times are
 * whole ns. Run it with the eager limit above all sizes: LogGOPSim -S 2000000000.
 */
#ifndef PCOLL_SIM_GOAL_H
#define PCOLL_SIM_GOAL_H

#include "tuning/sim/program.h"

/* PCOLL_UNSUPPORTED: a plan has no such form (schedule.h). PCOLL_ERR_SYSTEM: `out` cannot be
 * written. */
enum pcoll_result pcoll_goal_write(const struct pcoll_job *job, const struct pcoll_machine *machine,
                                   FILE *out) PCOLL_MUST_CHECK;

#endif /* PCOLL_SIM_GOAL_H */
