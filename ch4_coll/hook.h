/* The progress hook: plans, the network, and what leaves progress in every wait of the process; and
 * what a wait does with a core that others may need. */

#ifndef HOOK_H_INCLUDED
#define HOOK_H_INCLUDED

/* Have MPICH call the hook while anybody needs it, and no more. Open returns an MPI error code: no
 * slot is free. */
int MPIDI_PCOLL_hook_open(void);
void MPIDI_PCOLL_hook_close(void);

/* With MPICH's global lock, on a rank that shares its core: an ordinary call begins, so that passes
 * from here on belong to another wait. Collectives in shared memory complete no request, which
 * would tell. */
void MPIDI_PCOLL_hook_new_wait(void);

#endif /* HOOK_H_INCLUDED */
