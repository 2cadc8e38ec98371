/*
 * A place where the ranks of a test meet: threads or forked processes of one program.
 */
#ifndef PCOLL_TEST_MEETING_H
#define PCOLL_TEST_MEETING_H

#include "offload/medium.h"

#define MEETING_MAX_RANKS 16

/* Called while a rank waits in a meeting, as other ranks may need its progress; NULL: none. */
extern void (*meeting_on_wait)(void);

struct meeting; /* in shared memory */

struct meeting *meeting_create(int nranks);
void meeting_destroy(struct meeting *meeting);

/* What a rank hands to a medium; `attendee` must live as long as that group. */
struct attendee {
    struct meeting *meeting;
    int rank;
    int swaps;      /* number of them so far */
    int reports;    /* number of messages so far; they are printed as TAP comments */
    char said[200]; /* the last message */
};

struct pcoll_bootstrap meeting_bootstrap(struct attendee *attendee);
/* The ranks share memory, if they need little. */
void meeting_share(struct pcoll_bootstrap *bootstrap);
void meeting_barrier(struct meeting *meeting);
/* Collective: all[r] receives what rank r passed as `mine`. */
void meeting_allgather(struct attendee *attendee, const void *mine, void *all, size_t bytes);

/* True if the tests are to run without processes (PCOLL_TEST_RANKS=threads), between which a
 * sanitizer sees nothing. */
int meeting_is_threads_only(void);

/* Run `rank_main` once for each rank, as threads or as processes. Returns the number of ranks that
 * did not return 0. */
int meeting_run_threads(int nranks, int (*rank_main)(struct meeting *, int rank, void *argument),
                        void *argument);
int meeting_run_processes(int nranks, int (*rank_main)(struct meeting *, int rank, void *argument),
                          void *argument);

#endif /* PCOLL_TEST_MEETING_H */
