/* Values by name, in a table with open addressing; the contract is in names.h. */
#include "offload/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/util.h"

enum { FIRST_SIZE = 16 };

/* Addresses of the processes of one host differ in a few bytes in the middle; the last line brings
 * these to the bits that choose a place. */
static uint64_t hash_of(const void *name, size_t bytes)
{
    const uint64_t hash = pcoll_hash(name, bytes);

    return hash ^ hash >> 32;
}

static bool is_it(const struct pcoll_named *named, uint64_t hash, const void *name, size_t bytes)
{
    return named->hash == hash && named->bytes == bytes && memcmp(named->name, name, bytes) == 0;
}

void *pcoll_names_find(const struct pcoll_names *names, const void *name, size_t bytes)
{
    const uint64_t hash = hash_of(name, bytes);
    size_t i = (size_t)hash;

    if (names->n == 0)
        return NULL;
    while (names->table[i & names->mask].value != NULL &&
           !is_it(&names->table[i & names->mask], hash, name, bytes))
        i++;
    return names->table[i & names->mask].value;
}

static void put(struct pcoll_names *names, const struct pcoll_named *named)
{
    size_t i = (size_t)named->hash;

    while (names->table[i & names->mask].value != NULL)
        i++;
    names->table[i & names->mask] = *named;
}

enum pcoll_result pcoll_names_reserve(struct pcoll_names *names)
{
    const size_t now = names->table ? names->mask + 1 : 0, more = now ? 2 * now : FIRST_SIZE;
    struct pcoll_names larger = {.mask = more - 1, .n = names->n};

    if (2 * (names->n + 1) <= now)
        return PCOLL_OK;
    larger.table = calloc(more, sizeof(*larger.table));
    if (larger.table == NULL)
        return PCOLL_ERR_NOMEM;
    for (size_t i = 0; i < now; i++)
        if (names->table[i].value != NULL)
            put(&larger, &names->table[i]);
    free(names->table);
    *names = larger;
    return PCOLL_OK;
}

void pcoll_names_add(struct pcoll_names *names, const void *name, size_t bytes, void *value)
{
    const struct pcoll_named named = {name, bytes, hash_of(name, bytes), value};

    put(names, &named);
    names->n++;
}

void pcoll_names_fini(struct pcoll_names *names)
{
    free(names->table);
    *names = (struct pcoll_names){0};
}
