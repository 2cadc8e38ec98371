#include "compose.h"

unsigned char compose(unsigned char left, unsigned char right)
{
    const unsigned a = (left & 15) | 1, b = left >> 4, c = (right & 15) | 1, d = right >> 4;

    return (unsigned char)((a * c & 15) | ((a * d + b) & 15) << 4);
}

static void compose_all(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const unsigned char *left = in;
    unsigned char *right = inout;

    (void)type;
    for (int i = 0; i < *length; i++)
        right[i] = compose(left[i], right[i]);
}

MPI_Op compose_op(void)
{
    MPI_Op op;

    MPI(MPI_Op_create(compose_all, 0, &op));
    return op;
}
