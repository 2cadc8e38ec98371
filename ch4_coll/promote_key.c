/* Keys of ordinary calls. */

#include "promote_key.h"

#include "promote.h"

#include "offload/reduce/kernels.h"

/* What the bytes of a key say. */
union fields {
    uint64_t key;
    struct {
        uint32_t type; /* a number for it; of a reduction, as op. Of a long call also its bytes */
        uint16_t root;
        uint8_t op;
        uint8_t coll : 5, length : 3; /* its class */
    };
};

_Static_assert(sizeof(union fields) == sizeof(uint64_t), "all fields are in the key");
_Static_assert(PCOLL_NUM_COLLS <= 32, "they fit into their field");

/* Short calls share the plan of their class. The first class fits beside a counter. The copies to
 * and from a plan's buffers make calls longer than the last class, and movements from or to a root
 * longer than MAX_ROOTED, slower than MPICH's where cores are near. Where ranks share cores, those
 * longer than MAX_CROWDED are, behind a barrier. doc/notes/when-to-promote.md has the figures. */
static const MPI_Aint classes[] = {0, PCOLL_CELL_BYTES, 256, 512, 1024, 2048, 4096};
enum { CLASSES = sizeof(classes) / sizeof(*classes), LONG = CLASSES };
enum { MAX_SHORT = 4096, MAX_ROOTED = 2048, MAX_CROWDED = 1024 };
_Static_assert(LONG < 8, "the number of a class fits into its field");

/* The lengths of long calls, each of which has a plan of its own that works on user memory. */
static const struct range {
    MPI_Aint first, last;
} long_ones[PCOLL_NUM_COLLS] = {
    [PCOLL_BCAST] = {MAX_ROOTED + 1, 65536},
    [PCOLL_GATHER] = {MAX_ROOTED + 1, 32768},
    [PCOLL_SCATTER] = {MAX_ROOTED + 1, 32768},
    [PCOLL_ALLGATHER] = {MAX_SHORT + 1, 32768},
    [PCOLL_ALLTOALL] = {MAX_SHORT + 1, 32768},
    [PCOLL_REDUCE] = {MAX_SHORT + 1, 65536},
    [PCOLL_ALLREDUCE] = {MAX_SHORT + 1, 65536},
    [PCOLL_REDUCE_SCATTER_BLOCK] = {MAX_SHORT + 1, 65536},
    [PCOLL_SCAN] = {MAX_SHORT + 1, 65536},
    [PCOLL_EXSCAN] = {MAX_SHORT + 1, 65536},
};
enum { NUMBER_BITS = 8 }; /* of the type, below the bytes of a long call */
_Static_assert(PCOLL_NUM_ELEMENTS <= 1 << NUMBER_BITS, "numbers of types leave room for bytes");

/* Bit i: class i holds whole elements of so many bytes. */
static unsigned classes_of(MPI_Aint element)
{
    unsigned set = 0;

    for (int i = 1; i < CLASSES; i++)
        set |= (unsigned)(classes[i] % element == 0) << i;
    return set;
}

/* The shortest class of a set that holds so many bytes; 0: there is none. */
static uint8_t class_of(MPI_Aint bytes, unsigned set)
{
    if (bytes <= 0)
        return 0;
    for (uint8_t i = 1; i < CLASSES; i++)
        if (bytes <= classes[i] && set >> i & 1)
            return i;
    return 0;
}

enum pcoll_coll MPIDI_PCOLL_key_coll(uint64_t key)
{
    return (enum pcoll_coll)(union fields){key}.coll;
}

MPI_Aint MPIDI_PCOLL_key_bytes(uint64_t key)
{
    const union fields fields = {key};

    if (MPIDI_PCOLL_key_coll(key) == PCOLL_BARRIER)
        return 0;
    return fields.length == LONG ? fields.type >> NUMBER_BITS : classes[fields.length];
}

bool MPIDI_PCOLL_key_is_long(uint64_t key)
{
    return (union fields){key}.length == LONG;
}

bool MPIDI_PCOLL_key_suits_crowded(uint64_t key)
{
    return MPIDI_PCOLL_key_bytes(key) <= MAX_CROWDED;
}

int MPIDI_PCOLL_key_root(uint64_t key)
{
    return (union fields){key}.root;
}

static uint64_t key_of(enum pcoll_coll coll, uint8_t length, int root, uint8_t op, uint32_t type)
{
    const union fields fields = {
        .coll = (uint8_t)coll,
        .length = length,
        .root = (uint16_t)root,
        .op = op,
        .type = type,
    };

    return length > 0 && root <= UINT16_MAX ? fields.key : 0;
}

static uint64_t long_key(enum pcoll_coll coll, MPI_Aint bytes, int root, uint8_t op,
                         uint32_t number)
{
    const struct range *range = &long_ones[coll];

    if (bytes < range->first || bytes > range->last || number >> NUMBER_BITS != 0)
        return 0;
    return key_of(coll, LONG, root, op, number | (uint32_t)bytes << NUMBER_BITS);
}

uint64_t MPIDI_PCOLL_key(enum pcoll_coll coll, int root, MPI_Aint bytes)
{
    if (bytes > (pcoll_coll_has(coll, PCOLL_ROOTED) ? MAX_ROOTED : MAX_SHORT))
        return long_key(coll, bytes, root, 0, 0);
    return key_of(coll, class_of(bytes, ~0U), root, 0, 0);
}

/* A predefined type. */
struct element {
    MPI_Datatype type;
    uint32_t number;  /* the same for types whose elements are the same in memory, since ranks may
                       * name them differently */
    unsigned classes; /* as of classes_of */
};

static const struct element *find_element(MPI_Datatype type)
{
    enum { SLOTS = 256 };
    static struct element known[SLOTS];
    struct element *element = &known[(uint32_t)type % SLOTS];

    if (element->type != type) {
        const int number = MPIDI_PCOLL_element_of(type);

        element->number = number >= 0 ? (uint32_t)number : (uint32_t)type;
        element->classes = classes_of(MPIR_Datatype_get_basic_size(type));
        element->type = type;
    }
    return element;
}

/* Is the result the same to the last bit whichever way the ranks reduce? A minimum of numbers is
 * one of them; which one, if a zero has both signs or a value is no number, no implementation says.
 * A sum of two has the same bits in either order. */
static bool is_exact(MPI_Op op, uint32_t number, int nranks)
{
    return number <= PCOLL_ELEMENT_UINT64 || (op != MPI_SUM && op != MPI_PROD) ||
           (op == MPI_SUM && nranks == 2);
}

uint64_t MPIDI_PCOLL_reduction_key(enum pcoll_coll coll, int root, MPI_Aint bytes, MPI_Op op,
                                   MPI_Datatype type, int nranks)
{
    const struct element *element;

    if (bytes <= 0 || !HANDLE_IS_BUILTIN(op) || !HANDLE_IS_BUILTIN(type))
        return 0;
    element = find_element(type);
    if (!MPIDI_PCOLL_promotes_inexact() && !is_exact(op, element->number, nranks))
        return 0;
    if (bytes > MAX_SHORT)
        return long_key(coll, bytes, root, (uint8_t)(op & 0xff), element->number);
    return key_of(coll, class_of(bytes, element->classes), root, (uint8_t)(op & 0xff),
                  element->number);
}
