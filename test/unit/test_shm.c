/*
 * The shared-memory medium: every algorithm on ranks that are threads, then processes; ranks run
 * ahead, delay at random, and change and poison their buffers between instances.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/algorithm.h"
#include "offload/shm_state.h"
#include "test/unit/meeting.h"
#include "test/unit/tap.h"

struct trial {
    const struct pcoll_algorithm *row;
    struct pcoll_params params;
    int nranks;
    uint64_t bytes;
    int in_place;
    int instances;
    int as_threads;
};

/* One rank's part in a trial. */
struct part {
    const struct trial *trial;
    struct meeting *meeting;
    struct pcoll_signature signature;
    struct pcoll_group *group;
    struct pcoll_plan *plan;
    struct pcoll_bound *bound;
    unsigned char *send, *recv;
    int rank;
    unsigned seed;
    _Atomic int *starts; /* barrier: how often each rank started */
};

static const struct pcoll_medium *const shm = &pcoll_medium_shm;

static unsigned char byte_of(int rank, int instance, uint64_t i)
{
    return (unsigned char)((uint64_t)rank * 37 + (uint64_t)instance * 101 + i * 7 + i / 256 + 1);
}

static void fill(struct part *p, int instance)
{
    uint64_t blocks = p->signature.coll == PCOLL_ALLGATHER ? (uint64_t)p->signature.nranks : 1;

    memset(p->recv, 0xee, blocks * p->signature.bytes);
    for (uint64_t i = 0; i < p->signature.bytes; i++)
        p->send[i] = byte_of(p->rank, instance, i);
}

static int wrong_bytes(const unsigned char *got, int owner, int instance, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (got[i] != byte_of(owner, instance, i)) {
            printf("# byte %lu from rank %d in instance %d: %02x, not %02x\n", (unsigned long)i,
                   owner, instance, got[i], byte_of(owner, instance, i));
            return 1;
        }
    return 0;
}

static int check(const struct part *p, int instance)
{
    const struct pcoll_signature *sig = &p->signature;
    int wrong = 0;

    if (sig->coll == PCOLL_BCAST && p->rank != sig->root)
        return wrong_bytes(p->recv, sig->root, instance, sig->bytes);
    if (sig->coll == PCOLL_ALLGATHER)
        for (int r = 0; r < sig->nranks; r++)
            wrong += wrong_bytes(p->recv + (uint64_t)r * sig->bytes, r, instance, sig->bytes);
    if (sig->coll == PCOLL_BARRIER)
        for (int r = 0; r < sig->nranks; r++)
            wrong += atomic_load(&p->starts[r]) <= instance;
    return wrong;
}

static void dawdle(struct part *p)
{
    for (int n = rand_r(&p->seed) % 8 == 0 ? rand_r(&p->seed) % 20 : 0; n > 0; n--)
        sched_yield();
}

static enum pcoll_result run_instance(struct part *p, int instance)
{
    enum pcoll_result result;

    fill(p, instance);
    atomic_fetch_add(&p->starts[p->rank], 1);
    result = shm->start(p->bound);
    dawdle(p);
    for (int polls = 0; result == PCOLL_PENDING; polls++) {
        result = polls % 2 ? shm->progress(p->bound) : shm->spin(p->bound, 5);
        if (result == PCOLL_PENDING)
            shm->rest(p->bound, polls > 50 ? 100 : 0);
    }
    return result;
}

static int run_plan(struct part *p)
{
    int wrong = 0;

    for (int instance = 0; instance < p->trial->instances && !wrong; instance++) {
        wrong = run_instance(p, instance) != PCOLL_OK || check(p, instance);
        memset(p->send, 0x55, p->signature.bytes);
        dawdle(p);
    }
    return wrong;
}

/* Bind and run twice: the second time in the block that the first gave back. */
static int run_part(struct part *p)
{
    struct pcoll_memory memory = {p->send, p->recv};
    int wrong = 0;

    for (int round = 0; round < 2 && !wrong; round++) {
        atomic_store(&p->starts[p->rank], 0);
        meeting_barrier(p->meeting);
        if (shm->bind(p->group, p->plan, &memory, &p->bound) != PCOLL_OK)
            return 1;
        wrong = run_plan(p);
        shm->unbind(p->bound);
        meeting_barrier(p->meeting);
    }
    return wrong;
}

static _Atomic int *starts_in_shared_memory;

static int rank_main(struct meeting *meeting, int rank, void *argument)
{
    const struct trial *trial = argument;
    struct attendee attendee = {meeting, rank, 0};
    struct pcoll_bootstrap bootstrap = meeting_bootstrap(&attendee);
    struct part p = {.trial = trial,
                     .meeting = meeting,
                     .rank = rank,
                     .seed = (unsigned)rank + 1,
                     .starts = starts_in_shared_memory};
    int wrong = 1;

    p.signature =
        (struct pcoll_signature){trial->row->coll, trial->nranks, 0, trial->bytes, trial->in_place};
    if (trial->row->coll == PCOLL_BCAST)
        p.signature.root = trial->nranks / 2;
    p.recv = malloc(trial->bytes * (uint64_t)trial->nranks + 1);
    p.send = trial->in_place ? p.recv + (uint64_t)rank * trial->bytes : malloc(trial->bytes + 1);
    if (p.recv && p.send && shm->group_create(&bootstrap, &p.group) == PCOLL_OK) {
        if (pcoll_generate(trial->row, &p.signature, rank, &trial->params, &p.plan) == PCOLL_OK)
            wrong = p.plan->needs & ~shm->group_provides(p.group) ? 0 : run_part(&p);
        meeting_barrier(meeting);
        if (rank == 0)
            meeting_barrier(meeting); /* threads share rank 0's mapping: it goes last */
        shm->group_destroy(p.group);
        if (rank != 0)
            meeting_barrier(meeting);
    }
    pcoll_plan_destroy(p.plan);
    if (!trial->in_place)
        free(p.send);
    free(p.recv);
    return wrong;
}

static int run_trial(struct trial *trial)
{
    if (trial->as_threads)
        return meeting_run_threads(trial->nranks, rank_main, trial);
    return meeting_run_processes(trial->nranks, rank_main, trial);
}

static int run_sizes(struct trial *trial)
{
    static const uint64_t sizes[] = {0, 1, 8, 13, 24, 48, 49, 1000, 40000};
    int failed = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        trial->bytes = sizes[i];
        trial->instances = sizes[i] > 1000 ? 12 : 40;
        failed += run_trial(trial);
        if (trial->row->coll == PCOLL_BARRIER)
            break;
    }
    return failed;
}

static int run_ranks(struct trial *trial, int max_ranks)
{
    static const int ranks[] = {1, 2, 3, 4, 5, 8};
    int failed = 0;

    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]) && ranks[i] <= max_ranks; i++) {
        trial->nranks = ranks[i];
        failed += run_sizes(trial);
    }
    return failed;
}

static void check_row(const struct pcoll_algorithm *row, int as_threads, int max_ranks)
{
    for (int path = PCOLL_PATH_USER; path <= PCOLL_PATH_TEMP; path++)
        for (int radix = 0; radix <= (row->uses_radix ? 8 : 0); radix += 4) {
            struct trial trial = {.row = row, .as_threads = as_threads};

            if (!(row->paths & 1u << path))
                continue;
            trial.params.path = (enum pcoll_path)path;
            trial.params.radix = radix;
            trial.params.segment = row->uses_segment ? 4096 : 0;
            trial.in_place = row->coll == PCOLL_ALLGATHER && as_threads;
            tap_ok(run_ranks(&trial, max_ranks) == 0, "%s %s, path %s, radix %d, ranks as %s",
                   pcoll_coll_name(row->coll), row->name, path == PCOLL_PATH_USER ? "user" : "temp",
                   radix, as_threads ? "threads" : "processes");
        }
}

/* Long copies take another way: odd lengths, odd alignments, nothing beyond the ends. */
static void check_long_copies(void)
{
    size_t mega = (size_t)1 << 20, room = mega + 300;
    unsigned char *from = malloc(room), *to = malloc(room);
    int wrong = from == NULL || to == NULL;

    for (size_t i = 0; !wrong && i < room; i++)
        from[i] = byte_of(3, 1, i);
    for (size_t shift = 0; !wrong && shift < 130; shift += 13) {
        memset(to, 0xee, room);
        pcoll_shm_copy(to + shift, from + shift / 2, mega + shift);
        wrong = memcmp(to + shift, from + shift / 2, mega + shift) != 0 ||
                to[2 * shift + mega] != 0xee || (shift > 0 && to[shift - 1] != 0xee);
    }
    tap_ok(!wrong, "long copies of any alignment");
    free(from);
    free(to);
}

/* `test_shm threads` leaves out the processes, which a thread sanitizer does not see. */
int main(int argc, char **argv)
{
    int threads_only = argc > 1 && strcmp(argv[1], "threads") == 0;
    struct meeting *page = meeting_create(0); /* any shared page will do */

    starts_in_shared_memory = (_Atomic int *)(void *)page;
    for (const struct pcoll_algorithm *row = pcoll_algorithms; row->name; row++) {
        check_row(row, 1, threads_only ? 4 : 8);
        if (!threads_only)
            check_row(row, 0, 5);
    }
    check_long_copies();
    meeting_destroy(page);
    return tap_done();
}
