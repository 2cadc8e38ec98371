/* Chunks of other processes' heaps; the contract is in memory/heap.h. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "offload/memory/heap.h"
#include "offload/memory/object.h"
#include "offload/memory/xpmem.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pcoll_attachment *attachments;

/* Returns false if the process refuses, is in another PID namespace, or has freed the memory. */
static bool map(const struct pcoll_shm_object *object, struct pcoll_attachment *attachment)
{
    struct stat status;
    void *base = MAP_FAILED;
    int fd;

    if (pcoll_shm_object_open(object, &fd) != 0)
        return false;
    if (fstat(fd, &status) == 0 && status.st_size > 0)
        base = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (base == MAP_FAILED)
        return false;
    madvise(base, (size_t)status.st_size, MADV_DONTDUMP); /* it is in its owner's core file */
    attachment->base = base;
    attachment->bytes = (size_t)status.st_size;
    return true;
}

static struct pcoll_attachment *add(pid_t pid, const struct pcoll_heap_place *place)
{
    const struct pcoll_shm_object object = {.token = place->token, .pid = pid, .fd = place->fd};
    struct pcoll_attachment *attachment = calloc(1, sizeof(*attachment));

    if (attachment == NULL)
        return NULL;
    attachment->token = place->token;
    attachment->base = pcoll_heap_object(&place->token, &attachment->bytes);
    attachment->is_own = attachment->base != NULL;
    if (!attachment->is_own && !map(&object, attachment)) {
        free(attachment);
        return NULL;
    }
    attachment->next = attachments;
    attachments = attachment;
    return attachment;
}

struct pcoll_attachment *pcoll_attach(pid_t pid, const struct pcoll_heap_place *place)
{
    struct pcoll_attachment *attachment;

    pthread_mutex_lock(&mutex);
    attachment = attachments;
    while (attachment != NULL &&
           memcmp(&attachment->token, &place->token, sizeof(place->token)) != 0)
        attachment = attachment->next;
    if (attachment == NULL)
        attachment = add(pid, place);
    if (attachment != NULL)
        attachment->refs++;
    pthread_mutex_unlock(&mutex);
    return attachment;
}

static void drop(struct pcoll_attachment *attachment)
{
    struct pcoll_attachment **link = &attachments;

    while (*link != attachment)
        link = &(*link)->next;
    *link = attachment->next;
    if (!attachment->is_own)
        munmap(attachment->base, attachment->bytes);
    free(attachment);
}

void pcoll_detach(struct pcoll_attachment *attachment)
{
    if (attachment == NULL)
        return;
    if (attachment->apid != 0) {
        pcoll_xpmem_detach(attachment);
        return;
    }
    pthread_mutex_lock(&mutex);
    if (--attachment->refs == 0)
        drop(attachment);
    pthread_mutex_unlock(&mutex);
}
