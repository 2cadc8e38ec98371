#include "offload/explore/visited.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
    z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
    return z ^ z >> 32;
}

/* Both halves of the product in one. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Add two words to both parts of a hash. */
static void add_words(struct pcoll_hash *h, const unsigned char *at)
{
    uint64_t word[2];

    memcpy(word, at, sizeof(word));
    h->a = fold(h->a ^ word[0], word[1] ^ 0x9e3779b97f4a7c15u);
    h->b = fold(h->b ^ word[1], word[0] ^ 0xbf58476d1ce4e5b9u);
}

/* Every other pair of words is hashed at the same time. */
static struct pcoll_hash hash_memory(const unsigned char *memory, size_t bytes)
{
    enum { PAIR = 2 * sizeof(uint64_t) };
    struct pcoll_hash even = {0x243f6a8885a308d3u, 0x13198a2e03707344u};
    struct pcoll_hash odd = {0xa4093822299f31d0u, 0x082efa98ec4e6c89u};
    unsigned char rest[PAIR] = {0};
    size_t i = 0;

    for (; i + 2 * PAIR <= bytes; i += 2 * PAIR) {
        add_words(&even, memory + i);
        add_words(&odd, memory + i + PAIR);
    }
    if (i + PAIR <= bytes) {
        add_words(&even, memory + i);
        i += PAIR;
    }
    if (i < bytes) {
        memcpy(rest, memory + i, bytes - i);
        add_words(&odd, rest);
    }
    return (struct pcoll_hash){mix(even.a + mix(odd.a)) | 1, mix(even.b + mix(odd.b))};
}

static struct pcoll_hash *find(const struct pcoll_visited *v, struct pcoll_hash h)
{
    uint64_t i = h.b & v->mask;

    while (v->table[i].a != 0 && (v->table[i].a != h.a || v->table[i].b != h.b))
        i = (i + 1) & v->mask;
    return &v->table[i];
}

static enum pcoll_result grow(struct pcoll_visited *v)
{
    const uint64_t size = v->table ? 2 * (v->mask + 1) : 1024;
    struct pcoll_visited bigger = {
        .table = calloc(size, sizeof(struct pcoll_hash)),
        .mask = size - 1,
        .count = v->count,
    };

    if (!bigger.table)
        return PCOLL_ERR_NOMEM;
    for (uint64_t i = 0; v->table && i <= v->mask; i++)
        if (v->table[i].a != 0)
            *find(&bigger, v->table[i]) = v->table[i];
    free(v->table);
    *v = bigger;
    return PCOLL_OK;
}

enum pcoll_result pcoll_visited_add(struct pcoll_visited *visited, const unsigned char *memory,
                                    size_t bytes, bool *is_new_p)
{
    const struct pcoll_hash h = hash_memory(memory, bytes);
    struct pcoll_hash *place;

    if (2 * (visited->count + 1) > visited->mask && grow(visited) != PCOLL_OK)
        return PCOLL_ERR_NOMEM;
    place = find(visited, h);
    *is_new_p = place->a == 0;
    visited->count += *is_new_p;
    *place = h;
    return PCOLL_OK;
}

void pcoll_visited_fini(struct pcoll_visited *visited)
{
    free(visited->table);
}
