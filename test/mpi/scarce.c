/* Each allocation and each system call of init fails once, on one rank or on all. No rank hangs,
 * and either all ranks have a plan, or none has; in that case the library's own path delivers right
 * data, or its own error on a rank where the call failed.
 *
 *   -who=all|RANK (all)   the ranks where it fails
 *   -every                all collectives instead of four with data that is not contiguous
 *   -from=N -to=N (0, 10000)   which of the calls; by default all
 *
 * Only calls by libmpi itself fail, not those of libraries below it. Some of MPICH's own code, with
 * or without this backend, does not survive a failure, and its calls succeed:
 *   - the calls of collectives with arrays of counts copy these without asking whether there is
 *     memory for the copies; where they copy arrays of types, too (5.0), they ask, but fail alone;
 *   - the json-c inside MPICH crashes if an allocation fails while the tuning table is read;
 *   - a schedule, which MPICH makes for a call that was declined, silently ends the process if one
 *     of its arrays gets no memory (utarray.h: oom() is exit(-1)). With -who=all this would happen
 *     to a rank whose n-th call comes later than that of another rank;
 *   - the datatype engine uses its segment without asking whether it got one when it lists the
 *     pieces of a type;
 *   - of a message that arrived before its receive, MPICH copies from the buffer without asking
 *     whether it got one (MPIDIG_send_target_msg_cb; the assertion is compiled out). That runs
 *     below MPID_Progress_test, which may be inlined in what calls it. */

#include "trial.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>

enum { MAX_SPARED = 512, DEPTH = 64 };

static uintptr_t text_begin, text_end; /* of libmpi */
static struct {
    uintptr_t begin, end;
    int is_call; /* MPI_X_init(_c): only what itself calls is spared, not what runs below it */
} spared[MAX_SPARED];
static int nspared;
static long countdown = -1; /* -1: nothing fails */
static int hit;

static int is_init_call(const char *function)
{
    const char *end = strstr(function, "_init");

    return strncmp(function, "PMPI_", 5) == 0 && end &&
           (strcmp(end, "_init") == 0 || strcmp(end, "_init_c") == 0);
}

static int spares(const char *function)
{
    static const char *const beginnings[] = {
        "MPIDI_PCOLL_fallback_",     "MPIC_",           "MPID_Progress_",
        "MPIDIG_send_target_msg_cb", "MPIR_Allgather_", "MPIR_Typerep_iov_len",
        "MPIR_Typerep_to_iov",
    };
    int found = 0;

    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        found |= strncmp(function, beginnings[i], strlen(beginnings[i])) == 0;
    return found;
}

/* These functions are not exported, so nm is asked for them; a stripped library has none. */
static void find_spared(const char *library, uintptr_t base)
{
    char command[4200], line[1000], name[900], kind;
    unsigned long at;
    int begun = 0;
    FILE *symbols;

    snprintf(command, sizeof(command), "nm -n '%s' 2>/dev/null", library);
    symbols = popen(command, "r");
    while (symbols && fgets(line, sizeof(line), symbols)) {
        if (sscanf(line, "%lx %c %899s", &at, &kind, name) != 3)
            continue;
        if (begun)
            spared[nspared++].end = base + at;
        begun = nspared < MAX_SPARED && strchr("tT", kind) && (spares(name) || is_init_call(name));
        if (begun) {
            spared[nspared].begin = base + at;
            spared[nspared].is_call = is_init_call(name);
        }
    }
    if (symbols)
        pclose(symbols);
}

static int is_spared(uintptr_t caller)
{
    void *frames[DEPTH];
    const int n = backtrace(frames, DEPTH);

    for (int i = 0; i < n * nspared; i++) {
        const int k = i % nspared;
        const uintptr_t address = spared[k].is_call ? caller : (uintptr_t)frames[i / nspared];

        if (address >= spared[k].begin && address < spared[k].end)
            return 1;
    }
    return 0;
}

static int find_text(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (!strstr(info->dlpi_name, "/libmpi.so") && !strstr(info->dlpi_name, "/libmpi_abi.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];

        if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
            text_begin = info->dlpi_addr + header->p_vaddr;
            text_end = text_begin + header->p_memsz;
        }
    }
    find_spared(info->dlpi_name, info->dlpi_addr);
    return 1;
}

static int fails(void *caller)
{
    const uintptr_t address = (uintptr_t)caller;

    if (countdown < 0 || address < text_begin || address >= text_end || is_spared(address))
        return 0;
    if (countdown-- > 0)
        return 0;
    hit = 1;
    errno = ENOMEM;
    return 1;
}

#define FAILS() fails(__builtin_return_address(0))
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
    return FAILS() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return FAILS() ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return FAILS() ? NULL : __libc_realloc(block, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    if (FAILS())
        return ENOMEM;
    *block = __libc_memalign(alignment, bytes);
    return *block ? 0 : ENOMEM;
}

int shm_open(const char *name, int flags, mode_t mode)
{
    return FAILS() ? -1 : REAL(shm_open)(name, flags, mode);
}

int memfd_create(const char *name, unsigned flags)
{
    return FAILS() ? -1 : REAL(memfd_create)(name, flags);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return FAILS() ? MAP_FAILED : REAL(mmap)(at, bytes, protection, flags, fd, offset);
}

int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    return FAILS() ? ENOSPC : REAL(posix_fallocate)(fd, offset, bytes);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto,
                         const struct iovec *from, unsigned long nfrom, unsigned long flags)
{
    return FAILS() ? -1 : REAL(process_vm_readv)(pid, to, nto, from, nfrom, flags);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *from, unsigned long nfrom,
                          const struct iovec *to, unsigned long nto, unsigned long flags)
{
    return FAILS() ? -1 : REAL(process_vm_writev)(pid, from, nfrom, to, nto, flags);
}

#define PLANS "coll_offload_plans"

enum { ITEMS = 40, KINDS = 4 };

/* Takes every other element, so that there is a packed copy to allocate. */
static int init(int kind, int *buffer, MPI_Datatype type, MPI_Comm comm, MPI_Request *request)
{
    if (kind == 0)
        return MPI_Barrier_init(comm, MPI_INFO_NULL, request);
    if (kind == 1)
        return MPI_Bcast_init(buffer, 1, type, 0, comm, MPI_INFO_NULL, request);
    if (kind == 3)
        return MPI_Allreduce_init(MPI_IN_PLACE, buffer, ITEMS * check.size, MPI_INT, MPI_SUM, comm,
                                  MPI_INFO_NULL, request);
    return MPI_Allgather_init(MPI_IN_PLACE, 0, MPI_INT, buffer, ITEMS, MPI_INT, comm, MPI_INFO_NULL,
                              request);
}

static void fill(int kind, int *buffer)
{
    for (int r = 0; r < check.size; r++)
        for (int i = 0; i < ITEMS; i++) {
            const int mine = kind == 1 ? check.rank == 0 : kind == 3 || r == check.rank;

            buffer[r * ITEMS + i] = mine ? kind * 1000 + r * ITEMS + i : -1;
        }
}

static void compare(int kind, const int *buffer)
{
    for (int r = 0; r < check.size; r++)
        for (int i = 0; i < ITEMS; i++) {
            const int k = r * ITEMS + i, given = kind == 1 ? k % 2 == 0 && r == 0 : kind >= 2;
            const int times = kind == 3 ? check.size : 1;

            if (given && buffer[k] != times * (kind * 1000 + k))
                check_fail(__FILE__, __LINE__, "element %d is %d", k, buffer[k]);
        }
}

static void run(int kind, int *buffer, MPI_Request *request)
{
    for (int start = 0; start < 2; start++) {
        fill(kind, buffer);
        MPI(MPI_Start(request));
        MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
        compare(kind, buffer);
    }
}

/* What the ranks have seen of one init. */
struct outcome {
    int is_hit, is_error, is_plan;
};

/* Returns what any rank has seen. */
static struct outcome any_rank(struct outcome own)
{
    struct outcome any;

    MPI(MPI_Allreduce(&own, &any, sizeof(own) / sizeof(int), MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (any.is_plan != own.is_plan)
        check_fail(__FILE__, __LINE__, "another rank has a plan, this one has not");
    if (own.is_error && !own.is_hit)
        check_fail(__FILE__, __LINE__, "an error where nothing had failed");
    return any;
}

/* The n-th call fails; returns whether any rank has made so many calls. */
static int attempt(int kind, long n, int meant, MPI_Datatype type)
{
    int *buffer = check_alloc((size_t)(check.size * ITEMS) * sizeof(int));
    const long long plans = check_pvar(PLANS);
    struct outcome any;
    int rc;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm;

    check_phase("kind %d, call %ld fails", kind, n);
    MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    hit = 0;
    countdown = meant ? n : -1;
    rc = init(kind, buffer, type, comm, &request);
    countdown = -1;
    any = any_rank((struct outcome){hit, rc != MPI_SUCCESS, check_pvar(PLANS) > plans});
    if (!any.is_error) {
        run(kind, buffer, &request);
        MPI(MPI_Request_free(&request));
    } else if (rc == MPI_SUCCESS) {
        MPI(MPI_Request_free(&request));
    }
    MPI(MPI_Comm_free(&comm));
    check_free(buffer);
    return any.is_hit;
}

/* ---- all collectives ---- */

static long next_countdown;

static void count_down(int begins)
{
    countdown = begins ? next_countdown : -1;
}

/* The same with a trial. */
static int attempt_trial(enum trial_kind kind, long n, int meant)
{
    const long long plans = check_pvar(PLANS);
    struct edges edges = {0};
    struct outcome any;
    struct trial t;
    MPI_Comm comm;
    int rc;

    check_phase("%s, call %ld fails", trial_name(kind), n);
    comm = topology_any(MPI_COMM_WORLD, (uint64_t)n, &edges);
    MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    hit = 0;
    next_countdown = meant ? n : -1;
    rc = trial_try_on(&t, kind, 100, check.size - 1, (uint64_t)n, comm, &edges, MPI_INFO_NULL);
    any = any_rank((struct outcome){hit, rc != MPI_SUCCESS, check_pvar(PLANS) > plans});
    if (!any.is_error)
        trial_run(&t, 2);
    trial_free(&t);
    MPI(MPI_Comm_free(&comm));
    return any.is_hit;
}

static void attempt_every(int meant)
{
    call_watch = count_down;
    for (int kind = 0; kind < TRIAL_KINDS; kind++) {
        const int repeats = kind > 0 && trial_coll((enum trial_kind)kind) ==
                                            trial_coll((enum trial_kind)(kind - 1));
        long n = 0;

        if (repeats) /* the same in place */
            continue;
        while (attempt_trial((enum trial_kind)kind, n, meant))
            n++;
        check_note("%s: %ld calls failed", trial_name((enum trial_kind)kind), n);
        CHECK(n > 0);
    }
    call_watch = NULL;
}

int main(int argc, char **argv)
{
    const char *who = "all";
    MPI_Datatype type;
    int meant;

    dl_iterate_phdr(find_text, NULL);
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(text_begin != 0);
    CHECK(nspared < MAX_SPARED);
    is_spared(0); /* loads what backtrace() needs */
    if (check_option("who"))
        who = check_option("who");
    meant = strcmp(who, "all") == 0 || atoi(who) == check.rank;
    MPI(MPI_Type_vector(ITEMS / 2, 1, 2, MPI_INT, &type));
    MPI(MPI_Type_commit(&type));
    attempt(0, 0, 0, type); /* from now on the tuning table is loaded */
    if (check_option("every") != NULL)
        attempt_every(meant);
    for (int kind = 0; kind < KINDS && check_option("every") == NULL; kind++) {
        long n = check_number("from", 0);

        while (n < check_number("to", 10000) && attempt(kind, n, meant, type))
            n++;
        check_note("kind %d: %ld calls failed", kind, n);
        CHECK(n > 0);
    }
    MPI(MPI_Type_free(&type));
    return check_done();
}
