/* Lists of pieces of user memory, against a table of every byte's address. */
#include "offload/pieces.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/unit/tap.h"

enum { ROOM = 1 << 16, MOST = 4000, ROUNDS = 300, GAP = 0xa5, MARGIN = 300 };

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

/* What was added from byte `first` on as layers at one distance. Returns how many there are then.
 */
static int repeat(struct subject *s, int first, int layers, int step)
{
    const int bytes = (int)s->pieces.bytes - first;

    if (!pcoll_pieces_repeat(&s->pieces, (uint64_t)first, (uint64_t)layers, step))
        return 1;
    for (int i = first + bytes; i < first + layers * bytes; i++)
        s->place[i] = s->place[i - bytes] + step;
    return layers;
}

/* Pieces of one length at one distance, forwards or backwards; added one by one, or at once; some
 * of them in layers. */
static int add_row(struct subject *s, int count, int bytes, int step, int backwards)
{
    const int start = s->used + (backwards ? (count - 1) * step : 0);
    const int by = backwards ? -step : step, at_once = below(s, 2);
    const int first = (int)s->pieces.bytes, layer = count * step + below(s, 9);
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
    if (below(s, 3) == 0)
        s->used += layer * (repeat(s, first, 1 + below(s, 5), layer) - 1);
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

/* The memory that has pieces, and what lies behind it. */
static size_t extent(const struct subject *s)
{
    return (size_t)s->used + MARGIN;
}

static void scribble(struct subject *s)
{
    for (size_t i = 0; i < extent(s); i++)
        s->memory[i] = (unsigned char)rand_r(&s->seed);
}

/* The packed bytes of a range are right, and nothing else was written. */
static int check_pack(struct subject *s, int first, int bytes)
{
    unsigned char packed[ROOM];
    int wrong = 0;

    memset(packed, GAP, (size_t)bytes + 1);
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
    memcpy(ought, s->memory, extent(s));
    for (int i = 0; i < bytes; i++)
        ought[s->place[first + i]] = packed[i];
    pcoll_pieces_unpack(&s->pieces, (uint64_t)first, packed, (size_t)bytes);
    return memcmp(ought, s->memory, extent(s)) != 0;
}

static int check_copy(const struct subject *from, int first, struct subject *to, int to_first,
                      int bytes)
{
    unsigned char ought[ROOM];

    memcpy(ought, to->memory, extent(to));
    for (int i = 0; i < bytes; i++)
        ought[to->place[to_first + i]] = from->memory[from->place[first + i]];
    pcoll_pieces_copy(&from->pieces, (uint64_t)first, &to->pieces, (uint64_t)to_first,
                      (size_t)bytes);
    return memcmp(ought, to->memory, extent(to)) != 0;
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
    tap_ok(!wrong && one.pieces.nrows == 2, "pieces elsewhere are a row of their own");
    pcoll_pieces_fini(&one.pieces);
    for (int i = 0; i < 100; i++)
        wrong |= add(&one, 7 * i, 7);
    tap_ok(!wrong && one.pieces.nrows == 1 && one.pieces.rows[0].bytes == 700,
           "adjacent pieces are one piece");
    pcoll_pieces_fini(&one.pieces);
}

/* What becomes one row, and what does not. */
static void check_layers(void)
{
    int wrong = 0;

    for (int i = 0; i < 10; i++)
        wrong |= add(&one, 24 * i, 16);
    wrong |= repeat(&one, 0, 5, 300) != 5 || one.pieces.nrows != 1;
    tap_ok(!wrong && one.pieces.bytes == 5 * 160, "a row in layers is one row");
    tap_ok(repeat(&one, 0, 2, 5000) == 1 && one.pieces.bytes == 5 * 160, "but not those in others");
    wrong = add(&one, 240, 16);
    tap_ok(!wrong && one.pieces.nrows == 2, "what would continue the first layer is another row");
    pcoll_pieces_fini(&one.pieces);
    wrong = add(&one, 0, 16) || repeat(&one, 0, 7, 16) != 7 || one.pieces.rows[0].bytes != 112;
    tap_ok(!wrong, "adjacent pieces in layers are one piece");
    wrong = repeat(&one, 0, 3, 200) != 3 || repeat(&one, 0, 2, 600) != 2;
    tap_ok(!wrong && one.pieces.rows[0].count == 6 && one.pieces.rows[0].layers == 1,
           "layers that continue the row are pieces of it");
    wrong = add(&one, 1200, 112);
    tap_ok(!wrong && repeat(&one, 6 * 112, 2, 5000) == 1 && one.pieces.bytes == 7 * 112,
           "what has continued a row is none of its own");
    pcoll_pieces_fini(&one.pieces);
    tap_ok(repeat(&one, 0, 2, 8) == 1, "nothing has no layers");
}

/* ---- rows of pieces of every length ---- */

enum { SHORT = 40 };
static const int longer[] = {47, 48, 63, 64, 65, 96, 127, 128, 129, 256, 300};

/* Pieces `by` bytes apart, which may be negative, or so few that they overlap. */
static int make_row(struct subject *s, int count, int bytes, int by)
{
    const int start = MARGIN + below(s, 8) + (by < 0 ? (count - 1) * -by : 0);

    s->pieces = (struct pcoll_pieces){0};
    s->used = start + bytes + (by > 0 ? (count - 1) * by : 0);
    for (int i = 0; i < count; i++)
        note(s, i * bytes, start + i * by, bytes);
    return pcoll_pieces_add_row(&s->pieces, (char *)s->memory + start, (size_t)bytes, by,
                                (uint64_t)count) != PCOLL_OK;
}

/* Only a row that is read may overlap. */
static int check_range(struct subject *from, struct subject *to, int first, int bytes)
{
    return check_pack(from, first, bytes) | check_copy(from, first, to, first, bytes) |
           check_copy(from, first, to, 0, bytes) | check_unpack(to, first, bytes);
}

/* Ranges that begin or end at each byte of a piece. */
static int check_cuts(struct subject *from, struct subject *to, int bytes)
{
    const int all = (int)from->pieces.bytes;
    int wrong = check_range(from, to, 0, all);

    for (int cut = 1; cut <= bytes && !wrong; cut++) {
        wrong |= check_range(from, to, cut, all - cut);
        wrong |= check_range(from, to, 0, all - cut);
        wrong |= check_range(from, to, cut, least(bytes, all - cut));
    }
    return wrong;
}

static int check_length(int bytes)
{
    const int from[] = {bytes + 1, 2 * bytes, 3 * bytes + 5, -bytes - 8, -1, 0, 1};
    const int to[] = {bytes + 8,  -2 * bytes,    bytes,    4 * bytes,
                      -bytes - 1, 2 * bytes + 3, bytes + 4};
    static const int counts[] = {1, 2, 3, 4, 5, 11};
    int wrong = 0;

    for (int i = 0; i < 7; i++)
        for (int k = 0; k < 6; k++) {
            wrong |= make_row(&one, counts[k], bytes, from[i]);
            wrong |= make_row(&other, counts[k], bytes, to[i]);
            scribble(&one);
            scribble(&other);
            wrong |= check_cuts(&one, &other, bytes);
            pcoll_pieces_fini(&one.pieces);
            pcoll_pieces_fini(&other.pieces);
        }
    return wrong;
}

static void check_lengths(void)
{
    int wrong = 0;

    one.seed = other.seed = 1;
    for (int bytes = 1; bytes <= SHORT && !wrong; bytes++)
        wrong |= check_length(bytes);
    tap_ok(!wrong, "rows of pieces of 1 to %d bytes, cut at each", SHORT);
    for (size_t i = 0; i < sizeof(longer) / sizeof(*longer) && !wrong; i++)
        wrong |= check_length(longer[i]);
    tap_ok(!wrong, "the same with longer pieces");
}

/* A page between two that cannot be accessed; *bytes_p is its size. */
static char *make_page(size_t *bytes_p)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    *bytes_p = page;
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    return pages + page;
}

/* A row from the beginning of a page, and one to its end; so are the packed bytes. */
static int check_page(char *user, char *packed, size_t page, size_t bytes)
{
    enum { COUNT = 3 };
    struct pcoll_pieces pieces = {0};
    const size_t all = 2 * COUNT * bytes;
    const ptrdiff_t step = (ptrdiff_t)bytes + 1;
    char *last = user + page - bytes;
    int failed = pcoll_pieces_add_row(&pieces, user, bytes, step, COUNT) != PCOLL_OK ||
                 pcoll_pieces_add_row(&pieces, last, bytes, -step, COUNT) != PCOLL_OK;

    pcoll_pieces_pack(&pieces, 0, packed, all);
    pcoll_pieces_unpack(&pieces, 0, packed, all);
    pcoll_pieces_pack(&pieces, 0, packed + page - all, all);
    pcoll_pieces_unpack(&pieces, 0, packed + page - all, all);
    pcoll_pieces_fini(&pieces);
    return failed;
}

static void check_pages(void)
{
    size_t page;
    char *user = make_page(&page), *packed = make_page(&page);
    int failed = user == NULL || packed == NULL;

    for (size_t bytes = 1; bytes <= 300 && !failed; bytes++)
        failed |= check_page(user, packed, page, bytes);
    tap_ok(!failed, "nothing beyond the pieces is accessed");
}

int main(void)
{
    check_pages();
    check_lengths();
    check_rows();
    check_layers();
    check_random();
    return tap_done();
}
