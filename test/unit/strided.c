/* User memory with gaps; the contract is in strided.h. */
#include "test/unit/strided.h"

#include <stdlib.h>
#include <string.h>

enum { RUN = 5, STRIDE = 8, GAP = 0x33 }; /* so many bytes of data in so many of memory */

static uint64_t strided_place(uint64_t i)
{
    return i / RUN * STRIDE + i % RUN;
}

static struct strided *strided_of(const struct pcoll_user_layout *layout)
{
    return pcoll_container_of(layout, struct strided, layout);
}

static enum pcoll_result pack(const struct pcoll_user_layout *layout, uint64_t first, void *to,
                              size_t bytes)
{
    const struct strided *s = strided_of(layout);

    if (s->fails || first + bytes > s->bytes)
        return PCOLL_ERR_INVALID;
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = s->memory[strided_place(first + i)];
    return PCOLL_OK;
}

static enum pcoll_result unpack(const struct pcoll_user_layout *layout, uint64_t first,
                                const void *from, size_t bytes)
{
    const struct strided *s = strided_of(layout);

    if (s->fails || first + bytes > s->bytes)
        return PCOLL_ERR_INVALID;
    for (size_t i = 0; i < bytes; i++)
        s->memory[strided_place(first + i)] = ((const unsigned char *)from)[i];
    return PCOLL_OK;
}

static enum pcoll_result copy(const struct pcoll_user_layout *layout, uint64_t first,
                              const struct pcoll_user_layout *to, uint64_t to_first, size_t bytes)
{
    enum pcoll_result result = PCOLL_OK;

    for (size_t i = 0; i < bytes && result == PCOLL_OK; i++) {
        unsigned char byte;

        result = pack(layout, first + i, &byte, 1);
        if (result == PCOLL_OK)
            result = unpack(to, to_first + i, &byte, 1);
    }
    return result;
}

enum pcoll_result strided_init(struct strided *s, uint64_t bytes, int can_copy)
{
    *s = (struct strided){
        {pack, unpack, can_copy ? copy : NULL}, malloc(strided_place(bytes) + STRIDE), bytes, 0};
    return s->memory ? PCOLL_OK : PCOLL_ERR_NOMEM;
}

void strided_fill(struct strided *s, const unsigned char *data)
{
    memset(s->memory, GAP, strided_place(s->bytes) + STRIDE);
    for (uint64_t i = 0; i < s->bytes; i += RUN)
        memcpy(s->memory + strided_place(i), data + i, s->bytes - i < RUN ? s->bytes - i : RUN);
}

int strided_read(const struct strided *s, unsigned char *data)
{
    uint64_t next = 0;
    int wrong = 0;

    for (uint64_t i = 0; i < s->bytes; i++) {
        for (; next < strided_place(i); next++)
            wrong |= s->memory[next] != GAP;
        data[i] = s->memory[next++];
    }
    for (; next < strided_place(s->bytes) + STRIDE; next++)
        wrong |= s->memory[next] != GAP;
    return wrong;
}
