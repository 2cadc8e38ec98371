#include "tuning/table/parameters.h"

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

void pcoll_figures_set(struct pcoll_figures *figures, enum pcoll_parameter parameter, double value,
                       double low, double high)
{
    figures->given |= pcoll_parameter_bit(parameter);
    figures->sure |= pcoll_parameter_bit(parameter);
    figures->value[parameter] = value;
    figures->low[parameter] = low;
    figures->high[parameter] = high;
}

void pcoll_figures_inherit(struct pcoll_figures *figures, const struct pcoll_figures *from)
{
    for (int i = 0; i < PCOLL_NUM_PARAMETERS; i++) {
        const unsigned bit = pcoll_parameter_bit((enum pcoll_parameter)i);

        if (figures->given & bit)
            continue;
        figures->given |= from->given & bit;
        figures->sure |= from->sure & bit;
        figures->value[i] = from->value[i];
        figures->low[i] = from->low[i];
        figures->high[i] = from->high[i];
    }
}

struct pcoll_machine pcoll_figures_machine(const struct pcoll_figures *figures)
{
    const struct pcoll_machine machine = {
        .L = figures->value[PCOLL_PARAMETER_L],
        .o = figures->value[PCOLL_PARAMETER_O],
        .g = figures->value[PCOLL_PARAMETER_GAP],
        .G = figures->value[PCOLL_PARAMETER_G],
        .rma = figures->value[PCOLL_PARAMETER_RMA],
        .copy = figures->value[PCOLL_PARAMETER_COPY],
        .call = figures->value[PCOLL_PARAMETER_CALL],
        .turn = figures->value[PCOLL_PARAMETER_TURN],
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
