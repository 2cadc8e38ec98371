/* How the state of a communicator is made and kept. */

#ifndef COMM_H_INCLUDED
#define COMM_H_INCLUDED

#include "state.h"

/* Collective over comm at its first call. *state_p is NULL, on all ranks, if the backend does not
 * serve the communicator. */
int MPIDI_PCOLL_comm_get(MPIR_Comm *comm, struct MPIDI_PCOLL_comm **state_p);
void MPIDI_PCOLL_comm_free_keyval(void);

#endif /* COMM_H_INCLUDED */
