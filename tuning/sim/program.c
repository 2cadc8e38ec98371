/* From plans to steps; the contract is in program.h. */
#include "tuning/sim/program.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/lower/lower.h"

enum { KIND_WORDS = sizeof(struct pcoll_kind) / sizeof(uint64_t), SHAPE_FIXED = 3 };

static_assert(sizeof(struct pcoll_kind) == 64, "kinds are rows of words without holes");

enum pcoll_result pcoll_job_plan(const struct pcoll_job *job, int rank, struct pcoll_plan **plan_p)
{
    enum pcoll_result result =
        pcoll_generate(job->algorithm, &job->signature, NULL, rank, &job->params, plan_p);

    if (result == PCOLL_OK && job->lowered)
        result = pcoll_lower(job->algorithm, &job->params, plan_p);
    return result;
}

/* Add the operands of the plan; entries of the plan name them from `first` on. */
static bool add_operands(struct pcoll_program *program, const struct pcoll_plan *plan,
                         uint64_t *first_p)
{
    const size_t n = (size_t)plan->noperands, all = (size_t)program->noperands + n;
    struct pcoll_operand *wider;

    *first_p = program->noperands;
    if (n == 0)
        return true;
    wider = realloc(program->operands, all * sizeof(*wider));
    if (wider == NULL)
        return false;
    program->operands = wider;
    memcpy(wider + program->noperands, plan->operands, n * sizeof(*wider));
    program->noperands = all;
    return true;
}

static uint32_t intern_kind(struct pcoll_program *program, const struct pcoll_entry *entry,
                            unsigned keep, uint64_t first_operand)
{
    const bool places = (keep & PCOLL_KEEP_PLACES) != 0;
    struct pcoll_kind kind = {
        .threshold = entry->threshold,
        .done_add = entry->done_add,
        .peer_add = entry->peer_add,
        .bytes = entry->bytes,
        .local_at = places ? entry->local.offset : 0,
        .remote_at = places ? entry->remote.offset : 0,
        .trigger = entry->trigger,
        .done = entry->done,
        .peer_counter = entry->peer_counter,
        .rail = (uint16_t)entry->rail,
        .op = (uint8_t)entry->op,
        .buffers = (uint8_t)(entry->local.buffer + 16 * entry->remote.buffer),
    };

    if (entry->op == PCOLL_OP_REDUCE) {
        kind.peer_add = (uint64_t)entry->noperands;
        kind.remote_at =
            keep & PCOLL_KEEP_OPERANDS ? first_operand + (uint64_t)entry->first_operand : 0;
    }
    return keep & PCOLL_KEEP_APART ? pcoll_intern_add(&program->kinds, &kind, KIND_WORDS)
                                   : pcoll_intern_row(&program->kinds, &kind, KIND_WORDS);
}

static uint32_t intern_shape(struct pcoll_program *program, const struct pcoll_plan *plan, int kept)
{
    size_t n = SHAPE_FIXED + (size_t)kept + (size_t)plan->ncounters;
    uint64_t *row = malloc(n * sizeof(*row));
    uint32_t shape;

    if (row == NULL)
        return PCOLL_INTERN_FAILED;
    row[0] = (uint64_t)plan->nphases;
    row[1] = (uint64_t)kept;
    row[2] = (uint64_t)plan->ncounters;
    for (int i = 0; i < kept; i++)
        row[SHAPE_FIXED + i] = (uint64_t)plan->phases[i].count;
    for (int i = 0; i < plan->ncounters; i++)
        row[SHAPE_FIXED + kept + i] = plan->gain[i];
    shape = pcoll_intern_row(&program->shapes, row, n);
    free(row);
    return shape;
}

struct pcoll_shape_view pcoll_program_shape(const struct pcoll_program *program, int rank)
{
    const uint64_t *row = pcoll_intern_at(&program->shapes, program->ranks[rank].shape);
    const uint64_t kept = row[1];

    return (struct pcoll_shape_view){.nphases = (int)row[0],
                                     .kept = (int)kept,
                                     .ncounters = (int)row[2],
                                     .counts = row + SHAPE_FIXED,
                                     .gains = row + SHAPE_FIXED + kept};
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void note_account(struct pcoll_program *program, const struct pcoll_plan *plan)
{
    const struct pcoll_account one = pcoll_plan_account(plan);
    struct pcoll_account *max = &program->max;

    max->counters = max_int(max->counters, one.counters);
    max->entries = max_int(max->entries, one.entries);
    max->phases = max_int(max->phases, one.phases);
    max->messages = max_int(max->messages, one.messages);
    max->bytes_moved = max_u64(max->bytes_moved, one.bytes_moved);
    max->bytes_copied = max_u64(max->bytes_copied, one.bytes_copied);
    max->temp_bytes = max_u64(max->temp_bytes, one.temp_bytes);
    max->state_bytes = max_u64(max->state_bytes, one.state_bytes);
}

/* Make room for `more` steps after the existing ones. */
static bool make_room(struct pcoll_program *program, uint64_t more, uint64_t *room)
{
    struct pcoll_sim_step *steps;

    if (program->nsteps + more <= *room)
        return true;
    *room = 2 * *room + more + 1024;
    steps = realloc(program->steps, *room * sizeof(*steps));
    if (steps == NULL)
        return false;
    program->steps = steps;
    return true;
}

static bool add_plan(struct pcoll_program *program, const struct pcoll_plan *plan, int kept,
                     unsigned keep, uint64_t *room)
{
    struct pcoll_program_rank *rank = &program->ranks[plan->rank];
    const struct pcoll_phase *last = &plan->phases[kept - 1];
    const int nsteps = plan->nentries > 0 ? last->first + last->count : 0;
    uint64_t operands = 0;

    rank->first_step = program->nsteps;
    rank->first_counter = program->ncounters;
    rank->shape = intern_shape(program, plan, kept);
    if (rank->shape == PCOLL_INTERN_FAILED || !make_room(program, (uint64_t)nsteps, room) ||
        (keep & PCOLL_KEEP_OPERANDS && !add_operands(program, plan, &operands)))
        return false;
    for (int i = 0; i < nsteps; i++) {
        uint32_t kind = intern_kind(program, &plan->entries[i], keep, operands);

        if (kind == PCOLL_INTERN_FAILED)
            return false;
        program->steps[program->nsteps++] = (struct pcoll_sim_step){kind, plan->entries[i].peer};
    }
    program->ncounters += (uint64_t)plan->ncounters;
    note_account(program, plan);
    return true;
}

static enum pcoll_result add_all(struct pcoll_program *program, const struct pcoll_job *job,
                                 int nphases, unsigned keep, uint64_t max_steps)
{
    uint64_t room = 0;

    for (int r = 0; r < program->nranks; r++) {
        struct pcoll_plan *plan = NULL;
        enum pcoll_result result = pcoll_job_plan(job, r, &plan);
        bool added;

        if (result != PCOLL_OK)
            return result;
        added =
            add_plan(program, plan, plan->nphases < nphases ? plan->nphases : nphases, keep, &room);
        pcoll_plan_destroy(plan);
        if (!added || program->nsteps > max_steps)
            return PCOLL_ERR_NOMEM;
    }
    return PCOLL_OK;
}

enum pcoll_result pcoll_program_create(const struct pcoll_job *job, int nphases, unsigned keep,
                                       uint64_t max_steps, struct pcoll_program *program)
{
    enum pcoll_result result;

    if (keep & PCOLL_KEEP_PLACES || job->algorithm->must_map)
        keep |= PCOLL_KEEP_OPERANDS;
    memset(program, 0, sizeof(*program));
    pcoll_intern_init(&program->kinds);
    pcoll_intern_init(&program->shapes);
    program->nranks = job->signature.nranks;
    program->ranks = calloc((size_t)program->nranks, sizeof(*program->ranks));
    if (program->ranks == NULL)
        return PCOLL_ERR_NOMEM;
    result = add_all(program, job, nphases, keep, max_steps);
    if (result != PCOLL_OK)
        pcoll_program_destroy(program);
    return result;
}

void pcoll_program_destroy(struct pcoll_program *program)
{
    pcoll_intern_fini(&program->kinds);
    pcoll_intern_fini(&program->shapes);
    free(program->ranks);
    free(program->steps);
    free(program->operands);
    memset(program, 0, sizeof(*program));
}
