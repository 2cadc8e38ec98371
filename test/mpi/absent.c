/* Progress without the CPU: the absent rank starts a plan and computes, making no MPI call, until
 * all other ranks have started too and have returned from their MPI_Wait.
 *
 *      absent rank   Start - computes, looking at the board --------- Wait
 *      each other          Start ----- Wait - writes on the board   ^ all have written
 *
 * The test relies on this order of events: the other ranks can only complete if the network alone
 * performs the entries of the absent rank's plan. Where those entries need the rank's CPU, no rank
 * completes until the absent rank gives up, after a time limit that only bounds the test.
 *
 * A plan that copies within a rank's own memory needs the rank's CPU on any medium, so choose
 * algorithms that do not copy.
 *
 *   -absent=RANK     only this rank is absent; otherwise each rank in turn
 *   -only=LIST of collectives (barrier, bcast)   -bytes=N (8, 5000, 70000)
 *   -needs-cpu       the absent rank must give up: the medium progresses in software
 *   -dies            at its third absence the rank is killed */

#include "board.h"
#include "trial.h"
#include <signal.h>
#include <time.h>

enum { STARTS = 5, PATIENCE = 20, PATIENCE_IN_VAIN = 1 };

/* [rank]: how many starts it has begun and how many it has completed; all ranks share this
 * memory */
static uint32_t *begun, *through;
static uint32_t start_number;
static int needs_cpu, absences;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int others_are_through(void)
{
    for (int r = 0; r < check.size; r++)
        if (r != check.rank && __atomic_load_n(&through[r], __ATOMIC_ACQUIRE) < start_number)
            return 0;
    return 1;
}

/* A rank that has failed once does not wait that long again. */
static double patience(void)
{
    return check.errors > 0 ? 0 : needs_cpu ? PATIENCE_IN_VAIN : PATIENCE;
}

/* Computes without an MPI call. */
static void compute(void)
{
    double end = now() + patience();
    volatile uint64_t state = 1;

    while (!others_are_through() && now() < end)
        for (int i = 0; i < 1000; i++)
            state = state * 0xD1342543DE82EF95u + 1;
}

static void be_absent(void)
{
    int others;

    if (++absences == 3 && check_option("dies") != NULL)
        raise(SIGKILL);
    compute();
    others = others_are_through();
    if (needs_cpu && others)
        check_fail(__FILE__, __LINE__, "the others came through without this rank's CPU");
    else if (!needs_cpu && !others)
        check_fail(__FILE__, __LINE__, "not without this rank's CPU");
}

static void set(uint32_t *word)
{
    __atomic_store_n(word, start_number, __ATOMIC_RELEASE);
}

/* A rank that waits for the absent rank to start helps it to complete its previous start. */
static void follow(int absent)
{
    int flag;

    while (__atomic_load_n(&begun[absent], __ATOMIC_ACQUIRE) < start_number)
        MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
}

static void one_start(struct trial *t, int absent)
{
    start_number++;
    if (check.rank != absent)
        follow(absent);
    trial_start(t);
    set(&begun[check.rank]);
    if (check.rank == absent)
        be_absent();
    trial_wait(t);
    set(&through[check.rank]);
}

/* Without an option two collectives; in place if that is possible, as others copy what a rank has
 * for itself. */
static int is_meant(enum trial_kind kind)
{
    const int is_last =
        kind + 1 == TRIAL_KINDS || trial_coll((enum trial_kind)(kind + 1)) != trial_coll(kind);

    if (check_option("only") == NULL)
        return kind == TRIAL_BARRIER || kind == TRIAL_BCAST;
    return is_last && trial_wanted(kind);
}

static void many_starts(enum trial_kind kind, size_t bytes)
{
    int only = (int)check_number("absent", -1);
    int starts = needs_cpu && check_option("dies") == NULL ? 1 : STARTS;
    struct trial t;

    if (!is_meant(kind))
        return;
    trial_init(&t, kind, bytes, 0, bytes, MPI_COMM_WORLD, MPI_INFO_NULL);
    for (int absent = 0; absent < check.size; absent++)
        for (int i = 0; i < starts && (only < 0 || only == absent); i++) {
            check_phase("%s of %zu bytes without rank %d, start %d", trial_name(kind), bytes,
                        absent, i);
            one_start(&t, absent);
        }
    trial_free(&t);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 5000, 70000};
    size_t bytes;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    needs_cpu = check_option("needs-cpu") != NULL;
    bytes = (size_t)check_number("bytes", 0);
    begun = board_map(2 * check.size, MPI_COMM_WORLD);
    through = begun + check.size;
    for (int kind = 0; kind < TRIAL_KINDS; kind++)
        for (int i = 0; i < (kind == TRIAL_BARRIER ? 1 : 3); i++)
            if (kind == TRIAL_BARRIER || bytes == 0 || bytes == sizes[i])
                many_starts((enum trial_kind)kind, kind == TRIAL_BARRIER ? 0 : sizes[i]);
    board_unmap(begun, 2 * check.size);
    return check_done();
}
