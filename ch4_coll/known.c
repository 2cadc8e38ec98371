/* What rank 0 has proposed for the last calls on a communicator: programs make many plans of one
 * shape, and weighing all candidates takes up to 2 us, for which the other ranks wait. */

#include "known.h"

enum { MAX_KNOWN = 4, NONE = -1 };

/* So many inits in a row are spared a plan that could not be bound. The next one tries it again, as
 * the program may have moved its data. */
enum { SPARED = 15 };

/* Everything on which a choice depends, besides the tuning table; bytes between members are 0. */
struct question {
    struct pcoll_signature signature;
    struct pcoll_caps caps;
    int radix;
    uint64_t segment;
    bool races;
};

struct MPIDI_PCOLL_known {
    struct {
        struct question question;
        struct pcoll_choice choice;
        int spared; /* so many inits do not get the choice */
    } answers[MAX_KNOWN];
    int next; /* the oldest one */
    int last; /* that of the last proposal, or NONE */
};

/* Returns false if names or pointers decide, which may mean something else at the next call. */
static bool is_plain(const struct pcoll_signature *signature, const struct pcoll_hint *hint)
{
    return !signature->blocks && (!hint->algorithm || strcmp(hint->algorithm, "auto") == 0);
}

static void ask(const struct pcoll_signature *signature, const struct pcoll_caps *caps,
                const struct pcoll_hint *hint, bool races, struct question *question)
{
    memset(question, 0, sizeof(*question));
    question->signature = *signature;
    question->caps = *caps;
    question->radix = hint->radix;
    question->segment = hint->segment;
    question->races = races;
}

bool MPIDI_PCOLL_recall(struct MPIDI_PCOLL_known *known, const struct pcoll_signature *signature,
                        const struct pcoll_caps *caps, const struct pcoll_hint *hint, bool races,
                        struct pcoll_choice *choice)
{
    struct question question;

    if (!known)
        return false;
    known->last = NONE;
    if (!is_plain(signature, hint))
        return false;
    ask(signature, caps, hint, races, &question);
    for (int i = 0; i < MAX_KNOWN; i++)
        if (known->answers[i].choice.algorithm &&
            memcmp(&known->answers[i].question, &question, sizeof(question)) == 0) {
            *choice = known->answers[i].choice;
            known->last = i;
            return true;
        }
    return false;
}

bool MPIDI_PCOLL_remember(struct MPIDI_PCOLL_known **known_p,
                          const struct pcoll_signature *signature, const struct pcoll_caps *caps,
                          const struct pcoll_hint *hint, bool races,
                          const struct pcoll_choice *choice)
{
    struct MPIDI_PCOLL_known *known = *known_p;

    if (!is_plain(signature, hint))
        return false;
    if (!known)
        known = *known_p = MPL_calloc(1, sizeof(*known), MPL_MEM_COLL);
    if (!known)
        return false;
    ask(signature, caps, hint, races, &known->answers[known->next].question);
    known->answers[known->next].choice = *choice;
    known->answers[known->next].spared = 0;
    known->last = known->next;
    known->next = (known->next + 1) % MAX_KNOWN;
    return true;
}

void MPIDI_PCOLL_correct(struct MPIDI_PCOLL_known *known, const struct pcoll_choice *choice)
{
    known->answers[(known->next + MAX_KNOWN - 1) % MAX_KNOWN].choice = *choice;
}

void MPIDI_PCOLL_bound_in_vain(struct MPIDI_PCOLL_known *known)
{
    if (known && known->last != NONE)
        known->answers[known->last].spared = SPARED;
}

bool MPIDI_PCOLL_is_spared(struct MPIDI_PCOLL_known *known)
{
    int *spared;

    if (!known || known->last == NONE)
        return false;
    spared = &known->answers[known->last].spared;
    if (*spared == 0)
        return false;
    --*spared;
    return true;
}
