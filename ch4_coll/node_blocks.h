/* Memory that the ranks of this node share. */

#ifndef NODE_BLOCKS_H_INCLUDED
#define NODE_BLOCKS_H_INCLUDED

#include <stdint.h>

/* Differs for different texts, except by accident (FNV-1a); NULL is "". */
uint64_t MPIDI_PCOLL_hash(const char *text);

void MPIDI_PCOLL_node_blocks_open(void);

/* That rank's block, of MPIDU_INIT_SHM_BLOCK_SIZE bytes, zero at first; NULL: not opened, or
 * refused. */
void *MPIDI_PCOLL_node_block(int local_rank);

#endif /* NODE_BLOCKS_H_INCLUDED */
