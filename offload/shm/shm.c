/* Running bound plans in shared memory; every MPI_Start and MPI_Wait goes through here. */
#include "offload/shm/shm.h"

#include <stdio.h>
#include <string.h>

#include "offload/shm/board.h"
#include "offload/shm/coop.h"
#include "offload/shm/fire.h"

/* Other ranks may wait for this rank forever: tell them once, through the block. */
enum pcoll_result pcoll_shm_give_up(struct pcoll_shm_bound *bound, const char *why)
{
    bound->group->report(bound->group->context, why);
    atomic_fetch_or_explicit(&bound->block->alarm, PCOLL_SHM_FAILED, memory_order_release);
    return PCOLL_ERR_SYSTEM;
}

enum pcoll_result pcoll_shm_fail(struct pcoll_shm_bound *bound, const struct pcoll_step *step,
                                 int error)
{
    char text[200];

    snprintf(text, sizeof(text), "shared memory: %s of %zu bytes %s process %ld: %s",
             step->kind == PCOLL_SHM_READ ? "process_vm_readv" : "process_vm_writev", step->bytes,
             step->kind == PCOLL_SHM_READ ? "from" : "to", (long)step->pid, strerror(error));
    return pcoll_shm_give_up(bound, text);
}

/* Handles steps whose memory is not mapped here. */
static enum pcoll_result reach(struct pcoll_run *run, struct pcoll_step *step)
{
    int error;

    if (step->kind == PCOLL_SHM_READ)
        error = pcoll_cma_read(step->pid, step->to, step->from, step->bytes);
    else if (step->kind == PCOLL_SHM_WRITE)
        error = pcoll_cma_write(step->pid, step->to, step->from, step->bytes);
    else if (step->kind == PCOLL_SHM_COOP)
        return pcoll_shm_coop(pcoll_shm_bound_of_run(run), step);
    else if (step->kind == PCOLL_SHM_POSTED)
        return pcoll_shm_board_fire(pcoll_shm_bound_of_run(run), step);
    else
        return pcoll_shm_ask(pcoll_shm_bound_of_run(run), step);
    if (__builtin_expect(error != 0, 0))
        return pcoll_shm_refused(pcoll_shm_bound_of_run(run), step, error);
    return PCOLL_OK;
}

/* Not inline: steps that only signal or copy should not pay for it. */
enum pcoll_result pcoll_shm_perform(struct pcoll_run *run, struct pcoll_step *step)
{
    if (step->kind == PCOLL_STEP_REDUCE)
        return pcoll_reduce(step->reduction);
    if (step->kind >= PCOLL_SHM_PACK)
        return pcoll_shm_repack(pcoll_shm_bound_of_run(run), step);
    return reach(run, step);
}

/* A step has failed: unless that has been reported, it was one of those that use the user's
 * functions. */
__attribute__((noinline)) enum pcoll_result pcoll_shm_stop(struct pcoll_shm_bound *bound)
{
    if (atomic_load_explicit(&bound->block->alarm, memory_order_relaxed) & PCOLL_SHM_FAILED)
        return PCOLL_ERR_SYSTEM;
    return pcoll_shm_give_up(bound,
                             "shared memory: user data cannot be packed, unpacked or reduced");
}

/* Not complete: pending, or failed. */
static enum pcoll_result go_on(struct pcoll_shm_bound *bound, enum pcoll_result result)
{
    return result == PCOLL_PENDING ? pcoll_shm_attend(bound) : pcoll_shm_stop(bound);
}

static enum pcoll_result shm_start(struct pcoll_bound *base)
{
    struct pcoll_shm_bound *bound = pcoll_shm_bound_of(base);
    enum pcoll_result result;

    bound->starting = 1;
    result = pcoll_run_start(&bound->run, pcoll_shm_fire);
    bound->starting = 0;
    if (result == PCOLL_PENDING && bound->ncoops > 0)
        pcoll_shm_coop_ahead(bound);
    return __builtin_expect(result > PCOLL_PENDING, 0) ? pcoll_shm_stop(bound) : result;
}

static enum pcoll_result shm_progress(struct pcoll_bound *base)
{
    struct pcoll_shm_bound *bound = pcoll_shm_bound_of(base);
    enum pcoll_result result = pcoll_run_progress(&bound->run, pcoll_shm_fire);

    return result == PCOLL_OK ? result : go_on(bound, result);
}

static enum pcoll_result shm_spin(struct pcoll_bound *base, unsigned spins)
{
    struct pcoll_shm_bound *bound = pcoll_shm_bound_of(base);
    enum pcoll_result result = pcoll_run_progress(&bound->run, pcoll_shm_fire);

    while (result == PCOLL_PENDING && spins-- > 0) {
        pcoll_relax();
        result = pcoll_run_progress(&bound->run, pcoll_shm_fire);
    }
    return result == PCOLL_OK ? result : go_on(bound, result);
}

/* No counter tells a rank that its request for a copy has been served, or that a cooperative copy
 * has landed. */
void pcoll_shm_rest(struct pcoll_bound *base, unsigned usec)
{
    const struct pcoll_shm_bound *bound = pcoll_shm_bound_of(base);

    const int is_copying = bound->cooperating != NULL && !bound->is_ahead;

    pcoll_run_rest(&bound->run, bound->asking || is_copying ? 0 : usec);
}

uint64_t pcoll_shm_position(const struct pcoll_bound *base)
{
    const struct pcoll_shm_bound *bound = pcoll_shm_bound_of(base);

    return pcoll_run_position(&bound->run) + bound->relayed + bound->opening + bound->helped;
}

int pcoll_shm_suits(int one_node, const char *provider)
{
    (void)provider;
    return one_node;
}

const struct pcoll_medium pcoll_medium_shm = {
    .name = "shm",
    PCOLL_SHM_MEDIUM,
    .start = shm_start,
    .progress = shm_progress,
    .spin = shm_spin,
};
