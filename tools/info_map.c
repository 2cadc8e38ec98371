/*
 * The map from sizes to choices; the contract is in info.h. The sizes at which the choice changes
 * are found by bisection between powers of two.
 */
#include "tools/info.h"
#include "tools/lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most operators commute. */
static struct pcoll_signature signature_of(const struct info *info, enum pcoll_coll coll,
                                           uint64_t bytes)
{
    const struct pcoll_signature signature = {
        .coll = coll,
        .nranks = info->nranks,
        .bytes = bytes,
        .topology = info->topology,
        .levels = info->levels,
        .commutes = pcoll_coll_has(coll, PCOLL_REDUCES),
    };

    return signature;
}

struct info_point info_choose(const struct info *info, enum pcoll_coll coll, uint64_t bytes)
{
    const struct pcoll_signature signature = signature_of(info, coll, bytes);
    struct info_point point = {.bytes = bytes};

    if (pcoll_choose(info->table, &signature, &info->caps, NULL, NULL, &point.choice) != PCOLL_OK)
        point.choice.algorithm = NULL;
    return point;
}

static bool same(const struct info_point *a, const struct info_point *b)
{
    return pcoll_choice_same(&a->choice, &b->choice) &&
           (!a->choice.algorithm || strcmp(a->choice.reason, b->choice.reason) == 0);
}

/* The last size with the same choice as `low`; `high` has another. */
static struct info_point last_like(const struct info *info, enum pcoll_coll coll,
                                   struct info_point low, struct info_point high)
{
    const struct info_point first = low;

    while (low.bytes + 1 < high.bytes) {
        const struct info_point middle =
            info_choose(info, coll, low.bytes + (high.bytes - low.bytes) / 2);

        if (same(&first, &middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void print_range(const struct info_point *first, const struct info_point *last)
{
    char text[PCOLL_CHOICE_BYTES];

    printf("  %12llu %12llu", (unsigned long long)first->bytes, (unsigned long long)last->bytes);
    if (!first->choice.algorithm) {
        puts("            -            -  mpich");
        return;
    }
    pcoll_choice_text(&first->choice, text);
    printf(" %12.2f %12.2f  %s (%s)\n", first->choice.predicted_us, last->choice.predicted_us, text,
           first->choice.reason);
}

/* Prints ranges of sizes from 1 to info->max_bytes. */
static void print_map(const struct info *info, enum pcoll_coll coll)
{
    struct info_point first = info_choose(info, coll, 1), last = first;

    while (last.bytes < info->max_bytes) {
        const uint64_t next = last.bytes * 2 < info->max_bytes ? last.bytes * 2 : info->max_bytes;
        const struct info_point beyond = info_choose(info, coll, next);

        if (same(&first, &beyond)) {
            last = beyond;
            continue;
        }
        last = last_like(info, coll, last, beyond);
        print_range(&first, &last);
        last = first = info_choose(info, coll, last.bytes + 1);
    }
    print_range(&first, &last);
}

static const char lines_title[] = "  writers  written  polled";

/* What ranks share of the lines of counters, in the plans of all of them. */
static void print_lines(const struct pcoll_algorithm *algorithm,
                        const struct pcoll_signature *signature, const struct pcoll_params *params)
{
    const int n = signature->nranks;
    struct pcoll_plan **plans = calloc((size_t)n, sizeof(struct pcoll_plan *));
    enum pcoll_result result = plans ? PCOLL_OK : PCOLL_ERR_NOMEM;
    struct lines lines;

    for (int r = 0; result == PCOLL_OK && r < n; r++)
        result = pcoll_generate(algorithm, signature, NULL, r, params, &plans[r]);
    if (result == PCOLL_OK)
        result = lines_count(plans, n, &lines);
    if (result == PCOLL_OK)
        printf("  %7d  %7d  %6d", lines.writers, lines.written, lines.polled);
    else
        printf("  %24s", pcoll_result_text(result));
    for (int r = 0; plans && r < n; r++)
        pcoll_plan_destroy(plans[r]);
    free(plans);
}

void info_print_lines(const struct info *info)
{
    printf("%s  algorithm\n", lines_title);
    PCOLL_EACH_ALGORITHM (row) {
        const uint64_t bytes =
            pcoll_coll_has(row->coll, PCOLL_SYNCHRONIZES) ? 0 : info->signature.bytes;
        const struct pcoll_signature signature = signature_of(info, row->coll, bytes);

        if (info->coll >= 0 && info->coll != (int)row->coll)
            continue;
        print_lines(row, &signature, &info->params);
        printf("  %s/%s\n", pcoll_coll_name(row->coll), row->name);
    }
}

static void print_candidates(const struct info *info, enum pcoll_coll coll)
{
    const uint64_t bytes =
        pcoll_coll_has(coll, PCOLL_SYNCHRONIZES) ? 0 : (uint64_t)info->candidates;
    const struct pcoll_signature signature = signature_of(info, coll, bytes);
    struct pcoll_choice list[PCOLL_MAX_CANDIDATES];
    const int count =
        pcoll_candidates(info->table, &signature, &info->caps, list, PCOLL_MAX_CANDIDATES);
    char text[PCOLL_CHOICE_BYTES];

    printf("%s  %12s  %s\n", info->lines ? lines_title : "", "predicted us", "candidate");
    for (int i = 0; i < count; i++) {
        pcoll_choice_text(&list[i], text);
        if (info->lines)
            print_lines(list[i].algorithm, &signature, &list[i].params);
        printf("  %12.2f  %s\n", list[i].predicted_us, text);
    }
}

static void print_only(const struct info *info, enum pcoll_coll coll)
{
    const struct info_point point = info_choose(info, coll, 0);

    print_range(&point, &point);
}

static void print_coll(const struct info *info, enum pcoll_coll coll)
{
    printf("%s on %d ranks of %d node%s: %s, %s\n", pcoll_coll_name(coll), info->nranks,
           info->nnodes, info->nnodes > 1 ? "s" : "", info->caps.medium,
           info->path ? info->path : "built-in table");
    if (info->candidates >= 0) {
        print_candidates(info, coll);
        return;
    }
    printf("  %12s %12s %12s %12s  %s\n", "from bytes", "to bytes", "predicted us", "to us",
           "choice");
    if (pcoll_coll_has(coll, PCOLL_SYNCHRONIZES))
        print_only(info, coll);
    else
        print_map(info, coll);
}

int info_print_choices(const struct info *info)
{
    for (int coll = 0; coll < PCOLL_NUM_COLLS; coll++)
        if (info->coll < 0 || info->coll == coll)
            print_coll(info, (enum pcoll_coll)coll);
    return 0;
}
