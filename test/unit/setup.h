/*
 * The setup of a test on an RMA medium: the ranks are processes on nodes of their own or on the
 * same node, over a wire that works on one host and may guarantee less than it can do.
 */
#ifndef PCOLL_TEST_SETUP_H
#define PCOLL_TEST_SETUP_H

#include "algorithms/plan/topology.h"
#include "test/unit/meeting.h"
#include "test/unit/trial.h"

/* The nodes of up to 8 ranks, one digit for each rank. */
struct layout {
    const char *name, *nodes;
};

/* Endpoints that guarantee less; what is not named stays as it is. */
struct promise {
    const char *name;
    int unordered, no_stream;
    int no_room;                     /* for two of three transfers, which must be tried again */
    size_t max_message, max_ordered; /* where only short writes keep order */
    int no_cma;
    int loses_data; /* of messages that are joined with a signal: a fault, which tests must notice
                     */
};

/* A medium and its wire, as told to the user, and a provider for libfabric. */
struct subject {
    const char *name;
    const struct pcoll_medium *medium;
    const struct pcoll_wire *wire;
    const char *provider;
    int may_be_unordered; /* it can be told to guarantee no order */
};

struct setup {
    const struct subject *subject;
    const char *interfaces;
    const char *fewer; /* the interfaces of rank 1; NULL: the same */
    const struct layout *layout;
    int nranks;
    int all_sizes; /* otherwise one size of a cell, one above, and one of several segments */
    int (*exercise)(struct setup *setup, struct meeting *meeting, struct part *part);
    const struct promise *promise; /* NULL: what the wire guarantees */
    _Atomic int *starts;
};

/* UCX that the ranks of all setups open for themselves, as MPI does, and that the medium may use.
 * The bootstrap reaches all ranks. */
struct setup_foreign {
    const struct pcoll_foreign *(*open)(const struct pcoll_bootstrap *bootstrap);
    void (*poll)(void);
    void (*close)(struct meeting *meeting);
};
extern const struct setup_foreign *setup_foreign; /* NULL: none */

/* What one more group of the setup needs. Its interfaces are loopback unless the setup names
 * others, because interfaces of this machine may appear and disappear; with a foreign UCX, none is
 * named. `node` has room for all ranks and outlives the topology. */
void setup_set_network(const struct setup *setup, struct pcoll_bootstrap *bootstrap);
struct pcoll_topology *setup_topology(const struct layout *layout, int nranks);

/* Plays the setup on all ranks, each with a group in `part`; returns the number of ranks that found
 * an error. */
int setup_run(struct setup setup);

#endif /* PCOLL_TEST_SETUP_H */
