#include "tuning/table/estimates.h"

#include <stddef.h>
#include <string.h>

#include "algorithms/plan/caches.h"

#define REQUIRED(NAME, name, unit, what)                                                           \
    [PCOLL_PARAMETER_##NAME] = {#name, unit, what, 1, offsetof(struct pcoll_machine, name)},
#define OPTIONAL(NAME, name, unit, what) [PCOLL_PARAMETER_##NAME] = {#name, unit, what, 0, 0},
const struct pcoll_parameter_row pcoll_parameters[PCOLL_NUM_PARAMETERS] = {
    PCOLL_REQUIRED_PARAMETERS(REQUIRED) PCOLL_OPTIONAL_PARAMETERS(OPTIONAL)};

_Static_assert(offsetof(struct pcoll_machine, cores) == PCOLL_NUM_REQUIRED * sizeof(double),
               "every time and rate of a machine is a required parameter");

void pcoll_estimates_set(struct pcoll_estimates *estimates, enum pcoll_parameter parameter,
                         double value, double low, double high)
{
    estimates->given |= pcoll_parameter_bit(parameter);
    estimates->sure |= pcoll_parameter_bit(parameter);
    estimates->value[parameter] = value;
    estimates->low[parameter] = low;
    estimates->high[parameter] = high;
}

void pcoll_estimates_inherit(struct pcoll_estimates *estimates, const struct pcoll_estimates *from)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++) {
        const unsigned bit = pcoll_parameter_bit((enum pcoll_parameter)i);

        if (estimates->given & bit)
            continue;
        estimates->given |= from->given & bit;
        estimates->sure |= from->sure & bit;
        estimates->value[i] = from->value[i];
        estimates->low[i] = from->low[i];
        estimates->high[i] = from->high[i];
    }
}

double *pcoll_machine_parameter(struct pcoll_machine *machine, enum pcoll_parameter parameter)
{
    return (double *)(void *)((char *)machine + pcoll_parameters[parameter].offset);
}

static double optional(const struct pcoll_estimates *estimates, enum pcoll_parameter parameter,
                       double otherwise)
{
    return estimates->given & pcoll_parameter_bit(parameter) ? estimates->value[parameter]
                                                             : otherwise;
}

struct pcoll_machine pcoll_estimates_machine(const struct pcoll_estimates *estimates)
{
    struct pcoll_machine machine = {.cores = 0};

    for (int i = 0; i < PCOLL_NUM_REQUIRED; i++)
        *pcoll_machine_parameter(&machine, (enum pcoll_parameter)i) = estimates->value[i];
    machine.reduce = optional(estimates, PCOLL_PARAMETER_REDUCE, machine.copy);
    machine.pack = optional(estimates, PCOLL_PARAMETER_PACK, 2 * machine.copy);
    machine.put = optional(estimates, PCOLL_PARAMETER_PUT, 0);
    machine.cached = optional(estimates, PCOLL_PARAMETER_CACHED, machine.copy);
    machine.kept = optional(estimates, PCOLL_PARAMETER_KEPT, machine.cached);
    machine.cache = optional(estimates, PCOLL_PARAMETER_CACHE, PCOLL_CACHE_MIB);
    machine.share = optional(estimates, PCOLL_PARAMETER_SHARE, 0);
    machine.own = optional(estimates, PCOLL_PARAMETER_OWN, 0);
    machine.exclusive = optional(estimates, PCOLL_PARAMETER_EXCLUSIVE, 1);
    machine.saturated = optional(estimates, PCOLL_PARAMETER_SATURATED, 0);
    return machine;
}

int pcoll_level_find(const char *name)
{
    for (int i = 0; i < PCOLL_NUM_LEVELS; i++)
        if (strcmp(pcoll_level_names[i], name) == 0)
            return i;
    return -1;
}
