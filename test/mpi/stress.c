/* Random plans on random communicators, started, completed and freed in random order. All ranks
 * draw the same operations; each performs them in an order of its own.
 *
 *   -seconds=N (10)  -seed=N */

#include "trial.h"

enum { COMMS = 6, PLANS = 40 };

/* live == 0 if this rank does not belong to the slot's communicator. */
struct slot {
    struct trial trial;
    int live;
};

static MPI_Comm comms[COMMS];
static struct slot slots[PLANS];

static unsigned draw(unsigned below)
{
    return (unsigned)(check_random(&check.shared) % below);
}

static void renew_comm(int i)
{
    unsigned how = draw(4);

    if (comms[i] != MPI_COMM_NULL)
        MPI(MPI_Comm_free(&comms[i]));
    if (how == 0)
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    else if (how == 1)
        MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -check.rank, &comms[i]));
    else if (how == 2)
        MPI(MPI_Comm_split(MPI_COMM_WORLD, check.rank % 2, check.rank, &comms[i]));
    else
        MPI(MPI_Comm_split(MPI_COMM_WORLD,
                           check.rank == (int)draw((unsigned)check.size) ? MPI_UNDEFINED : 0,
                           check.rank, &comms[i]));
}

static size_t draw_bytes(void)
{
    static const unsigned most[] = {1, 64, 100, 5000, 70000, 300000};

    return draw(most[draw(6)]);
}

static void renew_plan(struct slot *slot, uint64_t tag)
{
    enum trial_kind kind = (enum trial_kind)draw(TRIAL_KINDS);
    MPI_Comm comm = comms[draw(COMMS)];
    size_t bytes = draw_bytes();
    unsigned root = draw(1 << 20);
    int size;

    if (slot->live)
        trial_free(&slot->trial);
    slot->live = comm != MPI_COMM_NULL;
    if (!slot->live)
        return;
    MPI_Comm_size(comm, &size);
    trial_init(&slot->trial, kind, bytes, (int)root % size, tag, comm, MPI_INFO_NULL);
}

static void shuffle(int *order, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(check_random(&check.local) % (unsigned)(i + 1)), kept = order[i];

        order[i] = order[j];
        order[j] = kept;
    }
}

/* Draws which plans take part; returns how many of those this rank has. */
static int choose(int *order)
{
    int n = 0;

    for (int i = 0; i < PLANS; i++)
        if (draw(2) && slots[i].live)
            order[n++] = i;
    return n;
}

static void complete(int *order, int n)
{
    for (int i = 0; i < n; i++) {
        struct trial *t = &slots[order[i]].trial;
        int flag = 0;

        while (check_random(&check.local) % 4 == 0 && !flag)
            MPI(MPI_Test(&t->request, &flag, MPI_STATUS_IGNORE));
        if (flag)
            trial_verify(t);
        else
            trial_wait(t);
    }
}

static void round_of_starts(void)
{
    int order[PLANS], n = choose(order);

    for (unsigned times = 1 + draw(3); times > 0; times--) {
        shuffle(order, n);
        for (int i = 0; i < n; i++) {
            check_delay();
            trial_start(&slots[order[i]].trial);
        }
        shuffle(order, n);
        complete(order, n);
    }
}

static int time_left(double end)
{
    int left = MPI_Wtime() < end;

    MPI_Bcast(&left, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return left;
}

int main(int argc, char **argv)
{
    double end;
    uint64_t round = 0;

    check_init(&argc, &argv, MPI_THREAD_SINGLE);
    end = MPI_Wtime() + (double)check_number("seconds", 10);
    for (int i = 0; i < COMMS; i++) {
        comms[i] = MPI_COMM_NULL;
        renew_comm(i);
    }
    for (int i = 0; i < PLANS; i++)
        renew_plan(&slots[i], (uint64_t)i);
    for (; time_left(end); round++) {
        check_phase("round %llu", (unsigned long long)round);
        for (int i = 0; i < 3; i++)
            round_of_starts();
        renew_comm((int)draw(COMMS));
        for (int i = 0; i < 4; i++)
            renew_plan(&slots[draw(PLANS)], round * 100 + (uint64_t)i);
    }
    check_note("%llu rounds", (unsigned long long)round);
    for (int i = 0; i < PLANS; i++)
        if (slots[i].live)
            trial_free(&slots[i].trial);
    for (int i = 0; i < COMMS; i++)
        if (comms[i] != MPI_COMM_NULL)
            MPI(MPI_Comm_free(&comms[i]));
    return check_done();
}
