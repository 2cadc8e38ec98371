/*
 * Which algorithm, with which parameters.  In order of strength: a hint (MPI_Info key, then CVAR),
 * a rule of the tuning table, the cost model.
 */
#ifndef PCOLL_CHOOSE_H
#define PCOLL_CHOOSE_H

#include "algorithms/algorithm.h"
#include "tuning/table/table.h"

/* What the user asks for on one call.  Empty fields leave the choice open. */
struct pcoll_hint {
    const char *algorithm; /* NULL or "auto": open; a name of the table for that collective */
    const char *origin;    /* for messages: "MPIR_CVAR_BCAST_INIT_ALGORITHM", "info key ..." */
    int radix;             /* 0: open */
    uint64_t segment;      /* 0: open */
};

/* What the medium can do.  The same on all ranks. */
struct pcoll_caps {
    const char *medium;      /* of the table: "shm" */
    const char *node_medium; /* inside a node, where medium is that between nodes; NULL: medium */
    enum pcoll_level level;  /* how far its ranks are from each other; between nodes those of
                              * one node */
    int rails;               /* endpoints of the medium to stripe over; 0: 1 */
    unsigned provides;       /* enum pcoll_need */
    uint64_t user_rma_threshold; /* PCOLL_PATH_USER only from this many bytes on (unless
                                  * requested) */
    int max_ring;      /* no long rings beyond so many slots: counters are scarce; 0: any */
    uint64_t max_temp; /* largest TEMP of one rank; larger plans are not candidates */
    int cores;         /* as in struct pcoll_machine */
};

/* Fill in what follows from the medium: its traits (offload/medium.h, which is not seen here). */
void pcoll_caps_of_medium(struct pcoll_caps *caps, const char *name, const char *node_medium,
                          int max_slots);

/* Beside the default length of a ring of communication buffers, this many slots are a candidate:
 * who fills the ring waits for credit once for half a ring, and with fewer cores than ranks for its
 * turn as well.  A long ring must not push everything else out of the cache. */
#define PCOLL_LONG_RING 64
#define PCOLL_LONG_RING_CROWDED 256
#define PCOLL_LONG_RING_BYTES (UINT64_C(1) << 18)

struct pcoll_choice {
    const struct pcoll_algorithm *algorithm;
    struct pcoll_params params;
    double predicted_us;
    const char *reason; /* "hint", "rule", "model", static */
    int weighed;        /* costs computed to find it: no more for more ranks */
};

/* What pcoll_choice_text writes at most. */
#define PCOLL_CHOICE_BYTES 160

/* Choose for one call; a pure function of its arguments, so that all ranks agree.  `hint` and
 * `report` may be NULL: no hint, no messages.
 *
 * A candidate is a row of the algorithm table with its free parameters set.  One whose cost is
 * negative or not finite does not suit: so a cost function says that `generate` would answer
 * PCOLL_UNSUPPORTED.  Equal costs go to the earlier row.
 *
 * A hint that does not exist or does not suit gives a message to `report` (with the names that
 * would), and the choice is made as if it were open.  A rule that cannot run here is passed over.
 * PCOLL_UNSUPPORTED when no candidate is left, or the table lacks the medium (message). */
enum pcoll_result pcoll_choose(const struct pcoll_table *table,
                               const struct pcoll_signature *signature,
                               const struct pcoll_caps *caps, const struct pcoll_hint *hint,
                               FILE *report, struct pcoll_choice *choice_p) PCOLL_MUST_CHECK;

/* The candidates of the model for one call, as if nothing were requested and there were no rules:
 * of each algorithm and path the one with the cheapest parameters.  Fills list[0 .. return), at
 * most `most`, cheapest first.  0 when the table lacks the medium. */
int pcoll_candidates(const struct pcoll_table *table, const struct pcoll_signature *signature,
                     const struct pcoll_caps *caps, struct pcoll_choice *list, int most);

/* More than there can be of one collective. */
#define PCOLL_MAX_CANDIDATES 32

/* "knomial_put, user buffers, radix 4": algorithm, path and parameters, for people. */
void pcoll_choice_text(const struct pcoll_choice *choice, char text[PCOLL_CHOICE_BYTES]);

/* Are they the same except for the predicted time? */
int pcoll_choice_same(const struct pcoll_choice *a, const struct pcoll_choice *b);

#endif /* PCOLL_CHOOSE_H */
