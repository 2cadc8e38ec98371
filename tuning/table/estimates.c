#include "tuning/table/estimates.h"

#include <string.h>

const char *const pcoll_parameter_names[PCOLL_NUM_PARAMETERS] = {
    [PCOLL_PARAMETER_L] = "L",
    [PCOLL_PARAMETER_O] = "o",
    [PCOLL_PARAMETER_GAP] = "g",
    [PCOLL_PARAMETER_G] = "G",
    [PCOLL_PARAMETER_RMA] = "rma",
    [PCOLL_PARAMETER_COPY] = "copy",
    [PCOLL_PARAMETER_CALL] = "call",
    [PCOLL_PARAMETER_TURN] = "turn",
    [PCOLL_PARAMETER_PACK] = "pack",
    [PCOLL_PARAMETER_REDUCE] = "reduce",
    [PCOLL_PARAMETER_REGISTER] = "register",
    [PCOLL_PARAMETER_PIN] = "pin",
};

const char *const pcoll_level_names[PCOLL_NUM_LEVELS] = {
    [PCOLL_LEVEL_ANY] = "any",
    [PCOLL_LEVEL_SAME_CACHE] = "same_cache",
    [PCOLL_LEVEL_OTHER_CACHE] = "other_cache",
    [PCOLL_LEVEL_OTHER_SOCKET] = "other_socket",
    [PCOLL_LEVEL_OTHER_HOST] = "other_host",
};

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

struct pcoll_machine pcoll_estimates_machine(const struct pcoll_estimates *estimates)
{
    const struct pcoll_machine machine = {
        .L = estimates->value[PCOLL_PARAMETER_L],
        .o = estimates->value[PCOLL_PARAMETER_O],
        .g = estimates->value[PCOLL_PARAMETER_GAP],
        .G = estimates->value[PCOLL_PARAMETER_G],
        .rma = estimates->value[PCOLL_PARAMETER_RMA],
        .copy = estimates->value[PCOLL_PARAMETER_COPY],
        .call = estimates->value[PCOLL_PARAMETER_CALL],
        .turn = estimates->value[PCOLL_PARAMETER_TURN],
    };

    return machine;
}

int pcoll_level_find(const char *name)
{
    for (int i = 0; i < PCOLL_NUM_LEVELS; i++)
        if (strcmp(pcoll_level_names[i], name) == 0)
            return i;
    return -1;
}
