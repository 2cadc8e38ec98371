/*
 * The speed of a machine: what cost functions use, and what ranks can measure.
 */
#ifndef PCOLL_MACHINE_H
#define PCOLL_MACHINE_H

#include <stdint.h>

/* Bytes from which on the two ranks of a copy between user buffers share it (offload/node/board.h),
 * unless a test says otherwise. */
#define PCOLL_COOP_FROM (UINT64_C(512) << 10)

/* LogGP (Alexandrov et al. 1995) plus the rates of
 * the node, for one level or (`node`) two. Times are in microseconds, rates in microseconds per
 * byte. */
struct pcoll_machine {
    double L;      /* latency of a signal or a small put */
    double o;      /* processor time to fire an entry */
    double g;      /* gap between two messages of one rank */
    double G;      /* per byte, directly between user buffers (RMA, CMA) */
    double rma;    /* fixed cost of one RMA operation on user buffers */
    double copy;   /* per byte, memory copy within or through shared memory */
    double call;   /* start and wait of an empty plan */
    double turn;   /* a rank without a core waits this long for its turn */
    int cores;     /* cores that the ranks of a node share; 0: one for each rank */
    double reduce; /* per byte, reduction of an operand that another rank has written */
    double pack;   /* per byte, copy of data that is not contiguous */
    double put;    /* per byte, by how much a put between user buffers of a node takes longer than
                    * a get: its receiver has the buffer in its caches, and has to get it back */
    double cached; /* per byte, memory copy with communication buffers that stay in the caches */
    double kept;   /* per byte, memory copy of a block that a rank keeps, within its core's cache */
    double cache;  /* up to so many MiB of the users' data in a node */
    double share;  /* MiB of the last cache that fall to each core which shares it; 0: unknown */
    double own;    /* MiB of the largest cache that a core has to itself; 0: unknown */
    double exclusive; /* part of an access to a process's memory during which others wait: 1: they
                       * follow each other; 0: all overlap */
    double saturated; /* per byte of all that ranks of a domain copy at the same time; 0: unknown */
    /* What tables do not have: see pcoll_cost_contend. */
    double arrival; /* between the signals of several ranks to a counter, if each has a core */
    double locked;  /* bytes of a process's memory within which accesses wait for each other */
    const struct pcoll_machine *node; /* inside a node, if this is between nodes, or inside a team
                                       * if this is between teams; NULL: the same machine */
};

/* The members that ranks of a node can measure when they meet, and those that the kernel tells
 * (plan/caches.h). Where the machine is a measurement, 0 means that nothing is known. */
#define PCOLL_MEASURED_MEMBERS(MEMBER)                                                             \
    MEMBER(L)                                                                                      \
    MEMBER(G)                                                                                      \
    MEMBER(rma)                                                                                    \
    MEMBER(copy)                                                                                   \
    MEMBER(reduce)                                                                                 \
    MEMBER(put)                                                                                    \
    MEMBER(cached)                                                                                 \
    MEMBER(kept)                                                                                   \
    MEMBER(cache)                                                                                  \
    MEMBER(share)                                                                                  \
    MEMBER(own)                                                                                    \
    MEMBER(exclusive)

#endif /* PCOLL_MACHINE_H */
