/*
 * The explorer: runs all ranks of a job in one process.
 *
 * It runs the plans of all ranks together with real memory and counters, moves the data, and
 * chooses the order of all events. Each rank runs `instances` instances; as soon as it has
 * completed one it may start the next, up to `ahead` instances before the slowest rank.
 *
 * In every run it checks that
 *
 *   - at completion RECV holds what a naive collective would give (barrier: all ranks have started
 *     this instance);
 *   - blocks that a rank keeps are not written by the plan, which finds data in SEND only where it
 *     reads it (plan/user.h);
 *   - user memory is touched only between start and completion of its owner, and only by entries of
 *     the same instance; it is overwritten at completion;
 *   - every rank completes all instances: no deadlock;
 *   - nothing is left over: no entry is pending, and after whole cycles each counter has gained
 *     exactly its gain per cycle.
 *
 * When events may happen (the weakest contract of any medium):
 *
 *   - an entry fires at any time after its trigger has reached the threshold;
 *   - PUT: the source is read between firing and local completion (`done`); the data arrives at any
 *     time after that, even after `done`, and the signal to the peer's counter after the data;
 *   - GET, COPY, REDUCE: the source is read at any time after firing, the data lands after that,
 *     then `done` and the signal follow, in any order. All operands of a REDUCE are read at once;
 *     an operand that is overwritten too early or too late shows all the same;
 *   - ADD: `done` and the signal follow at any time after firing.
 *
 * With helpers (explore/help.c) PUT, GET and COPY of more than a chunk are copied chunk by chunk,
 * by the rank itself and by helpers, in any order; `done` and the signal follow the last chunk. The
 * kernel may refuse some of the chunks, and helpers may die.
 *
 * With PCOLL_NEED_ORDER the entries on one trigger fire in list order, and the effects of PUT and
 * ADD on one peer on one rail arrive in the order fired. Reads are not ordered: a GET signals after
 * what its rank fired to that peer before the data landed.
 */
#ifndef PCOLL_EXPLORE_H
#define PCOLL_EXPLORE_H

#include "algorithms/plan/user.h"

struct pcoll_explore;

enum pcoll_explore_order {
    PCOLL_EXPLORE_AS_NEEDED, /* in order if a plan has PCOLL_NEED_ORDER */
    PCOLL_EXPLORE_ORDERED,
    PCOLL_EXPLORE_UNORDERED
};

/* The operator of a collective that reduces. */
enum pcoll_explore_algebra {
    PCOLL_EXPLORE_BY_SIGNATURE, /* associative, and commutative only if the signature says so */
    PCOLL_EXPLORE_TREE          /* not even associative: all ranks must get the same in all runs, as
                                 * they do only if they associate the same operands */
};

/* The helpers whose claims a notice admits, beside those of its owner. */
enum pcoll_explore_admitted {
    PCOLL_EXPLORE_ANYBODY, /* all: other ranks of the node, or its agent */
    PCOLL_EXPLORE_PEER     /* one, to which the other end of the copy belongs: helper r is rank r */
};

/* What the protocol of helpers lacks, to test the explorer: notice.c, help.c. */
enum pcoll_explore_flaw {
    PCOLL_EXPLORE_FLAW_NONE,
    PCOLL_EXPLORE_FLAW_NO_EPOCH,       /* a claim does not say of which opening it is */
    PCOLL_EXPLORE_FLAW_OPENED_FIRST,   /* a notice is opened before it has its threshold */
    PCOLL_EXPLORE_FLAW_EARLY_SIGNAL,   /* the peer is signaled after the first chunk */
    PCOLL_EXPLORE_FLAW_EARLY_LANDING,  /* the owner goes on when all chunks are claimed */
    PCOLL_EXPLORE_FLAW_OVERTAKES,      /* in order, entries fire behind one that has not landed */
    PCOLL_EXPLORE_FLAW_CLOSED_FIRST,   /* a notice is closed before its signals are given */
    PCOLL_EXPLORE_FLAW_TRIGGER_FIRST,  /* a helper looks at a notice's trigger before its word */
    PCOLL_EXPLORE_FLAW_COUNTS_REFUSED, /* a chunk that the kernel has refused counts as copied */
    PCOLL_EXPLORE_FLAW_NOT_AWAITED,    /* the owner takes a chunk back that a helper still holds */
    PCOLL_EXPLORE_FLAW_NOT_COMPARED,   /* it takes back whatever is held, although the word has
                                        * changed since it read there who held a chunk */
    PCOLL_EXPLORE_NUM_FLAWS
};

/* The blocks that a rank keeps. Those in SEND that the plan does not read hold no data. */
struct pcoll_explore_kept {
    const struct pcoll_kept *blocks; /* [n] */
    int n;
};

struct pcoll_explore_options {
    int instances;        /* that each rank runs, >= 1 */
    int ahead;            /* instance k starts only when all ranks have completed k - ahead */
    uint64_t first_cycle; /* counters start as they are after that many cycles; may be near 2^64 */
    enum pcoll_explore_order order;
    enum pcoll_explore_algebra algebra;
    int helpers;    /* copy for the ranks; only pcoll_explore_all by PCOLL_EXPLORE_STATES runs them,
                     * the others are PCOLL_ERR_INVALID. 0: entries copy all at once */
    uint64_t chunk; /* of entries with more bytes helpers copy so many at a time, >= 1 */
    enum pcoll_explore_admitted admitted;
    int refusals; /* the kernel may refuse so many copies of chunks, in the middle */
    int deaths;   /* so many helpers may die */
    enum pcoll_explore_flaw flaw;
    const struct pcoll_explore_kept *kept; /* [nranks]: taken out of the plans; NULL: nothing is */
    FILE *trace;                           /* if not NULL: one line per event */
};

/* plans[0 .. nranks) are borrowed until destroy. The caller owns *explore_p. PCOLL_ERR_INVALID,
 * with a message on stderr, if an entry names a counter, rank or memory that does not exist. */
enum pcoll_result pcoll_explore_create(struct pcoll_plan *const *plans, int nranks,
                                       const struct pcoll_explore_options *options,
                                       struct pcoll_explore **explore_p) PCOLL_MUST_CHECK;
void pcoll_explore_destroy(struct pcoll_explore *explore);

/* Run once from the beginning, with each event as early as possible, first come first served.
 * PCOLL_ERR_INVALID: a check failed; pcoll_explore_why says which. */
enum pcoll_result pcoll_explore_run_inorder(struct pcoll_explore *explore) PCOLL_MUST_CHECK;

/* The same in a random order that depends only on `seed`. Seeds also differ in character: which
 * kinds of events and which ranks are held back, and for how long. */
enum pcoll_result pcoll_explore_run_random(struct pcoll_explore *explore,
                                           uint64_t seed) PCOLL_MUST_CHECK;

/* How pcoll_explore_all reduces its work; both ways find a violation if there is one (see
 * explore/explore.c). */
enum pcoll_explore_reduction {
    PCOLL_EXPLORE_STATES, /* all orders of starts, reads and writes; equal states only once */
    PCOLL_EXPLORE_TRACES  /* one of the orders that differ only in independent events */
};

struct pcoll_explore_limits {
    enum pcoll_explore_reduction reduction;
    uint64_t states; /* give up after this many; 0: never */
};

struct pcoll_explore_stats {
    uint64_t states;   /* number of different states seen */
    uint64_t branches; /* of these, those with more than one event to try */
    int depth;         /* length of the longest run, in events tried */
    int complete;      /* the whole space was explored */
};

/* Run in every order. PCOLL_ERR_INVALID: some order fails a check; pcoll_explore_why says which,
 * and the trace shows that order. PCOLL_OK with stats->complete 0: nothing was found within the
 * limit. */
enum pcoll_result pcoll_explore_all(struct pcoll_explore *explore,
                                    const struct pcoll_explore_limits *limits,
                                    struct pcoll_explore_stats *stats) PCOLL_MUST_CHECK;

/* One line about the last check that failed, "" if none has. */
const char *pcoll_explore_why(const struct pcoll_explore *explore);

/* Which check failed, for counting. */
enum pcoll_explore_fault {
    PCOLL_EXPLORE_FAULT_NONE,
    PCOLL_EXPLORE_FAULT_RESULT, /* wrong data, or a barrier that lets a rank through */
    PCOLL_EXPLORE_FAULT_MEMORY, /* user memory touched outside its instance */
    PCOLL_EXPLORE_FAULT_DEADLOCK,
    PCOLL_EXPLORE_FAULT_LEFTOVER /* of the run, or of an instance that is complete */
};
enum pcoll_explore_fault pcoll_explore_fault(const struct pcoll_explore *explore);

#endif /* PCOLL_EXPLORE_H */
