/* Only rank 0 sends, the same block to all, itself included, and its type has gaps on both sides.
 * So the copy to itself may be its only work: what others read must be packed all the same. */

#include "collectives.h"
#include "topology.h"

enum { INTS = 16, STARTS = 3, STRIDE = 2, HOLE = -1 };

static const enum coll colls[] = {COLL_ALLGATHERV,          COLL_ALLTOALLV,
                                  COLL_ALLTOALLW,           COLL_NEIGHBOR_ALLGATHER,
                                  COLL_NEIGHBOR_ALLGATHERV, COLL_NEIGHBOR_ALLTOALLV,
                                  COLL_NEIGHBOR_ALLTOALLW};
static const char *const algorithms[] = {NULL, "direct", "direct_get"};

/* The same block n times; count 0 where nothing is sent. */
static struct side side_of(int *buffer, int n, int count, MPI_Datatype type)
{
    struct side side = {buffer, n, calloc((size_t)n + 1, sizeof(struct block))};

    for (int i = 0; i <= n; i++)
        side.blocks[i] = (struct block){0, count, type};
    return side;
}

static void run(MPI_Request *request, int *send, int *receive)
{
    for (int step = 0; step < STARTS; step++) {
        int wrong = 0;

        for (int i = 0; i < INTS * STRIDE; i++) {
            send[i] = check.rank == 0 ? 1000 * (step + 1) + i : HOLE;
            receive[i] = HOLE;
        }
        check_delay();
        MPI(MPI_Start(request));
        MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
        for (int i = 0; i < INTS * STRIDE; i++)
            wrong += receive[i] != (i % STRIDE == 0 ? 1000 * (step + 1) + i : HOLE);
        if (wrong)
            check_fail(__FILE__, __LINE__, "start %d: %d ints are wrong", step, wrong);
    }
}

static void try(enum coll coll, const char *algorithm)
{
    const int is_neighbor = coll_has(coll, NEIGHBOR), is_sender = check.rank == 0;
    int send[INTS * STRIDE], receive[INTS * STRIDE];
    struct edges edges;
    struct call call = {.coll = coll, .comm = MPI_COMM_WORLD, .info = MPI_INFO_NULL};
    MPI_Datatype type;
    MPI_Request request;

    check_phase("%s, %s", collectives[coll].name, algorithm ? algorithm : "any algorithm");
    MPI(MPI_Type_vector(INTS, 1, STRIDE, MPI_INT, &type));
    MPI(MPI_Type_commit(&type));
    if (is_neighbor)
        call.comm = topology_star(MPI_COMM_WORLD, 0, 1, &edges);
    if (algorithm != NULL)
        call.info = call_algorithm(algorithm);
    call.send = side_of(
        send, coll_blocks(collectives[coll].sends, 0, check.size, is_neighbor ? edges.nout : 0),
        is_sender, type);
    call.receive = side_of(receive, is_neighbor ? edges.nin : check.size, is_neighbor, type);
    call.receive.blocks[0].count = 1;
    MPI(call_init(&call, &request));
    MPI(MPI_Type_free(&type));
    run(&request, send, receive);
    MPI(MPI_Request_free(&request));
    call_free(&call);
    free(call.send.blocks);
    free(call.receive.blocks);
    if (algorithm != NULL)
        MPI(MPI_Info_free(&call.info));
    if (is_neighbor)
        MPI(MPI_Comm_free(&call.comm));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    for (size_t i = 0; i < sizeof(colls) / sizeof(colls[0]); i++)
        for (size_t k = 0; k < sizeof(algorithms) / sizeof(algorithms[0]); k++)
            try(colls[i], algorithms[k]);
    return check_done();
}
