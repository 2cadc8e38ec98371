/* Combining and agreeing, with the bootstrap's own combine and by swaps. */
#include "offload/agree.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

#include <stdlib.h>
#include <string.h>

enum { NWORDS = PCOLL_COMBINE_WORDS };

/* Each rank has words of its own, so that none may be missed. */
static uint64_t word_of(int rank, int i)
{
    return (uint64_t)((rank * 7 + i * 5) % MEETING_MAX_RANKS) << (i * 3 % 60);
}

static int combine_right(const struct pcoll_circle *circle)
{
    uint64_t words[NWORDS];

    for (int n = 1; n <= NWORDS; n += 5) {
        for (int i = 0; i < n; i++)
            words[i] = word_of(circle->mine, i);
        if (pcoll_combine_by_swap(circle, words, n) != PCOLL_OK)
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

static int from_last(const void *nranks, int i)
{
    return *(const int *)nranks - 1 - i;
}

/* The odd and the even ranks combine among themselves at the same time, then the lower and the
 * upper ranks; then all ranks do, in descending and in ascending order. */
static int circles(struct meeting *meeting, int rank, void *unused)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const int n = bootstrap.nranks, first = rank % 2, middle = n / 2;
    const struct pcoll_circle half = {.outer = &bootstrap,
                                      .mine = rank / 2,
                                      .nranks = (n - first + 1) / 2,
                                      .list = &first,
                                      .rank_of = every_other};
    const struct pcoll_circle lower = {.outer = &bootstrap, .mine = rank, .nranks = middle};
    const struct pcoll_circle upper = {
        .outer = &bootstrap, .mine = rank - middle, .nranks = n - middle, .first = middle};
    const struct pcoll_circle down = {
        .outer = &bootstrap, .mine = n - 1 - rank, .nranks = n, .list = &n, .rank_of = from_last};
    const struct pcoll_circle all = {.outer = &bootstrap, .mine = rank, .nranks = n};

    (void)unused;
    return !(combine_right(&half) && combine_right(rank < middle ? &lower : &upper) &&
             combine_right(&down) && combine_right(&all));
}

/* Byte i of the block of a rank. */
static char byte_of(int rank, size_t i)
{
    return (char)((size_t)rank * 37 + i * 5 + i / 251);
}

static int gather_right(const struct pcoll_bootstrap *bootstrap, size_t bytes)
{
    const size_t n = (size_t)bootstrap->nranks, rank = (size_t)bootstrap->rank;
    char *all = malloc(n * bytes), *room = malloc(pcoll_gather_room(bootstrap->nranks, bytes) + 1);
    int right;

    memset(all, 0xee, n * bytes);
    for (size_t i = 0; i < bytes; i++)
        all[rank * bytes + i] = byte_of(bootstrap->rank, i);
    right = pcoll_gather_by_swap(bootstrap, all, bytes, room) == PCOLL_OK;
    for (size_t i = 0; i < n * bytes; i++)
        right &= all[i] == byte_of((int)(i / bytes), i % bytes);
    free(all);
    free(room);
    return right;
}

/* Up to 9 ranks take one swap, and more two. */
static int gather(struct meeting *meeting, int rank, void *unused)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const int n = bootstrap.nranks;

    (void)unused;
    return !gather_right(&bootstrap, 1) || !gather_right(&bootstrap, 3000) ||
           !gather_right(&bootstrap, 20001) ||
           attendee.swaps != 3 * (n == 1   ? 0
                                  : n <= 9 ? 1
                                           : 2);
}

/* Only rank `*bad` has an error. */
static int agreement(struct meeting *meeting, int rank, void *bad)
{
    enum { MAX, MIN, SAME, DIFFERENT, RANK_0, NTERMS };
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const int n = bootstrap.nranks;
    const enum pcoll_result worst = *(int *)bad < n ? PCOLL_ERR_NOMEM : PCOLL_OK;
    const enum pcoll_result mine = rank == *(int *)bad ? PCOLL_ERR_NOMEM : PCOLL_OK;
    const uint64_t number = 5 + (uint64_t)rank;
    struct pcoll_term terms[] = {
        [MAX] = {.kind = PCOLL_TERM_MAX, .value = number},
        [MIN] = {.kind = PCOLL_TERM_MIN, .value = number},
        [SAME] = {.kind = PCOLL_TERM_SAME, .value = 7},
        [DIFFERENT] = {.kind = PCOLL_TERM_SAME, .value = number},
        [RANK_0] = {.kind = PCOLL_TERM_RANK_0, .value = number},
    };
    const char said[] = "what rank 0 says to all";
    char text[sizeof(said)] = "";

    if (rank == 0)
        memcpy(text, said, sizeof(said));
    if (pcoll_agree(&bootstrap, PCOLL_ROUND_CALL, mine, terms, NTERMS) != worst)
        return 1;
    if (pcoll_tell(&bootstrap, PCOLL_ROUND_GRANT, mine, bootstrap.rank == 0, text, sizeof(text)) !=
        worst)
        return 1;
    return terms[MAX].value != 4 + (uint64_t)n || terms[MIN].value != 5 || terms[SAME].differs ||
           terms[SAME].value != 7 || terms[DIFFERENT].differs != (n > 1) ||
           terms[RANK_0].value != 5 || memcmp(text, said, sizeof(said)) != 0;
}

int main(void)
{
    int wrong = 0;

    for (int n = 1; n <= MEETING_MAX_RANKS; n++)
        wrong += meeting_run_threads(n, circles, NULL);
    tap_ok(wrong == 0, "maxima by swaps, 1 to %d ranks", MEETING_MAX_RANKS);
    wrong = 0;
    for (int n = 1; n <= MEETING_MAX_RANKS; n++)
        wrong += meeting_run_threads(n, gather, NULL);
    tap_ok(wrong == 0, "blocks of all ranks by swaps, 1 to %d ranks", MEETING_MAX_RANKS);
    wrong = 0;
    for (int n = 1; n <= 5; n++)
        for (int bad = 0; bad <= n; bad++)
            wrong += meeting_run_threads(n, agreement, &bad);
    tap_ok(wrong == 0, "the worst result, maxima, minima, what is the same, and what rank 0 says");
    return tap_done();
}
