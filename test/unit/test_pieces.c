/* Lists of pieces of user memory, against a table of every byte's address. */
#include "offload/pieces.h"

#include <string.h>

#include "test/unit/tap.h"

enum { ROOM = 1 << 16, MOST = 4000, ROUNDS = 300, GAP = 0xa5 };

/* A list, and where each of its bytes is. */
struct subject {
    unsigned char memory[ROOM];
    struct pcoll_pieces pieces;
    int place[ROOM];
    int used; /* memory up to here has pieces or gaps */
    unsigned seed;
};

static int below(struct subject *s, int n)
{
    return rand_r(&s->seed) % n;
}

/* Packed byte `first` and those behind it are at `at`. */
static void note(struct subject *s, int first, int at, int bytes)
{
    for (int i = 0; i < bytes; i++)
        s->place[first + i] = at + i;
}

static int add(struct subject *s, int at, int bytes)
{
    note(s, (int)s->pieces.bytes, at, bytes);
    return pcoll_pieces_add(&s->pieces, (char *)s->memory + at, (size_t)bytes) != PCOLL_OK;
}

/* Pieces of one length at one distance, forwards or backwards; added one by one, or at once. */
static int add_row(struct subject *s, int count, int bytes, int step, int backwards)
{
    const int start = s->used + (backwards ? (count - 1) * step : 0);
    const int by = backwards ? -step : step, at_once = below(s, 2);
    int failed = 0;

    for (int i = 0; i < count; i++) {
        if (at_once)
            note(s, (int)s->pieces.bytes + i * bytes, start + i * by, bytes);
        else
            failed |= add(s, start + i * by, bytes);
    }
    if (at_once)
        failed |= pcoll_pieces_add_row(&s->pieces, (char *)s->memory + start, (size_t)bytes, by,
                                       (uint64_t)count) != PCOLL_OK;
    s->used += count * step;
    return failed;
}

/* Rows of different shapes until the memory is full: single pieces, adjacent ones, empty ones. */
static int fill_list(struct subject *s, unsigned seed)
{
    int failed = 0;

    s->pieces = (struct pcoll_pieces){0};
    s->used = 0;
    s->seed = seed;
    for (;;) {
        const int count = 1 + below(s, below(s, 4) ? 6 : 60), bytes = below(s, 40);
        const int step = bytes + (below(s, 3) ? below(s, 9) : 0);

        if (s->used + count * step >= MOST || s->used == MOST - 1)
            break;
        failed |= add_row(s, count, bytes, step, below(s, 4) == 0);
        s->used += step == 0 || below(s, 3) == 0;
    }
    return failed;
}

static void scribble(struct subject *s)
{
    for (int i = 0; i < ROOM; i++)
        s->memory[i] = (unsigned char)rand_r(&s->seed);
}

/* The packed bytes of a range are right, and nothing else was written. */
static int check_pack(struct subject *s, int first, int bytes)
{
    unsigned char packed[ROOM];
    int wrong = 0;

    memset(packed, GAP, sizeof(packed));
    pcoll_pieces_pack(&s->pieces, (uint64_t)first, packed, (size_t)bytes);
    for (int i = 0; i < bytes; i++)
        wrong |= packed[i] != s->memory[s->place[first + i]];
    return wrong | (packed[bytes] != GAP);
}

static int check_unpack(struct subject *s, int first, int bytes)
{
    unsigned char packed[ROOM], ought[ROOM];

    for (int i = 0; i < bytes; i++)
        packed[i] = (unsigned char)rand_r(&s->seed);
    memcpy(ought, s->memory, ROOM);
    for (int i = 0; i < bytes; i++)
        ought[s->place[first + i]] = packed[i];
    pcoll_pieces_unpack(&s->pieces, (uint64_t)first, packed, (size_t)bytes);
    return memcmp(ought, s->memory, ROOM) != 0;
}

static int check_copy(const struct subject *from, int first, struct subject *to, int to_first,
                      int bytes)
{
    unsigned char ought[ROOM];

    memcpy(ought, to->memory, ROOM);
    for (int i = 0; i < bytes; i++)
        ought[to->place[to_first + i]] = from->memory[from->place[first + i]];
    pcoll_pieces_copy(&from->pieces, (uint64_t)first, &to->pieces, (uint64_t)to_first,
                      (size_t)bytes);
    return memcmp(ought, to->memory, ROOM) != 0;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Ranges anywhere, of any length, and the whole list. */
static int check_round(struct subject *a, struct subject *b)
{
    const int all = (int)a->pieces.bytes, others = (int)b->pieces.bytes;
    int wrong = all == 0 || others == 0;

    for (int i = 0; i < 20 && !wrong; i++) {
        const int first = i ? below(a, all) : 0, to = i ? below(b, others) : 0;
        const int bytes = i ? below(a, all - first + 1) : all;

        wrong |= check_pack(a, first, bytes);
        wrong |= check_unpack(a, first, bytes);
        wrong |= check_copy(a, first, b, to, least(bytes, others - to));
    }
    return wrong;
}

static struct subject one, other;

static void check_random(void)
{
    int wrong = 0;

    for (unsigned seed = 1; seed <= ROUNDS && !wrong; seed++) {
        wrong |= fill_list(&one, seed) | fill_list(&other, seed + ROUNDS);
        scribble(&one);
        scribble(&other);
        wrong |= check_round(&one, &other);
        pcoll_pieces_fini(&one.pieces);
        pcoll_pieces_fini(&other.pieces);
    }
    tap_ok(!wrong, "%d pairs of lists: packed, unpacked and copied from anywhere", ROUNDS);
}

/* As a face of rows, a box of them, and memory without gaps. */
static void check_rows(void)
{
    int wrong = 0;

    one.pieces = (struct pcoll_pieces){0};
    for (int i = 0; i < 1500; i++)
        wrong |= add(&one, 24 * i, 16);
    tap_ok(!wrong && one.pieces.nrows == 1 && one.pieces.bytes == 1500 * 16,
           "1500 pieces at one distance are one row");
    for (int i = 0; i < 10; i++)
        wrong |= add(&one, 40000 + 24 * i, 16);
    tap_ok(!wrong && one.pieces.nrows == 2, "the next layer of a box is a row of its own");
    pcoll_pieces_fini(&one.pieces);
    for (int i = 0; i < 100; i++)
        wrong |= add(&one, 7 * i, 7);
    tap_ok(!wrong && one.pieces.nrows == 1 && one.pieces.rows[0].bytes == 700,
           "adjacent pieces are one piece");
    pcoll_pieces_fini(&one.pieces);
}

int main(void)
{
    check_rows();
    check_random();
    return tap_done();
}
