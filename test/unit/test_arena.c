/*
 * Shared memory of a group: what it takes stays in proportion to what is in use, whatever the order
 * of sizes; it is to be had in namespaces, under signals and limits; and nothing of it stays
 * behind.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* unshare */
#endif

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "algorithms/algorithm.h"
#include "offload/shm/object.h"
#include "offload/shm/state.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static const struct pcoll_medium *const shm = &pcoll_medium_shm;

/* Bytes of this process that are mappings of the arena. */
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

/* ---- parts of chunks ---- */

enum { CHUNKS = 3, PARTS = 200, LINE = PCOLL_SHM_LINE };

static unsigned char owner[CHUNKS][64 * KIB / LINE]; /* 1 + number of the part there */

struct part_of_chunk {
    int chunk;
    size_t offset, bytes;
};

static struct part_of_chunk held[PARTS];

static int is_given_back(const void *context, const struct pcoll_extent *extent)
{
    (void)context;
    return owner[extent->chunk][extent->offset / LINE] == 0;
}

static int paint(const struct part_of_chunk *part, int from, int to)
{
    unsigned char *lines = &owner[part->chunk][part->offset / LINE];
    int wrong = 0;

    for (size_t i = 0; i < part->bytes / LINE; i++) {
        wrong += lines[i] != from;
        lines[i] = (unsigned char)to;
    }
    return wrong;
}

static int take_or_give(struct pcoll_extents *extents, int i, unsigned dice)
{
    size_t bytes = (1 + dice % (dice % 7 ? 4 : 200)) * LINE;
    const struct pcoll_extent *extent;
    int wrong = 0;

    if (held[i].bytes > 0) {
        wrong = paint(&held[i], i + 1, 0);
        held[i].bytes = 0;
        return wrong;
    }
    if (pcoll_extents_reserve(extents) != PCOLL_OK)
        return 1;
    pcoll_extents_merge(extents, is_given_back, NULL);
    extent = pcoll_extents_take(extents, bytes);
    if (extent == NULL)
        return 0;
    held[i] = (struct part_of_chunk){extent->chunk, extent->offset, extent->bytes};
    return paint(&held[i], 0, i + 1) + (extent->bytes != bytes);
}

static void check_extents(void)
{
    struct pcoll_extents extents = {0};
    unsigned dice = 1;
    int wrong = 0;

    for (int c = 0; c < CHUNKS; c++) {
        wrong += pcoll_extents_reserve(&extents) != PCOLL_OK;
        pcoll_extents_add_chunk(&extents, c, 64 * KIB);
    }
    for (int round = 0; round < 200000; round++) {
        dice = dice * 1103515245u + 12345u;
        wrong += take_or_give(&extents, (int)(dice >> 16) % PARTS, dice >> 8);
    }
    tap_ok(!wrong, "parts of chunks do not overlap");
    memset(owner, 0, sizeof(owner));
    pcoll_extents_merge(&extents, is_given_back, NULL);
    tap_ok(extents.n == CHUNKS && pcoll_extents_taken(&extents) == 0 &&
               pcoll_extents_is_unused(&extents, 1),
           "what was given back is one part again");
    pcoll_extents_fini(&extents);
}

/* ---- an arena ---- */

struct course {
    int (*run)(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap);
    int in_dev_shm;
};

static int carve(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap,
                 size_t bytes, struct pcoll_shm_block **block_p)
{
    return pcoll_shm_carve(arena, bootstrap, bytes, block_p) != PCOLL_OK ||
           pcoll_agree(bootstrap, PCOLL_OK, NULL, 0) != PCOLL_OK;
}

/* Each rank writes to its share, and finds what the others wrote. */
static int use(const struct pcoll_bootstrap *bootstrap, struct pcoll_shm_block *block, size_t bytes)
{
    unsigned char *payload = (unsigned char *)block + PCOLL_SHM_LINE;
    size_t share = bytes / (size_t)bootstrap->nranks;
    int wrong = 0;

    for (size_t i = 0; i < bytes; i += 509)
        wrong += payload[i] != 0;
    wrong += pcoll_agree(bootstrap, PCOLL_OK, NULL, 0) != PCOLL_OK;
    memset(payload + (size_t)bootstrap->rank * share, bootstrap->rank + 1, share);
    wrong += pcoll_agree(bootstrap, PCOLL_OK, NULL, 0) != PCOLL_OK;
    for (size_t i = 0; i < share * (size_t)bootstrap->nranks; i += 509)
        wrong += payload[i] != i / share + 1;
    wrong += pcoll_agree(bootstrap, PCOLL_OK, NULL, 0) != PCOLL_OK;
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

/* One block after the other, each a little larger. */
static int grow(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap)
{
    struct pcoll_shm_block *small, *block;
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

/* Many at a time, then few: pages go back. */
static int grow_and_shrink(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap)
{
    struct pcoll_shm_block *blocks[100], *block;
    int wrong = 0;

    for (int round = 0; !wrong && round < 3; round++) {
        for (int i = 0; !wrong && i < 100; i++)
            wrong = carve(arena, bootstrap, 300 * KIB, &blocks[i]);
        wrong = wrong || mapped() < 29 * MIB || mapped() > 40 * MIB;
        for (int i = 0; !wrong && i < 100; i++)
            wrong = use(bootstrap, blocks[(i * 37) % 100], 300 * KIB);
        for (int i = 0; !wrong && i < 20; i++)
            wrong = carve(arena, bootstrap, 100, &block) || use(bootstrap, block, 100);
        if (mapped() > 3 * MIB) {
            printf("# %zu bytes mapped for 100 in use\n", mapped());
            wrong = 1;
        }
    }
    return wrong;
}

/* Files may have 20 KiB: enough for what is asked for, not for twice as much. */
static int stay_small(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap)
{
    struct rlimit limit = {20 * KIB, 20 * KIB};
    struct pcoll_shm_block *blocks[8];
    int wrong = 0;

    signal(SIGXFSZ, SIG_IGN);
    wrong += setrlimit(RLIMIT_FSIZE, &limit) != 0;
    for (int i = 0; !wrong && i < 8; i++)
        wrong = carve(arena, bootstrap, 13 * KIB, &blocks[i]);
    for (int i = 0; !wrong && i < 8; i++)
        wrong = use(bootstrap, blocks[i], 13 * KIB);
    return wrong;
}

/* As a kernel under a fast timer: long calls are undone, and of the short ones every second. */
static int interrupting, calls;

int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    if (interrupting && (bytes > (off_t)MIB || calls++ % 2 == 0))
        return EINTR;
    return syscall(SYS_fallocate, fd, 0, offset, bytes) == 0 ? 0 : errno;
}

static int be_interrupted(struct pcoll_shm_arena *arena, const struct pcoll_bootstrap *bootstrap)
{
    struct pcoll_shm_block *block;

    interrupting = 1;
    return carve(arena, bootstrap, 5 * MIB, &block) || (calls == 0 && bootstrap->rank == 0) ||
           use(bootstrap, block, 5 * MIB);
}

/* ---- groups ---- */

/* Each has its memory from its creation on. */
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

/* ---- PID namespaces ---- */

enum { SKIPPED = 77 };

enum house { OWN_EACH, OWN_BUT_FIRST, ONE_OUTER };

static _Atomic int *starts;

/* Right data, and no attempt at the memory of a process that has another pid here. */
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
        signal(SIGALRM, give_up); /* the first process of a namespace has no default */
        alarm(60);
        _exit(gather_there(meeting, rank, house != ONE_OUTER));
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    if (WIFSIGNALED(status))
        printf("# rank %d was ended by signal %d\n", rank, WTERMSIG(status));
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* The kernel may forbid all of this, which is worth a line. */
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
                                        "rank 0 outside, the others each in one of their own",
                                        "all in one PID namespace"};

    fflush(stdout);
    for (enum house house = OWN_EACH; house <= ONE_OUTER; house++) {
        if (!may_unshare())
            tap_ok(1, "%s # SKIP no PID namespaces without privileges", names[house]);
        else
            tap_ok(meeting_run_processes(3, live_in, &house) == 0, "%s", names[house]);
    }
}

/* ---- what stays in /dev/shm ---- */

#ifndef BASE
static void make_name(const char *path, int age, int *fd_p)
{
    struct timespec times[2] = {{time(NULL) - age, 0}, {time(NULL) - age, 0}};

    *fd_p = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    futimens(*fd_p, times);
}

static void check_stale(void)
{
    static const char *const paths[] = {"/dev/shm/pcoll-test-dead", "/dev/shm/pcoll-test-young",
                                        "/dev/shm/pcoll-test-alive"};
    struct pcoll_shm_object object;
    int fds[3], made;

    make_name(paths[0], 1000, &fds[0]);
    make_name(paths[1], 0, &fds[1]);
    make_name(paths[2], 1000, &fds[2]);
    flock(fds[2], LOCK_EX);
    made = pcoll_shm_object_create(&object, 1, 5000) == 0;
    tap_ok(made && access(paths[0], F_OK) != 0, "the name that a killed process left is removed");
    tap_ok(access(paths[1], F_OK) == 0 && access(paths[2], F_OK) == 0, "others' names are not");
    if (made)
        pcoll_shm_object_close(&object);
    for (int i = 0; i < 3; i++) {
        close(fds[i]);
        unlink(paths[i]);
    }
}

/* Killed with the object open to others. */
static void check_killed(void)
{
    struct pcoll_shm_object *object =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char command[100];
    pid_t child = fork();

    if (child == 0) {
        if (pcoll_shm_object_create(object, 0, 5000) == 0)
            raise(SIGKILL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    snprintf(command, sizeof(command), "ls /dev/shm | grep -q pcoll-%02x%02x%02x%02x",
             object->token.bytes[0], object->token.bytes[1], object->token.bytes[2],
             object->token.bytes[3]);
    tap_ok(!object->in_dev_shm && system(command) != 0, "a killed process leaves no name");
    munmap(object, 4096);
}
#endif

int main(void)
{
    struct meeting *page = meeting_create(0); /* any shared page will do */

    starts = (_Atomic int *)(void *)page;
    check_extents();
    tap_ok(run(grow, 0) == 0, "blocks of growing sizes take what one of them takes");
    tap_ok(run(grow, 1) == 0, "the same in /dev/shm");
    tap_ok(run(grow_and_shrink, 0) == 0, "what is not in use goes back to the system");
    tap_ok(run(stay_small, 0) == 0, "no more than needed where there is no more");
    tap_ok(run(stay_small, 1) == 0, "the same in /dev/shm");
    tap_ok(run(be_interrupted, 0) == 0, "signals do not keep memory from being reserved");
    tap_ok(run(be_interrupted, 1) == 0, "the same in /dev/shm");
    tap_ok(meeting_run_processes(2, make_many, NULL) == 0, "300 groups take 16 KiB each at most");
    check_namespaces();
#ifndef BASE
    check_stale();
    check_killed();
#endif
    meeting_destroy(page);
    return tap_done();
}
