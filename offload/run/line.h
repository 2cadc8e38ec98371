/*
 * A counter in memory that several ranks map: a cache line, which also holds its cell.
 */
#ifndef PCOLL_LINE_H
#define PCOLL_LINE_H

#include <stdatomic.h>
#include <stddef.h>

#include "algorithms/plan/plan.h"

#define PCOLL_LINE_BYTES 64 /* size of a cache line */

/* A polling rank reads only `value`. */
struct pcoll_line {
    _Atomic uint64_t value;
    _Atomic uint32_t sleepers; /* number of ranks that sleep on value (futex) */
    _Atomic uint32_t wanted;   /* the low half of the value that one of them, if any, waits for */
    unsigned char cell[PCOLL_CELL_BYTES];
};

_Static_assert(sizeof(struct pcoll_line) == PCOLL_LINE_BYTES, "a counter fills its cache line");

/* Two counters with short cells can share a line: only the first half of each is used. */
enum {
    PCOLL_HALF_LINE_BYTES = PCOLL_LINE_BYTES / 2,
    PCOLL_SHORT_CELL_BYTES = PCOLL_HALF_LINE_BYTES - offsetof(struct pcoll_line, cell)
};

/* Counter `index` of those that begin at `first`, each `stride` bytes after the one before. */
static inline struct pcoll_line *pcoll_line_at(struct pcoll_line *first, size_t stride, int index)
{
    return (struct pcoll_line *)(void *)((char *)first + stride * (size_t)index);
}

/* Who else signals a counter. */
enum pcoll_signalers {
    PCOLL_SHARED,       /* other ranks */
    PCOLL_ALONE,        /* nobody; ranks that wait for it sleep seldom, if ever */
    PCOLL_ALONE_WATCHED /* nobody; look at `sleepers` for ranks that sleep */
};

/* A counter that this rank signals. */
struct pcoll_target {
    struct pcoll_line *line;
    uint64_t signaled; /* the counter's value, as long as no other rank signals it */
    enum pcoll_signalers signalers;
    _Atomic uint32_t *sleepers; /* how many ranks of the group sleep on any counter, or NULL */
};

static inline void pcoll_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The futex word is the half of the counter that changes with every signal. */
static inline uint32_t *pcoll_futex_word(struct pcoll_line *line)
{
    uint32_t *halves = (uint32_t *)(void *)&line->value;

    return halves + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* Wake all ranks that sleep on the counter. */
void pcoll_wake(struct pcoll_line *line);

/* The counter has reached `value`. Several signals may have to come before a sleeper can go on:
 * only the last one wakes it. Where several ranks sleep on a counter, which plans do not do, the
 * last of them has said what it waits for, and the others may wake by themselves. */
static inline void pcoll_wake_sleepers(struct pcoll_line *line, uint64_t value)
{
    if (__builtin_expect(atomic_load_explicit(&line->sleepers, memory_order_acquire) != 0, 0) &&
        (int32_t)((uint32_t)value - atomic_load_explicit(&line->wanted, memory_order_relaxed)) >= 0)
        pcoll_wake(line);
}

static inline void pcoll_signal_alone(struct pcoll_target *target, uint64_t add)
{
    target->signaled += add;
    atomic_store_explicit(&target->line->value, target->signaled, memory_order_release);
}

static inline void pcoll_signal_shared(struct pcoll_line *line, uint64_t add)
{
    const uint64_t before = atomic_fetch_add_explicit(&line->value, add, memory_order_seq_cst);

    pcoll_wake_sleepers(line, before + add);
}

/* If no other rank signals the counter, a store needs no lock. It does not look for sleepers in the
 * line, since that would wait for the line to arrive, and no fence follows: a rank that falls
 * asleep at the same moment may be overlooked, but soon wakes up by itself (see pcoll_run_rest). */
static inline void pcoll_signal(struct pcoll_target *target, uint64_t add)
{
    if (target->signalers == PCOLL_ALONE) {
        pcoll_signal_alone(target, add);
    } else if (target->signalers == PCOLL_ALONE_WATCHED) {
        pcoll_signal_alone(target, add);
        if (atomic_load_explicit(target->sleepers, memory_order_relaxed) != 0)
            pcoll_wake_sleepers(target->line, target->signaled);
    } else {
        pcoll_signal_shared(target->line, add);
    }
}

#endif /* PCOLL_LINE_H */
