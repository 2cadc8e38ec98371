/* Memory of MPI_Alloc_mem: plans between parts of it, and of malloc's on some ranks; freed in
 * another order than it came, or while inactive plans are bound to it; given back to the system;
 * info keys; and what is not the beginning of an allocation is not freed.
 *
 *  -mapped=yes|no     such memory must be of the kind that other processes map, or must not be
 *  -vain              only rank 0 has such memory: of many allreduces of one shape only a few
 * choose again, as the others' operands are not mapped; nothing else is tested */

#include "check.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PLANS = 12, ROUNDS = 30, STARTS = 3 };

/* ---- the system's view ---- */

/* True if the address is in an object that the backend has made. */
static int is_mapped(const void *memory)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long from, to;
    char line[512];
    int found = 0;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        found |= sscanf(line, "%lx-%lx", &from, &to) == 2 && (unsigned long)memory >= from &&
                 (unsigned long)memory < to && strstr(line, "memfd:pcoll-") != NULL;
    if (maps != NULL)
        fclose(maps);
    return found;
}

/* Bytes of memory that this process' objects hold. */
static size_t held(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    size_t bytes = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[300], target[100] = "";
        struct stat status;

        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        if (readlink(path, target, sizeof(target) - 1) > 0 &&
            strncmp(target, "/memfd:pcoll-", 13) == 0 && stat(path, &status) == 0)
            bytes += (size_t)status.st_blocks * 512;
    }
    if (folder != NULL)
        closedir(folder);
    return bytes;
}

static char *get(size_t bytes, MPI_Info info)
{
    const char *expected = check_option("mapped");
    char *memory = NULL;

    MPI(MPI_Alloc_mem((MPI_Aint)bytes, info, &memory));
    if (expected != NULL && is_mapped(memory) != (strcmp(expected, "yes") == 0))
        check_fail(__FILE__, __LINE__, "%zu bytes: mapped is not %s", bytes, expected);
    return memory;
}

/* ---- plans ---- */

struct plan {
    int is_bcast, root;
    size_t bytes, place; /* of a block; where the first begins */
    char *send, *receive, *memory;
    int is_malloc;
    uint64_t tag;
    MPI_Request request;
};

/* Send and receive buffers are parts of one allocation. */
static void plan_init(struct plan *p, uint64_t tag)
{
    const size_t sizes[] = {1, 5000, 65536, 300001, 1100000};
    const uint64_t dice = check_random(&check.shared);
    const size_t all = (size_t)check.size;

    p->tag = tag;
    p->is_bcast = dice % 2;
    p->root = (int)(dice / 2 % all);
    p->bytes = sizes[dice / 64 % 5];
    p->place = (size_t)(check_random(&check.local) % 9000);
    p->is_malloc = check_random(&check.local) % 4 == 0;
    p->memory = p->is_malloc ? malloc(p->place + (all + 1) * p->bytes)
                             : get(4096 + p->place + (all + 1) * p->bytes, MPI_INFO_NULL);
    p->send = p->memory + p->place;
    p->receive = p->send + p->bytes;
    if (p->is_bcast)
        MPI(MPI_Bcast_init(p->send, (int)p->bytes, MPI_BYTE, p->root, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &p->request));
    else
        MPI(MPI_Allgather_init(p->send, (int)p->bytes, MPI_BYTE, p->receive, (int)p->bytes,
                               MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &p->request));
}

static void plan_run(const struct plan *p)
{
    MPI_Request request = p->request;

    for (uint64_t step = 0; step < STARTS; step++) {
        check_poison(p->receive, (size_t)check.size * p->bytes);
        check_poison(p->send, p->bytes);
        if (!p->is_bcast || p->root == check.rank)
            check_fill(p->send, p->bytes, check_key(p->tag, step, check.rank));
        check_delay();
        MPI(MPI_Start(&request));
        check_delay();
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (p->is_bcast)
            check_compare(p->send, p->bytes, check_key(p->tag, step, p->root));
        for (int r = 0; r < check.size && !p->is_bcast; r++)
            check_compare(p->receive + (size_t)r * p->bytes, p->bytes, check_key(p->tag, step, r));
        check_poison(p->send, p->bytes);
    }
}

static void plan_free_memory(struct plan *p)
{
    if (p->is_malloc)
        free(p->memory);
    else
        MPI(MPI_Free_mem(p->memory));
    p->memory = NULL;
}

static void plan_free(struct plan *p, int memory_first)
{
    if (memory_first)
        plan_free_memory(p);
    MPI(MPI_Request_free(&p->request));
    if (!memory_first)
        plan_free_memory(p);
}

/* Plans come and go in random order; before a plan goes, and after, another one runs. */
static void run_plans(void)
{
    struct plan plans[MAX_PLANS];
    int used[MAX_PLANS] = {0};

    for (int round = 0; round < ROUNDS && check.errors == 0; round++) {
        const int i = (int)(check_random(&check.shared) % MAX_PLANS);
        const int other = (int)(check_random(&check.shared) % MAX_PLANS);

        check_phase("round %d, plan %d, then %d", round, i, other);
        if (!used[i])
            plan_init(&plans[i], (uint64_t)round);
        plan_run(&plans[i]);
        if (used[i])
            plan_free(&plans[i], check_random(&check.local) % 2 == 0);
        used[i] = !used[i];
        if (used[other])
            plan_run(&plans[other]);
    }
    for (int i = 0; i < MAX_PLANS; i++)
        if (used[i])
            plan_free(&plans[i], i % 2);
}

/* ---- allocations ---- */

static void give_back(void)
{
    enum { N = 50 };
    char *all[N];
    const size_t before = held();

    check_phase("allocations come and go");
    for (int i = 0; i < N; i++) {
        all[i] = get(4096 + (size_t)i * 7000, MPI_INFO_NULL);
        check_fill(all[i], 4096 + (size_t)i * 7000, check_key(1, (uint64_t)i, check.rank));
    }
    for (int i = 0; i < N; i++) {
        const int k = (i * 7 + 3) % N;

        check_compare(all[k], 4096 + (size_t)k * 7000, check_key(1, (uint64_t)k, check.rank));
        MPI(MPI_Free_mem(all[k]));
    }
    if (held() > before)
        check_fail(__FILE__, __LINE__, "%zu bytes are held, %zu were before", held(), before);
}

static void ask_for(const char *key, const char *value, size_t alignment)
{
    char *memory = NULL;
    MPI_Info info;

    check_phase("info key %s=%s", key, value);
    MPI(MPI_Info_create(&info));
    MPI(MPI_Info_set(info, key, value));
    MPI(MPI_Alloc_mem(100000, info, &memory));
    if ((uintptr_t)memory % alignment != 0)
        check_fail(__FILE__, __LINE__, "%p is not aligned to %zu", (void *)memory, alignment);
    memset(memory, 1, 100000);
    MPI(MPI_Free_mem(memory));
    MPI(MPI_Info_free(&info));
}

/* What stock MPICH ends the program for is tried only where the memory is ours. */
static void free_wrongly(void)
{
    char *memory = NULL;
    int error;

    MPI(MPI_Alloc_mem(10000, MPI_INFO_NULL, &memory));
    if (is_mapped(memory)) {
        check_phase("freeing the middle of an allocation");
        MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        error = MPI_Free_mem(memory + 4096);
        CHECK(error != MPI_SUCCESS);
        if (error != MPI_SUCCESS)
            MPI(MPI_Error_class(error, &error));
        CHECK(error == MPI_ERR_BASE);
    }
    MPI(MPI_Free_mem(memory));
}

/* ---- operands that some ranks have not mapped ---- */

enum {
    LONGS = 8192,
    INITS = 40,
    MOST_IN_VAIN = 3
}; /* the first one, and each sixteenth after it */

static void reduce_once(const long *send, long *receive, int init)
{
    MPI_Request request;

    MPI(MPI_Allreduce_init(send, receive, LONGS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &request));
    memset(receive, 0x55, LONGS * sizeof(*receive));
    MPI(MPI_Start(&request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < LONGS && check.errors == 0; i++)
        if (receive[i] != (long)check.size * (check.size - 1) / 2 + (long)check.size * i)
            check_fail(__FILE__, __LINE__, "init %d: element %d is %ld", init, i, receive[i]);
    MPI(MPI_Request_free(&request));
}

/* How many of these inits chose again. */
static long long count_in_vain(const long *send, long *receive)
{
    const long long before = check_pvar("coll_offload_vain_binds");

    for (int init = 0; init < INITS; init++) {
        check_phase("init %d", init);
        reduce_once(send, receive, init);
    }
    return check_pvar("coll_offload_vain_binds") - before;
}

static void bind_in_vain(void)
{
    const size_t bytes = LONGS * sizeof(long);
    long *mapped = (long *)(void *)get(2 * bytes, MPI_INFO_NULL), *plain = malloc(2 * bytes);
    long *buffer = check.rank == 0 ? mapped : plain;
    long long vain;

    for (int i = 0; i < LONGS; i++)
        mapped[i] = plain[i] = check.rank + i;
    vain = count_in_vain(buffer, buffer + LONGS);
    if (vain < 1 || vain > MOST_IN_VAIN)
        check_fail(__FILE__, __LINE__, "%lld of %d inits chose again", vain, INITS);
    vain = count_in_vain(mapped, mapped + LONGS);
    CHECK(vain == 0);
    free(plain);
    MPI(MPI_Free_mem(mapped));
}

int main(int argc, char **argv)
{
    char *small = NULL, *none = NULL;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (check_option("vain")) {
        bind_in_vain();
        return check_done();
    }
    give_back();
    ask_for("mpi_minimum_memory_alignment", "64", 64);
    ask_for("mpi_minimum_memory_alignment", "65536", 65536);
    ask_for("mpich_buf_type", "ddr", 1);
    MPI(MPI_Alloc_mem(1, MPI_INFO_NULL, &small));
    MPI(MPI_Alloc_mem(0, MPI_INFO_NULL, &none));
    MPI(MPI_Free_mem(none));
    MPI(MPI_Free_mem(small));
    free_wrongly();
    run_plans();
    return check_done();
}
