/*
 * The end of plans, groups and the process. Unbinding is local, but a neighbor that has not yet
 * unbound the plan may still signal here, or read communication buffers. An unbound plan therefore
 * says farewell to its neighbors, by a write to a word that each of them keeps for it, and lingers
 * until all of them have said farewell, too.
 */
#include <rdma/fi_errno.h>
#include <stdbool.h>

#include "offload/ofi_trigger/state.h"

/* For acknowledgments: when all neighbors have left, or after a failure. */
#define PATIENCE_SECONDS 2

/* Queue as many farewells as the provider accepts. It may refuse one: a neighbor that it cannot
 * reach will not wait for it. */
static void send_farewells(struct trigger_bound *b)
{
    enum trigger_farewell farewell = b->failed ? TRIGGER_FAILED : TRIGGER_LEFT;
    int error = 0;

    if (b->told == 0) {
        atomic_store_explicit(&b->bells[BELL_FAREWELL], farewell, memory_order_relaxed);
        b->counters[b->ncounters].base += (uint64_t)b->nneighbors;
    }
    while (b->told < b->nneighbors && error != -FI_EAGAIN) {
        struct trigger_neighbor *neighbor = &b->neighbors[b->told];

        pcoll_trigger_farewell_work(b, neighbor);
        error = fi_control(&b->endpoint->domain->fid, FI_QUEUE_WORK, &neighbor->work.work);
        b->told += error != -FI_EAGAIN;
        b->failed |= error != 0 && error != -FI_EAGAIN;
    }
}

/* What the neighbors have said: the least of it, except that TRIGGER_FAILED counts only when all
 * have spoken. */
static enum trigger_farewell hear_farewells(const struct trigger_bound *b)
{
    enum trigger_farewell heard = TRIGGER_LEFT;

    for (int i = 0; i < b->nneighbors; i++) {
        uint64_t word = atomic_load_explicit(&b->bells[BELL_FAREWELLS + i], memory_order_acquire);

        if (word == TRIGGER_HERE)
            return TRIGGER_HERE;
        if (word == TRIGGER_FAILED)
            heard = TRIGGER_FAILED;
    }
    return heard;
}

/* Returns whether the counters have gained everything that the started instances signal. Without
 * order a farewell may have overtaken signals. */
static bool has_all_signals(const struct trigger_bound *b)
{
    const uint64_t *total = b->total + (size_t)b->phase * (size_t)b->ncounters;

    for (int c = 0; b->starts > 0 && c < b->ncounters; c++)
        if (!trigger_reached(&b->counters[c], total[c]))
            return false;
    return true;
}

/* Returns whether no neighbor needs the plan any more. */
static bool is_left(struct trigger_bound *b)
{
    enum trigger_farewell heard;

    send_farewells(b);
    if (b->failed || b->told < b->nneighbors)
        return false;
    heard = hear_farewells(b);
    return heard == TRIGGER_FAILED || (heard == TRIGGER_LEFT && has_all_signals(b));
}

/* Returns whether the farewells are acknowledged, so that the provider has finished with this plan.
 * Its thread may still hold a counter: adding 0 waits for it. */
static bool is_done(struct trigger_bound *b)
{
    if (!trigger_reached(&b->counters[b->ncounters], 0))
        return false;
    for (int c = 0; c <= b->ncounters; c++)
        fi_cntr_add(b->counters[c].cntr, 0);
    return true;
}

/* Returns whether every work that was queued has ended, successfully or not. */
static bool is_ended(const struct trigger_bound *b)
{
    const struct trigger_counter *data = &b->counters[b->ncounters];

    return fi_cntr_read(data->cntr) + fi_cntr_readerr(data->cntr) >= data->base;
}

/* A neighbor that has received the farewell may close its endpoint before the acknowledgment is
 * sent, as the last step of its MPI_Finalize: then the acknowledgment never arrives, and no rank
 * needs it. Likewise works of a failed plan may never be triggered, but its farewells should leave.
 */
static bool is_waiting(const struct trigger_bound *b)
{
    if (b->left_at == 0)
        return true;
    if (b->failed && is_ended(b))
        return false;
    return time(NULL) <= b->left_at + PATIENCE_SECONDS;
}

void pcoll_trigger_sweep(void)
{
    struct trigger_bound **link = &pcoll_trigger_process.lingering;

    if (*link)
        pcoll_ofi_poll_all();
    while (*link) {
        struct trigger_bound *b = *link;
        bool left = is_left(b);

        if ((left || b->failed) && b->left_at == 0)
            b->left_at = time(NULL);
        if (!left || !is_done(b)) {
            link = &b->next;
            continue;
        }
        *link = b->next;
        pcoll_trigger_close(b);
    }
}

void pcoll_trigger_unbind(struct pcoll_bound *bound)
{
    struct trigger_bound *b = trigger_bound_of(bound);

    b->plan = NULL;
    b->next = pcoll_trigger_process.lingering;
    pcoll_trigger_process.lingering = b;
    pcoll_trigger_sweep();
}

int pcoll_trigger_lingering(void)
{
    int n = 0;

    pcoll_trigger_sweep();
    for (struct trigger_bound *b = pcoll_trigger_process.lingering; b; b = b->next)
        n += is_waiting(b);
    return n;
}

void pcoll_trigger_poll(void)
{
    (void)pcoll_trigger_lingering();
}

/* Works of the plans that are left may still read their memory, so the endpoints stop first. */
void pcoll_trigger_finalize(void)
{
    struct trigger_bound *next;

    pcoll_trigger_sweep();
    for (struct trigger_bound *b = pcoll_trigger_process.lingering; b; b = b->next)
        pcoll_ofi_stop(b->endpoint);
    for (struct trigger_bound *b = pcoll_trigger_process.lingering; b; b = next) {
        next = b->next;
        pcoll_trigger_close(b);
    }
    pcoll_trigger_process.lingering = NULL;
    pcoll_ofi_close(pcoll_trigger_process.endpoint);
    pcoll_trigger_process.endpoint = NULL;
}
