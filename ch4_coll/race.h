/* MEASURE: candidates run before one is chosen. */

#ifndef RACE_H_INCLUDED
#define RACE_H_INCLUDED

#include "call.h"

#include "offload/race.h"
#include "tuning/choose.h"

/* The other candidates that run beside the choice. */
enum { MPIDI_PCOLL_MAX_RIVALS = PCOLL_RACE_PLANS - 1 };

/* Collective: run the choice and `nrivals` rivals, at least one, which only rank 0 knows, on memory
 * of their own. *choice, the same on all ranks, becomes the fastest. Returns an MPI error code. */
int MPIDI_PCOLL_race(const struct MPIDI_PCOLL_call *call, const struct pcoll_choice *rivals,
                     int nrivals, struct pcoll_choice *choice);

#endif /* RACE_H_INCLUDED */
