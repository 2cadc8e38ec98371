/* Words that all ranks of a communicator share, initially 0; all ranks must be on one machine. */

#ifndef BOARD_H_INCLUDED
#define BOARD_H_INCLUDED

#include "check.h"

uint32_t *board_map(int words, MPI_Comm comm); /* collective */
void board_unmap(uint32_t *board, int words);  /* local */

#endif /* BOARD_H_INCLUDED */
