/* Vectors of a reduction whose elements have gaps or overlap.
 *
 * An operator must find each element as its type lays it out, so packed bytes will not do. Instead,
 * a plan works on vectors of spans: a span has room for one element, with its gaps, and vectors are
 * cut between spans only. Spans lie like the user's elements, so that an operator can take many at
 * once, unless those overlap, run backwards, have their lower bound at an address of another
 * alignment, or are mostly gaps outside of the data: then each element is reduced by itself.
 * What moves may carry the bytes of gaps. Only the typed copy writes the user's memory, and leaves
 * its gaps alone. */

#ifndef SPANS_H_INCLUDED
#define SPANS_H_INCLUDED

#include "mpidimpl.h"

/* Contiguous bytes of an element. */
struct MPIDI_PCOLL_span_block {
    MPI_Aint at; /* relative to the address of the element */
    size_t bytes;
};

struct MPIDI_PCOLL_spans {
    MPI_Aint unit;   /* bytes of a span */
    MPI_Aint shift;  /* the address of an element is that of its span less this */
    MPI_Aint extent; /* of the type */
    bool is_regular; /* unit == extent: spans lie like elements */
    MPI_Aint nblocks;
    struct MPIDI_PCOLL_span_block *blocks; /* [nblocks] */
};

/* Of a derived type with size > 0. Returns an MPI error code. */
int MPIDI_PCOLL_spans_create(MPI_Datatype type, struct MPIDI_PCOLL_spans **spans_p);
void MPIDI_PCOLL_spans_destroy(struct MPIDI_PCOLL_spans *spans); /* NULL: nothing */

/* Copy `count` elements at `user` into the spans of `vector`, or back. Gaps stay as they are. */
void MPIDI_PCOLL_spans_fill(const struct MPIDI_PCOLL_spans *spans, char *vector, const char *user,
                            MPI_Aint count);
void MPIDI_PCOLL_spans_empty(const struct MPIDI_PCOLL_spans *spans, const char *vector, char *user,
                             MPI_Aint count);

#endif /* SPANS_H_INCLUDED */
