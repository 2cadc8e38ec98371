#include "offload/node/sharing.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/plan/levels.h"
#include "algorithms/util.h"

const char *const pcoll_shared_names[PCOLL_NUM_SHARED] = {"a cache", "a NUMA domain", "a socket"};

static int32_t object_of(const struct pcoll_locality *locality, int what)
{
    return what == PCOLL_SHARED_CACHE  ? locality->cache
           : what == PCOLL_SHARED_NUMA ? locality->numa
                                       : locality->package;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* A key is the number of an object, and below it that of a rank. Sorts the keys: the first of those
 * with the same object has the lowest rank. */
static void find_first(uint64_t *keys, int nranks, int *first)
{
    int lowest = PCOLL_NONE;

    qsort(keys, (size_t)nranks, sizeof(*keys), compare);
    for (int i = 0; i < nranks; i++) {
        const int rank = (int)(uint32_t)keys[i];

        if (i == 0 || keys[i] >> 32 != keys[i - 1] >> 32)
            lowest = (int32_t)(keys[i] >> 32) == PCOLL_NONE ? PCOLL_NONE : rank;
        first[rank] = lowest;
    }
}

/* The levels of the node, whose row is that of `node` unless it is NULL. */
static enum pcoll_result divide(const struct pcoll_sharing *sharing,
                                const struct pcoll_topology *node, struct pcoll_topology *levels_p)
{
    static const struct {
        enum pcoll_shared what;
        enum pcoll_level level;
    } wanted[] = {{PCOLL_SHARED_SOCKET, PCOLL_LEVEL_OTHER_CACHE},
                  {PCOLL_SHARED_NUMA, PCOLL_LEVEL_OTHER_CACHE},
                  {PCOLL_SHARED_CACHE, PCOLL_LEVEL_SAME_CACHE}};
    struct pcoll_division divisions[PCOLL_NUM_SHARED];

    for (int i = 0; i < PCOLL_NUM_SHARED; i++)
        divisions[i] = (struct pcoll_division){
            sharing->first + (size_t)wanted[i].what * (size_t)sharing->nranks, wanted[i].level};
    return pcoll_topology_divide(node, sharing->nranks, divisions, PCOLL_NUM_SHARED, levels_p);
}

enum pcoll_result pcoll_sharing_init(struct pcoll_sharing *sharing, const void *localities,
                                     size_t stride, int nranks)
{
    uint64_t *keys = malloc((size_t)nranks * sizeof(*keys));
    int *first = malloc(PCOLL_NUM_SHARED * (size_t)nranks * sizeof(*first));
    enum pcoll_result result;

    if (keys == NULL || first == NULL) {
        free(keys);
        free(first);
        return PCOLL_ERR_NOMEM;
    }
    for (int what = 0; what < PCOLL_NUM_SHARED; what++) {
        for (int r = 0; r < nranks; r++) {
            struct pcoll_locality locality;

            memcpy(&locality, (const char *)localities + (size_t)r * stride, sizeof(locality));
            keys[r] = (uint64_t)(uint32_t)object_of(&locality, what) << 32 | (uint32_t)r;
        }
        find_first(keys, nranks, first + (size_t)what * (size_t)nranks);
    }
    free(keys);
    *sharing = (struct pcoll_sharing){.nranks = nranks, .first = first};
    result = divide(sharing, NULL, &sharing->levels);
    if (result == PCOLL_UNSUPPORTED)
        return PCOLL_OK;
    if (result != PCOLL_OK)
        pcoll_sharing_fini(sharing);
    return result;
}

enum pcoll_result pcoll_sharing_nest(const struct pcoll_sharing *sharing,
                                     const struct pcoll_topology *topology,
                                     struct pcoll_topology *nested_p)
{
    const int n = sharing->nranks;
    const struct pcoll_topology node = {.nranks = n,
                                        .nnodes = 1,
                                        .run = n,
                                        .order = topology->order,
                                        .order_of = topology->order_of};
    struct pcoll_topology levels;
    enum pcoll_result result;

    if (pcoll_sharing_levels(sharing) == NULL)
        return PCOLL_UNSUPPORTED;
    result = divide(sharing, &node, &levels);
    if (result != PCOLL_OK)
        return result;
    result = pcoll_topology_repeat(topology, &levels, nested_p);
    pcoll_topology_fini(&levels);
    return result;
}

uint64_t pcoll_sharing_hash(const struct pcoll_sharing *sharing)
{
    const size_t n = PCOLL_NUM_SHARED * (size_t)sharing->nranks;

    return pcoll_hash(sharing->first, n * sizeof(sharing->first[0]));
}

void pcoll_sharing_fini(struct pcoll_sharing *sharing)
{
    free(sharing->first);
    pcoll_topology_fini(&sharing->levels);
    *sharing = (struct pcoll_sharing){.nranks = 0};
}

/* ---- the distance ---- */

static bool is_known_of_all(const struct pcoll_sharing *sharing, enum pcoll_shared what)
{
    for (int r = 0; r < sharing->nranks; r++)
        if (pcoll_sharing_first(sharing, what, r) == PCOLL_NONE)
            return false;
    return true;
}

static bool is_shared_by_all(const struct pcoll_sharing *sharing, enum pcoll_shared what)
{
    for (int r = 0; r < sharing->nranks; r++)
        if (pcoll_sharing_first(sharing, what, r) != 0)
            return false;
    return true;
}

bool pcoll_sharing_is_divided(const struct pcoll_sharing *sharing, enum pcoll_shared what)
{
    return is_known_of_all(sharing, what) && !is_shared_by_all(sharing, what);
}

enum pcoll_level pcoll_sharing_distance(const struct pcoll_sharing *sharing, uint64_t nanoseconds)
{
    if (sharing->nranks == 1 || !is_known_of_all(sharing, PCOLL_SHARED_SOCKET))
        return PCOLL_LEVEL_ANY;
    if (!is_shared_by_all(sharing, PCOLL_SHARED_SOCKET))
        return PCOLL_LEVEL_OTHER_SOCKET;
    return is_shared_by_all(sharing, PCOLL_SHARED_CACHE) && nanoseconds <= PCOLL_NEAR_NSEC
               ? PCOLL_LEVEL_SAME_CACHE
               : PCOLL_LEVEL_OTHER_CACHE;
}

/* ---- in words ---- */

struct text {
    char *at;
    size_t left; /* with room for the end of the string */
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...)
{
    va_list arguments;
    int used;

    va_start(arguments, format);
    used = vsnprintf(text->at, text->left, format, arguments);
    va_end(arguments);
    if (used < 0 || (size_t)used >= text->left)
        used = (int)text->left - 1;
    text->at += used;
    text->left -= (size_t)used;
}

static void append_ranks(struct text *text, const struct pcoll_sharing *sharing,
                         enum pcoll_shared what, int first)
{
    const char *between = "{";

    for (int r = first, last; r < sharing->nranks; r = last + 1) {
        last = r;
        if (pcoll_sharing_first(sharing, what, r) != first)
            continue;
        while (last + 1 < sharing->nranks && pcoll_sharing_first(sharing, what, last + 1) == first)
            last++;
        append(text, "%s%d", between, r);
        if (last > r)
            append(text, "-%d", last);
        between = ",";
    }
    append(text, "}");
}

void pcoll_sharing_levels_text(const struct pcoll_sharing *sharing, char *text, size_t size)
{
    struct text rest = {text, size};
    int number = 0;

    *text = '\0';
    for (const struct pcoll_topology *level = pcoll_sharing_levels(sharing); level != NULL;
         level = level->below) {
        number++;
        append(&rest, "%s%d of %d teams", number > 1 ? ", " : "", number, level->nnodes);
    }
    if (number == 0)
        append(&rest, "none");
}

void pcoll_sharing_text(const struct pcoll_sharing *sharing, enum pcoll_shared what, char *text,
                        size_t size)
{
    struct text rest = {text, size};

    *text = '\0';
    for (int r = 0; r < sharing->nranks; r++) {
        if (pcoll_sharing_first(sharing, what, r) != r)
            continue;
        if (rest.at != text)
            append(&rest, " ");
        append_ranks(&rest, sharing, what, r);
    }
}
