/* A choice in words. */
#include "tuning/choose.h"

#include <string.h>

static void append(char text[PCOLL_CHOICE_BYTES], const char *what, unsigned long long number)
{
    const size_t used = strlen(text);

    if (number != 0)
        snprintf(text + used, PCOLL_CHOICE_BYTES - used, ", %s %llu", what, number);
}

void pcoll_choice_text(const struct pcoll_choice *choice, char text[PCOLL_CHOICE_BYTES])
{
    static const char *const paths[] = {
        [PCOLL_PATH_AUTO] = "",
        [PCOLL_PATH_USER] = ", user buffers",
        [PCOLL_PATH_TEMP] = ", communication buffers",
    };
    const struct pcoll_algorithm *algorithm = choice->algorithm;
    const struct pcoll_params *params = &choice->params;

    snprintf(text, PCOLL_CHOICE_BYTES, "%s%s", algorithm->name, paths[params->path]);
    if (algorithm->uses_radix)
        append(text, "radix", (unsigned long long)params->radix);
    if (algorithm->uses_segment)
        append(text, "segment", params->segment);
    if (algorithm->uses_slots)
        append(text, "slots", (unsigned long long)params->slots);
    if (params->rails > 1)
        append(text, "rails", (unsigned long long)params->rails);
}

int pcoll_choice_same(const struct pcoll_choice *a, const struct pcoll_choice *b)
{
    return a->algorithm == b->algorithm && a->params.path == b->params.path &&
           a->params.radix == b->params.radix && a->params.segment == b->params.segment &&
           a->params.slots == b->params.slots && a->params.rails == b->params.rails;
}
