/*
 * A node as data: its file, the levels of its cores, and what the simulated ranks share.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/job.h"
#include "test/unit/tap.h"
#include "tools/sim/node_file.h"
#include "tuning/sim/engine.h"

#define MACHINE                                                                                    \
    "\"machine\": {\"L\": 0.5, \"o\": 0.25, \"g\": 0.25, \"G\": 0.002, \"rma\": 2, "               \
    "\"copy\": 0.001, \"call\": 0, \"turn\": 3}"
#define FLAT "{\"pcoll_node\": 1, " MACHINE "}"
#define NODE(levels) "{\"pcoll_node\": 1, " MACHINE ", \"levels\": [" levels "]}"
#define LEVEL(name, cores, more) "{\"name\": \"" name "\", \"cores\": " cores more "}"

static const char deep[] =
    NODE(LEVEL("cache", "2", ", \"L\": 0.1, \"copy\": 0.0005, \"source\": \"a paper\"") ", " LEVEL(
        "numa", "4", ", \"L\": 0.2, \"saturated\": 0.001") ", " LEVEL("node", "8", ""));

static struct pcoll_sim_node parsed(const char *text)
{
    struct pcoll_sim_node node = {.nlevels = -1};

    if (pcoll_sim_node_parse("n.json", text, stdout, &node) != PCOLL_OK)
        printf("Bail out! a good node is refused\n");
    return node;
}

static bool is_close(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* ---- the file ---- */

static void check_refused(const char *what, const char *text, const char *expected)
{
    struct pcoll_sim_node node = {.nlevels = -1};
    char *message = NULL;
    size_t size;
    FILE *report = open_memstream(&message, &size);
    const enum pcoll_result result = pcoll_sim_node_parse("n.json", text, report, &node);

    fclose(report);
    if (!tap_ok(result == PCOLL_ERR_INVALID && node.nlevels == -1 &&
                    strncmp(message, "n.json:", 7) == 0 && strstr(message, expected) &&
                    strchr(message, '\n') == message + size - 1,
                "%s is refused", what))
        printf("# got      %s\n# expected %s\n", message, expected);
    free(message);
}

static void check_file(void)
{
    check_refused("an empty text", "", "n.json:1: the node: unexpected end");
    check_refused("an array", "[]", "1: the node: must be an object");
    check_refused("another version", "{\"pcoll_node\": 2, " MACHINE "}", "1: pcoll_node: ");
    check_refused("a node without a machine", "{\"pcoll_node\": 1}", "machine: missing");
    check_refused("a machine without L", "{\"pcoll_node\": 1, \"machine\": {\"o\": 1}}",
                  "machine.L: missing");
    check_refused("a negative latency", NODE(LEVEL("a", "2", ",\n\"L\": -1")),
                  "2: levels[0].L: must be a number (allowed: 0 to 1e+09)");
    check_refused("a negative rate", NODE(LEVEL("a", "2", ", \"saturated\": -1")),
                  "levels[0].saturated: must be a number");
    check_refused("a negative link", NODE(LEVEL("a", "2", ", \"link\": -1")),
                  "levels[0].link: must be a number");
    check_refused("a negative lock", "{\"pcoll_node\": 1, " MACHINE ", \"locked\": -1}",
                  "locked: must be a number");
    check_refused("a lock of less than a page",
                  "{\"pcoll_node\": 1, " MACHINE ", \"locked\": 1e-9}",
                  "locked: too small (allowed: 0, and from 4096 on)");
    check_refused("a level without cores", NODE("{\"name\": \"a\"}"), "levels[0].cores: missing");
    check_refused("a level without name", NODE("{\"cores\": 2}"), "levels[0].name: missing");
    check_refused("an empty name", NODE(LEVEL("", "2", "")), "levels[0].name: a name has");
    check_refused("no cores", NODE(LEVEL("a", "0", "")),
                  "levels[0].cores: must be an integer (allowed: 1 to 65536)");
    check_refused("an uneven level", NODE(LEVEL("a", "4", "") ", " LEVEL("b", "6", "")),
                  "levels[1].cores: 6 do not hold domains of the level before (allowed: multiples "
                  "of 4, from 8 on)");
    check_refused("a level within itself", NODE(LEVEL("a", "4", "") ", " LEVEL("b", "4", "")),
                  "levels[1].cores: 4 do not hold");
    check_refused("a level within a smaller one",
                  NODE(LEVEL("a", "4", "") ", " LEVEL("b", "2", "")),
                  "levels[1].cores: 2 do not hold");
    check_refused("an unknown key", NODE(LEVEL("a", "2", ", \"speed\": 1")),
                  "levels[0].speed: unknown key (allowed: L, ");
    check_refused("an unknown key of the whole", "{\"pcoll_node\": 1, " MACHINE ", \"rules\": []}",
                  "rules: unknown key (allowed: pcoll_node, ");
    check_refused("a key given twice", NODE(LEVEL("a", "2", ", \"L\": 1, \"L\": 2")),
                  "levels[0].L: given twice");
    check_refused(
        "too many levels",
        NODE("{\"name\": \"1\", \"cores\": 1}, " LEVEL("2", "2", "") ", " LEVEL(
            "4", "4",
            "") ", " LEVEL("8", "8",
                           "") ", " LEVEL("16", "16",
                                          "") ", " LEVEL("32", "32",
                                                         "") ", " LEVEL("64", "64",
                                                                        "") ", " LEVEL("128", "128",
                                                                                       "") ","
                                                                                           " " LEVEL(
                                                                                               "25"
                                                                                               "6",
                                                                                               "25"
                                                                                               "6",
                                                                                               "")),
        "levels[8]: too many levels (allowed: 8)");
}

static void check_levels(void)
{
    const struct pcoll_sim_node node = parsed(deep), flat = parsed(FLAT);
    static const int others[] = {0, 0, 1, 1, 2, 2, 2, 2};
    bool right = true;

    for (int core = 0; core < 8; core++)
        right &= pcoll_sim_node_level(&node, 0, core) == others[core] &&
                 pcoll_sim_node_level(&node, 7, 7 - core) == others[core];
    tap_ok(node.nlevels == 3 && right, "two cores are at the first level that holds both");
    tap_ok(pcoll_sim_node_cores(&node) == 8 && pcoll_sim_node_cores(&flat) == 0,
           "the last level holds all cores");
    tap_ok(pcoll_sim_node_ndomains(&node) == 7 && pcoll_sim_node_domain(&node, 0, 5) == 2 &&
               pcoll_sim_node_domain(&node, 1, 5) == 5 && pcoll_sim_node_domain(&node, 2, 5) == 6,
           "domains of all levels have numbers");
    tap_ok(is_close(node.levels[0].machine.L, 0.1) && is_close(node.levels[0].machine.o, 0.25) &&
               is_close(node.levels[2].machine.L, 0.5),
           "a level has what it says, and otherwise what the node says");
    tap_ok(is_close(node.levels[0].machine.arrival, 0.2) && is_close(flat.machine.arrival, 1) &&
               is_close(node.machine.locked, 2 << 20),
           "what tables do not have");
}

/* ---- what ranks share ---- */

/* What a rank does in a test: it moves 1000 bytes, or signals. */
struct move {
    int rank, peer;
    struct pcoll_place remote; /* TEMP: a put; user memory: a get; CELL: a signal */
};
static const struct move *all_moves;
static int nmoves;

static struct pcoll_entry entry_of(const struct move *move)
{
    const struct pcoll_place here = pcoll_at(PCOLL_TEMP, 0);

    if (move->remote.buffer == PCOLL_TEMP)
        return pcoll_entry_put(PCOLL_NONE, 0, here, move->peer, move->remote, 1000);
    if (move->remote.buffer == PCOLL_SEND || move->remote.buffer == PCOLL_RECV)
        return pcoll_entry_get(PCOLL_NONE, 0, move->peer, move->remote, here, 1000);
    return pcoll_entry_signal(pcoll_entry_add(PCOLL_NONE, 0), move->peer, 0, 1);
}

static enum pcoll_result generate_moves(struct pcoll_plan *plan, const struct pcoll_params *params)
{
    uint64_t signals = 0;

    (void)params;
    if (!pcoll_plan_begin(plan, 1, 1))
        return PCOLL_ERR_NOMEM;
    plan->temp_bytes = 8192;
    pcoll_plan_open(plan, 0);
    for (int i = 0; i < nmoves; i++) {
        signals += all_moves[i].peer == plan->rank && entry_of(&all_moves[i]).peer_counter == 0;
        if (all_moves[i].rank == plan->rank)
            pcoll_plan_add(plan, entry_of(&all_moves[i]));
    }
    if (signals > 0)
        pcoll_plan_add(plan, pcoll_entry_wait(0, signals));
    return PCOLL_OK;
}

/* The time of some moves on a node in a call whose blocks have 4 MiB. */
static double time_in(enum pcoll_coll coll, const struct pcoll_sim_node *node, int nranks,
                      const struct move *list, int n)
{
    struct pcoll_algorithm row = *pcoll_algorithm_find(PCOLL_ALLGATHER, "ring");
    struct pcoll_engine_options options = {
        .machine = node->machine, .inside = *node, .why = stdout};
    struct pcoll_job job = {
        .algorithm = &row,
        .signature = {.coll = coll, .nranks = nranks, .bytes = UINT64_C(1) << 22}};
    struct pcoll_engine_result result;

    all_moves = list;
    nmoves = n;
    row.coll = coll;
    row.generate = generate_moves;
    return pcoll_engine_run(&job, &options, &result) == PCOLL_OK ? result.first : -1;
}

static double time_of(const struct pcoll_sim_node *node, int nranks, const struct move *list, int n)
{
    return time_in(PCOLL_ALLGATHER, node, nranks, list, n);
}

/* Ranks first, first + 1 .. move to or from ranks 0, step .. , rank r at r times the offset. */
static double moves(const struct pcoll_sim_node *node, int nranks, int first, int step,
                    struct pcoll_place remote)
{
    struct move list[8];
    int n = 0;

    for (int rank = first; rank < nranks; rank++)
        list[n++] = (struct move){rank, (rank - first) * step,
                                  pcoll_at(remote.buffer, remote.offset * (uint64_t)rank)};
    return time_of(node, nranks, list, n);
}

static void check_saturated(void)
{
    const struct pcoll_sim_node node = parsed(deep);
    const struct pcoll_place temp = {PCOLL_TEMP, 0};

    tap_ok(is_close(moves(&node, 2, 1, 0, temp), 0.25 + 0.5), "a put in a cache: its rate");
    tap_ok(is_close(moves(&node, 3, 2, 0, temp), 0.25 + 1),
           "a put between caches: that of the domain, which carries it alone");
    tap_ok(is_close(moves(&node, 4, 2, 1, temp), 2),
           "two puts at a time share the rate of their domain");
    tap_ok(is_close(moves(&node, 8, 4, 0, temp), 4),
           "four ranks share that of a domain that they put to");
    tap_ok(is_close(moves(&node, 8, 7, 0, temp), 0.25 + 1),
           "one rank does not share it with anybody");
}

/* Domains of two ranks with a slow link. Each rank sends 4 MiB and receives 4 MiB from each. */
static void check_links(void)
{
    static const char text[] = NODE(LEVEL("numa", "2",
                                          ", \"link\": 0.003, \"saturated\": 0.008, "
                                          "\"caches\": 40") ", " LEVEL("node", "4", ""));
    const struct pcoll_place temp = {PCOLL_TEMP, 0};
    const struct move near_first[] = {{1, 0, temp}, {1, 2, temp}, {3, 0, temp}};
    const struct move far_first[] = {{1, 2, temp}, {1, 0, temp}};
    struct pcoll_sim_node node = parsed(text);

    tap_ok(is_close(moves(&node, 2, 1, 0, temp), 0.25 + 1), "a put in a domain needs no link");
    tap_ok(is_close(moves(&node, 3, 2, 0, temp), 3), "a put to another goes through its link");
    tap_ok(is_close(moves(&node, 4, 2, 1, temp), 6), "two puts share the links");
    tap_ok(is_close(time_of(&node, 4, near_first, 3), 6),
           "a put that waits for its core takes the link only when it begins");
    tap_ok(is_close(time_of(&node, 4, far_first, 2), 3 + 1.25), "a core waits for the link");
    node.levels[0].caches = 15;
    tap_ok(is_close(moves(&node, 4, 2, 1, temp), 16),
           "and the memory, of data that the caches do not hold");
    node.levels[0].caches = 24;
    tap_ok(is_close(time_in(PCOLL_SCATTER, &node, 4, near_first + 1, 1), 3),
           "which hold what the root scatters, and one block more");
    node.levels[0].caches = 23;
    tap_ok(is_close(time_in(PCOLL_SCATTER, &node, 4, near_first + 1, 1), 8),
           "unless they are smaller");
}

static void check_signals(void)
{
    const struct pcoll_place none = {PCOLL_CELL, 0};
    const struct move near[] = {{1, 0, none}}, two[] = {{2, 0, none}, {3, 0, none}};
    const struct pcoll_sim_node node = parsed(deep);

    tap_ok(is_close(time_of(&node, 4, near, 1), 0.25 + 0.1), "a signal in a cache: its latency");
    tap_ok(is_close(time_of(&node, 4, two, 2), 0.25 + 0.2 + 0.4),
           "signals of two ranks: twice the latency of their level between them");
}

static void check_readers(void)
{
    struct pcoll_sim_node node = parsed(FLAT);
    const struct move both[] = {{1, 0, {PCOLL_SEND, 0}}, {2, 0, {PCOLL_RECV, 0}}};
    const double access = 2 + 1000 * 0.002;

    for (int readers = 1; readers <= 7; readers += 2)
        tap_ok(is_close(moves(&node, readers + 1, 1, 0, pcoll_at(PCOLL_SEND, 0)),
                        0.25 + readers * access),
               "%d readers of one process follow each other", readers);
    tap_ok(is_close(moves(&node, 8, 1, 0, pcoll_at(PCOLL_SEND, 2 << 20)), 0.25 + access),
           "readers at places 2 MiB apart do not");
    tap_ok(is_close(moves(&node, 8, 1, 0, pcoll_at(PCOLL_SEND, 1 << 20)), 0.25 + 2 * access),
           "of those 1 MiB apart, two do");
    tap_ok(is_close(time_of(&node, 3, both, 2), 0.25 + access), "nor do those of two buffers");
    tap_ok(is_close(moves(&node, 8, 4, 1, pcoll_at(PCOLL_SEND, 0)), 0.25 + access),
           "readers of different processes do not");
    node.machine.exclusive = 0.25;
    tap_ok(is_close(moves(&node, 8, 1, 0, pcoll_at(PCOLL_SEND, 0)), 0.25 + (1 + 6 * 0.25) * access),
           "readers wait for a quarter of an access of each other");
    node.machine.exclusive = 1;
    node.machine.locked = 0;
    tap_ok(is_close(moves(&node, 8, 1, 0, pcoll_at(PCOLL_SEND, 0)), 0.25 + access),
           "readers of memory that is not locked do not");
}

/* Four readers of rank 7 follow each other. Rank 5 puts to another domain, and then in its own. */
static void check_queue(void)
{
    const struct pcoll_sim_node node =
        parsed(NODE(LEVEL("cache", "2", "") ", " LEVEL("numa", "8", ", \"saturated\": 0.002")));
    const struct pcoll_place send = {PCOLL_SEND, 0}, temp = {PCOLL_TEMP, 0};
    struct move list[4 + 1 + 12];

    for (int i = 0; i < 4; i++)
        list[i] = (struct move){i, 7, send};
    for (int i = 4; i < 4 + 1 + 12; i++)
        list[i] = (struct move){5, i == 4 ? 3 : 4, temp};
    tap_ok(is_close(time_of(&node, 8, list, 4 + 1 + 12), 2 + 2 + 12 * 1.25),
           "a reader that waits for another one does not use what ranks share");
}

/* ---- all algorithms ---- */

/* Of equal levels that share nothing, times are those without levels, except that what happens at
 * one time may have another order; with any levels, results are right. */
static void check_row(const struct pcoll_algorithm *row, const struct pcoll_sim_node *equal,
                      const struct pcoll_sim_node *node)
{
    struct pcoll_params params[JOB_VARIANTS];
    struct pcoll_engine_options plain = {
        .machine = equal->machine, .instances = 7, .skew = 20, .verify = 1};
    struct pcoll_engine_options same = plain, levels = plain;
    bool is_same = true, is_right = true;

    plain.machine.cores = 0;
    same.inside = *equal;
    levels.machine = node->machine;
    levels.inside = *node;
    for (int nranks = 2; nranks <= 17; nranks += 5)
        for (int v = job_variants(row, nranks, params); v-- > 0;) {
            const struct pcoll_job job = {
                .algorithm = row,
                .params = params[v],
                .signature = {.coll = row->coll,
                              .nranks = nranks,
                              .bytes = pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) ? 0 : 1001,
                              .commutes = row->must_commute}};
            struct pcoll_engine_result a, b, c;

            plain.seed = same.seed = ++levels.seed;
            if (pcoll_engine_run(&job, &plain, &a) != PCOLL_OK)
                continue;
            is_same &= pcoll_engine_run(&job, &same, &b) == PCOLL_OK &&
                       fabs(a.last - b.last) < 0.005 * a.last;
            is_right &= pcoll_engine_run(&job, &levels, &c) == PCOLL_OK;
        }
    tap_ok(is_same, "%s %s: equal levels take as long as none", pcoll_coll_name(row->coll),
           row->name);
    tap_ok(is_right, "%s %s: results on levels are right", pcoll_coll_name(row->coll), row->name);
}

static void check_rows(void)
{
    struct pcoll_sim_node equal =
        parsed(NODE(LEVEL("cache", "4", "") ", " LEVEL("node", "32", "")));
    const struct pcoll_sim_node node = parsed(deep); /* of 8 cores: 12 and 17 ranks share them */

    equal.machine.locked = 0;
    equal.machine.arrival = 0; /* otherwise that order matters more */
    for (int level = 0; level < equal.nlevels; level++)
        equal.levels[level].machine.arrival = 0;
    PCOLL_EACH_ALGORITHM (row)
        check_row(row, &equal, &node);
}

int main(void)
{
    check_file();
    check_levels();
    check_saturated();
    check_links();
    check_signals();
    check_readers();
    check_queue();
    check_rows();
    return tap_done();
}
