/* Which ranks MPICH takes for neighbors in one node; these and no others have the same processor
 * name.
 *
 *   -nodes=A+B+...   the first A ranks share a node, the next B another, and so on */

#include "check.h"

static int ranks[64], count;

static void read_nodes(const char *text)
{
    char *end;

    for (count = 0; count < 64 && *text != '\0'; count++, text = *end == '+' ? end + 1 : end) {
        ranks[count] = (int)strtol(text, &end, 10);
        if (end == text || ranks[count] < 1) {
            check_fail(__FILE__, __LINE__, "-nodes=%s?", text);
            return;
        }
    }
}

/* The first rank of the node that `rank` should be on, and the number of ranks there. */
static int expected_first(int rank, int *size_p)
{
    int first = 0, i = 0;

    while (i < count && rank >= first + ranks[i])
        first += ranks[i++];
    *size_p = i < count ? ranks[i] : 0;
    return first;
}

static void check_node(void)
{
    int first = check.rank, size, wanted;
    MPI_Comm node;

    MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI(MPI_Comm_size(node, &size));
    MPI(MPI_Bcast(&first, 1, MPI_INT, 0, node));
    if (first != expected_first(check.rank, &wanted) || size != wanted)
        check_fail(__FILE__, __LINE__, "in a node of %d ranks that begins with rank %d", size,
                   first);
    MPI(MPI_Comm_free(&node));
}

static void check_names(void)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "", *all;
    int length, ignored, own;

    MPI(MPI_Get_processor_name(name, &length));
    all = check_alloc((size_t)check.size * sizeof(name));
    MPI(MPI_Allgather(name, sizeof(name), MPI_CHAR, all, sizeof(name), MPI_CHAR, MPI_COMM_WORLD));
    own = expected_first(check.rank, &ignored);
    for (int r = 0; r < check.size; r++) {
        int same = strcmp(name, all + (size_t)r * sizeof(name)) == 0;

        if (same != (expected_first(r, &ignored) == own))
            check_fail(__FILE__, __LINE__, "on %s, rank %d on %s", name, r,
                       all + (size_t)r * sizeof(name));
    }
    check_free(all);
}

int main(int argc, char **argv)
{
    const char *nodes;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    nodes = check_option("nodes");
    read_nodes(nodes != NULL ? nodes : "");
    check_node();
    check_names();
    return check_done();
}
