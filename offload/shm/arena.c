/* Shared memory of a group; the contract is in shm/arena.h. */
#include "offload/shm/arena.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define FIRST_CHUNK ((size_t)256 * 1024)

/* Rank 0's record of a block: its place never changes, only who uses it. */
struct pcoll_shm_free {
    int chunk;
    size_t offset, bytes;
};

/* Rank 0's answer to a request for a block. */
struct grant {
    int32_t result;
    int32_t chunk;
    uint64_t offset;
    uint64_t chunk_size;   /* of a chunk to be mapped first, or 0 */
    uint64_t creator_base; /* where rank 0 has mapped it */
    int64_t creator_pid;
    char name[40];
};

_Static_assert(sizeof(struct grant) <= PCOLL_COMBINE_WORDS * sizeof(uint64_t),
               "it is told at once");

static void report_errno(const struct pcoll_bootstrap *bootstrap, const char *what, int error)
{
    char text[256];

    snprintf(text, sizeof(text), "shared memory: %s: %s", what, strerror(error));
    bootstrap->report(bootstrap->context, text);
}

void pcoll_shm_arena_init(struct pcoll_shm_arena *arena, int rank, int nranks)
{
    memset(arena, 0, sizeof(*arena));
    arena->rank = rank;
    arena->nranks = nranks;
}

void pcoll_shm_arena_fini(struct pcoll_shm_arena *arena)
{
    for (int i = 0; i < arena->nchunks; i++)
        if (arena->chunks[i].mapped)
            munmap(arena->chunks[i].base, arena->chunks[i].size);
    free(arena->chunks);
    free(arena->blocks);
}

static enum pcoll_result push_chunk(struct pcoll_shm_arena *arena, char *base, size_t size,
                                    int mapped)
{
    struct pcoll_shm_chunk *chunks =
        realloc(arena->chunks, (size_t)(arena->nchunks + 1) * sizeof(*chunks));

    if (chunks == NULL)
        return PCOLL_ERR_NOMEM;
    arena->chunks = chunks;
    chunks[arena->nchunks++] = (struct pcoll_shm_chunk){base, size, mapped};
    return PCOLL_OK;
}

static enum pcoll_result map_chunk(struct pcoll_shm_arena *arena, int fd, size_t size)
{
    char *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (base == MAP_FAILED)
        return PCOLL_ERR_SYSTEM;
    if (push_chunk(arena, base, size, 1) != PCOLL_OK) {
        munmap(base, size);
        errno = ENOMEM;
        return PCOLL_ERR_SYSTEM;
    }
    return PCOLL_OK;
}

/* Rank 0: a new object, its pages reserved, mapped. */
static enum pcoll_result create_chunk(struct pcoll_shm_arena *arena,
                                      const struct pcoll_bootstrap *bootstrap, size_t size,
                                      struct grant *grant)
{
    uint64_t salt = 0;
    char what[120];
    int fd, error;

    if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) < 0)
        salt = (uint64_t)(uintptr_t)arena;
    snprintf(grant->name, sizeof(grant->name), "/pcoll-%ld-%08" PRIx32, (long)getpid(),
             (uint32_t)salt);
    fd = shm_open(grant->name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (fd < 0) {
        report_errno(bootstrap, "cannot create an object in /dev/shm", errno);
        return PCOLL_ERR_SYSTEM;
    }
    error = posix_fallocate(fd, 0, (off_t)size);
    if (error == 0 && map_chunk(arena, fd, size) != PCOLL_OK)
        error = errno;
    close(fd);
    if (error != 0) {
        shm_unlink(grant->name);
        snprintf(what, sizeof(what), "cannot reserve %zu bytes in /dev/shm", size);
        report_errno(bootstrap, what, error);
        return PCOLL_ERR_SYSTEM;
    }
    grant->chunk_size = size;
    grant->creator_base = (uint64_t)(uintptr_t)arena->chunks[arena->nchunks - 1].base;
    grant->creator_pid = getpid();
    arena->used = 0;
    return PCOLL_OK;
}

/* Another rank: map what rank 0 has made; a rank that is a thread of rank 0's process shares its
 * mapping. */
static enum pcoll_result attach_chunk(struct pcoll_shm_arena *arena,
                                      const struct pcoll_bootstrap *bootstrap,
                                      const struct grant *grant)
{
    enum pcoll_result result;
    int fd;

    if (grant->creator_pid == getpid())
        return push_chunk(arena, (char *)(uintptr_t)grant->creator_base, (size_t)grant->chunk_size,
                          0);
    fd = shm_open(grant->name, O_RDWR, 0600);
    if (fd < 0) {
        report_errno(bootstrap, grant->name, errno);
        return PCOLL_ERR_SYSTEM;
    }
    result = map_chunk(arena, fd, (size_t)grant->chunk_size);
    if (result != PCOLL_OK)
        report_errno(bootstrap, grant->name, errno);
    close(fd);
    return result;
}

/* Not all ranks could map the last chunk: forget it. */
static void drop_chunk(struct pcoll_shm_arena *arena)
{
    struct pcoll_shm_chunk *last = &arena->chunks[--arena->nchunks];

    if (last->mapped)
        munmap(last->base, last->size);
    if (arena->rank == 0)
        arena->nblocks--;
    arena->used = arena->nchunks ? arena->chunks[arena->nchunks - 1].size : 0;
}

static struct pcoll_shm_block *block_at(const struct pcoll_shm_arena *arena, int chunk,
                                        size_t offset)
{
    return (struct pcoll_shm_block *)(void *)(arena->chunks[chunk].base + offset);
}

/* Rank 0: a block that all have released and that is not much too large. */
static const struct pcoll_shm_free *find_free(const struct pcoll_shm_arena *arena, size_t bytes)
{
    for (int i = 0; i < arena->nblocks; i++) {
        const struct pcoll_shm_free *f = &arena->blocks[i];

        if (f->bytes >= bytes && f->bytes / 2 <= bytes &&
            atomic_load_explicit(&block_at(arena, f->chunk, f->offset)->users,
                                 memory_order_acquire) == 0)
            return f;
    }
    return NULL;
}

/* Rank 0: cut `bytes` off the last chunk, or off a new one twice as large. */
static enum pcoll_result cut_block(struct pcoll_shm_arena *arena,
                                   const struct pcoll_bootstrap *bootstrap, size_t bytes,
                                   struct grant *grant, const struct pcoll_shm_free **found_p)
{
    size_t last = arena->nchunks ? arena->chunks[arena->nchunks - 1].size : FIRST_CHUNK / 2;
    struct pcoll_shm_free *blocks =
        realloc(arena->blocks, (size_t)(arena->nblocks + 1) * sizeof(*blocks));

    if (blocks == NULL)
        return PCOLL_ERR_NOMEM;
    arena->blocks = blocks;
    if (arena->nchunks == 0 || last - arena->used < bytes) {
        size_t size = 2 * last > bytes ? 2 * last : (bytes + 4095) / 4096 * 4096;
        enum pcoll_result result = create_chunk(arena, bootstrap, size, grant);

        if (result != PCOLL_OK)
            return result;
    }
    blocks[arena->nblocks] = (struct pcoll_shm_free){arena->nchunks - 1, arena->used, bytes};
    arena->used += bytes;
    *found_p = &blocks[arena->nblocks++];
    return PCOLL_OK;
}

static void grant_block(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap,
                        size_t bytes, struct grant *grant)
{
    const struct pcoll_shm_free *found = find_free(arena, bytes);
    struct pcoll_shm_block *block;

    grant->result = PCOLL_OK;
    if (found == NULL)
        grant->result = (int32_t)cut_block(arena, bootstrap, bytes, grant, &found);
    if (grant->result != PCOLL_OK)
        return;
    grant->chunk = found->chunk;
    grant->offset = found->offset;
    block = block_at(arena, found->chunk, found->offset);
    memset((void *)block, 0, bytes);
    atomic_store_explicit(&block->users, (uint32_t)arena->nranks, memory_order_release);
}

enum pcoll_result pcoll_shm_carve(struct pcoll_shm_arena *arena,
                                  const struct pcoll_bootstrap *bootstrap, size_t bytes,
                                  struct pcoll_shm_block **block_p)
{
    size_t rounded = (bytes + PCOLL_SHM_LINE - 1) / PCOLL_SHM_LINE * PCOLL_SHM_LINE;
    struct grant grant = {0};
    enum pcoll_result result, attached = PCOLL_OK;

    if (arena->rank == 0)
        grant_block(arena, bootstrap, rounded + PCOLL_SHM_LINE, &grant);
    result = pcoll_tell(bootstrap, &grant, sizeof(grant));
    if (result != PCOLL_OK || grant.result != PCOLL_OK)
        return result != PCOLL_OK ? result : (enum pcoll_result)grant.result;
    if (grant.chunk_size != 0) {
        if (arena->rank != 0)
            attached = attach_chunk(arena, bootstrap, &grant);
        result = pcoll_agree(bootstrap, attached, NULL, 0);
        if (arena->rank == 0)
            shm_unlink(grant.name);
        if (result != PCOLL_OK && attached == PCOLL_OK)
            drop_chunk(arena);
        if (result != PCOLL_OK)
            return result;
    }
    *block_p = block_at(arena, grant.chunk, (size_t)grant.offset);
    return PCOLL_OK;
}

void pcoll_shm_release(struct pcoll_shm_block *block)
{
    uint32_t before = atomic_fetch_sub_explicit(&block->users, 1, memory_order_acq_rel);

    assert(before > 0);
    (void)before;
}
