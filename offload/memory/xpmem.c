/* Memory of other processes by XPMEM; the contract is in memory/xpmem.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for pipe2 */
#endif

#include "offload/memory/xpmem.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/memory/heap.h"

static struct {
#define MEMBER(type, name, parameters) type(*name) parameters;
    PCOLL_XPMEM_FUNCTIONS(MEMBER)
#undef MEMBER
} library;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pcoll_xpmem_id segment = PCOLL_NONE;
static pid_t owner; /* of the segment; 0: nobody has asked for one yet */
static char refusal[160];
static _Atomic int attached;

/* ---- this process ---- */

/* Returns false, with the refusal, if something is missing. */
static bool find_functions(void *handle)
{
#define FIND(type, name, parameters)                                                               \
    do {                                                                                           \
        void *found = dlsym(handle, "xpmem_" #name);                                               \
        if (found == NULL) {                                                                       \
            snprintf(refusal, sizeof(refusal), PCOLL_XPMEM_LIBRARY " has no xpmem_" #name);        \
            return false;                                                                          \
        }                                                                                          \
        memcpy(&library.name, &found, sizeof(found));                                              \
    } while (0);
    PCOLL_XPMEM_FUNCTIONS(FIND)
#undef FIND
    return true;
}

/* Most nodes have no such device, and none of them should search for the library. */
static bool can_open_device(void)
{
    const int fd = open(PCOLL_XPMEM_DEVICE, O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        snprintf(refusal, sizeof(refusal), PCOLL_XPMEM_DEVICE ": %s", strerror(errno));
        return false;
    }
    close(fd);
    return true;
}

static bool load(void)
{
    void *handle;

    if (library.detach != NULL) /* the last one that is found */
        return true;
    if (!can_open_device())
        return false;
    handle = dlopen(PCOLL_XPMEM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(refusal, sizeof(refusal), "%.150s", dlerror());
        return false;
    }
    if (find_functions(handle))
        return true;
    dlclose(handle);
    return false;
}

static void make(void)
{
    segment = PCOLL_NONE;
    if (!load())
        return;
    segment =
        library.make(NULL, SIZE_MAX, PCOLL_XPMEM_PERMIT_MODE, (void *)(uintptr_t)(unsigned)0600);
    if (segment == PCOLL_NONE)
        snprintf(refusal, sizeof(refusal), "xpmem_make: %s", strerror(errno));
}

pcoll_xpmem_id pcoll_xpmem_segment(void)
{
    pcoll_xpmem_id found;

    pthread_mutex_lock(&mutex);
    if (owner != getpid()) {
        owner = getpid();
        make();
    }
    found = segment;
    pthread_mutex_unlock(&mutex);
    return found;
}

const char *pcoll_xpmem_refusal(void)
{
    return refusal;
}

/* ---- other processes ---- */

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t pcoll_xpmem_page(uint64_t address)
{
    return address - address % page_bytes();
}

/* Some memory cannot be shown to a third process, such as that of a device, or what its owner has
 * itself attached. A process that touches it is ended by SIGBUS, but a call of the kernel that does
 * so fails. */
static bool can_touch(const struct pcoll_attachment *attachment)
{
    int ends[2];
    bool can;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    can = write(ends[1], attachment->base, 1) == 1 &&
          write(ends[1], attachment->base + attachment->bytes - 1, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return can;
}

/* Returns false if the owner of the segment has ended, is another user's, or the kernel lacks
 * memory. */
static bool map(struct pcoll_attachment *attachment, pcoll_xpmem_id of, uint64_t first)
{
    const pcoll_xpmem_id apid = library.get(of, PCOLL_XPMEM_RDWR, PCOLL_XPMEM_PERMIT_MODE, NULL);
    void *base;

    if (apid == PCOLL_NONE)
        return false;
    base = library.attach((struct pcoll_xpmem_addr){apid, (off_t)first}, attachment->bytes, NULL);
    if (base == (void *)-1) {
        library.release(apid);
        return false;
    }
    attachment->base = base;
    attachment->apid = apid;
    return true;
}

static struct pcoll_attachment *attach(pcoll_xpmem_id of, uint64_t address, uint64_t bytes)
{
    const uint64_t first = pcoll_xpmem_page(address);
    struct pcoll_attachment *attachment = calloc(1, sizeof(*attachment));

    if (attachment == NULL)
        return NULL;
    attachment->bytes = (size_t)(pcoll_xpmem_page(address + bytes - 1) + page_bytes() - first);
    if (!map(attachment, of, first)) {
        free(attachment);
        return NULL;
    }
    if (can_touch(attachment))
        return attachment;
    library.detach(attachment->base);
    library.release(attachment->apid);
    free(attachment);
    return NULL;
}

struct pcoll_attachment *pcoll_xpmem_attach(pcoll_xpmem_id of, uint64_t address, uint64_t bytes)
{
    struct pcoll_attachment *attachment = NULL;

    if (pcoll_xpmem_segment() == PCOLL_NONE || bytes == 0 || bytes > SIZE_MAX / 2)
        return NULL;
    if (atomic_fetch_add(&attached, 1) < PCOLL_XPMEM_MAX_ATTACHED)
        attachment = attach(of, address, bytes);
    if (attachment == NULL)
        atomic_fetch_sub(&attached, 1);
    return attachment;
}

/* The module ends a process that unmaps an attachment in any other way. A child of a fork has none
 * of its parent's. */
void pcoll_xpmem_detach(struct pcoll_attachment *attachment)
{
    library.detach(attachment->base);
    library.release(attachment->apid);
    free(attachment);
    atomic_fetch_sub(&attached, 1);
}
