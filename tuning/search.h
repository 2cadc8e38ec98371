/*
 * The search for the cheapest candidate, which choose.c directs.
 */
#ifndef PCOLL_SEARCH_H
#define PCOLL_SEARCH_H

#include <stdbool.h>

#include "algorithms/plan/levels.h"
#include "tuning/choose.h"
#include "tuning/table/correction.h"

/* Is the candidate possible: does it give the right result, within the limits of the medium? The
 * first refusal, or 0. This says nothing of its time: the search weighs those of the possible
 * candidates that are sensible, and a time that is negative or infinite is the last refusal. */
unsigned pcoll_refusal_of(const struct pcoll_algorithm *algorithm,
                          const struct pcoll_params *params,
                          const struct pcoll_signature *signature, const struct pcoll_caps *caps);

/* Levels of a signature, with that of the nodes. */
#define PCOLL_MAX_LEVELS (PCOLL_MAX_DIVISIONS + 1)

struct pcoll_search {
    /* The question. */
    const struct pcoll_signature *signature;
    const struct pcoll_caps *caps;
    const struct pcoll_table *table;
    struct pcoll_machine machine;
    struct pcoll_machine cached;  /* for plans that stay in the caches */
    struct pcoll_machine evicted; /* for plans with pieces that are as long as a core's own cache */
    struct pcoll_machine direct;  /* for plans between user buffers */
    struct pcoll_machine between[PCOLL_MAX_LEVELS],
        within[PCOLL_MAX_LEVELS]; /* teams of each level */
    int nlevels;                  /* values of the parameter `teams`, from 1 on */
    struct pcoll_limits limits;   /* of the node */
    struct pcoll_params fixed;    /* a nonzero parameter allows only that value; teams PCOLL_NONE:
                                   * none */
    bool below_threshold;         /* PCOLL_PATH_USER may be used at any size */

    /* The answer so far. */
    struct pcoll_choice best; /* algorithm NULL: none yet */
    int weighed;
    unsigned refusals;         /* enum pcoll_refusal, of all candidates so far */
    struct pcoll_choice *list; /* the cheapest of each algorithm, path and level; NULL: not
                                * requested */
    int listed, max;

    /* What is being weighed. */
    struct pcoll_choice far; /* the cheapest of its algorithm, path and level with far buffers */
    double near_us;          /* the least cost without them */
    struct pcoll_correction about;
    double factor;   /* correction of its algorithm and path */
    int tells_apart; /* corrections of that path name slots or rails, so `factor` is not the same
                      * for all candidates */
};

/* Weigh the sensible candidates of the algorithm that `fixed` permits and that are possible; the
 * cheapest so far, of all algorithms, is `best`. */
void pcoll_search_algorithm(struct pcoll_search *search, const struct pcoll_algorithm *algorithm);

#endif /* PCOLL_SEARCH_H */
