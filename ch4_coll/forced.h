/* What tests force; otherwise what is right in production. */

#ifndef FORCED_H_INCLUDED
#define FORCED_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

struct MPIDI_PCOLL_forced {
    bool cma;            /* copies between user buffers are possible if the kernel permits them */
    uint64_t cma_from;   /* bytes from which on they are taken; 0: the cost model chooses */
    uint64_t coop_from;  /* as in struct pcoll_bootstrap */
    bool share_ucx;      /* plans may use MPICH's UCX */
    uint64_t agent_from; /* bytes of the smallest plan that an agent progresses; 0: all */
    bool reuse;          /* inits may take the plans of freed requests */
    int promote_after;   /* calls of a communicator until the first ones are promoted */
    int promote_part;    /* building plans may take one part of so many of the time; 0: all of it */
    int teams;           /* as in struct pcoll_hint */
    const struct pcoll_locality *locality; /* as in struct pcoll_bootstrap */
    unsigned agent_spin_usec; /* for which an agent with a core polls in vain before it sleeps */
};

const struct MPIDI_PCOLL_forced *MPIDI_PCOLL_forced(void);

#endif /* FORCED_H_INCLUDED */
