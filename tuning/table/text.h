/*
 * JSON text beside the objects that json-c makes of it, for what json-c does not report: the line
 * of a member, and repeated members.
 */
#ifndef PCOLL_TEXT_H
#define PCOLL_TEXT_H

#include "algorithms/algorithm.h"

#include <stddef.h>

#define PCOLL_TABLE_MAX_BYTES (1u << 20) /* of the text of a table, or of a node */

/* A position in NUL-terminated text. The functions below expect text that json-c has accepted in
 * strict mode; in any other text they stop at the NUL at the latest. */
struct pcoll_text {
    const char *at;
    int line; /* starting at 1 */
};

/* Move from an object or array to its first member or element, or to its closing bracket. */
void pcoll_text_enter(struct pcoll_text *text);

/* Move from a member to its value. The key as written, without quotes, is *key_p[0 .. return). */
size_t pcoll_text_key(struct pcoll_text *text, const char **key_p);

/* Move from a value to the next member or element, or to the closing bracket. */
void pcoll_text_skip(struct pcoll_text *text);

/* Move `bytes` forward, but not past the NUL. */
void pcoll_text_advance(struct pcoll_text *text, size_t bytes);

/* Copy at most `length` bytes of `from` into `to`, which holds `size` > 0, for use in a message. A
 * longer text is truncated, and characters that are not printable ASCII become '?'. */
void pcoll_text_quote(char *to, size_t size, const char *from, size_t length);

/* Write the names of a collective's algorithms, "a, b, c", in table order. */
void pcoll_text_names(enum pcoll_coll coll, char *to, size_t size);

#endif /* PCOLL_TEXT_H */
