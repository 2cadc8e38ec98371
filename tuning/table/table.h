/*
 * The tuning table: machine parameters per medium and level, optional rules and corrections, from
 * JSON (tuning/data/schema.json, tuning/README.md; a default is compiled in).
 */
#ifndef PCOLL_TABLE_H
#define PCOLL_TABLE_H

#include "tuning/table/estimates.h"
#include "tuning/table/identity.h"
#include "tuning/table/text.h"

struct pcoll_table;
struct pcoll_correction; /* tuning/table/correction.h */

/* That are added to a table: their text is shorter than what its reader takes. */
enum { PCOLL_TABLE_MAX_RULES = 2048 };

/* User buffers that other ranks of the node can map, as those of MPI_Alloc_mem, or cannot. */
enum pcoll_memory_kind { PCOLL_MEMORY_ANY, PCOLL_MEMORY_PRIVATE, PCOLL_MEMORY_MAPPED };

/* Calls of `coll` with this many ranks and bytes (as in struct pcoll_signature; both ends included)
 * use this algorithm. Parameters that are 0 stay open. */
struct pcoll_rule {
    enum pcoll_coll coll;
    uint64_t ranks[2], bytes[2];
    char medium[PCOLL_MEDIUM_NAME_BYTES]; /* between all ranks; "": any */
    int nodes, degree;                    /* of edges, the most of a rank; 0: any */
    enum pcoll_level level;               /* as in struct pcoll_caps; PCOLL_LEVEL_ANY: any */
    int cores;                            /* as in struct pcoll_machine; 0: any */
    enum pcoll_memory_kind memory;
    const struct pcoll_algorithm *algorithm;
    struct pcoll_params params; /* 0: open; teams PCOLL_NONE: none */
};

/* Parse `text`, the content of file `name`, which only messages use. On failure one line with file,
 * line and key goes to `report` (NULL: no message), *table_p is unchanged, and the result is
 * PCOLL_ERR_INVALID or PCOLL_ERR_NOMEM. The caller owns *table_p and releases it with
 * pcoll_table_destroy. */
enum pcoll_result pcoll_table_parse(const char *name, const char *text, FILE *report,
                                    struct pcoll_table **table_p) PCOLL_MUST_CHECK;
void pcoll_table_destroy(struct pcoll_table *table); /* `table` may be NULL */

/* The parameters of a medium ("shm"); NULL if the table lacks it. */
const struct pcoll_machine *pcoll_table_machine(const struct pcoll_table *table,
                                                const char *medium);

/* The same at a level; what the table does not say about the level is taken from the medium. */
const struct pcoll_machine *pcoll_table_level(const struct pcoll_table *table, const char *medium,
                                              enum pcoll_level level);

/* What the table itself says about a medium (PCOLL_LEVEL_ANY) or one of its levels; NULL:
 * nothing. */
const struct pcoll_estimates *pcoll_table_estimates(const struct pcoll_table *table,
                                                    const char *medium, enum pcoll_level level);

/* Set the estimates of a medium, replacing what it had, or add the medium. A level without values
 * is left out; the medium itself must have all required values. */
enum pcoll_result
pcoll_table_set(struct pcoll_table *table, const char *medium,
                const struct pcoll_estimates estimates[PCOLL_NUM_LEVELS]) PCOLL_MUST_CHECK;

/* What the table was made for; the caller may change it. */
struct pcoll_identity *pcoll_table_identity(struct pcoll_table *table);
enum pcoll_result pcoll_table_describe(struct pcoll_table *table,
                                       const char *description) PCOLL_MUST_CHECK;

/* The rules, in the order of the file. */
const struct pcoll_rule *pcoll_table_rules(const struct pcoll_table *table, size_t *count_p);

void pcoll_table_drop_rules(struct pcoll_table *table);

/* Put a rule before all others, and drop one for the same calls; with PCOLL_TABLE_MAX_RULES, also
 * the last one. */
enum pcoll_result pcoll_table_prefer(struct pcoll_table *table,
                                     const struct pcoll_rule *rule) PCOLL_MUST_CHECK;

/* The factor for the candidate and shape of `about` (whose own points are ignored): that of the
 * correction that applies and names most of its parameters, or 1 if there is none. *tells_apart_p
 * (which may be NULL) says whether some corrections name slots or rails. */
double pcoll_table_factor(const struct pcoll_table *table, const struct pcoll_correction *about,
                          uint64_t bytes, int *tells_apart_p);

/* Add a correction, or replace the one for the same candidate and shape. */
enum pcoll_result pcoll_table_correct(struct pcoll_table *table,
                                      const struct pcoll_correction *correction) PCOLL_MUST_CHECK;

/* Read the file at `path` into *text_p, which the caller frees with free(). One rank reads the file
 * and hands the text to all. On failure one line goes to `report` and *text_p is unchanged:
 * PCOLL_ERR_SYSTEM if the file cannot be read, PCOLL_ERR_INVALID if it is too long or contains a
 * NUL. */
enum pcoll_result pcoll_table_read(const char *path, FILE *report, char **text_p) PCOLL_MUST_CHECK;

/* Write the table as JSON from which pcoll_table_parse makes the same table. PCOLL_ERR_SYSTEM:
 * writing failed; see errno. */
enum pcoll_result pcoll_table_write(const struct pcoll_table *table, FILE *out) PCOLL_MUST_CHECK;

/* The JSON text that is compiled in. */
extern const char pcoll_tuning_default_json[];

#endif /* PCOLL_TABLE_H */
