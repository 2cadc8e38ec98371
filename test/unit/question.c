/* Questions to the chooser; the contract is in question.h. */
#include "test/unit/question.h"

#include <stdlib.h>
#include <string.h>

struct question question_of(const struct pcoll_table *table, enum pcoll_coll coll, int nranks,
                            uint64_t bytes)
{
    const int moves_nothing = pcoll_coll_has(coll, PCOLL_SYNCHRONIZES);

    return (struct question){
        .table = table,
        .signature = {.coll = coll,
                      .nranks = nranks,
                      .bytes = moves_nothing ? 0 : bytes,
                      .commutes = pcoll_coll_has(coll, PCOLL_REDUCES)},
        .caps = {.medium = "shm",
                 .provides = ALL_NEEDS,
                 .user_rma_threshold = 4096,
                 .max_temp = 64 << 20},
    };
}

void question_ask(struct question *q)
{
    char *message;
    size_t size;
    FILE *report = open_memstream(&message, &size);

    memset(&q->choice, 0, sizeof(q->choice));
    q->result = pcoll_choose(q->table, &q->signature, &q->caps, &q->hint, report, &q->choice);
    fclose(report);
    snprintf(q->message, sizeof(q->message), "%s", message);
    free(message);
}

const char *question_chosen(const struct question *q)
{
    return q->choice.algorithm ? q->choice.algorithm->name : "nothing";
}

int question_gets(struct question *q, const char *algorithm, const char *reason,
                  const char *message)
{
    int good;

    question_ask(q);
    good = q->result == PCOLL_OK && strcmp(question_chosen(q), algorithm) == 0 &&
           strcmp(q->choice.reason, reason) == 0 &&
           (message ? strstr(q->message, message) != NULL : q->message[0] == '\0');
    if (!good)
        printf("# got %s by %s, not %s by %s: %s\n", question_chosen(q),
               q->choice.reason ? q->choice.reason : "nothing", algorithm, reason, q->message);
    return good;
}

int question_plans_fit(const struct question *q)
{
    int fit = 1;

    for (int rank = 0; rank < q->signature.nranks && fit; rank++) {
        struct pcoll_plan *plan = NULL;

        fit = pcoll_generate(q->choice.algorithm, &q->signature, NULL, rank, &q->choice.params,
                             &plan) == PCOLL_OK &&
              (plan->needs & ~q->caps.provides) == 0 && plan->temp_bytes <= q->caps.max_temp;
        pcoll_plan_destroy(plan);
    }
    return fit;
}
