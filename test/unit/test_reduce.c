/*
 * Reductions: every kernel against the loops of MPICH, and folds of several operands in every
 * position of the target, with a kernel and with a function that works in place.
 */
#include "offload/reduce/kernels.h"
#include "offload/reduce/reduce.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/tap.h"

enum { LENGTH = 200, MARGIN = 3 };

/* ---- kernels ---- */

/* Values that show differences: small and large ones, equal ones, and for reals zeros of both
 * signs, infinities and numbers that are none. */
static double real(unsigned i)
{
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, 1e300, -1e-300, 1.5, 3.0};

    return i % 3 == 0 ? special[i / 3 % 8] : (double)(int)(i * 2654435761u) / 7.0;
}

/* Of a few values, so that many are equal; zeros of both signs, and for reals NaN. */
static double indexed_value(unsigned i, int is_real)
{
    static const double values[] = {0.0, -0.0, 3.0, -3.0, 1.0};

    return is_real && i % 11 == 7 ? (double)NAN : values[i % 5];
}

/* As MPICH computes it: the right operand is called a, the left one b. */
#define OUGHT_LOGICAL(type)                                                                        \
    case PCOLL_OPERATOR_MAX:                                                                       \
        return (type)(a > b ? a : b);                                                              \
    case PCOLL_OPERATOR_MIN:                                                                       \
        return (type)(a < b ? a : b);                                                              \
    case PCOLL_OPERATOR_LAND:                                                                      \
        return (type)(a && b);                                                                     \
    case PCOLL_OPERATOR_LOR:                                                                       \
        return (type)(a || b);                                                                     \
    case PCOLL_OPERATOR_LXOR:                                                                      \
        return (type)((a && !b) || (!a && b));

#define OUGHT_REAL(NAME, name, type)                                                               \
    static type ought_##name(enum pcoll_operator_name op, type a, type b)                          \
    {                                                                                              \
        switch (op) {                                                                              \
            case PCOLL_OPERATOR_SUM:                                                               \
                return a + b;                                                                      \
            case PCOLL_OPERATOR_PROD:                                                              \
                return a * b;                                                                      \
                OUGHT_LOGICAL(type)                                                                \
            default:                                                                               \
                abort();                                                                           \
        }                                                                                          \
    }

#define OUGHT_INTEGER(NAME, name, type)                                                            \
    static type ought_##name(enum pcoll_operator_name op, type a, type b)                          \
    {                                                                                              \
        switch (op) {                                                                              \
            case PCOLL_OPERATOR_SUM:                                                               \
                return (type)((uint64_t)a + (uint64_t)b);                                          \
            case PCOLL_OPERATOR_PROD:                                                              \
                return (type)((uint64_t)a * (uint64_t)b);                                          \
            case PCOLL_OPERATOR_BAND:                                                              \
                return (type)(a & b);                                                              \
            case PCOLL_OPERATOR_BOR:                                                               \
                return (type)(a | b);                                                              \
            case PCOLL_OPERATOR_BXOR:                                                              \
                return (type)(a ^ b);                                                              \
                OUGHT_LOGICAL(type)                                                                \
            default:                                                                               \
                abort();                                                                           \
        }                                                                                          \
    }

/* All lengths up to LENGTH, the target distinct and in place of either operand; nothing else may be
 * written. */
#define CHECK(NAME, name, type, left_value, right_value)                                           \
    static int wrong_##name(enum pcoll_operator_name op, pcoll_kernel *kernel)                     \
    {                                                                                              \
        int wrong = 0;                                                                             \
                                                                                                   \
        for (size_t n = 0; n <= LENGTH; n = n < 40 ? n + 1 : n + 16)                               \
            for (int where = 0; where < 3; where++) {                                              \
                type left[LENGTH + MARGIN], right[LENGTH + MARGIN], distinct[LENGTH + MARGIN];     \
                type ought[LENGTH + MARGIN];                                                       \
                type *to = where == 0 ? distinct : where == 1 ? left : right;                      \
                                                                                                   \
                for (unsigned i = 0; i < LENGTH + MARGIN; i++) {                                   \
                    left[i] = (type)(left_value);                                                  \
                    right[i] = (type)(right_value);                                                \
                    distinct[i] = (type)i;                                                         \
                }                                                                                  \
                memcpy(ought, to, sizeof(ought));                                                  \
                for (size_t i = 0; i < n; i++)                                                     \
                    ought[i] = ought_##name(op, right[i], left[i]);                                \
                kernel(to, left, right, n);                                                        \
                wrong += memcmp(to, ought, sizeof(ought)) != 0;                                    \
            }                                                                                      \
        return wrong;                                                                              \
    }

/* The same for values with an index, with gaps that must stay as they are. Some values are no
 * numbers. */
#define CHECK_INDEX(NAME, name, type)                                                              \
    typedef PCOLL_VALUE_INDEX(type) name##_element;                                                \
                                                                                                   \
    static name##_element ought_##name(enum pcoll_operator_name op, name##_element a,              \
                                       name##_element b)                                           \
    {                                                                                              \
        if (op == PCOLL_OPERATOR_MAXLOC ? a.value < b.value : a.value > b.value) {                 \
            a.value = b.value;                                                                     \
            a.index = b.index;                                                                     \
        } else if (op == PCOLL_OPERATOR_MAXLOC ? a.value <= b.value : a.value >= b.value) {        \
            a.index = a.index < b.index ? a.index : b.index;                                       \
        }                                                                                          \
        return a;                                                                                  \
    }                                                                                              \
                                                                                                   \
    static int wrong_##name(enum pcoll_operator_name op, pcoll_kernel *kernel)                     \
    {                                                                                              \
        int wrong = 0;                                                                             \
                                                                                                   \
        for (size_t n = 0; n <= LENGTH; n = n < 40 ? n + 1 : n + 16)                               \
            for (int where = 0; where < 3; where++) {                                              \
                static name##_element left[LENGTH + MARGIN], right[LENGTH + MARGIN];               \
                static name##_element distinct[LENGTH + MARGIN], ought[LENGTH + MARGIN];           \
                name##_element *to = where == 0 ? distinct : where == 1 ? left : right;            \
                                                                                                   \
                memset(left, 1, sizeof(left));                                                     \
                memset(right, 2, sizeof(right));                                                   \
                memset(distinct, 3, sizeof(distinct));                                             \
                for (unsigned i = 0; i < LENGTH + MARGIN; i++) {                                   \
                    left[i].value = (type)indexed_value(i, (type)0.5 > 0);                         \
                    right[i].value = (type)indexed_value(i * 5 / 4, (type)0.5 > 0);                \
                    left[i].index = (int)(i * 2654435761u);                                        \
                    right[i].index = (int)(i * 2246822519u);                                       \
                }                                                                                  \
                memcpy(ought, to, sizeof(ought));                                                  \
                for (size_t i = 0; i < n; i++) {                                                   \
                    const name##_element sum = ought_##name(op, right[i], left[i]);                \
                                                                                                   \
                    ought[i].value = sum.value;                                                    \
                    ought[i].index = sum.index;                                                    \
                }                                                                                  \
                kernel(to, left, right, n);                                                        \
                wrong += memcmp(to, ought, sizeof(ought)) != 0;                                    \
            }                                                                                      \
        return wrong;                                                                              \
    }

#define OUGHT_COMPLEX(NAME, name, type)                                                            \
    static type ought_##name(enum pcoll_operator_name op, type a, type b)                          \
    {                                                                                              \
        return op == PCOLL_OPERATOR_SUM ? a + b : a * b;                                           \
    }
#define CHECK_COMPLEX(NAME, name, type)                                                            \
    CHECK(NAME, name, type, real(i) + real(3 * i + 1) * I, real(i / 2 + 5) - real(i) * I)

#define CHECK_REAL(NAME, name, type) CHECK(NAME, name, type, real(i), real(i / 2 + 5))
#define CHECK_INTEGER(NAME, name, type)                                                            \
    CHECK(NAME, name, type, i % 5 ? i * 2654435761u * 40503u : 0, i % 3 ? i * 2246822519u : 0)

/* ---- half precision ---- */

/* The value of an IEEE half that is a number. */
static double value_of_half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31  ? INFINITY
                        : exponent == 0 ? ldexp(fraction, -24)
                                        : ldexp(1024 + fraction, exponent - 25);

    return bits & 0x8000 ? -size : size;
}

/* The half that is nearest to the value, an even one of two, in the environment's way of rounding.
 */
static uint16_t nearest_half(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    double steps;

    value = fabs(value);
    if (value == 0 || value < 0x1p-26)
        return sign;
    frexp(value, &exponent);
    exponent = exponent < -13 ? -13 : exponent; /* of the smallest that are not subnormal */
    steps = nearbyint(ldexp(value, 11 - exponent));
    if (isinf(value) || ldexp(steps, exponent - 11) >= 65536)
        return sign | 0x7c00;
    return (uint16_t)(sign + ((unsigned)(exponent + 13) << 10) + (unsigned)steps);
}

static int is_number(uint16_t half)
{
    return (half & 0x7fff) <= 0x7c00;
}

static double ought_of_halves(enum pcoll_operator_name op, double a, double b)
{
    switch (op) {
        case PCOLL_OPERATOR_SUM:
            return a + b;
        case PCOLL_OPERATOR_PROD:
            return a * b;
        case PCOLL_OPERATOR_MAX:
            return a > b ? a : b;
        default:
            return a < b ? a : b;
    }
}

/* Sums and products of two halves are exact as doubles, so the result is rounded once. Returns how
 * many of n pairs are wrong. */
static int wrong_halves(enum pcoll_operator_name op, const uint16_t *left, const uint16_t *right,
                        size_t n)
{
    static uint16_t to[1 << 16];
    int wrong = 0;

    pcoll_kernel_of(op, PCOLL_ELEMENT_FLOAT16)(to, left, right, n);
    for (size_t i = 0; i < n; i++) {
        const double ought = ought_of_halves(op, value_of_half(right[i]), value_of_half(left[i]));

        if (is_number(left[i]) && is_number(right[i]))
            wrong += isnan(ought) ? is_number(to[i]) : to[i] != nearest_half(ought);
        else if (op == PCOLL_OPERATOR_SUM || op == PCOLL_OPERATOR_PROD)
            wrong += is_number(to[i]);
    }
    return wrong;
}

/* All halves with many others. */
static void test_halves(void)
{
    static const enum pcoll_operator_name ops[] = {PCOLL_OPERATOR_SUM, PCOLL_OPERATOR_PROD,
                                                   PCOLL_OPERATOR_MAX, PCOLL_OPERATOR_MIN};
    static uint16_t left[1 << 16], right[1 << 16];
    const unsigned times = tap_depth() == TAP_BRIEF ? 5 : tap_depth() == TAP_USUAL ? 100 : 3000;
    int wrong = 0;

    if (pcoll_kernel_of(PCOLL_OPERATOR_SUM, PCOLL_ELEMENT_FLOAT16) == NULL) {
        printf("# skip: this compiler has no _Float16\n");
        return;
    }
    for (unsigned k = 0; k < times; k++)
        for (size_t j = 0; j < sizeof(ops) / sizeof(ops[0]); j++) {
            for (unsigned i = 0; i < 1 << 16; i++) {
                left[i] = (uint16_t)(i * 40503u);
                right[i] = (uint16_t)((i * 2654435761u + k * k) >> 7);
            }
            wrong += wrong_halves(ops[j], left, right, 1 << 16);
        }
    tap_ok(wrong == 0, "halves are rounded once, to the nearest (%d wrong)", wrong);
}

/* MPICH 5.0: the float sum, cut after 16 bits, plus one if the first bit that is cut off is set. */
static uint16_t ought_bfloat16(enum pcoll_operator_name op, uint16_t a, uint16_t b)
{
    const uint32_t bits_a = (uint32_t)a << 16, bits_b = (uint32_t)b << 16;
    float x, y, sum;
    uint32_t bits;

    (void)op;
    memcpy(&x, &bits_a, sizeof(x));
    memcpy(&y, &bits_b, sizeof(y));
    sum = x + y;
    memcpy(&bits, &sum, sizeof(bits));
    return (uint16_t)((bits >> 16) + (bits >> 15 & 1));
}

/* The upper half of a float. */
static uint16_t upper(double value)
{
    const float x = (float)value;
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

CHECK(BFLOAT16, bfloat16, uint16_t, upper(real(i)), upper(real(i / 2 + 5) * (i % 7)))

#define OUGHT_HALF(NAME, name, type)                                                               \
    static type ought_##name(enum pcoll_operator_name op, type a, type b)                          \
    {                                                                                              \
        return op == PCOLL_OPERATOR_SUM    ? a + b                                                 \
               : op == PCOLL_OPERATOR_PROD ? a * b                                                 \
               : op == PCOLL_OPERATOR_MAX  ? (a > b ? a : b)                                       \
                                           : (a < b ? a : b);                                       \
    }

/* ---- all ---- */

PCOLL_ELEMENTS_OF_HALVES(OUGHT_HALF)
PCOLL_ELEMENTS_OF_HALVES(CHECK_REAL)
PCOLL_ELEMENTS_OF_REALS(OUGHT_REAL)
PCOLL_ELEMENTS_OF_INTEGERS(OUGHT_INTEGER)
PCOLL_ELEMENTS_OF_REALS(CHECK_REAL)
PCOLL_ELEMENTS_OF_INTEGERS(CHECK_INTEGER)
PCOLL_ELEMENTS_OF_COMPLEX(OUGHT_COMPLEX)
PCOLL_ELEMENTS_OF_COMPLEX(CHECK_COMPLEX)
PCOLL_ELEMENTS_WITH_INDEX(CHECK_INDEX)

static void test_kernels(void)
{
    static int (*const checks[PCOLL_NUM_ELEMENTS])(enum pcoll_operator_name, pcoll_kernel *) = {
#define ROW(NAME, name, type) [PCOLL_ELEMENT_##NAME] = wrong_##name,
        PCOLL_ELEMENTS_OF_INTEGERS(ROW) PCOLL_ELEMENTS_OF_REALS(ROW) PCOLL_ELEMENTS_OF_HALVES(ROW)
            PCOLL_ELEMENTS_OF_COMPLEX(ROW) PCOLL_ELEMENTS_WITH_INDEX(ROW)[PCOLL_ELEMENT_BFLOAT16] =
                wrong_bfloat16};
    const int halves = checks[PCOLL_ELEMENT_FLOAT16] != NULL ? 4 : 0;
    int kernels = 0, wrong = 0;

    for (int element = 0; element < PCOLL_NUM_ELEMENTS; element++)
        for (int op = 0; op < PCOLL_NUM_OPERATORS; op++) {
            pcoll_kernel *kernel =
                pcoll_kernel_of((enum pcoll_operator_name)op, (enum pcoll_element)element);

            kernels += kernel != NULL;
            if (kernel)
                wrong += checks[element]((enum pcoll_operator_name)op, kernel);
        }
    tap_ok(kernels == 8 * 10 + 2 * 7 + halves + 1 + 2 * 2 + 5 * 2 && wrong == 0,
           "%d kernels give the bits of MPICH's loops (%d wrong)", kernels, wrong);
}

/* ---- folds ---- */

enum { UNIT = 8, UNITS = 5000, MOST = 5, BYTES = UNIT * UNITS };

/* x -> a x + b, composed: associative, but not commutative. */
struct map {
    uint32_t a, b;
};

static void compose(void *to, const void *left, const void *right, size_t n)
{
    const struct map *l = left, *r = right;
    struct map *t = to;

    for (size_t i = 0; i < n; i++)
        t[i] = (struct map){l[i].a * r[i].a, l[i].a * r[i].b + l[i].b};
}

static int refuses;

static enum pcoll_result apply(const struct pcoll_operator *self, const void *left, void *right,
                               size_t n)
{
    (void)self;
    compose(right, left, right, n);
    return refuses ? PCOLL_ERR_SYSTEM : PCOLL_OK;
}

static struct map vectors[MOST + 1][UNITS]; /* the last one is distinct from all operands */

static char *address_of(const void *context, int rank, struct pcoll_place place, uint64_t bytes)
{
    (void)context;
    (void)rank;
    (void)bytes;
    return (char *)vectors[place.offset / BYTES] + place.offset % BYTES;
}

/* Reduce the first `bytes` bytes of the first n vectors into vector `target`. */
static enum pcoll_result reduce(const struct pcoll_operator *op, int n, int target, uint64_t bytes)
{
    struct pcoll_signature signature = {.coll = PCOLL_ALLREDUCE, .nranks = 1, .unit = UNIT};
    struct pcoll_plan *plan;
    struct pcoll_reductions all;
    enum pcoll_result result;

    if (pcoll_plan_create(&signature, NULL, 0, &plan) != PCOLL_OK || !pcoll_plan_begin(plan, 0, 1))
        abort();
    pcoll_plan_open(plan, 0);
    for (int i = 0; i < n; i++)
        pcoll_plan_operand(plan, pcoll_at(PCOLL_TEMP, (uint64_t)i * BYTES));
    pcoll_plan_add(plan, pcoll_entry_reduce(plan, PCOLL_NONE, 0, n,
                                            pcoll_at(PCOLL_TEMP, (uint64_t)target * BYTES), bytes));
    if (pcoll_plan_seal(plan) != PCOLL_OK || pcoll_reductions_init(&all, plan, op) != PCOLL_OK)
        abort();
    result =
        pcoll_reduce(pcoll_reductions_add(&all, plan, &plan->entries[0], op, address_of, NULL));
    pcoll_reductions_fini(&all);
    pcoll_plan_destroy(plan);
    return result;
}

/* A serial fold, and all other vectors as they were. */
static int is_wrong(const struct pcoll_operator *op, int n, int target, size_t units)
{
    static struct map before[MOST + 1][UNITS];
    struct map sum;

    for (unsigned v = 0; v <= MOST; v++)
        for (unsigned i = 0; i < UNITS; i++)
            vectors[v][i] = (struct map){2 * (v * 7919 + i) + 1, v * 104729 + i};
    memcpy(before, vectors, sizeof(before));
    if (reduce(op, n, target, (uint64_t)units * UNIT) != PCOLL_OK)
        return 1;
    for (size_t i = 0; i < units; i++) {
        sum = before[0][i];
        for (int v = 1; v < n; v++)
            compose(&sum, &sum, &before[v][i], 1);
        before[target][i] = sum;
    }
    return memcmp(before, vectors, sizeof(before)) != 0;
}

static void test_folds(int with_kernel)
{
    const struct pcoll_operator op = {
        .unit = UNIT, .kernel = with_kernel ? compose : NULL, .apply = apply};
    const size_t units[] = {0, 1, 1023, 1024, 1025, UNITS};
    int wrong = 0;

    for (int n = 2; n <= MOST; n++)
        for (int target = 0; target <= MOST; target++)
            for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
                if (target < n || target == MOST)
                    wrong += is_wrong(&op, n, target, units[i]);
    tap_ok(wrong == 0, "%s: 2 to %d operands, the target distinct or any of them (%d wrong)",
           with_kernel ? "kernel" : "function in place", MOST, wrong);
}

/* Units larger than a block. */
static void test_large_units(void)
{
    struct pcoll_operator op = {.unit = 2000 * UNIT, .apply = apply};
    int wrong;

    op.apply = apply;
    refuses = 1;
    wrong = reduce(&op, 3, 0, BYTES / 5 * 2) != PCOLL_ERR_SYSTEM;
    refuses = 0;
    tap_ok(!wrong && reduce(&op, 3, 0, BYTES / 5 * 2) == PCOLL_OK,
           "a unit may be larger than a block; an operator may fail");
}

int main(void)
{
    test_kernels();
    test_halves();
    test_folds(1);
    test_folds(0);
    test_large_units();
    return tap_done();
}
