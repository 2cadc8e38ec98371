/*
 * What a tuning table says about a medium: a value and an interval for each parameter, and the same
 * for each level that was measured separately.
 */
#ifndef PCOLL_ESTIMATES_H
#define PCOLL_ESTIMATES_H

#include "algorithms/algorithm.h"
#include "algorithms/plan/topology.h"

#define PCOLL_MEDIUM_NAME_BYTES 32

/*
 * The parameters of a machine, each as PARAMETER(NAME, name, unit, what). Every medium must give
 * the required ones: cost functions use them as the members of that name in struct pcoll_machine.
 * The reader, the writer, pcoll-sim and pcoll-info use this list; test/tables compares the schema
 * with it.
 */
#define PCOLL_REQUIRED_PARAMETERS(PARAMETER)                                                       \
    PARAMETER(L, L, "us", "latency of a signal or a small put")                                    \
    PARAMETER(O, o, "us", "processor time to fire an entry")                                       \
    PARAMETER(GAP, g, "us", "gap between two messages of one rank")                                \
    PARAMETER(G, G, "us/byte", "transfer directly between user buffers")                           \
    PARAMETER(RMA, rma, "us", "one RMA operation on user buffers")                                 \
    PARAMETER(COPY, copy, "us/byte", "memory copy within or through shared memory")                \
    PARAMETER(CALL, call, "us", "start and wait of an empty plan")                                 \
    PARAMETER(TURN, turn, "us", "wait of a rank without a core for its turn")
#define PCOLL_OPTIONAL_PARAMETERS(PARAMETER)                                                       \
    PARAMETER(PACK, pack, "us/byte", "packing of noncontiguous data")                              \
    PARAMETER(REDUCE, reduce, "us/byte", "addition of one operand to another")                     \
    PARAMETER(REGISTER, register, "us", "registration of memory with the network")                 \
    PARAMETER(PIN, pin, "us/byte", "registration of memory, per byte")                             \
    PARAMETER(PUT, put, "us/byte", "what a put in a node takes longer than a get")                 \
    PARAMETER(CACHED, cached, "us/byte", "memory copy with buffers that stay in the caches")       \
    PARAMETER(KEPT, kept, "us/byte", "memory copy within the cache of one core")                   \
    PARAMETER(CACHE, cache, "MiB", "up to how much of the users' data that holds")                 \
    PARAMETER(SHARE, share, "MiB", "part of the last cache for each core that shares it")          \
    PARAMETER(OWN, own, "MiB", "largest cache that a core has to itself")                          \
    PARAMETER(EXCLUSIVE, exclusive, "", "part of a transfer for which others of its process wait") \
    PARAMETER(SATURATED, saturated, "us/byte", "all that ranks of a domain copy at the same time")

#define PCOLL_PARAMETER_VALUE(NAME, name, unit, what) PCOLL_PARAMETER_##NAME,
enum pcoll_parameter {
    PCOLL_REQUIRED_PARAMETERS(PCOLL_PARAMETER_VALUE) PCOLL_NUM_REQUIRED,
    PCOLL_LAST_REQUIRED = PCOLL_NUM_REQUIRED - 1, /* so that the next parameter has its number */
    PCOLL_OPTIONAL_PARAMETERS(PCOLL_PARAMETER_VALUE) PCOLL_NUM_PARAMETERS
};
#undef PCOLL_PARAMETER_VALUE

struct pcoll_parameter_row {
    const char *name; /* in the table and in options */
    const char *unit, *what;
    int required;
    size_t offset; /* of a required parameter, in struct pcoll_machine */
};
extern const struct pcoll_parameter_row pcoll_parameters[PCOLL_NUM_PARAMETERS];

/* The member of the machine that holds a required parameter. */
double *pcoll_machine_parameter(struct pcoll_machine *machine, enum pcoll_parameter parameter);

/* Bit (1 << parameter): in `given`, it has a value; in `sure`, that value has an interval. */
struct pcoll_estimates {
    unsigned given, sure;
    double value[PCOLL_NUM_PARAMETERS];
    double low[PCOLL_NUM_PARAMETERS], high[PCOLL_NUM_PARAMETERS];
};

/* The bit of a parameter in `given` and `sure`. */
static inline unsigned pcoll_parameter_bit(enum pcoll_parameter parameter)
{
    return 1u << parameter;
}

void pcoll_estimates_set(struct pcoll_estimates *estimates, enum pcoll_parameter parameter,
                         double value, double low, double high);

/* Copy from `from` what is not given. */
void pcoll_estimates_inherit(struct pcoll_estimates *estimates, const struct pcoll_estimates *from);

/* The parameters that cost functions use. Required ones that are not given are 0. Unless they are
 * given, a reduction and a cached copy take the time of a copy, and packing twice that, a put
 * that of a get, `cache` is PCOLL_CACHE_MIB (plan/caches.h), `share`, `own` and `saturated` are
 * unknown, and ranks that access memory of one process follow each other. */
struct pcoll_machine pcoll_estimates_machine(const struct pcoll_estimates *estimates);

/* The level with that name, or -1. */
int pcoll_level_find(const char *name);

#endif /* PCOLL_ESTIMATES_H */
