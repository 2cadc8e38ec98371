/* What serializes threads. In an MPICH with one global lock, that does. In one with a lock for each
 * VCI, a process with threads has two mutexes here:
 *
 *   - the lock guards all state of the backend. Like the global lock it is left wherever a thread
 *     waits for other ranks or calls a user's function. MPICH's locks may be taken under it, so a
 *     thread that may hold one of them must not wait for it: the progress hook only tries.
 *   - the lock of lists guards what must change where waiting is forbidden: which plans a
 *     communicator has, and what has been freed but not yet torn down. Nothing is locked under it.
 *
 * Both are held briefly; neither is recursive. */

#ifndef LOCK_H_INCLUDED
#define LOCK_H_INCLUDED

#include "mpidimpl.h"

#include <pthread.h>

extern pthread_mutex_t MPIDI_PCOLL_mutex, MPIDI_PCOLL_mutex_of_lists;

/* Returns whether the process has locks: not before the end of MPI_Init, and not within
 * MPI_Finalize. */
static inline bool MPIDI_PCOLL_has_lock(void)
{
#if MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__GLOBAL
    return false;
#else
    return MPIR_ThreadInfo.isThreaded;
#endif
}

static inline void MPIDI_PCOLL_lock(void)
{
    if (MPIDI_PCOLL_has_lock())
        pthread_mutex_lock(&MPIDI_PCOLL_mutex);
}

static inline bool MPIDI_PCOLL_try_lock(void)
{
    return !MPIDI_PCOLL_has_lock() || pthread_mutex_trylock(&MPIDI_PCOLL_mutex) == 0;
}

static inline void MPIDI_PCOLL_unlock(void)
{
    if (MPIDI_PCOLL_has_lock())
        pthread_mutex_unlock(&MPIDI_PCOLL_mutex);
}

static inline void MPIDI_PCOLL_lock_lists(void)
{
    if (MPIDI_PCOLL_has_lock())
        pthread_mutex_lock(&MPIDI_PCOLL_mutex_of_lists);
}

static inline void MPIDI_PCOLL_unlock_lists(void)
{
    if (MPIDI_PCOLL_has_lock())
        pthread_mutex_unlock(&MPIDI_PCOLL_mutex_of_lists);
}

#endif /* LOCK_H_INCLUDED */
