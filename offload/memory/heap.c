/* The heap of this process; the contract is in memory/heap.h. */
#include "offload/memory/heap.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "algorithms/util.h"
#include "offload/memory/extents.h"
#include "offload/memory/object.h"

#define FIRST_CHUNK ((size_t)16 << 20)

struct heap_object {
    char *base; /* NULL: no object has this number now */
    size_t bytes;
    bool is_inherited; /* from the process that forked this one: not of this heap */
    struct pcoll_shm_object shared;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct heap_object *objects;
static int nobjects;
static struct pcoll_extents extents; /* of all objects */
static size_t total;                 /* the size of all objects */

/* ---- forks ---- */

/* The child has no heap yet. It shares the memory that exists, but none that either of the two gets
 * from now on. */
static void forget(void)
{
    pthread_mutex_init(&mutex, NULL);
    for (int i = 0; i < nobjects; i++)
        objects[i].is_inherited = objects[i].base != NULL;
    extents = (struct pcoll_extents){NULL, 0, 0};
    total = 0;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget);
}

/* ---- objects ---- */

/* If the system commits only the memory that it has, a page may be refused when it is first
 * touched, by a signal. */
static bool commits_more(void)
{
    static char mode; /* 0: not asked yet */
    int fd;

    if (mode != 0)
        return mode != '2';
    mode = '2';
    fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (read(fd, &mode, 1) != 1)
        mode = '2';
    close(fd);
    return mode != '2';
}

/* Room for one more object: its number, or PCOLL_NONE. */
static int make_room(void)
{
    struct heap_object *more;

    for (int i = 0; i < nobjects; i++)
        if (objects[i].base == NULL)
            return i;
    more = realloc(objects, (size_t)(nobjects + 1) * sizeof(*objects));
    if (more == NULL)
        return PCOLL_NONE;
    objects = more;
    objects[nobjects] = (struct heap_object){.base = NULL};
    return nobjects++;
}

/* Huge pages come only where the system gives them to shared memory on advice. */
static bool open_object(struct heap_object *object, size_t bytes)
{
    void *base;

    if (pcoll_shm_object_create_sparse(&object->shared, bytes) != 0)
        return false;
    base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, object->shared.fd, 0);
    if (base == MAP_FAILED) {
        pcoll_shm_object_close(&object->shared);
        return false;
    }
    madvise(base, bytes, MADV_HUGEPAGE);
    object->base = base;
    object->bytes = bytes;
    return true;
}

static void close_object(int number)
{
    struct heap_object *object = &objects[number];

    munmap(object->base, object->bytes);
    pcoll_shm_object_close(&object->shared);
    pcoll_extents_drop_object(&extents, number);
    total -= object->bytes;
    object->base = NULL;
}

/* Returns false if there is no more memory. */
static bool add_object(size_t bytes)
{
    const size_t wish = total > FIRST_CHUNK ? total : FIRST_CHUNK;
    const int number = make_room();

    if (number == PCOLL_NONE)
        return false;
    if ((bytes >= wish || !open_object(&objects[number], wish)) &&
        !open_object(&objects[number], bytes))
        return false;
    pcoll_extents_add_object(&extents, number, objects[number].bytes);
    total += objects[number].bytes;
    return true;
}

/* The object, perhaps an inherited one, that contains the bytes, or PCOLL_NONE. */
static int any_object_of(const void *memory, uint64_t bytes)
{
    const uintptr_t at = (uintptr_t)memory;

    for (int i = 0; i < nobjects; i++) {
        const uintptr_t base = (uintptr_t)objects[i].base;

        if (base != 0 && at >= base && at - base < objects[i].bytes &&
            bytes <= objects[i].bytes - (at - base))
            return i;
    }
    return PCOLL_NONE;
}

static int object_of(const void *memory, uint64_t bytes)
{
    const int number = any_object_of(memory, bytes);

    return number == PCOLL_NONE || objects[number].is_inherited ? PCOLL_NONE : number;
}

/* ---- memory ---- */

static size_t in_pages(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return pcoll_round_up(bytes, page);
}

static void *take(size_t bytes)
{
    const struct pcoll_extent *extent;

    if (pcoll_extents_reserve(&extents) != PCOLL_OK)
        return NULL;
    extent = pcoll_extents_take(&extents, bytes);
    if (extent == NULL && add_object(bytes))
        extent = pcoll_extents_take(&extents, bytes);
    return extent ? objects[extent->object].base + extent->offset : NULL;
}

void *pcoll_heap_get(size_t bytes)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    void *memory;

    pthread_once(&watched, watch_forks);
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return NULL;
    pthread_mutex_lock(&mutex);
    memory = commits_more() ? take(in_pages(bytes)) : NULL;
    pthread_mutex_unlock(&mutex);
    return memory;
}

static bool is_wanted(const void *context, const struct pcoll_extent *extent)
{
    const struct pcoll_extent *wanted = context;

    return extent->object == wanted->object && extent->offset == wanted->offset;
}

static const struct pcoll_extent *find_taken(int object, size_t offset)
{
    const struct pcoll_extent wanted = {.object = object, .offset = offset};

    for (int i = 0; i < extents.n; i++)
        if (extents.list[i].taken && is_wanted(&wanted, &extents.list[i]))
            return &extents.list[i];
    return NULL;
}

/* The first object stays, without pages: programs that allocate and free in turn come back to it.
 */
static enum pcoll_result put(void *memory)
{
    const int number = any_object_of(memory, 1);
    const struct pcoll_extent *found;
    struct pcoll_extent wanted;

    if (number == PCOLL_NONE)
        return PCOLL_UNSUPPORTED;
    if (objects[number].is_inherited)
        return PCOLL_OK;
    found = find_taken(number, (size_t)((char *)memory - objects[number].base));
    if (found == NULL)
        return PCOLL_ERR_INVALID;
    wanted = *found;
    if (madvise(memory, wanted.bytes, MADV_REMOVE) != 0) /* it is locked: mlockall(2) */
        memset(memory, 0, wanted.bytes);
    pcoll_extents_merge(&extents, is_wanted, &wanted);
    if (number > 0 && pcoll_extents_is_unused(&extents, number))
        close_object(number);
    return PCOLL_OK;
}

enum pcoll_result pcoll_heap_put(void *memory)
{
    enum pcoll_result result;

    pthread_mutex_lock(&mutex);
    result = put(memory);
    pthread_mutex_unlock(&mutex);
    return result;
}

struct pcoll_heap_place pcoll_heap_find(const void *memory, uint64_t bytes)
{
    struct pcoll_heap_place place = {.fd = PCOLL_NONE};
    int number;

    if (bytes == 0)
        return place;
    pthread_mutex_lock(&mutex);
    number = object_of(memory, bytes);
    if (number != PCOLL_NONE)
        place = (struct pcoll_heap_place){
            .token = objects[number].shared.token,
            .offset = (uint64_t)((const char *)memory - objects[number].base),
            .fd = objects[number].shared.fd,
        };
    pthread_mutex_unlock(&mutex);
    return place;
}

char *pcoll_heap_object(const struct pcoll_process_id *token, size_t *bytes_p)
{
    char *base = NULL;

    pthread_mutex_lock(&mutex);
    for (int i = 0; i < nobjects && base == NULL; i++)
        if (objects[i].base != NULL && !objects[i].is_inherited &&
            memcmp(token, &objects[i].shared.token, sizeof(*token)) == 0) {
            base = objects[i].base;
            *bytes_p = objects[i].bytes;
        }
    pthread_mutex_unlock(&mutex);
    return base;
}
