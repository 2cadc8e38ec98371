/*
 * The heap: what it gives is zero, apart, and given back to the system when it is freed, whoever
 * maps it; what it did not give is not freed; other processes see the same bytes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/memory/heap.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

/* Bytes of memory that the chunks of this process hold; the number of chunks. */
static size_t held(int *chunks_p)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    size_t bytes = 0;

    *chunks_p = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char target[100] = "";
        struct stat status;

        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) < 0 ||
            strncmp(target, "/memfd:pcoll-", 13) != 0 || fstat(atoi(entry->d_name), &status) != 0)
            continue;
        bytes += (size_t)status.st_blocks * 512;
        ++*chunks_p;
    }
    if (folder != NULL)
        closedir(folder);
    return bytes;
}

static int all_are(const unsigned char *memory, size_t bytes, unsigned char value)
{
    for (size_t i = 0; i < bytes; i++)
        if (memory[i] != value)
            return 0;
    return 1;
}

/* Allocations of all sizes, freed in another order than they came, over and over. */
static void check_memory(void)
{
    enum { N = 40, ROUNDS = 400 };
    static const size_t sizes[] = {1, 4096, 4097, 100 * KIB, MIB, 3 * MIB + 5};
    struct {
        unsigned char *at;
        size_t bytes;
    } all[N] = {{NULL, 0}};
    unsigned seed = 1;
    int wrong = 0, chunks;

    for (int round = 0; round < ROUNDS && !wrong; round++) {
        const int i = rand_r(&seed) % N;

        if (all[i].at != NULL) {
            wrong = !all_are(all[i].at, all[i].bytes, (unsigned char)(i + 1)) ||
                    pcoll_heap_put(all[i].at) != PCOLL_OK;
            all[i].at = NULL;
            continue;
        }
        all[i].bytes = sizes[rand_r(&seed) % 6];
        all[i].at = pcoll_heap_get(all[i].bytes);
        wrong = all[i].at == NULL || (uintptr_t)all[i].at % 4096 != 0 ||
                !all_are(all[i].at, all[i].bytes, 0);
        if (!wrong)
            memset(all[i].at, i + 1, all[i].bytes);
    }
    for (int i = 0; i < N; i++)
        wrong |= all[i].at != NULL && pcoll_heap_put(all[i].at) != PCOLL_OK;
    tap_ok(!wrong, "memory is zero, and nobody else's until it is freed");
    tap_ok(held(&chunks) == 0 && chunks <= 1, "all of it is given back");
}

/* As after mlockall(2): pages cannot be given back, but what is given is zero. */
static void check_locked(void)
{
    unsigned char *memory = pcoll_heap_get(4096);
    int wrong = memory == NULL || mlock(memory, 4096) != 0;

    if (!wrong) {
        memset(memory, 7, 4096);
        wrong = pcoll_heap_put(memory) != PCOLL_OK;
        memory = pcoll_heap_get(4096);
        wrong |= memory == NULL || !all_are(memory, 4096, 0);
        munlock(memory, 4096);
    }
    tap_ok(!wrong && pcoll_heap_put(memory) == PCOLL_OK, "so is locked memory");
}

/* More than the first chunk has: others come and go. */
static void check_chunks(void)
{
    enum { N = 6 };
    unsigned char *all[N];
    size_t bytes;
    int few, many, wrong = 0;

    held(&few);
    for (int i = 0; i < N; i++) {
        all[i] = pcoll_heap_get(60 * MIB);
        wrong |= all[i] == NULL;
        if (all[i] != NULL)
            memset(all[i] + 59 * MIB, i + 1, MIB);
    }
    bytes = held(&many);
    tap_ok(!wrong && many > few && many <= 5 && bytes <= N * (MIB + 8 * KIB),
           "%d allocations of 60 MiB take %d chunks, and memory as it is touched", N, many);
    for (int i = 0; i < N; i++)
        wrong |= !all_are(all[i] + 59 * MIB, MIB, (unsigned char)(i + 1)) ||
                 pcoll_heap_put(all[i]) != PCOLL_OK;
    bytes = held(&many);
    tap_ok(!wrong && many == 1 && bytes == 0, "of which only the first is left");
}

static void check_strangers(void)
{
    unsigned char *memory = pcoll_heap_get(3 * 4096), *own = malloc(10);
    struct pcoll_heap_place place = pcoll_heap_find(own, 10);

    tap_ok(pcoll_heap_put(own) == PCOLL_UNSUPPORTED && place.fd == PCOLL_NONE,
           "malloc's memory is not the heap's");
    tap_ok(pcoll_heap_put(memory + 4096) == PCOLL_ERR_INVALID, "the middle cannot be freed");
    place = pcoll_heap_find(memory + 5, 2 * 4096);
    tap_ok(place.fd != PCOLL_NONE && place.offset % 4096 == 5, "but found");
    tap_ok(pcoll_heap_put(memory) == PCOLL_OK && pcoll_heap_put(memory) == PCOLL_ERR_INVALID,
           "memory is freed once");
    tap_ok(pcoll_heap_get(0) == NULL && pcoll_heap_get(SIZE_MAX) == NULL &&
               pcoll_heap_get((size_t)1 << 60) == NULL,
           "no memory of no bytes, or of too many");
    free(own);
}

/* As after `ulimit -f` and `ulimit -n`: no signal, no memory. */
static int without(int resource, size_t most)
{
    const struct rlimit few = {most, most};
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(setrlimit(resource, &few) != 0 || pcoll_heap_get(MIB) != NULL);
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The child shares what exists. What either of them gets from then on is its own. */
static void check_fork(void)
{
    unsigned char *memory = pcoll_heap_get(4096), *own;
    int status;
    pid_t child = fork();

    if (child == 0) {
        own = pcoll_heap_get(4096);
        memory[0] = 2;
        if (own != NULL)
            memset(own, 3, 4096);
        _exit(own == NULL || pcoll_heap_find(memory, 1).fd != PCOLL_NONE ||
              pcoll_heap_put(own) != PCOLL_OK || pcoll_heap_put(memory) != PCOLL_OK ||
              memory[0] != 2);
    }
    waitpid(child, &status, 0);
    own = pcoll_heap_get(4096);
    tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0 && memory[0] == 2 && all_are(own, 4096, 0),
           "a child shares the memory that exists, cannot free it, and has its own from then on");
    tap_ok(pcoll_heap_put(own) == PCOLL_OK && pcoll_heap_put(memory) == PCOLL_OK,
           "and the parent frees it");
}

/* ---- other processes ---- */

struct post {
    struct pcoll_heap_place place;
    pid_t pid;
};

/* Rank 0 owns the memory; rank 1 maps it twice, and keeps it when rank 0 has freed it. */
static int share(struct meeting *meeting, int rank, void *argument)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    unsigned char *memory = rank == 0 ? pcoll_heap_get(5 * MIB) : NULL;
    struct pcoll_attachment *first = NULL, *second = NULL;
    struct post mine = {.pid = getpid()}, all[2];
    unsigned char *there = NULL;
    int wrong = 0, chunks;

    (void)argument;
    if (rank == 0) {
        memset(memory, 7, 5 * MIB);
        mine.place = pcoll_heap_find(memory + MIB, MIB);
    }
    meeting_allgather(&attendee, &mine, all, sizeof(mine));
    if (rank == 1) {
        first = pcoll_attach(all[0].pid, &all[0].place);
        second = pcoll_attach(all[0].pid, &all[0].place);
        wrong = first == NULL || second != first;
        there = wrong ? NULL : (unsigned char *)first->base + all[0].place.offset;
        wrong = wrong || !all_are(there, MIB, 7);
        if (!wrong)
            memset(there, 9, MIB);
        pcoll_detach(first);
    }
    meeting_barrier(meeting);
    if (rank == 0)
        wrong = !all_are(memory, MIB, 7) || !all_are(memory + MIB, MIB, 9) ||
                !all_are(memory + 2 * MIB, 3 * MIB, 7) || pcoll_heap_put(memory) != PCOLL_OK ||
                held(&chunks) != 0;
    meeting_barrier(meeting);
    if (rank == 1) {
        wrong = wrong || !all_are(there, MIB, 0);
        pcoll_detach(second);
        pcoll_detach(NULL);
    }
    return wrong;
}

/* A place that is none of that process's any more. */
static void check_stale(void)
{
    unsigned char *first = pcoll_heap_get(64 * MIB), *memory = pcoll_heap_get(64 * MIB);
    struct pcoll_heap_place place = pcoll_heap_find(memory, 1);
    int freed = pcoll_heap_put(memory) == PCOLL_OK && pcoll_heap_put(first) == PCOLL_OK;

    tap_ok(freed && pcoll_attach(getpid(), &place) == NULL, "a chunk that is gone is not mapped");
    place.fd = open("/dev/null", O_RDWR);
    tap_ok(pcoll_attach(getpid(), &place) == NULL, "nor what else has its descriptor");
    close(place.fd);
}

int main(void)
{
    check_memory();
    check_locked();
    check_chunks();
    check_strangers();
    tap_ok(without(RLIMIT_FSIZE, 4096) && without(RLIMIT_NOFILE, 3), "no memory beyond limits");
    check_fork();
    tap_ok(meeting_run_processes(2, share, NULL) == 0, "two processes share it");
    check_stale();
    return tap_done();
}
