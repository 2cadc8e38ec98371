/*
 * A question to the chooser and its answer.
 */
#ifndef PCOLL_TEST_QUESTION_H
#define PCOLL_TEST_QUESTION_H

#include "tuning/choose.h"

/* Everything that a plan may need of a medium, and everything except access to user buffers. */
#define ALL_NEEDS (PCOLL_NEED_WEIGHTS | PCOLL_NEED_GET | PCOLL_NEED_USER_RMA | PCOLL_NEED_ORDER)
#define NO_RMA (ALL_NEEDS & ~(unsigned)PCOLL_NEED_USER_RMA)

struct question {
    const struct pcoll_table *table;
    struct pcoll_signature signature;
    struct pcoll_caps caps;
    struct pcoll_hint hint;
    enum pcoll_result result;
    struct pcoll_choice choice;
    char message[400]; /* the report, truncated to this size */
};

/* A question about a call on a medium that can do everything: shm, with user buffers from 4096
 * bytes on. */
struct question question_of(const struct pcoll_table *table, enum pcoll_coll coll, int nranks,
                            uint64_t bytes);

/* Fills in the answer; the choice is empty if there is none. */
void question_ask(struct question *question);

/* The name of the algorithm, or "nothing". */
const char *question_chosen(const struct question *question);

/* Asks; true if the answer is that algorithm for that reason. The report must contain `message`, or
 * be empty if that is NULL. Prints any difference. */
int question_gets(struct question *question, const char *algorithm, const char *reason,
                  const char *message);

/* True if every rank can generate the chosen plan within the limits of the medium. */
int question_plans_fit(const struct question *question);

#endif /* PCOLL_TEST_QUESTION_H */
