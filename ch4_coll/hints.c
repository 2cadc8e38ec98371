/* What the user has said, by CVARs or info keys, about how to choose.
 * MPIR_CVAR_<COLLECTIVE>_INIT_ALGORITHM come from maint/cvars. */

#include "hints.h"

#include "forced.h"
#include "node_blocks.h"
#include "process.h"

#include "algorithms/util.h"

#include <limits.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_COLL_OFFLOAD_RADIX
      category    : COLLECTIVE
      type        : int
      default     : 0
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Fan-out of trees, and base of the dissemination barrier and of recursive doubling.
        Values: 0 (the cost model chooses), or 2 and more. Set it with ..._INIT_ALGORITHM,
        to try an algorithm; info key coll_offload_radix.

    - name        : MPIR_CVAR_COLL_OFFLOAD_SEGMENT_SIZE
      category    : COLLECTIVE
      type        : int
      default     : 0
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Bytes of a segment of pipelined algorithms. Values: 0 (the cost model chooses), or 1
        and more. Set it with ..._INIT_ALGORITHM, to try an algorithm; info key
        coll_offload_segment_size.

    - name        : MPIR_CVAR_COLL_OFFLOAD_MAX_TEMP
      category    : COLLECTIVE
      type        : int
      default     : 4194304
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Most bytes of shared memory that one rank may use for one persistent collective;
        algorithms that need more are not chosen. Values: 0 and more. Set it lower where
        /dev/shm or the memory of a job is small, or where a program keeps hundreds of
        requests.

    - name        : MPIR_CVAR_COLL_OFFLOAD_EFFORT
      category    : COLLECTIVE
      type        : string
      default     : estimate
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        How much an init may do for the choice. Values: estimate (the cost model chooses),
        measure (at the first init of a shape on a communicator, up to 4 candidates run on
        memory of their own, for some milliseconds, and the fastest is taken); info key
        coll_offload_effort. Set it to measure where requests are started thousands of times.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define INFO_KEY "info key " /* with which messages name a key */
#define ALGORITHM_KEY INFO_KEY "coll_offload_algorithm"

/* The numbers by which the user says how to choose; 0: nothing is said. A program may set their
 * variables between two calls (MPI_T), so the hash of the settings has them all. */
enum { RADIX, SEGMENT_SIZE, MAX_TEMP, NUMBERS };
static const struct number {
    const char *cvar, *info_key; /* NULL: no key */
    const int *value;            /* the variable's */
} numbers[NUMBERS] = {
#define NUMBER(NAME, key)                                                                          \
    {                                                                                              \
        "MPIR_CVAR_COLL_OFFLOAD_" #NAME, key, &MPIR_CVAR_COLL_OFFLOAD_##NAME                       \
    }
    [RADIX] = NUMBER(RADIX, INFO_KEY "coll_offload_radix"),
    [SEGMENT_SIZE] = NUMBER(SEGMENT_SIZE, INFO_KEY "coll_offload_segment_size"),
    [MAX_TEMP] = NUMBER(MAX_TEMP, NULL),
#undef NUMBER
};

static uint64_t number_of(int which)
{
    const int value = *numbers[which].value;

    return value > 0 ? (uint64_t)value : 0;
}

/* *origin_p is what has set it. */
static uint64_t info_number(MPIR_Info *info, int which, const char **origin_p, FILE *out)
{
    const struct number *number = &numbers[which];
    char value[64] = "", *end = value;
    unsigned long long given;
    int found = 0;

    *origin_p = number->cvar;
    if (info)
        MPIR_Info_get_impl(info, number->info_key + strlen(INFO_KEY), sizeof(value) - 1, value,
                           &found);
    if (!found)
        return number_of(which);
    given = strtoull(value, &end, 10);
    if (end != value && *end == '\0' && value[0] != '-') {
        *origin_p = number->info_key;
        return given;
    }
    fprintf(out, "%s: '%s' is not a number (allowed: 0, 1, 2, ...); ignored\n", number->info_key,
            value);
    return number_of(which);
}

static void check_numbers(FILE *out)
{
    for (int i = 0; i < NUMBERS; i++)
        if (*numbers[i].value < 0)
            fprintf(out, "%s: %d is not allowed (at least 0); ignored\n", numbers[i].cvar,
                    *numbers[i].value);
}

struct names {
    const char *cvar, *value;
};

static struct names names_of(enum pcoll_coll coll)
{
#define NAMES(NAME, name)                                                                          \
    [PCOLL_##NAME] = {"MPIR_CVAR_" #NAME "_INIT_ALGORITHM", MPIR_CVAR_##NAME##_INIT_ALGORITHM},
    struct names all[PCOLL_NUM_COLLS] = {PCOLL_COLLECTIVES(NAMES)};
#undef NAMES

    return all[coll];
}

/* A value of coll_offload_effort or its variable. */
static bool is_measure(const char *value, const char *origin, FILE *out)
{
    if (strcmp(value, "measure") == 0)
        return true;
    if (strcmp(value, "estimate") != 0)
        fprintf(out, "%s: no effort '%.30s' (allowed: estimate, measure); using estimate\n", origin,
                value);
    return false;
}

static bool wants_race(MPIR_Info *info, FILE *out)
{
    const char *usual = MPIR_CVAR_COLL_OFFLOAD_EFFORT;
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;

    if (info)
        MPIR_Info_get_impl(info, "coll_offload_effort", sizeof(value) - 1, value, &found);
    if (found)
        return is_measure(value, "info key coll_offload_effort", out);
    return usual && *usual && is_measure(usual, "MPIR_CVAR_COLL_OFFLOAD_EFFORT", out);
}

void MPIDI_PCOLL_hints(enum pcoll_coll coll, MPIR_Info *info, struct MPIDI_PCOLL_hints *hints,
                       FILE *out)
{
    struct names names = names_of(coll);
    struct pcoll_hint *hint = &hints->hint;
    uint64_t radix;
    int found = 0;

    check_numbers(out);
    *hint = (struct pcoll_hint){.algorithm = names.value, .algorithm_origin = names.cvar};
    hint->teams = MPIDI_PCOLL_forced()->teams;
    radix = info_number(info, RADIX, &hint->radix_origin, out);
    hint->radix = radix > INT_MAX ? INT_MAX : (int)radix;
    hint->segment = info_number(info, SEGMENT_SIZE, &hint->segment_origin, out);
    if (info)
        MPIR_Info_get_impl(info, ALGORITHM_KEY + strlen(INFO_KEY), MPI_MAX_INFO_VAL, hints->value,
                           &found);
    if (found) {
        hint->algorithm = hints->value;
        hint->algorithm_origin = ALGORITHM_KEY;
    }
    hints->races = wants_race(info, out);
}

bool MPIDI_PCOLL_is_open(const struct pcoll_hint *hint)
{
    const char *algorithm = hint->algorithm;

    return !algorithm || !*algorithm || strcmp(algorithm, "auto") == 0;
}

uint64_t MPIDI_PCOLL_max_temp(void)
{
    return number_of(MAX_TEMP);
}

uint64_t MPIDI_PCOLL_settings_hash(enum pcoll_coll coll)
{
    uint64_t hash = MPIDI_PCOLL_hash(names_of(coll).value);

    hash = pcoll_hash_add(hash, MPIDI_PCOLL_hash(MPIR_CVAR_COLL_OFFLOAD_EFFORT));
    for (int i = 0; i < NUMBERS; i++)
        hash = pcoll_hash_add(hash, (uint64_t)*numbers[i].value);
    return pcoll_hash_add(hash, MPIDI_PCOLL_crowded);
}
