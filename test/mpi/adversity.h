/* Take resources or time that the backend uses away from this process. `who` is "all", the number
 * of one rank of the job, or NULL for no rank. */

#ifndef ADVERSITY_H_INCLUDED
#define ADVERSITY_H_INCLUDED

#include <mpi.h>

/* `variable`: "WHO:NAME=VALUE", an environment variable. */
void adversity_before_init(const char *deny_cma, int one_core, const char *no_memfd,
                           const char *own_pid, const char *variable);
/* Applies from now on. `unknown`: fail as if the kernel did not have the call. */
void adversity_deny_cma(const char *who, int unknown);
void adversity_after_init(MPI_Comm comm, const char *no_shm, const char *own_shm, int tiny_shm,
                          const char *no_mr, const char *slow);
/* "CALL" or "CALL@RANK": a system call fails from now on, by seccomp. "RESOURCE:VALUE" or
 * "RESOURCE:VALUE@RANK": as ulimit does. NULL: nothing. */
void adversity_deny(const char *text);
void adversity_limit(const char *text);
/* "open" or "size", of all ranks, or with "@RANK" of one: the memory in which ranks publish their
 * cores cannot be opened, or not be given its size. */
void adversity_no_cores(const char *text);
/* A session begins before MPI_Init, and ends before MPI_Finalize. */
void adversity_open_session(const char *who);
void adversity_close_session(void);
/* MPI goes on in this process for a second while others are in MPI_Finalize. */
void adversity_before_finalize(const char *late);

/* unregistered.c: libfabric refuses to register memory in domains that this process opens later. */
void deny_registration(void);
/* slow.c: from now on this process sees late what has arrived over the provider `sockets`. */
void slow_down(void);

#endif /* ADVERSITY_H_INCLUDED */
