/*
 * The tuning table: machine parameters per medium and level, optional rules and corrections, from
 * JSON (tuning/data/schema.json, tuning/README.md; a default is compiled in).
 */
#ifndef PCOLL_TABLE_H
#define PCOLL_TABLE_H

#include "tuning/table/estimates.h"
#include "tuning/table/identity.h"

struct pcoll_table;
struct pcoll_correction; /* tuning/table/correction.h */

#define PCOLL_TABLE_MAX_BYTES (1u << 20) /* of the text */

/* For calls of `coll` with this many ranks and bytes (as in struct pcoll_signature; both ends
 * included): this algorithm.  Parameters that are 0 stay open. */
struct pcoll_rule {
    enum pcoll_coll coll;
    uint64_t ranks[2], bytes[2];
    const struct pcoll_algorithm *algorithm;
    struct pcoll_params params;
};

/* Parse `text` (the content of file `name`, which is used in messages only).  On failure one line
 * with file, line and key goes to `report` (NULL: silent) and *table_p is left alone:
 * PCOLL_ERR_INVALID, PCOLL_ERR_NOMEM.  The caller owns *table_p and ends it with
 * pcoll_table_destroy. */
enum pcoll_result pcoll_table_parse(const char *name, const char *text, FILE *report,
                                    struct pcoll_table **table_p) PCOLL_MUST_CHECK;
void pcoll_table_destroy(struct pcoll_table *table); /* NULL is fine */

/* The parameters of a medium ("shm"), or NULL when the table has none. */
const struct pcoll_machine *pcoll_table_machine(const struct pcoll_table *table,
                                                const char *medium);

/* The same at a level: what the table does not tell of it is the medium's own. */
const struct pcoll_machine *pcoll_table_level(const struct pcoll_table *table, const char *medium,
                                              enum pcoll_level level);

/* What the table itself says of a medium (PCOLL_LEVEL_ANY) or one of its levels; NULL: nothing. */
const struct pcoll_estimates *pcoll_table_estimates(const struct pcoll_table *table,
                                                    const char *medium, enum pcoll_level level);

/* Give a medium these estimates in place of what it had, or add it.  A level of which nothing is
 * given is left out; of the medium itself all that is required must be given. */
enum pcoll_result
pcoll_table_set(struct pcoll_table *table, const char *medium,
                const struct pcoll_estimates estimates[PCOLL_NUM_LEVELS]) PCOLL_MUST_CHECK;

/* What it was made for; to be changed as well. */
struct pcoll_identity *pcoll_table_identity(struct pcoll_table *table);
enum pcoll_result pcoll_table_describe(struct pcoll_table *table,
                                       const char *description) PCOLL_MUST_CHECK;

/* The rules in the order of the file. */
const struct pcoll_rule *pcoll_table_rules(const struct pcoll_table *table, size_t *count_p);

void pcoll_table_drop_rules(struct pcoll_table *table);

/* The calibration factor for the candidate and shape of `about`, whose points do not count: of the
 * correction that fits it and names most of its parameters; 1 where nobody measured.
 * *tells_apart_p, which may be NULL: there are corrections that name slots or rails. */
double pcoll_table_factor(const struct pcoll_table *table, const struct pcoll_correction *about,
                          uint64_t bytes, int *tells_apart_p);

/* Add a correction, or put it in place of the one of the same candidate and shape. */
enum pcoll_result pcoll_table_correct(struct pcoll_table *table,
                                      const struct pcoll_correction *correction) PCOLL_MUST_CHECK;

/* Read the file at `path` into *text_p, to be ended with free(); for one rank, which then hands
 * the text to all.  One line to `report` and PCOLL_ERR_SYSTEM when it cannot be read,
 * PCOLL_ERR_INVALID when it is too long or holds a NUL; then *text_p is left alone. */
enum pcoll_result pcoll_table_read(const char *path, FILE *report, char **text_p) PCOLL_MUST_CHECK;

/* Write it as JSON that pcoll_table_parse reads back to the same.  PCOLL_ERR_SYSTEM: errno of the
 * stream. */
enum pcoll_result pcoll_table_write(const struct pcoll_table *table, FILE *out) PCOLL_MUST_CHECK;

/* The JSON text that is compiled in. */
extern const char pcoll_tuning_default_json[];

#endif /* PCOLL_TABLE_H */
