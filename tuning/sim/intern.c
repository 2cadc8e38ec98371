/* Keeps equal rows of words once: a hash table with open addressing. */
#include "tuning/sim/intern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void pcoll_intern_init(struct pcoll_intern *intern)
{
    memset(intern, 0, sizeof(*intern));
}

void pcoll_intern_fini(struct pcoll_intern *intern)
{
    free(intern->words);
    free(intern->table);
}

static uint64_t hash_of(const void *row, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325u, word;

    for (size_t i = 0; i < n; i++) {
        memcpy(&word, (const char *)row + i * sizeof(word), sizeof(word));
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* The slot that holds the row, or the free slot where it belongs. */
static size_t slot_of(const struct pcoll_intern *intern, const void *row, size_t n)
{
    size_t slot = hash_of(row, n) & (intern->slots - 1);

    for (; intern->table[slot] != 0; slot = (slot + 1) & (intern->slots - 1)) {
        const uint64_t *there = intern->words + intern->table[slot] - 1;

        if (there[0] == n && memcmp(there + 1, row, n * sizeof(*there)) == 0)
            break;
    }
    return slot;
}

/* Make room for one more row of n words. */
static bool make_room(struct pcoll_intern *intern, size_t n)
{
    if (intern->nwords + n + 1 > intern->room) {
        size_t room = 2 * intern->room + n + 1024;
        uint64_t *words = NULL;

        if (room < UINT32_MAX) /* handles are indices of words */
            words = realloc(intern->words, room * sizeof(*words));
        if (words == NULL)
            return false;
        intern->words = words;
        intern->room = room;
    }
    return true;
}

static bool make_slots(struct pcoll_intern *intern)
{
    struct pcoll_intern wide = *intern;

    if (2 * intern->nrows < intern->slots)
        return true;
    wide.slots = intern->slots ? 2 * intern->slots : 1024;
    wide.table = calloc(wide.slots, sizeof(*wide.table));
    if (wide.table == NULL)
        return false;
    for (size_t at = 0; at < intern->nwords; at += intern->words[at] + 1)
        wide.table[slot_of(&wide, intern->words + at + 1, intern->words[at])] = (uint32_t)at + 1;
    free(intern->table);
    intern->table = wide.table;
    intern->slots = wide.slots;
    return true;
}

/* Append the row; there is room. */
static uint32_t append(struct pcoll_intern *intern, const void *row, size_t n)
{
    const uint32_t handle = (uint32_t)intern->nwords;

    intern->words[intern->nwords++] = n;
    memcpy(intern->words + intern->nwords, row, n * sizeof(*intern->words));
    intern->nwords += n;
    intern->nrows++;
    return handle;
}

uint32_t pcoll_intern_row(struct pcoll_intern *intern, const void *row, size_t n)
{
    size_t slot;

    if (!make_slots(intern) || !make_room(intern, n))
        return PCOLL_INTERN_FAILED;
    slot = slot_of(intern, row, n);
    if (intern->table[slot] == 0)
        intern->table[slot] = append(intern, row, n) + 1;
    return intern->table[slot] - 1;
}

uint32_t pcoll_intern_add(struct pcoll_intern *intern, const void *row, size_t n)
{
    return make_room(intern, n) ? append(intern, row, n) : PCOLL_INTERN_FAILED;
}
