/* A program that repeats short collectives of several shapes, in place too, and checks the data:
 * what the tests of maint/programs run. */
#include <mpi.h>

static int rank, n;

static void turn(int i, int count, MPI_Comm comm)
{
    const int root = i % 2 * (n - 1), sum = n * (n - 1) / 2;
    int a[3], b[3], c[3], d[3];

    for (int k = 0; k < 3; k++) {
        a[k] = b[k] = i + k + rank;
        c[k] = -1;
        d[k] = rank == root ? i + k : -1;
    }
    MPI_Allreduce(a, c, count, MPI_INT, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, b, count, MPI_INT, MPI_SUM, comm);
    MPI_Bcast(d, count, MPI_INT, root, comm);
    for (int k = 0; k < 3; k++)
        if (k < count ? b[k] != n * (i + k) + sum || c[k] != b[k] || d[k] != i + k : c[k] != -1)
            MPI_Abort(comm, 1);
    for (int k = 0; k < 3; k++)
        c[k] = -1;
    MPI_Reduce(a, c, count, MPI_INT, MPI_MAX, root, comm);
    for (int k = 0; k < 3; k++)
        if (c[k] != (rank == root && k < count ? i + k + n - 1 : -1))
            MPI_Abort(comm, 1);
    MPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int j = 0; j < 3; j++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < 600; i++)
            turn(i, 1 + i % 3, j % 2 ? MPI_COMM_WORLD : comm);
        MPI_Comm_free(&comm);
    }
    return MPI_Finalize();
}
