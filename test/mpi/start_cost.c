/* A thousand plans exist at a time, and all of them work. -v shows the cost of MPI_Start and
 * MPI_Wait with no other plan and with 999 others.
 *
 *   -plans=N (1000)   -starts=N (2000) of each kind that is measured */

#include "trial.h"

enum { BATCHES = 10 };

static struct trial *trials;
static int starts; /* per batch */

/* Microseconds for start and for start + wait; the minimum over several batches. */
static void measure(struct trial *t, const char *how)
{
    double best_start = 1, best_both = 1;

    for (int batch = 0; batch < BATCHES; batch++) {
        double in_start = 0, begin = MPI_Wtime(), end;

        for (int i = 0; i < starts; i++) {
            double before = MPI_Wtime();

            MPI(MPI_Start(&t->request));
            in_start += MPI_Wtime() - before;
            MPI(MPI_Wait(&t->request, MPI_STATUS_IGNORE));
        }
        end = MPI_Wtime();
        in_start /= starts;
        best_start = in_start < best_start ? in_start : best_start;
        best_both = (end - begin) / starts < best_both ? (end - begin) / starts : best_both;
    }
    check_note("%-30s %-15s start %6.3f us, start and wait %6.3f us", trial_name(t->kind), how,
               best_start * 1e6, best_both * 1e6);
}

/* Barrier plans count on their board, which a bare start does not do. */
static void measure_kinds(const char *how, uint64_t tag)
{
    for (int k = 0; k < TRIAL_KINDS; k++) {
        struct trial t;

        trial_init(&t, (enum trial_kind)k, 8, 0, tag, MPI_COMM_WORLD, MPI_INFO_NULL);
        measure(&t, how);
        trial_free(&t);
    }
}

int main(int argc, char **argv)
{
    int plans;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    plans = (int)check_number("plans", 1000);
    starts = (int)check_number("starts", 700) / BATCHES;
    trials = malloc((size_t)plans * sizeof(*trials));
    measure_kinds("alone", 1);
    check_phase("%d plans", plans);
    for (int i = 0; i < plans; i++)
        trial_init(&trials[i], (enum trial_kind)(i % TRIAL_KINDS), (size_t)(i % 300),
                   i % check.size, (uint64_t)i, MPI_COMM_WORLD, MPI_INFO_NULL);
    measure_kinds("beside others", 2);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < plans; i++)
            trial_start(&trials[i]);
        for (int i = plans - 1; i >= 0; i--)
            trial_wait(&trials[i]);
    }
    for (int i = 0; i < plans; i++)
        trial_free(&trials[i]);
    free(trials);
    return check_done();
}
