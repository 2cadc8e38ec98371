/*
 * What follows from the sizes of caches: how long communication buffers may be, which of them are
 * far, and how long a copy must be to go past the cache. All these rules are here, each with its
 * reason; doc/notes/caches.md has the measurements.
 *
 * A rule applies where the kernel or the processor tells the sizes (offload/sysfs.h), or the tuning
 * table does.
 * Otherwise the limits are those of the machines on which they were measured.
 */
#ifndef PCOLL_CACHES_H
#define PCOLL_CACHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algorithms/plan/machine.h"

/* The data caches of a core; 0: unknown. */
struct pcoll_caches {
    uint64_t own;  /* bytes of the largest one that it has to itself */
    uint64_t last; /* bytes of the last one */
    int sharers;   /* cores that share the last one */
};

/* Sets share, cache and own of *machine, if they are known. */
void pcoll_caches_tell(const struct pcoll_caches *caches, struct pcoll_machine *machine);

/* `cache` of a machine of which nothing else is known, in MiB: three times its last cache of 32. */
#define PCOLL_CACHE_MIB 96

/* Communication buffers of this size leave the private cache of the rank that has read them before
 * they are filled again; in smaller ones each line must be taken from another cache. No rule gives
 * it: 768 KiB were necessary with private caches of 1 MiB, 256 KiB sufficed with 2 MiB, and on far
 * cores of 512 KiB no difference was seen. */
#define PCOLL_FAR_BYTES (UINT64_C(768) << 10)

/* Far buffers must take at most so many percent of the time of near ones: their pages are touched
 * for the first time over many starts, each of which may take 50 times as long (10 us a page on an
 * EPYC; a ring of 128 slots that gained a tenth there pays after 50,000 starts). */
#define PCOLL_FAR_PERCENT 90

/* Returns whether the data that a user gives one rank stays in the core's own cache beside a far
 * buffer. Otherwise copies between the two also fetch the user's lines from elsewhere. Where
 * nothing is known, it does. */
bool pcoll_is_own_data(const struct pcoll_machine *machine, uint64_t bytes);

/* Returns whether a piece of a message is as long as a core's own cache, if that is known. Both of
 * its copies through a communication buffer then take PCOLL_EVICTED_COPY times as long: 1.8 to 2.2
 * for alltoalls and alltoallvs of 1 to 6 MB in one piece, on 2 ranks with own caches of 1 MiB
 * (EPYC, Zen 5), where pieces of 368 KB and segments of 512 KiB take what `copy` gives. */
bool pcoll_is_evicted(const struct pcoll_machine *machine, uint64_t piece);
#define PCOLL_EVICTED_COPY 2

/* In bytes. Copies take the time of cached ones (algorithms/cost.h) in rings of PCOLL_FAR_BYTES to
 * `ring` and in banks of PCOLL_FAR_BYTES to `banks` of communication buffers. */
struct pcoll_limits {
    uint64_t ring;    /* a longer ring would not stay in the last cache with the users' data */
    uint64_t banks;   /* the same for banks of whole messages */
    uint64_t segment; /* the usual segment of the longest ring */
};
struct pcoll_limits pcoll_limits_of(const struct pcoll_machine *machine);

/* The most slots of a ring whose ranks have a core each: init takes time for each slot. */
#define PCOLL_MAX_RING_SLOTS 64

/* Copies of so many bytes or more go past the cache. */
size_t pcoll_long_copy(const struct pcoll_caches *caches);

#endif /* PCOLL_CACHES_H */
