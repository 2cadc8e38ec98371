/*
 * The kernel refuses after a while what it allowed when the group was made: access to the memory of
 * other processes. Plans that use it still deliver the right data and start without waiting; later
 * plans learn to do without it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/algorithm.h"
#include "offload/shm/shm.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"
#include "test/unit/trial.h"
#include "test/unit/wraps.h"

static const struct pcoll_medium *const shm = &pcoll_medium_shm;
static _Atomic int *starts;
static int refusal; /* an errno, or 0 */

ssize_t vm_copy(vm_call *call, pid_t pid, const struct iovec *local, const struct iovec *remote)
{
    errno = refusal;
    return refusal ? -1 : call(pid, local, 1, remote, 1, 0);
}

struct trial {
    const struct pcoll_algorithm *row;
    int nranks, refused; /* the rank that loses access; PCOLL_NONE: all ranks */
    int error;
    uint64_t bytes;
};

/* The other ranks do nothing in the meantime, so a start that waits for them never returns. */
static int start_alone(struct meeting *meeting, struct part *p)
{
    int wrong = 0;

    for (int r = 0; r < p->signature.nranks; r++) {
        if (r == p->rank)
            wrong = part_start(p);
        meeting_barrier(meeting);
    }
    return wrong || part_wait(p);
}

static int exercise(struct meeting *meeting, struct part *p, const struct trial *trial)
{
    int wrong = part_bind(p) != PCOLL_OK;

    wrong = wrong || part_run(p, 3);
    meeting_barrier(meeting);
    if (trial->refused == PCOLL_NONE || trial->refused == p->rank)
        refusal = trial->error;
    wrong = wrong || part_run(p, 5);
    meeting_barrier(meeting);
    wrong = wrong || start_alone(meeting, p);
    wrong = wrong || part_run(p, 5) || part_move(p) != PCOLL_OK || part_run(p, 5);
    part_unbind(p);
    return wrong;
}

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct trial *trial = argument;
    struct attendee attendee = {.meeting = meeting, .rank = rank};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct pcoll_params params = {.path = PCOLL_PATH_USER};
    struct part p = {
        .medium = shm,
        .signature = {trial->row->coll, trial->nranks, trial->nranks - 1, trial->bytes, 0},
        .rank = rank,
        .seed = (unsigned)rank + 1,
        .starts = starts,
    };
    enum pcoll_result made;
    int wrong;

    alarm(120);
    if (!pcoll_coll_has(trial->row->coll, PCOLL_ROOTED))
        p.signature.root = 0;
    if (trial->row->uses_segment)
        params.segment = trial->bytes / 3 + 1;
    if (shm->group_create(&bootstrap, &p.group) != PCOLL_OK)
        return 1;
    made = part_init(&p, trial->row, &params);
    wrong = made != PCOLL_OK && made != PCOLL_UNSUPPORTED;
    if (made == PCOLL_OK)
        wrong = exercise(meeting, &p, trial);
    meeting_barrier(meeting);
    if (trial->refused == PCOLL_NONE && made == PCOLL_OK && p.plan->needs & PCOLL_NEED_USER_RMA &&
        shm->group_provides(p.group) & PCOLL_NEED_USER_RMA) {
        printf("# rank %d: the group still promises user memory of others\n", rank);
        wrong = 1;
    }
    shm->group_destroy(p.group);
    part_fini(&p);
    return wrong;
}

static void check_row(const struct pcoll_algorithm *row)
{
    static const uint64_t sizes[] = {1000, 150000};
    static const struct {
        int nranks, refused, error;
    } cases[] = {{2, 0, EPERM}, {2, 1, ENOSYS}, {3, PCOLL_NONE, EPERM}, {5, PCOLL_NONE, EACCES}};

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        int failed = 0;

        if (cases[c].nranks == 5 && tap_depth() < TAP_FULL)
            continue; /* as with 3 ranks */
        if (cases[c].error == ENOSYS && tap_depth() == TAP_BRIEF)
            continue; /* as EPERM */
        for (size_t i = cases[c].nranks > 2 && tap_depth() == TAP_BRIEF;
             i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            struct trial trial = {row, cases[c].nranks, cases[c].refused, cases[c].error, sizes[i]};

            failed += meeting_run_processes(trial.nranks, rank_main, &trial);
        }
        tap_ok(failed == 0, "%s %s on %d ranks, %s by and by: %s", pcoll_coll_name(row->coll),
               row->name, cases[c].nranks,
               cases[c].refused == PCOLL_NONE ? "all refused" : "one refused",
               strerror(cases[c].error));
    }
}

int main(void)
{
    struct meeting *page = meeting_create(0); /* any shared page will do */

    starts = (_Atomic int *)(void *)page;
    for (const struct pcoll_algorithm *const *row = pcoll_algorithms; *row; row++)
        if ((*row)->paths & 1u << PCOLL_PATH_USER &&
            !pcoll_coll_has((*row)->coll, PCOLL_SYNCHRONIZES))
            check_row(*row);
    meeting_destroy(page);
    return tap_done();
}
