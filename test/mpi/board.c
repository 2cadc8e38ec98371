#include "board.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static uint32_t *map_file(int fd, int words)
{
    void *board =
        mmap(NULL, (size_t)words * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    close(fd);
    return board == MAP_FAILED ? NULL : board;
}

uint32_t *board_map(int words, MPI_Comm comm)
{
    char path[] = "/tmp/board-XXXXXX";
    uint32_t *board;
    int rank, fd = -1;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        fd = mkstemp(path);
        if (fd < 0 || ftruncate(fd, (off_t)((size_t)words * sizeof(uint32_t))) != 0)
            check_fail(__FILE__, __LINE__, "no file in /tmp");
    }
    MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, comm);
    if (rank != 0)
        fd = open(path, O_RDWR);
    board = map_file(fd, words);
    if (board == NULL) {
        check_fail(__FILE__, __LINE__, "cannot map %s", path);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(comm);
    if (rank == 0)
        unlink(path);
    return board;
}

void board_unmap(uint32_t *board, int words)
{
    if (board != NULL)
        munmap(board, (size_t)words * sizeof(uint32_t));
}
