/* Ranks as threads or processes; the contract is in meeting.h. */
#include "test/unit/meeting.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/agree.h"

#define SLOT_BYTES 256
#define MAIL_BYTES 8192
#define SHARED_BYTES (64 << 10)

struct mail {
    _Atomic int full;
    char text[MAIL_BYTES];
};

struct meeting {
    int nranks;
    _Atomic int arrived, generation;
    char slots[MEETING_MAX_RANKS][SLOT_BYTES];
    struct mail mail[MEETING_MAX_RANKS][MEETING_MAX_RANKS]; /* [to][from] */
    _Alignas(PCOLL_CACHE_LINE) char shared[SHARED_BYTES];
};

void (*meeting_on_wait)(void);

static void wait_a_moment(void)
{
    if (meeting_on_wait != NULL)
        meeting_on_wait();
    sched_yield();
}

struct meeting *meeting_create(int nranks)
{
    struct meeting *meeting =
        mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (meeting == MAP_FAILED)
        abort();
    meeting->nranks = nranks;
    return meeting;
}

void meeting_destroy(struct meeting *meeting)
{
    munmap(meeting, sizeof(*meeting));
}

void meeting_barrier(struct meeting *meeting)
{
    int generation = atomic_load(&meeting->generation);

    if (atomic_fetch_add(&meeting->arrived, 1) + 1 == meeting->nranks) {
        atomic_store(&meeting->arrived, 0);
        atomic_fetch_add(&meeting->generation, 1);
    }
    while (atomic_load(&meeting->generation) == generation)
        wait_a_moment();
}

void meeting_allgather(struct attendee *attendee, const void *mine, void *all, size_t bytes)
{
    struct meeting *meeting = attendee->meeting;

    if (bytes > SLOT_BYTES)
        abort();
    memcpy(meeting->slots[attendee->rank], mine, bytes);
    meeting_barrier(meeting);
    for (int i = 0; i < meeting->nranks; i++)
        memcpy((char *)all + (size_t)i * bytes, meeting->slots[i], bytes);
    meeting_barrier(meeting);
}

static enum pcoll_result meeting_combine(void *context, uint64_t *words, int n)
{
    uint64_t all[MEETING_MAX_RANKS * PCOLL_COMBINE_WORDS];
    struct attendee *attendee = context;

    if (n > PCOLL_COMBINE_WORDS)
        abort();
    meeting_allgather(attendee, words, all, (size_t)n * sizeof(*words));
    for (int r = 0; r < attendee->meeting->nranks; r++)
        if (pcoll_round_of(all[r * n]) != pcoll_round_of(all[0])) {
            printf("# rank %d is in round %d, rank 0 in %d\n", r, (int)pcoll_round_of(all[r * n]),
                   (int)pcoll_round_of(all[0]));
            fflush(stdout);
            abort();
        }
    for (int i = 0; i < attendee->meeting->nranks * n; i++)
        if (all[i] > words[i % n])
            words[i % n] = all[i];
    return PCOLL_OK;
}

/* Bytes [first, first + length) of what goes to each of those ranks, and of what comes. */
static void swap_part(const struct attendee *attendee, const int *ranks, int n, const char *mine,
                      char *theirs, size_t bytes, size_t first, size_t length)
{
    struct meeting *meeting = attendee->meeting;

    for (int i = 0; i < n; i++) {
        struct mail *mail = &meeting->mail[ranks[i]][attendee->rank];

        while (atomic_load(&mail->full))
            wait_a_moment();
        memcpy(mail->text, mine + (size_t)i * bytes + first, length);
        atomic_store(&mail->full, 1);
    }
    for (int i = 0; i < n; i++) {
        struct mail *mail = &meeting->mail[attendee->rank][ranks[i]];

        while (!atomic_load(&mail->full))
            wait_a_moment();
        memcpy(theirs + (size_t)i * bytes + first, mail->text, length);
        atomic_store(&mail->full, 0);
    }
}

static enum pcoll_result meeting_swap(void *context, const int *ranks, int n, const void *mine,
                                      void *theirs, size_t bytes)
{
    struct attendee *attendee = context;

    for (int i = 1; i < n; i++)
        if (ranks[i] <= ranks[i - 1])
            abort();
    attendee->swaps++;
    for (size_t first = 0; first < bytes || first == 0; first += MAIL_BYTES)
        swap_part(attendee, ranks, n, mine, theirs, bytes, first,
                  bytes - first < MAIL_BYTES ? bytes - first : MAIL_BYTES);
    return PCOLL_OK;
}

static void meeting_report(void *context, const char *message)
{
    struct attendee *attendee = context;

    attendee->reports++;
    snprintf(attendee->said, sizeof(attendee->said), "%s", message);
    printf("# rank %d: %s\n", attendee->rank, message);
    fflush(stdout);
}

static void meeting_idle(void *context)
{
    (void)context;
    wait_a_moment();
}

struct pcoll_bootstrap meeting_bootstrap(struct attendee *attendee)
{
    struct pcoll_bootstrap bootstrap = {
        .rank = attendee->rank,
        .nranks = attendee->meeting->nranks,
        .crowded = 1,
        .coop_from = 4096,
        .context = attendee,
        .combine = meeting_combine,
        .swap = meeting_swap,
        .idle = meeting_idle,
        .report = meeting_report,
    };

    return bootstrap;
}

static char *meeting_memory(void *context, size_t bytes)
{
    struct attendee *attendee = context;

    return bytes <= SHARED_BYTES ? attendee->meeting->shared : NULL;
}

static void meeting_leave(void *context)
{
    (void)context;
}

void meeting_share(struct pcoll_bootstrap *bootstrap)
{
    bootstrap->share = meeting_memory;
    bootstrap->unshare = meeting_leave;
}

struct locality {
    struct meeting *meeting;
    int rank, result;
    int (*rank_main)(struct meeting *, int, void *);
    void *argument;
    pthread_t thread;
};

static void *run_locality(void *argument)
{
    struct locality *locality = argument;

    locality->result = locality->rank_main(locality->meeting, locality->rank, locality->argument);
    return NULL;
}

int meeting_run_threads(int nranks, int (*rank_main)(struct meeting *, int, void *), void *argument)
{
    struct locality localities[MEETING_MAX_RANKS];
    struct meeting *meeting = meeting_create(nranks);
    int failed = 0;

    for (int i = 0; i < nranks; i++) {
        localities[i] = (struct locality){
            .meeting = meeting, .rank = i, .rank_main = rank_main, .argument = argument};
        if (pthread_create(&localities[i].thread, NULL, run_locality, &localities[i]) != 0)
            abort();
    }
    for (int i = 0; i < nranks; i++) {
        pthread_join(localities[i].thread, NULL);
        failed += localities[i].result != 0;
    }
    meeting_destroy(meeting);
    return failed;
}

int meeting_run_processes(int nranks, int (*rank_main)(struct meeting *, int, void *),
                          void *argument)
{
    struct meeting *meeting = meeting_create(nranks);
    int failed = 0, status;

    fflush(stdout);
    for (int i = 0; i < nranks; i++) {
        pid_t child = fork();

        if (child < 0)
            abort();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            int result = rank_main(meeting, i, argument);

            fflush(stdout);
            _exit(result != 0);
        }
    }
    for (int i = 0; i < nranks; i++) {
        failed += wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        if (WIFSIGNALED(status))
            printf("# a rank was ended by signal %d\n", WTERMSIG(status));
        fflush(stdout);
    }
    meeting_destroy(meeting);
    return failed;
}

int meeting_is_threads_only(void)
{
    const char *ranks = getenv("PCOLL_TEST_RANKS");

    return ranks != NULL && strcmp(ranks, "threads") == 0;
}
