/*
 * What ranks measure of their machine: once a process, the same on all ranks of the group, and in
 * bounded time also if one of them does not run. How far readers wait for each other is that of
 * stand-ins, as ranks of this test may share cores.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "offload/node/measure.h"
#include "offload/shm/shm.h"
#include "offload/yield.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/wraps.h"

/* Other programs may take a core for longer than a rank waits. */
#define ATTEMPTS 400
#define PATIENT (UINT64_C(10) * 1000 * 1000 * 1000) /* nanoseconds */
#define GROUPS 20000 /* within which two in a row must be at one distance */

static const struct pcoll_medium *const shm = &pcoll_medium_shm;

static struct pcoll_measure_place *make_place(void)
{
    struct pcoll_measure_place *place =
        mmap(NULL, sizeof(*place), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (place == MAP_FAILED)
        exit(1);
    return place;
}

/* ---- reads of other processes ---- */

#define LONG_READ ((size_t)128 << 10)
#define READ_USEC 200

/* What long reads do: with stand-ins, they overlap, or follow each other, for READ_USEC each; or
 * that on average, and on rank 1 three times as long as on rank 0. */
enum reads { REAL, OVERLAP, FOLLOW, UNEQUAL, REFUSED };
static bool is_slow; /* this process is rank 1 */

struct kernel {
    pthread_mutex_t mutex;
    enum reads reads;
};
static struct kernel *kernel; /* shared by the ranks */

static void make_kernel(void)
{
    pthread_mutexattr_t shared;

    kernel = mmap(NULL, sizeof(*kernel), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (kernel == MAP_FAILED)
        exit(1);
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&kernel->mutex, &shared);
}

/* Sleeps would take longer than asked for. */
static void spin(unsigned usec)
{
    const uint64_t begin = pcoll_now();

    while (pcoll_now() < begin + usec * UINT64_C(1000))
        ;
}

ssize_t vm_copy(vm_call *call, pid_t pid, const struct iovec *local, const struct iovec *remote)
{
    if (kernel->reads == REFUSED) {
        errno = EPERM;
        return -1;
    }
    if (kernel->reads == REAL || local->iov_len != LONG_READ)
        return call(pid, local, 1, remote, 1, 0);
    if (kernel->reads == FOLLOW)
        pthread_mutex_lock(&kernel->mutex);
    if (kernel->reads == UNEQUAL)
        spin(is_slow ? READ_USEC * 3 / 2 : READ_USEC / 2);
    else
        usleep(READ_USEC);
    if (kernel->reads == FOLLOW)
        pthread_mutex_unlock(&kernel->mutex);
    return (ssize_t)local->iov_len;
}

/* ---- two ranks ---- */

static bool is_time(double us, double most)
{
    return us > 0 && us < most;
}

/* Wide limits: a machine that is busy may be slow. */
static bool has_copies(const struct pcoll_machine *m)
{
    return is_time(m->L, 1000) && is_time(m->copy, 1) && is_time(m->cached, 1) &&
           is_time(m->kept, 1) && is_time(m->reduce, 1);
}

static bool has_cma(const struct pcoll_machine *m)
{
    return is_time(m->rma, 1000) && is_time(m->G, 1) && is_time(m->put, 1);
}

static bool is_mean(double G)
{
    const double mean = (double)READ_USEC / LONG_READ;

    return G > 0.9 * mean && G < 1.1 * mean;
}

struct pair {
    struct pcoll_measure_place *place;
    bool can_cma;
    bool is_unequal;
    int late; /* this rank comes when the other has given up, if it does; PCOLL_NONE: neither */
};

#define LATE_USEC (unsigned)(2 * PCOLL_MEASURE_NSEC / 1000)

static int measure(struct meeting *meeting, int rank, void *argument)
{
    const struct pair *pair = argument;
    struct pcoll_machine machine = {.g = 3};
    uint64_t begin;

    meeting_barrier(meeting);
    if (rank == pair->late)
        usleep(LATE_USEC);
    is_slow = rank == 1;
    begin = pcoll_now();
    pcoll_node_measure(pair->place, rank, pair->can_cma, &machine);
    if (rank == 1)
        return machine.L != 0 || machine.copy != 0 || machine.rma != 0;
    printf("# %.1f ms: L %.3g, copy %.3g, cached %.3g, kept %.3g, reduce %.3g, rma %.3g, G %.3g, "
           "put %.3g\n",
           (double)(pcoll_now() - begin) / 1e6, machine.L, machine.copy, machine.cached,
           machine.kept, machine.reduce, machine.rma, machine.G, machine.put);
    if (pair->late == 1)
        return machine.L != 0 || machine.g != 3;
    return machine.g != 3 || machine.o != 0 || !has_copies(&machine) ||
           has_cma(&machine) != pair->can_cma || (pair->is_unequal && !is_mean(machine.G));
}

static void expect(struct pair pair, const char *what)
{
    int attempts = 0;

    do {
        pcoll_node_clear_place(NULL, (char *)pair.place);
        kernel->reads = pair.is_unequal ? UNEQUAL : REAL;
    } while (meeting_run_processes(2, measure, &pair) != 0 && ++attempts < ATTEMPTS);
    kernel->reads = REAL;
    tap_ok(attempts < ATTEMPTS, "%s", what);
}

static void measure_in_pairs(void)
{
    struct pcoll_measure_place *place = make_place();

    expect((struct pair){place, true, false, PCOLL_NONE}, "2 ranks measure all");
    expect((struct pair){place, false, false, PCOLL_NONE}, "2 ranks without CMA measure the rest");
    expect((struct pair){place, true, true, PCOLL_NONE}, "gets take the mean of what both take");
    expect((struct pair){place, true, false, 0}, "rank 1 waits for rank 0");
    expect((struct pair){place, true, false, 1}, "rank 0 gives up if rank 1 does not run");
    munmap(place, sizeof(*place));
}

/* ---- four ranks ---- */

struct four {
    struct pcoll_measure_place *place;
    enum reads reads;
    double latency;     /* what rank 0 knows so far */
    int late, without;  /* a rank that comes when others have stopped, that has no core, or NONE */
    uint64_t nsec;      /* until the deadline */
    double least, most; /* of what rank 0 gets */
};

static int measure_readers(struct meeting *meeting, int rank, void *argument)
{
    const struct four *four = argument;
    struct pcoll_machine machine = {.L = rank == 0 ? four->latency : 0};

    meeting_barrier(meeting);
    if (rank == four->late)
        usleep(LATE_USEC);
    __real_pcoll_node_measure_readers(four->place, rank, rank != four->without,
                                      pcoll_now() + four->nsec, &machine);
    if (rank == 0)
        printf("# exclusive %.3g\n", machine.exclusive);
    return rank == 0 ? machine.exclusive < four->least || machine.exclusive > four->most
                     : machine.exclusive != 0;
}

static void expect_four(struct four four, const char *what)
{
    int attempts = 0;

    kernel->reads = four.reads;
    do {
        pcoll_node_clear_place(NULL, (char *)four.place);
    } while (meeting_run_processes(4, measure_readers, &four) != 0 && ++attempts < ATTEMPTS);
    tap_ok(attempts < ATTEMPTS, "%s", what);
    kernel->reads = REAL;
}

static void measure_in_fours(void)
{
    struct pcoll_measure_place *place = make_place();

    expect_four((struct four){place, FOLLOW, 1, PCOLL_NONE, PCOLL_NONE, PATIENT, 0.7, 1.3},
                "readers follow each other");
    expect_four((struct four){place, OVERLAP, 1, PCOLL_NONE, PCOLL_NONE, PATIENT, 0.01, 0.3},
                "readers overlap");
    expect_four((struct four){place, REAL, 1, PCOLL_NONE, PCOLL_NONE, PATIENT, 0.01, 100},
                "readers of this machine");
    expect_four((struct four){place, REFUSED, 1, PCOLL_NONE, PCOLL_NONE, PATIENT, 0, 0},
                "nothing is known if reads are refused");
    expect_four((struct four){place, FOLLOW, 0, PCOLL_NONE, PCOLL_NONE, PATIENT, 0, 0},
                "nor if two ranks could not measure");
    for (int rank = 0; rank < 4; rank++) {
        expect_four((struct four){place, FOLLOW, 1, rank, PCOLL_NONE, PCOLL_MEASURE_NSEC, 0, 0},
                    "nor if a rank does not run");
        expect_four((struct four){place, FOLLOW, 1, PCOLL_NONE, rank, PATIENT, 0, 0},
                    "nor if a rank has no core");
    }
    munmap(place, sizeof(*place));
}

/* ---- groups ---- */

/* Returns 0 if all ranks got the same; *machine_p is it. */
static int make_group(struct attendee *attendee, bool is_crowded, bool measures,
                      struct pcoll_machine *machine_p)
{
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(attendee);
    struct pcoll_machine all[MEETING_MAX_RANKS];
    struct pcoll_group *group;
    int wrong = 0;

    bootstrap.crowded = is_crowded;
    if (shm->group_create(&bootstrap, &group) != PCOLL_OK)
        return 1;
    if (measures && shm->group_measure(group) != PCOLL_OK)
        return 1;
    *machine_p = *shm->group_machine(group);
    meeting_allgather(attendee, machine_p, all, sizeof(*machine_p));
    for (int r = 0; r < bootstrap.nranks; r++)
        wrong += memcmp(&all[r], machine_p, sizeof(*machine_p)) != 0;
    shm->group_destroy(group);
    return wrong;
}

/* A group after another one has the same machine, which is then not measured again, unless ranks
 * have moved to cores at another distance in the meantime. */
static int know_machine(struct meeting *meeting, int rank, void *argument)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_machine before = {.L = 0}, machine = {.L = 0};

    (void)argument;
    if (make_group(&attendee, false, false, &machine) != 0 || machine.L != 0)
        return 1;
    for (int i = 0; i < GROUPS; i++) {
        if (make_group(&attendee, false, true, &machine) != 0)
            return 1;
        if (machine.L > 0 && memcmp(&before, &machine, sizeof(before)) == 0)
            return !has_copies(&machine);
        before = machine;
    }
    return 1;
}

/* Ranks that have no core each agree, whether or not two of them could measure. */
static int agree(struct meeting *meeting, int rank, void *argument)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_machine machine;

    (void)argument;
    for (int i = 0; i < 10; i++)
        if (make_group(&attendee, false, true, &machine) != 0)
            return 1;
    return 0;
}

#define EXCLUSIVE 0.5

/* What a group gets where all of its ranks have cores. */
void __wrap_pcoll_node_measure_readers(struct pcoll_measure_place *place, int rank, bool has_core,
                                       uint64_t deadline, struct pcoll_machine *machine)
{
    (void)place;
    if (rank < 0 || rank >= PCOLL_MEASURE_RANKS || deadline == 0)
        abort();
    if (rank == 0 && has_core)
        machine->exclusive = EXCLUSIVE;
}

struct group {
    bool is_crowded;
    double exclusive;
};

/* Returns 0 if all ranks got that. */
static int know_readers(struct meeting *meeting, int rank, void *argument)
{
    const struct group *expected = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_machine machine;

    return make_group(&attendee, expected->is_crowded, true, &machine) != 0 ||
           machine.exclusive < expected->exclusive || machine.exclusive > expected->exclusive;
}

static void expect_group(int nranks, struct group group, const char *what)
{
    tap_ok(meeting_run_processes(nranks, know_readers, &group) == 0, "%s", what);
}

static int stay_alone(struct meeting *meeting, int rank, void *argument)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_machine machine = {.L = 0};

    (void)argument;
    return make_group(&attendee, false, true, &machine) != 0 || machine.L != 0;
}

int main(void)
{
    make_kernel();
    measure_in_pairs();
    measure_in_fours();
    tap_ok(meeting_run_processes(2, know_machine, NULL) == 0,
           "2 ranks know their machine, measured once");
    tap_ok(meeting_run_processes(9, agree, NULL) == 0, "9 ranks know the same");
    expect_group(4, (struct group){false, EXCLUSIVE}, "4 ranks know their readers");
    expect_group(6, (struct group){false, EXCLUSIVE}, "so do 6");
    expect_group(4, (struct group){true, 0}, "not if they share cores");
    expect_group(3, (struct group){false, 0}, "nor if there are three");
    kernel->reads = REFUSED;
    expect_group(4, (struct group){false, 0}, "nor without CMA");
    kernel->reads = REAL;
    tap_ok(meeting_run_processes(1, stay_alone, NULL) == 0, "1 rank knows nothing");
    return tap_done();
}
