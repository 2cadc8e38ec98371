/* What the ranks of a call agree on before they bind its plan. */

#ifndef AGREEMENT_H_INCLUDED
#define AGREEMENT_H_INCLUDED

#include "call.h"
#include "settings.h"

/* Collective. The signature becomes that of all ranks, and edges learn about their peers.
 * *proposal, which is zeroed, becomes rank 0's, of which other ranks get the number of rivals, and
 * the choice's algorithm and parameters; it has no algorithm, on all ranks, if the call is
 * declined. If call->idle is set, on all ranks, that plan serves the call, and nothing else has a
 * meaning. Returns an MPI error code. */
int MPIDI_PCOLL_agree(struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_proposal *proposal);

/* Does a buffer of this rank lie in memory of MPI_Alloc_mem? */
bool MPIDI_PCOLL_is_mapped(const struct MPIDI_PCOLL_call *call);

#endif /* AGREEMENT_H_INCLUDED */
