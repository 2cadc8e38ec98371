/*
 * Ranks measure their machine, most of it two of them. These exchange flags; after that they take
 * turns: one prepares memory, then the other takes the times of its own accesses to it. Gets they
 * take at the same time, each from the other, as in an exchange. A sample is wrong only if its rank
 * loses its core. What counts is the mean of the ranks, as cores of a machine may differ.
 *
 *   L       an exchange of flags (distance.h)
 *   copy    a byte to a communication buffer that the other has just read, or from one that it has
 *           just written: its cache still holds the lines
 *   cached  the same in a ring of 1 MiB, whose buffers have left that cache
 *   kept    a byte from one part of a rank's user memory to another
 *   rma     a get of one word that its owner has just written
 *   G       a further byte of such a get, of 128 KiB that its owner has written
 *   put     what a put takes longer, of a byte of 128 KiB, half of which its receiver has just
 *           read; rank 0 puts while rank 1 gets
 *   reduce  a byte of a sum of doubles with those that the other has just written
 *
 * Rank 0 gives up at a deadline. Rank 1 waits for rank 0 as long as it takes, since rank 0 writes
 * its memory. It only reads that of rank 0, which may have given up.
 *
 * Then ranks 0, 2 and 3 read 128 KiB of rank 1, three quarters of which it has just written,
 * together and alone in turns. If one alone takes A, and the slowest of n together T, each has kept
 * the next one waiting for
 *
 *   exclusive   (T - A) / (n - 1), as part of A
 *
 * What they read is memory that all ranks share, so any rank can give up at the deadline.
 */
#include "offload/node/measure.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/plan/topology.h"
#include "offload/copy.h"
#include "offload/memory/cma.h"
#include "offload/node/distance.h"
#include "offload/reduce/kernels.h"
#include "offload/run/run.h"
#include "offload/sysfs.h"
#include "offload/yield.h"

#define LOOKS 10000 /* then a waiting rank reads the clock, and yields its core */
#define GIVEN_UP UINT64_MAX
#define PART ((size_t)PCOLL_MEASURE_SLOT_BYTES) /* what a sample copies */
#define PARTS ((size_t)4)                       /* of the user memory */
#define USER (PARTS * PART)
_Static_assert(PART % PCOLL_COPY_PERIOD == 0, "all slots are at the same place of a page");
#define MAX_SAMPLES 64

struct measurement {
    struct pcoll_measure_place *place;
    int rank;
    uint64_t meetings, deadline;
    char *user; /* [USER]: what the other rank accesses */
    char *got;  /* [USER]: where gets go; slots, as a first touch of memory takes long */
    volatile char seen;
};

/* Waits for the other rank. Returns false if one of them has given up. */
static bool meet(struct measurement *m)
{
    struct pcoll_line *arrived = m->place->arrived;
    const uint64_t meeting = ++m->meetings;

    atomic_store_explicit(&arrived[1 - m->rank].value, meeting, memory_order_release);
    for (int looks = 1;; looks++) {
        const uint64_t now = atomic_load_explicit(&arrived[m->rank].value, memory_order_acquire);

        if (now >= meeting)
            return now != GIVEN_UP;
        pcoll_relax();
        if (looks % LOOKS != 0)
            continue;
        if (m->rank == 0 && pcoll_now() > m->deadline)
            return false;
        pcoll_yield();
    }
}

static void give_up(struct measurement *m)
{
    atomic_store_explicit(&m->place->arrived[1 - m->rank].value, GIVEN_UP, memory_order_release);
}

/* ---- what is measured ---- */

/* A figure: in each round one rank prepares memory for the other's samples in nanoseconds, k = 0,
 * 1, ... (negative: failed), or both do so for each other. */
struct figure {
    int rounds, samples; /* samples of each round */
    bool is_both;        /* otherwise ranks take turns */
    void (*prepare)(struct measurement *m, int samples);
    double (*sample)(struct measurement *m, int k);
};

/* Slots take turns: one that the other rank will write, one that it will read. */
static void use_slots(struct measurement *m, int samples)
{
    for (int k = 0; k < samples; k++) {
        pcoll_copy(m->user, m->place->slots[k][0], PART);
        pcoll_copy(m->place->slots[k][1], m->user, PART);
    }
}

static double copy_twice(struct measurement *m, int k)
{
    const uint64_t begin = pcoll_now();

    pcoll_copy(m->place->slots[k][0], m->user, PART);
    pcoll_copy(m->user, m->place->slots[k][1], PART);
    return (double)(pcoll_now() - begin);
}

static double copy_own(struct measurement *m, int k)
{
    const uint64_t begin = pcoll_now();

    (void)k;
    pcoll_copy(m->user + USER / 2, m->user, USER / 2);
    return (double)(pcoll_now() - begin);
}

static double add_doubles(struct measurement *m, int k)
{
    double *to = (void *)m->user, *from = (void *)m->place->slots[k][1];
    const uint64_t begin = pcoll_now();

    pcoll_kernel_of(PCOLL_OPERATOR_SUM, PCOLL_ELEMENT_DOUBLE)(to, from, to, PART / sizeof(*to));
    return (double)(pcoll_now() - begin);
}

static pid_t other_process(const struct measurement *m)
{
    return (pid_t)m->place->ranks[1 - m->rank].pid;
}

static char *user_of_other(const struct measurement *m)
{
    return (char *)(uintptr_t)m->place->ranks[1 - m->rank].user_at;
}

static double get_word(struct measurement *m, int k)
{
    char *const from = user_of_other(m) + (size_t)k * PART;
    const uint64_t begin = pcoll_now();

    if (pcoll_cma_read(other_process(m), m->got, from, sizeof(uint64_t)) != 0)
        return -1;
    return (double)(pcoll_now() - begin);
}

static void write_user(struct measurement *m, int samples)
{
    memset(m->user, samples, USER);
}

static double get_all(struct measurement *m, int k)
{
    const uint64_t begin = pcoll_now();

    (void)k;
    if (pcoll_cma_read(other_process(m), m->got, user_of_other(m), USER) != 0)
        return -1;
    return (double)(pcoll_now() - begin);
}

static void read_half(struct measurement *m, int samples)
{
    (void)samples;
    for (size_t at = 0; at < USER / 2; at += PCOLL_LINE_BYTES)
        m->seen = (char)(m->seen + m->user[at]);
}

static double put_all(struct measurement *m, int k)
{
    uint64_t begin;

    memset(m->user, k, USER);
    begin = pcoll_now();
    if (pcoll_cma_write(other_process(m), user_of_other(m), m->user, USER) != 0)
        return -1;
    return (double)(pcoll_now() - begin);
}

/* Rank 1 does not fail, as it would free memory that rank 0 writes to; nobody uses its time. */
static double put_beside_get(struct measurement *m, int k)
{
    if (m->rank == 0)
        return put_all(m, k);
    get_all(m, k);
    return 1;
}

/* ---- samples ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the samples. */
static double lower_quartile(double *samples, int n)
{
    qsort(samples, (size_t)n, sizeof(*samples), compare);
    return samples[n / 4] / 1000;
}

/* In us, of one sample of this rank; negative: given up, or failed. */
static double measure(struct measurement *m, struct figure figure)
{
    double samples[MAX_SAMPLES] = {0};
    int n = 0;

    for (int round = 0; round < figure.rounds; round++) {
        const bool has_turn = round % 2 == m->rank;

        if (figure.is_both || !has_turn)
            figure.prepare(m, figure.samples);
        if (!meet(m))
            return -1;
        for (int k = 0; k < figure.samples && (figure.is_both || has_turn); k++) {
            samples[n] = figure.sample(m, k);
            if (samples[n++] < 0)
                return -1;
        }
        if (!meet(m))
            return -1;
    }
    return lower_quartile(samples, n);
}

/* Each function returns whether nobody has given up; otherwise *machine is incomplete. */

static bool measure_copies(struct measurement *m, struct pcoll_machine *machine)
{
    /* Of the first round in the ring, each sample touches memory for the first time. */
    static const struct figure two = {8, 2, false, use_slots, copy_twice},
                               ring = {4, PCOLL_MEASURE_PAIRS, false, use_slots, copy_twice},
                               sums = {8, 2, false, use_slots, add_doubles},
                               own = {2, 8, true, read_half, copy_own};
    const double near = measure(m, two);
    const double far = near > 0 ? measure(m, ring) : -1;
    const double sum = far > 0 ? measure(m, sums) : -1;
    const double kept = sum > 0 ? measure(m, own) : -1;

    machine->copy = near / (2 * PART);
    machine->cached = far / (2 * PART);
    machine->reduce = sum / PART;
    machine->kept = kept / (USER / 2);
    return kept > 0;
}

/* By how many us; never 0, which means unknown. */
static double longer_by(double time, double than)
{
    return time > than + 0.001 ? time - than : 0.001;
}

static bool measure_cma(struct measurement *m, struct pcoll_machine *machine)
{
    static const struct figure words = {4, PARTS, true, write_user, get_word},
                               gets = {12, 1, true, write_user, get_all},
                               puts = {6, 1, true, read_half, put_beside_get};
    const double word = measure(m, words);
    const double get = word > 0 ? measure(m, gets) : -1;
    const double put = get > 0 ? measure(m, puts) : -1;

    machine->rma = word;
    machine->G = longer_by(get, word) / USER;
    machine->put = longer_by(put, get) / USER;
    return put > 0;
}

/* Waits until the ranks run at the same time: on one core they would find all data in its cache. */
static bool measure_flags(struct measurement *m, struct pcoll_machine *machine)
{
    struct pcoll_measure_place *place = m->place;
    struct pcoll_line *own = &place->flags[m->rank], *other = &place->flags[1 - m->rank];

    do {
        uint64_t took;

        if (m->rank == 0 && pcoll_now() > m->deadline)
            return false;
        atomic_store_explicit(&own->value, 0, memory_order_relaxed);
        if (!meet(m))
            return false;
        took = pcoll_exchange_flags(own, other, true);
        if (m->rank == 0)
            place->distance = took;
        if (!meet(m))
            return false;
    } while (place->distance == 0);
    machine->L = (double)place->distance / 1000;
    return true;
}

/* On rank 0 each figure becomes the mean of both ranks; that of puts stays its own. */
static bool average(struct measurement *m, struct pcoll_machine *machine)
{
    const struct pcoll_machine *other = &m->place->other;

    if (m->rank == 1)
        m->place->other = *machine;
    if (!meet(m))
        return false;
    machine->copy = (machine->copy + other->copy) / 2;
    machine->cached = (machine->cached + other->cached) / 2;
    machine->reduce = (machine->reduce + other->reduce) / 2;
    machine->kept = (machine->kept + other->kept) / 2;
    machine->rma = (machine->rma + other->rma) / 2;
    machine->G = (machine->G + other->G) / 2;
    return true;
}

/* The user memory in a block of USER + PCOLL_COPY_PERIOD bytes: modulo a page, as far from the
 * slots as most users' is from long communication buffers. */
static char *place_user(char *block, const char *slots)
{
    return block + pcoll_copy_padding((uintptr_t)block - (uintptr_t)slots);
}

void pcoll_node_measure(struct pcoll_measure_place *place, int rank, bool can_cma,
                        struct pcoll_machine *machine)
{
    char *const block = malloc(USER + PCOLL_COPY_PERIOD);
    struct measurement m = {.place = place,
                            .rank = rank,
                            .deadline = pcoll_now() + PCOLL_MEASURE_NSEC,
                            .user = block ? place_user(block, place->slots[0][0]) : NULL,
                            .got = place->slots[(size_t)rank * PARTS / 2][0]};
    const struct pcoll_sysfs here = pcoll_sysfs_here();
    struct pcoll_machine measured = *machine;

    pcoll_caches_tell(&here.caches, &measured);
    place->ranks[rank].pid = getpid();
    place->ranks[rank].user_at = (uint64_t)(uintptr_t)m.user;
    if (m.user != NULL)
        memset(m.user, 0, USER);
    if (m.user == NULL || !measure_flags(&m, &measured) || !measure_copies(&m, &measured) ||
        (can_cma && !measure_cma(&m, &measured)) || !average(&m, &measured))
        give_up(&m);
    else if (rank == 0)
        *machine = measured;
    free(block);
}

/* ---- readers of one process ---- */

#define WRITER 1
#define READERS 3
#define ROUNDS 9 /* each reader is alone in three of them */
#define STOPPED (UINT64_C(1) << 63)
#define LEAST 0.01             /* 0 means that nothing is known */
#define FEW_LOOKS (LOOKS / 10) /* each rank has a core, so to yield it takes no time */

static const int readers[READERS] = {0, 2, 3};

_Static_assert(PCOLL_MEASURE_RANKS *USER <= sizeof(((struct pcoll_measure_place *)0)->slots),
               "each rank has a part of the slots");

struct reading {
    struct pcoll_measure_place *place;
    int rank;
    uint64_t meetings, deadline;
};

static bool stop(const struct reading *r)
{
    atomic_fetch_or_explicit(&r->place->met.value, STOPPED, memory_order_release);
    return false;
}

/* Waits for all ranks. Returns false if one of them has stopped. */
static bool all_meet(struct reading *r)
{
    _Atomic uint64_t *met = &r->place->met.value;
    const uint64_t all = ++r->meetings * PCOLL_MEASURE_RANKS;

    atomic_fetch_add_explicit(met, 1, memory_order_acq_rel);
    for (int looks = 1;; looks++) {
        const uint64_t now = atomic_load_explicit(met, memory_order_acquire);

        if (now >= all)
            return now < STOPPED;
        pcoll_relax();
        if (looks % FEW_LOOKS != 0)
            continue;
        if (pcoll_now() > r->deadline)
            return stop(r);
        pcoll_yield();
    }
}

/* The part of `slots` in which each rank has USER bytes. */
static size_t part_of(int rank)
{
    return (size_t)rank * USER;
}

static bool read_writer(const struct reading *r)
{
    struct pcoll_measure_place *place = r->place;
    const char *from = (char *)(uintptr_t)place->read_at + part_of(WRITER);
    char *to = place->slots[0][0] + part_of(r->rank);
    const uint64_t begin = pcoll_now();

    if (pcoll_cma_read((pid_t)place->ranks[WRITER].pid, to, from, USER) != 0)
        return stop(r);
    place->took[r->rank].value = pcoll_now() - begin;
    return true;
}

/* readers[first .. last] read together. Returns the nanoseconds of the slowest; negative: stopped.
 */
static double read_together(struct reading *r, int first, int last)
{
    uint64_t slowest = 1;

    if (r->rank == WRITER)
        memset(r->place->slots[0][0] + part_of(WRITER), (int)r->meetings, USER / 4 * 3);
    if (!all_meet(r))
        return -1;
    for (int i = first; i <= last; i++)
        if (r->rank == readers[i] && !read_writer(r))
            return -1;
    if (!all_meet(r))
        return -1;
    for (int i = first; i <= last; i++)
        if (r->place->took[readers[i]].value > slowest)
            slowest = r->place->took[readers[i]].value;
    return (double)slowest;
}

void pcoll_node_measure_readers(struct pcoll_measure_place *place, int rank, bool has_core,
                                uint64_t deadline, struct pcoll_machine *machine)
{
    struct reading r = {.place = place, .rank = rank, .deadline = deadline};
    double together[ROUNDS], alone[ROUNDS], one, longer;

    if (rank == WRITER) {
        place->ranks[WRITER].pid = getpid();
        place->read_at = (uint64_t)(uintptr_t)place->slots;
    }
    if (!has_core || (rank == 0 && machine->L == 0))
        stop(&r);
    for (int i = 0; i < ROUNDS; i++) {
        together[i] = read_together(&r, 0, READERS - 1);
        alone[i] = together[i] > 0 ? read_together(&r, i % READERS, i % READERS) : -1;
        if (alone[i] < 0)
            return;
    }
    if (rank != 0)
        return;
    one = lower_quartile(alone, ROUNDS);
    longer = lower_quartile(together, ROUNDS) - one;
    machine->exclusive =
        longer > (READERS - 1) * one * LEAST ? longer / ((READERS - 1) * one) : LEAST;
}

void pcoll_node_clear_place(const void *context, char *place)
{
    (void)context;
    memset(place, 0, offsetof(struct pcoll_measure_place, slots));
}

/* ---- what the process knows ---- */

#define NDISTANCES 8
#define MAX_FAILURES 3 /* then nothing is known at a distance, and not measured again */

static struct {
    pthread_mutex_t mutex;
    uint64_t bits;
    int failures[NDISTANCES];
    struct pcoll_machine machines[NDISTANCES];
} known = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* 0: unknown; 1 up to PCOLL_NEAR_NSEC, 2 up to twice that, and so on. */
static int class_of(uint64_t distance)
{
    int number = distance > 0;

    for (; distance > PCOLL_NEAR_NSEC && number < NDISTANCES - 1; distance /= 2)
        number++;
    return number;
}

uint64_t pcoll_machine_bit(uint64_t distance)
{
    return UINT64_C(1) << class_of(distance);
}

uint64_t pcoll_machines_known(void)
{
    uint64_t bits;

    pthread_mutex_lock(&known.mutex);
    bits = known.bits;
    pthread_mutex_unlock(&known.mutex);
    return bits;
}

void pcoll_machine_remember(uint64_t distance, const struct pcoll_machine *machine)
{
    const int number = class_of(distance);

    pthread_mutex_lock(&known.mutex);
    if (machine->L > 0)
        known.machines[number] = *machine;
    if (machine->L > 0 || ++known.failures[number] == MAX_FAILURES)
        known.bits |= pcoll_machine_bit(distance);
    pthread_mutex_unlock(&known.mutex);
}

void pcoll_machine_recall(uint64_t distance, struct pcoll_machine *machine)
{
    pthread_mutex_lock(&known.mutex);
    *machine = known.machines[class_of(distance)];
    pthread_mutex_unlock(&known.mutex);
}
