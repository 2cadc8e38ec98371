/*
 * The plans of all ranks, generated one after the other and stored compactly.
 *
 * What an entry does is the same for many ranks (their trees, rounds and thresholds are the same),
 * so it is stored once, as a *kind*. A *step*, which is an entry of a rank, is then a kind and a
 * peer, 8 bytes. The counters and phases of a rank are a *shape*, which is stored once, too. In a
 * barrier of a million ranks, each rank takes 168 bytes.
 */
#ifndef PCOLL_SIM_PROGRAM_H
#define PCOLL_SIM_PROGRAM_H

#include "algorithms/algorithm.h"
#include "tuning/sim/intern.h"

struct pcoll_kind {
    uint64_t threshold, done_add;
    uint64_t peer_add; /* of a REDUCE, which signals no peer: the number of its operands */
    uint64_t bytes;
    uint64_t local_at, remote_at; /* offsets; 0 unless places are kept. remote_at of a REDUCE: its
                                   * first operand in the program, if operands are kept */
    int32_t trigger, done, peer_counter;
    uint16_t rail;
    uint8_t op;
    uint8_t buffers; /* local + 16 * remote */
};

struct pcoll_sim_step {
    uint32_t kind;
    int32_t peer;
};

/* Which plans to generate. */
struct pcoll_job {
    const struct pcoll_algorithm *algorithm;
    struct pcoll_signature signature;
    struct pcoll_params params;
    int lowered;
};

struct pcoll_program {
    int nranks;
    struct pcoll_intern kinds, shapes;
    struct pcoll_program_rank {
        uint64_t first_step, first_counter;
        uint32_t shape;
    } * ranks;
    struct pcoll_sim_step *steps;
    uint64_t nsteps, ncounters;     /* of all ranks */
    struct pcoll_operand *operands; /* of all REDUCEs, if they are kept */
    uint64_t noperands;
    struct pcoll_account max; /* maximum of each number over the ranks */
};

/* What is stored about entries. */
enum {
    PCOLL_KEEP_PLACES = 1 << 0,  /* where they read and write */
    PCOLL_KEEP_APART = 1 << 1,   /* each entry is a kind of its own: see pcoll_program_step */
    PCOLL_KEEP_OPERANDS = 1 << 2 /* what REDUCEs read; implied by PCOLL_KEEP_PLACES, and if they may
                                  * read memory of other ranks */
};

/* Generate the first `nphases` phases of all plans. More than `max_steps` steps are refused with
 * PCOLL_ERR_NOMEM. Errors of the generator are passed on. */
enum pcoll_result pcoll_program_create(const struct pcoll_job *job, int nphases, unsigned keep,
                                       uint64_t max_steps,
                                       struct pcoll_program *program) PCOLL_MUST_CHECK;
void pcoll_program_destroy(struct pcoll_program *program);

/* The plan of one rank of the job. */
enum pcoll_result pcoll_job_plan(const struct pcoll_job *job, int rank,
                                 struct pcoll_plan **plan_p) PCOLL_MUST_CHECK;

static inline const struct pcoll_kind *pcoll_kind_at(const struct pcoll_program *program,
                                                     uint32_t kind)
{
    return (const struct pcoll_kind *)pcoll_intern_at(&program->kinds, kind);
}

/* The step with that kind, if PCOLL_KEEP_APART is set. */
static inline uint32_t pcoll_program_step(uint32_t kind)
{
    return kind / (sizeof(struct pcoll_kind) / sizeof(uint64_t) + 1);
}

/* A shape as a row of words: phases, counters, steps of each kept phase, gain of each counter. */
struct pcoll_shape_view {
    int nphases, kept, ncounters;
    const uint64_t *counts, *gains;
};
struct pcoll_shape_view pcoll_program_shape(const struct pcoll_program *program, int rank);

static inline enum pcoll_buffer pcoll_kind_local(const struct pcoll_kind *kind)
{
    return (enum pcoll_buffer)(kind->buffers & 15);
}

static inline enum pcoll_buffer pcoll_kind_remote(const struct pcoll_kind *kind)
{
    return (enum pcoll_buffer)(kind->buffers >> 4);
}

#endif /* PCOLL_SIM_PROGRAM_H */
