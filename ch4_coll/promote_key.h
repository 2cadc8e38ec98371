/* Keys of ordinary calls: what a call shares with the calls that its plan also serves. All ranks
 * find the same one. */

#ifndef PROMOTE_KEY_H_INCLUDED
#define PROMOTE_KEY_H_INCLUDED

#include "mpidimpl.h"

#include "algorithms/plan/collective.h"

/* 0: no plan serves the call. Its class follows from `bytes`, those of the message or of the
 * longest block, which are the same on all ranks, or of a barrier 1. A long call has a key of its
 * own length. */
uint64_t MPIDI_PCOLL_key(enum pcoll_coll coll, int root, MPI_Aint bytes);

/* The same of a reduction, whose class holds whole elements. */
uint64_t MPIDI_PCOLL_reduction_key(enum pcoll_coll coll, int root, MPI_Aint bytes, MPI_Op op,
                                   MPI_Datatype type, int nranks);

enum pcoll_coll MPIDI_PCOLL_key_coll(uint64_t key);
int MPIDI_PCOLL_key_root(uint64_t key);

bool MPIDI_PCOLL_key_is_long(uint64_t key);

/* Of the class, or of the long call; 0 for a barrier. */
MPI_Aint MPIDI_PCOLL_key_bytes(uint64_t key);

/* Whether a plan also pays where ranks share cores. */
bool MPIDI_PCOLL_key_suits_crowded(uint64_t key);

#endif /* PROMOTE_KEY_H_INCLUDED */
