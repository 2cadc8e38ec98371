/*
 * Shared memory of a group: what it takes stays in proportion to what is in use, in whatever order
 * sizes come; it works in namespaces, under signals and under limits.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for unshare */
#endif

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "algorithms/algorithm.h"
#include "offload/agree.h"
#include "offload/node/binding.h"
#include "offload/shm/shm.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static const struct pcoll_medium *const shm = &pcoll_medium_shm;

/* Bytes of this process's mappings that belong to the arena. */
static size_t mapped(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long from, to;
    char line[400];
    size_t bytes = 0;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        if (strstr(line, "pcoll-") && strstr(line, " rw-s ") &&
            sscanf(line, "%lx-%lx", &from, &to) == 2)
            bytes += to - from;
    if (maps != NULL)
        fclose(maps);
    return bytes;
}

/* ---- an arena ---- */

struct course {
    int (*run)(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap);
    int in_dev_shm;
};

static void clear_bytes(const void *context, char *payload)
{
    memset(payload, 0, *(const size_t *)context);
}

static int carve(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap,
                 size_t bytes, struct pcoll_shm_extent **block_p)
{
    const struct pcoll_shm_wish wish = {bytes, clear_bytes, &bytes};

    return pcoll_shm_carve(arena, bootstrap, &wish, block_p) != PCOLL_OK ||
           pcoll_agree(bootstrap, PCOLL_ROUND_BOUND, PCOLL_OK, NULL, 0) != PCOLL_OK;
}

/* Each rank writes its share and finds what the other ranks wrote. */
static int use(const struct pcoll_bootstrap *bootstrap, struct pcoll_shm_extent *block,
               size_t bytes)
{
    unsigned char *payload = (unsigned char *)block + PCOLL_LINE_BYTES;
    size_t share = bytes / (size_t)bootstrap->nranks;
    int wrong = 0;

    for (size_t i = 0; i < bytes; i += 509)
        wrong += payload[i] != 0;
    wrong += pcoll_agree(bootstrap, PCOLL_ROUND_BOUND, PCOLL_OK, NULL, 0) != PCOLL_OK;
    memset(payload + (size_t)bootstrap->rank * share, bootstrap->rank + 1, share);
    wrong += pcoll_agree(bootstrap, PCOLL_ROUND_BOUND, PCOLL_OK, NULL, 0) != PCOLL_OK;
    for (size_t i = 0; i < share * (size_t)bootstrap->nranks; i += 509)
        wrong += payload[i] != i / share + 1;
    wrong += pcoll_agree(bootstrap, PCOLL_ROUND_BOUND, PCOLL_OK, NULL, 0) != PCOLL_OK;
    pcoll_shm_release(block);
    return wrong;
}

static int run_course(struct meeting *meeting, int rank, void *argument)
{
    const struct course *course = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct pcoll_shm_arena arena;
    int wrong;

    pcoll_shm_arena_init(&arena, rank, bootstrap.nranks);
#ifndef BASE
    arena.in_dev_shm = course->in_dev_shm;
#endif
    wrong = course->run(&arena, &bootstrap);
    pcoll_shm_arena_fini(&arena);
    return wrong;
}

static int run(int (*body)(struct pcoll_shm_arena *, const struct pcoll_bootstrap *),
               int in_dev_shm)
{
    struct course course = {body, in_dev_shm};

    return meeting_run_processes(2, run_course, &course);
}

/* Allocates one block after the other, each a little larger. */
static int grow(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap)
{
    struct pcoll_shm_extent *small, *block;
    size_t bytes = 0;
    int wrong = carve(arena, bootstrap, 100, &small);

    for (int i = 1; !wrong && i <= 1000; i++) {
        bytes = (size_t)i * KIB;
        wrong = carve(arena, bootstrap, bytes, &block) || use(bootstrap, block, bytes);
        if (mapped() > 3 * bytes + 3 * MIB) {
            printf("# %zu bytes mapped for %zu in use\n", mapped(), bytes);
            wrong = 1;
        }
    }
    return wrong;
}

/* Allocates many blocks at a time, then few: pages are returned. */
static int grow_and_shrink(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap)
{
    struct pcoll_shm_extent *blocks[100], *block;
    int wrong = 0;

    for (int round = 0; !wrong && round < 3; round++) {
        for (int i = 0; !wrong && i < 100; i++)
            wrong = carve(arena, bootstrap, 300 * KIB, &blocks[i]);
        wrong = wrong || mapped() < 29 * MIB || mapped() > 40 * MIB;
        for (int i = 0; !wrong && i < 100; i++)
            wrong = use(bootstrap, blocks[(i * 37) % 100], 300 * KIB);
        for (int i = 0; !wrong && i < 40; i++)
            wrong = carve(arena, bootstrap, 100, &block) || use(bootstrap, block, 100);
        if (mapped() > 3 * MIB) {
            printf("# %zu bytes mapped for 100 in use\n", mapped());
            wrong = 1;
        }
    }
    return wrong;
}

/* A long block and a short one in turn: the memory of the long one is kept. */
static int alternate(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap)
{
    struct pcoll_shm_extent *small, *block;
    int wrong = carve(arena, bootstrap, 100, &small);

    for (int i = 0; !wrong && i < 10; i++)
        wrong = carve(arena, bootstrap, 3 * MIB, &block) || use(bootstrap, block, 3 * MIB) ||
                carve(arena, bootstrap, 100, &block) || use(bootstrap, block, 100) ||
                mapped() < 3 * MIB || mapped() > 5 * MIB;
    return wrong;
}

/* A file may have 20 KiB: enough for the request, but not for twice as much. */
static int stay_small(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap)
{
    struct rlimit limit = {20 * KIB, 20 * KIB};
    struct pcoll_shm_extent *blocks[8];
    int wrong = 0;

    signal(SIGXFSZ, SIG_IGN);
    wrong += setrlimit(RLIMIT_FSIZE, &limit) != 0;
    for (int i = 0; !wrong && i < 8; i++)
        wrong = carve(arena, bootstrap, 13 * KIB, &blocks[i]);
    for (int i = 0; !wrong && i < 8; i++)
        wrong = use(bootstrap, blocks[i], 13 * KIB);
    return wrong;
}

/* Behaves like a kernel under a fast timer: long calls are interrupted, and every second short
 * one. */
static int interrupting, calls;

int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    if (interrupting && (bytes > (off_t)MIB || calls++ % 2 == 0))
        return EINTR;
    return syscall(SYS_fallocate, fd, 0, offset, bytes) == 0 ? 0 : errno;
}

static int be_interrupted(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap)
{
    struct pcoll_shm_extent *block;

    interrupting = 1;
    return carve(arena, bootstrap, 5 * MIB, &block) || (calls == 0 && bootstrap->rank == 0) ||
           use(bootstrap, block, 5 * MIB);
}

/* ---- groups ---- */

/* Each group has memory from its creation on. */
static int make_many(struct meeting *meeting, int rank, void *argument)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct pcoll_group *groups[300];
    int wrong = 0;

    (void)argument;
    for (int i = 0; i < 300; i++)
        wrong |= shm->group_create(&bootstrap, &groups[i]) != PCOLL_OK;
    if (mapped() > 300 * 16 * KIB) {
        printf("# %zu bytes mapped for 300 groups\n", mapped());
        wrong = 1;
    }
    meeting_barrier(meeting);
    for (int i = 0; i < 300; i++)
        shm->group_destroy(groups[i]);
    return wrong;
}

/* ---- what ranks share at init ---- */

/* Each rank reads what all have written; returns where that was, or NULL. */
static const char *share(const struct pcoll_bootstrap *boot, size_t bytes, int value)
{
    char *all = boot->share(boot->context, (size_t)boot->nranks * bytes);
    int wrong = all == NULL;

    if (wrong)
        return NULL;
    memset(all + (size_t)boot->rank * bytes, boot->rank + value, bytes);
    wrong |= pcoll_agree(boot, PCOLL_ROUND_LETTERS, PCOLL_OK, NULL, 0) != PCOLL_OK;
    for (int r = 0; r < boot->nranks; r++)
        for (size_t i = 0; i < bytes; i++)
            wrong |= all[(size_t)r * bytes + i] != (char)(r + value);
    boot->unshare(boot->context);
    wrong |= pcoll_agree(boot, PCOLL_ROUND_CALL, PCOLL_OK, NULL, 0) != PCOLL_OK;
    return wrong ? NULL : all;
}

/* Little memory is kept for the next time, but not much of it, nor is there ever more. */
static int share_often(struct meeting *meeting, int rank, void *argument)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    const struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct pcoll_group *group;
    int wrong = shm->group_create(&bootstrap, &group) != PCOLL_OK;
    const char *first;

    (void)argument;
    if (wrong)
        return 1;
    first = share(group->bootstrap, KIB, 1);
    wrong |= first == NULL || share(group->bootstrap, KIB / 2, 2) != first;
    for (int i = 0; i < 30; i++)
        wrong |= !share(group->bootstrap, (i % 3 == 0 ? 1024 : 1) * KIB, i);
    wrong |= pcoll_node_group_of(group)->arena.total > 8 * 1024 * KIB;
    shm->group_destroy(group);
    return wrong;
}

/* ---- PID namespaces ---- */

enum { SKIPPED = 77 };

enum house { OWN_EACH, OWN_BUT_FIRST, ONE_OUTER };

static _Atomic int *starts;

/* The data is right, and no process tries to reach the memory of one that has another pid here. */
static int gather_there(struct meeting *meeting, int rank, int apart)
{
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct pcoll_params params = {.path = PCOLL_PATH_TEMP};
    struct part p = {
        .medium = shm,
        .signature = {PCOLL_ALLGATHER, bootstrap.nranks, 0, 5000, 0},
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = starts,
    };
    int wrong = shm->group_create(&bootstrap, &p.group) != PCOLL_OK;

    if (wrong)
        return 1;
    if (shm->group_provides(p.group) & PCOLL_NEED_USER_RMA) {
        params.path = PCOLL_PATH_USER;
        wrong = apart;
    }
    wrong |= part_init(&p, pcoll_algorithm_find(PCOLL_ALLGATHER, "ring"), &params) != PCOLL_OK ||
             part_bind(&p) != PCOLL_OK || part_run(&p, 20);
    part_unbind(&p);
    meeting_barrier(meeting);
    shm->group_destroy(p.group);
    part_fini(&p);
    return wrong;
}

static void give_up(int number)
{
    (void)number;
    _exit(3);
}

static int live_in(struct meeting *meeting, int rank, void *argument)
{
    const enum house house = *(const enum house *)argument;
    int status, own = house == OWN_EACH || (house == OWN_BUT_FIRST && rank > 0);
    pid_t child;

    if (own && unshare(CLONE_NEWPID) != 0)
        return SKIPPED;
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGALRM, give_up); /* the first process of a namespace has no default action */
        alarm(60);
        _exit(gather_there(meeting, rank, house != ONE_OUTER));
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    if (WIFSIGNALED(status))
        printf("# rank %d was ended by signal %d\n", rank, WTERMSIG(status));
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* The kernel may forbid all of this; the test then prints a line. */
static int may_unshare(void)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(unshare(CLONE_NEWPID) != 0);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void check_namespaces(void)
{
    static const char *const names[] = {"each rank in a PID namespace of its own",
                                        "rank 0 outside, every other rank in its own",
                                        "all in one PID namespace"};

    fflush(stdout);
    for (enum house house = OWN_EACH; house <= ONE_OUTER; house++) {
        if (!may_unshare())
            tap_ok(1, "%s # SKIP no PID namespaces without privileges", names[house]);
        else
            tap_ok(meeting_run_processes(3, live_in, &house) == 0, "%s", names[house]);
    }
}

/* ---- who writes to a page first ---- */

/* The pages of [from, to) that are in this process's page table. */
static int count_present(const char *from, const char *to)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *map = fopen("/proc/self/pagemap", "r");
    int present = 0;

    for (uintptr_t at = (uintptr_t)from / page; map && at < (uintptr_t)to / page; at++) {
        uint64_t entry = 0;

        if (fseek(map, (long)(at * sizeof(entry)), SEEK_SET) != 0 ||
            fread(&entry, sizeof(entry), 1, map) != 1)
            break;
        present += (int)(entry >> 63);
    }
    if (map)
        fclose(map);
    return present;
}

/* Before the first start, each of two ranks in domains of their own has written to all pages of its
 * TEMP, and to none but the first and the last of the other's. In one domain, neither has. */
static int touch(struct meeting *meeting, int rank, void *argument)
{
    enum { BYTES = 64 * 1024, EDGES = 3 };
    const bool *divided = argument;
    const struct pcoll_locality here = {0, 0, *divided ? rank : 0};
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct part part = {.medium = shm,
                        .signature = {.coll = PCOLL_ALLGATHER, .nranks = 2, .bytes = BYTES},
                        .rank = rank,
                        .starts = starts};
    const struct pcoll_params params = {.path = PCOLL_PATH_TEMP};
    const int npages = 2 * BYTES / (int)sysconf(_SC_PAGESIZE);
    const char *areas;
    size_t area;
    int own, other;

    bootstrap.locality = &here;
    if (shm->group_create(&bootstrap, &part.group) != PCOLL_OK ||
        part_init(&part, pcoll_algorithm_find(PCOLL_ALLGATHER, "direct"), &params) != PCOLL_OK ||
        part.plan->temp_bytes < 2 * BYTES || part_bind(&part) != PCOLL_OK)
        return 1;
    area = (size_t)part.plan->temp_bytes + KIB;
    areas = (const char *)pcoll_node_bound_of(part.bound)->extent + PCOLL_LINE_BYTES;
    own = count_present(areas + (size_t)rank * area, areas + (size_t)(rank + 1) * area);
    other = count_present(areas + (size_t)(1 - rank) * area, areas + (size_t)(2 - rank) * area);
    meeting_barrier(meeting);
    part_unbind(&part);
    part_fini(&part);
    shm->group_destroy(part.group);
    if (other <= EDGES && (*divided ? own >= npages - 1 : own <= EDGES))
        return 0;
    printf("# rank %d: %d pages of its own, %d of the other's\n", rank, own, other);
    return 1;
}

static void check_touch(void)
{
    bool divided = true, one = false;

    tap_ok(meeting_run_processes(2, touch, &divided) == 0,
           "each rank of several domains writes to its buffers first");
    tap_ok(meeting_run_processes(2, touch, &one) == 0, "in one domain nobody needs to");
}

int main(void)
{
    struct meeting *page = meeting_create(0); /* any shared page will do */

    starts = (_Atomic int *)(void *)page;
    tap_ok(run(grow, 0) == 0, "blocks of growing sizes take no more memory than one of them");
    tap_ok(run(grow, 1) == 0, "the same in /dev/shm");
    tap_ok(run(grow_and_shrink, 0) == 0, "unused memory goes back to the system");
    tap_ok(run(alternate, 0) == 0, "memory that is soon needed again is kept");
    tap_ok(run(stay_small, 0) == 0, "no more memory than needed where there is no more");
    tap_ok(run(stay_small, 1) == 0, "the same in /dev/shm");
    tap_ok(run(be_interrupted, 0) == 0, "signals do not keep memory from being reserved");
    tap_ok(run(be_interrupted, 1) == 0, "the same in /dev/shm");
    tap_ok(meeting_run_processes(2, make_many, NULL) == 0, "300 groups take 16 KiB each at most");
    tap_ok(meeting_run_processes(3, share_often, NULL) == 0, "ranks share memory at init");
    check_namespaces();
    check_touch();
    meeting_destroy(page);
    return tap_done();
}
