/* How a plan fails within a node: other ranks may wait for this one forever, so it tells them
 * through the extent. The contract is in node/bound.h. */
#include <stdio.h>
#include <string.h>

#include "offload/node/bound.h"

void pcoll_node_raise(struct pcoll_node_bound *bound)
{
    atomic_fetch_or_explicit(&bound->extent->alarm, PCOLL_NODE_FAILED, memory_order_release);
}

enum pcoll_result pcoll_node_give_up(struct pcoll_node_bound *bound, const char *why)
{
    bound->group->outer.report(bound->group->outer.context, why);
    pcoll_node_raise(bound);
    return PCOLL_ERR_SYSTEM;
}

enum pcoll_result pcoll_node_fail(struct pcoll_node_bound *bound, const struct pcoll_step *step,
                                  int error)
{
    char text[200];

    snprintf(text, sizeof(text), "shared memory: %s of %zu bytes %s process %ld: %s",
             step->kind == PCOLL_NODE_READ ? "process_vm_readv" : "process_vm_writev", step->bytes,
             step->kind == PCOLL_NODE_READ ? "from" : "to", (long)step->pid, strerror(error));
    return pcoll_node_give_up(bound, text);
}

__attribute__((noinline)) enum pcoll_result pcoll_node_stop(struct pcoll_node_bound *bound)
{
    if (atomic_load_explicit(&bound->extent->alarm, memory_order_relaxed) & PCOLL_NODE_FAILED)
        return PCOLL_ERR_SYSTEM;
    return pcoll_node_give_up(bound,
                              "shared memory: user data cannot be packed, unpacked or reduced");
}
