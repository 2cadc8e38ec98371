/*
 * Declarations shared by the files of lowering, not for use elsewhere: lower.c, lower/split.c (one
 * entry, one deferred work), lower/signals.c (which ranks signal this one), lower/layout.c and
 * lower/stages.c (new counters).
 */
#ifndef PCOLL_LOWER_PRIVATE_H
#define PCOLL_LOWER_PRIVATE_H

#include <stdbool.h>

#include "algorithms/lower/lower.h"

/* The plans of the ranks requested so far. */
struct pcoll_family {
    const struct pcoll_algorithm *algorithm;
    const struct pcoll_params *params;
    struct pcoll_signature signature;
    struct pcoll_plan **plans; /* [nplans]: split, in ascending order of rank */
    int nplans, room;
};

/* The plan of `rank`, owned by the family. */
enum pcoll_result pcoll_family_plan(struct pcoll_family *family, int rank,
                                    const struct pcoll_plan **plan_p) PCOLL_MUST_CHECK;

/* An empty plan like `plan` with that many counters; gains, operands and neighbors are copied,
 * entries are not. */
enum pcoll_result pcoll_lower_like(const struct pcoll_plan *plan, int ncounters,
                                   struct pcoll_plan **like_p) PCOLL_MUST_CHECK;

/* Replace *plan_p by a plan in which every entry is one deferred work. On failure the plan is
 * destroyed and *plan_p is NULL. */
enum pcoll_result pcoll_lower_split(struct pcoll_plan **plan_p) PCOLL_MUST_CHECK;

/* One signal to a counter in one cycle, by a peer's entry or as `done` of an own entry. */
struct pcoll_signal {
    int counter;
    int source, entry; /* index in the split plan of rank `source` */
    bool is_done;
    int phase;
    uint64_t add;
    int to; /* counter in the lowered plan, set by the layout */
    uint64_t to_add;
};

/* All signals to the counters of `rank` in a cycle, sorted by counter, phase, source and entry. The
 * caller frees *signals_p. */
enum pcoll_result pcoll_signals(struct pcoll_family *family, int rank,
                                struct pcoll_signal **signals_p, int *nsignals_p) PCOLL_MUST_CHECK;

/* How the counters of a rank are lowered. */
struct pcoll_layout {
    const struct pcoll_plan *plan; /* the split plan of that rank */
    int nsignals;
    struct pcoll_signal *signals;
    struct pcoll_lowered_counter {
        enum { PCOLL_PLAIN, PCOLL_STAGES, PCOLL_BY_WEIGHT } form;
        int first, count; /* its signals */
        int extra;        /* new counters for it are extra .. extra + nextra - 1 */
        int nextra;
    } * lowered;   /* [plan->ncounters] */
    int ncounters; /* of the lowered plan; the old counters keep their numbers */
};

enum pcoll_result pcoll_layout_create(struct pcoll_family *family, int rank,
                                      struct pcoll_layout *layout) PCOLL_MUST_CHECK;
void pcoll_layout_destroy(struct pcoll_layout *layout);

static inline struct pcoll_signal *pcoll_layout_signals(const struct pcoll_layout *layout,
                                                        int counter)
{
    return layout->signals + layout->lowered[counter].first;
}

/* The entry of this rank's plan that makes a signal. */
static inline const struct pcoll_entry *pcoll_layout_entry(const struct pcoll_layout *layout,
                                                           const struct pcoll_signal *signal)
{
    return &layout->plan->entries[signal->entry];
}

/* Try to sort the signals of a counter into at most `max` stages; sets `to` of each to its stage.
 * Returns the number of stages, or 0 if it is impossible. */
int pcoll_layout_stages(const struct pcoll_layout *layout, int counter, int max);

/* The signal of that entry, which must exist. */
const struct pcoll_signal *pcoll_layout_signal(const struct pcoll_layout *layout, int counter,
                                               int source, int entry, bool is_done);

/* Translate trigger and threshold of an entry into those of the lowered plan. */
void pcoll_layout_trigger(const struct pcoll_layout *layout, struct pcoll_entry *entry);

/* Add the entries of `phase` that the new counters need. */
void pcoll_layout_add(const struct pcoll_layout *layout, int phase, struct pcoll_plan *plan);

#endif /* PCOLL_LOWER_PRIVATE_H */
