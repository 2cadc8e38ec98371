/*
 * The loops, compiled for several generations of processors where the compiler can choose among
 * them when the program starts. None of them may contract or reorder arithmetic: no -ffast-math,
 * and no expression that multiplies and adds.
 */
#include "offload/reduce/kernels.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#define INDEPENDENT _Pragma("GCC ivdep") /* a target is an operand or distinct from it */
#elif defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT
#endif

/* Sanitizers are not ready yet when the loader chooses a clone. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) &&       \
    defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOR_PROCESSORS(...) __attribute__((target_clones(__VA_ARGS__)))
#else
#define FOR_PROCESSORS(...)
#endif
#define FOR_ALL_PROCESSORS FOR_PROCESSORS("default", "avx2", "avx512f")

/* These generations compute halves in hardware; others call a function for each operand. */
#if defined(__FLT16_MAX__) && defined(__x86_64__)
#define FOR_HALVES FOR_PROCESSORS("default", "arch=x86-64-v3", "arch=sapphirerapids")
#else
#define FOR_HALVES
#endif

/* Integers are computed without signs, as signed overflow is undefined, except where the sign
 * matters. C converts both operands to a common type, and the result back. */
#define LOOP(function, type, expression) LOOP_FOR(FOR_ALL_PROCESSORS, function, type, expression)
#define LOOP_FOR(processors, function, type, expression)                                           \
    processors static void function(void *to, const void *left, const void *right, size_t n)       \
    {                                                                                              \
        const type *in = left, *inout = right;                                                     \
        type *out = to;                                                                            \
                                                                                                   \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < n; i++) {                                                           \
            const type a = inout[i], b = in[i];                                                    \
                                                                                                   \
            out[i] = (type)(expression);                                                           \
        }                                                                                          \
    }

#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define LOGICAL(name, type)                                                                        \
    LOOP(name##_max, type, MAX(a, b))                                                              \
    LOOP(name##_min, type, MIN(a, b))                                                              \
    LOOP(name##_land, type, a != 0 && b != 0)                                                      \
    LOOP(name##_lor, type, a != 0 || b != 0)                                                       \
    LOOP(name##_lxor, type, (a != 0) != (b != 0))

/* Sums, products and bits of an integer of one size, whatever its sign. */
#define BITS(name, type, wide)                                                                     \
    LOOP(name##_sum, type, (wide)a + (wide)b)                                                      \
    LOOP(name##_prod, type, (wide)a *(wide)b)                                                      \
    LOOP(name##_band, type, a &b)                                                                  \
    LOOP(name##_bor, type, a | b)                                                                  \
    LOOP(name##_bxor, type, a ^ b)

#define REAL(NAME, name, type)                                                                     \
    LOOP(name##_sum, type, a + b)                                                                  \
    LOOP(name##_prod, type, a *b)                                                                  \
    LOGICAL(name, type)

#define HALF(NAME, name, type)                                                                     \
    LOOP_FOR(FOR_HALVES, name##_sum, type, a + b)                                                  \
    LOOP_FOR(FOR_HALVES, name##_prod, type, a *b)                                                  \
    LOOP_FOR(FOR_HALVES, name##_max, type, MAX(a, b))                                              \
    LOOP_FOR(FOR_HALVES, name##_min, type, MIN(a, b))

/* A product multiplies and adds, so it is compiled like MPICH's, for one generation. */
#define COMPLEX(NAME, name, type)                                                                  \
    LOOP(name##_sum, type, a + b)                                                                  \
    static void name##_prod(void *to, const void *left, const void *right, size_t n)               \
    {                                                                                              \
        const type *in = left, *inout = right;                                                     \
        type *out = to;                                                                            \
                                                                                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = inout[i] * in[i];                                                             \
    }

/* The element whose value comes `before` that of the other; of equal values the lower index. Values
 * that are no numbers compare false. */
#define SELECT(function, type, before, not_after)                                                  \
    FOR_ALL_PROCESSORS static void function(void *to, const void *left, const void *right,         \
                                            size_t n)                                              \
    {                                                                                              \
        typedef PCOLL_VALUE_INDEX(type) element;                                                   \
        const element *in = left, *inout = right;                                                  \
        element *out = to;                                                                         \
                                                                                                   \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < n; i++) {                                                           \
            const type a = inout[i].value, b = in[i].value;                                        \
            const int of_a = inout[i].index, of_b = in[i].index;                                   \
            const int other = b before a, tie = b not_after a && of_b < of_a;                      \
                                                                                                   \
            out[i].value = other ? b : a;                                                          \
            out[i].index = other || tie ? of_b : of_a;                                             \
        }                                                                                          \
    }
#define WITH_INDEX(NAME, name, type)                                                               \
    SELECT(name##_minloc, type, <, <=)                                                             \
    SELECT(name##_maxloc, type, >, >=)

#define UNSIGNED(bits, wide)                                                                       \
    BITS(uint##bits, uint##bits##_t, wide)                                                         \
    LOGICAL(uint##bits, uint##bits##_t)                                                            \
    LOGICAL(int##bits, int##bits##_t)
UNSIGNED(8, uint32_t)
UNSIGNED(16, uint32_t)
UNSIGNED(32, uint32_t)
UNSIGNED(64, uint64_t)
PCOLL_ELEMENTS_OF_REALS(REAL)
PCOLL_ELEMENTS_OF_HALVES(HALF)
PCOLL_ELEMENTS_OF_COMPLEX(COMPLEX)
PCOLL_ELEMENTS_WITH_INDEX(WITH_INDEX)

/* ---- bfloat16: the upper half of a float ---- */

static inline float float_of(uint16_t upper)
{
    const union {
        uint32_t bits;
        float value;
    } whole = {(uint32_t)upper << 16};

    return whole.value;
}

static inline uint16_t bfloat16_of(float value)
{
    const union {
        float value;
        uint32_t bits;
    } whole = {value};

    return (uint16_t)((whole.bits + 0x8000u) >> 16);
}

LOOP(bfloat16_sum, uint16_t, bfloat16_of(float_of(a) + float_of(b)))

/* ---- the table ---- */

#define ROW_OF_LOGICAL(name)                                                                       \
    [PCOLL_OPERATOR_MAX] = name##_max, [PCOLL_OPERATOR_MIN] = name##_min,                          \
    [PCOLL_OPERATOR_LAND] = name##_land, [PCOLL_OPERATOR_LOR] = name##_lor,                        \
    [PCOLL_OPERATOR_LXOR] = name##_lxor
#define ROW_OF_SUMS(name) [PCOLL_OPERATOR_SUM] = name##_sum, [PCOLL_OPERATOR_PROD] = name##_prod
#define ROW_OF_BITS(name)                                                                          \
    [PCOLL_OPERATOR_BAND] = name##_band, [PCOLL_OPERATOR_BOR] = name##_bor,                        \
    [PCOLL_OPERATOR_BXOR] = name##_bxor
#define ROWS_OF_INTEGERS(bits)                                                                     \
    [PCOLL_ELEMENT_INT##                                                                           \
        bits] = {ROW_OF_LOGICAL(int##bits), ROW_OF_SUMS(uint##bits), ROW_OF_BITS(uint##bits)},     \
      [PCOLL_ELEMENT_UINT##                                                                        \
          bits] = {ROW_OF_LOGICAL(uint##bits), ROW_OF_SUMS(uint##bits), ROW_OF_BITS(uint##bits)}
#define ROW_OF_HALVES(NAME, name, type)                                                            \
    [PCOLL_ELEMENT_##NAME] = {                                                                     \
        ROW_OF_SUMS(name), [PCOLL_OPERATOR_MAX] = name##_max, [PCOLL_OPERATOR_MIN] = name##_min},
#define ROW_OF_COMPLEX(NAME, name, type) [PCOLL_ELEMENT_##NAME] = {ROW_OF_SUMS(name)},
#define ROW_WITH_INDEX(NAME, name, type)                                                           \
    [PCOLL_ELEMENT_##NAME] = {                                                                     \
        [PCOLL_OPERATOR_MINLOC] = name##_minloc, [PCOLL_OPERATOR_MAXLOC] = name##_maxloc},

static pcoll_kernel *const kernels[PCOLL_NUM_ELEMENTS][PCOLL_NUM_OPERATORS] = {
    ROWS_OF_INTEGERS(8),
    ROWS_OF_INTEGERS(16),
    ROWS_OF_INTEGERS(32),
    ROWS_OF_INTEGERS(64),
    [PCOLL_ELEMENT_FLOAT] = {ROW_OF_LOGICAL(float), ROW_OF_SUMS(float)},
    [PCOLL_ELEMENT_DOUBLE] = {ROW_OF_LOGICAL(double), ROW_OF_SUMS(double)},
    [PCOLL_ELEMENT_BFLOAT16] = {[PCOLL_OPERATOR_SUM] = bfloat16_sum},
    PCOLL_ELEMENTS_OF_HALVES(ROW_OF_HALVES) PCOLL_ELEMENTS_OF_COMPLEX(ROW_OF_COMPLEX)
        PCOLL_ELEMENTS_WITH_INDEX(ROW_WITH_INDEX)};

pcoll_kernel *pcoll_kernel_of(enum pcoll_operator_name op, enum pcoll_element element)
{
    return kernels[element][op];
}
