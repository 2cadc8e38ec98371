/*
 * The medium `ofi_trigger`: the network runs the plan.
 *
 * Every entry is a struct fi_deferred_work (fi_trigger(3)) that a start queues. The provider, a NIC
 * or a thread, executes it when a counter reaches its threshold, whether or not this rank makes any
 * call. The processor still queues the works, copies within its own memory, and checks that
 * everything is done.
 *
 * A counter of the plan is a fid_cntr. Peers raise it by writing to memory that is registered with
 * it (FI_RMA_EVENT): to a doorbell of 8 bytes or, if a put signals, to the target buffer itself,
 * which is registered once for each counter that puts to it signal. Such a counter moves only after
 * the payload is in memory, so data needs no flag. It moves by 1 for each write, so plans must be
 * lowered (algorithms/lower/lower.h). Counters are never reset by a start, which raises all
 * thresholds instead (plan.h).
 *
 * The provider needs FI_QUEUE_WORK and counters of registered memory. A probe finds out whether it
 * has them, since providers claim features that they lack. Of libfabric's own providers, `cxi` and
 * `sockets` have them. All ranks communicate through the provider, including those of one node.
 *
 * A group has one endpoint, on the first interface of a list: all rails of a plan use it.
 *
 * Counters and works are scarce on NICs, so a process has a budget of both. A plan that exceeds it
 * is PCOLL_UNSUPPORTED on all ranks when it is bound.
 */
#ifndef PCOLL_OFI_TRIGGER_H
#define PCOLL_OFI_TRIGGER_H

#include "offload/medium.h"

struct pcoll_ofi_trigger_settings {
    int counters;      /* the most that are open in this process */
    int works;         /* the most that are queued at once; `sockets` loses works if one event fires
                        * more than about 2500 */
    uint64_t capacity; /* no counter rises above this before its owner resets it */
};

/* The settings for plans that are bound from now on. */
extern struct pcoll_ofi_trigger_settings pcoll_ofi_trigger_settings;

/* Uses bootstrap->provider and ->interface, which are the same on all ranks of a group. The
 * bootstrap must stay valid as long as the group: bind uses it. An unbound plan lingers
 * on this rank until its neighbors have unbound it too, as they may still signal or read here. */
extern const struct pcoll_medium pcoll_medium_ofi_trigger;

#endif /* PCOLL_OFI_TRIGGER_H */
