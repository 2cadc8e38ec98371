/*
 * Shared memory of a group; the contract is in memory/arena.h.
 *
 * Rank 0 does the bookkeeping and grants extents. A new object is as large as all existing ones
 * together, but at most GROWTH larger than needed; if the system refuses that, it is just as large
 * as needed.
 */
#include "offload/memory/arena.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "algorithms/util.h"
#include "offload/agree.h"
#include "offload/memory/object.h"

#define FIRST_OBJECT ((size_t)16 * 1024)
#define GROWTH ((size_t)1024 * 1024)
#define SPARE ((size_t)1024 * 1024) /* kept although unused */

enum { MAX_DROPS = 8 }; /* number of objects that ranks are told to give up at a time */

/* Rank 0's answer to a request for an extent. */
struct grant {
    uint64_t offset;
    uint64_t object_bytes;          /* size of an object that must be mapped first, or 0 */
    struct pcoll_shm_object object; /* that one */
    struct pcoll_process_id creator;
    uint64_t creator_base; /* address at which the creator has mapped it */
    int32_t number;        /* of the object */
    int16_t drops[MAX_DROPS], ndrops;
};

_Static_assert(sizeof(struct grant) <= PCOLL_TERM_WORDS * sizeof(uint64_t), "it is told at once");

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

static void unmap_object(struct pcoll_arena_object *object)
{
    if (object->mapped)
        munmap(object->base, object->bytes);
    memset(object, 0, sizeof(*object));
}

void pcoll_shm_arena_fini(struct pcoll_shm_arena *arena)
{
    for (int i = 0; i < arena->nobjects; i++)
        unmap_object(&arena->objects[i]);
    free(arena->objects);
    pcoll_extents_fini(&arena->extents);
}

static struct pcoll_shm_extent *extent_at(const struct pcoll_shm_arena *arena, int object,
                                          size_t offset)
{
    return (struct pcoll_shm_extent *)(void *)(arena->objects[object].base + offset);
}

/* ---- objects, on all ranks ---- */

/* Make room for object `number`; numbers are reused, and are the same on all ranks. */
static enum pcoll_result make_room(struct pcoll_shm_arena *arena, int number)
{
    struct pcoll_arena_object *objects;

    if (number < arena->nobjects)
        return PCOLL_OK;
    objects = realloc(arena->objects, (size_t)(number + 1) * sizeof(*objects));
    if (objects == NULL)
        return PCOLL_ERR_NOMEM;
    arena->objects = objects;
    memset(&objects[arena->nobjects], 0, (size_t)(number + 1 - arena->nobjects) * sizeof(*objects));
    arena->nobjects = number + 1;
    return PCOLL_OK;
}

static int map_object(struct pcoll_shm_arena *arena, int number, int fd, size_t bytes)
{
    char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (base == MAP_FAILED)
        return errno;
    arena->objects[number] =
        (struct pcoll_arena_object){.base = base, .bytes = bytes, .mapped = true};
    return 0;
}

/* On the other ranks: map the object that rank 0 has made. */
static int open_object(struct pcoll_shm_arena *arena, const struct grant *grant)
{
    int fd, error = pcoll_shm_object_open(&grant->object, &fd);

    if (error != 0)
        return error;
    error = map_object(arena, grant->number, fd, (size_t)grant->object_bytes);
    close(fd);
    return error;
}

/* A rank that is a thread of rank 0's process shares its mapping. If other ranks cannot open an
 * object, it is made again in /dev/shm, and only a failure there causes a message. */
static enum pcoll_result attach_object(struct pcoll_shm_arena *arena,
                                       const struct pcoll_bootstrap *bootstrap,
                                       const struct grant *grant)
{
    int error;

    if (make_room(arena, grant->number) != PCOLL_OK)
        return PCOLL_ERR_NOMEM;
    if (pcoll_process_is_self(&grant->creator)) {
        arena->objects[grant->number] = (struct pcoll_arena_object){
            .base = (char *)(uintptr_t)grant->creator_base, .bytes = (size_t)grant->object_bytes};
        return PCOLL_OK;
    }
    error = open_object(arena, grant);
    if (error != 0 && grant->object.in_dev_shm)
        report_errno(bootstrap, "cannot map the object of rank 0 in /dev/shm", error);
    return error == 0 ? PCOLL_OK : PCOLL_ERR_SYSTEM;
}

static void detach_object(struct pcoll_shm_arena *arena, int number)
{
    if (number >= arena->nobjects || arena->objects[number].base == NULL)
        return;
    if (arena->rank == 0) {
        pcoll_extents_drop_object(&arena->extents, number);
        arena->total -= arena->objects[number].bytes;
    }
    unmap_object(&arena->objects[number]);
}

/* ---- rank 0: which extents and objects are in use ---- */

static bool is_released(const void *context, const struct pcoll_extent *extent)
{
    const struct pcoll_shm_extent *shared = extent_at(context, extent->object, extent->offset);

    return atomic_load_explicit(&shared->users, memory_order_acquire) == 0;
}

/* Frees the pages at once, even if other ranks still map them. Locked pages (mlockall(2)) cannot be
 * freed. */
static void empty_object(struct pcoll_shm_arena *arena, int number)
{
    struct pcoll_arena_object *object = &arena->objects[number];

    munlock(object->base, object->bytes);
    madvise(object->base, object->bytes, MADV_REMOVE);
    pcoll_extents_drop_object(&arena->extents, number);
    arena->total -= object->bytes;
    object->emptied = true;
}

static int find_unused(const struct pcoll_shm_arena *arena)
{
    int found = PCOLL_NONE;

    for (int i = 0; i < arena->nobjects; i++) {
        const struct pcoll_arena_object *object = &arena->objects[i];

        if (object->base != NULL && !object->emptied &&
            (found == PCOLL_NONE || object->bytes > arena->objects[found].bytes) &&
            pcoll_extents_is_unused(&arena->extents, i))
            found = i;
    }
    return found;
}

/* Give unused objects back, the largest first, until at most `limit` bytes are left. */
static void trim(struct pcoll_shm_arena *arena, size_t limit)
{
    while (arena->total > limit) {
        int unused = find_unused(arena);

        if (unused == PCOLL_NONE)
            return;
        empty_object(arena, unused);
    }
}

static void announce_drops(const struct pcoll_shm_arena *arena, struct grant *grant)
{
    for (int i = 0; i < arena->nobjects && i <= INT16_MAX && grant->ndrops < MAX_DROPS; i++)
        if (arena->objects[i].emptied)
            grant->drops[grant->ndrops++] = (int16_t)i;
}

/* ---- rank 0: new objects ---- */

static int free_number(const struct pcoll_shm_arena *arena)
{
    int number = 0;

    while (number < arena->nobjects && arena->objects[number].base != NULL)
        number++;
    return number;
}

/* Returns 0 or an errno. */
static int create_sized(struct pcoll_shm_arena *arena, int in_dev_shm, size_t bytes,
                        struct grant *grant)
{
    int error = pcoll_shm_object_create(&grant->object, in_dev_shm, bytes);

    if (error != 0)
        return error;
    error = map_object(arena, grant->number, grant->object.fd, bytes);
    if (error != 0) {
        pcoll_shm_object_close(&grant->object);
        return error;
    }
    grant->object_bytes = bytes;
    return 0;
}

/* Create an object a little larger than needed, but only if there is room for it. */
static int create_some(struct pcoll_shm_arena *arena, size_t bytes, struct grant *grant)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t must = pcoll_round_up(bytes, page);
    size_t wish = arena->total < GROWTH ? arena->total : GROWTH;
    int error = ENOMEM;

    wish = pcoll_round_up(wish > FIRST_OBJECT ? wish : FIRST_OBJECT, page);
    for (int in_dev_shm = arena->in_dev_shm; error != 0 && in_dev_shm <= 1; in_dev_shm++) {
        if (wish > must)
            error = create_sized(arena, in_dev_shm, wish, grant);
        if (error != 0)
            error = create_sized(arena, in_dev_shm, must, grant);
    }
    return error;
}

static enum pcoll_result create_object(struct pcoll_shm_arena *arena,
                                       const struct pcoll_bootstrap *bootstrap, size_t bytes,
                                       struct grant *grant)
{
    char what[80];
    int error;

    grant->number = free_number(arena);
    if (make_room(arena, grant->number) != PCOLL_OK)
        return PCOLL_ERR_NOMEM;
    error = create_some(arena, bytes, grant);
    if (error != 0) {
        trim(arena, 0);
        error = create_some(arena, bytes, grant);
    }
    if (error != 0) {
        snprintf(what, sizeof(what), "cannot reserve %zu bytes", bytes);
        report_errno(bootstrap, what, error);
        return PCOLL_ERR_SYSTEM;
    }
    grant->creator = *pcoll_process_self();
    grant->creator_base = (uint64_t)(uintptr_t)arena->objects[grant->number].base;
    pcoll_extents_add_object(&arena->extents, grant->number, (size_t)grant->object_bytes);
    arena->total += (size_t)grant->object_bytes;
    return PCOLL_OK;
}

/* ---- granting ---- */

/* At the end of a request. As many programs soon need again what was in use, that is forgotten by
 * an eighth at each request. */
static void trim_unused(struct pcoll_shm_arena *arena)
{
    const size_t now = pcoll_extents_taken(&arena->extents);

    arena->lately -= arena->lately / 8;
    if (now > arena->lately)
        arena->lately = now;
    trim(arena, SPARE + (2 * now > arena->lately ? 2 * now : arena->lately));
}

static size_t bytes_for(const struct pcoll_shm_wish *wish)
{
    return pcoll_round_up(wish->bytes, PCOLL_LINE_BYTES) + PCOLL_LINE_BYTES;
}

static enum pcoll_result find_room(struct pcoll_shm_arena *arena,
                                   const struct pcoll_bootstrap *bootstrap, size_t bytes,
                                   struct grant *grant)
{
    const struct pcoll_extent *extent;
    enum pcoll_result result = pcoll_extents_reserve(&arena->extents);

    if (result != PCOLL_OK)
        return result;
    pcoll_extents_merge(&arena->extents, is_released, arena);
    extent = pcoll_extents_take(&arena->extents, bytes);
    if (extent == NULL) {
        trim(arena, 2 * pcoll_extents_taken(&arena->extents) + bytes + SPARE);
        result = create_object(arena, bootstrap, bytes, grant);
        if (result != PCOLL_OK)
            return result;
        extent = pcoll_extents_take(&arena->extents, bytes);
        assert(extent != NULL);
    }
    grant->number = extent->object;
    grant->offset = extent->offset;
    trim_unused(arena);
    return PCOLL_OK;
}

static enum pcoll_result grant_extent(struct pcoll_shm_arena *arena,
                                      const struct pcoll_bootstrap *bootstrap,
                                      const struct pcoll_shm_wish *wish, struct grant *grant)
{
    const enum pcoll_result result = find_room(arena, bootstrap, bytes_for(wish), grant);
    struct pcoll_shm_extent *shared;

    announce_drops(arena, grant);
    if (result != PCOLL_OK)
        return result;
    shared = extent_at(arena, grant->number, (size_t)grant->offset);
    memset((void *)shared, 0, PCOLL_LINE_BYTES);
    wish->clear(wish->context, (char *)shared + PCOLL_LINE_BYTES);
    atomic_store_explicit(&shared->users, (uint32_t)arena->nranks, memory_order_release);
    return PCOLL_OK;
}

/* Map the new object on all ranks or on none. PCOLL_PENDING: not all ranks can open a memfd, so try
 * once more. */
static enum pcoll_result share_object(struct pcoll_shm_arena *arena,
                                      const struct pcoll_bootstrap *bootstrap,
                                      const struct grant *grant)
{
    enum pcoll_result mine = PCOLL_OK, agreed;

    if (arena->rank != 0)
        mine = attach_object(arena, bootstrap, grant);
    agreed = pcoll_agree(bootstrap, PCOLL_ROUND_SHARE, mine, NULL, 0);
    if (arena->rank == 0)
        pcoll_shm_object_close(&grant->object);
    if (agreed == PCOLL_OK)
        return PCOLL_OK;
    detach_object(arena, grant->number);
    if (agreed != PCOLL_ERR_SYSTEM || grant->object.in_dev_shm)
        return agreed;
    arena->in_dev_shm = true;
    return PCOLL_PENDING;
}

static enum pcoll_result carve_once(struct pcoll_shm_arena *arena,
                                    const struct pcoll_bootstrap *bootstrap,
                                    const struct pcoll_shm_wish *wish, struct grant *grant)
{
    enum pcoll_result result = PCOLL_OK;

    memset(grant, 0, sizeof(*grant));
    if (arena->rank == 0)
        result = grant_extent(arena, bootstrap, wish, grant);
    result =
        pcoll_tell(bootstrap, PCOLL_ROUND_GRANT, result, arena->rank == 0, grant, sizeof(*grant));
    for (int i = 0; i < grant->ndrops; i++)
        unmap_object(&arena->objects[grant->drops[i]]);
    if (result != PCOLL_OK)
        return result;
    return grant->object_bytes ? share_object(arena, bootstrap, grant) : PCOLL_OK;
}

enum pcoll_result pcoll_shm_carve(struct pcoll_shm_arena *arena,
                                  const struct pcoll_bootstrap *bootstrap,
                                  const struct pcoll_shm_wish *wish,
                                  struct pcoll_shm_extent **extent_p)
{
    struct grant grant;
    enum pcoll_result result;

    do
        result = carve_once(arena, bootstrap, wish, &grant);
    while (result == PCOLL_PENDING);
    if (result == PCOLL_OK)
        *extent_p = extent_at(arena, grant.number, (size_t)grant.offset);
    return result;
}

void pcoll_shm_release(struct pcoll_shm_extent *extent)
{
    uint32_t before = atomic_fetch_sub_explicit(&extent->users, 1, memory_order_acq_rel);

    assert(before > 0);
    (void)before;
}
