#include "elements.h"

#include <math.h>

/* ---- a user's operator that does not commute, on types of all sorts ---- */

struct matrix {
    uint32_t at[2][2];
};

static struct matrix product(struct matrix x, struct matrix y)
{
    struct matrix z;

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            z.at[i][k] = x.at[i][0] * y.at[0][k] + x.at[i][1] * y.at[1][k];
    return z;
}

/* Calls MPI, which is allowed to ask for the type's extent. */
static void multiply(void *in, void *inout, int *length, MPI_Datatype *type)
{
    char *left = in, *right = inout;
    MPI_Aint low, extent;

    MPI_Type_get_extent(*type, &low, &extent);
    for (int i = 0; i < *length; i++) {
        struct matrix *x = (struct matrix *)(left + i * extent);
        struct matrix *y = (struct matrix *)(right + i * extent);

        *y = product(*x, *y);
    }
}

static void set_matrices(const struct elements *e, void *dense, int rank, int step, long first,
                         long n)
{
    struct matrix *m = dense;

    (void)e;
    for (long i = 0; i < n; i++) {
        const uint64_t x = check_key((uint64_t)step, (uint64_t)(first + i), rank);

        m[i] = (struct matrix){{{(uint32_t)x, (uint32_t)(x >> 32)}, {(uint32_t)(x >> 16), 1}}};
    }
}

static void fold_matrices(const struct elements *e, const void *left, void *right, long n)
{
    const struct matrix *x = left;
    struct matrix *y = right;

    (void)e;
    for (long i = 0; i < n; i++)
        y[i] = product(x[i], y[i]);
}

struct elements elements_matrices(const char *name, long extent)
{
    struct elements e = {name,        sizeof(struct matrix), extent,       MPI_DATATYPE_NULL,
                         MPI_OP_NULL, set_matrices,          fold_matrices};
    MPI_Datatype four;

    MPI(MPI_Type_contiguous(4, MPI_UINT32_T, &four));
    MPI(MPI_Type_create_resized(four, 0, extent, &e.type));
    MPI(MPI_Type_commit(&e.type));
    MPI(MPI_Type_free(&four));
    MPI(MPI_Op_create(multiply, 0, &e.op));
    return e;
}

void elements_free(struct elements *e)
{
    MPI(MPI_Type_free(&e->type));
    MPI(MPI_Op_free(&e->op));
}

/* ---- predefined operators ---- */

struct pair {
    double value;
    int index;
};

static void set_pairs(const struct elements *e, void *dense, int rank, int step, long first, long n)
{
    (void)e;
    for (long i = 0; i < n; i++) {
        const struct pair pair = {(double)((rank * 7 + first + i + step) % (check.size + 2)), rank};

        memcpy((char *)dense + 12 * i, &pair, 12);
    }
}

static void fold_pairs(const struct elements *e, const void *left, void *right, long n)
{
    (void)e;
    for (long i = 0; i < n; i++) {
        struct pair x, y;

        memcpy(&x, (const char *)left + 12 * i, 12);
        memcpy(&y, (char *)right + 12 * i, 12);
        if (x.value >= y.value)
            memcpy((char *)right + 12 * i, &x, 12);
    }
}

struct elements elements_pairs(void)
{
    return (struct elements){"pairs",    12,        sizeof(struct pair), MPI_DOUBLE_INT,
                             MPI_MAXLOC, set_pairs, fold_pairs};
}

/* Any bytes are integers. */
static void set_integers(const struct elements *e, void *dense, int rank, int step, long first,
                         long n)
{
    const size_t begin = (size_t)first * e->size, bytes = (size_t)n * e->size;
    char *all = malloc(begin + bytes + 1);

    check_fill(all, begin + bytes, check_key(9, (uint64_t)step, rank));
    memcpy(dense, all + begin, bytes);
    free(all);
}

static void fold_integers(const struct elements *e, const void *left, void *right, long n)
{
    MPI(MPI_Reduce_local(left, right, (int)n, e->type, e->op));
}

struct elements elements_integers(MPI_Op op, MPI_Datatype type)
{
    struct elements e = {"integers", 0, 0, type, op, set_integers, fold_integers};
    MPI_Aint low, extent;

    MPI(MPI_Type_get_extent(type, &low, &extent));
    e.size = (size_t)extent;
    e.extent = extent;
    return e;
}

/* Numbers of such different sizes that every association of a sum has other bits. */
static void set_uneven(const struct elements *e, void *dense, int rank, int step, long first,
                       long n)
{
    double *x = dense;

    (void)e, (void)step;
    for (long i = 0; i < n; i++) {
        const uint64_t bits = check_key(7, (uint64_t)(first + i), rank);

        x[i] = ldexp((double)(bits >> 11) - 4503599627370496.0, (int)(bits % 90) - 45);
    }
}

struct elements elements_doubles(void)
{
    return (struct elements){
        "doubles", sizeof(double), sizeof(double), MPI_DOUBLE, MPI_SUM, set_uneven, NULL};
}
