/* Nothing of a killed process stays in /dev/shm, and everything of a living one does. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "offload/memory/object.h"
#include "test/unit/tap.h"

static void make_name(const char *path, int age, int *fd_p)
{
    struct timespec times[2] = {{time(NULL) - age, 0}, {time(NULL) - age, 0}};

    *fd_p = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    futimens(*fd_p, times);
}

static void check_stale(void)
{
    static const char *const paths[] = {"/dev/shm/pcoll-test-dead", "/dev/shm/pcoll-test-young",
                                        "/dev/shm/pcoll-test-alive"};
    struct pcoll_shm_object object;
    int fds[3], made;

    make_name(paths[0], 1000, &fds[0]);
    make_name(paths[1], 0, &fds[1]);
    make_name(paths[2], 1000, &fds[2]);
    flock(fds[2], LOCK_EX);
    made = pcoll_shm_object_create(&object, 1, 5000) == 0;
    tap_ok(made && access(paths[0], F_OK) != 0,
           "the name that a killed process left behind is removed");
    tap_ok(access(paths[1], F_OK) == 0 && access(paths[2], F_OK) == 0,
           "the names of living processes are kept");
    if (made)
        pcoll_shm_object_close(&object);
    for (int i = 0; i < 3; i++) {
        close(fds[i]);
        unlink(paths[i]);
    }
}

/* The owner is killed while other processes have the object open. */
static void check_killed(void)
{
    struct pcoll_shm_object *object =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char command[100];
    pid_t child = fork();

    if (child == 0) {
        if (pcoll_shm_object_create(object, 0, 5000) == 0)
            raise(SIGKILL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    snprintf(command, sizeof(command), "ls /dev/shm | grep -q pcoll-%02x%02x%02x%02x",
             object->token.bytes[0], object->token.bytes[1], object->token.bytes[2],
             object->token.bytes[3]);
    tap_ok(!object->in_dev_shm && system(command) != 0, "a killed process leaves no name");
    munmap(object, 4096);
}
/* As after `ulimit -f`; the signal must not be delivered, since it would end the process. */
static void check_limit(void)
{
    const struct rlimit few = {4096, 4096};
    struct pcoll_shm_object object;
    int status;
    pid_t child = fork();

    if (child == 0) {
        setrlimit(RLIMIT_FSIZE, &few);
        _exit(pcoll_shm_object_create(&object, 0, 5000) != EFBIG ||
              pcoll_shm_object_create(&object, 1, 5000) != EFBIG ||
              pcoll_shm_object_create(&object, 0, 4000) != 0);
    }
    tap_ok(waitpid(child, &status, 0) == child && status == 0,
           "an object beyond the limit on files is an error");
}

int main(void)
{
    check_stale();
    check_killed();
    check_limit();
    return tap_done();
}
