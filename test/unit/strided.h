/*
 * User memory with gaps, which the medium packs and unpacks.
 */
#ifndef PCOLL_TEST_STRIDED_H
#define PCOLL_TEST_STRIDED_H

#include "offload/medium.h"

struct strided {
    struct pcoll_user_layout layout;
    unsigned char *memory; /* the caller frees it */
    uint64_t bytes;        /* of the data */
    int fails;             /* from now on, pack and unpack do */
};

/* Allocates memory for so many bytes of data; `can_copy`: the layout has a function that copies
 * between two of them. */
enum pcoll_result strided_init(struct strided *s, uint64_t bytes, int can_copy) PCOLL_MUST_CHECK;

/* Fill the gaps and put the data between them; copy the data back, and return nonzero if something
 * was written into a gap. */
void strided_fill(struct strided *s, const unsigned char *data);
int strided_read(const struct strided *s, unsigned char *data);

#endif /* PCOLL_TEST_STRIDED_H */
