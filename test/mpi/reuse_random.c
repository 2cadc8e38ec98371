/* Few calls, whose requests are made, started, waited for and freed in any order, on three
 * communicators: inits often take the plan of a freed request (ch4_coll/reuse.h).
 *
 *   -rounds=N   (150)
 *   -threads=N  on communicators of each thread
 *   -none       no plan of a freed request may serve any call, since the settings rule it out */

#include "trial.h"
#include "workers.h"

enum { COMMS = 3, SLOTS = 6, CALLS = 4 };

/* A communicator, and the few calls that are made on it. */
struct place {
    MPI_Comm comm;
    struct edges edges;
    struct {
        enum trial_kind kind;
        size_t bytes;
        int root;
    } calls[CALLS];
    uint64_t tag;
};

struct slot {
    enum { EMPTY, INACTIVE, ACTIVE } state;
    struct trial trial;
};

static int draw(uint64_t *state, int below)
{
    return (int)(check_random(state) % (uint64_t)below);
}

static void open_place(struct place *place, struct worker *w)
{
    static const size_t bytes[] = {0, 1, 8, 57, 360, 4000};

    place->tag = check_random(&w->shared);
    place->comm = topology_any(w->world, place->tag, &place->edges);
    for (int i = 0; i < CALLS; i++) {
        do
            place->calls[i].kind = (enum trial_kind)draw(&w->shared, TRIAL_KINDS);
        while (!trial_wanted(place->calls[i].kind));
        place->calls[i].bytes = bytes[draw(&w->shared, sizeof(bytes) / sizeof(bytes[0]))];
        place->calls[i].root = draw(&w->shared, check.size);
    }
}

static void fill_slot(struct slot *slot, struct place *place, struct worker *w)
{
    const int i = draw(&w->shared, CALLS);

    trial_init_on(&slot->trial, place->calls[i].kind, place->calls[i].bytes, place->calls[i].root,
                  place->tag + (uint64_t)i, place->comm, &place->edges, MPI_INFO_NULL);
    slot->trial.step = check_random(&w->shared) >> 40;
    slot->state = INACTIVE;
}

/* Each rank goes through the slots from one of its own on. */
static void each_slot(struct slot *slots, struct worker *w, int mask,
                      void (*act)(struct slot *slot))
{
    const int first = draw(&w->local, SLOTS);

    for (int k = 0; k < SLOTS; k++)
        if (mask >> (first + k) % SLOTS & 1)
            act(&slots[(first + k) % SLOTS]);
}

static void start_slot(struct slot *slot)
{
    if (slot->state == INACTIVE)
        trial_start(&slot->trial);
    if (slot->state == INACTIVE)
        slot->state = ACTIVE;
}

static void wait_for_slot(struct slot *slot)
{
    if (slot->state == ACTIVE)
        trial_wait(&slot->trial);
    if (slot->state == ACTIVE)
        slot->state = INACTIVE;
}

static void free_slot(struct slot *slot)
{
    wait_for_slot(slot);
    if (slot->state == INACTIVE)
        trial_free(&slot->trial);
    slot->state = EMPTY;
}

/* Inits, starts, waits and frees of some requests in any order, on three communicators that are
 * freed and made anew while requests of theirs exist. */
static void use_at_random(struct worker *w)
{
    const long rounds = check_number("rounds", 150);
    const int all = (1 << SLOTS) - 1;
    struct place places[COMMS];
    struct slot slots[SLOTS] = {{EMPTY, {0}}};

    for (int i = 0; i < COMMS; i++)
        open_place(&places[i], w);
    for (long round = 0; round < rounds; round++) {
        struct place *place = &places[draw(&w->shared, COMMS)];
        const int mask = draw(&w->shared, all + 1);

        if (draw(&w->shared, 40) == 0) {
            MPI(MPI_Comm_free(&place->comm));
            open_place(place, w);
        }
        for (int i = 0; i < SLOTS; i++)
            if (slots[i].state == EMPTY && mask >> i & 1)
                fill_slot(&slots[i], &places[draw(&w->shared, COMMS)], w);
        each_slot(slots, w, draw(&w->shared, all + 1), start_slot);
        if (draw(&w->local, 5) == 0)
            check_delay();
        each_slot(slots, w, draw(&w->shared, all + 1), wait_for_slot);
        each_slot(slots, w, draw(&w->shared, all + 1), free_slot);
    }
    each_slot(slots, w, all, free_slot);
    for (int i = 0; i < COMMS; i++)
        MPI(MPI_Comm_free(&places[i].comm));
}

int main(int argc, char **argv)
{
    const int nthreads = workers_init(&argc, &argv), none = check_option("none") != NULL;
    long long reused;

    check_phase("at random");
    workers_run(nthreads, use_at_random);
    reused = check_pvar("coll_offload_reused_plans");
    if (check.size > 1 && (reused > 0) == none)
        check_fail(__FILE__, __LINE__, "%lld plans were taken again", reused);
    return check_done();
}
