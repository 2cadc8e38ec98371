#include "elements.h"

#include <float.h>
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

/* The forms of matrices, by their types, for the operator. */
static struct elements matrices[8];
static int nmatrices;

static const struct form *form_of(MPI_Datatype type)
{
    for (int i = 0; i < nmatrices; i++)
        if (matrices[i].type == type)
            return &matrices[i].form;
    check_fail(__FILE__, __LINE__, "an operator is called with a type of others");
    return &matrices[0].form;
}

static struct matrix matrix_at(const struct form *f, const char *at)
{
    struct matrix m;

    memcpy(&m, at + f->low, f->head);
    memcpy((char *)&m + f->head, at + f->low + f->head + f->gap, sizeof(m) - f->head);
    return m;
}

static void matrix_put(const struct form *f, char *at, struct matrix m)
{
    memcpy(at + f->low, &m, f->head);
    memcpy(at + f->low + f->head + f->gap, (char *)&m + f->head, sizeof(m) - f->head);
}

long elements_misplaced;

/* User memory is aligned to 8 bytes, so all elements are if their extent permits. */
static int are_aligned(const void *left, const void *right, long extent)
{
    return ((uintptr_t)left | (uintptr_t)right) % (extent % 8 == 0 ? 8 : 4) == 0;
}

/* Calls MPI, which is allowed to ask for the type's extent. */
static void multiply(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const struct form *f = form_of(*type);
    char *left = in, *right = inout;
    MPI_Aint low, extent;

    MPI_Type_get_extent(*type, &low, &extent);
    elements_misplaced += !are_aligned(in, inout, extent);
    for (int i = 0; i < *length; i++, left += extent, right += extent)
        matrix_put(f, right, product(matrix_at(f, left), matrix_at(f, right)));
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

struct elements elements_matrices(const char *name, struct form form)
{
    struct elements e = {name,        sizeof(struct matrix), form,         MPI_DATATYPE_NULL,
                         MPI_OP_NULL, set_matrices,          fold_matrices};
    const int lengths[2] = {(int)form.head, (int)(e.size - form.head)};
    const MPI_Aint at[2] = {form.low, form.low + (long)(form.head + form.gap)};
    MPI_Datatype four;

    MPI(MPI_Type_create_hindexed(2, lengths, at, MPI_BYTE, &four));
    MPI(MPI_Type_create_resized(four, form.low < 0 ? form.low : 0, form.extent, &e.type));
    MPI(MPI_Type_commit(&e.type));
    MPI(MPI_Type_free(&four));
    MPI(MPI_Op_create(multiply, 0, &e.op));
    matrices[nmatrices++] = e;
    return e;
}

void elements_free(struct elements *e)
{
    MPI(MPI_Type_free(&e->type));
    MPI(MPI_Op_free(&e->op));
}

void elements_spread(const struct elements *e, char *to, const char *dense, long n)
{
    const struct form *f = &e->form;

    for (long i = 0; i < n; i++, to += f->extent, dense += e->size) {
        memcpy(to + f->low, dense, f->head);
        memcpy(to + f->low + f->head + f->gap, dense + f->head, e->size - f->head);
    }
}

void elements_gather(const struct elements *e, char *dense, const char *from, long n)
{
    const struct form *f = &e->form;

    for (long i = 0; i < n; i++, from += f->extent, dense += e->size) {
        memcpy(dense, from + f->low, f->head);
        memcpy(dense + f->head, from + f->low + f->head + f->gap, e->size - f->head);
    }
}

/* ---- predefined operators ---- */

/* Writes a value without padding; returns its bytes. */
static size_t set_value(MPI_Datatype type, char *to, int value)
{
    if (type == MPI_LONG_DOUBLE_INT) {
        const long double x = value;

        memset(to, 0, sizeof(x));
        memcpy(to, &x, LDBL_MANT_DIG == 64 ? 10 : sizeof(x));
        return sizeof(x);
    }
    if (type == MPI_DOUBLE_INT)
        return memcpy(to, &(double){value}, sizeof(double)) ? sizeof(double) : 0;
    if (type == MPI_FLOAT_INT)
        return memcpy(to, &(float){(float)value}, sizeof(float)) ? sizeof(float) : 0;
    if (type == MPI_LONG_INT)
        return memcpy(to, &(long){value}, sizeof(long)) ? sizeof(long) : 0;
    return memcpy(to, &(short){(short)value}, sizeof(short)) ? sizeof(short) : 0;
}

/* The value that a rank contributes; many are equal. */
static int value_of(int rank, int step, long i)
{
    return (int)((rank * 7 + i + step) % (check.size + 2)) - 3;
}

static void set_pairs(const struct elements *e, void *dense, int rank, int step, long first, long n)
{
    char *to = dense;

    for (long i = 0; i < n; i++, to += e->size) {
        const size_t value = set_value(e->type, to, value_of(rank, step, first + i));

        memcpy(to + value, &(int){1000 - rank}, sizeof(int));
    }
}

/* MPI's function, with the elements in their own form. */
static void fold_as_mpi(const struct elements *e, const void *left, void *right, long n)
{
    char *memory = calloc(2 * (size_t)n + 1, (size_t)e->form.extent);
    char *own = memory + n * e->form.extent;

    elements_spread(e, memory, left, n);
    elements_spread(e, own, right, n);
    MPI(MPI_Reduce_local(memory, own, (int)n, e->type, e->op));
    elements_gather(e, right, own, n);
    free(memory);
}

/* The first value, and its location at the next multiple of the alignment of int. */
struct elements elements_pairs(MPI_Op op, MPI_Datatype type)
{
    struct elements e = {"pairs", 0, {0}, type, op, set_pairs, fold_as_mpi};
    char value[sizeof(long double)];
    MPI_Aint low, extent;
    int size;

    MPI(MPI_Type_get_extent(type, &low, &extent));
    MPI(MPI_Type_size(type, &size));
    e.size = (size_t)size;
    e.form = (struct form){.extent = extent, .head = set_value(type, value, 0)};
    e.form.gap = (sizeof(int) - e.form.head % sizeof(int)) % sizeof(int);
    return e;
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

/* MPI_MAX and MPI_MIN of unsigned integers, for which MPICH 4.0.2 with Fortran compares signed
 * ones. */
static void fold_unsigned(const struct elements *e, const void *left, void *right, long n)
{
    for (long i = 0; i < n; i++) {
        const char *from = (const char *)left + (size_t)i * e->size;
        char *to = (char *)right + (size_t)i * e->size;
        uint64_t a = 0, b = 0;

        memcpy(&a, from, e->size); /* the first byte is the least */
        memcpy(&b, to, e->size);
        if (e->op == MPI_MAX ? a > b : a < b)
            memcpy(to, from, e->size);
    }
}

static int is_unsigned(MPI_Datatype type)
{
    return type == MPI_UNSIGNED_CHAR || type == MPI_UNSIGNED_SHORT || type == MPI_UINT32_T ||
           type == MPI_UINT64_T;
}

struct elements elements_integers(MPI_Op op, MPI_Datatype type)
{
    const int compares = (op == MPI_MAX || op == MPI_MIN) && is_unsigned(type);
    struct elements e = {"integers", 0, {0}, type, op, set_integers, fold_as_mpi};
    MPI_Aint low, extent;

    MPI(MPI_Type_get_extent(type, &low, &extent));
    e.size = (size_t)extent;
    e.form = (struct form){.extent = extent, .head = e.size};
    if (compares) {
        e.name = "unsigned integers";
        e.fold = fold_unsigned;
    }
    return e;
}

/* Products of these numbers have no part that is 0, whose sign would depend on the association. */
static void set_complex(const struct elements *e, void *dense, int rank, int step, long first,
                        long n)
{
    static const int numbers[6][2] = {{1, 2}, {-1, -2}, {-2, 1}, {2, -1}, {2, 3}, {-3, 2}};

    for (long i = 0; i < 2 * n; i++) {
        const uint64_t k = check_key((uint64_t)step, (uint64_t)(first + i / 2), rank) % 6;
        const int x = numbers[k][i % 2];

        if (e->type == MPI_C_FLOAT_COMPLEX)
            ((float *)dense)[i] = (float)x;
        else
            ((double *)dense)[i] = x;
    }
}

struct elements elements_complex(MPI_Op op, MPI_Datatype type)
{
    struct elements e = elements_integers(op, type);

    e.name = "complex numbers";
    e.set = set_complex;
    return e;
}

/* An integer below 2^11 as an IEEE half, and back. */
static uint16_t half_of(int value)
{
    const int size = abs(value);
    int exponent = 0;

    while (size >> exponent > 1)
        exponent++;
    return size == 0 ? 0
                     : (uint16_t)((value < 0 ? 0x8000 : 0) + ((exponent + 15) << 10) +
                                  ((size << (10 - exponent)) & 1023));
}

static int value_of_half(uint16_t half)
{
    const int exponent = (half >> 10 & 31) - 15;
    const int size = exponent < 0 ? 0 : (1024 + (half & 1023)) >> (10 - exponent);

    return half & 0x8000 ? -size : size;
}

static uint16_t bfloat16_of(int value)
{
    const float x = (float)value;
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

static void set_halves(const struct elements *e, void *dense, int rank, int step, long first,
                       long n)
{
    uint16_t *to = dense;

    (void)e;
    for (long i = 0; i < n; i++)
        to[i] = half_of(value_of(rank, step, first + i));
}

/* MPI_Reduce_local cannot serve: in MPICH before 4.1 with yaksa it leaves halves as they are. */
static void fold_halves(const struct elements *e, const void *left, void *right, long n)
{
    const uint16_t *from = left;
    uint16_t *to = right;

    for (long i = 0; i < n; i++) {
        const int x = value_of_half(from[i]), y = value_of_half(to[i]);

        to[i] = half_of(e->op == MPI_SUM ? x + y : (e->op == MPI_MAX) == (x > y) ? x : y);
    }
}

static void set_bfloat16(const struct elements *e, void *dense, int rank, int step, long first,
                         long n)
{
    uint16_t *to = dense;

    (void)e;
    for (long i = 0; i < n; i++)
        to[i] = bfloat16_of(value_of(rank, step, first + i));
}

/* A type that this MPI lacks is null, or has no size. */
static struct elements of_two_bytes(const char *name, MPI_Op op, MPI_Datatype type)
{
    struct elements e = {name, 0, {.extent = 2, .head = 2}, type, op, NULL, fold_as_mpi};
    int size = 0;

    if (type != MPI_DATATYPE_NULL)
        MPI(MPI_Type_size(type, &size));
    e.size = size == 2 ? 2 : 0;
    return e;
}

struct elements elements_halves(MPI_Op op)
{
#ifdef MPIX_C_FLOAT16
    struct elements e = of_two_bytes("halves", op, MPIX_C_FLOAT16);
#else
    struct elements e = of_two_bytes("halves", op, MPI_DATATYPE_NULL);
#endif

    e.set = set_halves;
    e.fold = fold_halves;
    return e;
}

struct elements elements_bfloat16(void)
{
#ifdef MPIX_BFLOAT16
    struct elements e = of_two_bytes("bfloat16", MPI_SUM, MPIX_BFLOAT16);
#else
    struct elements e = of_two_bytes("bfloat16", MPI_SUM, MPI_DATATYPE_NULL);
#endif

    e.set = set_bfloat16;
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
    const struct form form = {.extent = sizeof(double), .head = sizeof(double)};

    return (struct elements){"doubles", sizeof(double), form, MPI_DOUBLE,
                             MPI_SUM,   set_uneven,     NULL};
}
