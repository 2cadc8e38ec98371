/* Operators of reductions. A predefined operator is a kernel if there is one for the type; all
 * other operators call MPICH's function. */

#include "operator.h"

#include "lock.h"
#include "mpich_version.h"

#include "offload/reduce/kernels.h"

/* What media call; `base` comes first. */
struct MPIDI_PCOLL_operator {
    struct pcoll_operator base;
    MPI_Op op;                       /* referenced */
    MPI_Datatype type;               /* referenced */
    struct MPIDI_PCOLL_spans *spans; /* NULL: elements lie side by side, without gaps */
};

/* The element that a predefined type of C consists of. */
static int element_of(MPI_Datatype type, enum pcoll_element *element_p)
{
#define SIGNED(c_type)                                                                             \
    (sizeof(c_type) == 1   ? PCOLL_ELEMENT_INT8                                                    \
     : sizeof(c_type) == 2 ? PCOLL_ELEMENT_INT16                                                   \
     : sizeof(c_type) == 4 ? PCOLL_ELEMENT_INT32                                                   \
                           : PCOLL_ELEMENT_INT64)
#define UNSIGNED(c_type)                                                                           \
    (sizeof(c_type) == 1   ? PCOLL_ELEMENT_UINT8                                                   \
     : sizeof(c_type) == 2 ? PCOLL_ELEMENT_UINT16                                                  \
     : sizeof(c_type) == 4 ? PCOLL_ELEMENT_UINT32                                                  \
                           : PCOLL_ELEMENT_UINT64)
    const struct {
        MPI_Datatype type;
        enum pcoll_element element;
    } types[] = {
        {MPI_DOUBLE, PCOLL_ELEMENT_DOUBLE},
        {MPI_FLOAT, PCOLL_ELEMENT_FLOAT},
        {MPI_INT, SIGNED(int)},
        {MPI_LONG, SIGNED(long)},
        {MPI_LONG_LONG, SIGNED(long long)},
        {MPI_SHORT, SIGNED(short)},
        {MPI_SIGNED_CHAR, SIGNED(signed char)},
        {MPI_UNSIGNED, UNSIGNED(unsigned)},
        {MPI_UNSIGNED_LONG, UNSIGNED(unsigned long)},
        {MPI_UNSIGNED_LONG_LONG, UNSIGNED(unsigned long long)},
        {MPI_UNSIGNED_SHORT, UNSIGNED(unsigned short)},
        {MPI_UNSIGNED_CHAR, UNSIGNED(unsigned char)},
        {MPI_INT8_T, PCOLL_ELEMENT_INT8},
        {MPI_INT16_T, PCOLL_ELEMENT_INT16},
        {MPI_INT32_T, PCOLL_ELEMENT_INT32},
        {MPI_INT64_T, PCOLL_ELEMENT_INT64},
        {MPI_UINT8_T, PCOLL_ELEMENT_UINT8},
        {MPI_UINT16_T, PCOLL_ELEMENT_UINT16},
        {MPI_UINT32_T, PCOLL_ELEMENT_UINT32},
        {MPI_UINT64_T, PCOLL_ELEMENT_UINT64},
        {MPI_AINT, SIGNED(MPI_Aint)},
        {MPI_OFFSET, SIGNED(MPI_Offset)},
        {MPI_COUNT, SIGNED(MPI_Count)},
        {MPI_C_FLOAT_COMPLEX, PCOLL_ELEMENT_FLOAT_COMPLEX},
        {MPI_C_DOUBLE_COMPLEX, PCOLL_ELEMENT_DOUBLE_COMPLEX},
        {MPI_FLOAT_INT, PCOLL_ELEMENT_FLOAT_INT},
        {MPI_DOUBLE_INT, PCOLL_ELEMENT_DOUBLE_INT},
        {MPI_LONG_INT, PCOLL_ELEMENT_LONG_INT},
        {MPI_SHORT_INT, PCOLL_ELEMENT_SHORT_INT},
        {MPI_2INT, PCOLL_ELEMENT_INT_INT},
        {MPIDI_PCOLL_FLOAT16, PCOLL_ELEMENT_FLOAT16},
        {MPIDI_PCOLL_BFLOAT16, PCOLL_ELEMENT_BFLOAT16},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].type == type) {
            *element_p = types[i].element;
            return 1;
        }
    return 0;
}

/* The same for types of Fortran and C++, which are MPI_DATATYPE_NULL in an MPICH without these. The
 * size of a Fortran type depends on the compiler's options. */
static int element_of_other(MPI_Datatype type, enum pcoll_element *element_p)
{
    static const struct {
        MPI_Datatype type;
        int bytes;
        enum pcoll_element element;
    } types[] = {
#define TYPES(NAME, BYTES, ELEMENT) {MPI_##NAME, BYTES, PCOLL_ELEMENT_##ELEMENT}
        TYPES(DOUBLE_PRECISION, 8, DOUBLE),
        TYPES(REAL, 4, FLOAT),
        TYPES(REAL, 8, DOUBLE),
        TYPES(REAL4, 4, FLOAT),
        TYPES(REAL8, 8, DOUBLE),
        TYPES(INTEGER, 4, INT32),
        TYPES(INTEGER, 8, INT64),
        TYPES(INTEGER1, 1, INT8),
        TYPES(INTEGER2, 2, INT16),
        TYPES(INTEGER4, 4, INT32),
        TYPES(INTEGER8, 8, INT64),
        TYPES(COMPLEX, 8, FLOAT_COMPLEX),
        TYPES(COMPLEX, 16, DOUBLE_COMPLEX),
        TYPES(COMPLEX8, 8, FLOAT_COMPLEX),
        TYPES(COMPLEX16, 16, DOUBLE_COMPLEX),
        TYPES(DOUBLE_COMPLEX, 16, DOUBLE_COMPLEX),
        TYPES(2INTEGER, 8, INT_INT),
#if defined(F77_TRUE_VALUE_SET) && F77_TRUE_VALUE == 1 && F77_FALSE_VALUE == 0
        TYPES(LOGICAL, 4, INT32), /* true has the bits that it has in C */
#endif
        TYPES(CXX_FLOAT_COMPLEX, 8, FLOAT_COMPLEX),
        TYPES(CXX_DOUBLE_COMPLEX, 16, DOUBLE_COMPLEX),
#undef TYPES
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].type == type && types[i].bytes == (int)MPIR_Datatype_get_basic_size(type)) {
            *element_p = types[i].element;
            return 1;
        }
    return 0;
}

int MPIDI_PCOLL_element_of(MPI_Datatype type)
{
    const MPI_Datatype named = MPIDI_PCOLL_named_type(type);
    enum pcoll_element element;

    return element_of(named, &element) || element_of_other(named, &element) ? (int)element : -1;
}

static pcoll_kernel *kernel_of(MPI_Op op, MPI_Datatype type)
{
    const int element = HANDLE_IS_BUILTIN(op) ? MPIDI_PCOLL_element_of(type) : -1;

#define TRY(NAME)                                                                                  \
    if (op == MPI_##NAME)                                                                          \
        return pcoll_kernel_of(PCOLL_OPERATOR_##NAME, (enum pcoll_element)element);

    if (element < 0)
        return NULL;
    PCOLL_OPERATORS(TRY)
#undef TRY
    return NULL;
}

/* A user's function runs without MPICH's global lock, and without ours: see `busy` in plan.h. */
static enum pcoll_result apply(const struct pcoll_operator *self, const void *left, void *right,
                               size_t n)
{
    const struct MPIDI_PCOLL_operator *op = (const struct MPIDI_PCOLL_operator *)(const void *)self;
    int mpi_errno;

    MPIDI_PCOLL_unlock();
    mpi_errno = MPIR_Reduce_local(left, right, (MPI_Aint)n, op->type, op->op);
    MPIDI_PCOLL_lock();
    return mpi_errno == MPI_SUCCESS ? PCOLL_OK : PCOLL_ERR_SYSTEM;
}

/* The same where units are spans. */
static enum pcoll_result apply_to_spans(const struct pcoll_operator *self, const void *left,
                                        void *right, size_t n)
{
    const struct MPIDI_PCOLL_operator *op = (const struct MPIDI_PCOLL_operator *)(const void *)self;
    const struct MPIDI_PCOLL_spans *spans = op->spans;
    const char *in = (const char *)left - spans->shift;
    char *inout = (char *)right - spans->shift;
    enum pcoll_result result = PCOLL_OK;

    if (spans->is_regular)
        return apply(self, in, inout, n);
    for (size_t i = 0; i < n && result == PCOLL_OK; i++)
        result = apply(self, in + (MPI_Aint)i * spans->unit, inout + (MPI_Aint)i * spans->unit, 1);
    return result;
}

/* Elements that lie side by side, without gaps: the vector can be cut between any two of them, and
 * the bytes of a packed vector are those of the user's. */
static bool is_dense(MPI_Datatype type)
{
    MPI_Aint bytes, true_lb;
    MPIR_Datatype *pointer;
    int contiguous;

    if (HANDLE_IS_BUILTIN(type))
        return true;
    MPIDI_Datatype_check_contig_size_lb(type, 1, contiguous, bytes, true_lb);
    MPIR_Datatype_get_ptr(type, pointer);
    return bytes == 0 ||
           (contiguous && pointer->extent == bytes && true_lb == 0 && pointer->lb == 0);
}

const char *MPIDI_PCOLL_operator_create(MPI_Op op, MPI_Datatype type,
                                        struct MPIDI_PCOLL_operator **op_p)
{
    struct MPIDI_PCOLL_operator *own = MPL_calloc(1, sizeof(*own), MPL_MEM_COLL);
    MPI_Aint unit;

    *op_p = NULL;
    MPIR_Datatype_get_size_macro(type, unit);
    if (!own || (!is_dense(type) && MPIDI_PCOLL_spans_create(type, &own->spans) != MPI_SUCCESS)) {
        MPL_free(own);
        return "no memory";
    }
    if (own->spans)
        unit = own->spans->unit;
    own->base = (struct pcoll_operator){
        .unit = unit > 0 ? (uint64_t)unit : 1,
        .kernel = kernel_of(op, type),
        .apply = own->spans ? apply_to_spans : apply,
    };
    MPIR_Assert(!own->base.kernel || !own->spans || own->spans->shift == 0);
    own->op = op;
    own->type = type;
    MPIR_Op_add_ref_if_not_builtin(op);
    MPIR_Datatype_add_ref_if_not_builtin(type);
    *op_p = own;
    return NULL;
}

void MPIDI_PCOLL_operator_destroy(struct MPIDI_PCOLL_operator *op)
{
    if (!op)
        return;
    MPIR_Op_release_if_not_builtin(op->op);
    MPIR_Datatype_release_if_not_builtin(op->type);
    MPIDI_PCOLL_spans_destroy(op->spans);
    MPL_free(op);
}

const struct pcoll_operator *MPIDI_PCOLL_operator_base(const struct MPIDI_PCOLL_operator *op)
{
    return op ? &op->base : NULL;
}

const struct MPIDI_PCOLL_spans *MPIDI_PCOLL_operator_spans(const struct MPIDI_PCOLL_operator *op)
{
    return op ? op->spans : NULL;
}
