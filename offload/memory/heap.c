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

struct chunk {
    char *base; /* NULL: no chunk has this number now */
    size_t bytes;
    bool is_inherited; /* from the process that forked this one: not of this heap */
    struct pcoll_shm_object object;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *chunks;
static int nchunks;
static struct pcoll_extents extents; /* the parts of all chunks */
static size_t total;                 /* the size of all chunks */

/* ---- forks ---- */

/* The child has no heap yet. It shares the memory that exists, but none that either of the two gets
 * from now on. */
static void forget(void)
{
    pthread_mutex_init(&mutex, NULL);
    for (int i = 0; i < nchunks; i++)
        chunks[i].is_inherited = chunks[i].base != NULL;
    extents = (struct pcoll_extents){NULL, 0, 0};
    total = 0;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget);
}

/* ---- chunks ---- */

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

/* Room for one more chunk: its number, or PCOLL_NONE. */
static int make_room(void)
{
    struct chunk *more;

    for (int i = 0; i < nchunks; i++)
        if (chunks[i].base == NULL)
            return i;
    more = realloc(chunks, (size_t)(nchunks + 1) * sizeof(*chunks));
    if (more == NULL)
        return PCOLL_NONE;
    chunks = more;
    chunks[nchunks] = (struct chunk){.base = NULL};
    return nchunks++;
}

/* Huge pages come only where the system gives them to shared memory on advice. */
static bool open_chunk(struct chunk *chunk, size_t bytes)
{
    void *base;

    if (pcoll_shm_object_create_sparse(&chunk->object, bytes) != 0)
        return false;
    base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, chunk->object.fd, 0);
    if (base == MAP_FAILED) {
        pcoll_shm_object_close(&chunk->object);
        return false;
    }
    madvise(base, bytes, MADV_HUGEPAGE);
    chunk->base = base;
    chunk->bytes = bytes;
    return true;
}

static void close_chunk(int number)
{
    struct chunk *chunk = &chunks[number];

    munmap(chunk->base, chunk->bytes);
    pcoll_shm_object_close(&chunk->object);
    pcoll_extents_drop_chunk(&extents, number);
    total -= chunk->bytes;
    chunk->base = NULL;
}

/* False: there is no more memory. */
static bool add_chunk(size_t bytes)
{
    const size_t wish = total > FIRST_CHUNK ? total : FIRST_CHUNK;
    const int number = make_room();

    if (number == PCOLL_NONE)
        return false;
    if ((bytes >= wish || !open_chunk(&chunks[number], wish)) &&
        !open_chunk(&chunks[number], bytes))
        return false;
    pcoll_extents_add_chunk(&extents, number, chunks[number].bytes);
    total += chunks[number].bytes;
    return true;
}

/* The chunk, perhaps an inherited one, that contains the bytes, or PCOLL_NONE. */
static int any_chunk_of(const void *memory, uint64_t bytes)
{
    const uintptr_t at = (uintptr_t)memory;

    for (int i = 0; i < nchunks; i++) {
        const uintptr_t base = (uintptr_t)chunks[i].base;

        if (base != 0 && at >= base && at - base < chunks[i].bytes &&
            bytes <= chunks[i].bytes - (at - base))
            return i;
    }
    return PCOLL_NONE;
}

static int chunk_of(const void *memory, uint64_t bytes)
{
    const int number = any_chunk_of(memory, bytes);

    return number == PCOLL_NONE || chunks[number].is_inherited ? PCOLL_NONE : number;
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
    if (extent == NULL && add_chunk(bytes))
        extent = pcoll_extents_take(&extents, bytes);
    return extent ? chunks[extent->chunk].base + extent->offset : NULL;
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

static bool is_part(const void *context, const struct pcoll_extent *extent)
{
    const struct pcoll_extent *part = context;

    return extent->chunk == part->chunk && extent->offset == part->offset;
}

static const struct pcoll_extent *find_taken(int chunk, size_t offset)
{
    const struct pcoll_extent part = {.chunk = chunk, .offset = offset};

    for (int i = 0; i < extents.n; i++)
        if (extents.list[i].taken && is_part(&part, &extents.list[i]))
            return &extents.list[i];
    return NULL;
}

/* The first chunk stays, without pages: programs that allocate and free in turn come back to it. */
static enum pcoll_result put(void *memory)
{
    const int number = any_chunk_of(memory, 1);
    const struct pcoll_extent *found;
    struct pcoll_extent part;

    if (number == PCOLL_NONE)
        return PCOLL_UNSUPPORTED;
    if (chunks[number].is_inherited)
        return PCOLL_OK;
    found = find_taken(number, (size_t)((char *)memory - chunks[number].base));
    if (found == NULL)
        return PCOLL_ERR_INVALID;
    part = *found;
    madvise(memory, part.bytes, MADV_REMOVE);
    pcoll_extents_merge(&extents, is_part, &part);
    if (number > 0 && pcoll_extents_is_unused(&extents, number))
        close_chunk(number);
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
    number = chunk_of(memory, bytes);
    if (number != PCOLL_NONE)
        place = (struct pcoll_heap_place){
            .token = chunks[number].object.token,
            .offset = (uint64_t)((const char *)memory - chunks[number].base),
            .fd = chunks[number].object.fd,
        };
    pthread_mutex_unlock(&mutex);
    return place;
}

char *pcoll_heap_chunk(const struct pcoll_process_id *token, size_t *bytes_p)
{
    char *base = NULL;

    pthread_mutex_lock(&mutex);
    for (int i = 0; i < nchunks && base == NULL; i++)
        if (chunks[i].base != NULL && !chunks[i].is_inherited &&
            memcmp(token, &chunks[i].object.token, sizeof(*token)) == 0) {
            base = chunks[i].base;
            *bytes_p = chunks[i].bytes;
        }
    pthread_mutex_unlock(&mutex);
    return base;
}
