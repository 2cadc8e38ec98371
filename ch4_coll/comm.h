/* How the state of a communicator is made and kept. */

#ifndef COMM_H_INCLUDED
#define COMM_H_INCLUDED

#include "state.h"

/* Collective over comm at its first call. *state_p is NULL, on all ranks, if the backend does not
 * serve the communicator. */
int MPIDI_PCOLL_comm_get(MPIR_Comm *comm, struct MPIDI_PCOLL_comm **state_p);
/* Collective: the ranks of each node measure their machine, unless they have, or the user does not
 * want that. Returns an MPI error code. */
int MPIDI_PCOLL_comm_measure(struct MPIDI_PCOLL_comm *state);
/* The state that has been made, or NULL. */
struct MPIDI_PCOLL_comm *MPIDI_PCOLL_comm_find(MPIR_Comm *comm);
void MPIDI_PCOLL_comm_free_keyval(void);

/* The answer is the same on all ranks: one group of processes of one MPI_COMM_WORLD, whose nodes
 * are known, and are one node. */
bool MPIDI_PCOLL_is_on_one_node(const MPIR_Comm *comm);

/* How many nodes its processes are on (of an intercommunicator, the remote ones), as far as that is
 * known; 1 at least. */
int MPIDI_PCOLL_count_nodes(const MPIR_Comm *comm);

/* ---- for what is kept as an attribute of a communicator ---- */

/* Attach `value`, with a keyval of our own, which is made if it is MPI_KEYVAL_INVALID. Returns an
 * MPI error code. */
int MPIDI_PCOLL_attach(MPIR_Comm *comm, int *keyval, MPI_Comm_delete_attr_function *end,
                       void *value);
void MPIDI_PCOLL_free_keyval(int *keyval);

#endif /* COMM_H_INCLUDED */
