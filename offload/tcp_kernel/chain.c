/*
 * Chains: how the kernel performs a script.
 *
 * A chain is the kernel's actions up to the next one of the processor, as linked requests: each
 * begins when the one before it has moved all its bytes. It belongs to the thread that submits it
 * and runs in the context of that thread, whatever it does. If that thread ends, or a signal
 * interferes, the kernel cancels the chain; the next call of progress submits what is left.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "offload/tcp_kernel/state.h"
#include "offload/yield.h"

enum { MAX_RETRIES = 100, STOP_SECONDS = 2 };

static const struct tcp_action *action_at(const struct tcp_bound *b, int i)
{
    return &b->script->actions[i];
}

static bool is_chained(const struct tcp_bound *b, int i)
{
    return i < b->script->n && tcp_is_kernels(action_at(b, i));
}

void pcoll_tcp_fail(struct tcp_bound *b)
{
    b->failed = true;
    for (int n = 0; b->links && n < b->nneighbors; n++)
        if (b->links[n].socket >= 0)
            (void)shutdown(b->links[n].socket, SHUT_RDWR);
}

static enum pcoll_result fail(struct tcp_bound *b, const char *doing, const char *error)
{
    pcoll_tcp_report(&b->group->base.bootstrap, "%s: %s", doing, error);
    pcoll_tcp_fail(b);
    return PCOLL_ERR_SYSTEM;
}

/* The action at `position` has failed. */
static enum pcoll_result fail_action(struct tcp_bound *b)
{
    const struct tcp_action *action = action_at(b, b->position);
    const int rank = b->plan->neighbors[action->neighbor];

    pcoll_tcp_report(&b->group->base.bootstrap, "%s rank %d: %s",
                     action->kind == TCP_SEND ? "send to" : "receive from", rank,
                     b->broken == -EPIPE ? "it has left, or its plan has failed"
                                         : strerror(-b->broken));
    pcoll_tcp_fail(b);
    return PCOLL_ERR_SYSTEM;
}

/* ---- the kernel's actions ---- */

static void prepare(struct tcp_bound *b, int i, size_t skipped, bool is_last)
{
    const struct tcp_action *action = action_at(b, i);
    const int socket = b->links[action->neighbor].socket;
    struct io_uring_sqe *sqe = io_uring_get_sqe(&b->ring);

    assert(sqe != NULL); /* the ring has room for a chain, and is empty between chains */
    if (action->kind == TCP_SEND)
        io_uring_prep_send(sqe, socket, action->from + skipped, action->bytes - skipped,
                           MSG_WAITALL | MSG_NOSIGNAL);
    else
        io_uring_prep_recv(sqe, socket, action->to + skipped, action->bytes - skipped, MSG_WAITALL);
    io_uring_sqe_set_data64(sqe, (unsigned)i);
    if (!is_last)
        sqe->flags |= IOSQE_IO_LINK;
}

static enum pcoll_result submit(struct tcp_bound *b)
{
    int n = 0, submitted;

    while (n < b->room && is_chained(b, b->position + n))
        n++;
    for (int i = 0; i < n; i++)
        prepare(b, b->position + i, i == 0 ? b->done : 0, i == n - 1);
    b->skipped = b->done;
    b->broken = 0;
    for (int tries = 0;; tries++) {
        submitted = io_uring_submit(&b->ring);
        if (submitted != -EAGAIN || tries == MAX_RETRIES) /* the kernel lacks memory for a moment */
            break;
        pcoll_yield();
    }
    b->pending = submitted > 0 ? submitted : 0;
    if (submitted == n)
        return PCOLL_PENDING;
    return fail(b, "io_uring_enter", submitted < 0 ? strerror(-submitted) : "a chain was cut");
}

/* What the completion of an action tells. Once one is not complete, the kernel cancels the rest of
 * the chain: `position` stays there. */
static void see(struct tcp_bound *b, int i, int result)
{
    const size_t expected = action_at(b, b->position)->bytes - b->skipped;

    if (i != b->position) {
        b->broken = b->broken != 0 ? b->broken : -ECANCELED;
        return;
    }
    if (result > 0)
        b->retries = 0;
    if (result > 0 && (size_t)result == expected) {
        b->position++;
        b->done = b->skipped = 0;
        return;
    }
    if (result > 0)
        b->done = b->skipped + (size_t)result;
    b->broken = result > 0 ? -EINTR : result == 0 ? -EPIPE : result;
}

static bool is_passing(int error)
{
    return error == -EINTR || error == -ECANCELED || error == -EAGAIN;
}

/* See what is done. PCOLL_OK: the chain has ended, though perhaps not at its end. */
static enum pcoll_result reap(struct tcp_bound *b)
{
    struct io_uring_cqe *cqe;

    while (b->pending > 0 && io_uring_peek_cqe(&b->ring, &cqe) == 0) {
        see(b, (int)io_uring_cqe_get_data64(cqe), cqe->res);
        io_uring_cqe_seen(&b->ring, cqe);
        b->pending--;
    }
    if (b->broken != 0 && !is_passing(b->broken))
        return fail_action(b);
    if (b->pending > 0)
        return PCOLL_PENDING;
    if (b->broken != 0 && b->retries++ == MAX_RETRIES)
        return fail_action(b);
    return PCOLL_OK;
}

/* ---- the processor's actions ---- */

static enum pcoll_result perform(const struct tcp_action *action)
{
    if (action->kind == TCP_COPY) {
        memmove(action->to, action->from, action->bytes);
        return PCOLL_OK;
    }
    return pcoll_reduce(action->reduction);
}

static enum pcoll_result perform_next(struct tcp_bound *b, int i)
{
    const enum pcoll_result result = perform(action_at(b, i));

    if (result != PCOLL_OK)
        pcoll_tcp_fail(b);
    return result;
}

/* The free actions behind a chain that has just been submitted. */
static enum pcoll_result perform_early(struct tcp_bound *b)
{
    enum pcoll_result result = PCOLL_OK;
    int i = b->position;

    while (is_chained(b, i))
        i++;
    while (result == PCOLL_OK && i + b->early < b->script->n &&
           action_at(b, i + b->early)->is_free) {
        result = perform_next(b, i + b->early);
        b->early++;
    }
    return result;
}

/* ---- all of them ---- */

/* The processor's actions up to the next chain. */
static enum pcoll_result perform_all(struct tcp_bound *b)
{
    enum pcoll_result result = PCOLL_OK;

    while (result == PCOLL_OK && b->position < b->script->n && !is_chained(b, b->position)) {
        if (b->early > 0)
            b->early--;
        else
            result = perform_next(b, b->position);
        b->position++;
    }
    return result;
}

enum pcoll_result pcoll_tcp_advance(struct tcp_bound *b)
{
    enum pcoll_result result = reap(b);

    while (result == PCOLL_OK) {
        result = perform_all(b);
        if (result != PCOLL_OK || b->position == b->script->n)
            return result;
        result = submit(b);
        if (result == PCOLL_PENDING)
            result = perform_early(b);
        if (result == PCOLL_OK)
            result = reap(b);
    }
    return result;
}

/* ---- the end ---- */

/* Without its connections a chain ends at once. When all completions have come, the kernel has
 * finished with the plan's memory. */
static void end_chain(struct tcp_bound *b)
{
    struct io_uring_sync_cancel_reg all = {
        .fd = -1,
        .flags = IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY,
        .timeout = {.tv_sec = STOP_SECONDS},
    };
    const uint64_t end = pcoll_now() + STOP_SECONDS * UINT64_C(1000000000);
    struct __kernel_timespec moment = {.tv_nsec = 10000000};
    struct io_uring_cqe *cqe;

    pcoll_tcp_fail(b);
    (void)io_uring_register_sync_cancel(&b->ring, &all);
    while (b->pending > 0 && pcoll_now() < end)
        if (io_uring_wait_cqe_timeout(&b->ring, &cqe, &moment) == 0) {
            io_uring_cqe_seen(&b->ring, cqe);
            b->pending--;
        }
}

void pcoll_tcp_stop(struct tcp_bound *b)
{
    if (!b->has_ring)
        return;
    if (b->pending > 0)
        end_chain(b);
    io_uring_queue_exit(&b->ring);
    b->has_ring = false;
}
