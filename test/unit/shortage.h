/*
 * Allocations, system calls and calls of libfabric that fail on purpose: the n-th from now on,
 * once.
 *
 * The linker leads what this program's own objects call here (--wrap, see sources.mk); what happens
 * inside other libraries is their own.  Not for threads.
 */
#ifndef PCOLL_TEST_SHORTAGE_H
#define PCOLL_TEST_SHORTAGE_H

/* Call number n fails, counted from 0; PCOLL_NONE: none does. */
void shortage_begin(int n);
/* From here on nothing fails; has one? */
int shortage_end(void);

/* What was allocated or mapped by this program's own objects and not given back. */
int shortage_live(void);

#endif /* PCOLL_TEST_SHORTAGE_H */
