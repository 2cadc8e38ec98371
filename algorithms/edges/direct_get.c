/*
 * Messages along the edges of each rank, read directly: what direct's form user does, with the
 * receivers in the place of the senders.
 *
 * Idea: tell the receiver of each block that my send buffer may be read; when all my sources have
 * told me, get each block into its place in my user buffer, and tell its source "done".
 *
 * Source: put and get as in document 003 (Sugiyama, Nanri), section 4.3, along edges.
 *
 *      N = 5, a scatterv of root 0:   0 -> 1, 2, 3, 4: told    1, 2, 3, 4 <- 0: block    done -> 0
 *
 * Cost, for degree d and volume V: 2 L + d (3 o + rma) + V G, where V is what a rank receives; over
 * a network 2 L more, for request and answer. What a put overwrites is in the cache of a receiver
 * that has read it; and from a root all cores read, instead of one that writes; in an allgatherv
 * everybody reads about the same, while the owner of a long block would write it N - 1 times.
 * Condition (lemma C, mirrored): one bank. A get of k waits for all "told" of k, and a rank tells
 * of k + 1 only when all its receivers are done with k, which each of them says when all its gets
 * of k are done. So neither "told" nor "done" of k + 1 can substitute for one of k, and SEND does
 * not change while it is read.
 *
 * All signals are 1 and every counter has one meaning, so the plan is its own lowered form: a get
 * raises an own counter, and the messages that say "done" follow.
 */
#include "algorithms/cost.h"
#include "algorithms/edges/direct.h"
#include "algorithms/edges/slots.h"

/* Of the counters, GOT counts the own gets that are done. */
enum { TOLD, GOT, DONE, NUM_COUNTERS };

static void tell_receivers(struct pcoll_plan *plan, struct pcoll_edge_walk out)
{
    const struct pcoll_entry tell = pcoll_entry_add(PCOLL_NONE, 0);
    struct pcoll_edge edge;

    for (; pcoll_edge_next(&out, &edge); plan->gain[DONE]++)
        pcoll_plan_add(plan, pcoll_entry_signal(tell, edge.rank, TOLD, 1));
}

static void get_blocks(struct pcoll_plan *plan, struct pcoll_edge_walk in)
{
    const uint64_t all = plan->gain[TOLD];
    struct pcoll_entry get;
    struct pcoll_edge edge;

    while (pcoll_edge_next(&in, &edge)) {
        get = pcoll_entry_get(TOLD, all, edge.rank, pcoll_at(PCOLL_SEND, edge.peer_first),
                              pcoll_at(PCOLL_RECV, edge.first), edge.bytes);
        pcoll_plan_add(plan, pcoll_entry_done(get, GOT, 1));
    }
}

static void release_sources(struct pcoll_plan *plan, struct pcoll_edge_walk in)
{
    const struct pcoll_entry done = pcoll_entry_add(GOT, plan->gain[GOT]);
    struct pcoll_edge edge;

    while (pcoll_edge_next(&in, &edge))
        pcoll_plan_add(plan, pcoll_entry_signal(done, edge.rank, DONE, 1));
}

static void build(struct pcoll_plan *plan)
{
    const struct pcoll_local *local = plan->local;
    const struct pcoll_edge_walk in = pcoll_edge_walk(plan, local, false, PCOLL_EDGES_ALL);
    struct pcoll_edge edge;

    tell_receivers(plan, pcoll_edge_walk(plan, local, true, PCOLL_EDGES_ALL));
    pcoll_edges_copy_own(plan, local);
    for (struct pcoll_edge_walk all = in; pcoll_edge_next(&all, &edge);)
        plan->gain[TOLD]++;
    plan->gain[GOT] = plan->gain[TOLD];
    get_blocks(plan, in);
    release_sources(plan, in);
    if (plan->gain[DONE] > 0)
        pcoll_plan_add(plan, pcoll_entry_wait(DONE, plan->gain[DONE]));
}

static enum pcoll_result generate(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    (void)params;
    return pcoll_edges_generate_user(plan, NUM_COUNTERS, build);
}

/* Over a network a get takes a request more than a put, and the source hears of its end: roughly,
 * which suffices, as put is no slower. */
static double cost(const struct pcoll_signature *signature, const struct pcoll_params *params,
                   const struct pcoll_machine *machine)
{
    const struct pcoll_params user = {.path = PCOLL_PATH_USER};

    (void)params;
    if (!pcoll_is_over_wire(signature))
        return pcoll_edges_cost_user(signature, machine, true);
    return pcoll_edges_cost_direct(signature, &user, machine) + 2 * machine->L;
}

#define ROW(NAME, name_of_collective)                                                              \
    const struct pcoll_algorithm pcoll_##name_of_collective##_direct_get = {                       \
        .name = "direct_get",                                                                      \
        .coll = PCOLL_##NAME,                                                                      \
        .description = "every block is read directly by its receiver",                             \
        .when = "long blocks in a node, as the readers' cores copy",                               \
        .generate = generate,                                                                      \
        .cost = cost,                                                                              \
        .temp_bytes = pcoll_no_temp,                                                               \
        .paths = PCOLL_PATH_BIT_USER,                                                              \
    };

ROW(ALLGATHERV, allgatherv)
ROW(GATHERV, gatherv)
ROW(SCATTERV, scatterv)
ROW(ALLTOALLV, alltoallv)
ROW(ALLTOALLW, alltoallw)
ROW(NEIGHBOR_ALLGATHER, neighbor_allgather)
ROW(NEIGHBOR_ALLGATHERV, neighbor_allgatherv)
ROW(NEIGHBOR_ALLTOALL, neighbor_alltoall)
ROW(NEIGHBOR_ALLTOALLV, neighbor_alltoallv)
ROW(NEIGHBOR_ALLTOALLW, neighbor_alltoallw)
