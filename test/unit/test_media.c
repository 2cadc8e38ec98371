/* The table of media: every slot is filled, and traits have their effects. */
#include <string.h>

#include "offload/media.h"
#include "test/unit/tap.h"

static int is_filled(const struct pcoll_medium *m)
{
    return m->name && m->suits && m->poll && m->lingering && m->finalize && m->group_create &&
           m->group_destroy && m->group_provides && m->group_rails && m->group_level &&
           m->group_sharing && m->group_levels && m->group_reach && m->group_measure &&
           m->group_machine && m->bind && m->unbind && m->start && m->progress && m->spin &&
           m->rest && m->position;
}

static void test_row(int i)
{
    const struct pcoll_medium *medium = pcoll_media[i];
    const char *in_node = medium->node_medium;

    tap_ok(is_filled(medium), "%s: every slot is filled", medium->name);
    tap_ok(pcoll_media_find(medium->name) == i, "%s: is found by its unique name", medium->name);
    tap_ok(!in_node || (pcoll_media_find(in_node) != PCOLL_NONE &&
                        !pcoll_media[pcoll_media_find(in_node)]->node_medium),
           "%s: its medium within a node exists", medium->name);
    tap_ok(!medium->suits(0, "any") || pcoll_media_reaches(medium, 0),
           "%s: suits several nodes only if it reaches them", medium->name);
}

/* Whatever is tried first, the last resort works: shared memory within a node. */
static void test_next(void)
{
    const int named = pcoll_media_find("tcp_kernel") + 1; /* it is the first; PCOLL_NONE is -1 */
    int last = PCOLL_NONE, distant = 0, steps = 0;

    for (int i = named; i != PCOLL_NONE; i = pcoll_media_next(i, 1, NULL), steps++)
        last = i;
    tap_ok(steps == pcoll_nmedia - named - (pcoll_media_find("ucx_rma") != PCOLL_NONE) &&
               strcmp(pcoll_media[last]->name, "shm") == 0,
           "within a node all media of a library are tried, shm last");
    tap_ok(named == 0 || (pcoll_media_next(0, 1, NULL) == pcoll_media_auto(1, NULL) &&
                          pcoll_media_next(0, 0, "ucx") == pcoll_media_auto(0, "ucx")),
           "a network without a library is followed by what would be used without it");
    for (int i = pcoll_media_next(PCOLL_NONE, 0, NULL); i != PCOLL_NONE;
         i = pcoll_media_next(i, 0, NULL))
        distant += pcoll_media_reaches(pcoll_media[i], 0) ? 1 : pcoll_nmedia;
    tap_ok(distant <= pcoll_nmedia, "between nodes only the media that reach them are tried");
}

static void test_auto(void)
{
    const int here = pcoll_media_auto(1, "cxi"), there = pcoll_media_auto(0, NULL);
    const int offloaded = pcoll_media_auto(0, "cxi"), emulated = pcoll_media_auto(0, "sockets");

    tap_ok(here != PCOLL_NONE && strcmp(pcoll_media[here]->name, "shm") == 0, "in a node: shm");
    tap_ok(there == pcoll_media_find("ofi_rma") && emulated == there,
           "between nodes: ofi_rma where there is libfabric");
    tap_ok(pcoll_media_auto(0, "ucx") == pcoll_media_find("ucx_rma"), "ucx_rma where MPI uses UCX");
    tap_ok(pcoll_media_find("ofi_rma") == PCOLL_NONE ||
               pcoll_media_next(pcoll_media_find("ofi_rma"), 0, NULL) == PCOLL_NONE,
           "no library that MPI does not use follows by itself");
    for (int one_node = 0; one_node < 2; one_node++)
        tap_ok(pcoll_media_find("tcp_kernel") == PCOLL_NONE ||
                   pcoll_media_auto(one_node, "tcp") != pcoll_media_find("tcp_kernel"),
               "tcp_kernel must be named");
    tap_ok(offloaded == pcoll_media_find("ofi_trigger"),
           "ofi_trigger where the network runs plans by itself");
}

int main(void)
{
    char names[PCOLL_MEDIA_BYTES];

    for (int i = 0; i < pcoll_nmedia; i++)
        test_row(i);
    test_next();
    test_auto();
    for (int i = 0; i < pcoll_nmedia; i++)
        tap_ok(strstr(pcoll_media_names(names), pcoll_media[i]->name) != NULL,
               "%s is among the names", pcoll_media[i]->name);
    tap_ok(pcoll_media_find("unknown") == PCOLL_NONE, "no such medium");
    pcoll_media_poll();
    tap_ok(pcoll_media_lingering() == 0, "nothing lingers if nothing was bound");
    pcoll_media_finalize();
    return tap_done();
}
