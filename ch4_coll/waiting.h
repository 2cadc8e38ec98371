/* How a rank waits. */

#ifndef WAITING_H_INCLUDED
#define WAITING_H_INCLUDED

struct MPIDI_PCOLL_plan;

/* A rank that has waited for long also sleeps, for so many microseconds at a time. */
#define MPIDI_PCOLL_SLEEP_USEC 50

/* Wait until the plan is inactive, in a process without threads: poll its counters directly, call
 * MPI's progress engine now and then, and yield the core in time. */
void MPIDI_PCOLL_plan_wait(struct MPIDI_PCOLL_plan *plan);

/* Rest after a round of a wait in which nothing has happened; in the first rounds, return at once.
 */
void MPIDI_PCOLL_wait_round(unsigned round);

#endif /* WAITING_H_INCLUDED */
