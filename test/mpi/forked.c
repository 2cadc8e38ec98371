/* A child of fork() that calls MPI, which MPI forbids: its calls fail or do nothing, and the plans
 * of its parent, active or not, deliver right data all the same. So they do if the child behaves.
 *
 *   -who=RANK (0)   the rank that forks
 *   -bytes=N (100000)   the size of each collective */

#include "trial.h"

#include <sys/wait.h>
#include <unistd.h>

enum { TESTS = 300, TEST_USEC = 100, NOT_REFUSED = 2 };

/* What a child does; returns nonzero if that was not refused. */
typedef int action(struct trial *active, struct trial *inactive);

static int test(struct trial *active, struct trial *inactive)
{
    int flag = 0, rc = MPI_SUCCESS;

    (void)inactive;
    for (int i = 0; i < TESTS && rc == MPI_SUCCESS && !flag; i++) {
        rc = MPI_Test(&active->request, &flag, MPI_STATUS_IGNORE);
        usleep(TEST_USEC);
    }
    return rc == MPI_SUCCESS && flag;
}

static int wait_for(struct trial *active, struct trial *inactive)
{
    (void)inactive;
    return MPI_Wait(&active->request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

static int start(struct trial *active, struct trial *inactive)
{
    return MPI_Start(&inactive->request) == MPI_SUCCESS && wait_for(inactive, active);
}

static int free_requests(struct trial *active, struct trial *inactive)
{
    MPI_Request_free(&active->request);
    MPI_Request_free(&inactive->request);
    return 0;
}

static int init(struct trial *active, struct trial *inactive)
{
    MPI_Request request;

    (void)active, (void)inactive;
    return MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request) == MPI_SUCCESS;
}

static void *allocated;

static int free_memory(struct trial *active, struct trial *inactive)
{
    (void)active, (void)inactive;
    return MPI_Free_mem(allocated) != MPI_SUCCESS;
}

static int leave(struct trial *active, struct trial *inactive)
{
    (void)active, (void)inactive;
    return 0;
}

static int execute(struct trial *active, struct trial *inactive)
{
    (void)active, (void)inactive;
    execlp("true", "true", (char *)NULL);
    return 1;
}

static void finalize(void)
{
    MPI_Finalize();
}

/* The library ends the process with EXIT_FAILURE. */
static int end(struct trial *active, struct trial *inactive)
{
    (void)active, (void)inactive;
    atexit(finalize);
    exit(EXIT_SUCCESS);
}

static const struct {
    const char *name;
    action *act;
} actions[] = {{"tests", test},
               {"waits", wait_for},
               {"starts", start},
               {"frees requests", free_requests},
               {"calls an init", init},
               {"frees memory", free_memory},
               {"calls MPI_Finalize as it exits", end},
               {"leaves", leave},
               {"executes a program", execute}};

static void fork_and(action *act, const char *name, struct trial *active, struct trial *inactive)
{
    int status = 0, is_done;
    pid_t child;

    MPI(MPI_Request_get_status(active->request, &is_done, MPI_STATUS_IGNORE));
    child = fork();
    for (int r = 0; child != 0 && r < check.size; r++)
        if (r != check.rank)
            MPI(MPI_Send(NULL, 0, MPI_BYTE, r, 0, MPI_COMM_WORLD));
    if (child == 0) {
        int was_refused = !act(active, inactive) || is_done;

        _exit(was_refused ? EXIT_SUCCESS : NOT_REFUSED);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        check_fail(__FILE__, __LINE__, "no child");
    else if (WIFSIGNALED(status))
        check_fail(__FILE__, __LINE__, "a child that %s: signal %d", name, WTERMSIG(status));
    else if (WEXITSTATUS(status) != (act == end ? EXIT_FAILURE : EXIT_SUCCESS))
        check_fail(__FILE__, __LINE__, "a child that %s is not refused", name);
}

/* The plan is active when its rank forks; the others start it while the child runs. */
static void attempt(enum trial_kind kind, size_t bytes, int who)
{
    struct trial active, inactive;

    trial_init(&active, kind, bytes, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL);
    trial_init(&inactive, kind, bytes, 0, 2, MPI_COMM_WORLD, MPI_INFO_NULL);
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        check_phase("%s, a child %s", trial_name(kind), actions[i].name);
        if (check.rank != who)
            MPI(MPI_Recv(NULL, 0, MPI_BYTE, who, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        trial_start(&active);
        if (check.rank == who)
            fork_and(actions[i].act, actions[i].name, &active, &inactive);
        trial_wait(&active);
        trial_run(&inactive, 3);
    }
    trial_free(&active);
    trial_free(&inactive);
}

static void run_a_program(void)
{
    FILE *pipe = popen("echo said", "r");
    char said[8] = "";

    CHECK(pipe != NULL && fgets(said, sizeof(said), pipe) != NULL && strcmp(said, "said\n") == 0);
    if (pipe != NULL)
        CHECK(pclose(pipe) == 0);
    CHECK(system("true") == 0);
}

int main(int argc, char **argv)
{
    int who;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    who = (int)check_number("who", 0);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Alloc_mem(1 << 20, MPI_INFO_NULL, &allocated));
    run_a_program();
    for (int kind = 0; kind < TRIAL_KINDS; kind++)
        if (trial_wanted((enum trial_kind)kind))
            attempt((enum trial_kind)kind, (size_t)check_number("bytes", 100000), who);
    MPI(MPI_Free_mem(allocated));
    return check_done();
}
