/*
 * The medium that lets Linux run the plan, where something is refused or fails: all ranks have the
 * same answer, and at last the right data or an error.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/tcp_kernel/state.h"
#include "test/unit/net_rank.h"
#include "test/unit/tap.h"

static const struct pcoll_medium *const medium = &pcoll_medium_tcp_kernel;

enum { PATIENCE = 60 }; /* seconds: a hang is a failure */

/* What net_shared holds beside starts: the number of ranks whose plan has failed, and the process
 * of a rank that performs another program. */
enum { FAILURES = MEETING_MAX_RANKS, REPLACED_PID };

/* --- what is refused --- */

/* From now on this process may not set up io_uring. */
static int forbid_io_uring(int error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

/* Only rank 1 meets with a refusal: all must learn of it. */
struct refusal {
    int error;             /* of io_uring_setup; 0: none */
    const char *interface; /* NULL: the right one */
    const char *said;
};

static int run_refused(struct meeting *meeting, int rank, void *argument)
{
    const struct refusal *refusal = argument;
    struct net_rank self = {.meeting = meeting, .attendee = {.meeting = meeting, .rank = rank}};

    alarm(PATIENCE);
    self.bootstrap = meeting_bootstrap(&self.attendee);
    if (rank == 1 && refusal->error && forbid_io_uring(refusal->error))
        return 1;
    if (rank == 1 && refusal->interface)
        self.bootstrap.interface = refusal->interface;
    return medium->group_create(&self.bootstrap, &self.group) != PCOLL_UNSUPPORTED ||
           (rank == 1 && strstr(self.attendee.said, refusal->said) == NULL);
}

static void check_refusals(void)
{
    struct refusal seccomp = {.error = EPERM, .said = "seccomp"};
    struct refusal missing = {.error = ENOSYS, .said = "the kernel lacks it"};
    struct refusal locked = {.error = ENOMEM, .said = "RLIMIT_MEMLOCK"};
    struct refusal unknown = {.interface = "carrier0", .said = "'carrier0'"};

    tap_ok(meeting_run_processes(3, run_refused, &seccomp) == 0,
           "a seccomp filter on one rank: unsupported on all");
    tap_ok(meeting_run_processes(3, run_refused, &missing) == 0,
           "a kernel without io_uring on one rank: unsupported on all");
    tap_ok(meeting_run_processes(3, run_refused, &locked) == 0,
           "one rank may lock no memory: unsupported on all");
    tap_ok(meeting_run_processes(3, run_refused, &unknown) == 0,
           "an unknown interface on one rank: unsupported on all");
}

static void limit_files(rlim_t files)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = files;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        abort();
}

/* One rank may open only n more files; n grows from 0 until a bind succeeds. */
static int exercise_few_files(struct part *p, struct net_rank *self, const struct net_play *play)
{
    const int is_short = p->rank == 1;
    enum pcoll_result result = PCOLL_UNSUPPORTED;
    struct rlimit usual;
    int n = 0, next;

    getrlimit(RLIMIT_NOFILE, &usual);
    next = dup(0);
    close(next);
    while (result == PCOLL_UNSUPPORTED && n++ < 20) {
        if (is_short)
            limit_files((rlim_t)(next + n - 1));
        result = part_bind(p);
        limit_files(usual.rlim_cur);
    }
    return result != PCOLL_OK || n < 4 || part_run(p, play->trial.instances) ||
           (is_short && strstr(self->attendee.said, "RLIMIT_NOFILE") == NULL);
}

/* One rank's sockets have no room for a piece. */
static int exercise_small_buffers(struct part *p, struct net_rank *self,
                                  const struct net_play *play)
{
    const struct pcoll_tcp_kernel_settings usual = pcoll_tcp_kernel_settings;
    int wrong;

    (void)play;
    if (p->rank == 1)
        pcoll_tcp_kernel_settings.piece = (size_t)1 << 31;
    wrong = part_bind(p) != PCOLL_UNSUPPORTED ||
            (p->rank == 1 && strstr(self->attendee.said, "net.core.wmem_max") == NULL);
    pcoll_tcp_kernel_settings = usual;
    return wrong || part_bind(p) != PCOLL_OK || part_run(p, 3);
}

/* A rank without a plan. */
static int exercise_no_plan(struct part *p, struct net_rank *self, const struct net_play *play)
{
    (void)self;
    (void)play;
    if (p->rank == 0) {
        pcoll_plan_destroy(p->plan);
        p->plan = NULL;
    }
    return part_bind(p) != PCOLL_ERR_INVALID;
}

/* All outlines together are too long for the settings. */
static int exercise_long_plan(struct part *p, struct net_rank *self, const struct net_play *play)
{
    (void)play;
    pcoll_tcp_kernel_settings.outlines = 5000;
    return part_bind(p) != PCOLL_UNSUPPORTED ||
           (p->rank == 0 && strstr(self->attendee.said, "too many entries") == NULL);
}

static void check_binds(void)
{
    static const struct {
        int (*exercise)(struct part *p, struct net_rank *self, const struct net_play *play);
        const char *what;
    } binds[] = {
        {exercise_few_files,
         "no file descriptor left on one rank: unsupported on all, until there are some"},
        {exercise_small_buffers, "sockets without room on one rank: unsupported on all"},
        {exercise_no_plan, "a plan is missing: an error on all"},
        {exercise_long_plan, "outlines longer than the settings permit: unsupported on all"},
    };

    for (size_t i = 0; i < sizeof(binds) / sizeof(binds[0]); i++) {
        struct net_play play = {net_long_chain(), binds[i].exercise, NULL};

        tap_ok(meeting_run_processes(3, net_rank_main, &play) == 0, "%s", binds[i].what);
    }
}

/* --- what interferes --- */

static void ignore(int number)
{
    (void)number;
}

static void ring_alarms(int flags)
{
    struct sigaction action = {.sa_handler = ignore, .sa_flags = flags};
    struct itimerval often = {{0, 300}, {0, 300}};

    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
}

static void *start(void *part)
{
    return (void *)(intptr_t)part_start(part);
}

static int start_elsewhere(struct part *p)
{
    pthread_t thread;
    void *result;

    if (pthread_create(&thread, NULL, start, p) != 0)
        return 1;
    pthread_join(thread, &result);
    return (int)(intptr_t)result;
}

/* Returns whether this process has the memory of a ring. */
static int maps_ring(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    int found = 0;

    while (maps && !found && fgets(line, sizeof(line), maps))
        found = strstr(line, "[io_uring]") != NULL;
    if (maps)
        fclose(maps);
    return found;
}

/* A child overwrites its copy of this rank's memory, and has no ring. */
static int fork_child(struct part *p)
{
    const pid_t child = fork();
    int status;

    if (child == 0) {
        memset(p->recv, 0x99, pcoll_plan_bytes(p->plan, PCOLL_RECV));
        usleep(2000);
        _exit(maps_ring());
    }
    return waitpid(child, &status, 0) != child || status != 0 || !maps_ring();
}

enum interference { SIGNALS, RESTARTED_SIGNALS, THREADS, FORKS };

static int exercise_disturbed(struct part *p, struct net_rank *self, const struct net_play *play)
{
    const enum interference interference = *(const enum interference *)play->setup;
    int wrong = part_bind(p) != PCOLL_OK;

    (void)self;
    if (interference == SIGNALS || interference == RESTARTED_SIGNALS)
        ring_alarms(interference == SIGNALS ? 0 : SA_RESTART);
    for (int i = 0; i < play->trial.instances && !wrong; i++) {
        wrong = interference == THREADS ? start_elsewhere(p) : part_start(p);
        if (interference == FORKS && p->rank > 0)
            wrong = fork_child(p) || wrong;
        wrong = part_wait(p) || wrong;
    }
    return wrong;
}

static void check_interference(void)
{
    static const char *const names[] = {
        "signals without SA_RESTART",
        "signals with SA_RESTART",
        "starts in threads that end at once",
        "forks while chains are in flight",
    };

    for (enum interference i = SIGNALS; i <= FORKS; i++) {
        struct net_play play = {net_long_chain(), exercise_disturbed, &i};

        tap_ok(meeting_run_processes(4, net_rank_main, &play) == 0, "%s: right data", names[i]);
    }
}

/* --- ranks that fail --- */

enum end { KILLED, REPLACED, UNBOUND, FINALIZED };

/* The program that takes this process's place has none of its connections. It ends when the others
 * have noticed. */
static void become_another_program(void)
{
    atomic_store(&net_shared[REPLACED_PID], (int)getpid());
    (void)execl("/bin/sleep", "sleep", "1000", (char *)NULL);
    for (;;)
        pause();
}

/* Rank 1 ends in the midst of an instance: all others have an error, or had completed. */
static int run_deserted(struct meeting *meeting, int rank, void *argument)
{
    const enum end end = *(enum end *)argument;
    struct trial t = net_long_chain();
    struct net_rank self;
    struct part p;

    alarm(PATIENCE);
    t.params.segment = 4000;
    if (!net_rank_open(&self, meeting, rank) || !net_rank_part(&p, &t, &self) ||
        part_bind(&p) != PCOLL_OK || part_run(&p, 2))
        return 1;
    meeting_barrier(meeting);
    if (rank == 1) {
        (void)part_start(&p); /* rank 0 has not: the chain is in flight */
        if (end == KILLED)
            kill(getpid(), SIGKILL);
        if (end == REPLACED)
            become_another_program();
        part_unbind(&p);
        memset(p.recv, 0x33, t.bytes);
        part_free_memory(&p);
        if (end == FINALIZED)
            medium->finalize();
        usleep(100000);
        return 0;
    }
    usleep(20000);
    for (int i = 0; i < t.instances && !p.failed; i++)
        if (part_start(&p) || part_wait(&p))
            break;
    /* A plan that has failed still tells its neighbors. */
    atomic_fetch_add(&net_shared[FAILURES], p.failed);
    while (atomic_load(&net_shared[FAILURES]) < self.bootstrap.nranks - 1)
        usleep(100);
    if (rank == 0 && end == REPLACED)
        kill(atomic_load(&net_shared[REPLACED_PID]), SIGKILL);
    /* It cannot be used any more, and can be unbound. */
    if (!p.failed || medium->start(p.bound) != PCOLL_ERR_SYSTEM ||
        strstr(self.attendee.said, " rank ") == NULL)
        return 1;
    part_unbind(&p);
    return medium->lingering() != 0;
}

static void check_ends(void)
{
    static const char *const names[] = {"is killed", "performs another program", "unbinds its plan",
                                        "finalizes"};

    for (enum end end = KILLED; end <= FINALIZED; end++) {
        int failed;

        atomic_store(&net_shared[FAILURES], 0);
        failed = meeting_run_processes(4, run_deserted, &end);

        tap_ok(failed == (end == KILLED || end == REPLACED),
               "a rank %s in the midst of a start: all others fail", names[end]);
    }
}

int main(void)
{
    struct meeting *page = meeting_create(0); /* any shared page will do */

    net_medium = medium;
    net_shared = (_Atomic int *)(void *)page;
    if (!net_is_available())
        return tap_done();
    check_refusals();
    check_binds();
    pcoll_tcp_kernel_settings.local = net_long_chain().bytes;
    net_node_ranks = 2; /* some of each */
    check_interference();
    check_ends();
    meeting_destroy(page);
    return tap_done();
}
