/* The collectives that run as plans deliver the right data: sizes around the protocol boundaries,
 * every root, in place, several starts of every plan.
 *
 *   -max=BYTES (4 MiB)   -starts=N (4)   -only=barrier,bcast,allgather,gather,scatter,alltoall,
 *   allreduce */

#include "trial.h"

static const size_t sizes[] = {0,     1,     3,     8,      31,     47,      48,      49,
                               55,    56,    57,    63,     64,     65,      127,     1000,
                               4032,  4095,  4096,  4097,   8191,   8192,    8193,    16385,
                               65535, 65536, 65537, 131072, 200001, 1048575, 1048577, 4194304};

static int starts;

static void try(enum trial_kind kind, size_t bytes, int root)
{
    int times = bytes > 200001 && starts > 2 ? 2 : starts;
    struct trial t;

    if (!trial_wanted(kind))
        return;
    check_phase("%s of %zu bytes, root %d", trial_name(kind), bytes, root);
    trial_init(&t, kind, bytes, root, bytes + (uint64_t)root, MPI_COMM_WORLD, MPI_INFO_NULL);
    trial_run(&t, times);
    trial_free(&t);
}

/* All roots if that is cheap, otherwise one that changes with the size. */
static void try_roots(enum trial_kind kind, size_t bytes)
{
    if (bytes <= 8193)
        for (int root = 0; root < check.size; root++)
            try(kind, bytes, root);
    else
        try(kind, bytes, (int)(bytes % 7) % check.size);
    if (kind == TRIAL_BCAST)
        try(kind, bytes, check.size - 1);
}

int main(int argc, char **argv)
{
    size_t max;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    starts = (int)check_number("starts", 4);
    max = (size_t)check_number("max", 4 << 20);
    try(TRIAL_BARRIER, 0, 0);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && sizes[i] <= max; i++) {
        try_roots(TRIAL_BCAST, sizes[i]);
        try(TRIAL_ALLREDUCE, sizes[i], 0);
        try(TRIAL_ALLREDUCE_IN_PLACE, sizes[i], 0);
        /* all blocks together are at most twice as long as requested */
        if (sizes[i] * (size_t)check.size > 2 * max && i > 0)
            continue;
        try(TRIAL_ALLGATHER, sizes[i], 0);
        try(TRIAL_ALLGATHER_IN_PLACE, sizes[i], 0);
        for (enum trial_kind kind = TRIAL_GATHER; kind <= TRIAL_SCATTER_IN_PLACE; kind++)
            try_roots(kind, sizes[i]);
        try(TRIAL_ALLTOALL, sizes[i], 0);
        try(TRIAL_ALLTOALL_IN_PLACE, sizes[i], 0);
    }
    return check_done();
}
