/* State that the process shares with the backend: the position of strtok, a FIFO in place of a
 * tuning table, and the order in which communicators are first used.
 *
 *   -fifo         the tuning file is a FIFO that nobody writes to
 *   -self-first   MPI_COMM_SELF is used before MPI_COMM_WORLD */

#include "trial.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* All inits, and their messages, happen between two words that the application splits with
 * strtok. */
static void strtok_goes_on(void)
{
    char words[] = "one two";

    check_phase("strtok");
    CHECK(strcmp(strtok(words, " "), "one") == 0);
    trial_all_kinds(8, 0, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL);
    CHECK(strcmp(strtok(NULL, " "), "two") == 0);
}

static void make_fifo(char *path, size_t bytes)
{
    snprintf(path, bytes, "/tmp/pcoll-test-fifo-%ld", (long)getpid());
    if (mkfifo(path, 0600) != 0)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    setenv("MPIR_CVAR_COLL_OFFLOAD_TUNING_FILE", path, 1);
}

int main(int argc, char **argv)
{
    int fifo = 0;
    char path[64];

    for (int i = 1; i < argc; i++)
        fifo |= strcmp(argv[i], "-fifo") == 0;
    if (fifo)
        make_fifo(path, sizeof(path));
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (check_option("self-first") != NULL)
        trial_all_kinds(8, 0, 2, 1, MPI_COMM_SELF, MPI_INFO_NULL);
    strtok_goes_on();
    if (fifo)
        unlink(path);
    return check_done();
}
