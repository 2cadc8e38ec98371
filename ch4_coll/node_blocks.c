/* A block of shared memory for each rank of this node. The ranks open an object in /dev/shm that is
 * named after the job and the node, and no rank waits for another; when the last of them has opened
 * it, it loses its name. If a rank cannot open it, it keeps its name until the first of them ends,
 * as ranks that come later must meet the others in it. */

#include "node_blocks.h"

#include "mpidimpl.h"

#include "algorithms/util.h"
#include "offload/memory/object.h"

#include "mpir_pmi.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct object {
    _Atomic int opened; /* how many ranks have opened it */
    char pad[MPIDI_PCOLL_NODE_BLOCK_BYTES - sizeof(int)];
    char blocks[][MPIDI_PCOLL_NODE_BLOCK_BYTES];
};

static struct object *object = NULL;
static char name[64]; /* "": not opened yet */

static size_t size_of_object(void)
{
    return sizeof(struct object) + (size_t)MPIR_Process.local_size * MPIDI_PCOLL_NODE_BLOCK_BYTES;
}

uint64_t MPIDI_PCOLL_hash(const char *text)
{
    return pcoll_hash(text, text ? strlen(text) : 0);
}

/* MPICH's nodes may be several on one machine. The job's name may be longer than a file's. */
static void set_name(void)
{
    snprintf(name, sizeof(name), "/pcoll_cores_%016llx_%d",
             (unsigned long long)MPIDI_PCOLL_hash(MPIR_pmi_job_id()),
             MPIR_Process.node_map[MPIR_Process.rank]);
}

/* Allocate the zero-filled pages now: a shortage would otherwise raise SIGBUS later. Every rank
 * gives the object its size. Returns an errno. */
static int reserve(int fd)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return errno;
    return status.st_uid == geteuid() ? pcoll_shm_object_reserve(fd, size_of_object()) : EPERM;
}

/* Sets `object`. Returns an errno. */
static int map(void)
{
    const int fd = shm_open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    int error = fd < 0 ? errno : reserve(fd);
    void *at;

    if (error == 0) {
        at = mmap(NULL, size_of_object(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at != MAP_FAILED)
            object = at;
        else
            error = errno;
    }
    if (fd >= 0)
        close(fd);
    return error;
}

/* Where sessions come and go, ranks that never met in this object meet in another one or not at
 * all. */
static int close_object(void *extra)
{
    if (!object || atomic_load(&object->opened) < MPIR_Process.local_size)
        shm_unlink(name);
    if (object)
        munmap(object, size_of_object());
    object = NULL;
    name[0] = '\0';
    return 0;
}

int MPIDI_PCOLL_node_blocks_open(void)
{
    int error;

    if (object || MPIR_Process.local_size == 1)
        return 0;
    if (!name[0]) {
        set_name();
        MPIR_Add_finalize(close_object, NULL, 2);
    }
    error = map();
    if (error == 0 && atomic_fetch_add(&object->opened, 1) + 1 == MPIR_Process.local_size)
        shm_unlink(name);
    return error;
}

void *MPIDI_PCOLL_node_block(int local_rank)
{
    return object ? object->blocks[local_rank] : NULL;
}
