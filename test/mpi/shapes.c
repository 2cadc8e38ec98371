#include "shapes.h"

static void place_all(struct shape *s, int ints, const int *in_one, int per_one, int extent)
{
    s->place = malloc((size_t)ints * sizeof(size_t) + 1);
    s->count = ints / per_one;
    s->span = 0;
    for (int i = 0; i < ints; i++) {
        s->place[i] = (size_t)(i / per_one * extent + in_one[i % per_one]);
        if (s->place[i] >= s->span)
            s->span = s->place[i] + 1;
    }
    MPI(MPI_Type_commit(&s->type));
}

static void make_contiguous(struct shape *s, int ints)
{
    MPI(MPI_Type_contiguous(4, MPI_INT, &s->type));
    place_all(s, ints, (const int[]){0, 1, 2, 3}, 4, 4);
}

static void make_vector(struct shape *s, int ints)
{
    MPI(MPI_Type_vector(2, 2, 3, MPI_INT, &s->type));
    place_all(s, ints, (const int[]){0, 1, 3, 4}, 4, 5);
}

/* The second block precedes the first. */
static void make_indexed(struct shape *s, int ints)
{
    MPI(MPI_Type_indexed(3, (const int[]){1, 2, 1}, (const int[]){5, 0, 3}, MPI_INT, &s->type));
    place_all(s, ints, (const int[]){5, 0, 1, 3}, 4, 6);
}

static void make_struct(struct shape *s, int ints)
{
    const int lengths[2] = {1, 3};
    const MPI_Aint at[2] = {8, 20};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};

    MPI(MPI_Type_create_struct(2, lengths, at, types, &s->type));
    place_all(s, ints, (const int[]){2, 5, 6, 7}, 4, 6);
}

static void make_resized(struct shape *s, int ints)
{
    MPI(MPI_Type_create_resized(MPI_INT, 0, 12, &s->type));
    place_all(s, ints, (const int[]){0}, 1, 3);
}

/* The lower bound lies below the data, and the type is built from another derived type. */
static void make_nested(struct shape *s, int ints)
{
    MPI_Datatype inner, outer;

    MPI(MPI_Type_vector(2, 1, 2, MPI_INT, &inner));
    MPI(MPI_Type_create_hvector(2, 1, 16, inner, &outer));
    MPI(MPI_Type_create_resized(outer, -4, 36, &s->type));
    MPI(MPI_Type_free(&inner));
    MPI(MPI_Type_free(&outer));
    place_all(s, ints, (const int[]){0, 2, 4, 6}, 4, 9);
}

/* The same with large counts, and one level more. */
static void make_large_nested(struct shape *s, int ints)
{
    MPI_Datatype inner, middle, outer;

    MPI(MPI_Type_vector_c(2, 1, 2, MPI_INT, &inner));
    MPI(MPI_Type_contiguous_c(1, inner, &middle));
    MPI(MPI_Type_create_hvector_c(2, 1, 16, middle, &outer));
    MPI(MPI_Type_create_resized_c(outer, -4, 36, &s->type));
    MPI(MPI_Type_free(&inner));
    MPI(MPI_Type_free(&middle));
    MPI(MPI_Type_free(&outer));
    place_all(s, ints, (const int[]){0, 2, 4, 6}, 4, 9);
}

/* Four rows, two in each of two layers. */
static void place_box(struct shape *s, int ints, const MPI_Count sizes[3])
{
    const int row = ints / 4, width = (int)sizes[2], layer = width * (int)sizes[1];
    int *in_one = malloc((size_t)ints * sizeof(int) + 1);

    for (int i = 0; i < ints; i++)
        in_one[i] = i / row / 2 * layer + (1 + i / row % 2) * width + 1 + i % row;
    place_all(s, ints, in_one, ints, 2 * layer);
    free(in_one);
}

static void make_box(struct shape *s, int ints)
{
    const int sizes[3] = {2, 4, ints / 4 + 3}, subsizes[3] = {2, 2, ints / 4};
    const int starts[3] = {0, 1, 1};

    MPI(MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &s->type));
    place_box(s, ints, (const MPI_Count[3]){2, 4, sizes[2]});
}

/* The same in the order of Fortran, with large counts. */
static void make_large_box(struct shape *s, int ints)
{
    const MPI_Count sizes[3] = {ints / 4 + 3, 4, 2}, subsizes[3] = {ints / 4, 2, 2};
    const MPI_Count starts[3] = {1, 1, 0};

    MPI(MPI_Type_create_subarray_c(3, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT,
                                   &s->type));
    place_box(s, ints, (const MPI_Count[3]){2, 4, sizes[0]});
}

/* Runs of `run` ints `step` apart; from the beginning of one to the next it is `stride`. */
struct runs {
    int first, run, step, stride;
};

static void place_runs(struct shape *s, int ints, struct runs runs, int extent)
{
    int *in_one = malloc((size_t)ints * sizeof(int) + 1);

    for (int i = 0; i < ints; i++)
        in_one[i] = runs.first + i / runs.run * runs.stride + i % runs.run * runs.step;
    place_all(s, ints, in_one, ints, extent);
    free(in_one);
}

/* One int of each row of three, in two layers. */
static void make_face(struct shape *s, int ints)
{
    const int sizes[3] = {2, ints / 2 + 1, 3}, subsizes[3] = {2, ints / 2, 1};
    const int starts[3] = {0, 1, 2}, layer = sizes[1] * 3;

    MPI(MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &s->type));
    place_runs(s, ints, (struct runs){5, ints / 2, 3, layer}, 2 * layer);
}

/* One int of each layer, in the second half of the box. */
static void make_pencil(struct shape *s, int ints)
{
    const int sizes[4] = {2, ints, 2, 3}, subsizes[4] = {1, ints, 1, 1}, starts[4] = {1, 0, 1, 1};

    MPI(MPI_Type_create_subarray(4, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &s->type));
    place_runs(s, ints, (struct runs){ints * 6 + 4, 1, 0, 6}, 2 * ints * 6);
}

/* Columns of ints with a gap behind each, `width` ints wide. */
static void make_columns(struct shape *s, int ints, int width)
{
    MPI_Datatype wide;

    MPI(MPI_Type_create_resized(MPI_INT, 0, 8, &wide));
    MPI(MPI_Type_vector(ints / width, width, 3, wide, &s->type));
    MPI(MPI_Type_free(&wide));
    place_runs(s, ints, (struct runs){0, width, 2, 6}, (ints / width - 1) * 6 + width * 2);
}

static void make_column(struct shape *s, int ints)
{
    make_columns(s, ints, 1);
}

static void make_two_columns(struct shape *s, int ints)
{
    make_columns(s, ints, 2);
}

void shape_make(struct shape *s, int number, int ints)
{
    static const struct {
        const char *name;
        void (*make)(struct shape *, int);
    } shapes[SHAPES] = {{"contiguous", make_contiguous},
                        {"vector", make_vector},
                        {"indexed", make_indexed},
                        {"struct", make_struct},
                        {"resized", make_resized},
                        {"nested", make_nested},
                        {"large nested", make_large_nested},
                        {"box", make_box},
                        {"large box", make_large_box},
                        {"face", make_face},
                        {"pencil", make_pencil},
                        {"column", make_column},
                        {"two columns", make_two_columns}};

    if (ints == 0) /* a subarray is not empty */
        number = 0;
    s->name = shapes[number].name;
    shapes[number].make(s, ints);
}

int shape_value(int step, int rank, int i)
{
    return (step * 64 + rank) * 1000003 + i;
}

void shape_put(const struct shape *s, int ints, int *buffer, int step)
{
    for (int i = 0; i < ints; i++)
        buffer[s->place[i]] = shape_value(step, check.rank, i);
}

const int shape_hole = 0x5EED;

void shape_clear(int *buffer, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buffer[i] = shape_hole;
}

void shape_take(const struct shape *s, int ints, int *buffer, int step, int rank)
{
    int wrong = 0;

    for (int i = 0; i < ints; i++) {
        wrong += buffer[s->place[i]] != shape_value(step, rank, i);
        buffer[s->place[i]] = shape_hole;
    }
    if (wrong)
        check_fail(__FILE__, __LINE__, "%s, start %d: %d of %d ints from rank %d wrong", s->name,
                   step, wrong, ints, rank);
}

void shape_holes_only(const int *buffer, size_t n)
{
    int wrong = 0;

    for (size_t i = 0; i < n; i++)
        wrong += buffer[i] != shape_hole;
    if (wrong)
        check_fail(__FILE__, __LINE__, "%d ints written into holes", wrong);
}

size_t shape_stride(const struct shape *s)
{
    MPI_Aint lower, extent;

    MPI_Type_get_extent(s->type, &lower, &extent);
    return (size_t)extent / sizeof(int) * (size_t)s->count;
}
