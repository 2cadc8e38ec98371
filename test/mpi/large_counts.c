/* The bindings with MPI_Count arguments: usual sizes, counts beyond an int and, with -big, a
 * broadcast of more than 2 GiB (skipped if memory is short). */

#include "check.h"
#include <unistd.h>

#if MPI_VERSION >= 4

enum { STARTS = 3 };

static const MPI_Count beyond = ((MPI_Count)1 << 31) + 5;

static void run_bcast(char *buffer, size_t bytes, int root, MPI_Request *request)
{
    uint64_t starts = bytes < (size_t)beyond ? STARTS : 1;

    for (uint64_t step = 0; step < starts; step++) {
        check_poison(buffer, bytes);
        if (check.rank == root)
            check_fill(buffer, bytes, check_key(1, step, root));
        MPI(MPI_Start(request));
        MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
        check_compare(buffer, bytes, check_key(1, step, root));
    }
    MPI(MPI_Request_free(request));
}

static void bcast(MPI_Count bytes, int root)
{
    char *buffer = check_alloc((size_t)bytes);
    MPI_Request request;

    check_phase("bcast of %lld bytes", (long long)bytes);
    MPI(MPI_Bcast_init_c(buffer, bytes, MPI_BYTE, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    run_bcast(buffer, (size_t)bytes, root, &request);
    check_free(buffer);
}

static void allgather(MPI_Count bytes)
{
    size_t block = (size_t)bytes;
    char *send = check_alloc(block), *receive = check_alloc(block * (size_t)check.size);
    MPI_Request request;

    check_phase("allgather of %lld bytes", (long long)bytes);
    MPI(MPI_Allgather_init_c(send, bytes, MPI_BYTE, receive, bytes, MPI_BYTE, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &request));
    for (uint64_t step = 0; step < STARTS; step++) {
        check_poison(receive, block * (size_t)check.size);
        check_fill(send, block, check_key(2, step, check.rank));
        MPI(MPI_Start(&request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int r = 0; r < check.size; r++)
            check_compare(receive + block * (size_t)r, block, check_key(2, step, r));
    }
    MPI(MPI_Request_free(&request));
    check_free(send);
    check_free(receive);
}

/* The number of elements exceeds an int, but no element holds a byte. */
static void many_of_nothing(void)
{
    MPI_Datatype nothing;
    MPI_Request requests[2];
    int some[8];

    check_phase("count beyond an int, no data");
    MPI(MPI_Type_contiguous(0, MPI_INT, &nothing));
    MPI(MPI_Type_commit(&nothing));
    MPI(MPI_Bcast_init_c(some, beyond, nothing, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    MPI(MPI_Allgather_init_c(some, beyond, nothing, some + 4, beyond, nothing, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &requests[1]));
    MPI(MPI_Type_free(&nothing));
    for (int step = 0; step < STARTS; step++) {
        MPI(MPI_Startall(2, requests));
        MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    MPI(MPI_Request_free(&requests[0]));
    MPI(MPI_Request_free(&requests[1]));
}

static void big(void)
{
    long long have = (long long)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int enough = have > (check.size + 1) * (long long)beyond;

    MPI(MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (enough)
        bcast(beyond, check.size - 1);
    else
        check_note("not enough memory for -big");
}

static void all_of_it(void)
{
    static const MPI_Count sizes[] = {0, 1, 48, 49, 4097, 100001};

    for (int i = 0; i < 6; i++) {
        bcast(sizes[i], i % check.size);
        allgather(sizes[i]);
    }
    many_of_nothing();
    if (check_option("big") != NULL)
        big();
}

#else

static void all_of_it(void)
{
}

#endif

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    all_of_it();
    return check_done();
}
