/*
 * Reductions in slices whose operands are read where they lie, in stages.
 *
 * Idea: N is a product of factors f_1 .. f_s, one for each stage. In stage 1, f_1 consecutive ranks
 * cut their vectors into as many slices, and each reduces one of them, by one REDUCE, from SEND of
 * all of them into TEMP. In stage j, f_j ranks that have the same slice, at a distance of f_1 * ..
 * * f_(j-1) ranks, do the same with this slice where it lies in TEMP. Operands are always sums of
 * consecutive ranks in the order of ranks, so any operator will do, and each byte of the result is
 * reduced by one tree. In the end each rank has 1 / N of the result. Nobody copies an operand.
 *
 * If teams (nodes, or a level below) are consecutive ranks of equal number, the first stages stay
 * within teams, so that few bytes leave them.
 *
 *      N = 4 = 2 * 2, vectors abcd:   0 reads ab of 1, 1 cd of 0, 2 ab of 3, 3 cd of 2 |
 *      0 reads a of 2, 2 b of 0, 1 c of 3, 3 d of 1
 *
 * Source: reduce-scatter (Rabenseifner 2004) by recursive multiplying, on mapped memory as in
 * ext_mpi (Jocksch et al. 2021) and XHC (Katevenis et al. 2022).
 *
 * A rank tells its mates of the first stage that it has started, and those of a later one that it
 * has reduced its slice of the stage before. Stage j has a counter in each bank, on which that
 * outweighs all that the mates tell.
 *
 * Condition: two banks of counters and TEMP. A rank writes into TEMP what mates of stage j read two
 * instances before; it has since completed an instance in which it waited for each of these mates
 * to start, and thus to complete the one before. With a single stage one bank will do, as all ranks
 * have started when the first one writes. What follows the stages says when SEND is free again.
 */
#ifndef PCOLL_SLICED_GET_H
#define PCOLL_SLICED_GET_H

#include "algorithms/shape/segment.h"

#define PCOLL_MAX_STAGES 32

struct pcoll_stages {
    int count, nwithin; /* the first nwithin stages are within teams */
    int factors[PCOLL_MAX_STAGES];
};

/* Each factor of the ranks of a team, then of the teams, is the largest one up to `radix`; if there
 * is none, the next one. */
struct pcoll_stages pcoll_stages_of(const struct pcoll_signature *signature, int radix);

static inline int pcoll_sliced_get_banks(const struct pcoll_stages *stages)
{
    return stages->count > 1 ? 2 : 1;
}

struct pcoll_sliced_get {
    struct pcoll_plan *plan; /* with a phase for each bank */
    struct pcoll_stages stages;
    int bank, ncounters; /* counters of a bank: one for each stage, and those of what follows */
};

/* Of TEMP: in each bank what a rank has after the first stage. */
uint64_t pcoll_sliced_get_temp_bytes(const struct pcoll_signature *signature,
                                     const struct pcoll_params *params);

/* Stages are numbered from 0 here. The number of a rank among its mates of a stage, and the rank of
 * a mate. */
int pcoll_sliced_get_digit(const struct pcoll_sliced_get *s, int rank, int stage);
int pcoll_sliced_get_mate(const struct pcoll_sliced_get *s, int stage, int digit);

/* The bytes of the vector that a rank has after the first `nstages` stages, and where they lie in
 * TEMP. */
struct pcoll_segment pcoll_sliced_get_slice(const struct pcoll_sliced_get *s, int rank,
                                            int nstages);
struct pcoll_place pcoll_sliced_get_at(const struct pcoll_sliced_get *s, int rank, int nstages);

/* The counter of that number in the bank. */
static inline int pcoll_sliced_get_counter(const struct pcoll_sliced_get *s, int number)
{
    return s->bank * s->ncounters + number;
}

/* Tell all mates of the stage but one (PCOLL_NONE: all), on that counter of theirs, once the own
 * counter has that level. */
void pcoll_sliced_get_tell(const struct pcoll_sliced_get *s, int stage, int trigger, uint64_t level,
                           int counter, int but);

/* Add all stages; the last one raises counter `done` of this rank by `weight`. */
void pcoll_sliced_get_reduce(const struct pcoll_sliced_get *s, int done, uint64_t weight);

/* The time of the stages: until the slices are reduced (is_back false), or the same way back, in
 * which each rank gets what it has given away. */
double pcoll_sliced_get_time(const struct pcoll_signature *signature,
                             const struct pcoll_machine *machine, const struct pcoll_stages *stages,
                             bool is_back);

#endif /* PCOLL_SLICED_GET_H */
