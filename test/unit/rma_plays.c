/* Plans on an RMA medium; the contract is in rma_plays.h. */
#include "test/unit/rma_plays.h"

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
    {.name = "order of short messages", .most_ordered = 64, .max_message = 5000},
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
    return !promise->unordered && promise->most_ordered == 0;
}

static int play_all(struct scene *scene, struct meeting *meeting, struct part *part)
{
    return rma_play_rows(scene, meeting, part, 0);
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
static int play_interleaved(struct scene *scene, struct meeting *meeting, struct part *part)
{
    struct attendee attendee = {.meeting = meeting, .rank = part->rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct part parts[3] = {*part, *part, *part};
    int wrong = 0;
    struct pcoll_topology *topology = scene_topology(&all_away, scene->nranks);

    bootstrap.topology = topology;
    scene_set_network(scene, &bootstrap);
    if (part->medium->group_create(&bootstrap, &parts[1].group) != PCOLL_OK)
        return 1;
    for (int i = 0; i < 3; i++)
        parts[i].starts += 16 * i;
    wrong = init_of(&parts[0], PCOLL_BARRIER, "dissemination", 0, scene->nranks) ||
            init_of(&parts[1], PCOLL_ALLGATHER, "direct", 8, scene->nranks) ||
            init_of(&parts[2], PCOLL_BCAST, "eager", 5000, scene->nranks);
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

/* A root that runs ahead returns its memory while credits from other ranks are still in flight; the
 * next plan must not see them. */
static int play_rebind(struct scene *scene, struct meeting *meeting, struct part *part)
{
    int wrong = 0;

    (void)meeting;
    for (int round = 0; round < 60 && !wrong; round++) {
        struct part p = *part;

        wrong = init_of(&p, PCOLL_BCAST, round % 2 ? "eager" : "binomial_get", round % 3 ? 8 : 9000,
                        scene->nranks);
        if (!wrong)
            wrong = part_run(&p, 1 + round % 5);
        part_unbind(&p);
        part_fini(&p);
    }
    return wrong;
}

/* Every rank notices that the data of joined messages is missing. */
static int play_lossy(struct scene *scene, struct meeting *meeting, struct part *part)
{
    struct part p = *part;
    int wrong = pcoll_rma_group_of(part->group)->endpoints[0]->joined == 0 ||
                init_of(&p, PCOLL_ALLGATHER, "bruck", 1000, scene->nranks);

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
    const struct scene scene = {.subject = subject,
                                .layout = &all_away,
                                .nranks = 2,
                                .play = play_lossy,
                                .promise = &lossy};

    tap_ok(scene_perform(scene) == 0, "%s, data lost from joined messages is noticed",
           subject->name);
}

/* ---- rails --------------------------------------------------------------------------- */

#define THREE_RAILS "lo,127.0.0.1,127.0.0.2"

/* On fewer rails than the plan was generated for, as many, and more. */
static int play_rails(struct scene *scene, struct meeting *meeting, struct part *part)
{
    return rma_play_rows(scene, meeting, part, 1) || play_rebind(scene, meeting, part);
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
static int play_fewer(struct scene *scene, struct meeting *meeting, struct part *part)
{
    struct attendee *attendee = pcoll_rma_group_of(part->group)->bootstrap.context;

    part->signature = (struct pcoll_signature){.coll = PCOLL_BCAST, .nranks = scene->nranks};
    return part->medium->group_rails(part->group) != 2 || attendee->reports != (part->rank == 0) ||
           rails_of(part, "chain", (struct pcoll_params){.rails = 3}) != 2 ||
           rails_of(part, "chain", no_params) != 1 || play_rails(scene, meeting, part);
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
static int play_farewell(const struct scene *scene, struct meeting *meeting,
                         const struct part *part, int culprit)
{
    const struct pcoll_params params = {.rails = 3};
    struct part p = *part;
    struct pcoll_rma_bound *bound;
    int said;

    p.signature =
        (struct pcoll_signature){.coll = PCOLL_BCAST, .nranks = scene->nranks, .bytes = 1000};
    if (part_init(&p, pcoll_algorithm_find(PCOLL_BCAST, "chain"), &params) != PCOLL_OK ||
        part_bind(&p) != PCOLL_OK || part_run(&p, 3))
        return 1;
    bound = pcoll_rma_bound_of(p.bound);
    if (p.rank == 0 && culprit != PCOLL_NONE) {
        bound->culprit = culprit;
        while (!pcoll_rma_send_farewells(bound, PCOLL_RMA_FAILED))
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

static int play_farewells(struct scene *scene, struct meeting *meeting, struct part *part)
{
    return play_farewell(scene, meeting, part, PCOLL_NONE) ||
           play_farewell(scene, meeting, part, 300);
}

void rma_check_rails(const struct subject *subject)
{
    const int full = tap_depth() == TAP_FULL;
    struct scene scene = {.subject = subject, .interfaces = THREE_RAILS, .all_sizes = full};

    scene.layout = &all_away;
    scene.play = play_rails;
    for (scene.nranks = full ? 2 : 3; scene.nranks <= (full ? 5 : 3); scene.nranks++)
        tap_ok(scene_perform(scene) == 0, "%s, %d ranks, 3 rails", subject->name, scene.nranks);
    scene.nranks = 2;
    scene.play = play_farewells;
    tap_ok(scene_perform(scene) == 0, "%s, farewells on 3 rails", subject->name);
    scene.play = play_rails;
    scene.layout = &mixes[1];
    scene.nranks = 4;
    tap_ok(scene_perform(scene) == 0, "%s, 3 rails, %s", subject->name, scene.layout->name);
    scene.layout = &all_away;
    scene.play = play_fewer;
    scene.fewer = "127.0.0.1,lo";
    tap_ok(scene_perform(scene) == 0, "%s, a rank has 2 of 3 rails", subject->name);
    scene.interfaces = "lo,127.0.0.1";
    scene.fewer = NULL;
    scene.play = play_all;
    scene.nranks = 3;
    for (size_t i = 0; !promises[i].no_cma && tap_depth() > TAP_BRIEF; i++) {
        if (promises[i].unordered != subject->may_be_unordered && !is_common(&promises[i]))
            continue;
        scene.promise = &promises[i];
        scene.play = i == 0 || full ? play_all : play_rails; /* other plans use one rail */
        tap_ok(scene_perform(scene) == 0, "%s, 2 rails, %s", subject->name, promises[i].name);
    }
}

/* ---- providers ---------------------------------------------------------------------- */

static void check_apart(struct scene scene, int is_main)
{
    static const struct {
        int nranks;
        enum tap_depth depth, other_depth; /* the depths from which on it runs, with the main
                                            * provider and with others */
    } jobs[] = {{1, TAP_USUAL, TAP_FULL}, {2, TAP_BRIEF, TAP_BRIEF}, {3, TAP_BRIEF, TAP_USUAL},
                {4, TAP_FULL, TAP_FULL},  {5, TAP_USUAL, TAP_FULL},  {6, TAP_FULL, TAP_FULL},
                {8, TAP_FULL, TAP_FULL}};

    scene.layout = &all_away;
    scene.play = play_all;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        if ((is_main ? jobs[i].depth : jobs[i].other_depth) > tap_depth())
            continue;
        scene.nranks = jobs[i].nranks;
        scene.all_sizes =
            tap_depth() == TAP_FULL || (is_main && tap_depth() == TAP_USUAL && scene.nranks == 3);
        tap_ok(scene_perform(scene) == 0, "%s, %d ranks, %s", scene.subject->name, scene.nranks,
               all_away.name);
    }
}

/* A few scenes usually show that a provider other than the main one works: how plans run does not
 * depend on it. */
void rma_check(const struct subject *subject, int is_main)
{
    const int full = tap_depth() == TAP_FULL;
    struct scene scene = {.subject = subject, .layout = &all_away, .all_sizes = full};

    check_apart(scene, is_main);
    for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++) {
        if (!full && i != 1 && (!is_main || tap_depth() == TAP_BRIEF))
            continue;
        scene.layout = &mixes[i];
        scene.nranks = (int)strlen(mixes[i].nodes);
        scene.play = play_all;
        if (i > 0 || full) /* otherwise there is also a promise with this layout */
            tap_ok(scene_perform(scene) == 0, "%s, %d ranks, %s", subject->name, scene.nranks,
                   mixes[i].name);
        scene.play = play_interleaved;
        tap_ok(scene_perform(scene) == 0, "%s, plans and groups interleaved, %s", subject->name,
               mixes[i].name);
    }
    for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]) && (full || is_main); i++) {
        if (tap_depth() == TAP_BRIEF && i < BRIEF_PROMISES)
            continue; /* the others run the code of all */
        if (promises[i].unordered != subject->may_be_unordered && !is_common(&promises[i]))
            continue;
        scene.layout = promises[i].no_cma ? &mixes[0] : &all_away;
        scene.nranks = promises[i].no_cma ? 4 : 3;
        scene.promise = &promises[i];
        scene.play = play_all;
        tap_ok(scene_perform(scene) == 0, "%s, %d ranks, %s", subject->name, scene.nranks,
               promises[i].name);
    }
    scene.promise = NULL;
    scene.layout = &all_away;
    scene.nranks = 4;
    scene.play = play_rebind;
    tap_ok(scene_perform(scene) == 0, "%s, binding again and again", subject->name);
    if (is_main)
        check_lossy(subject);
}
