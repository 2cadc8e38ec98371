/* The last proposals on a communicator. */

#ifndef KNOWN_H_INCLUDED
#define KNOWN_H_INCLUDED

#include "state.h"

#include "tuning/choose.h"

/* The choice that was remembered for the same arguments, if there is one; `known` may be NULL. */
bool MPIDI_PCOLL_recall(const struct MPIDI_PCOLL_known *known,
                        const struct pcoll_signature *signature, const struct pcoll_caps *caps,
                        const struct pcoll_hint *hint, struct pcoll_choice *choice);

/* *known_p is NULL at first; if memory is scarce, nothing is remembered. MPL_free frees it. */
void MPIDI_PCOLL_remember(struct MPIDI_PCOLL_known **known_p,
                          const struct pcoll_signature *signature, const struct pcoll_caps *caps,
                          const struct pcoll_hint *hint, const struct pcoll_choice *choice);

#endif /* KNOWN_H_INCLUDED */
