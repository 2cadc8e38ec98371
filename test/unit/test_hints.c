/* Hints: what a CVAR or an info key asks for is done, or one line says why it is not. */
#include <stdlib.h>
#include <string.h>

#include "test/unit/question.h"
#include "test/unit/tables.h"
#include "test/unit/tap.h"

/* ---- every algorithm by name ---- */

static void test_names(const struct pcoll_table *table)
{
    PCOLL_EACH_ALGORITHM (row) {
        struct question q = question_of(table, row->coll, 8, 64);

        question_ask(&q);
        q.hint.algorithm = row->name;
        if (row->must_map)
            tap_ok(question_gets(&q, question_chosen(&q), "model",
                                 "needs user buffers of all ranks in memory of MPI_Alloc_mem"),
                   "%s %s where nothing is mapped", pcoll_coll_name(row->coll), row->name);
        q.caps.provides |= PCOLL_NEED_MAPPED;
        tap_ok(question_gets(&q, row->name, "hint", NULL), "%s %s", pcoll_coll_name(row->coll),
               row->name);
        tap_ok(row->paths >> q.choice.params.path & 1 && question_plans_fit(&q) &&
                   (q.choice.params.radix != 0) == row->uses_radix &&
                   (q.choice.params.segment != 0) == pcoll_has_segments(row, q.choice.params.path),
               "%s %s: the parameters that it uses are filled in", pcoll_coll_name(row->coll),
               row->name);
    }
}

/* True if the answer has what was asked for, or the report is not empty. */
static int is_heard(const struct question *q)
{
    const struct pcoll_params *params = &q->choice.params;
    const struct pcoll_algorithm *row = q->choice.algorithm;

    if (q->result != PCOLL_OK)
        return 0;
    if (q->message[0] != '\0')
        return strncmp(q->message, "MPIR_CVAR_X: ", 13) == 0;
    return (!q->hint.algorithm || strcmp(q->hint.algorithm, row->name) == 0) &&
           (q->hint.radix == 0 || params->radix == (row->uses_radix ? q->hint.radix : 0)) &&
           (q->hint.segment == 0 ||
            params->segment == (pcoll_has_segments(row, params->path) ? q->hint.segment : 0)) &&
           question_plans_fit(q);
}

/* Every algorithm, and none, with any radix and segment. */
static void test_all_hints(const struct pcoll_table *table)
{
    static const int radixes[] = {0, 2, 3, 7, 100};
    static const uint64_t segments[] = {0, 64, 1000, 1 << 20};
    static const uint64_t bytes[] = {8, 5000, 300000};
    int asked = 0, heard = 0, silent = 0;

    for (const struct pcoll_algorithm *const *row = pcoll_algorithms;; row++) {
        for (int i = 0; i < PCOLL_NUM_COLLS * 5 * 4 * 3; i++) {
            const int n = i / PCOLL_NUM_COLLS;
            struct question q =
                question_of(table, (enum pcoll_coll)(i % PCOLL_NUM_COLLS), 6, bytes[n / 20]);

            if (*row && (*row)->coll != q.signature.coll)
                continue;
            q.hint = (struct pcoll_hint){.algorithm = *row ? (*row)->name : NULL,
                                         .algorithm_origin = "MPIR_CVAR_X",
                                         .radix_origin = "MPIR_CVAR_X",
                                         .segment_origin = "MPIR_CVAR_X",
                                         .radix = radixes[n % 5],
                                         .segment = segments[n / 5 % 4]};
            question_ask(&q);
            asked++;
            silent += q.message[0] == '\0';
            heard += is_heard(&q);
        }
        if (!*row)
            break;
    }
    tap_ok(heard == asked, "%d of %d hints are used or reported", heard, asked);
    tap_ok(silent > asked / 3, "%d of them exactly", silent);
}

/* ---- what cannot be done ---- */

static void test_unknown(const struct pcoll_table *table)
{
    struct question open = question_of(table, PCOLL_ALLGATHER, 4, 65536), q = open;

    question_ask(&open);
    q.hint.algorithm_origin = "MPIR_CVAR_X";
    q.hint.algorithm = "eager";
    tap_ok(question_gets(&q, question_chosen(&open), "model",
                         "MPIR_CVAR_X: no allgather algorithm 'eager' (allowed: "
                         "auto, direct, butterfly, bruck, ring, mpich); using auto\n"),
           "a hint for an unknown name");
    q.hint.algorithm = "\n\x80";
    tap_ok(question_gets(&q, question_chosen(&open), "model", "algorithm '?\?' ("),
           "a hint with unprintable characters");
    q.hint.algorithm = "";
    tap_ok(question_gets(&q, question_chosen(&open), "model", "algorithm '' ("),
           "a hint for an empty name");
    q.hint.algorithm = "auto";
    tap_ok(question_gets(&q, question_chosen(&open), "model", NULL), "a hint for auto");
    tap_ok(q.choice.predicted_us == open.choice.predicted_us, "the choice costs the same");
}

/* Names that earlier versions had. */
static void test_removed(const struct pcoll_table *table)
{
    static const struct {
        enum pcoll_coll coll;
        const char *name;
    } removed[] = {{PCOLL_BCAST, "scatter_ring"},
                   {PCOLL_BCAST, "binary"},
                   {PCOLL_REDUCE, "direct"},
                   {PCOLL_ALLREDUCE, "atomic"}};

    for (size_t i = 0; i < sizeof(removed) / sizeof(removed[0]); i++) {
        struct question open = question_of(table, removed[i].coll, 4, 65536), q = open;
        char expected[100];

        question_ask(&open);
        q.hint.algorithm = removed[i].name;
        snprintf(expected, sizeof(expected), "hint: no %s algorithm '%s' (allowed: auto, ",
                 pcoll_coll_name(removed[i].coll), removed[i].name);
        tap_ok(question_gets(&q, question_chosen(&open), "model", expected),
               "a hint for the removed %s", removed[i].name);
    }
}

static void test_impossible(const struct pcoll_table *table)
{
    struct question q = question_of(table, PCOLL_BCAST, 4, 65536);

    q.hint.algorithm_origin = "MPIR_CVAR_X";
    q.hint.algorithm = "chain";
    q.caps.provides = NO_RMA;
    tap_ok(question_gets(&q, "shared", "model",
                         "MPIR_CVAR_X: algorithm 'chain' needs access to the user buffers"),
           "a hint for an algorithm that needs unreachable user buffers");
    q = question_of(table, PCOLL_BCAST, 4, 65536);
    q.hint.algorithm = "eager";
    q.hint.segment = 65536;
    q.caps.max_temp = 65536;
    question_ask(&q);
    tap_ok(q.result == PCOLL_OK && q.choice.params.path == PCOLL_PATH_USER &&
               strcmp(q.choice.reason, "model") == 0 &&
               strstr(q.message, "hint: algorithm 'eager' needs too large a communication"),
           "a hint for an algorithm whose buffer is too large");
}

static void test_operators(const struct pcoll_table *table)
{
    struct question open = question_of(table, PCOLL_ALLREDUCE, 4, 8), q = open;

    question_ask(&open);
    q.hint.algorithm = "ring";
    q.signature.commutes = 0;
    tap_ok(question_gets(&q, question_chosen(&open), "model",
                         "hint: algorithm 'ring' needs an operator that commutes"),
           "a hint for an algorithm whose operator does not commute");
}

/* ---- radix and segment ---- */

/* A path that ignores the segment, of an algorithm that has segments on another. */
static void test_whole_path(const struct pcoll_table *table)
{
    static const struct pcoll_hint direct = {
        .algorithm = "direct", .segment = 64, .segment_origin = "SEGMENT"};
    struct question q = question_of(table, PCOLL_ALLTOALLV, 2, 1 << 20);

    q.hint = direct;
    tap_ok(question_gets(&q, "direct", "hint",
                         "SEGMENT: algorithm 'direct' has no segment between user buffers; "
                         "ignored\n") &&
               q.choice.params.path == PCOLL_PATH_USER && q.choice.params.segment == 0,
           "a segment between user buffers");
    q.caps.provides = NO_RMA;
    tap_ok(question_gets(&q, "direct", "hint", NULL) && q.choice.params.segment == 64,
           "a segment of the same algorithm in communication buffers");
}

static void test_params(const struct pcoll_table *table)
{
    struct question q = question_of(table, PCOLL_BCAST, 16, 65536);

    q.hint.algorithm = "eager";
    q.hint.radix = 5;
    q.hint.segment = 1000;
    tap_ok(question_gets(&q, "eager", "hint", NULL) && q.choice.params.radix == 5 &&
               q.choice.params.segment == 1000,
           "radix and segment requested");
    q.hint.algorithm = "chain";
    q.hint.algorithm_origin = "ALGORITHM";
    tap_ok(question_gets(&q, "chain", "hint", "hint: algorithm 'chain' has no radix; ignored\n") &&
               q.choice.params.radix == 0 && q.choice.params.segment == 1000,
           "a radix for an algorithm that has none");
    q.hint.algorithm = "knomial_put";
    q.hint.segment_origin = "SEGMENT";
    tap_ok(question_gets(&q, "knomial_put", "hint",
                         "SEGMENT: algorithm 'knomial_put' has no segment; ignored\n"),
           "a segment for an algorithm that has none");
    q.hint = (struct pcoll_hint){
        .algorithm = "eager", .algorithm_origin = "ALGORITHM", .radix = 1, .radix_origin = "RADIX"};
    tap_ok(question_gets(&q, "eager", "hint",
                         "RADIX: no radix 1 (allowed: 2 and more, 0 for auto); ignored\n"),
           "radix 1");
    q.hint.radix = -7;
    tap_ok(question_gets(&q, "eager", "hint", "no radix -7 (allowed") && q.choice.params.radix >= 2,
           "radix -7");
}

static void test_params_alone(const struct pcoll_table *table)
{
    struct pcoll_table *slow_rma = tables_good("slow_rma");
    struct question q = question_of(slow_rma, PCOLL_BCAST, 16, 65536);

    q.hint = (struct pcoll_hint){.radix = 5, .segment = 1000};
    tap_ok(question_gets(&q, "shared", "model", NULL) && q.choice.params.radix == 0 &&
               q.choice.params.segment == 1000,
           "radix and segment as hints, algorithm open: used where the algorithm has them");
    q = question_of(table, PCOLL_BCAST, 4, 1 << 30);
    q.caps.provides = NO_RMA;
    q.hint.segment = 1 << 30;
    q.hint.algorithm_origin = "ALGORITHM";
    q.hint.segment_origin = "SEGMENT";
    tap_ok(question_gets(&q, "eager", "model",
                         "SEGMENT: no algorithm can run with radix 0, segment 1073741824; ignored"),
           "a segment with which no algorithm can run");
    pcoll_table_destroy(slow_rma);
}

static void test_silence(const struct pcoll_table *table)
{
    const struct pcoll_hint hint = {.algorithm = "nonsense", .radix = 1};
    struct question q = question_of(table, PCOLL_BARRIER, 4, 0);

    tap_ok(pcoll_choose(table, &q.signature, &q.caps, NULL, NULL, &q.choice) == PCOLL_OK &&
               pcoll_choose(table, &q.signature, &q.caps, &hint, NULL, &q.choice) == PCOLL_OK,
           "no hint and no report function");
}

int main(void)
{
    struct pcoll_table *table = tables_default();

    test_names(table);
    test_all_hints(table);
    test_unknown(table);
    test_removed(table);
    test_impossible(table);
    test_operators(table);
    test_params(table);
    test_whole_path(table);
    test_params_alone(table);
    test_silence(table);
    pcoll_table_destroy(table);
    return tap_done();
}
