/* Copies by the owner of user memory; the contract is in node/relay.h. */
#include "offload/node/relay.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MIN_RELAY ((size_t)1024)
#define MAX_RELAY ((size_t)64 * 1024)
#define PIECES 64 /* the longest move is cut into this many pieces, within these bounds */

enum state { IDLE, ASKED, SERVED };

/* What a rank tells, and its request: one line, then the data. */
struct pcoll_node_relay {
    _Atomic uint32_t state;
    uint32_t writes; /* or else it reads */
    int64_t pid; /* of the owner; all ranks answer identically whether that is this process, since
                  * they share a PID namespace */
    uint64_t address, bytes;
    _Atomic uint64_t bases[PCOLL_RECV + 1]; /* of SEND and RECV from the next move on */
    unsigned char pad[PCOLL_LINE_BYTES - 48];
    unsigned char data[];
};

_Static_assert(sizeof(struct pcoll_node_relay) == PCOLL_LINE_BYTES, "a relay is a line and data");

size_t pcoll_node_relay_bytes(size_t longest)
{
    size_t bytes = longest / PIECES;

    if (longest == 0)
        return 0;
    bytes = bytes < MIN_RELAY ? MIN_RELAY : bytes > MAX_RELAY ? MAX_RELAY : bytes;
    return (bytes + PCOLL_LINE_BYTES - 1) / PCOLL_LINE_BYTES * PCOLL_LINE_BYTES;
}

static struct pcoll_node_relay *relay_of(const struct pcoll_node_bound *bound, int number)
{
    return (void *)(bound->relays + (size_t)number * bound->relay_bytes);
}

/* ---- bases ---- */

void pcoll_node_tell_bases(const struct pcoll_node_bound *bound, const struct pcoll_memory *memory)
{
    struct pcoll_node_relay *relay;

    if (bound->nrelays == 0)
        return;
    relay = relay_of(bound, bound->number);
    atomic_store_explicit(&relay->bases[PCOLL_SEND], (uintptr_t)memory->send, memory_order_relaxed);
    atomic_store_explicit(&relay->bases[PCOLL_RECV], (uintptr_t)memory->recv, memory_order_relaxed);
}

uint64_t pcoll_node_told_base(const struct pcoll_node_bound *bound, int number,
                              enum pcoll_buffer buffer)
{
    return atomic_load_explicit(&relay_of(bound, number)->bases[buffer], memory_order_relaxed);
}

/* ---- requests ---- */

/* Request the next piece of the step. */
static void ask(struct pcoll_node_bound *bound, struct pcoll_node_relay *relay)
{
    const struct pcoll_step *step = bound->asking;
    size_t max = bound->relay_bytes - PCOLL_LINE_BYTES, left = step->bytes - bound->relayed;

    relay->writes = step->kind == PCOLL_NODE_ASK_WRITE;
    relay->pid = step->pid;
    relay->bytes = left < max ? left : max;
    relay->address = (uint64_t)(uintptr_t)(relay->writes ? step->to : step->from) + bound->relayed;
    if (relay->writes)
        pcoll_copy(relay->data, (const char *)step->from + bound->relayed, relay->bytes);
    atomic_store_explicit(&relay->state, ASKED, memory_order_release);
}

static enum pcoll_result relay_step(struct pcoll_node_bound *bound, struct pcoll_step *step)
{
    struct pcoll_node_relay *relay = relay_of(bound, bound->number);

    if (bound->asking == NULL) {
        bound->asking = step;
        bound->relayed = 0;
        ask(bound, relay);
        return PCOLL_PENDING;
    }
    if (bound->asking != step ||
        atomic_load_explicit(&relay->state, memory_order_acquire) != SERVED)
        return PCOLL_PENDING;
    if (!relay->writes)
        pcoll_copy((char *)step->to + bound->relayed, relay->data, relay->bytes);
    bound->relayed += relay->bytes;
    if (bound->relayed < step->bytes) {
        ask(bound, relay);
        return PCOLL_PENDING;
    }
    atomic_store_explicit(&relay->state, IDLE, memory_order_relaxed);
    bound->asking = NULL;
    return PCOLL_OK;
}

enum pcoll_result pcoll_node_ask(struct pcoll_node_bound *bound, struct pcoll_step *step)
{
    if (step->pid != getpid())
        return relay_step(bound, step);
    pcoll_copy(step->to, step->from, step->bytes);
    return PCOLL_OK;
}

static bool is_refusal(int error)
{
    return error == EPERM || error == EACCES || error == ENOSYS || error == ENOMEM;
}

/* From now on this step uses the relay, and later plans do without user memory of other ranks. */
enum pcoll_result pcoll_node_refused(struct pcoll_node_bound *bound, struct pcoll_step *step,
                                     int error)
{
    if (!is_refusal(error))
        return pcoll_node_fail(bound, step, error);
    step->kind = step->kind == PCOLL_NODE_READ ? PCOLL_NODE_ASK_READ : PCOLL_NODE_ASK_WRITE;
    atomic_store_explicit(&bound->group->meeting->refused, 1, memory_order_relaxed);
    atomic_fetch_or_explicit(&bound->extent->alarm, PCOLL_NODE_ASKING, memory_order_release);
    return pcoll_node_ask(bound, step);
}

/* ---- service ---- */

void pcoll_node_serve(const struct pcoll_node_bound *bound)
{
    const int64_t self = getpid();

    for (int i = 0; i < bound->nrelays; i++) {
        struct pcoll_node_relay *relay = relay_of(bound, i);
        void *here;

        if (atomic_load_explicit(&relay->state, memory_order_acquire) != ASKED ||
            relay->pid != self)
            continue;
        here = (void *)(uintptr_t)relay->address;
        pcoll_copy(relay->writes ? here : relay->data, relay->writes ? relay->data : here,
                   relay->bytes);
        atomic_store_explicit(&relay->state, SERVED, memory_order_release);
    }
}
