/*
 * The reductions of a bound plan: its REDUCE entries with addresses, and how they run.
 */
#ifndef PCOLL_REDUCE_H
#define PCOLL_REDUCE_H

#include "offload/reduce/operator.h"

#define PCOLL_REDUCE_TILE ((size_t)8 << 10) /* bytes of a tile, if a unit is not longer */

/* A REDUCE entry with all addresses resolved. */
struct pcoll_reduction {
    const struct pcoll_operator *op;
    unsigned char *to;
    size_t bytes;                   /* of each operand */
    const unsigned char **operands; /* [n] */
    int n;
    unsigned char *scratch; /* NULL: not needed; otherwise a tile */
};

/* All of a plan. */
struct pcoll_reductions {
    struct pcoll_reduction *list;
    const unsigned char **operands;
    unsigned char *scratch;
    int count;
};

/* Room for the reductions of the plan with that operator, which may be NULL if the plan has none
 * (PCOLL_ERR_INVALID otherwise). */
enum pcoll_result pcoll_reductions_init(struct pcoll_reductions *reductions,
                                        const struct pcoll_plan *plan,
                                        const struct pcoll_operator *op) PCOLL_MUST_CHECK;

/* Accepts what a failed init left, and zeros. */
void pcoll_reductions_fini(struct pcoll_reductions *reductions);

/* The address of `bytes` bytes in memory of this rank or another, which is mapped here. */
typedef char *pcoll_address_of(const void *context, int rank, struct pcoll_place place,
                               uint64_t bytes);

/* The reduction of an entry of that plan; each entry is added at most once. */
struct pcoll_reduction *pcoll_reductions_add(struct pcoll_reductions *reductions,
                                             const struct pcoll_plan *plan,
                                             const struct pcoll_entry *entry,
                                             const struct pcoll_operator *op,
                                             pcoll_address_of *address_of, const void *context);

/* Give a reduction, which is the entry's, other user memory: `address_of` returns NULL for memory
 * that stays. */
void pcoll_reductions_move(struct pcoll_reductions *reductions, struct pcoll_reduction *reduction,
                           const struct pcoll_plan *plan, const struct pcoll_entry *entry,
                           pcoll_address_of *address_of, const void *context);

/* Run it. Anything except PCOLL_OK comes from the operator. */
enum pcoll_result pcoll_reduce(const struct pcoll_reduction *reduction) PCOLL_MUST_CHECK;

#endif /* PCOLL_REDUCE_H */
