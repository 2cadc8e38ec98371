/* Plans on an RMA medium; the contract is in rma_tests.h. */
#include "test/unit/rma_tests.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "offload/rma/state.h"
#include "test/unit/meeting.h"
#include "test/unit/rma_rows.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"

static const struct layout all_away = {"each on a node of its own", "01234567"};
static const struct layout fours = {"nodes of four", "00001111"};
static const struct layout mixes[] = {
    {"2 nodes of 2", "0011"},
    {"nodes of 3 and 1", "0001"},
    {"round robin", "01010"},
    {"one node", "0000"},
};

static const struct promise promises[] = {
    {.name = "writes in order, bytes in any", .no_stream = 1},
    {.name = "no order at all", .unordered = 1, .no_stream = 1},
    {.name = "messages of at most 1000 bytes, often no room", .max_message = 1000, .no_room = 1},
    {.name = "order of short messages", .max_ordered = 64, .max_message = 5000},
    {.name = "no order, short messages, often no room",
     .unordered = 1,
     .no_stream = 1,
     .max_message = 5000,
     .no_room = 1},
    {.name = "no access to the processes of the node", .no_cma = 1},
};

enum { BRIEF_PROMISES = 3 }; /* those left out in brief */

/* Promises of order differ between wires that keep the order of all writes and those that keep that
 * of short ones. */
static int is_common(const struct promise *promise)
{
    return !promise->unordered && promise->max_ordered == 0;
}

static int exercise_all(struct setup *setup, struct meeting *meeting, struct part *part)
{
    return rma_exercise_rows(setup, meeting, part, 0);
}

/* ---- several plans, several groups --------------------------------------------------- */

static const struct pcoll_params no_params;

static int init_of(struct part *p, enum pcoll_coll coll, const char *name, uint64_t bytes, int n)
{
    p->signature = (struct pcoll_signature){.coll = coll, .nranks = n, .bytes = bytes};
    return part_init(p, pcoll_algorithm_find(coll, name), &no_params) != PCOLL_OK ||
           part_bind(p) != PCOLL_OK;
}

/* Three plans of two groups run at the same time and complete in changing order. */
static int exercise_interleaved(struct setup *setup, struct meeting *meeting, struct part *part)
{
    struct attendee attendee = {.meeting = meeting, .rank = part->rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct part parts[3] = {*part, *part, *part};
    int wrong = 0;
    struct pcoll_topology *topology = setup_topology(&all_away, setup->nranks);

    bootstrap.topology = topology;
    setup_set_network(setup, &bootstrap);
    if (part->medium->group_create(&bootstrap, &parts[1].group) != PCOLL_OK)
        return 1;
    for (int i = 0; i < 3; i++)
        parts[i].starts += 16 * i;
    wrong = init_of(&parts[0], PCOLL_BARRIER, "dissemination", 0, setup->nranks) ||
            init_of(&parts[1], PCOLL_ALLGATHER, "direct", 8, setup->nranks) ||
            init_of(&parts[2], PCOLL_BCAST, "eager", 5000, setup->nranks);
    meeting_barrier(meeting);
    for (int k = 0; k < 100 && !wrong; k++) {
        for (int i = 0; i < 3; i++)
            wrong |= part_start(&parts[i]);
        for (int i = 0; i < 3; i++)
            wrong |= part_wait(&parts[(i + k) % 3]);
    }
    for (int i = 0; i < 3; i++) {
        part_unbind(&parts[i]);
        part_fini(&parts[i]);
    }
    part->medium->group_destroy(parts[1].group);
    pcoll_topology_destroy(topology);
    return wrong;
}

/* One more group of ranks in caches {0 1} {2 3} of their node, or {0} {1 2 3} on the second node:
 * returns whether its levels are those. */
static int has_levels(const struct setup *setup, struct meeting *meeting, const struct part *part,
                      int are_alike)
{
    struct pcoll_topology *topology = setup_topology(setup->layout, setup->nranks);
    struct attendee attendee = {.meeting = meeting, .rank = part->rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    const int member = part->rank % 4, ends = part->rank < 4 || are_alike ? 2 : 1;
    const struct pcoll_locality here = {0, member >= ends, 0};
    const struct pcoll_topology *levels;
    struct pcoll_group *group;
    int good;

    setup_set_network(setup, &bootstrap);
    bootstrap.topology = topology;
    bootstrap.locality = &here;
    if (part->medium->group_create(&bootstrap, &group) != PCOLL_OK)
        return 0;
    levels = part->medium->group_levels(group);
    good = !levels == !are_alike;
    if (levels)
        good = good && levels->nnodes == 2 && levels->below && !levels->below->below;
    for (int r = 0; levels && good && r < setup->nranks; r++)
        good = pcoll_topology_node(levels, r) == r / 4 &&
               pcoll_topology_node(levels->below, r) == r / 2;
    meeting_barrier(meeting);
    part->medium->group_destroy(group);
    pcoll_topology_destroy(topology);
    return good;
}

static int exercise_levels(struct setup *setup, struct meeting *meeting, struct part *part)
{
    const int alike = has_levels(setup, meeting, part, 1);

    return !has_levels(setup, meeting, part, 0) || !alike ||
           part->medium->group_levels(part->group) != NULL;
}

/* A root that runs ahead returns its memory while credits from other ranks are still in flight; the
 * next plan must not see them. */
static int exercise_rebind(struct setup *setup, struct meeting *meeting, struct part *part)
{
    int wrong = 0;

    (void)meeting;
    for (int round = 0; round < 60 && !wrong; round++) {
        struct part p = *part;

        wrong = init_of(&p, PCOLL_BCAST, round % 2 ? "eager" : "knomial_get", round % 3 ? 8 : 9000,
                        setup->nranks);
        if (!wrong)
            wrong = part_run(&p, 1 + round % 5);
        part_unbind(&p);
        part_fini(&p);
    }
    return wrong;
}

/* Every rank notices that the data of joined messages is missing. */
static int exercise_lossy(struct setup *setup, struct meeting *meeting, struct part *part)
{
    struct part p = *part;
    int wrong = pcoll_rma_group_of(part->group)->endpoints[0]->joined == 0 ||
                init_of(&p, PCOLL_ALLGATHER, "bruck", 1000, setup->nranks);

    if (!wrong)
        wrong = !part_run(&p, 1);
    meeting_barrier(meeting);
    part_unbind(&p);
    part_fini(&p);
    return wrong;
}

static void check_lossy(const struct subject *subject)
{
    static const struct promise lossy = {.loses_data = 1};
    const struct setup setup = {.subject = subject,
                                .layout = &all_away,
                                .nranks = 2,
                                .exercise = exercise_lossy,
                                .promise = &lossy};

    tap_ok(setup_run(setup) == 0, "%s, data lost from joined messages is noticed", subject->name);
}

/* ---- rails --------------------------------------------------------------------------- */

#define THREE_RAILS "lo,127.0.0.1,127.0.0.2"

/* On fewer rails than the plan was generated for, as many, and more. */
static int exercise_rails(struct setup *setup, struct meeting *meeting, struct part *part)
{
    return rma_exercise_rows(setup, meeting, part, 1) || exercise_rebind(setup, meeting, part);
}

static int rails_of(const struct part *part, const char *name, struct pcoll_params params)
{
    struct part p = *part;
    int n = 0;

    p.signature.bytes = 1000;
    if (part_init(&p, pcoll_algorithm_find(p.signature.coll, name), &params) == PCOLL_OK &&
        part_bind(&p) == PCOLL_OK) {
        n = pcoll_rma_bound_of(p.bound)->nrails;
        part_unbind(&p);
    }
    part_fini(&p);
    return n;
}

/* The plan uses as many rails as the rank with the fewest has, and no more than it names. */
static int exercise_fewer(struct setup *setup, struct meeting *meeting, struct part *part)
{
    struct attendee *attendee = pcoll_rma_group_of(part->group)->bootstrap.context;

    part->signature = (struct pcoll_signature){.coll = PCOLL_BCAST, .nranks = setup->nranks};
    return part->medium->group_rails(part->group) != 2 || attendee->reports != (part->rank == 0) ||
           rails_of(part, "chain", (struct pcoll_params){.rails = 3}) != 2 ||
           rails_of(part, "chain", no_params) != 1 || exercise_rails(setup, meeting, part);
}

/* How many of its connections have brought that farewell, with that culprit. */
static int count_farewells(const struct pcoll_rma_bound *bound, enum pcoll_rma_farewell farewell,
                           int culprit)
{
    int found, n = 0;

    for (int i = 0; i < bound->nways; i++)
        n += pcoll_rma_farewell_of(&bound->ways[i], &found) == farewell && found == culprit;
    return n;
}

/* A rank that has unbound a plan, or has given it up because of rank `culprit`, says so on every
 * rail that the plan uses. */
static int exercise_farewell(const struct setup *setup, struct meeting *meeting,
                             const struct part *part, int culprit)
{
    const struct pcoll_params params = {.rails = 3};
    struct part p = *part;
    struct pcoll_rma_bound *bound;
    int said;

    p.signature =
        (struct pcoll_signature){.coll = PCOLL_BCAST, .nranks = setup->nranks, .bytes = 1000};
    if (part_init(&p, pcoll_algorithm_find(PCOLL_BCAST, "chain"), &params) != PCOLL_OK ||
        part_bind(&p) != PCOLL_OK || part_run(&p, 3))
        return 1;
    bound = pcoll_rma_bound_of(p.bound);
    if (p.rank == 0 && culprit != PCOLL_NONE) {
        bound->culprit = culprit;
        bound->failed = true;
        while (!pcoll_rma_send_farewells(bound))
            part->medium->poll();
    }
    if (p.rank == 0)
        part_unbind(&p);
    do {
        part->medium->poll();
        said = count_farewells(bound, culprit == PCOLL_NONE ? PCOLL_RMA_LEFT : PCOLL_RMA_FAILED,
                               culprit);
    } while (said < 3 && p.rank == 1);
    meeting_barrier(meeting);
    if (p.rank == 1)
        part_unbind(&p);
    part_fini(&p);
    return 0;
}

static int exercise_farewells(struct setup *setup, struct meeting *meeting, struct part *part)
{
    return exercise_farewell(setup, meeting, part, PCOLL_NONE) ||
           exercise_farewell(setup, meeting, part, 300);
}

void rma_check_rails(const struct subject *subject)
{
    const int full = tap_depth() == TAP_FULL;
    struct setup setup = {.subject = subject, .interfaces = THREE_RAILS, .all_sizes = full};

    setup.layout = &all_away;
    setup.exercise = exercise_rails;
    for (setup.nranks = full ? 2 : 3; setup.nranks <= (full ? 5 : 3); setup.nranks++)
        tap_ok(setup_run(setup) == 0, "%s, %d ranks, 3 rails", subject->name, setup.nranks);
    setup.nranks = 2;
    setup.exercise = exercise_farewells;
    tap_ok(setup_run(setup) == 0, "%s, farewells on 3 rails", subject->name);
    setup.exercise = exercise_rails;
    setup.layout = &mixes[1];
    setup.nranks = 4;
    tap_ok(setup_run(setup) == 0, "%s, 3 rails, %s", subject->name, setup.layout->name);
    setup.layout = &all_away;
    setup.exercise = exercise_fewer;
    setup.fewer = "127.0.0.1,lo";
    tap_ok(setup_run(setup) == 0, "%s, a rank has 2 of 3 rails", subject->name);
    setup.interfaces = "lo,127.0.0.1";
    setup.fewer = NULL;
    setup.exercise = exercise_all;
    setup.nranks = 3;
    for (size_t i = 0; !promises[i].no_cma && tap_depth() > TAP_BRIEF; i++) {
        if (promises[i].unordered != subject->may_be_unordered && !is_common(&promises[i]))
            continue;
        setup.promise = &promises[i];
        setup.exercise =
            i == 0 || full ? exercise_all : exercise_rails; /* other plans use one rail */
        tap_ok(setup_run(setup) == 0, "%s, 2 rails, %s", subject->name, promises[i].name);
    }
}

/* ---- providers ---------------------------------------------------------------------- */

static void check_apart(struct setup setup, int is_main)
{
    static const struct {
        int nranks;
        enum tap_depth depth, other_depth; /* the depths from which on it runs, with the main
                                            * provider and with others */
    } jobs[] = {{1, TAP_USUAL, TAP_FULL}, {2, TAP_BRIEF, TAP_BRIEF}, {3, TAP_BRIEF, TAP_USUAL},
                {4, TAP_FULL, TAP_FULL},  {5, TAP_USUAL, TAP_FULL},  {6, TAP_FULL, TAP_FULL},
                {8, TAP_FULL, TAP_FULL}};

    setup.layout = &all_away;
    setup.exercise = exercise_all;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        if ((is_main ? jobs[i].depth : jobs[i].other_depth) > tap_depth())
            continue;
        setup.nranks = jobs[i].nranks;
        setup.all_sizes =
            tap_depth() == TAP_FULL || (is_main && tap_depth() == TAP_USUAL && setup.nranks == 3);
        tap_ok(setup_run(setup) == 0, "%s, %d ranks, %s", setup.subject->name, setup.nranks,
               all_away.name);
    }
}

/* A few setups usually show that a provider other than the main one works: how plans run does not
 * depend on it. */
void rma_check(const struct subject *subject, int is_main)
{
    const int full = tap_depth() == TAP_FULL;
    struct setup setup = {.subject = subject, .layout = &all_away, .all_sizes = full};

    check_apart(setup, is_main);
    for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++) {
        if (!full && i != 1 && (!is_main || tap_depth() == TAP_BRIEF))
            continue;
        setup.layout = &mixes[i];
        setup.nranks = (int)strlen(mixes[i].nodes);
        setup.exercise = exercise_all;
        if (i > 0 || full) /* otherwise there is also a promise with this layout */
            tap_ok(setup_run(setup) == 0, "%s, %d ranks, %s", subject->name, setup.nranks,
                   mixes[i].name);
        setup.exercise = exercise_interleaved;
        tap_ok(setup_run(setup) == 0, "%s, plans and groups interleaved, %s", subject->name,
               mixes[i].name);
    }
    for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]) && (full || is_main); i++) {
        if (tap_depth() == TAP_BRIEF && i < BRIEF_PROMISES)
            continue; /* the others run the code of all */
        if (promises[i].unordered != subject->may_be_unordered && !is_common(&promises[i]))
            continue;
        setup.layout = promises[i].no_cma ? &mixes[0] : &all_away;
        setup.nranks = promises[i].no_cma ? 4 : 3;
        setup.promise = &promises[i];
        setup.exercise = exercise_all;
        tap_ok(setup_run(setup) == 0, "%s, %d ranks, %s", subject->name, setup.nranks,
               promises[i].name);
    }
    setup.promise = NULL;
    setup.layout = &fours;
    setup.nranks = 8;
    setup.exercise = exercise_levels;
    tap_ok(setup_run(setup) == 0, "%s, levels below nodes that are alike", subject->name);
    setup.layout = &all_away;
    setup.nranks = 4;
    setup.exercise = exercise_rebind;
    tap_ok(setup_run(setup) == 0, "%s, binding again and again", subject->name);
    if (is_main)
        check_lossy(subject);
}
