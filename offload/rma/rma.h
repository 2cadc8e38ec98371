/*
 * The core of the media for ranks on several nodes: between nodes they use RMA over a wire
 * (wire.h), driven by software; within a node they use shared memory, as in shm.h. One plan may use
 * both.
 *
 *      source rank                                   target rank (owner)
 *   sum += add                                 inbox line: [ cell | sum | check ]
 *   put [cell|sum|check] ------------------->        | progress: check == ~sum, sum has risen:
 *   (a long payload is put before it)                v cell to the counter's line, then add
 *                                              counter line <--- atomic adds of ranks of its node
 *
 * A counter is a word of shared memory of its node. A signal from another node is a put of 16
 * bytes, the cumulative sum of one channel and its complement, into a line of the owner's inbox
 * that only that channel writes. Therefore no atomic operations of the network are needed, and a
 * sum that is overtaken by its successor is no loss. A channel carries the signals of one rank to
 * one counter with one range of its cell. The data of the cell precedes the sum: in the same put if
 * the wire is a stream, otherwise in a put of its own. Other data and the sum that follows it are
 * one message if the wire can join them. The owner polls its lines whenever it waits.
 *
 * This is correct because
 *
 *   - the check lands last (stream), or the 16 bytes may land in any order: until all of them have
 *     landed, sum and check do not match, except for a sum that is still the old one;
 *   - data is in place before the sum: it precedes the sum in the stream, or in a message that the
 *     wire has joined; or in an earlier put whose order the wire guarantees; or the sum is sent
 *     only when the put of the data is known to have been delivered;
 *   - the effects of one rank on one peer occur in the order fired (PCOLL_NEED_ORDER, offered where
 *     signals keep their order): the lines of an inbox are read as a snapshot, twice with the same
 *     result, so that no later signal is seen without an earlier one; in an ordered plan nothing
 *     overtakes an operation that must be waited for;
 *   - rails (an endpoint for each interface of a list) share nothing except counters: a channel
 *     belongs to one rail, so its sums arrive in order, and data precedes its sum on the same rail;
 *   - a line's cell is not written again before the owner has consumed it: that would be a hazard
 *     of the plan, which proof/check.h excludes.
 *
 * Progress: if the wire's progress is manual, a rank that makes no call here takes part in nothing:
 * it does not see what arrives, and others cannot read its buffers, even if its own instance is
 * complete. Therefore everything in the process that waits must poll the medium now and then as
 * long as a group exists, unless no plan of the process has had neighbors on other nodes; and a
 * rank that computes for long can delay others, as with any rendezvous. How often polls follow
 * each other is in offload/pace.h.
 *
 * The functions below are those of a medium (medium.h). The bootstrap must stay valid as long as
 * the group. An unbound plan lingers on this rank until its neighbors on other nodes have unbound
 * it too, as they may still read and write here.
 */
#ifndef PCOLL_RMA_H
#define PCOLL_RMA_H

#include "offload/medium.h"

struct pcoll_wire;

enum pcoll_result pcoll_rma_group_create(const struct pcoll_medium *medium,
                                         const struct pcoll_wire *wire,
                                         const struct pcoll_bootstrap *bootstrap,
                                         struct pcoll_group **group_p);
void pcoll_rma_group_destroy(struct pcoll_group *group);
unsigned pcoll_rma_group_provides(const struct pcoll_group *group);
int pcoll_rma_group_rails(const struct pcoll_group *group);
enum pcoll_level pcoll_rma_group_level(const struct pcoll_group *group);
const struct pcoll_sharing *pcoll_rma_group_sharing(const struct pcoll_group *group);
const struct pcoll_topology *pcoll_rma_group_levels(const struct pcoll_group *group);
void pcoll_rma_group_reach(const struct pcoll_group *group, char *text, size_t size);
enum pcoll_result pcoll_rma_group_measure(struct pcoll_group *group);
const struct pcoll_machine *pcoll_rma_group_machine(const struct pcoll_group *group);
enum pcoll_result pcoll_rma_bind(struct pcoll_group *group, const struct pcoll_plan *plan,
                                 const struct pcoll_memory *memory, struct pcoll_bound **bound_p);
void pcoll_rma_unbind(struct pcoll_bound *base);
enum pcoll_result pcoll_rma_start(struct pcoll_bound *base);
enum pcoll_result pcoll_rma_progress(struct pcoll_bound *base);
enum pcoll_result pcoll_rma_spin(struct pcoll_bound *base, unsigned spins);
void pcoll_rma_rest(struct pcoll_bound *base, unsigned usec);
uint64_t pcoll_rma_position(const struct pcoll_bound *base);

/* Poll the wire, for the whole process, unless it is too early (offload/pace.h) or this process has
 * no neighbors on other nodes. */
void pcoll_rma_poll(const struct pcoll_wire *wire);

/* Returns how many unbound plans on the wire wait for their neighbors to unbind them. */
int pcoll_rma_lingering(const struct pcoll_wire *wire);

/* Destroy all unbound plans on the wire, at the end of the process. */
void pcoll_rma_finalize(const struct pcoll_wire *wire);

/* The functions of a medium that name its wire. */
#define PCOLL_RMA_FUNCTIONS(MEDIUM, WIRE)                                                          \
    static void rma_poll_all(void)                                                                 \
    {                                                                                              \
        pcoll_rma_poll(&(WIRE));                                                                   \
    }                                                                                              \
    static int rma_lingering(void)                                                                 \
    {                                                                                              \
        return pcoll_rma_lingering(&(WIRE));                                                       \
    }                                                                                              \
    static void rma_finalize(void)                                                                 \
    {                                                                                              \
        pcoll_rma_finalize(&(WIRE));                                                               \
    }                                                                                              \
    static enum pcoll_result rma_group_create(const struct pcoll_bootstrap *bootstrap,             \
                                              struct pcoll_group **group_p)                        \
    {                                                                                              \
        return pcoll_rma_group_create(&(MEDIUM), &(WIRE), bootstrap, group_p);                     \
    }

/* All members of a medium except name, library, wire and suits. */
#define PCOLL_RMA_MEMBERS                                                                          \
    .traits = PCOLL_SPANS_NODES | PCOLL_LENDS, .node_medium = "shm",                               \
    .group_destroy = pcoll_rma_group_destroy, .group_provides = pcoll_rma_group_provides,          \
    .group_rails = pcoll_rma_group_rails, .group_level = pcoll_rma_group_level,                    \
    .group_sharing = pcoll_rma_group_sharing, .group_levels = pcoll_rma_group_levels,              \
    .group_reach = pcoll_rma_group_reach, .group_measure = pcoll_rma_group_measure,                \
    .group_machine = pcoll_rma_group_machine, .bind = pcoll_rma_bind, .unbind = pcoll_rma_unbind,  \
    .start = pcoll_rma_start, .progress = pcoll_rma_progress, .spin = pcoll_rma_spin,              \
    .rest = pcoll_rma_rest, .position = pcoll_rma_position, .poll = rma_poll_all,                  \
    .lingering = rma_lingering, .finalize = rma_finalize, .group_create = rma_group_create

#endif /* PCOLL_RMA_H */
