/*
 * Wisdom: what races have found on a machine, as rules of a tuning table that outlives the jobs
 * (FFTW: wisdom).
 */
#ifndef PCOLL_WISDOM_H
#define PCOLL_WISDOM_H

#include "tuning/table/table.h"

/* Put the rules of the file at `path` before those of `table`. If there is no file, there are no
 * rules. A file that cannot be read, or that another machine or version of this library has
 * written, is named in a line to `report` and ignored: the result is not PCOLL_OK, and the file
 * must not be merged with what is found here. */
enum pcoll_result pcoll_wisdom_read(const char *path, struct pcoll_table *table,
                                    FILE *report) PCOLL_MUST_CHECK;

/* Put rules[0 .. n) before those of the file at `path`, of which the last ones go if there are too
 * many, and name this machine in it. Where there is no file it becomes `base`, which gets these
 * rules and this name, too. Jobs may do so at the same time: each waits, at most some seconds,
 * until no other one writes. On failure one line goes to `report`, unless memory has run out, and
 * the file is as it was before. */
enum pcoll_result pcoll_wisdom_merge(const char *path, struct pcoll_table *base,
                                     const struct pcoll_rule *rules, size_t n,
                                     FILE *report) PCOLL_MUST_CHECK;

#endif /* PCOLL_WISDOM_H */
