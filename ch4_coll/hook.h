/* The progress hook: plans, the network, and what leaves progress in every wait of the process; and
 * what a wait does with a core that others may need. */

#ifndef HOOK_H_INCLUDED
#define HOOK_H_INCLUDED

/* Have MPICH call the hook while anybody needs it, and no more. Open returns an MPI error code: no
 * slot is free. */
int MPIDI_PCOLL_hook_open(void);
void MPIDI_PCOLL_hook_close(void);

#endif /* HOOK_H_INCLUDED */
