/*
 * The edges of a call: the messages of collectives whose blocks differ between ranks.
 *
 * Each rank knows its own edges only. What it needs to know of a peer's end of an edge (where the
 * bytes belong there) the ranks of each edge tell each other at init, so no start exchanges
 * anything, and no rank learns about messages of others. Without `local`, the edges are uniform:
 * every block has signature.bytes bytes, and who sends to whom follows from the collective's
 * pattern. Plans for a million ranks can then be generated, simulated and compared.
 *
 *   pattern           uniform edges
 *   to root           every rank to the root; block i of RECV comes from rank i
 *   from root         the reverse
 *   complete          every rank to every rank, block i of SEND to rank i, block j of RECV from j
 *   spread            the same, but every rank sends the same block to all
 *   torus             every rank to its 6 neighbors on a twisted torus: r - 1, r + 1, r - s, r + s,
 *                     r - s^2, r + s^2 (modulo the number of ranks N) with s = floor(cbrt(N)), in
 *                     this order; as on a Cartesian communicator, the block of slot x arrives in
 *                     slot x ^ 1
 *   spread torus      the same, but every rank sends the same block to all neighbors
 *
 * In pattern spread, blocks may differ: if they lie side by side in RECV of every rank, the
 * signature says where (signature.blocks), and the edges follow from it.
 */
#ifndef PCOLL_EDGES_H
#define PCOLL_EDGES_H

#include <stdbool.h>

#include "algorithms/plan/plan.h"

enum { PCOLL_TORUS_DEGREE = 6 };

extern const struct pcoll_pattern pcoll_pattern_to_root;
extern const struct pcoll_pattern pcoll_pattern_from_root;
extern const struct pcoll_pattern pcoll_pattern_complete;
extern const struct pcoll_pattern pcoll_pattern_spread;
extern const struct pcoll_pattern pcoll_pattern_torus;
extern const struct pcoll_pattern pcoll_pattern_spread_torus;

/* Out edge number i of the rank, to which `local` belongs. Returns false if there are no more. */
bool pcoll_edge_out(const struct pcoll_signature *signature, const struct pcoll_local *local,
                    int rank, int i, struct pcoll_edge *edge_p);

/* The same for in edges. */
bool pcoll_edge_in(const struct pcoll_signature *signature, const struct pcoll_local *local,
                   int rank, int i, struct pcoll_edge *edge_p);

/* Returns signature.degree, also for uniform edges. */
int pcoll_edges_degree(const struct pcoll_signature *signature);

/* Returns one of the signature's volumes, also for uniform edges. */
uint64_t pcoll_edges_volume_of(const struct pcoll_signature *signature, bool is_out);

/* Returns the larger volume. */
uint64_t pcoll_edges_volume(const struct pcoll_signature *signature);

/* The bytes that a rank copies to itself, unless they are part of the volume. */
uint64_t pcoll_edges_kept(const struct pcoll_signature *signature);

/* The bytes of SEND up to the end of the last block. */
uint64_t pcoll_edges_send_bytes(const struct pcoll_signature *signature,
                                const struct pcoll_local *local, int rank);

/* The same of RECV. */
uint64_t pcoll_edges_recv_bytes(const struct pcoll_signature *signature,
                                const struct pcoll_local *local, int rank);

/* Of a rank whose edges are in ascending order of (rank, key): give the in edges their slots, and
 * find out which edges are answered. Then the ranks can tell each other about their edges. */
void pcoll_edges_prepare(const struct pcoll_signature *signature, struct pcoll_local *local,
                         int rank);

/* The number of banks of slots: `slots`, but at most 16 without a root, and fewer if they would
 * take too much memory. 0: two, which suffice if senders also receive, or up to 16 with a root, as
 * a rank that only sends runs ahead. Two for blocks longer than a slot. */
int pcoll_edges_banks(const struct pcoll_signature *signature, int slots);

/* The most bytes that a slot holds, so longer blocks need it several times: PCOLL_EDGE_SLOT, or
 * more where blocks are long and a rank has few edges. All slots should stay in the last cache,
 * unless data has to be packed, which takes longer than they save. */
#define PCOLL_EDGE_SLOT (UINT64_C(64) << 10)
uint64_t pcoll_edges_slot_bytes(const struct pcoll_signature *signature);

/* What a slot takes in a bank for a block of so many bytes, of which it holds slot_bytes at most.
 */
uint64_t pcoll_edge_room(uint64_t slot_bytes, uint64_t bytes);

/* Where an edge's bytes arrive at the receiver in one of the banks: in the cell of counter `bank`,
 * or in TEMP, where the slots of an edge in all banks lie side by side. */
struct pcoll_place pcoll_edge_slot(const struct pcoll_edge *edge, int bank, int nbanks,
                                   uint64_t slot_bytes);

/* The size of this rank's TEMP with slots for all banks. */
uint64_t pcoll_edges_temp(const struct pcoll_signature *signature, const struct pcoll_local *local,
                          int rank, int nbanks);

/* An upper bound of that for all ranks. */
uint64_t pcoll_edges_max_temp(const struct pcoll_signature *signature, int nbanks);

#endif /* PCOLL_EDGES_H */
