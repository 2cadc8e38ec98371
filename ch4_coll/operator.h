/* What reduces. */

#ifndef OPERATOR_H_INCLUDED
#define OPERATOR_H_INCLUDED

#include "mpidimpl.h"

#include "spans.h"

#include "offload/reduce/operator.h"

struct MPIDI_PCOLL_operator;

/* The operator `op` on elements of `type`, with references to both. Returns why there is none,
 * NULL if there is. */
const char *MPIDI_PCOLL_operator_create(MPI_Op op, MPI_Datatype type,
                                        struct MPIDI_PCOLL_operator **op_p);
void MPIDI_PCOLL_operator_destroy(struct MPIDI_PCOLL_operator *op); /* NULL: nothing */
/* The element that a predefined type consists of, as enum pcoll_element; -1: it is none of them. */
int MPIDI_PCOLL_element_of(MPI_Datatype type);

/* As media see it; NULL for NULL. */
const struct pcoll_operator *MPIDI_PCOLL_operator_base(const struct MPIDI_PCOLL_operator *op);

/* What vectors of its elements consist of, valid as long as the operator; NULL: of the elements
 * themselves, or op is NULL. */
const struct MPIDI_PCOLL_spans *MPIDI_PCOLL_operator_spans(const struct MPIDI_PCOLL_operator *op);

#endif /* OPERATOR_H_INCLUDED */
