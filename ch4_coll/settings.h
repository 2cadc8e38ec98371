/* The user's settings: CVARs, info keys, tuning table. */

#ifndef SETTINGS_H_INCLUDED
#define SETTINGS_H_INCLUDED

#include "race.h"
#include "state.h"

#include "tuning/choose.h"

#include <limits.h>

/* Rank 0's proposal for a call: an algorithm, NULL for MPICH's path, and the other candidates that
 * should run before one is chosen (race.h). */
struct MPIDI_PCOLL_proposal {
    struct pcoll_choice choice, rivals[MPIDI_PCOLL_MAX_RIVALS];
    int nrivals;
    unsigned refusals; /* if there is no choice: enum pcoll_refusal, a value below, or 0: a message
                        * has said why */
};

/* The user has named `mpich`. */
#define MPIDI_PCOLL_MPICH_IS_ASKED (1u << 31)

/* The ranks are to measure their machine (MPIDI_PCOLL_comm_measure), and to ask again. */
#define MPIDI_PCOLL_MEASURE_FIRST (1u << 30)

/* `is_mapped`: rank 0's user buffers lie in memory of MPI_Alloc_mem, and so, it expects, do those
 * of other ranks. `may_race`: there may be rivals, if the user wants them. */
void MPIDI_PCOLL_propose(const struct MPIDI_PCOLL_call *call, bool is_mapped, bool may_race,
                         struct MPIDI_PCOLL_proposal *proposal);

/* Returns whether the user has said by a CVAR or an info key, on this rank, how to choose. */
bool MPIDI_PCOLL_has_wishes(const struct MPIDI_PCOLL_call *call);

/* Note on rank 0 that this choice won the race for such a call (MPIR_CVAR_COLL_OFFLOAD_WISDOM). */
void MPIDI_PCOLL_learn(const struct pcoll_signature *signature, bool is_mapped,
                       const struct MPIDI_PCOLL_comm *state, const struct pcoll_choice *choice);

/* At the end: write what was learned, and free everything. */
void MPIDI_PCOLL_settings_keep(void);
void MPIDI_PCOLL_settings_free(void);

/* Do the ranks of a node measure their machine? A table that the user gives replaces it. */
bool MPIDI_PCOLL_measures(void);

/* With MPIR_CVAR_COLL_OFFLOAD_VERBOSE, print what they have measured; what they share. */
void MPIDI_PCOLL_show_measured(const struct MPIDI_PCOLL_comm *state);
void MPIDI_PCOLL_show_machine(const struct MPIDI_PCOLL_comm *state);

#define MPIDI_PCOLL_PATH_BYTES (2 * PATH_MAX)

/* The name of a file as it is to be used later, when the program may have changed its folder; ""
 * for NULL. */
void MPIDI_PCOLL_absolute_path(const char *name, char path[MPIDI_PCOLL_PATH_BYTES]);

#endif /* SETTINGS_H_INCLUDED */
