/* A stand-in for XPMEM; the contract is in standin.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for memfd_create */
#endif

#include "test/unit/standin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "offload/memory/xpmem.h"
#include "test/unit/meeting.h"

enum {
    PAGE = 4096,
    NPAGES = 4096, /* of addresses of an arena */
    NFILE = 65536, /* of the memfd for one arena, as pages are used once */
    MAX_ATTACHED = 2 * PCOLL_XPMEM_MAX_ATTACHED
};

/* The arena of a process, for all to see. */
struct arena {
    pid_t pid;
    char *base;
    int file[NPAGES];  /* the page of the memfd at an address, + 1; 0: none is */
    int first[NPAGES]; /* of the allocation to which the address belongs */
    int used;          /* pages of the memfd */
};

struct world {
    struct standin standin; /* comes first */
    int fd;
    struct arena arenas[MEETING_MAX_RANKS];
};

struct mapping {
    char *base;
    size_t bytes;
};

static struct world *world;
static int own; /* the number of this process' arena */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct mapping mappings[MAX_ATTACHED];

struct standin *standin_create(void)
{
    world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (world == MAP_FAILED)
        abort();
    world->fd = memfd_create("standin", MFD_CLOEXEC);
    if (world->fd < 0 || ftruncate(world->fd, (off_t)MEETING_MAX_RANKS * NFILE * PAGE) != 0)
        abort();
    return &world->standin;
}

void standin_destroy(struct standin *standin)
{
    close(((struct world *)(void *)standin)->fd);
    munmap(standin, sizeof(*world));
}

/* ---- the arena ---- */

void standin_enter(struct standin *standin, int rank)
{
    struct arena *arena;

    world = (struct world *)(void *)standin;
    own = rank;
    arena = &world->arenas[rank];
    /* No two processes have the same address. */
    arena->base = mmap(NULL, (size_t)(NPAGES + rank) * PAGE, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena->base == MAP_FAILED)
        abort();
    arena->pid = getpid();
    memset(arena->file, 0, sizeof(arena->file));
    arena->used = 0;
}

static off_t in_file(const struct arena *arena, int page)
{
    return ((off_t)(arena - world->arenas) * NFILE + page) * PAGE;
}

/* The first of n free addresses; -1: there are none. */
static int find_free(const struct arena *arena, int n)
{
    for (int at = 0, run = 0; at < NPAGES; at++) {
        run = arena->file[at] == 0 ? run + 1 : 0;
        if (run == n)
            return at - n + 1;
    }
    return -1;
}

static unsigned char *take(struct arena *arena, int n)
{
    const int at = find_free(arena, n);
    char *base = arena->base + (size_t)at * PAGE;

    if (at < 0 || arena->used + n > NFILE)
        return NULL;
    if (mmap(base, (size_t)n * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, world->fd,
             in_file(arena, arena->used)) == MAP_FAILED)
        abort();
    for (int i = 0; i < n; i++) {
        arena->file[at + i] = ++arena->used;
        arena->first[at + i] = at;
    }
    return (unsigned char *)base;
}

/* Where it lies in its first page follows from its length. */
unsigned char *standin_get(uint64_t bytes)
{
    const uint64_t odd = (bytes * 2654435761u >> 7) % PAGE | 1;
    unsigned char *memory;

    pthread_mutex_lock(&mutex);
    memory = take(&world->arenas[own], (int)((odd + bytes + PAGE - 1) / PAGE));
    pthread_mutex_unlock(&mutex);
    return memory == NULL ? NULL : memory + odd;
}

void standin_put(unsigned char *memory)
{
    struct arena *arena = &world->arenas[own];
    const int at = (int)(((char *)memory - arena->base) / PAGE);
    int n = 0;

    pthread_mutex_lock(&mutex);
    while (at + n < NPAGES && arena->file[at + n] != 0 && arena->first[at + n] == at)
        arena->file[at + n++] = 0;
    if (mmap(arena->base + (size_t)at * PAGE, (size_t)n * PAGE, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        abort();
    pthread_mutex_unlock(&mutex);
}

/* ---- the library ---- */

static int is_at_fault(enum standin_fault fault)
{
    return world->standin.fault == fault && (world->standin.rank < 0 || world->standin.rank == own);
}

static int refuse(int error)
{
    atomic_fetch_add(&world->standin.refused, 1);
    errno = error;
    return -1;
}

/* Whether attachment `number` of this process is one of those that fail. */
static int is_hit(enum standin_fault fault, int number)
{
    const struct standin *standin = &world->standin;

    return is_at_fault(fault) && number >= standin->after &&
           number < standin->after + standin->length;
}

static pcoll_xpmem_id make(void *first, size_t bytes, int type, void *permissions)
{
    if (first != NULL || bytes != SIZE_MAX || type != PCOLL_XPMEM_PERMIT_MODE ||
        permissions != (void *)(uintptr_t)0600 || is_at_fault(STANDIN_NO_SEGMENT))
        return refuse(EINVAL);
    return 1000 + own;
}

static pcoll_xpmem_id get(pcoll_xpmem_id segment, int flags, int type, void *permissions)
{
    if (segment < 1000 || segment >= 1000 + MEETING_MAX_RANKS || flags != PCOLL_XPMEM_RDWR ||
        type != PCOLL_XPMEM_PERMIT_MODE || permissions != NULL ||
        is_at_fault(STANDIN_NO_PERMISSION))
        return refuse(EACCES);
    atomic_fetch_add(&world->standin.permitted, 1);
    return segment + 1000;
}

static int release(pcoll_xpmem_id apid)
{
    if (apid < 2000 || apid >= 2000 + MEETING_MAX_RANKS)
        abort();
    atomic_fetch_add(&world->standin.released, 1);
    return 0;
}

/* Pages of an arena, which must be of one allocation. */
static void *map_pages(const struct arena *arena, int at, size_t bytes)
{
    for (size_t i = 0; i < bytes / PAGE; i++)
        if (arena->file[at + (int)i] == 0 || arena->file[at + (int)i] != arena->file[at] + (int)i)
            return MAP_FAILED;
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, world->fd,
                in_file(arena, arena->file[at] - 1));
}

/* A page of globals, and what a sanitizer puts between them. */
__attribute__((no_sanitize_address)) static void copy_words(void *to, const void *from,
                                                            size_t bytes)
{
    volatile uint64_t *target = to;
    const volatile uint64_t *source = from;

    for (size_t i = 0; i < bytes / sizeof(*target); i++)
        target[i] = source[i];
}

static void *map_copy(const struct arena *arena, off_t from, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const struct iovec here = {base, bytes}, there = {(void *)(uintptr_t)from, bytes};

    /* A test may refuse the library that call. */
    if (base == MAP_FAILED)
        return base;
    if (arena->pid == getpid())
        copy_words(base, there.iov_base, bytes);
    else if (syscall(SYS_process_vm_readv, arena->pid, &here, 1, &there, 1, 0) != (long)bytes) {
        munmap(base, bytes);
        return MAP_FAILED;
    }
    return base;
}

/* Pages beyond the end of a file, which kill whoever touches them. */
static void *map_nothing(size_t bytes)
{
    const int fd = memfd_create("nothing", MFD_CLOEXEC);
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    close(fd);
    return base;
}

static void *map(const struct arena *arena, struct pcoll_xpmem_addr addr, size_t bytes)
{
    const uintptr_t from = (uintptr_t)addr.offset, base = (uintptr_t)arena->base;

    if (from >= base && from - base + bytes <= (size_t)NPAGES * PAGE)
        return map_pages(arena, (int)((from - base) / PAGE), bytes);
    return map_copy(arena, addr.offset, bytes);
}

/* Lock first. */
static int remember(char *base, size_t bytes)
{
    for (int i = 0; i < MAX_ATTACHED; i++)
        if (mappings[i].base == NULL) {
            mappings[i] = (struct mapping){base, bytes};
            return 1;
        }
    return 0;
}

static void *attach(struct pcoll_xpmem_addr addr, size_t bytes, void *wish)
{
    static int number; /* of attachments of this process */
    const struct arena *arena = &world->arenas[addr.apid - 2000];
    void *base = MAP_FAILED;

    if (addr.offset % PAGE != 0 || bytes % PAGE != 0 || wish != NULL) {
        refuse(EINVAL);
        return (void *)-1;
    }
    pthread_mutex_lock(&mutex);
    if (is_hit(STANDIN_NO_TOUCH, number))
        base = map_nothing(bytes);
    else if (!is_hit(STANDIN_NO_ATTACH, number))
        base = map(arena, addr, bytes);
    number++;
    if (base != MAP_FAILED && !remember(base, bytes))
        abort();
    pthread_mutex_unlock(&mutex);
    if (base == MAP_FAILED)
        refuse(ENOMEM);
    else
        atomic_fetch_add(&world->standin.attached, 1);
    return base;
}

static int detach(void *base)
{
    int found = 0;

    pthread_mutex_lock(&mutex);
    for (int i = 0; i < MAX_ATTACHED && !found; i++)
        if (mappings[i].base == base) {
            munmap(base, mappings[i].bytes);
            mappings[i].base = NULL;
            found = 1;
        }
    pthread_mutex_unlock(&mutex);
    if (!found)
        abort();
    atomic_fetch_add(&world->standin.detached, 1);
    return 0;
}

/* ---- where the linker leads ---- */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
void *__real_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags);
void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

int __real_dlclose(void *of);
int __wrap_dlclose(void *of);

static char handle;

/* Nothing of ours creates files by open. */
int __wrap_open(const char *path, int flags, ...)
{
    if (world == NULL || strcmp(path, PCOLL_XPMEM_DEVICE) != 0)
        return __real_open(path, flags);
    if (is_at_fault(STANDIN_NO_DEVICE))
        return refuse(ENOENT);
    return __real_open("/dev/null", flags);
}

void *__wrap_dlopen(const char *path, int flags)
{
    if (world == NULL || strcmp(path, PCOLL_XPMEM_LIBRARY) != 0)
        return __real_dlopen(path, flags);
    if (!is_at_fault(STANDIN_NO_LIBRARY))
        return &handle;
    refuse(ENOENT);
    return __real_dlopen("libxpmem-is-not-here.so", flags); /* sets dlerror() */
}

int __wrap_dlclose(void *of)
{
    return of == &handle ? 0 : __real_dlclose(of);
}

/* The thread sanitizer asks for functions before it can be told of calls. */
#ifdef __clang__
__attribute__((disable_sanitizer_instrumentation))
#endif
void *
__wrap_dlsym(void *of, const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } functions[] = {
#define FUNCTION(type, name, parameters) {"xpmem_" #name, (void *)(uintptr_t)name},
        PCOLL_XPMEM_FUNCTIONS(FUNCTION)
#undef FUNCTION
    };

    if (of != &handle)
        return __real_dlsym(of, name);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, name) == 0 &&
            !(is_at_fault(STANDIN_NO_FUNCTION) &&
              i == sizeof(functions) / sizeof(functions[0]) - 2))
            return functions[i].function;
    refuse(ENOENT);
    return NULL;
}
