/* Parts of shared-memory chunks are taken and returned at random. */
#include "offload/memory/extents.h"

#include <stdbool.h>
#include <string.h>

#include "offload/run/line.h"
#include "test/unit/tap.h"

#define KIB ((size_t)1024)

enum { OBJECTS = 3, EXTENTS = 200, LINE = PCOLL_LINE_BYTES };

static unsigned char owner[OBJECTS][64 * KIB / LINE]; /* 0: free; otherwise 1 + the number of the
                                                       * extent there */

struct taken {
    int object;
    size_t offset, bytes;
};

static struct taken held[EXTENTS];

static bool is_given_back(const void *context, const struct pcoll_extent *extent)
{
    (void)context;
    return owner[extent->object][extent->offset / LINE] == 0;
}

static int paint(const struct taken *extent, int from, int to)
{
    unsigned char *lines = &owner[extent->object][extent->offset / LINE];
    int wrong = 0;

    for (size_t i = 0; i < extent->bytes / LINE; i++) {
        wrong += lines[i] != from;
        lines[i] = (unsigned char)to;
    }
    return wrong;
}

static int take_or_give(struct pcoll_extents *extents, int i, unsigned dice)
{
    size_t bytes = (1 + dice % (dice % 7 ? 4 : 200)) * LINE;
    const struct pcoll_extent *extent;
    int wrong = 0;

    if (held[i].bytes > 0) {
        wrong = paint(&held[i], i + 1, 0);
        held[i].bytes = 0;
        return wrong;
    }
    if (pcoll_extents_reserve(extents) != PCOLL_OK)
        return 1;
    pcoll_extents_merge(extents, is_given_back, NULL);
    extent = pcoll_extents_take(extents, bytes);
    if (extent == NULL)
        return 0;
    held[i] = (struct taken){extent->object, extent->offset, extent->bytes};
    return paint(&held[i], 0, i + 1) + (extent->bytes != bytes);
}

static void check_extents(void)
{
    struct pcoll_extents extents = {0};
    unsigned dice = 1;
    int wrong = 0;

    for (int c = 0; c < OBJECTS; c++) {
        wrong += pcoll_extents_reserve(&extents) != PCOLL_OK;
        pcoll_extents_add_object(&extents, c, 64 * KIB);
    }
    for (int round = 0; round < 200000; round++) {
        dice = dice * 1103515245u + 12345u;
        wrong += take_or_give(&extents, (int)(dice >> 16) % EXTENTS, dice >> 8);
    }
    tap_ok(!wrong, "parts of chunks do not overlap");
    memset(owner, 0, sizeof(owner));
    pcoll_extents_merge(&extents, is_given_back, NULL);
    tap_ok(extents.n == OBJECTS && pcoll_extents_taken(&extents) == 0 &&
               pcoll_extents_is_unused(&extents, 1),
           "freed parts merge into one");
    pcoll_extents_fini(&extents);
}

int main(void)
{
    check_extents();
    return tap_done();
}
