/* What holds for the whole process: whether the backend is in use, whether ranks share cores, and
 * who needs the progress hook. */

#ifndef PROCESS_H_INCLUDED
#define PROCESS_H_INCLUDED

#include "mpidimpl.h"

#include "mpir_coll_offload_hooks.h" /* MPIDI_PCOLL_crowded */

/* Returns whether any persistent collective is directed to the backend. */
bool MPIDI_PCOLL_is_switched_on(void);

/* Find out whether the cores suffice, after the ranks of this node have published theirs again. */
void MPIDI_PCOLL_see_cores(void);

/* As MPIDI_PCOLL_see_cores, but only if some rank's cores were unknown at the last look. */
void MPIDI_PCOLL_see_missing_cores(void);

/* ---- the progress hook, which is active while anybody needs it ---- */

enum MPIDI_PCOLL_need {
    MPIDI_PCOLL_NEED_PLANS,   /* a plan is active */
    MPIDI_PCOLL_NEED_CORES,   /* ranks share cores */
    MPIDI_PCOLL_NEED_NETWORK, /* a network is open */
    MPIDI_PCOLL_NEED_END,     /* something that has been freed is not torn down yet */
    MPIDI_PCOLL_NUM_NEEDS
};

/* Note the id with which MPICH knows the hook; -1: MPICH does not call it any more, so that cores
 * and network do not need it any more. */
void MPIDI_PCOLL_hook_set(int id);

/* That id. */
int MPIDI_PCOLL_hook_id(void);

/* Note a need of the hook. Needs the lock; for MPIDI_PCOLL_NEED_END, the lock of lists instead. */
void MPIDI_PCOLL_hook_need(enum MPIDI_PCOLL_need need);

/* Note that this need has ended. Needs both locks, as a thread with only one of them may need the
 * hook at the same time. */
void MPIDI_PCOLL_hook_drop(enum MPIDI_PCOLL_need need);

#endif /* PROCESS_H_INCLUDED */
