/*
 * The terms from which algorithms compute their costs: times in microseconds, derived from the
 * shape of the communicator and the machine.
 */
#ifndef PCOLL_COST_H
#define PCOLL_COST_H

#include <stdbool.h>

#include "algorithms/algorithm.h"
#include "algorithms/plan/topology.h"

static inline double pcoll_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double pcoll_lesser(double a, double b)
{
    return a < b ? a : b;
}

/* The number of ranks per node, on average and rounded up. If the topology is a level, its teams
 * take the place of nodes here and in all that follows. */
int pcoll_ranks_per_node(const struct pcoll_signature *signature);

/* The number of mates (teams.h) of a team of this level: the most, or on the last level on average
 * and rounded up. */
int pcoll_cost_mates(const struct pcoll_topology *level);

/* Returns whether the ranks are on several nodes. */
bool pcoll_is_over_wire(const struct pcoll_signature *signature);

/* The time of one step in which a rank fires `messages` entries and waits for as many. With more
 * ranks than cores, the step ends when every rank has had its turn. If another step follows, it
 * cannot begin before the port is free for it. */
double pcoll_cost_wave(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       double messages, bool is_last);

/* The time of start, wait, and `waves` such steps one after the other. */
double pcoll_cost_waves(const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine, int waves, double messages);

/* The same of steps in which some ranks fire `messages` entries to ranks that wait for one. */
double pcoll_cost_fans(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       int fans, double messages);

/* The time to put `bytes` bytes between user buffers: `first` from firing the entry until the
 * signal is seen, `gap` until the next message can follow, and `in` between the arrivals of signals
 * that several ranks send to one. */
struct pcoll_hop {
    double first, gap, in;
};
struct pcoll_hop pcoll_cost_hop(const struct pcoll_signature *signature,
                                const struct pcoll_machine *machine, double bytes);

/* How ranks of a node reach others when all send at the same time, into communication buffers. */
struct pcoll_link {
    struct pcoll_machine machine;
    double senders; /* ranks that share the node's port; 0: processors move the bytes */
    double crowd;   /* of them share a core, or 1 */
};

/* A wave: each rank sends `messages` messages of `bytes` bytes and waits for as many. Then it
 * combines `reduced` of the received messages with its own data (0: none). */
struct pcoll_wave {
    double messages, bytes, reduced;
};

/* The part of it for which it occupies a rank's processor or the node's port. */
double pcoll_wave_busy(const struct pcoll_link *link, struct pcoll_wave wave);

/* Waves one after the other. Ranks of a node that begin together alternate at its port, so each is
 * later than the one before by a message. Therefore in the next wave each finds the port in use by
 * the one before, and is later by all its messages. From then on they queue only where the port
 * needs longer for all of them than one of them for the wave. */
struct pcoll_waves {
    double time;  /* until the first rank of each node has completed them */
    double port;  /* from then on, until the port is free for another wave */
    double queue; /* by which the last rank is later */
};
void pcoll_waves_add(struct pcoll_waves *waves, const struct pcoll_signature *signature,
                     const struct pcoll_link *link, struct pcoll_wave wave);

/* The time between the signals of several of `ranks` ranks of a node to one: the line of a counter
 * moves to the rank that signals and back to the one that polls, and each takes about as long as a
 * signal. 0 for two ranks, where nobody contends. */
double pcoll_cost_arrival(const struct pcoll_machine *machine, int ranks);

/* Set what tables do not have, for a call, or for so many ranks of a node. Both are 0 between nodes
 * and on two ranks:
 * - arrival: pcoll_cost_arrival;
 * - locked, unless ranks have mapped each other's memory: the kernel locks a page of its page table
 * for each page that it reads or writes for another process (cf. Chakraborty et al., CLUSTER 2017).
 * One maps 2 MiB of pages of 4 KiB. */
void pcoll_cost_contend(const struct pcoll_signature *signature, bool mapped,
                        struct pcoll_machine *machine);
void pcoll_cost_contend_in_node(int ranks, bool mapped, struct pcoll_machine *machine);

/* How many of `ranks` ranks of a node access the user memory of one process at the same time, if
 * they do so at places `stride` bytes apart (0: the same one). The others wait. Less than 1 where
 * they also slow each other down (machine->exclusive > 1). */
double pcoll_cost_accessors(const struct pcoll_machine *machine, double ranks, double stride);

/* What of the time of a long copy between user buffers (PCOLL_COOP_FROM) remains if the other rank
 * has nothing else to do. Of several that wait for copies from one rank that rank helps only one at
 * a time, so this is for two ranks. */
double pcoll_cost_coop(const struct pcoll_signature *signature);

/* The number of ranks that share one core, at least 1. */
double pcoll_cost_crowd(const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine);

/* With several nodes: the load of a node's port, which all its ranks share, relative to what every
 * rank sends to other ranks anywhere. It is 1 if each rank has a node of its own. */
double pcoll_cost_port_load(const struct pcoll_signature *signature);

/* The time for each byte that every rank sends to other ranks anywhere; between user buffers of a
 * node, of a get. */
double pcoll_cost_rate(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       enum pcoll_path path);

/* The time if so many ranks of a domain each copy so many bytes to or from others, at the same
 * time: `alone`, that of one of them alone, unless they saturate what they share. */
double pcoll_cost_saturated(const struct pcoll_machine *machine, double ranks, double bytes,
                            double alone);

/* The same of a put between user buffers. */
double pcoll_cost_put_rate(const struct pcoll_signature *signature,
                           const struct pcoll_machine *machine);

/* The same of a put between user buffers if most of the data is forwarded by ranks that received it
 * before: ranks that take turns on one core find it evicted from the cache. */
double pcoll_cost_forward(const struct pcoll_signature *signature,
                          const struct pcoll_machine *machine);

/* The machine for terms of ranks that have a port and a core to themselves although others are on
 * their node: the leaders, if only they send to other nodes. */
struct pcoll_machine pcoll_cost_leaders(const struct pcoll_signature *signature,
                                        const struct pcoll_machine *machine);

/* The machine for a call whose ranks are on one node and touch little enough user memory: copies to
 * and from communication buffers take the time of cached ones, or half-way to it if ranks share
 * cores and thereby caches. For other calls, the same machine; also for three ranks and more that
 * have a core each, for which no gain was measured (doc/notes/many-cores.md). */
struct pcoll_machine pcoll_cost_cached(const struct pcoll_signature *signature,
                                       const struct pcoll_machine *machine);

/* The time for each byte of a block that a rank keeps, if only user buffers pass through its core's
 * caches: `kept` of the machine for that call. */
double pcoll_cost_kept(const struct pcoll_signature *signature,
                       const struct pcoll_machine *machine);

/* Inside a node, or inside a team, as a machine whose plans start in no time. */
struct pcoll_machine pcoll_cost_node(const struct pcoll_machine *machine);

#endif /* PCOLL_COST_H */
