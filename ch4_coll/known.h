/* The last proposals on a communicator. */

#ifndef KNOWN_H_INCLUDED
#define KNOWN_H_INCLUDED

#include "state.h"

#include "tuning/choose.h"

/* The choice that was remembered for the same arguments, if there is one; `known` may be NULL.
 * `races`: a race decides, or has decided. */
bool MPIDI_PCOLL_recall(struct MPIDI_PCOLL_known *known, const struct pcoll_signature *signature,
                        const struct pcoll_caps *caps, const struct pcoll_hint *hint, bool races,
                        struct pcoll_choice *choice);

/* *known_p is NULL at first; MPL_free frees it. Returns false if nothing is remembered, as memory
 * is scarce or what the choice depends on may change. */
bool MPIDI_PCOLL_remember(struct MPIDI_PCOLL_known **known_p,
                          const struct pcoll_signature *signature, const struct pcoll_caps *caps,
                          const struct pcoll_hint *hint, bool races,
                          const struct pcoll_choice *choice);

/* Replace the choice that was remembered last; without an algorithm, forget it. */
void MPIDI_PCOLL_correct(struct MPIDI_PCOLL_known *known, const struct pcoll_choice *choice);

/* The last proposal could not be bound, as a rank had not mapped operands of others: the next ones
 * for the same arguments should need that no more. */
void MPIDI_PCOLL_bound_in_vain(struct MPIDI_PCOLL_known *known);

/* Returns whether the last choice that was recalled has failed so before; false now and then, when
 * it is to be tried again. */
bool MPIDI_PCOLL_is_spared(struct MPIDI_PCOLL_known *known);

#endif /* KNOWN_H_INCLUDED */
