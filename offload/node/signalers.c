/* Which counters this rank alone signals. In the extent each rank's area ends with the numbers of
 * ranks that signal its counters, four in a word: to count in the lines of the counters themselves
 * would fetch every line from another cache once more. */
#include <assert.h>

#include "offload/node/binding.h"

enum { LANE_BITS = 16, LANES = 64 / LANE_BITS };

#define MAX_SIGNALERS ((1u << LANE_BITS) - 1)

size_t pcoll_node_signalers_bytes(uint64_t ncounters)
{
    const size_t words = ((size_t)ncounters + LANES - 1) / LANES;

    return (words * sizeof(uint64_t) + PCOLL_LINE_BYTES - 1) / PCOLL_LINE_BYTES * PCOLL_LINE_BYTES;
}

static struct pcoll_node_signaling *signaling_of(const struct pcoll_node_binding *b,
                                                 const struct pcoll_target *target)
{
    return &b->signalings[target - b->bound->run.targets];
}

void pcoll_node_signalers_add(const struct pcoll_node_binding *b, const struct pcoll_target *target,
                              char *signalers, int index)
{
    *signaling_of(b, target) = (struct pcoll_node_signaling){
        .word = (_Atomic uint64_t *)(void *)signalers + index / LANES,
        .shift = (unsigned)(index % LANES * LANE_BITS),
        .count = 1,
    };
}

void pcoll_node_signalers_add_other(const struct pcoll_node_binding *b,
                                    const struct pcoll_target *target)
{
    if (target != NULL)
        signaling_of(b, target)->count = 2; /* more would say no more, and could overflow */
}

/* Targets whose counts share a word mostly follow each other. */
void pcoll_node_signalers_publish(const struct pcoll_node_binding *b)
{
    const struct pcoll_node_signaling *s = b->signalings, *end = s + b->bound->run.ntargets;

    assert((unsigned)b->nlocal * 2 <= MAX_SIGNALERS);
    while (s < end) {
        _Atomic uint64_t *word = s->word;
        uint64_t sum = 0;

        for (; s < end && s->word == word; s++)
            sum += (uint64_t)s->count << s->shift;
        atomic_fetch_add_explicit(word, sum, memory_order_relaxed);
    }
}

void pcoll_node_find_alone(const struct pcoll_node_binding *b)
{
    struct pcoll_run *run = &b->bound->run;

    for (int i = 0; i < run->ntargets; i++) {
        const struct pcoll_node_signaling *s = &b->signalings[i];
        const uint64_t counts = atomic_load_explicit(s->word, memory_order_relaxed);

        if ((counts >> s->shift & MAX_SIGNALERS) == 1)
            run->targets[i].signalers = run->sleepers ? PCOLL_ALONE_WATCHED : PCOLL_ALONE;
    }
}
