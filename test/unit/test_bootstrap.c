/* Combining and agreeing, with the bootstrap's own combine and by swaps. */
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

#include <string.h>

enum { NWORDS = PCOLL_COMBINE_WORDS };

/* Each rank has words of its own, so that none may be missed. */
static uint64_t word_of(int rank, int i)
{
    return (uint64_t)((rank * 7 + i * 5) % MEETING_MAX_RANKS) << (i * 3 % 60);
}

static int combine_right(const struct pcoll_bootstrap *bootstrap, const struct pcoll_circle *circle)
{
    uint64_t words[NWORDS];

    for (int n = 1; n <= NWORDS; n += 5) {
        for (int i = 0; i < n; i++)
            words[i] = word_of(circle->mine, i);
        if (pcoll_combine_by_swap(bootstrap, circle, words, n) != PCOLL_OK)
            return 0;
        for (int i = 0; i < n; i++) {
            uint64_t greatest = 0;

            for (int r = 0; r < circle->nranks; r++)
                greatest = word_of(r, i) > greatest ? word_of(r, i) : greatest;
            if (words[i] != greatest)
                return 0;
        }
    }
    return 1;
}

static int every_other(const void *list, int i)
{
    return *(const int *)list + 2 * i;
}

/* The odd and the even ranks combine among themselves at the same time; then all ranks do. */
static int circles(struct meeting *meeting, int rank, void *unused)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const int n = bootstrap.nranks, first = rank % 2;
    const struct pcoll_circle half = {rank / 2, (n - first + 1) / 2, &first, every_other};
    const struct pcoll_circle all = {.mine = rank, .nranks = n};

    (void)unused;
    return !(combine_right(&bootstrap, &half) && combine_right(&bootstrap, &all));
}

/* Only rank `*bad` has an error; the last rank has the greatest value. */
static int agreement(struct meeting *meeting, int rank, void *bad)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const int n = bootstrap.nranks;
    const enum pcoll_result mine = rank == *(int *)bad ? PCOLL_ERR_NOMEM : PCOLL_OK;
    uint64_t values[] = {(uint64_t)rank, ~(uint64_t)rank};
    const char said[] = "what rank 0 says to all";
    char text[sizeof(said)] = "";

    if (rank == 0)
        memcpy(text, said, sizeof(said));
    if (pcoll_agree(&bootstrap, mine, values, 2) != (*(int *)bad < n ? PCOLL_ERR_NOMEM : PCOLL_OK))
        return 1;
    if (pcoll_tell(&bootstrap, text, sizeof(text)) != PCOLL_OK)
        return 1;
    return values[0] != (uint64_t)n - 1 || ~values[1] != 0 || memcmp(text, said, sizeof(said)) != 0;
}

int main(void)
{
    int wrong = 0;

    for (int n = 1; n <= MEETING_MAX_RANKS; n++)
        wrong += meeting_run_threads(n, circles, NULL);
    tap_ok(wrong == 0, "maxima by swaps, 1 to %d ranks", MEETING_MAX_RANKS);
    wrong = 0;
    for (int n = 1; n <= 5; n++)
        for (int bad = 0; bad <= n; bad++)
            wrong += meeting_run_threads(n, agreement, &bad);
    tap_ok(wrong == 0, "the worst result, the greatest values, and the values of rank 0");
    return tap_done();
}
