/*
 * Prove the plans of all ranks correct together, for every order of arrivals.
 *
 * The model. A rank starts instance k + 1 at any time after it has completed instance k. An entry
 * fires at any time after the start and after its trigger has reached its threshold; entries fire
 * in any order. An entry that has fired reads its source, then adds done_add; an instance completes
 * when all its entries have reached this point. The data of a get or copy has landed by then; that
 * of a put lands at any time after the read. The peer's counter is raised at any time after the
 * data has landed. If plan->ordered is set, puts and adds of one rank to one peer on one rail land
 * and signal in the order fired, which is known for entries of one trigger (list order) and for
 * entries of different instances. Nothing else is ordered, and every rank runs ahead as far as the
 * plans let it.
 *
 * The relation. Event X precedes event Y exactly if Y does not happen in a run in which X is held
 * back and everything else takes effect at once: adds are positive and nothing is undone, so any
 * run without X achieves no more than this one. Runs are not cut off after some number of
 * instances, and one cycle stands for all; proof/order.c explains why.
 *
 * On this relation it checks
 *
 *   - form: every signal has a target, every counter's signals in a cycle sum up to its gain, every
 *     place lies inside its buffer, entries are sorted, no entry is outside the phases, and a rank
 *     that is touched knows the rank that touches it (neighbors);
 *   - life: each rank completes as many instances as all have started;
 *   - hazards: of two accesses to a byte, at least one of them a write, one ends before the other
 *     begins, and the one in the earlier instance comes first; user buffers are touched only
 *     between start and completion of their owner; RECV is written once in an instance; input is
 *     never written, except where a collective that reduces is in place: then it is input until it
 *     is written;
 *   - meaning: if the collective synchronizes, start k of all ranks precedes completion k of each.
 *     Otherwise, at completion, every byte of RECV that the collective's row expects has come, by a
 *     chain of moves of the same instance, from the byte of SEND that the row names. In place, SEND
 *     and its part of RECV are the same input. If the row expects a reduction, the byte is that of
 *     a tree of REDUCEs whose leaves, from left to right, are this byte of SEND of all the row's
 *     ranks, each once: in rank order, or in any order if the operator commutes. The tree is the
 *     same in all phases, and on consecutive ranks that expect the same (compared by a hash of 128
 *     bits), so that they and all starts get equal bits even if the operator is not quite
 *     associative. All offsets of such
 *     a tree are equal, so units need not be looked at one by one.
 *
 * It cannot see counters that wrap around (adds, thresholds and gains above 2^40 are refused), nor
 * memory that a medium shares between plans.
 */
#ifndef PCOLL_PLAN_CHECK_H
#define PCOLL_PLAN_CHECK_H

#include "algorithms/plan/plan.h"

/* Check plans[0 .. nranks), nranks >= 1, all generated for one signature. The work grows with the
 * square of the entries of all ranks, not with the bytes: seconds for ten thousand entries. On
 * failure, writes one line that names rank, phase and entry (as numbered in the plan) to `why`,
 * which may be NULL, and returns PCOLL_ERR_INVALID. */
enum pcoll_result pcoll_plan_check(struct pcoll_plan *const *plans, int nranks,
                                   FILE *why) PCOLL_MUST_CHECK;

#endif /* PCOLL_PLAN_CHECK_H */
