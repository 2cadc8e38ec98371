/* Memory that the ranks of this node share. */

#ifndef NODE_BLOCKS_H_INCLUDED
#define NODE_BLOCKS_H_INCLUDED

#include <stdint.h>

/* Differs for different texts, except by accident (FNV-1a); NULL is "". */
uint64_t MPIDI_PCOLL_hash(const char *text);

/* Open it, unless it is open. Returns an errno. */
int MPIDI_PCOLL_node_blocks_open(void);

enum { MPIDI_PCOLL_NODE_BLOCK_BYTES = 64 };

/* That rank's block, zero at first; NULL: this rank is alone on its node, or has not been able to
 * open the memory. */
void *MPIDI_PCOLL_node_block(int local_rank);

#endif /* NODE_BLOCKS_H_INCLUDED */
