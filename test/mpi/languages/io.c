/* Collective files (ROMIO) while plans are active: a matrix whose blocks all ranks write and read
 * through views, which are derived datatypes, with a broadcast and an allreduce started before and
 * completed behind each call. Every second time, the file operation is a nonblocking one. */

#include "../check.h"

enum { BLOCK = 100, ROUNDS = 8 };

struct work {
    double sent[BLOCK], summed[BLOCK]; /* allreduce */
    int told[BLOCK];                   /* bcast */
    MPI_Request plans[2];
};

static void create(struct work *w)
{
    struct check_init_counts before;

    check_want_begin(&before);
    MPI(MPI_Allreduce_init(w->sent, w->summed, BLOCK, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &w->plans[0]));
    check_want_end(&before, "Allreduce_init", 1);
    check_want_begin(&before);
    MPI(MPI_Bcast_init(w->told, BLOCK, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &w->plans[1]));
    check_want_end(&before, "Bcast_init", 1);
}

static void begin(struct work *w, int round)
{
    for (int i = 0; i < BLOCK; i++) {
        w->sent[i] = round + i;
        w->told[i] = check.rank == 0 ? round * 1000 + i : -1;
    }
    check_poison(w->summed, sizeof(w->summed));
    MPI(MPI_Startall(2, w->plans));
    check_delay();
}

static void complete(struct work *w, int round)
{
    int wrong = 0;

    MPI(MPI_Waitall(2, w->plans, MPI_STATUSES_IGNORE));
    for (int i = 0; i < BLOCK; i++)
        wrong += w->summed[i] != (double)check.size * (round + i) || w->told[i] != round * 1000 + i;
    CHECK(wrong == 0);
}

/* Element i of this rank's block lies at i * size + rank. */
static MPI_File open_with_view(const char *name)
{
    MPI_Datatype strided;
    MPI_File file;

    MPI(MPI_File_open(MPI_COMM_WORLD, name,
                      MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file));
    MPI(MPI_Type_vector(BLOCK, 1, check.size, MPI_INT, &strided));
    MPI(MPI_Type_commit(&strided));
    MPI(MPI_File_set_view(file, (MPI_Offset)check.rank * (MPI_Offset)sizeof(int), MPI_INT, strided,
                          "native", MPI_INFO_NULL));
    MPI(MPI_Type_free(&strided));
    return file;
}

static void transfer(MPI_File file, int *block, int writes, int nonblocking)
{
    MPI_Request request;

    if (!nonblocking && writes)
        MPI(MPI_File_write_at_all(file, 0, block, BLOCK, MPI_INT, MPI_STATUS_IGNORE));
    else if (!nonblocking)
        MPI(MPI_File_read_at_all(file, 0, block, BLOCK, MPI_INT, MPI_STATUS_IGNORE));
    else {
        if (writes)
            MPI(MPI_File_iwrite_at_all(file, 0, block, BLOCK, MPI_INT, &request));
        else
            MPI(MPI_File_iread_at_all(file, 0, block, BLOCK, MPI_INT, &request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

/* What the others wrote, without a view. */
static void read_all(MPI_File file, int round)
{
    int *all = check_alloc((size_t)(BLOCK * check.size) * sizeof(int)), wrong = 0;

    MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MPI(MPI_File_read_at_all(file, 0, all, BLOCK * check.size, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < BLOCK * check.size; i++)
        wrong += all[i] != round * 100000 + i;
    CHECK(wrong == 0);
    check_free(all);
}

int main(int argc, char **argv)
{
    static struct work work;
    int block[BLOCK], wrong;
    MPI_File file;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    create(&work);
    for (int round = 0; round < ROUNDS; round++) {
        check_phase("round %d", round);
        file = open_with_view("io.data");
        for (int i = 0; i < BLOCK; i++)
            block[i] = round * 100000 + i * check.size + check.rank;
        begin(&work, round);
        transfer(file, block, 1, round % 2);
        complete(&work, round);
        check_poison(block, sizeof(block));
        begin(&work, -round);
        transfer(file, block, 0, round % 2);
        complete(&work, -round);
        wrong = 0;
        for (int i = 0; i < BLOCK; i++)
            wrong += block[i] != round * 100000 + i * check.size + check.rank;
        CHECK(wrong == 0);
        begin(&work, round + 1);
        read_all(file, round);
        complete(&work, round + 1);
        MPI(MPI_File_close(&file));
    }
    MPI(MPI_Request_free(&work.plans[0]));
    MPI(MPI_Request_free(&work.plans[1]));
    return check_done();
}
