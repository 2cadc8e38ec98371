/*
 * Kernels for the predefined operators on the arithmetic types of C.
 *
 * They give the same bits as the loops of MPICH 4.0.2 (src/mpi/coll/op/op*.c), which call the right
 * operand a and the left one b: a + b, a * b, a > b ? a : b, and so on. What has no kernel here
 * (bits of reals, types of other sizes, those of Fortran) goes through MPICH's own functions.
 *
 * Half precision: an IEEE half is the compiler's _Float16; without it there are no kernels. One
 * operation on two of them, rounded, has the same bits in whatever wider format a processor
 * computes it (Figueroa 1995). A bfloat16 has the bits of MPICH 5.0's sum, which adds floats and
 * rounds away from zero where the bits that are cut off are half or more. Which of two NaNs a sum
 * or product gives, no implementation says.
 */
#ifndef PCOLL_KERNELS_H
#define PCOLL_KERNELS_H

#include "offload/reduce/operator.h"

/* Each as OPERATOR(NAME). */
#define PCOLL_OPERATORS(OPERATOR)                                                                  \
    OPERATOR(SUM)                                                                                  \
    OPERATOR(PROD)                                                                                 \
    OPERATOR(MAX)                                                                                  \
    OPERATOR(MIN)                                                                                  \
    OPERATOR(LAND)                                                                                 \
    OPERATOR(LOR)                                                                                  \
    OPERATOR(LXOR)                                                                                 \
    OPERATOR(BAND)                                                                                 \
    OPERATOR(BOR)                                                                                  \
    OPERATOR(BXOR)                                                                                 \
    OPERATOR(MINLOC)                                                                               \
    OPERATOR(MAXLOC)

/* Each as ELEMENT(NAME, name, type). Integers wrap around. */
#define PCOLL_ELEMENTS_OF_INTEGERS(ELEMENT)                                                        \
    ELEMENT(INT8, int8, int8_t)                                                                    \
    ELEMENT(INT16, int16, int16_t)                                                                 \
    ELEMENT(INT32, int32, int32_t)                                                                 \
    ELEMENT(INT64, int64, int64_t)                                                                 \
    ELEMENT(UINT8, uint8, uint8_t)                                                                 \
    ELEMENT(UINT16, uint16, uint16_t)                                                              \
    ELEMENT(UINT32, uint32, uint32_t)                                                              \
    ELEMENT(UINT64, uint64, uint64_t)
#define PCOLL_ELEMENTS_OF_REALS(ELEMENT)                                                           \
    ELEMENT(FLOAT, float, float)                                                                   \
    ELEMENT(DOUBLE, double, double)
#ifdef __FLT16_MAX__
#define PCOLL_ELEMENTS_OF_HALVES(ELEMENT) ELEMENT(FLOAT16, float16, _Float16)
#else
#define PCOLL_ELEMENTS_OF_HALVES(ELEMENT)
#endif
#define PCOLL_ELEMENTS_OF_COMPLEX(ELEMENT)                                                         \
    ELEMENT(FLOAT_COMPLEX, float_complex, float _Complex)                                          \
    ELEMENT(DOUBLE_COMPLEX, double_complex, double _Complex)
/* Each as ELEMENT(NAME, name, type of the value); see PCOLL_VALUE_INDEX. */
#define PCOLL_ELEMENTS_WITH_INDEX(ELEMENT)                                                         \
    ELEMENT(FLOAT_INT, float_int, float)                                                           \
    ELEMENT(DOUBLE_INT, double_int, double)                                                        \
    ELEMENT(LONG_INT, long_int, long)                                                              \
    ELEMENT(SHORT_INT, short_int, short)                                                           \
    ELEMENT(INT_INT, int_int, int)

/* A value with its index, with gaps, which kernels leave alone. */
#define PCOLL_VALUE_INDEX(type)                                                                    \
    struct {                                                                                       \
        type value;                                                                                \
        int index;                                                                                 \
    }

enum pcoll_operator_name {
#define VALUE(NAME) PCOLL_OPERATOR_##NAME,
    PCOLL_OPERATORS(VALUE)
#undef VALUE
        PCOLL_NUM_OPERATORS
};

enum pcoll_element {
#define VALUE(NAME, name, type) PCOLL_ELEMENT_##NAME,
    PCOLL_ELEMENTS_OF_INTEGERS(VALUE) PCOLL_ELEMENTS_OF_REALS(VALUE)
        PCOLL_ELEMENTS_OF_COMPLEX(VALUE) PCOLL_ELEMENTS_WITH_INDEX(VALUE)
#undef VALUE
            PCOLL_ELEMENT_FLOAT16,
    PCOLL_ELEMENT_BFLOAT16,
    PCOLL_NUM_ELEMENTS
};

/* NULL: there is none. Its units are elements. */
pcoll_kernel *pcoll_kernel_of(enum pcoll_operator_name op, enum pcoll_element element);

#endif /* PCOLL_KERNELS_H */
