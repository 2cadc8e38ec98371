/* The backend from MPI_Init to MPI_Finalize. */

#ifndef SESSION_H_INCLUDED
#define SESSION_H_INCLUDED

/* Prepare to run plans, once for each initialization of MPI. Returns an MPI error code: no progress
 * hook is free. */
int MPIDI_PCOLL_session_open(void);

#endif /* SESSION_H_INCLUDED */
