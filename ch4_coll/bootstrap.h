/* How the ranks of a communicator reach each other before a medium works. */

#ifndef BOOTSTRAP_H_INCLUDED
#define BOOTSTRAP_H_INCLUDED

#include "mpidimpl.h"

#include "offload/bootstrap.h"

/* Its context is the communicator; its topology and coop_from are not known yet. */
struct pcoll_bootstrap MPIDI_PCOLL_bootstrap(MPIR_Comm *comm);

#endif /* BOOTSTRAP_H_INCLUDED */
