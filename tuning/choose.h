/*
 * Which algorithm, with which parameters. In decreasing order of priority: a hint (MPI_Info key,
 * then CVAR), a rule of the tuning table, the cost model.
 */
#ifndef PCOLL_CHOOSE_H
#define PCOLL_CHOOSE_H

#include <stdbool.h>

#include "algorithms/algorithm.h"
#include "algorithms/plan/caches.h"
#include "tuning/table/table.h"

/* What the user asks for on one call. Empty fields leave the choice open. */
struct pcoll_hint {
    const char *algorithm; /* NULL or "auto": open; otherwise a name from the algorithm table */
    int radix;             /* 0: open */
    uint64_t segment;      /* 0: open */
    int teams;             /* the last level there is, if there are fewer; 0: open */

    /* What has set them, for messages: "MPIR_CVAR_BCAST_INIT_ALGORITHM", "info key ..."; NULL:
     * "hint". */
    const char *algorithm_origin, *radix_origin, *segment_origin;
};

/* The capabilities of the medium. They are the same on all ranks. */
struct pcoll_caps {
    const char *medium;      /* its name in the tuning table: "shm" */
    const char *node_medium; /* the medium inside a node, if `medium` connects nodes; NULL:
                              * `medium` */
    enum pcoll_level level;  /* the distance between the ranks; with several nodes, between those of
                              * one node */
    int rails;               /* endpoints of the medium to stripe over; 0 means 1 */
    unsigned provides;       /* enum pcoll_need */
    uint64_t user_rma_threshold; /* PCOLL_PATH_USER is allowed from this many bytes on, and for less
                                  * if requested */
    int max_ring;      /* the most slots of a ring, where counters are scarce; 0: unlimited */
    uint64_t max_temp; /* largest TEMP of one rank in bytes; larger plans are not candidates */
    const struct pcoll_machine *measured; /* what is known of this machine's nodes: members that are
                                           * not 0 replace those of the table; NULL: nothing */
    int cores;                            /* as in struct pcoll_machine */
    int mapped; /* ranks reach each other's user buffers without the kernel, as fast as any cache */
};

/* Fill in what follows from the medium: its traits (offload/medium.h, which tuning/ does not
 * include). */
void pcoll_caps_of_medium(struct pcoll_caps *caps, const char *name, const char *node_medium,
                          int max_slots);

/* ---- parameters that are worth weighing: doc/notes/caches.md and credits.md say how they were
 * found ---- */

/* The number of slots that is a candidate beside the default length of a ring, if TEMP then has at
 * most limits->ring bytes, or PCOLL_NEAR_RING_BYTES on a network. A rank that fills a ring waits
 * for credit once per half ring.
 *
 * - In a node, as many slots as limits->ring holds, between 16 and 64. Where 64 are not far, fewer
 *   do as well and cost less at init: 32, or 16 if 64 take less than PCOLL_NEAR_RING_BYTES, as
 *   short messages should stay in the first-level cache.
 * - With fewer cores than ranks, a rank that waits for credit also waits for the turns of all ranks
 *   on its core: up to 128, but at most 512 over the ranks of a node, as all ranks of a core
 *   generate their entries in turns.
 * - On a network, 64.
 * - Banks of whole messages may be as few as 4: hardly any rank waits for their credit.
 *
 * `cores` is that of struct pcoll_caps, `limits` those of the node. */
#define PCOLL_NEAR_RING_BYTES (UINT64_C(256) << 10)
int pcoll_long_ring(const struct pcoll_algorithm *algorithm,
                    const struct pcoll_signature *signature, const struct pcoll_params *params,
                    int cores, const struct pcoll_limits *limits);

/* The shortest segment that is a candidate: in the ring of a node with a core for each rank
 * limits->segment; half of it with more than two ranks, which pass segments on; twice as much
 * from PCOLL_LONG_MESSAGE on and four times from four times that on, since init takes time for each
 * segment. Otherwise, and where TEMP is too short for the shortest ring of limits->segment, 4 KiB.
 */
#define PCOLL_LONG_MESSAGE (UINT64_C(1) << 20)
uint64_t pcoll_min_segment(const struct pcoll_algorithm *algorithm,
                           const struct pcoll_signature *signature, const struct pcoll_caps *caps,
                           const struct pcoll_limits *limits);

/* Why a candidate is impossible. */
enum pcoll_refusal {
    PCOLL_REFUSAL_NO_USER_RMA = 1 << 0,
    PCOLL_REFUSAL_TOO_MUCH_TEMP = 1 << 1,
    PCOLL_REFUSAL_NO_COST = 1 << 2, /* the row does not suit the call */
    PCOLL_REFUSAL_MUST_COMMUTE = 1 << 3,
    PCOLL_REFUSAL_LONG_RING = 1 << 4,
    PCOLL_REFUSAL_NOT_MAPPED = 1 << 5
};

struct pcoll_choice {
    const struct pcoll_algorithm *algorithm;
    struct pcoll_params params;
    double predicted_us;
    const char *reason; /* "hint", "rule" or "model", static */
    int weighed;        /* number of costs computed; limited, however many ranks there are */
};

/* Size of the buffer that pcoll_choice_text fills. */
#define PCOLL_CHOICE_BYTES 160

/* Choose for one call. The result is a pure function of the arguments, so all ranks agree. `hint`
 * and `report` may be NULL: no hint, no messages.
 *
 * A candidate is a row of the algorithm table with its free parameters set. It does not suit the
 * call if its cost is negative or not finite; a cost function returns such a value where `generate`
 * would return PCOLL_UNSUPPORTED. Equal costs go to the earlier row.
 *
 * If a hint names something unknown or unsuitable, a message with the allowed names goes to
 * `report` and the choice is made as if the hint were open. A rule that cannot run is skipped.
 * PCOLL_UNSUPPORTED if no candidate is left, or (with a message) if the table lacks the medium. */
enum pcoll_result pcoll_choose(const struct pcoll_table *table,
                               const struct pcoll_signature *signature,
                               const struct pcoll_caps *caps, const struct pcoll_hint *hint,
                               FILE *report, struct pcoll_choice *choice_p) PCOLL_MUST_CHECK;

/* The same for a race, at most `max` candidates of which run before one is chosen: few[0] is the
 * choice, which reports as above, and if the model made it, those whose predicted times are within
 * PCOLL_RACE_WITHIN times its own follow, of each algorithm, path and level the cheapest. The model
 * may be wrong by a factor of three or four where cores change their distance or share caches. */
#define PCOLL_RACE_WITHIN 4
enum pcoll_result pcoll_choose_few(const struct pcoll_table *table,
                                   const struct pcoll_signature *signature,
                                   const struct pcoll_caps *caps, const struct pcoll_hint *hint,
                                   FILE *report, struct pcoll_choice *few, int max,
                                   int *n_p) PCOLL_MUST_CHECK;

/* The refusals of all candidates of a call for which pcoll_choose leaves none, or 0: there is one,
 * or the table lacks the medium. */
unsigned pcoll_choose_refusals(const struct pcoll_table *table,
                               const struct pcoll_signature *signature,
                               const struct pcoll_caps *caps, const struct pcoll_hint *hint);

/* The rule by which calls like this one, on communicators like this one, get that choice. */
struct pcoll_rule pcoll_rule_of(const struct pcoll_signature *signature,
                                const struct pcoll_caps *caps, const struct pcoll_choice *choice);

/* The candidates of the model for one call, without hints and rules: for each algorithm, path and
 * level the one with the cheapest parameters. Fills list[0 .. return), at most `max`, cheapest
 * first. Returns 0 if the table lacks the medium. */
int pcoll_candidates(const struct pcoll_table *table, const struct pcoll_signature *signature,
                     const struct pcoll_caps *caps, struct pcoll_choice *list, int max);

/* More than any collective can have. */
#define PCOLL_MAX_CANDIDATES 48

/* Writes algorithm, path and parameters for people to read: "knomial_put, user buffers, radix
 * 4". */
void pcoll_choice_text(const struct pcoll_choice *choice, char text[PCOLL_CHOICE_BYTES]);

/* Returns whether the two are equal except for the predicted time. */
bool pcoll_choice_same(const struct pcoll_choice *a, const struct pcoll_choice *b);

#endif /* PCOLL_CHOOSE_H */
