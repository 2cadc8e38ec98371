/*
 * The medium `ofi_trigger`: the network runs the plan.
 *
 * Every entry is a struct fi_deferred_work (fi_trigger(3)) that a start queues: the provider, a NIC
 * or its thread, does it when a counter reaches its threshold, whether the processor of this rank
 * looks or not.  What stays for the processor: to queue the works, to copy within its own memory,
 * and to see that all is done.
 *
 * A counter of the plan is a fid_cntr.  Peers raise it by writing to memory that is registered with
 * it (FI_RMA_EVENT): to a doorbell of 8 bytes, or, where a put signals, to the target buffer
 * itself, registered once for each counter that puts to it signal.  Such a counter moves only after
 * the payload is in memory, so data needs no flag.  It moves by 1 for each write; plans must be
 * lowered (algorithms/lower/lower.h).  Counters are never set back; a start raises all thresholds
 * (plan.h).
 *
 * Needs of the provider: FI_QUEUE_WORK and counters of registered memory.  Whether it has them is
 * found out by doing it, as providers claim what they have not.  Of libfabric's own, `cxi` and
 * `sockets` have.  All ranks go through it, those of one node too.
 *
 * A group has one endpoint, on the first interface of a list: all rails of a plan go through it.
 *
 * Counters and works are scarce on NICs, so a process has a budget of both.  A plan that does not
 * fit is PCOLL_UNSUPPORTED on all ranks, when it is bound.
 */
#ifndef PCOLL_OFI_TRIGGER_H
#define PCOLL_OFI_TRIGGER_H

#include "offload/medium.h"

struct pcoll_ofi_trigger_settings {
    int counters;      /* most open in this process */
    int works;         /* most queued at once; `sockets` loses works when one event fires more than
                        * about 2500 */
    uint64_t capacity; /* no counter rises above this before it is set back by its owner */
};

/* What holds for plans bound from now on. */
extern struct pcoll_ofi_trigger_settings pcoll_ofi_trigger_settings;

/* Uses bootstrap->provider and ->interface, the same on all ranks of a group.  The bootstrap must
 * stay valid as long as the group: bind and combine use it.  A plan that was unbound here lingers
 * until its neighbors have unbound it too, as they may still signal or read here. */
extern const struct pcoll_medium pcoll_medium_ofi_trigger;

#endif /* PCOLL_OFI_TRIGGER_H */
