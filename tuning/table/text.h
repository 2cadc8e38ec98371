/*
 * JSON text beside the objects that json-c made of it, for what json-c does not tell: the line of
 * a member, and members given twice.
 */
#ifndef PCOLL_TEXT_H
#define PCOLL_TEXT_H

#include "algorithms/algorithm.h"

#include <stddef.h>

/* A place in NUL-terminated text.  The functions below expect text that json-c has accepted in
 * strict mode; on any other they stop at the NUL at the latest. */
struct pcoll_text {
    const char *at;
    int line; /* from 1 */
};

/* From an object or array to its first member or element, or its closing bracket. */
void pcoll_text_enter(struct pcoll_text *text);

/* From a member to its value.  The key as written, without quotes, is *key_p[0 .. return). */
size_t pcoll_text_key(struct pcoll_text *text, const char **key_p);

/* From a value to the next member or element, or the closing bracket. */
void pcoll_text_skip(struct pcoll_text *text);

/* Go `bytes` forward, or to the NUL. */
void pcoll_text_advance(struct pcoll_text *text, size_t bytes);

/* Copy at most `length` bytes of `from` to `to`, which holds `size` > 0, for use in a message: the
 * rest is cut off, what is not printable ASCII becomes '?'. */
void pcoll_text_quote(char *to, size_t size, const char *from, size_t length);

/* The names of a collective's algorithms, "a, b, c", in table order. */
void pcoll_text_names(enum pcoll_coll coll, char *to, size_t size);

#endif /* PCOLL_TEXT_H */
