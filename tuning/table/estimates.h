/*
 * What a tuning table says of a medium: a value for each parameter, how sure it is, and the same
 * again for each level of the machine that was told apart.
 */
#ifndef PCOLL_FIGURES_H
#define PCOLL_FIGURES_H

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

/* Those that cost functions know, which every medium must give, are members of struct
 * pcoll_machine. */
enum pcoll_parameter {
    PCOLL_PARAMETER_L,
    PCOLL_PARAMETER_O,
    PCOLL_PARAMETER_GAP, /* g */
    PCOLL_PARAMETER_G,
    PCOLL_PARAMETER_RMA,
    PCOLL_PARAMETER_COPY,
    PCOLL_PARAMETER_CALL,
    PCOLL_PARAMETER_TURN,
    PCOLL_NUM_REQUIRED,
    PCOLL_PARAMETER_PACK = PCOLL_NUM_REQUIRED, /* us/byte: of data that is not contiguous */
    PCOLL_PARAMETER_REDUCE,                    /* us/byte: one operand added to another */
    PCOLL_PARAMETER_REGISTER,                  /* us: memory made known to the network */
    PCOLL_PARAMETER_PIN,                       /* us/byte: the same, by its length */
    PCOLL_NUM_PARAMETERS
};

extern const char *const pcoll_parameter_names[PCOLL_NUM_PARAMETERS]; /* as in the table */
extern const char *const pcoll_level_names[PCOLL_NUM_LEVELS];         /* "any", "same_cache" .. */

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

#endif /* PCOLL_FIGURES_H */
