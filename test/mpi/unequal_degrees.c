/* The three neighbor alltoallws with int counts where a rank's in- and outdegree differ: rank 0
 * sends to all others, which send nothing. Bindings of MPICH before 4.0.3 read as many counts of
 * one side as the other side has (its issue 6233). */

#include "check.h"

enum { MAX_RANKS = 16 };

/* Every block has other counts than its neighbors. */
static int count_of(int rank)
{
    return 10 + 3 * rank;
}

struct star {
    int nin, nout;
    MPI_Comm comm;
    char *sent[MAX_RANKS], *received;
    int send_counts[MAX_RANKS], receive_counts[1];
    MPI_Aint send_places[MAX_RANKS], receive_places[1];
    MPI_Datatype types[MAX_RANKS];
};

static void star_init(struct star *star)
{
    int center = 0, others[MAX_RANKS];

    star->nin = check.rank == 0 ? 0 : 1;
    star->nout = check.rank == 0 ? check.size - 1 : 0;
    for (int i = 0; i < star->nout; i++) {
        others[i] = i + 1;
        star->send_counts[i] = count_of(i + 1);
        star->sent[i] = check_alloc((size_t)count_of(i + 1));
        MPI(MPI_Get_address(star->sent[i], &star->send_places[i]));
    }
    for (int i = 0; i < MAX_RANKS; i++)
        star->types[i] = MPI_BYTE;
    star->receive_counts[0] = count_of(check.rank);
    star->received = check_alloc((size_t)count_of(check.rank));
    MPI(MPI_Get_address(star->received, &star->receive_places[0]));
    MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, star->nin, &center, MPI_UNWEIGHTED,
                                       star->nout, others, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                       &star->comm));
}

static void star_free(struct star *star)
{
    for (int i = 0; i < star->nout; i++)
        check_free(star->sent[i]);
    check_free(star->received);
    MPI(MPI_Comm_free(&star->comm));
}

static void before(const struct star *star, int step)
{
    for (int i = 0; i < star->nout; i++)
        check_fill(star->sent[i], (size_t)star->send_counts[i],
                   check_key(1, (uint64_t)step, i + 1));
    check_poison(star->received, (size_t)count_of(check.rank));
}

static void after(const struct star *star, int step)
{
    if (star->nin == 1)
        check_compare(star->received, (size_t)count_of(check.rank),
                      check_key(1, (uint64_t)step, check.rank));
}

#define ARGUMENTS                                                                                  \
    MPI_BOTTOM, star->send_counts, star->send_places, star->types, MPI_BOTTOM,                     \
        star->receive_counts, star->receive_places, star->types, star->comm

static void blocking(const struct star *star)
{
    check_phase("blocking");
    before(star, 1);
    MPI(MPI_Neighbor_alltoallw(ARGUMENTS));
    after(star, 1);
}

static void nonblocking(const struct star *star)
{
    MPI_Request request;

    check_phase("nonblocking");
    before(star, 2);
    MPI(MPI_Ineighbor_alltoallw(ARGUMENTS, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    after(star, 2);
}

static void persistent(const struct star *star)
{
    MPI_Request request;

    check_phase("persistent");
    MPI(MPI_Neighbor_alltoallw_init(ARGUMENTS, MPI_INFO_NULL, &request));
    for (int step = 3; step < 6; step++) {
        before(star, step);
        MPI(MPI_Start(&request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        after(star, step);
    }
    MPI(MPI_Request_free(&request));
}

int main(int argc, char **argv)
{
    struct star star;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    if (check.size > MAX_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    star_init(&star);
    blocking(&star);
    nonblocking(&star);
    persistent(&star);
    star_free(&star);
    return check_done();
}
