/*
 * The neighborhoods of a periodic 3-D torus: 6 neighbors (MPI_Cart_create) and 26 (a stencil with
 * edges and corners, as a distributed graph). On few ranks neighbors coincide, or are the rank
 * itself.
 *
 * The graph lists as destination `slot` the rank in that direction, and as source `slot` the rank
 * in the opposite one: what a rank sends in one direction arrives in the same slot, also where
 * several edges join two ranks. On a Cartesian communicator it arrives in the opposite slot.
 */
#include "bench.h"

enum { DIMS = 3 };

const int neighborhood_sizes[NUM_NEIGHBORHOODS] = {NUM_FACES, MAX_NEIGHBORS};

void neighborhood_step(const struct neighborhood *hood, int slot, int *step)
{
    int number = slot < hood->n / 2 ? slot : slot + 1; /* the middle is the rank itself */
    for (int dim = DIMS - 1; dim >= 0; dim--, number /= 3) {
        step[dim] = number % 3 - 1;
        if (hood->n == NUM_FACES)
            step[dim] = dim != slot / 2 ? 0 : slot % 2 ? 1 : -1;
    }
}

int neighborhood_arrives(const struct neighborhood *hood, int slot)
{
    return hood->n == NUM_FACES ? slot ^ 1 : slot;
}

static int rank_at(MPI_Comm torus, const int *step, int sign)
{
    int dims[DIMS], periods[DIMS], at[DIMS], rank;
    MPI_Cart_get(torus, DIMS, dims, periods, at);
    for (int dim = 0; dim < DIMS; dim++)
        at[dim] += sign * step[dim];
    MPI_Cart_rank(torus, at, &rank);
    return rank;
}

static struct neighborhood list_neighbors(MPI_Comm torus, int n)
{
    struct neighborhood hood = {.comm = torus, .n = n};
    for (int slot = 0; slot < n; slot++) {
        int step[DIMS];
        neighborhood_step(&hood, slot, step);
        hood.to[slot] = rank_at(torus, step, 1);
        hood.from[slot] = rank_at(torus, step, n == NUM_FACES ? 1 : -1);
    }
    return hood;
}

void neighborhoods_init(struct job *job)
{
    int dims[DIMS] = {0}, periods[DIMS] = {1, 1, 1};
    MPI_Comm torus;
    MPI_Dims_create(job->nranks, DIMS, dims);
    MPI_Cart_create(MPI_COMM_WORLD, DIMS, dims, periods, 0, &torus);
    for (int i = 0; i < NUM_NEIGHBORHOODS; i++)
        job->hoods[i] = list_neighbors(torus, neighborhood_sizes[i]);
    struct neighborhood *stencil = &job->hoods[1];
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, stencil->n, stencil->from, MPI_UNWEIGHTED,
                                   stencil->n, stencil->to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &stencil->comm);
}

void neighborhoods_fini(struct job *job)
{
    for (int i = 0; i < NUM_NEIGHBORHOODS; i++)
        MPI_Comm_free(&job->hoods[i].comm);
}
