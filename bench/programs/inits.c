/* What inits on one node cost by the number of ranks: a row of the table in doc/init.md.
 *
 * Each collective has INITS requests of 8 B a block at the same time, so that none takes the plan
 * of a freed one. Times are medians on the slowest rank; heap is what one request takes of it on
 * the rank that needs most, and MiB is the shared memory that the first init maps. */
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { INITS = 5 };

static int n, *counts, *places;
static double *from, *to;

static void init_barrier(MPI_Request *request)
{
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, request);
}

static void init_bcast(MPI_Request *request)
{
    MPI_Bcast_init(from, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request);
}

static void init_allreduce(MPI_Request *request)
{
    MPI_Allreduce_init(from, to, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request);
}

static void init_allgather(MPI_Request *request)
{
    MPI_Allgather_init(from, 1, MPI_DOUBLE, to, 1, MPI_DOUBLE, MPI_COMM_WORLD, MPI_INFO_NULL,
                       request);
}

static void init_gather(MPI_Request *request)
{
    MPI_Gather_init(from, 1, MPI_DOUBLE, to, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                    request);
}

static void init_alltoallv(MPI_Request *request)
{
    MPI_Alltoallv_init(from, counts, places, MPI_DOUBLE, to, counts, places, MPI_DOUBLE,
                       MPI_COMM_WORLD, MPI_INFO_NULL, request);
}

static void (*const inits[])(MPI_Request *) = {init_barrier,   init_bcast,  init_allreduce,
                                               init_allgather, init_gather, init_alltoallv};

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double of_slowest(double value)
{
    double most;

    MPI_Reduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return most;
}

/* MiB of all shared mappings. */
static double mapped(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long begin, end;
    char line[4096], rights[5];
    double sum = 0;

    while (maps && fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) == 3 && rights[3] == 's')
            sum += (double)(end - begin) / (1 << 20);
    if (maps)
        fclose(maps);
    return sum;
}

static void run(MPI_Request *request)
{
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* The first request of a collective is not timed. */
static void measure(void (*init)(MPI_Request *), double *us_p, double *bytes_p)
{
    MPI_Request requests[1 + INITS];
    double times[INITS];
    double heap = 0;

    for (int i = 0; i <= INITS; i++) {
        const size_t before = mallinfo2().uordblks;
        double begin;

        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        init(&requests[i]);
        if (i > 0)
            times[i - 1] = 1e6 * (MPI_Wtime() - begin);
        heap = (double)mallinfo2().uordblks - (double)before;
        run(&requests[i]);
    }
    for (int i = 0; i <= INITS; i++)
        MPI_Request_free(&requests[i]);
    qsort(times, INITS, sizeof(*times), ascending);
    *us_p = of_slowest(times[INITS / 2]);
    *bytes_p = of_slowest(heap);
}

int main(int argc, char **argv)
{
    double begin, first, more;
    MPI_Request request;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    from = calloc((size_t)n, sizeof(*from));
    to = calloc((size_t)n, sizeof(*to));
    counts = malloc((size_t)n * sizeof(*counts));
    places = malloc((size_t)n * sizeof(*places));
    for (int i = 0; i < n; i++) {
        counts[i] = 1;
        places[i] = i;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    more = mapped();
    begin = MPI_Wtime();
    init_barrier(&request);
    first = of_slowest(1e3 * (MPI_Wtime() - begin));
    more = of_slowest(mapped() - more);
    if (rank == 0)
        printf("| %d | %.1f | %.1f |", n, first, more);
    for (size_t i = 0; i < sizeof(inits) / sizeof(inits[0]); i++) {
        double us, bytes;

        measure(inits[i], &us, &bytes);
        if (rank == 0)
            printf(" %.0f, %.0f |", us, bytes);
    }
    if (rank == 0)
        printf("\n");
    MPI_Request_free(&request);
    free(from);
    free(to);
    free(counts);
    free(places);
    MPI_Finalize();
    return 0;
}
