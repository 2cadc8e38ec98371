/* The tuning table: what is read. */
#include "algorithms/plan/caches.h"
#include "test/unit/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/tap.h"
#include "tuning/table/correction.h"

static void test_machine(void)
{
    struct pcoll_table *table = tables_good("least");
    const struct pcoll_machine *shm;
    size_t count = 1;

    shm = pcoll_table_machine(table, "shm");
    tap_ok(shm && shm->L == 0.5 && shm->o == 0.25 && shm->g == 2 && shm->G == 1e-4 &&
               shm->rma == 1.5 && shm->copy == 0.125 && shm->call == 0 && shm->turn == 3 &&
               shm->cores == 0,
           "parameters of the medium");
    tap_ok(!pcoll_table_machine(table, "ofi"), "no other medium");
    pcoll_table_rules(table, &count);
    tap_ok(count == 0, "no rules");
    pcoll_table_destroy(table);
    pcoll_table_destroy(NULL);
}

static void test_rules(void)
{
    struct pcoll_table *table = tables_good("rule_open");
    size_t count;
    const struct pcoll_rule *rules = pcoll_table_rules(table, &count);

    tap_ok(count == 2, "two rules");
    tap_ok(rules[0].coll == PCOLL_BCAST && strcmp(rules[0].algorithm->name, "eager") == 0 &&
               rules[0].ranks[0] == 2 && rules[0].ranks[1] == 4 && rules[0].bytes[0] == 0 &&
               rules[0].bytes[1] == 8 && rules[0].params.radix == 3 &&
               rules[0].params.segment == 64 && rules[0].params.path == PCOLL_PATH_TEMP,
           "all keys given");
    tap_ok(rules[1].coll == PCOLL_ALLGATHER && rules[1].algorithm->coll == PCOLL_ALLGATHER &&
               rules[1].ranks[0] == 1 && rules[1].ranks[1] == INT32_MAX && rules[1].bytes[0] == 0 &&
               rules[1].bytes[1] == INT64_MAX && rules[1].params.radix == 0 &&
               rules[1].params.segment == 0 && rules[1].params.path == PCOLL_PATH_USER,
           "all optional keys left out");
    pcoll_table_destroy(table);
}

/* Interpolation is linear in the logarithm of size + 1: 63 is halfway from 0 to 4095. */
static void test_corrections(void)
{
    struct pcoll_table *table = tables_good("points");
    struct pcoll_correction about = {.medium = "shm",
                                     .algorithm = pcoll_algorithm_find(PCOLL_BCAST, "eager"),
                                     .nranks = 4,
                                     .nnodes = 1},
                            other = about;

    tap_ok(pcoll_table_factor(table, &about, 0, NULL) == 1 &&
               fabs(pcoll_table_factor(table, &about, 63, NULL) - 2) < 1e-9 &&
               pcoll_table_factor(table, &about, 4095, NULL) == 4 &&
               pcoll_table_factor(table, &about, UINT64_MAX, NULL) == 4,
           "between and beyond the measured sizes");
    other.nnodes = 2;
    tap_ok(pcoll_table_factor(table, &other, 7, NULL) == 1, "another path");
    other.path = PCOLL_PATH_TEMP;
    tap_ok(pcoll_table_factor(table, &other, 1, NULL) == 5, "another shape");
    other.nranks = 5;
    tap_ok(pcoll_table_factor(table, &other, 7, NULL) == 1, "a shape without a correction");
    other = about;
    strcpy(other.medium, "ofi_rma");
    tap_ok(pcoll_table_factor(table, &other, 4095, NULL) == 1, "another medium");
    other.npoints = about.npoints = 1;
    other.factor[0] = 7;
    about.factor[0] = 8;
    tap_ok(pcoll_table_correct(table, &other) == PCOLL_OK &&
               pcoll_table_correct(table, &about) == PCOLL_OK &&
               pcoll_table_factor(table, &other, 1, NULL) == 7 &&
               pcoll_table_factor(table, &about, 4095, NULL) == 8,
           "one correction added, one replaced");
    pcoll_table_destroy(table);
}

static void test_levels(void)
{
    struct pcoll_table *table = tables_good("levels");
    const struct pcoll_machine *near;
    const struct pcoll_estimates *own, *level;

    near = pcoll_table_level(table, "shm", PCOLL_LEVEL_SAME_CACHE);
    tap_ok(near && near->L == 0.125 && near->o == 0.25 && near->turn == 3,
           "a level inherits the parameters that it does not give");
    tap_ok(pcoll_table_machine(table, "shm")->L == 0.5 &&
               pcoll_table_level(table, "shm", PCOLL_LEVEL_OTHER_HOST)->L == 0.5 &&
               !pcoll_table_level(table, "ofi", PCOLL_LEVEL_SAME_CACHE),
           "a missing level has the medium's own parameters");
    own = pcoll_table_estimates(table, "shm", PCOLL_LEVEL_ANY);
    level = pcoll_table_estimates(table, "shm", PCOLL_LEVEL_SAME_CACHE);
    tap_ok(own->given == (1u << (PCOLL_PARAMETER_PACK + 1)) - 1 &&
               own->sure == (1u << PCOLL_PARAMETER_L | 1u << PCOLL_PARAMETER_PACK) &&
               own->low[PCOLL_PARAMETER_L] == 0.25 && own->high[PCOLL_PARAMETER_L] == 1 &&
               own->value[PCOLL_PARAMETER_PACK] == 7 && level->given == 1 && level->sure == 1 &&
               level->low[PCOLL_PARAMETER_L] == 0 && level->high[PCOLL_PARAMETER_L] == 0.125 &&
               !pcoll_table_estimates(table, "shm", PCOLL_LEVEL_OTHER_CACHE),
           "values and their intervals");
    pcoll_table_destroy(table);
}

/* What has no values of its own takes those of slower memory. */
static void test_caches(void)
{
    struct pcoll_table *table = tables_good("cached"), *old = tables_good("least");
    const struct pcoll_machine *near, *any = pcoll_table_machine(table, "shm"), *shm;

    near = pcoll_table_level(table, "shm", PCOLL_LEVEL_SAME_CACHE);
    shm = pcoll_table_machine(old, "shm");
    tap_ok(near->cached == 1e-6 && near->cache == 3 && near->copy == 1e-3,
           "the caches of ranks that share one");
    tap_ok(any->cached == any->copy && any->cache == PCOLL_CACHE_MIB,
           "other ranks have no faster caches");
    tap_ok(near->kept == near->cached && any->kept == any->copy,
           "and no core has faster caches of its own");
    tap_ok(shm->cached == shm->copy && shm->cache == PCOLL_CACHE_MIB,
           "a table without caches says that they are no faster");
    pcoll_table_destroy(table);
    pcoll_table_destroy(old);
}

/* ---- what a table was made for ---- */

static void test_identity(void)
{
    struct pcoll_table *table = tables_good("identity");
    struct pcoll_identity here = pcoll_identity_here(), other;
    char *message;
    size_t size;
    FILE *report;

    tap_ok(strcmp(PCOLL_VERSION, PACKAGE_VERSION) == 0, "one version");
    tap_ok(here.cores > 0, "cores of this machine");
    other = *pcoll_table_identity(table);
    tap_ok(strcmp(other.processor, "Z80") == 0 && other.cores == 7 && other.hosts == 0 &&
               strcmp(other.provider, "tcp") == 0 && strcmp(other.mpi, "M") == 0 &&
               !other.libfabric[0],
           "its identity");
    report = open_memstream(&message, &size);
    here = (struct pcoll_identity){.processor = "6502", .cores = 1, .pcoll = "9"};
    tap_ok(pcoll_identity_compare(&other, &here, "t.json", "used all the same", report) == 2,
           "two differences");
    fclose(report);
    tap_ok(strcmp(message,
                  "t.json: made for processor 'Z80', this is '6502'; used all the same\n"
                  "t.json: made for 7 cores, this machine has 1; used all the same\n") == 0,
           "each difference has its line");
    free(message);
    tap_ok(pcoll_identity_compare(&other, &other, "t.json", "used all the same", stdout) == 0 &&
               pcoll_identity_compare(&(struct pcoll_identity){.cores = 0}, &other, "t.json",
                                      "used all the same", stdout) == 0,
           "no line if they are the same or not known");
    here = (struct pcoll_identity){.provider = "tcp;ofi_rxm"};
    tap_ok(pcoll_identity_compare(&other, &here, "t.json", "used all the same", stdout) == 0,
           "a provider is the same below another layer");
    pcoll_identity_text(here.provider, "tcp2");
    report = fopen("/dev/null", "w");
    tap_ok(pcoll_identity_compare(&other, &here, "t.json", "used all the same", report) == 1 &&
               pcoll_identity_compare(&here, &other, "t.json", "used all the same", report) == 1,
           "a provider whose name has the other as a prefix differs");
    fclose(report);
    pcoll_table_destroy(table);
}

static void test_default(void)
{
    struct pcoll_table *table = tables_default();

    tap_ok(pcoll_table_machine(table, "shm") != NULL, "the default table has shm");
    pcoll_table_destroy(table);
}

int main(void)
{
    test_machine();
    test_rules();
    test_corrections();
    test_levels();
    test_caches();
    test_identity();
    test_default();
    return tap_done();
}
