/* Children of a fork. */

#ifndef CHILD_H_INCLUDED
#define CHILD_H_INCLUDED

#include <stdbool.h>

/* From the first fork after this call on, the plans of a child have a medium that refuses to run.
 */
void MPIDI_PCOLL_watch_forks(void);

/* Returns whether this process is such a child. */
bool MPIDI_PCOLL_is_child(void);

/* Prints a message; returns an MPI error code. */
int MPIDI_PCOLL_refuse_child(void);

/* The child has called MPI_Finalize: end the process. */
void MPIDI_PCOLL_end_child(void);

#endif /* CHILD_H_INCLUDED */
