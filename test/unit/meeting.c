/* Ranks as threads or processes; the contract is in meeting.h. */
#include "test/unit/meeting.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOT_BYTES 256
#define MAIL_BYTES 8192

struct meeting {
    int nranks;
    _Atomic int arrived, generation;
    char slots[MEETING_MAX_RANKS][SLOT_BYTES];
    char mail[MEETING_MAX_RANKS][MEETING_MAX_RANKS][MAIL_BYTES]; /* [to][from] */
};

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
        sched_yield();
}

static enum pcoll_result meeting_allgather(void *context, const void *mine, void *all, size_t bytes)
{
    struct attendee *attendee = context;
    struct meeting *meeting = attendee->meeting;

    if (bytes > SLOT_BYTES)
        abort();
    memcpy(meeting->slots[attendee->rank], mine, bytes);
    meeting_barrier(meeting);
    for (int i = 0; i < meeting->nranks; i++)
        memcpy((char *)all + (size_t)i * bytes, meeting->slots[i], bytes);
    meeting_barrier(meeting);
    return PCOLL_OK;
}

static enum pcoll_result meeting_swap(void *context, const int *ranks, int n, const void *mine,
                                      void *theirs, size_t bytes)
{
    struct attendee *attendee = context;
    struct meeting *meeting = attendee->meeting;

    if (bytes > MAIL_BYTES)
        abort();
    for (int i = 0; i < n; i++)
        memcpy(meeting->mail[ranks[i]][attendee->rank], (const char *)mine + (size_t)i * bytes,
               bytes);
    meeting_barrier(meeting);
    for (int i = 0; i < n; i++)
        memcpy((char *)theirs + (size_t)i * bytes, meeting->mail[attendee->rank][ranks[i]], bytes);
    meeting_barrier(meeting);
    return PCOLL_OK;
}

static void meeting_report(void *context, const char *message)
{
    struct attendee *attendee = context;

    attendee->reports++;
    printf("# rank %d: %s\n", attendee->rank, message);
    fflush(stdout);
}

static void meeting_idle(void *context)
{
    (void)context;
    sched_yield();
}

struct pcoll_bootstrap meeting_bootstrap(struct attendee *attendee)
{
    struct pcoll_bootstrap bootstrap = {
        .rank = attendee->rank,
        .nranks = attendee->meeting->nranks,
        .context = attendee,
        .allgather = meeting_allgather,
        .swap = meeting_swap,
        .idle = meeting_idle,
        .report = meeting_report,
    };

    return bootstrap;
}

struct seat {
    struct meeting *meeting;
    int rank, result;
    int (*rank_main)(struct meeting *, int, void *);
    void *argument;
    pthread_t thread;
};

static void *run_seat(void *argument)
{
    struct seat *seat = argument;

    seat->result = seat->rank_main(seat->meeting, seat->rank, seat->argument);
    return NULL;
}

int meeting_run_threads(int nranks, int (*rank_main)(struct meeting *, int, void *), void *argument)
{
    struct seat seats[MEETING_MAX_RANKS];
    struct meeting *meeting = meeting_create(nranks);
    int failed = 0;

    for (int i = 0; i < nranks; i++) {
        seats[i] = (struct seat){
            .meeting = meeting, .rank = i, .rank_main = rank_main, .argument = argument};
        if (pthread_create(&seats[i].thread, NULL, run_seat, &seats[i]) != 0)
            abort();
    }
    for (int i = 0; i < nranks; i++) {
        pthread_join(seats[i].thread, NULL);
        failed += seats[i].result != 0;
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
            int result = rank_main(meeting, i, argument);

            fflush(stdout);
            _exit(result != 0);
        }
    }
    for (int i = 0; i < nranks; i++)
        failed += wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    meeting_destroy(meeting);
    return failed;
}
