/* How a rank waits for one plan: when it polls, yields its core, or sleeps. */

#include "waiting.h"

#include "plan.h"
#include "process.h"

#include "offload/yield.h"

#include <sys/resource.h>

#define POLLS_WITH_CORE 100   /* polls between two calls of MPI's progress engine */
#define LOOKS_BEFORE_YIELD 20 /* rounds of polls without yielding, with a core of its own */

#define POLLS_SHARED 1       /* of the network, where a yield lets another rank run */
#define ROUNDS_BEFORE_LOOK 4 /* rounds until a wait asks whether others need its core */
#define CALM_WAITS 4         /* this many waits without a switch: nobody needs the core any more */

#define YIELDS_BEFORE_SLEEP 4000 /* where a rank has a core, or waits for the network */
#define SLEEP_USEC_SIGNALED 200  /* where a signal ends the sleep */

/* How often a rank that shares its core yields it in one wait before it sleeps. A yield that lets
 * another rank compute counts once, however long it takes, since it was of use. After so many
 * yields that return at once, no rank on this core computes. */
#define YIELDS_BEFORE_SLEEP_SHARED 100

/* How often the kernel has run others in place of this thread, which was ready to run: because its
 * time slice was over, or because it yielded and somebody took the core. */
static long switches(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* Who else needs the core of this rank. With several hosts on one machine, as in tests and
 * containers, the number of ranks does not tell. */
enum neighbors {
    ALONE,
    REACHED,     /* a yield lets them run */
    OUT_OF_REACH /* they are of another session, and run if this rank sleeps */
};

static enum neighbors neighbors = ALONE; /* as of the last look */
static unsigned yields = 0;              /* of this thread since then */

/* Judges by what has happened since the last look. */
static void look_for_neighbors(void)
{
    enum { YIELDS_PER_SWITCH = 4 };
    static long seen = 0;
    static unsigned calm = CALM_WAITS;
    const long now = switches(), more = now - seen;

    seen = now;
    calm = more == 0 ? calm + 1 : 0;
    if (calm >= CALM_WAITS)
        neighbors = ALONE;
    else if (more > 0)
        neighbors = more * YIELDS_PER_SWITCH >= (long)yields ? REACHED : OUT_OF_REACH;
    yields = 0;
}

/* On the network. */
static void wait_for_network(struct MPIDI_PCOLL_plan *plan)
{
    unsigned patience = YIELDS_BEFORE_SLEEP;

    for (unsigned round = 1; plan->active; round++) {
        const unsigned polls = neighbors == REACHED ? POLLS_SHARED : PCOLL_POLLS_OF_NETWORK;
        enum pcoll_result result = plan->medium->spin(plan->bound, polls);

        if (result != PCOLL_PENDING) {
            MPIDI_PCOLL_plan_complete(plan, result);
            return;
        }
        if (round % PCOLL_YIELDS_PER_LOOK == 0)
            MPID_Progress_test(NULL);
        if (round == ROUNDS_BEFORE_LOOK) {
            look_for_neighbors();
            if (neighbors == OUT_OF_REACH)
                patience = round;
        }
        if (!plan->active)
            return;
        yields += round <= patience;
        plan->medium->rest(plan->bound, round > patience ? MPIDI_PCOLL_SLEEP_USEC : 0);
    }
}

/* In a node, with a core of its own. */
static void wait_spinning(struct MPIDI_PCOLL_plan *plan)
{
    for (unsigned round = 1; plan->active; round++) {
        enum pcoll_result result = plan->medium->spin(plan->bound, POLLS_WITH_CORE);

        if (result != PCOLL_PENDING) {
            MPIDI_PCOLL_plan_complete(plan, result);
            return;
        }
        MPID_Progress_test(NULL);
        if (plan->active && round > LOOKS_BEFORE_YIELD)
            plan->medium->rest(plan->bound,
                               round > YIELDS_BEFORE_SLEEP ? MPIDI_PCOLL_SLEEP_USEC : 0);
    }
}

/* Where ranks share cores. */
static void wait_yielding(struct MPIDI_PCOLL_plan *plan)
{
    for (unsigned round = 1; plan->active; round++) {
        const bool sleeps = round > YIELDS_BEFORE_SLEEP_SHARED;
        enum pcoll_result result = plan->medium->spin(plan->bound, PCOLL_POLLS_CROWDED);

        if (result != PCOLL_PENDING) {
            MPIDI_PCOLL_plan_complete(plan, result);
            return;
        }
        if (sleeps || round % PCOLL_YIELDS_PER_LOOK == 0)
            MPID_Progress_test(NULL);
        if (plan->active)
            plan->medium->rest(plan->bound, sleeps ? SLEEP_USEC_SIGNALED : 0);
    }
}

void MPIDI_PCOLL_plan_wait(struct MPIDI_PCOLL_plan *plan)
{
    if (pcoll_is_network(plan->medium))
        wait_for_network(plan);
    else if (MPIDI_PCOLL_crowded)
        wait_yielding(plan);
    else
        wait_spinning(plan);
}

void MPIDI_PCOLL_wait_round(unsigned round)
{
    if (round > LOOKS_BEFORE_YIELD)
        pcoll_rest_usec(round > YIELDS_BEFORE_SLEEP ? MPIDI_PCOLL_SLEEP_USEC : 0);
}
