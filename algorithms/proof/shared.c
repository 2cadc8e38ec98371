/* What the files of the plan check share: the message, and where input lies; the contract is in
 * proof/private.h. */
#include "algorithms/proof/private.h"

#include <stdarg.h>
#include <stdbool.h>

static const char *op_name(enum pcoll_op op)
{
    return (unsigned)op < PCOLL_NUM_OPS ? pcoll_op_name(op) : "?";
}

const char *pcoll_check_buffer_name(enum pcoll_buffer buffer)
{
    static const char *const names[PCOLL_NUM_BUFFERS] = {"SEND", "RECV", "TEMP", "CELL"};

    return (unsigned)buffer < PCOLL_NUM_BUFFERS ? names[buffer] : "?";
}

enum pcoll_result pcoll_check_fail(const struct pcoll_check *check, int rank, int phase, int entry,
                                   const char *format, ...)
{
    const struct pcoll_plan *plan = check->plans[rank];
    va_list args;

    if (check->why == NULL)
        return PCOLL_ERR_INVALID;
    fprintf(check->why, "%s %s of %d: rank %d", pcoll_coll_name(plan->signature.coll),
            plan->algorithm, check->nranks, rank);
    if (phase != PCOLL_NONE)
        fprintf(check->why, " phase %d", phase);
    if (entry != PCOLL_NONE)
        fprintf(check->why, " entry %d (%s)", entry, op_name(plan->entries[entry].op));
    fputs(": ", check->why);
    va_start(args, format);
    vfprintf(check->why, format, args);
    va_end(args);
    fputc('\n', check->why);
    return PCOLL_ERR_INVALID;
}

bool pcoll_check_is_input(const struct pcoll_check *check, int rank, enum pcoll_buffer buffer,
                          uint64_t at)
{
    const struct pcoll_span input = pcoll_check_input_in_recv(check, rank);

    if (buffer == PCOLL_RECV)
        return at >= input.first && at - input.first < input.count;
    return buffer == PCOLL_SEND;
}

struct pcoll_place pcoll_check_place(const struct pcoll_check *check, int rank,
                                     struct pcoll_place place)
{
    const struct pcoll_span input = pcoll_check_input_in_recv(check, rank);

    if (place.buffer != PCOLL_SEND || input.count == 0)
        return place;
    return pcoll_at(PCOLL_RECV, place.offset + input.first);
}

struct pcoll_span pcoll_check_input_in_recv(const struct pcoll_check *check, int rank)
{
    const struct pcoll_plan *plan = check->plans[rank];

    return pcoll_input_in_recv(&plan->signature, plan->local, rank);
}
