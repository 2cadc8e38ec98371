/*
 * Reduce along a chain of ranks, in segments, through communication buffers.
 *
 * Idea: each rank reduces what the one behind it has sent with its own operand and sends it on,
 * while the next segment arrives. So every link carries the vector once. If the operator commutes,
 * the chain begins at the root, counted cyclically; otherwise there is one to either side of the
 * root, whose link carries two vectors unless one of them is empty (shape/order_tree.h, radix 1).
 *
 * Source: the pipelined chain of every MPI; slots and credits are those of shape/up.h, which has
 * the lemma and the argument why it is safe.
 *
 *      N = 5, root 0:   0 <- 1 <- 2 <- 3 <- 4
 *
 * Cost: (N - 1) (L + o + s (G + reduce)) for the first segment of s bytes, then M G, while the
 * processors reduce; slots + 2 or 4 counters. Condition: see there.
 */
#include "algorithms/cost.h"
#include "algorithms/reduce/knomial.h"
#include "algorithms/shape/order_tree.h"

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    return pcoll_reduce_tree_generate(plan, 1, params);
}

static uint64_t temp_bytes(const struct pcoll_signature *signature,
                           const struct pcoll_params *params)
{
    return pcoll_reduce_tree_temp_bytes(signature, 1, params);
}

/* The number of links from the end of the chain to the root, and of those between nodes. */
struct links {
    double all, far;
};

static struct links links_of(const struct pcoll_signature *signature, double arms)
{
    const struct pcoll_topology *topology = signature->topology;
    const int root = signature->root, last = signature->nranks - 1;
    const double longer = root > last - root ? root : last - root;
    struct links links = {arms > 1 ? longer : last, 0};

    if (pcoll_is_over_wire(signature))
        links.far = pcoll_topology_is_consecutive(topology)
                        ? links.all * (topology->nnodes - 1) / last
                        : links.all;
    return links;
}

/* A rank puts, passes a gate and reduces, and returns half a ring now and then; the root reduces
 * what comes from all arms, and its port takes it. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_order_tree tree = pcoll_order_tree_of(signature, 1);
    const struct pcoll_ring ring = pcoll_reduce_tree_ring(signature, params);
    /* outside, `back` is the wait for credit */
    const struct pcoll_machine all = pcoll_ring_machine(&ring, machine);
    const struct pcoll_machine node = pcoll_cost_node(&all);
    const double crowd = pcoll_cost_crowd(signature, machine);
    const double arms = pcoll_order_tree_max_children(&tree), n = (double)ring.nsegments;
    const double bytes = (double)signature->bytes / n;
    const struct links links = links_of(signature, arms);
    const double work = crowd * (node.o + bytes * node.reduce);
    const double put = crowd * (node.o + bytes * node.copy);
    const double near = pcoll_cost_wave(signature, &node, 0, true) + put + work;
    const double far = pcoll_cost_wave(signature, machine, 0, true) + crowd * machine->o +
                       bytes * machine->G + work;
    /* a put, and the share of a half that is returned */
    const double sent = signature->nranks > 2 ? 1 + 2.0 / ring.slots : 1;
    const double share = links.far == links.all && pcoll_is_over_wire(signature)
                             ? pcoll_ranks_per_node(signature)
                             : 1;
    double next = links.far < links.all ? put + work + sent * crowd * node.o : 0, back = 2 * near;

    if (links.far > 0) {
        const double port = share * arms * (sent * machine->g + bytes * machine->G);

        next = pcoll_larger(next, pcoll_larger(port, work + crowd * (sent * machine->o + node.o)));
        back = 2 * far;
    }
    next = pcoll_larger(next, arms * work);
    next = pcoll_larger(next, n > ring.slots ? back / ring.slots : 0);
    return machine->call + links.far * far + (links.all - links.far) * near + (n - 1) * next;
}

const struct pcoll_algorithm pcoll_reduce_chain = {
    .name = "chain",
    .coll = PCOLL_REDUCE,
    .description = "chains in segments from both ends to the root",
    .when = "long vectors between nodes",
    .generate = generate,
    .cost = cost,
    .temp_bytes = temp_bytes,
    .paths = PCOLL_PATH_BIT_TEMP,
    .uses_segment = 1,
    .uses_slots = PCOLL_RING,
};
