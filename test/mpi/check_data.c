/* Random numbers, buffers and data of test programs; the contract is in check.h. */
#include "check.h"
#include <unistd.h>

enum { GUARD = 64 };

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t check_random(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15u;
    return mix(*state);
}

void check_delay(void)
{
    uint64_t dice = check_random(&check.local);

    if (dice % 64 == 0)
        usleep(1000);
    else if (dice % 8 == 0)
        usleep((useconds_t)(dice >> 32) % 100);
    else if (dice % 8 < 3)
        for (volatile unsigned i = (unsigned)(dice >> 32) % 2000; i > 0; i--)
            ;
}

static int is_alloc_mem(void)
{
    const char *who = check_option("alloc-mem");

    return who != NULL && (strcmp(who, "even") != 0 || check.rank % 2 == 0);
}

static char *get_memory(size_t bytes)
{
    char *memory = NULL;

    if (!is_alloc_mem())
        return malloc(bytes);
    MPI(MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory));
    return memory;
}

static void put_memory(char *memory)
{
    if (!is_alloc_mem())
        free(memory);
    else
        MPI(MPI_Free_mem(memory));
}

void *check_alloc(size_t bytes)
{
    char *memory = get_memory(bytes + 2 * GUARD);

    if (memory == NULL) {
        perror("no memory");
        MPI_Abort(MPI_COMM_WORLD, 2);
        exit(2);
    }
    memset(memory, 0x5A, GUARD);
    memcpy(memory, &bytes, sizeof(bytes));
    memset(memory + GUARD + bytes, 0x5A, GUARD);
    check_poison(memory + GUARD, bytes);
    return memory + GUARD;
}

void check_free(void *buffer)
{
    char *memory, *behind;
    size_t bytes;
    int wrong = 0;

    if (buffer == NULL)
        return;
    memory = (char *)buffer - GUARD;
    memcpy(&bytes, memory, sizeof(bytes));
    behind = (char *)buffer + bytes;
    for (size_t i = sizeof(bytes); i < GUARD; i++)
        wrong += memory[i] != 0x5A;
    for (size_t i = 0; i < GUARD; i++)
        wrong += behind[i] != 0x5A;
    if (wrong)
        check_fail(__FILE__, __LINE__, "%d bytes written around a buffer of %zu", wrong, bytes);
    put_memory(memory);
}

uint64_t check_key(uint64_t tag, uint64_t step, int rank)
{
    return mix(tag * 0x9E3779B97F4A7C15u + mix(step + 1) + mix(((uint64_t)rank + 1) << 40));
}

/* Cheap to compute per word and different in each byte; mix() keeps keys apart. */
static uint64_t word(uint64_t key, uint64_t i)
{
    uint64_t z = key + i * 0xD1342543DE82EF95u;

    return z ^ (z >> 29);
}

void check_fill(void *buffer, size_t bytes, uint64_t key)
{
    char *to = buffer;
    size_t i = 0;

    for (; (i + 1) * 8 <= bytes; i++) {
        uint64_t value = word(key, i);
        memcpy(to + i * 8, &value, 8);
    }
    if (i * 8 < bytes) {
        uint64_t value = word(key, i);
        memcpy(to + i * 8, &value, bytes - i * 8);
    }
}

void check_poison(void *buffer, size_t bytes)
{
    memset(buffer, 0xA5, bytes);
}

static size_t first_wrong(const char *data, size_t bytes, uint64_t key)
{
    for (size_t i = 0; i * 8 < bytes; i++) {
        uint64_t value = word(key, i);
        size_t length = bytes - i * 8 < 8 ? bytes - i * 8 : 8;

        for (size_t b = 0; memcmp(data + i * 8, &value, length) != 0 && b < length; b++)
            if (data[i * 8 + b] != ((const char *)&value)[b])
                return i * 8 + b;
    }
    return bytes;
}

void check_compare(const void *buffer, size_t bytes, uint64_t key)
{
    const unsigned char *data = buffer;
    size_t at = first_wrong(buffer, bytes, key);

    if (at < bytes)
        check_fail(__FILE__, __LINE__, "byte %zu of %zu is wrong%s", at, bytes,
                   data[at] == 0xA5 ? " (never written?)" : "");
}
