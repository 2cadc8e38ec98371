/* GMRES(30) on a tridiagonal system: many short allreduces, each length up to the restart once a
 * cycle, as PETSc's classical Gram-Schmidt makes them, and one value exchanged with each neighbor.
 *
 *     gmres ROWS CYCLES     rows of each rank (200), cycles of 30 iterations (2500)
 *
 * Rank 0 prints the time of the cycles and the norm of the residual. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESTART = 30, LEFT_TAG = 1, RIGHT_TAG = 2 };

static int rank, n, rows;
static double *basis[RESTART + 1], *x, *b,
    *halo; /* halo: a vector with the neighbors' values around it */

/* y = A v, with A = tridiagonal (-1.1, 2.2, -0.9). */
static void multiply(const double *v, double *y)
{
    const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL,
              right = rank < n - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Request requests[4];
    MPI_Status statuses[4];

    halo[0] = halo[rows + 1] = 0;
    memcpy(halo + 1, v, (size_t)rows * sizeof *v);
    MPI_Irecv(halo, 1, MPI_DOUBLE, left, RIGHT_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(halo + rows + 1, 1, MPI_DOUBLE, right, LEFT_TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(v, 1, MPI_DOUBLE, left, LEFT_TAG, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(v + rows - 1, 1, MPI_DOUBLE, right, RIGHT_TAG, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, statuses);
    for (int i = 1; i <= rows; i++)
        y[i - 1] = 2.2 * halo[i] - 1.1 * halo[i - 1] - 0.9 * halo[i + 1];
}

static double dot(const double *v, const double *w)
{
    double sum = 0;

    for (int i = 0; i < rows; i++)
        sum += v[i] * w[i];
    return sum;
}

static double norm(const double *v)
{
    double own = dot(v, v), sum;

    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(sum);
}

/* v -= factor w */
static void subtract(double *v, double factor, const double *w)
{
    for (int i = 0; i < rows; i++)
        v[i] -= factor * w[i];
}

/* basis[0] = (b - A x) / norm; returns the norm. */
static double begin_cycle(void)
{
    double size;

    multiply(x, basis[0]);
    for (int i = 0; i < rows; i++)
        basis[0][i] = b[i] - basis[0][i];
    size = norm(basis[0]);
    for (int i = 0; i < rows; i++)
        basis[0][i] /= size;
    return size;
}

/* Makes basis[j + 1], and column j of the Hessenberg matrix. */
static void expand(int j, double column[RESTART + 1])
{
    double own[RESTART], *w = basis[j + 1];

    multiply(basis[j], w);
    for (int k = 0; k <= j; k++)
        own[k] = dot(basis[k], w);
    MPI_Allreduce(own, column, j + 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k <= j; k++)
        subtract(w, column[k], basis[k]);
    column[j + 1] = norm(w);
    for (int i = 0; i < rows; i++)
        w[i] /= column[j + 1];
}

/* Applies rotation (c, s) to elements k and k + 1. */
static void rotate(double *v, int k, double c, double s)
{
    const double upper = v[k];

    v[k] = c * upper + s * v[k + 1];
    v[k + 1] = c * v[k + 1] - s * upper;
}

static double cycle(void)
{
    double h[RESTART][RESTART + 1], c[RESTART], s[RESTART], g[RESTART + 1] = {begin_cycle()}, left;

    for (int j = 0; j < RESTART; j++) {
        expand(j, h[j]);
        for (int k = 0; k < j; k++)
            rotate(h[j], k, c[k], s[k]);
        left = hypot(h[j][j], h[j][j + 1]);
        c[j] = h[j][j] / left;
        s[j] = h[j][j + 1] / left;
        rotate(h[j], j, c[j], s[j]);
        rotate(g, j, c[j], s[j]);
    }
    for (int j = RESTART - 1; j >= 0; j--) {
        for (int k = j + 1; k < RESTART; k++)
            g[j] -= h[k][j] * g[k];
        g[j] /= h[j][j];
        subtract(x, -g[j], basis[j]);
    }
    return fabs(g[RESTART]);
}

int main(int argc, char **argv)
{
    const int cycles = argc > 2 ? atoi(argv[2]) : 2500;
    double begin, end, residual = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    rows = argc > 1 ? atoi(argv[1]) : 200;
    for (int j = 0; j <= RESTART; j++)
        basis[j] = calloc((size_t)rows, sizeof(double));
    x = calloc((size_t)rows, sizeof *x);
    b = calloc((size_t)rows, sizeof *b);
    halo = calloc((size_t)rows + 2, sizeof *halo);
    for (int i = 0; i < rows; i++)
        b[i] = 1 + (rank * rows + i) % 7;
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (int i = 0; i < cycles; i++) {
        /* A solution that is found makes the numbers of the next cycle meaningless, and all cycles
         * are to cost the same. */
        memset(x, 0, (size_t)rows * sizeof *x);
        residual = cycle();
    }
    end = MPI_Wtime();
    if (rank == 0)
        printf("%d ranks, %d rows each, %d cycles: %.3f s, residual %.9g\n", n, rows, cycles,
               end - begin, residual);
    return MPI_Finalize();
}
