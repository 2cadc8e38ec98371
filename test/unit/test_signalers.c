/* Which counters a rank alone signals: two ranks tell each other what they signal, in either
 * order. */
#include <string.h>

#include "offload/shm/state.h"
#include "test/unit/tap.h"

enum { RANKS = 2, COUNTERS = 9, TARGETS = 5 };

static struct side {
    struct pcoll_target targets[TARGETS];
    struct pcoll_shm_signaling signalings[TARGETS];
    struct pcoll_shm_bound bound;
    struct pcoll_shm_binding binding;
} sides[RANKS];

static _Atomic uint64_t counts[COUNTERS];

static void begin(struct side *side)
{
    *side = (struct side){.bound = {.run = {.targets = side->targets}}};
    side->binding = (struct pcoll_shm_binding){
        .bound = &side->bound, .signalings = side->signalings, .nlocal = RANKS};
}

static void signal(struct side *side, int counter)
{
    struct pcoll_target *target = &side->targets[side->bound.run.ntargets++];

    pcoll_shm_signalers_add(&side->binding, target, (char *)counts, counter);
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
    pcoll_shm_signalers_add_other(&sides[1].binding, &sides[1].targets[0]);
    pcoll_shm_signalers_add_other(&sides[1].binding, &sides[1].targets[0]);
    pcoll_shm_signalers_add_other(&sides[1].binding, NULL);
    for (int i = 0; i < RANKS; i++)
        pcoll_shm_signalers_publish(&sides[i ^ first].binding);
    for (int i = 0; i < RANKS; i++)
        pcoll_shm_find_alone(&sides[i].binding);
}

int main(void)
{
    const struct pcoll_target *mine = sides[0].targets, *theirs = sides[1].targets;

    for (int first = 0; first < RANKS; first++) {
        meet(first);
        tap_ok(mine[0].alone && mine[1].alone && mine[3].alone && mine[4].alone,
               "who signals alone is found");
        tap_ok(!mine[2].alone && !theirs[1].alone, "so are two that signal one counter");
        tap_ok(!theirs[0].alone, "who may be replaced is not alone");
    }
    tap_ok(pcoll_shm_signalers_bytes(COUNTERS) >= sizeof(uint64_t) * 3 &&
               pcoll_shm_signalers_bytes(0) == 0,
           "there is room for the counts");
    return tap_done();
}
