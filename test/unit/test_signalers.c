/* Which counters a rank alone signals: two ranks tell each other what they signal, in either
 * order. */
#include <string.h>

#include "offload/node/binding.h"
#include "test/unit/tap.h"

enum { RANKS = 2, COUNTERS = 9, TARGETS = 5 };

static struct side {
    struct pcoll_target targets[TARGETS];
    struct pcoll_node_signaling signalings[TARGETS];
    struct pcoll_node_bound bound;
    struct pcoll_node_binding binding;
} sides[RANKS];

static _Atomic uint64_t counts[COUNTERS];

static void begin(struct side *side)
{
    *side = (struct side){.bound = {.run = {.targets = side->targets}}};
    side->binding = (struct pcoll_node_binding){
        .bound = &side->bound, .signalings = side->signalings, .nlocal = RANKS};
}

static void signal(struct side *side, int counter)
{
    struct pcoll_target *target = &side->targets[side->bound.run.ntargets++];

    pcoll_node_signalers_add(&side->binding, target, (char *)counts, counter);
}

/* 0, 1 and 2 share a word, which the first rank adds to twice, once for two counters; 4 and 5 share
 * one, too. The second rank's signals for 4 may come from another rank, which says so twice. */
static void meet(int first)
{
    memset(counts, 0, sizeof(counts));
    begin(&sides[0]);
    signal(&sides[0], 0);
    signal(&sides[0], 5);
    signal(&sides[0], 1);
    signal(&sides[0], 2);
    signal(&sides[0], 8);
    begin(&sides[1]);
    signal(&sides[1], 4);
    signal(&sides[1], 1);
    pcoll_node_signalers_add_other(&sides[1].binding, &sides[1].targets[0]);
    pcoll_node_signalers_add_other(&sides[1].binding, &sides[1].targets[0]);
    pcoll_node_signalers_add_other(&sides[1].binding, NULL);
    for (int i = 0; i < RANKS; i++)
        pcoll_node_signalers_publish(&sides[i ^ first].binding);
    for (int i = 0; i < RANKS; i++)
        pcoll_node_find_alone(&sides[i].binding);
}

static int is_alone(const struct pcoll_target *target)
{
    return target->signalers == PCOLL_ALONE;
}

int main(void)
{
    const struct pcoll_target *mine = sides[0].targets, *theirs = sides[1].targets;

    for (int first = 0; first < RANKS; first++) {
        meet(first);
        tap_ok(is_alone(&mine[0]) && is_alone(&mine[1]) && is_alone(&mine[3]) && is_alone(&mine[4]),
               "who signals alone is found");
        tap_ok(!is_alone(&mine[2]) && !is_alone(&theirs[1]), "so are two that signal one counter");
        tap_ok(!is_alone(&theirs[0]), "who may be replaced is not alone");
    }
    tap_ok(pcoll_node_signalers_bytes(COUNTERS) >= sizeof(uint64_t) * 3 &&
               pcoll_node_signalers_bytes(0) == 0,
           "there is room for the counts");
    return tap_done();
}
