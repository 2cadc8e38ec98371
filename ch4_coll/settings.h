/* The user's settings: CVARs, info keys, tuning table. */

#ifndef SETTINGS_H_INCLUDED
#define SETTINGS_H_INCLUDED

#include "state.h"

#include "tuning/choose.h"

/* Rank 0's proposal for a call; choice->algorithm is NULL for MPICH's path. `is_mapped`: its user
 * buffers lie in memory of MPI_Alloc_mem, and so, it expects, do those of other ranks. */
void MPIDI_PCOLL_propose(const struct pcoll_signature *signature, bool is_mapped, MPIR_Info *info,
                         struct MPIDI_PCOLL_comm *state, struct pcoll_choice *choice);
void MPIDI_PCOLL_settings_free(void);

/* Do the ranks of a node measure their machine? A table that the user gives replaces it. */
bool MPIDI_PCOLL_measures(void);

/* With MPIR_CVAR_COLL_OFFLOAD_VERBOSE, print what they have measured. */
void MPIDI_PCOLL_show_machine(const struct MPIDI_PCOLL_comm *state);

#endif /* SETTINGS_H_INCLUDED */
