/*
 * The search for the cheapest candidate, which choose.c directs.
 */
#ifndef PCOLL_SEARCH_H
#define PCOLL_SEARCH_H

#include "tuning/choose.h"
#include "tuning/table/correction.h"

/* Why a candidate was refused. */
enum pcoll_refusal {
    PCOLL_REFUSAL_NO_USER_RMA = 1 << 0,
    PCOLL_REFUSAL_TOO_MUCH_TEMP = 1 << 1,
    PCOLL_REFUSAL_NO_COST = 1 << 2,
    PCOLL_REFUSAL_MUST_COMMUTE = 1 << 3
};

struct pcoll_search {
    /* The question. */
    const struct pcoll_signature *signature;
    const struct pcoll_caps *caps;
    const struct pcoll_table *table;
    struct pcoll_machine machine, cached; /* the latter for plans that stay in the caches */
    struct pcoll_params fixed;            /* a nonzero parameter allows only that value */
    int below_threshold;                  /* PCOLL_PATH_USER may be used at any size */

    /* The answer so far. */
    struct pcoll_choice best; /* algorithm NULL: none yet */
    int weighed;
    unsigned refusals;         /* enum pcoll_refusal */
    struct pcoll_choice *list; /* the cheapest of each algorithm and path; NULL: not requested */
    int listed, most;

    /* What is being weighed. */
    struct pcoll_correction about;
    double factor;   /* correction of its algorithm and path */
    int tells_apart; /* corrections of that path name slots or rails, so `factor` is not the same
                      * for all candidates */
};

/* Weigh all candidates of the algorithm that `fixed` and the capabilities permit; the cheapest so
 * far, of all algorithms, is `best`. */
void pcoll_search_algorithm(struct pcoll_search *search, const struct pcoll_algorithm *algorithm);

#endif /* PCOLL_SEARCH_H */
