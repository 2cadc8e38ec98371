#include "check.h"
#include "adversity.h"
#include "collectives.h"
#include "phase.h"
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

enum { SHOWN = 10 };

struct check check;

static int option_count;
static char **options;
static unsigned long total_errors;
static int real_stderr = STDERR_FILENO;
static int captured = -1; /* the pipe that captures this rank's stderr */
static int judged;        /* init calls that -want has judged */

/* ---- options and messages ---- */

static const char *option_value(const char *argument, const char *name)
{
    size_t length = strlen(name);

    if (argument[0] != '-' || strncmp(argument + 1, name, length) != 0)
        return NULL;
    argument += 1 + length;
    return *argument == '=' ? argument + 1 : *argument == '\0' ? argument : NULL;
}

const char *check_option(const char *name)
{
    const char *value = NULL;

    for (int i = 1; i < option_count && value == NULL; i++)
        value = option_value(options[i], name);
    return value;
}

long check_number(const char *name, long otherwise)
{
    const char *value = check_option(name);

    return value != NULL ? strtol(value, NULL, 0) : otherwise;
}

void check_fail(const char *file, int line, const char *format, ...)
{
    char text[512];
    va_list args;

    if (__atomic_fetch_add(&check.errors, 1, __ATOMIC_RELAXED) >= SHOWN)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    dprintf(real_stderr, "rank %d of %d: %s:%d: %s: %s\n", check.rank, check.size, file, line,
            phase_text(), text);
}

void check_note(const char *format, ...)
{
    va_list args;

    if (!check.verbose || check.rank != 0)
        return;
    va_start(args, format);
    printf("# ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    fflush(stdout);
}

/* ---- stderr under -expect ---- */

static void capture_stderr(void)
{
    int ends[2];

    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) {
        perror("pipe2");
        exit(2);
    }
    real_stderr = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    captured = ends[0];
    phase_report_to(real_stderr);
}

static void read_captured(char *text, size_t size)
{
    size_t length = 0;
    ssize_t n;

    fflush(stderr);
    while (length + 1 < size && (n = read(captured, text + length, size - 1 - length)) > 0)
        length += (size_t)n;
    text[length] = '\0';
}

/* If the program ends early, the captured text must be shown, or it is lost. */
static void show_captured(void)
{
    static char text[1 << 16];

    if (captured < 0)
        return;
    read_captured(text, sizeof(text));
    dprintf(real_stderr, "%s", text);
}

static void look_for_expected(MPI_Comm comm)
{
    static char text[1 << 16];
    int wrong = 0;

    read_captured(text, sizeof(text));
    for (int i = 1; i < option_count; i++) {
        const char *wanted = option_value(options[i], "expect");
        const char *unwanted = option_value(options[i], "unsaid");
        int found, anywhere;

        if (wanted == NULL && unwanted == NULL)
            continue;
        found = strstr(text, wanted ? wanted : unwanted) != NULL;
        MPI(MPI_Allreduce(&found, &anywhere, 1, MPI_INT, MPI_LOR, comm));
        if (!anywhere && wanted && check.rank == 0)
            check_fail(__FILE__, __LINE__, "no \"%s\" on any rank's stderr", wanted);
        if (anywhere && unwanted && check.rank == 0)
            check_fail(__FILE__, __LINE__, "\"%s\" on a rank's stderr", unwanted);
        wrong |= wanted ? !anywhere : anywhere;
    }
    if (wrong || check.verbose)
        dprintf(real_stderr, "%s", text);
    captured = -1; /* the pipe stays open: a message that comes later would kill the rank */
}

/* ---- begin and end ---- */

/* Each collective has its own variable; the library ignores those that it does not know. */
static void set_algorithm(const char *algorithm)
{
#define SET(NAME, name) setenv("MPIR_CVAR_" #NAME "_INIT_ALGORITHM", algorithm, 1);
    if (algorithm != NULL) {
        COLLECTIVES(SET, SET)
    }
#undef SET
}

void check_begin(int argc, char **argv)
{
    option_count = argc;
    options = argv;
    check.verbose = check_option("v") != NULL;
    phase_watch((unsigned)check_number("timeout", 150));
    if (check_option("expect") != NULL) {
        capture_stderr();
        atexit(show_captured);
    }
    setenv("MPIR_CVAR_COLL_OFFLOAD_USED_ONCE", "0", 0);
    set_algorithm(check_option("algorithm"));
    adversity_before_init(check_option("deny-cma"), check_option("one-core") != NULL,
                          check_option("no-memfd"), check_option("own-pid"), check_option("env"));
    adversity_limit(check_option("limit"));
    adversity_no_cores(check_option("no-cores"));
    adversity_deny(check_option("deny"));
    check_progress(); /* a child that was forked there has no alarm yet */
}

void check_attach(MPI_Comm comm)
{
    uint64_t seed = (uint64_t)check_number("seed", 1);

    MPI_Comm_rank(comm, &check.rank);
    MPI_Comm_size(comm, &check.size);
    check.shared = seed * 0x9E3779B97F4A7C15u;
    check.local = check.shared ^ ((uint64_t)(check.rank + 1) << 32);
    adversity_after_init(comm, check_option("no-shm"), check_option("own-shm"),
                         check_option("tiny-shm") != NULL, check_option("no-mr"),
                         check_option("slow"));
    adversity_limit(check_option("limit-later"));
    adversity_deny(check_option("deny-later"));
}

void check_init(int *argc, char ***argv, int level)
{
    int provided;

    check_begin(*argc, *argv);
    adversity_open_session(check_option("session-first"));
    MPI_Init_thread(argc, argv, level, &provided);
    check_attach(MPI_COMM_WORLD);
    if (provided < level)
        check_fail(__FILE__, __LINE__, "thread level %d, wanted %d", provided, level);
}

static struct check_init_counts init_counts(void)
{
    return (struct check_init_counts){check_pvar("coll_offload_plans"),
                                      check_pvar("coll_offload_fallbacks")};
}

void check_want_begin(struct check_init_counts *before)
{
    if (check_option("want") != NULL)
        *before = init_counts();
}

void check_want_end(const struct check_init_counts *before, const char *name, int can_be_plan)
{
    const char *want = check_option("want");
    struct check_init_counts after;
    int wants_plan;

    if (want == NULL)
        return;
    after = init_counts();
    wants_plan = can_be_plan && strcmp(want, "plans") == 0;
    judged++;
    if (after.plans < 0 || after.fallbacks < 0)
        check_fail(__FILE__, __LINE__, "coll_offload_plans or _fallbacks is missing");
    else if (after.plans - before->plans != wants_plan ||
             after.fallbacks - before->fallbacks != !wants_plan)
        check_fail(__FILE__, __LINE__, "%s: %lld plans, %lld fallbacks: wanted a %s", name,
                   after.plans - before->plans, after.fallbacks - before->fallbacks,
                   wants_plan ? "plan" : "fallback");
}

static void look_for_risen(MPI_Comm comm)
{
    for (int i = 1; i < option_count; i++) {
        const char *name = option_value(options[i], "rises");
        int risen, anywhere;

        if (name == NULL)
            continue;
        risen = check_pvar(name) > 0;
        MPI(MPI_Allreduce(&risen, &anywhere, 1, MPI_INT, MPI_LOR, comm));
        if (!anywhere && check.rank == 0)
            check_fail(__FILE__, __LINE__, "%s is 0 on all ranks", name);
    }
}

void check_sum(MPI_Comm comm)
{
    look_for_risen(comm);
    if (captured >= 0)
        look_for_expected(comm);
    if (check_option("want") != NULL && judged == 0)
        check_fail(__FILE__, __LINE__, "-want, but no collective was created");
    MPI_Allreduce(&check.errors, &total_errors, 1, MPI_UNSIGNED_LONG, MPI_SUM, comm);
}

int check_end(void)
{
    if (check.rank == 0 && total_errors == 0)
        printf(" No Errors\n");
    else if (check.rank == 0)
        printf(" Found %lu errors\n", total_errors);
    fflush(stdout);
    return total_errors != 0;
}

int check_done(void)
{
    check_phase("finalize");
    check_sum(MPI_COMM_WORLD);
    adversity_before_finalize(check_option("late"));
    adversity_close_session();
    MPI_Finalize();
    return check_end();
}
