/* Memory that processes share; the contract is in memory/object.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for memfd_create */
#endif

#include "offload/memory/object.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "pcoll-"
#define PIECE ((size_t)64 * 1024) /* reserved per call */
#define STALE_SECONDS 60

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

enum { NAME_BYTES = sizeof(PREFIX) + 2 * sizeof(struct pcoll_process_id) };

static void name_of(const struct pcoll_shm_object *object, char *name)
{
    int used = snprintf(name, NAME_BYTES, "%s", PREFIX);

    for (size_t i = 0; i < sizeof(object->token.bytes); i++)
        used += snprintf(name + used, (size_t)(NAME_BYTES - used), "%02x", object->token.bytes[i]);
}

static void name_in_dev_shm(const struct pcoll_shm_object *object, char *name)
{
    name[0] = '/';
    name_of(object, name + 1);
}

/* ---- creating ---- */

/* Beyond the process's limit for files, a reservation does not just fail: the kernel sends SIGXFSZ,
 * which ends the process by default. */
static bool is_beyond_limit(size_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur;
}

/* A signal undoes and ends the call that it interrupts: under a fast timer a long call would never
 * complete. */
int pcoll_shm_object_reserve(int fd, size_t bytes)
{
    if (is_beyond_limit(bytes))
        return EFBIG;
    for (size_t done = 0; done < bytes;) {
        size_t piece = bytes - done < PIECE ? bytes - done : PIECE;
        int error = posix_fallocate(fd, (off_t)done, (off_t)piece);

        if (error == 0)
            done += piece;
        else if (error != EINTR)
            return error;
    }
    return 0;
}

/* The memory is not executable: some systems insist on saying so, and older ones do not know the
 * flag. */
static int create_memfd(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);

    return fd < 0 && errno == EINVAL ? memfd_create(name, MFD_CLOEXEC) : fd;
}

/* Remove a name that a killed process has left: a living owner holds the lock. An object between
 * creation and locking is not that old; if it is, its owner finds that it cannot be opened, which
 * is an answer. */
static void remove_stale(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;

    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        time(NULL) - status.st_mtime >= STALE_SECONDS && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(fd);
}

/* Once per process, since it takes time. */
static void remove_all_stale(void)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    DIR *folder = atomic_flag_test_and_set(&done) ? NULL : opendir("/dev/shm");
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
            remove_stale(dirfd(folder), entry->d_name);
    if (folder != NULL)
        closedir(folder);
}

static int create_named(const struct pcoll_shm_object *object)
{
    char name[NAME_BYTES + 1];
    int fd;

    remove_all_stale();
    name_in_dev_shm(object, name);
    do
        fd = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    while (fd < 0 && errno == EINTR);
    if (fd >= 0)
        flock(fd, LOCK_EX | LOCK_NB);
    return fd;
}

static int set_size(int fd, size_t bytes)
{
    if (is_beyond_limit(bytes))
        return EFBIG;
    return ftruncate(fd, (off_t)bytes) == 0 ? 0 : errno;
}

static int create(struct pcoll_shm_object *object, bool in_dev_shm, size_t bytes,
                  int (*provide)(int fd, size_t bytes))
{
    char name[NAME_BYTES];
    int error;

    pcoll_process_random(&object->token);
    object->pid = getpid();
    object->in_dev_shm = in_dev_shm;
    name_of(object, name);
    object->fd = in_dev_shm ? create_named(object) : create_memfd(name);
    if (object->fd < 0)
        return errno;
    error = provide(object->fd, bytes);
    if (error != 0)
        pcoll_shm_object_close(object);
    return error;
}

int pcoll_shm_object_create(struct pcoll_shm_object *object, bool in_dev_shm, size_t bytes)
{
    return create(object, in_dev_shm, bytes, pcoll_shm_object_reserve);
}

int pcoll_shm_object_create_sparse(struct pcoll_shm_object *object, size_t bytes)
{
    return create(object, 0, bytes, set_size);
}

void pcoll_shm_object_close(const struct pcoll_shm_object *object)
{
    char name[NAME_BYTES + 1];

    name_in_dev_shm(object, name);
    if (object->in_dev_shm)
        shm_unlink(name);
    close(object->fd);
}

/* ---- opening ---- */

/* That pid may be another process here, and opening its files would be a mistake: look first. */
static bool is_memfd(const char *path, const struct pcoll_shm_object *object)
{
    char name[NAME_BYTES], expected[NAME_BYTES + 20], found[NAME_BYTES + 20];
    ssize_t length = readlink(path, found, sizeof(found));

    name_of(object, name);
    snprintf(expected, sizeof(expected), "/memfd:%s (deleted)", name);
    return length == (ssize_t)strlen(expected) && memcmp(found, expected, (size_t)length) == 0;
}

static int open_memfd(const struct pcoll_shm_object *object)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)object->pid, (int)object->fd);
    if (is_memfd(path, object))
        return open(path, O_RDWR | O_CLOEXEC);
    errno = ENOENT;
    return -1;
}

int pcoll_shm_object_open(const struct pcoll_shm_object *object, int *fd_p)
{
    char name[NAME_BYTES + 1];

    name_in_dev_shm(object, name);
    do
        *fd_p = object->in_dev_shm ? shm_open(name, O_RDWR, 0600) : open_memfd(object);
    while (*fd_p < 0 && errno == EINTR);
    return *fd_p < 0 ? errno : 0;
}
