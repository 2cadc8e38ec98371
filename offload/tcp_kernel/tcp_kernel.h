/*
 * The medium `tcp_kernel`: Linux runs the plan, over TCP.
 *
 * A start hands the kernel a chain of linked receives and sends (io_uring(7)). From then on
 * arriving data drives it: the wake-up of a socket interrupts the process wherever it computes, and
 * the kernel receives into user memory, and sends from it, what is next in the chain. No thread and
 * no call of this rank is needed until MPI_Wait.
 *
 *     MPI_Start ──► recv from 0 ──► send to 2 ──► recv from 0 ──► send to 2 ──► ...     MPI_Wait
 *                   segment 0       segment 0     segment 1       segment 1
 *
 * A plan becomes one such script for each phase when it is bound (order.c): each rank walks through
 * the plans of all ranks in rounds, once and without data (walk.h), and notes what it sends and
 * receives in which order. This is right because
 *
 *   - the walk is a run that the plans permit, so it gives the right result (proof/check.h), and it
 *     is the same on all ranks;
 *   - every start repeats it: each rank does the same in the same order, what one rank sends to
 *     another arrives in order, and only a rank's own script touches its memory;
 *   - therefore signals without data are needed only where the result is that all have started; all
 *     others are left out, and with them every rendezvous;
 *   - no rank waits in a circle: within a round a rank sends each piece before it receives one, and
 *     a connection has room for a piece (order.c has the argument).
 *
 * The bytes on a connection are those of the pieces and nothing else: both ends know from the walk
 * how many come and where they belong, so no length is read from the wire.
 *
 * The processor copies and reduces. What it does in the midst of a script cuts the chain in two:
 * the second one begins in the next call of progress.
 *
 * Each plan has a connection to each of its neighbors: over TCP, or on one node, if they exchange
 * little, by a local socket (unix(7)). They are made when it is bound; both ends show a random key
 * that the bootstrap has carried (connect.c). Shared memory would not do within a node, as no
 * request of a chain copies from memory to memory: a rank that computes would hold back all behind
 * it.
 *
 * The medium needs Linux 6.0 and the permission to use io_uring. A probe finds out when a group is
 * made. It carries plans only when the user names it.
 */
#ifndef PCOLL_TCP_KERNEL_H
#define PCOLL_TCP_KERNEL_H

#include "offload/medium.h"

struct pcoll_tcp_kernel_settings {
    size_t piece;     /* the most bytes that a rank sends before it receives */
    int chain;        /* the most actions in one chain */
    size_t outlines;  /* the most bytes of all ranks' outlines, which a bind gathers (walk.h) */
    unsigned seconds; /* how long a bind waits for connections */
    size_t local;     /* the most bytes that neighbors on one node exchange in a start by a local
                       * socket, not TCP; 0: none */
};

/* The settings for plans that are bound from now on, the same on all ranks. */
extern struct pcoll_tcp_kernel_settings pcoll_tcp_kernel_settings;

/* Uses bootstrap->interface: the first name of the list, an interface or an address. The bootstrap
 * must stay valid as long as the group: bind uses it. An unbound plan lingers on this rank, without
 * memory of its own, until its neighbors have unbound it too. */
extern const struct pcoll_medium pcoll_medium_tcp_kernel;

#endif /* PCOLL_TCP_KERNEL_H */
