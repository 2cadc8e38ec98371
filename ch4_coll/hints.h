/* What the user has said, by CVARs or info keys, about how to choose. */

#ifndef HINTS_H_INCLUDED
#define HINTS_H_INCLUDED

#include "state.h"

#include "tuning/choose.h"

struct MPIDI_PCOLL_hints {
    struct pcoll_hint hint;
    bool races;                       /* a race decides between candidates (race.h) */
    char value[MPI_MAX_INFO_VAL + 1]; /* of an info key to which `hint` points */
};

/* Messages about wrong settings go to `out`. */
void MPIDI_PCOLL_hints(enum pcoll_coll coll, MPIR_Info *info, struct MPIDI_PCOLL_hints *hints,
                       FILE *out);

/* Has the user left the algorithm open? */
bool MPIDI_PCOLL_is_open(const struct pcoll_hint *hint);

/* MPIR_CVAR_COLL_OFFLOAD_MAX_TEMP in bytes. */
uint64_t MPIDI_PCOLL_max_temp(void);

/* Of the CVARs, and of what the ranks know of their cores, which decide how to choose for such a
 * collective. */
uint64_t MPIDI_PCOLL_settings_hash(enum pcoll_coll coll);

#endif /* HINTS_H_INCLUDED */
