#include "adversity.h"
#include "check.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The rank that the launcher assigned: MPI is not initialized yet. */
static const char *launcher_rank(void)
{
    const char *rank = getenv("PMI_RANK");

    rank = rank != NULL ? rank : getenv("OMPI_COMM_WORLD_RANK");
    return rank != NULL ? rank : "0";
}

static int meant(const char *who)
{
    return who != NULL && (strcmp(who, "all") == 0 || strcmp(who, launcher_rank()) == 0);
}

static void deny_calls(unsigned a, unsigned b, unsigned error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, a, 1, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, b, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        check_fail(__FILE__, __LINE__, "seccomp: %s", strerror(errno));
}

/* The error is that of a container's filter, or that of an old kernel. */
void adversity_deny_cma(const char *who, int unknown)
{
    if (meant(who))
        deny_calls(__NR_process_vm_readv, __NR_process_vm_writev, unknown ? ENOSYS : EPERM);
}

static void give_up(int signal)
{
    (void)signal;
    _exit(3);
}

/* Continue as the first process of a PID namespace, with its own /proc, as in a container. */
static void enter_container(void)
{
    int status = 1;
    pid_t child;

    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 ||
        mount("none", "/", "", MS_REC | MS_PRIVATE, "") != 0)
        return; /* this needs root */
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGTERM, give_up); /* the first process of a PID namespace has no default action */
        if (mount("proc", "/proc", "proc", 0, "") != 0)
            check_fail(__FILE__, __LINE__, "mount /proc: %s", strerror(errno));
        return;
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        _exit(4);
    _exit(WEXITSTATUS(status));
}

static void deny_growth(void)
{
    struct rlimit none = {4096, 4096};

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &none) != 0)
        check_fail(__FILE__, __LINE__, "setrlimit: %s", strerror(errno));
}

/* Rank 0 makes a mount namespace with a small /dev/shm and the others join it, so that they still
 * see each other's files there. */
static int make_namespace(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", "", MS_REC | MS_PRIVATE, "") == 0 &&
           mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=8k") == 0;
}

static int join_namespace(long thread)
{
    char path[64];
    int fd, ok;

    snprintf(path, sizeof(path), "/proc/%ld/ns/mnt", thread);
    fd = open(path, O_RDONLY);
    if (fd < 0)
        return 0;
    ok = unshare(CLONE_FS) == 0 && setns(fd, CLONE_NEWNS) == 0;
    close(fd);
    return ok;
}

static void shrink_shm(MPI_Comm comm)
{
    char here[4096];
    const char *back = getcwd(here, sizeof(here));
    long thread = syscall(SYS_gettid);
    int rank, ok = 1;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0)
        ok = make_namespace();
    MPI_Bcast(&ok, 1, MPI_INT, 0, comm);
    MPI_Bcast(&thread, 1, MPI_LONG, 0, comm);
    if (!ok) {
        check_note("no small /dev/shm: needs root");
        return;
    }
    if (rank != 0 && !join_namespace(thread))
        check_fail(__FILE__, __LINE__, "setns: %s", strerror(errno));
    if (back == NULL || chdir(back) != 0)
        check_note("lost the working directory");
    MPI_Barrier(comm);
}

/* This rank alone gets an empty /dev/shm: it cannot open what the others create in theirs. */
static void leave_shm(void)
{
    char here[4096];
    const char *back = getcwd(here, sizeof(here));

    if (!make_namespace() || back == NULL || chdir(back) != 0)
        check_note("no /dev/shm of its own: needs root");
}

/* For "NAME@WHO" or "NAME" (all): true if this rank is meant; copies the name. */
static int is_meant(const char *text, char *name, size_t bytes)
{
    const char *who = strchr(text, '@');

    snprintf(name, bytes, "%.*s", who != NULL ? (int)(who - text) : (int)strlen(text), text);
    return meant(who != NULL ? who + 1 : "all");
}

void adversity_deny(const char *text)
{
    static const struct {
        const char *name;
        unsigned first, second, error;
    } calls[] = {{"memfd_create", __NR_memfd_create, __NR_memfd_create, EPERM},
                 {"clone", __NR_clone3, __NR_clone, EPERM},
                 {"sched_setaffinity", __NR_sched_setaffinity, __NR_sched_setaffinity, EPERM},
                 {"madvise", __NR_madvise, __NR_madvise, EPERM},
                 {"fallocate", __NR_fallocate, __NR_fallocate, EPERM},
                 {"getrusage", __NR_getrusage, __NR_getrusage, EPERM}};
    char name[32];
    int known = 0;

    if (text == NULL || !is_meant(text, name, sizeof(name)))
        return;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strcmp(name, calls[i].name) == 0) {
            deny_calls(calls[i].first, calls[i].second, calls[i].error);
            known = 1;
        }
    if (!known)
        check_fail(__FILE__, __LINE__, "-deny=%s is unknown", name);
}

/* As ulimit takes it; of descriptors also +N: N more than are open. */
static rlim_t limit_of(const char *value)
{
    int next = 0;

    if (*value == '+') {
        next = dup(STDERR_FILENO);
        close(next);
    }
    return (rlim_t)next + strtoul(value, NULL, 10);
}

void adversity_limit(const char *text)
{
    static const struct {
        const char *name;
        int resource;
    } resources[] = {{"as", RLIMIT_AS},
                     {"data", RLIMIT_DATA},
                     {"fsize", RLIMIT_FSIZE},
                     {"nofile", RLIMIT_NOFILE},
                     {"nproc", RLIMIT_NPROC}};
    struct rlimit limit;
    char name[32];
    char *value;
    int known = 0;

    if (text == NULL || !is_meant(text, name, sizeof(name)) || (value = strchr(name, ':')) == NULL)
        return;
    *value = '\0';
    limit.rlim_cur = limit.rlim_max = limit_of(value + 1);
    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
        if (strcmp(name, resources[i].name) == 0)
            known = setrlimit(resources[i].resource, &limit) == 0;
    if (!known)
        check_fail(__FILE__, __LINE__, "-limit=%s is unknown or impossible", name);
}

static const char *no_cores = NULL;

void adversity_no_cores(const char *text)
{
    no_cores = text;
}

/* The library finds this before libc's. Here the ranks open the memory of ch4_coll/node_blocks.c
 * one after the other. A program may have a shm_open of its own. */
__attribute__((weak)) int shm_open(const char *name, int flags, mode_t mode)
{
    typedef int open_object(const char *, int, mode_t);
    open_object *real = (open_object *)dlsym(RTLD_NEXT, "shm_open");
    char how[32];

    if (no_cores != NULL && strncmp(name, "/pcoll_cores", strlen("/pcoll_cores")) == 0) {
        usleep(100000 * (useconds_t)strtoul(launcher_rank(), NULL, 10));
        if (is_meant(no_cores, how, sizeof(how))) {
            if (strcmp(how, "size") == 0)
                return real(name, (flags & ~O_ACCMODE) | O_RDONLY, mode);
            errno = EMFILE;
            return -1;
        }
    }
    return real(name, flags, mode);
}

#if MPI_VERSION >= 4
static MPI_Session session = MPI_SESSION_NULL;

void adversity_open_session(const char *who)
{
    if (meant(who))
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
}

void adversity_close_session(void)
{
    if (session != MPI_SESSION_NULL)
        MPI_Session_finalize(&session);
}
#else
void adversity_open_session(const char *who)
{
    (void)who;
}

void adversity_close_session(void)
{
}
#endif

static void bind_to_first(void)
{
    cpu_set_t allowed, one;
    size_t core = 0;

    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        check_fail(__FILE__, __LINE__, "sched_getaffinity: %s", strerror(errno));
    while (core < CPU_SETSIZE - 1 && !CPU_ISSET(core, &allowed))
        core++;
    CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        check_fail(__FILE__, __LINE__, "sched_setaffinity: %s", strerror(errno));
}

static void set_variable(const char *text)
{
    char *copy = text != NULL ? strdup(text) : NULL, *rest = copy;
    const char *who = strsep(&rest, ":"), *name = strsep(&rest, "=");

    if (meant(who) && rest != NULL)
        setenv(name, rest, 1);
    free(copy);
}

void adversity_before_init(const char *cma, int one_core, const char *memfd, const char *own_pid,
                           const char *variable)
{
    if (meant(own_pid))
        enter_container();
    if (one_core)
        bind_to_first();
    adversity_deny_cma(cma, 0);
    set_variable(variable);
    if (meant(memfd))
        deny_calls(__NR_memfd_create, __NR_memfd_create, ENOSYS);
}

void adversity_after_init(MPI_Comm comm, const char *no_shm, const char *own_shm, int tiny_shm,
                          const char *no_mr, const char *slow)
{
    if (meant(slow))
        slow_down();
    if (meant(no_mr))
        deny_registration();
    if (tiny_shm)
        shrink_shm(comm);
    if (meant(own_shm))
        leave_shm();
    if (meant(no_shm))
        deny_growth();
}

void adversity_before_finalize(const char *late)
{
    const double end = MPI_Wtime() + 1;
    int flag;

    while (meant(late) && MPI_Wtime() < end)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}
