/* Takes from this process what the backend would like to use. `who` is "all", the
 * number of one rank of the job, or NULL for nobody. */

#ifndef ADVERSITY_H_INCLUDED
#define ADVERSITY_H_INCLUDED

#include <mpi.h>

void adversity_before_init(const char *deny_cma, int one_core, const char *no_memfd,
                           const char *own_pid);
/* From now on; `who` is "all" or a rank.  unknown: as if the kernel had no such call. */
void adversity_deny_cma(const char *who, int unknown);
void adversity_after_init(MPI_Comm comm, const char *no_shm, const char *own_shm, int tiny_shm,
                          const char *no_mr, const char *slow);

/* unregistered.c: libfabric will not register memory in domains that this process opens later. */
void deny_registration(void);
/* slow.c: this process is late to see what has come over the provider `sockets`. */
void slow_down(void);

#endif /* ADVERSITY_H_INCLUDED */
