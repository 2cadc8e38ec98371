/*
 * What a tuning table says of a medium: a value for each parameter, how sure it is, and the same
 * again for each level of the machine that was told apart.
 */
#ifndef PCOLL_ESTIMATES_H
#define PCOLL_ESTIMATES_H

#include "algorithms/algorithm.h"

/* How far two ranks are from each other. */
enum pcoll_level {
    PCOLL_LEVEL_ANY, /* the medium's own parameters, where the distance is not known */
    PCOLL_LEVEL_SAME_CACHE,
    PCOLL_LEVEL_OTHER_CACHE,
    PCOLL_LEVEL_OTHER_SOCKET,
    PCOLL_LEVEL_OTHER_HOST,
    PCOLL_NUM_LEVELS
};

/*
 * The parameters of a machine, each as PARAMETER(NAME, name, unit, what).  Those that cost
 * functions know, which every medium must give, are the members of that name of struct
 * pcoll_machine.  Reader, writer, pcoll-sim and pcoll-info take them from here, test/tables holds
 * the schema against them.
 */
#define PCOLL_REQUIRED_PARAMETERS(PARAMETER)                                                       \
    PARAMETER(L, L, "us", "latency of a signal or a small put")                                    \
    PARAMETER(O, o, "us", "processor time to fire an entry")                                       \
    PARAMETER(GAP, g, "us", "gap between two messages of one rank")                                \
    PARAMETER(G, G, "us/byte", "straight between user buffers")                                    \
    PARAMETER(RMA, rma, "us", "one RMA operation on user buffers")                                 \
    PARAMETER(COPY, copy, "us/byte", "memory copy within or through shared memory")                \
    PARAMETER(CALL, call, "us", "start and wait of an empty plan")                                 \
    PARAMETER(TURN, turn, "us", "until a rank without a core gets one")
#define PCOLL_OPTIONAL_PARAMETERS(PARAMETER)                                                       \
    PARAMETER(PACK, pack, "us/byte", "of data that is not contiguous")                             \
    PARAMETER(REDUCE, reduce, "us/byte", "one operand added to another")                           \
    PARAMETER(REGISTER, register, "us", "memory made known to the network")                        \
    PARAMETER(PIN, pin, "us/byte", "the same, by its length")

#define PCOLL_PARAMETER_VALUE(NAME, name, unit, what) PCOLL_PARAMETER_##NAME,
enum pcoll_parameter {
    PCOLL_REQUIRED_PARAMETERS(PCOLL_PARAMETER_VALUE) PCOLL_NUM_REQUIRED,
    PCOLL_LAST_REQUIRED = PCOLL_NUM_REQUIRED - 1, /* so that the next has its number */
    PCOLL_OPTIONAL_PARAMETERS(PCOLL_PARAMETER_VALUE) PCOLL_NUM_PARAMETERS
};
#undef PCOLL_PARAMETER_VALUE

struct pcoll_parameter_row {
    const char *name; /* as in the table and in options */
    const char *unit, *what;
    int required;
    size_t offset; /* of a required one, in struct pcoll_machine */
};
extern const struct pcoll_parameter_row pcoll_parameters[PCOLL_NUM_PARAMETERS];

/* A required parameter where it lies in the machine. */
double *pcoll_machine_parameter(struct pcoll_machine *machine, enum pcoll_parameter parameter);

extern const char *const pcoll_level_names[PCOLL_NUM_LEVELS]; /* "any", "same_cache" .. */

/* Bit (1 << parameter) of `given`: it has a value; of `sure`: that has an interval. */
struct pcoll_estimates {
    unsigned given, sure;
    double value[PCOLL_NUM_PARAMETERS];
    double low[PCOLL_NUM_PARAMETERS], high[PCOLL_NUM_PARAMETERS];
};

/* What `given` and `sure` call a parameter. */
static inline unsigned pcoll_parameter_bit(enum pcoll_parameter parameter)
{
    return 1u << parameter;
}

void pcoll_estimates_set(struct pcoll_estimates *estimates, enum pcoll_parameter parameter,
                         double value, double low, double high);

/* Take over from `from` what is not given. */
void pcoll_estimates_inherit(struct pcoll_estimates *estimates, const struct pcoll_estimates *from);

/* Those that cost functions know; what is not given is 0. */
struct pcoll_machine pcoll_estimates_machine(const struct pcoll_estimates *estimates);

/* The level of that name, or -1. */
int pcoll_level_find(const char *name);

#endif /* PCOLL_ESTIMATES_H */
