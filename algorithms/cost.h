/*
 * The terms from which algorithms compute their costs: times in microseconds, derived from the
 * shape of the communicator and the machine.
 */
#ifndef PCOLL_COST_H
#define PCOLL_COST_H

#include "algorithms/algorithm.h"
#include "algorithms/plan/topology.h"

static inline double pcoll_larger(double a, double b)
{
    return a > b ? a : b;
}

/* The number of ranks per node, on average and rounded up. */
int pcoll_ranks_per_node(const struct pcoll_signature *signature);

/* True if the ranks are on several nodes. */
int pcoll_is_over_wire(const struct pcoll_signature *signature);

/* The time of one step in which a rank fires `messages` entries and waits for as many. With more
 * ranks than cores, the step ends when every rank has had its turn. If another step follows, it
 * cannot begin before the port is free for it. */
double pcoll_cost_wave(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       double messages, int is_last);

/* The time of start, wait, and `waves` such steps one after the other. */
double pcoll_cost_waves(const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine, int waves, double messages);

/* The time to send `bytes` bytes between user buffers: `first` from firing the entry until the
 * signal is seen, `gap` until the next message can follow, and `in` between the arrivals of signals
 * that several ranks send to one. */
struct pcoll_hop {
    double first, gap, in;
};
struct pcoll_hop pcoll_cost_hop(const struct pcoll_signature *signature,
                                const struct pcoll_machine *machine, double bytes);

/* The number of ranks that share one core, at least 1. */
double pcoll_cost_crowd(const struct pcoll_signature *signature,
                        const struct pcoll_machine *machine);

/* With several nodes: the load of a node's port, which all its ranks share, relative to what every
 * rank sends to other ranks anywhere. It is 1 if each rank has a node of its own. */
double pcoll_cost_share(const struct pcoll_signature *signature);

/* The time for each byte that every rank sends to other ranks anywhere. */
double pcoll_cost_rate(const struct pcoll_signature *signature, const struct pcoll_machine *machine,
                       enum pcoll_path path);

/* The same between user buffers if most of the data is forwarded by ranks that received it before:
 * ranks that take turns on one core find it evicted from the cache. */
double pcoll_cost_forward(const struct pcoll_signature *signature,
                          const struct pcoll_machine *machine);

/* The machine for terms of ranks that have a port and a core to themselves although others are on
 * their node: the leaders, if only they send to other nodes. */
struct pcoll_machine pcoll_cost_leaders(const struct pcoll_signature *signature,
                                        const struct pcoll_machine *machine);

/* The level inside a node, as a machine whose plans start in no time. */
struct pcoll_machine pcoll_cost_node(const struct pcoll_machine *machine);

#endif /* PCOLL_COST_H */
