/* What MPICH or the user uses between nodes. */

#ifndef NETWORK_H_INCLUDED
#define NETWORK_H_INCLUDED

#include <stdbool.h>

#include "offload/bootstrap.h"

/* MPICH uses UCX, and the user has named no provider of libfabric. */
bool MPIDI_PCOLL_over_ucx(void);

/* For libfabric; NULL: libfabric's own choice. The interface may be a list. */
const char *MPIDI_PCOLL_provider(void);
const char *MPIDI_PCOLL_interface(void);

/* What MPICH lends to the medium over the library that it uses itself; NULL: nothing. */
const struct pcoll_foreign *MPIDI_PCOLL_foreign(void);

/* MPICH has closed it, or will without another use of it here. */
void MPIDI_PCOLL_foreign_ends(void);

#endif /* NETWORK_H_INCLUDED */
